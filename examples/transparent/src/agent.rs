//! What crosses requests, what begins anew with each of them, and the only place where either
//! changes.
mod turn;
mod update;

use fugato::{
    agent::{
        Corrects,
        compact::{Compacting, Compacts},
    },
    memory::{Compaction, CompactionPolicy, CompactionUpdate, Trigger},
    prompt::is_correction,
    state::{Conversation, Message, State},
};
use serde::{Deserialize, Serialize};

pub use fugato::cli::Lang;
pub use turn::{Phase, Stop, Turn, Use, Wanted};
pub use update::{Move, Request, Update};

/// A conversation. Every field has a default, so that threads of older versions load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// The name of the thread, for what is to happen in it later.
    pub thread: String,
    /// The language of the person.
    pub lang: Lang,
    /// What was said.
    pub conversation: Conversation,
    /// What older messages came to.
    pub compaction: Compaction,
    /// When the conversation is compacted.
    pub policy: Policy,
    /// How many calls of tools there were, over all turns: their ids are made of it.
    pub calls: u64,
    /// How far the present turn is, or how far the last one came.
    pub turn: Turn,
}

/// When a conversation is compacted: the options that a person may set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// After how many turns: of a person's words and the answer to them.
    pub turns: usize,
    /// After how many tokens; not by tokens without it.
    pub tokens: Option<u64>,
    /// How many of the newest turns stay as they are.
    pub keep_recent: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            turns: 140,
            tokens: None,
            keep_recent: 20,
        }
    }
}

impl Policy {
    /// The same in the words of the library.
    fn compaction(&self) -> CompactionPolicy {
        let turns = Trigger::Turns(self.turns);
        let when = match self.tokens {
            None => turns,
            Some(most) => Trigger::Any(vec![turns, Trigger::Tokens(most)]),
        };
        CompactionPolicy::default()
            .when(when)
            .keep_recent(self.keep_recent)
            .segment(self.turns)
    }
}

impl Agent {
    /// Words in the language of the person, for what the library says to them: their own, unless
    /// another language is set.
    pub(crate) fn in_language(&self) -> &str {
        let said = &self.turn.request.text;
        if Lang::of(said) == self.lang {
            said
        } else {
            self.lang.pick("", "中文")
        }
    }
}

impl State for Agent {
    type Update = Update;

    fn apply(&mut self, update: Update) {
        match update {
            Update::Asked(request) => {
                self.lang = request.lang.unwrap_or_else(|| Lang::of(&request.text));
                self.conversation.history.push(Message::user(&request.text));
                self.turn = Turn::of(request);
            }
            Update::Began {
                thread,
                at,
                zone,
                policy,
            } => {
                self.thread = thread;
                self.policy = policy;
                (self.turn.began_at, self.turn.zone) = (at, zone);
            }
            Update::Compacted(update) => self.compaction.apply(update),
            Update::Answered { text } => {
                self.conversation.history.push(Message::assistant(&text));
                self.turn.answer = text;
            }
            Update::Moved { next, step, .. } => {
                if matches!(next, Move::Call { .. }) {
                    self.calls += 1;
                }
                self.turn.moved(next, step, self.calls);
            }
            other => self.turn.apply(other),
        }
    }
}

impl Corrects for Agent {
    fn corrections(&self) -> u32 {
        let told = self
            .turn
            .corrected
            .iter()
            .filter(|told| is_correction(told));
        u32::try_from(told.count()).unwrap_or(u32::MAX)
    }

    fn history(&self) -> &[Message] {
        &self.turn.corrected
    }

    fn corrected(pair: [Message; 2]) -> Vec<Update> {
        vec![Update::Corrected(Box::new(pair))]
    }
}

impl Compacts for Agent {
    fn compacting(&self) -> Vec<Compacting<'_>> {
        vec![Compacting {
            part: "conversation",
            history: &self.conversation.history,
            done: &self.compaction,
            policy: self.policy.compaction(),
            beginning: self
                .lang
                .pick("summing up what was said before", "正在压缩较早的对话"),
            over: self.lang.pick("summed up", "压缩完成"),
        }]
    }

    fn compacted(_: &str, update: CompactionUpdate) -> Update {
        Update::Compacted(update)
    }
}
