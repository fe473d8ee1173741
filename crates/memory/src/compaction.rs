//! Compaction: shorter prompts by summaries of old messages.
//!
//! The messages stay where they are. The state holds a summary and its watermark, which is the
//! index up to which the summary stands in for the messages. Requesting a summary and checking it
//! are plain functions. A node decides which model is asked and how a failure is handled: without
//! an update nothing changes.
use fugato_state::{Compaction, CompactionUpdate, Message, Millis, Role, Segment, say};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The policy that decides when a conversation is summarised, and which turns stay in view.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionPolicy {
    /// The condition for a summary.
    #[default(Trigger::Turns(140))]
    pub when: Trigger,
    /// The unit that `keep_recent` and `segment` count.
    #[default(Unit::Turns)]
    pub unit: Unit,
    /// The number of newest turns that are never summarised.
    #[default(20)]
    pub keep_recent: usize,
    /// The greatest number of turns in one summary; a long conversation is summarised in segments.
    #[default(140)]
    pub segment: usize,
    /// The greatest length of a summary in characters.
    #[default(4_000)]
    pub most_characters: usize,
}

/// The unit that a summary covers in whole numbers, so that a tool call stays with its result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Turns: a message of the person, and all that follows until the next one.
    #[default]
    Turns,
    /// Steps: a message of the agent, and the results of its calls. For long work within one turn.
    Steps,
}

/// The condition for a summary, evaluated over the messages that no summary covers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trigger {
    /// More turns than this.
    Turns(usize),
    /// More messages than this.
    Messages(usize),
    /// More tokens than this.
    Tokens(u64),
    /// All of these.
    All(Vec<Trigger>),
    /// One of these.
    Any(Vec<Trigger>),
}

impl CompactionPolicy {
    fugato_state::setters! {
        /// Sets the condition for a summary.
        pub fn when(when: Trigger) { when = when }

        /// Sets the number of newest turns that are never summarised.
        pub fn keep_recent(turns: usize) { keep_recent = turns }

        /// Sets the greatest number of turns in one summary, at least 1.
        pub fn segment(turns: usize) { segment = turns.max(1) }

        /// Sets the greatest length of a summary in characters.
        pub fn most_characters(characters: usize) { most_characters = characters }
    }

    /// Counts steps instead of turns.
    #[must_use]
    pub fn by_steps(mut self) -> Self {
        self.unit = Unit::Steps;
        self
    }

    /// Returns the segment to summarise now; `None` if the condition does not hold, or if all
    /// messages are recent.
    ///
    /// The segment ends before a turn or a step begins, so that a tool call stays with its result.
    pub fn due(
        &self,
        history: &[Message],
        done: &Compaction,
        tokens: impl Fn(&Message) -> u64,
    ) -> Option<SummaryRequest> {
        let from = done.upto.min(history.len());
        let open = history.get(from..)?;
        if !self.when.holds(open, &tokens) {
            return None;
        }
        let begins: Vec<usize> = match self.unit {
            Unit::Turns => turns(open).collect(),
            Unit::Steps => said_by(open, Role::Assistant).collect(),
        };
        let oldest_kept = begins.len().checked_sub(self.keep_recent)?;
        let end = oldest_kept.min(self.segment);
        let upto = match begins.get(end) {
            Some(begin) => from + begin,
            None => history.len(),
        };
        let messages = history.get(from..upto)?.to_vec();
        (!messages.is_empty()).then(|| SummaryRequest {
            from,
            upto,
            known: done.summary.clone(),
            messages,
            most_characters: self.most_characters,
            keep: vec![],
        })
    }
}

impl Trigger {
    fn holds(&self, open: &[Message], tokens: &impl Fn(&Message) -> u64) -> bool {
        match self {
            Self::Turns(most) => turns(open).count() > *most,
            Self::Messages(most) => open.len() > *most,
            Self::Tokens(most) => open.iter().map(tokens).sum::<u64>() > *most,
            Self::All(all) => all.iter().all(|one| one.holds(open, tokens)),
            Self::Any(any) => any.iter().any(|one| one.holds(open, tokens)),
        }
    }
}

/// Returns the indexes of the messages that begin a turn.
fn turns(messages: &[Message]) -> impl Iterator<Item = usize> {
    said_by(messages, Role::User)
}

fn said_by(messages: &[Message], role: Role) -> impl Iterator<Item = usize> {
    let said = move |(at, message): (usize, &Message)| (message.role == role).then_some(at);
    messages.iter().enumerate().filter_map(said)
}

