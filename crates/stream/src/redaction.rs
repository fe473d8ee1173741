use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use fugato_state::{Lang, say};

use crate::{Event, EventKind, Origin};

/// The parts of events that a reader does not get, whatever the encoder.
///
/// By default nothing is left out, for the operator of the agent. A person who talks to it gets
/// [`internals`](Self::internals) left out: the names of its nodes, the calls of its models, and the
/// raw outputs of its tools. What such a person needs stays: text, reasoning, the calls of tools
/// with their arguments and summaries, cards, progress, and questions.
///
/// ```
/// use fugato_state::{RunId, ThreadId, ToolStatus};
/// use fugato_stream::{Event, EventKind, Redaction};
///
/// let kind = EventKind::ToolFinished {
///     call: "c1".into(),
///     name: "accounts".into(),
///     status: ToolStatus::Ok,
///     summary: "3 accounts".into(),
///     result: Some("ada 4711, bob 4712, cid 4713".into()),
/// };
/// let event = Event { thread: ThreadId::new("desk")?, run: RunId(1), seq: Some(7), origin: None, kind };
/// let shown = Redaction::internals().apply(event).map(|event| event.kind);
/// assert!(matches!(shown, Some(EventKind::ToolFinished { result: None, .. })));
/// # Ok::<(), fugato_state::InvalidThreadId>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redaction {
    /// True if the names of nodes are left out: the origins of events become numbers, the events
    /// that a task began or ended and those of effects are dropped, and errors, which name tasks,
    /// say only that something failed. The id of a question, which its answer needs, stays.
    pub nodes: bool,
    /// True if the calls of models are left out, and the corrections of their answers.
    pub model_calls: bool,
    /// True if the results of tools are left out; their summaries stay.
    pub tool_outputs: bool,
}

impl Redaction {
    /// The error of a run, for a reader who gets no names of nodes.
    pub const RUN_FAILED: &str = "the run failed; the operator can see why";
    const ATTEMPT_FAILED: &str = "an attempt failed";

    /// Returns the error of a run whose thread another process has taken over. It has not failed, so
    /// every reader gets these words.
    pub fn taken_over() -> String {
        say!(
            "another process goes on with this: open the conversation again to see it",
            "另一个进程会接着做：重新打开对话就能看到"
        )
    }

    /// Leaves nothing out.
    pub const fn none() -> Self {
        Self {
            nodes: false,
            model_calls: false,
            tool_outputs: false,
        }
    }

    /// Leaves out everything that concerns only the operator of the agent.
    pub const fn internals() -> Self {
        Self {
            nodes: true,
            model_calls: true,
            tool_outputs: true,
        }
    }

    fugato_state::setters! {
        /// Sets if the names of nodes are left out.
        pub fn nodes(hidden: bool) { nodes = hidden }

        /// Sets if the calls of models are left out.
        pub fn model_calls(hidden: bool) { model_calls = hidden }

        /// Sets if the results of tools are left out.
        pub fn tool_outputs(hidden: bool) { tool_outputs = hidden }
    }

    /// Returns true if nothing is left out.
    pub fn is_none(&self) -> bool {
        *self == Self::none()
    }

    /// Returns the event as the reader gets it; none if it is dropped.
    pub fn apply(&self, mut event: Event) -> Option<Event> {
        event.kind = self.kind(event.kind)?;
        if self.nodes {
            let thread = event.thread.as_str();
            event.origin = event.origin.map(|origin| anonymous(thread, &origin));
        }
        Some(event)
    }

    /// Returns the kind of an event as the reader gets it; none if it is dropped.
    pub fn kind(&self, mut kind: EventKind) -> Option<EventKind> {
        if self.nodes {
            kind = without_nodes(kind)?;
        }
        match kind {
            EventKind::Custom { name, .. } if self.model_calls && name == MODEL_CALL => None,
            EventKind::Correction { .. } if self.model_calls => None,
            EventKind::ToolFinished {
                call,
                name,
                status,
                summary,
                ..
            } if self.tool_outputs => Some(EventKind::ToolFinished {
                call,
                name,
                status,
                summary,
                result: None,
            }),
            kind => Some(kind),
        }
    }
}

/// The name of the custom event that records the call of a model.
const MODEL_CALL: &str = "model_call";

fn is_taken_over(error: &str) -> bool {
    let langs = [Lang::En, Lang::Zh];
    langs
        .iter()
        .any(|lang| lang.scope(Redaction::taken_over) == error)
}

fn without_nodes(mut kind: EventKind) -> Option<EventKind> {
    match &mut kind {
        EventKind::NodeStarted
        | EventKind::NodeFinished
        | EventKind::EffectIntended { .. }
        | EventKind::EffectDone { .. } => return None,
        EventKind::NodeFailed { error, .. } => Redaction::ATTEMPT_FAILED.clone_into(error),
        EventKind::RunFailed { error } if is_taken_over(error) => {}
        EventKind::RunFailed { error } => Redaction::RUN_FAILED.clone_into(error),
        EventKind::InterruptRaised(asked) => asked.task.clear(),
        EventKind::RunParked { interrupts } => {
            for asked in interrupts {
                asked.task.clear();
            }
        }
        _ => {}
    }
    Some(kind)
}

/// Returns the origin with a number in place of its names. The events of a task keep one origin,
/// because the text of a failed attempt is void.
fn anonymous(thread: &str, origin: &Origin) -> Arc<Origin> {
    let mut hasher = DefaultHasher::new();
    (thread, &origin.scope, &origin.node).hash(&mut hasher);
    Arc::new(Origin {
        scope: format!("{:08x}", hasher.finish() >> 32).into(),
        node: "".into(),
        ..origin.clone()
    })
}
