use std::{fmt::Write as _, sync::Arc};

use fugato_state::{Interrupt, InterruptId, RunId, Seq, ThreadId, ToolStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Text;

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The thread.
    pub thread: ThreadId,
    /// The run within the thread.
    pub run: RunId,
    /// The position in the thread's log of a durable event; none for others, such as a text delta.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// The task that it comes from; none for an event of the run as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Arc<Origin>>,
    /// The kind of the event with its data.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The task that an event comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The path of the subgraph; empty for the graph itself.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub scope: Arc<str>,
    /// The node.
    pub node: Arc<str>,
    /// The number of the node's visit in its scope, from 1.
    pub visit: u32,
    /// The position among tasks of the same scatter, from 0; none outside a scatter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
}

impl Origin {
    /// Returns the address of the task: the scope, `node#visit`, and `[index]` inside a scatter.
    pub fn task(&self) -> String {
        let mut task = String::with_capacity(self.scope.len() + self.node.len() + 4);
        if !self.scope.is_empty() {
            task.push_str(&self.scope);
            task.push('/');
        }
        // Writing to a String cannot fail.
        let _ = write!(task, "{}#{}", self.node, self.visit);
        if let Some(index) = self.index {
            let _ = write!(task, "[{index}]");
        }
        task
    }

    /// Returns true if both are attempts of the same task.
    pub fn is_same_task(&self, other: &Self) -> bool {
        (self.visit, self.index) == (other.visit, other.index)
            && self.node == other.node
            && self.scope == other.scope
    }
}

/// The kinds of events.
///
/// Blocks of text and reasoning are opened, extended and closed under an id. A proposed tool call
/// (`ToolCall…`) is separate from its execution (`Tool…`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// The run began, or went on after an answer or a crash.
    RunStarted {
        /// True if the run went on, false if it began.
        resumed: bool,
    },
    /// The run reached its end.
    RunFinished {
        /// The graph's output, if it declares one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
    },
    /// Nothing in the thread can run until an answer comes.
    RunParked {
        /// The questions that are open.
        interrupts: Vec<Interrupt>,
    },
    /// The run failed. Finished tasks keep their results; a retry runs only the failed ones.
    RunFailed {
        /// The error.
        error: String,
    },
    /// The run was cancelled.
    RunCancelled {
        /// By whom.
        by: String,
        /// The reason.
        why: String,
    },
    /// A task began.
    NodeStarted,
    /// A task ended well.
    NodeFinished,
    /// An attempt of a task failed.
    NodeFailed {
        /// The error.
        error: String,
        /// The time of the next attempt, in milliseconds of the store's clock; none if there is
        /// none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<i64>,
    },
    /// A question was asked.
    InterruptRaised(Interrupt),
    /// A question was answered.
    InterruptAnswered {
        /// The interrupt.
        id: InterruptId,
        /// The answer.
        answer: Value,
    },
    /// A question expired unanswered.
    InterruptExpired {
        /// The interrupt.
        id: InterruptId,
    },
    /// An action on the outside world is about to begin.
    EffectIntended {
        /// The key of the effect.
        key: String,
    },
    /// An action on the outside world happened.
    EffectDone {
        /// The key of the effect.
        key: String,
    },
    /// An operator changed the state.
    Amended {
        /// The operator.
        by: String,
        /// The reason.
        why: String,
    },
    /// Text for the person follows.
    TextStarted {
        /// The block.
        block: Text,
    },
    /// More text of an open block.
    TextDelta {
        /// The block.
        block: Text,
        /// The text to append.
        text: Text,
    },
    /// The block of text is complete.
    TextFinished {
        /// The block.
        block: Text,
    },
    /// The model's reasoning follows.
    ReasoningStarted {
        /// The block.
        block: Text,
    },
    /// More reasoning of an open block.
    ReasoningDelta {
        /// The block.
        block: Text,
        /// The text to append.
        text: Text,
    },
    /// The block of reasoning is complete.
    ReasoningFinished {
        /// The block.
        block: Text,
    },
    /// More of the arguments of a tool call that the model is still writing. The first piece begins
    /// the call; its proposal ends it. A call that is not proposed by the end of its task is void.
    ToolCallDelta {
        /// The id of the call.
        call: Text,
        /// The tool.
        name: Text,
        /// The text to append: all pieces together are JSON, each alone is not.
        arguments: Text,
    },
    /// The model proposes a tool call.
    ToolCallProposed {
        /// The id of the call.
        call: String,
        /// The tool.
        name: String,
        /// The arguments.
        arguments: Value,
    },
    /// A tool began to execute.
    ToolStarted {
        /// The id of the call.
        call: String,
        /// The tool.
        name: String,
        /// A short line for people: the arguments.
        preview: String,
    },
    /// A tool ended.
    ToolFinished {
        /// The id of the call.
        call: String,
        /// The tool.
        name: String,
        /// The status of the result.
        status: ToolStatus,
        /// A short line for people: the outcome.
        summary: String,
        /// The whole result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
    },
    /// A line of progress.
    Status {
        /// A stable code, such as `rough_building`.
        code: String,
        /// The status for people, in their language.
        summary: String,
    },
    /// Something to show as a unit, such as a finished plan.
    Card {
        /// The type of the card.
        card: String,
        /// Its content.
        data: Value,
    },
    /// A model's answer was not usable; the model gets this correction.
    Correction {
        /// The error, and what is allowed.
        message: String,
    },
    /// Anything else.
    Custom {
        /// The name of the event.
        name: String,
        /// Its content.
        data: Value,
    },
}

impl EventKind {
    /// Returns true for a piece of something that is open: text, reasoning, or the arguments of a
    /// call.
    pub fn is_delta(&self) -> bool {
        self.piece().is_some()
    }

    /// Returns the text that a delta appends.
    pub(crate) fn piece(&self) -> Option<&Text> {
        match self {
            Self::TextDelta { text, .. }
            | Self::ReasoningDelta { text, .. }
            | Self::ToolCallDelta {
                arguments: text, ..
            } => Some(text),
            _ => None,
        }
    }

    /// Returns the text that a delta appends, to change it.
    pub(crate) fn piece_mut(&mut self) -> Option<&mut Text> {
        match self {
            Self::TextDelta { text, .. }
            | Self::ReasoningDelta { text, .. }
            | Self::ToolCallDelta {
                arguments: text, ..
            } => Some(text),
            _ => None,
        }
    }

    /// Replaces the text that a delta appends.
    pub(crate) fn set_piece(&mut self, text: Text) {
        if let Some(piece) = self.piece_mut() {
            *piece = text;
        }
    }
}