/// A segment of a conversation that is to be summarised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// The index of the first message.
    pub from: usize,
    /// The index after the last message.
    pub upto: usize,
    /// The summary of the older messages; empty if there is none.
    pub known: String,
    /// The messages to summarise.
    pub messages: Vec<Message>,
    /// The greatest length of the summary in characters.
    pub most_characters: usize,
    /// The phrases that the summary must contain, word for word.
    pub keep: Vec<String>,
}

impl SummaryRequest {
    fugato_state::setters! {
        /// Adds phrases that the summary must contain word for word, such as names and dates.
        pub fn keeping<S: Into<String>>(phrases: impl IntoIterator<Item = S>) {
            keep.extend(phrases.into_iter().map(Into::into))
        }
    }

    /// Returns the messages that request the summary from a model.
    pub fn prompt(&self) -> Vec<Message> {
        let most = self.most_characters;
        let mut task = say!(
            "Summarise the conversation below in at most {most} characters, in its own language. \
             Keep goals, constraints, decisions with their reasons, results, facts and preferences \
             that the person stated, and what is unresolved. Leave out greetings, how a result was \
             reached, and values that can be looked up again. Answer with the summary alone.",
            "把下面的对话概括成不超过 {most} 个字，用对话自己的语言。保留目标、限制、决定及其理由、结果、用户说过的\
             事实和偏好，以及未解决的问题。省略寒暄、得出结果的过程和可以再次查到的值。只回答概括本身。"
        );
        if !self.keep.is_empty() {
            let keep = self.keep.join("; ");
            task += &say!(
                " These must be in it, word for word: {keep}",
                "以下内容必须逐字写进去：{keep}"
            );
        }
        let mut told = String::new();
        if !self.known.is_empty() {
            told = say!(
                "What was said before came to:\n{}\n\n",
                "此前说过的内容概括为：\n{}\n\n",
                self.known
            );
        }
        let tells =
            |message: &&Message| !message.content.is_empty() || !message.tool_calls.is_empty();
        told.extend(self.messages.iter().filter(tells).map(line));
        vec![Message::system(task), Message::user(told)]
    }

    /// Checks a model's answer, and returns the update for [`Compaction::apply`].
    ///
    /// Without that update nothing changes. Fails if the answer is empty or too long, or lacks a
    /// phrase of `keep`.
    pub fn check(&self, answer: &str, at: Millis) -> Result<CompactionUpdate, SummaryError> {
        let summary = answer.trim();
        if summary.is_empty() {
            return Err(SummaryError::Empty);
        }
        let found = summary.chars().count();
        if found > self.most_characters {
            let most = self.most_characters;
            return Err(SummaryError::TooLong { found, most });
        }
        let missing = self.keep.iter().filter(|phrase| !summary.contains(*phrase));
        let missing: Vec<String> = missing.cloned().collect();
        if !missing.is_empty() {
            return Err(SummaryError::Lost { missing });
        }
        Ok(CompactionUpdate::Summarised(Segment {
            from: self.from,
            upto: self.upto,
            summary: summary.to_owned(),
            at,
        }))
    }
}

fn line(message: &Message) -> String {
    let who = match message.role {
        Role::System => say!("system", "系统"),
        Role::User => say!("person", "用户"),
        Role::Assistant => say!("agent", "助手"),
        Role::Tool => say!("tool", "工具"),
    };
    let mut line = say!("{who}: {}", "{who}：{}", message.content);
    for call in &message.tool_calls {
        line += &say!(" [calls {}]", "［调用 {}］", call.name);
    }
    line.push('\n');
    line
}

/// An answer that is not accepted as a summary. The message says what is allowed, for a model that
/// is asked again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// The answer is empty.
    #[error("{}", say!(
        "the summary is empty; answer with the summary alone",
        "概括是空的；请只回答概括本身"
    ))]
    Empty,
    /// The answer is too long.
    #[error("{}", say!(
        "the summary has {found} characters, and at most {most} are allowed",
        "概括有 {found} 个字，最多允许 {most} 个"
    ))]
    TooLong {
        /// The length of the answer in characters.
        found: usize,
        /// The greatest length allowed.
        most: usize,
    },
    /// The answer lacks phrases that it must contain.
    #[error("{}", say!(
        "these must be in the summary, word for word: {}",
        "以下内容必须逐字写进概括：{}",
        missing.join("; ")
    ))]
    Lost {
        /// The missing phrases.
        missing: Vec<String>,
    },
}
