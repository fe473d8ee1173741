//! The state of a conversation, its present turn, and the only place where either changes.
mod turn;
mod update;

use fugato::{
    agent::{
        decision::CorrectionState,
        memory::{Compactable, CompactionInput},
    },
    memory::{Compaction, CompactionPolicy, CompactionUpdate, Trigger},
    prompt::is_correction,
    state::{Conversation, Message, State},
};
use serde::{Deserialize, Serialize};

pub use fugato::cli::Lang;
pub use turn::{CallRecord, PendingCall, TurnPhase, TurnState, TurnStop};
pub use update::{Move, Request, Update};

/// The state of a conversation. Every field has a default, so that threads of older versions load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentState {
    /// The name of the thread, for jobs that are made in it.
    pub thread: String,
    /// The language of the person.
    pub lang: Lang,
    /// The messages of the person and the answers.
    pub conversation: Conversation,
    /// The summary of older messages.
    pub compaction: Compaction,
    /// The policy by which the conversation is compacted.
    pub policy: HistoryPolicy,
    /// The number of calls of tools in all turns, from which their ids are made.
    pub calls: u64,
    /// The present turn, or else the last one.
    pub turn: TurnState,
}

/// The policy of compaction, with the options that a person may set.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryPolicy {
    /// The number of turns, each a message of the person with its answer, after which it is due.
    #[default(140)]
    pub turns: usize,
    /// The number of tokens after which it is due; none to ignore tokens.
    pub tokens: Option<u64>,
    /// The number of the newest turns that are kept unchanged.
    #[default(20)]
    pub keep_recent: usize,
}

impl HistoryPolicy {
    /// Returns the policy in the library's form.
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

impl AgentState {
    /// Returns a text in the person's language, for the library's messages: the person's own words,
    /// unless another language is set.
    pub(crate) fn in_language(&self) -> &str {
        let said = &self.turn.request.text;
        if Lang::of(said) == self.lang {
            said
        } else {
            self.lang.pick("", "中文")
        }
    }
}

impl State for AgentState {
    type Update = Update;

    fn lang(&self) -> Lang {
        self.lang
    }

    fn apply(&mut self, update: Update) {
        match update {
            Update::Asked(mut request) => {
                self.lang = request
                    .lang
                    .or_else(|| Lang::evident(&request.text))
                    .unwrap_or(self.lang);
                self.conversation.history.append(&mut request.earlier);
                if !request.told {
                    self.conversation.history.push(Message::user(&request.text));
                }
                self.turn = TurnState::of(request);
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

impl CorrectionState for AgentState {
    fn corrections(&self) -> u32 {
        let told = self
            .turn
            .corrected
            .iter()
            .filter(|told| is_correction(told));
        u32::try_from(told.count()).unwrap_or(u32::MAX)
    }

    fn corrected(pair: [Message; 2]) -> Vec<Update> {
        vec![Update::Corrected(Box::new(pair))]
    }
}

impl Compactable for AgentState {
    fn compacting(&self) -> Vec<CompactionInput<'_>> {
        vec![CompactionInput {
            part: "conversation",
            history: &self.conversation.history,
            done: &self.compaction,
            policy: self.policy.compaction(),
            beginning: self
                .lang
                .pick("summing up what was said before", "正在压缩较早的对话"),
            over: self.lang.pick("summed up", "压缩完成"),
            failed: self.lang.pick(
                "what was said before could not be summed up, and stays as it is",
                "较早的对话没能压缩，保持原样",
            ),
        }]
    }

    fn compacted(_: &str, update: CompactionUpdate) -> Update {
        Update::Compacted(update)
    }
}
