//! Making room in a prompt without losing what was said.
//!
//! The messages stay where they are. What is persisted beside them is a summary, and up to where it
//! speaks for them: the watermark. Asking for a summary and checking it are plain functions; who
//! asks a model, and what happens if that fails, is up to a node: without an update nothing changes.
use fugato_state::{Compaction, CompactionUpdate, Message, Millis, Role, Segment};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// When a conversation is summarised, and what stays in view.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionPolicy {
    /// When.
    pub when: Trigger,
    /// What is counted by `keep_recent` and `segment`.
    pub unit: Unit,
    /// How many of the newest turns are never summarised.
    pub keep_recent: usize,
    /// How many turns one summary covers at most: a long conversation is summarised in segments.
    pub segment: usize,
    /// How many characters a summary may have.
    pub most_characters: usize,
}

/// What a summary covers whole numbers of, so that no call of a tool is cut off from its result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Turns: what a person says, and all that follows from it.
    #[default]
    Turns,
    /// Steps: what the agent says or calls, and what comes of it. For long work within one turn.
    Steps,
}

/// What is too much, counted over the messages that no summary speaks for.
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

impl Default for CompactionPolicy {
    fn default() -> Self {
        Self {
            when: Trigger::Turns(140),
            unit: Unit::Turns,
            keep_recent: 20,
            segment: 140,
            most_characters: 4_000,
        }
    }
}

impl CompactionPolicy {
    /// Summarises when this is so.
    #[must_use]
    pub fn when(mut self, when: Trigger) -> Self {
        self.when = when;
        self
    }

    /// Counts steps in the place of turns.
    #[must_use]
    pub fn by_steps(mut self) -> Self {
        self.unit = Unit::Steps;
        self
    }

    /// Leaves so many of the newest turns as they are.
    #[must_use]
    pub fn keep_recent(mut self, turns: usize) -> Self {
        self.keep_recent = turns;
        self
    }

    /// Summarises at most so many turns at once.
    #[must_use]
    pub fn segment(mut self, turns: usize) -> Self {
        self.segment = turns.max(1);
        self
    }

    /// Allows summaries of so many characters.
    #[must_use]
    pub fn most_characters(mut self, characters: usize) -> Self {
        self.most_characters = characters;
        self
    }

    /// What to summarise now; none if nothing is too much, or all of it is recent.
    ///
    /// It ends before a turn or a step begins, so that no call of a tool is cut off from its result.
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

/// Where turns begin.
fn turns(messages: &[Message]) -> impl Iterator<Item = usize> {
    said_by(messages, Role::User)
}

fn said_by(messages: &[Message], role: Role) -> impl Iterator<Item = usize> {
    let said = move |(at, message): (usize, &Message)| (message.role == role).then_some(at);
    messages.iter().enumerate().filter_map(said)
}

/// What is to be summarised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// The first message.
    pub from: usize,
    /// The first message that is not summarised any more.
    pub upto: usize,
    /// What older messages came to; empty for none.
    pub known: String,
    /// The messages.
    pub messages: Vec<Message>,
    /// How many characters the summary may have.
    pub most_characters: usize,
    /// What must be in it, word for word.
    pub keep: Vec<String>,
}

impl SummaryRequest {
    /// Names what must be in the summary, word for word, such as names and dates.
    #[must_use]
    pub fn keeping<S: Into<String>>(mut self, phrases: impl IntoIterator<Item = S>) -> Self {
        self.keep.extend(phrases.into_iter().map(Into::into));
        self
    }

    /// What to ask a model.
    pub fn prompt(&self) -> Vec<Message> {
        let most = self.most_characters;
        let mut task = format!(
            "Summarise the conversation below in at most {most} characters, in its own language. \
             Keep goals, constraints, decisions with their reasons, results, facts and preferences \
             that the person stated, and what is unresolved. Leave out greetings, how a result was \
             reached, and values that can be looked up again. Answer with the summary alone."
        );
        if !self.keep.is_empty() {
            task.push_str(" These must be in it, word for word: ");
            task.push_str(&self.keep.join("; "));
        }
        let mut told = String::new();
        if !self.known.is_empty() {
            told = format!("What was said before came to:\n{}\n\n", self.known);
        }
        let tells =
            |message: &&Message| !message.content.is_empty() || !message.tool_calls.is_empty();
        told.extend(self.messages.iter().filter(tells).map(line));
        vec![Message::system(task), Message::user(told)]
    }

    /// Whether what a model answered will do. The update is for [`Compaction::apply`]; without one
    /// nothing changes.
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
        Role::System => "system",
        Role::User => "person",
        Role::Assistant => "agent",
        Role::Tool => "tool",
    };
    let mut line = format!("{who}: {}", message.content);
    for call in &message.tool_calls {
        line.push_str(" [calls ");
        line.push_str(&call.name);
        line.push(']');
    }
    line.push('\n');
    line
}

/// An answer is no summary. Each says what would be one, for a model that is asked again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// There is nothing in it.
    #[error("the summary is empty; answer with the summary alone")]
    Empty,
    /// It is too long.
    #[error("the summary has {found} characters, and at most {most} are allowed")]
    TooLong {
        /// How long it is.
        found: usize,
        /// How long it may be.
        most: usize,
    },
    /// Something that must be kept is not in it.
    #[error("these must be in the summary, word for word: {}", missing.join("; "))]
    Lost {
        /// What is not in it.
        missing: Vec<String>,
    },
}
