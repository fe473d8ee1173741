//! One turn of a conversation.
use std::error::Error;

use fugato_graph::{RunError, RunResult};
use fugato_state::Interrupt;
use fugato_stream::{Event, EventKind, ToolStatus};
use serde_json::Value;

/// A turn of a conversation: the events that were shown, and the end.
#[derive(Debug)]
#[non_exhaustive]
pub struct Turn<S> {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The end.
    pub end: TurnEnd<S>,
}

/// The end of a turn.
#[derive(Debug)]
#[non_exhaustive]
pub enum TurnEnd<S> {
    /// The run came to rest, or failed.
    Run(Result<RunResult<S>, RunError>),
    /// The agent replied without a run.
    Told(String),
    /// The process died.
    Killed,
}

impl<S> Turn<S> {
    /// Returns the result of the run.
    ///
    /// # Panics
    /// If the run failed, there was none, or the process died.
    pub fn result(&self) -> &RunResult<S> {
        match &self.end {
            TurnEnd::Run(Ok(result)) => result,
            TurnEnd::Run(Err(_)) => panic!("the run failed: {}", self.error()),
            TurnEnd::Told(text) => panic!("there was no run, but the reply {text:?}"),
            TurnEnd::Killed => panic!("the process died after {:?}", self.names()),
        }
    }

    /// Returns the state at the end of the run.
    ///
    /// # Panics
    /// If there is none; see [`result`](Self::result).
    pub fn state(&self) -> &S {
        self.result().state()
    }

    /// Returns true if the run reached its end.
    pub fn is_finished(&self) -> bool {
        matches!(&self.end, TurnEnd::Run(Ok(RunResult::Finished { .. })))
    }

    /// Returns true if the process died.
    pub fn is_killed(&self) -> bool {
        matches!(self.end, TurnEnd::Killed)
    }

    /// Returns the graph's output, if the run reached its end and the graph declares one.
    pub fn output(&self) -> Option<&Value> {
        match &self.end {
            TurnEnd::Run(Ok(RunResult::Finished { output, .. })) => output.as_ref(),
            _ => None,
        }
    }

    /// Returns the answer to the person: the output of the graph if that is text, the reply if
    /// there was no run, and otherwise the text that was streamed.
    pub fn answer(&self) -> String {
        match (&self.end, self.output()) {
            (TurnEnd::Told(text), _) | (_, Some(Value::String(text))) => text.clone(),
            _ => self.texts().join("\n"),
        }
    }

    /// Returns the only open question.
    ///
    /// # Panics
    /// If none is open, or several are.
    pub fn card(&self) -> &Interrupt {
        match self.result().interrupts() {
            [card] => card,
            cards => panic!("{} questions are open: {cards:?}", cards.len()),
        }
    }

    /// Returns the error of a run that failed, with its causes.
    ///
    /// # Panics
    /// If the run did not fail.
    pub fn error(&self) -> String {
        let TurnEnd::Run(Err(error)) = &self.end else {
            panic!("the run did not fail: {:?}", self.names())
        };
        let causes = std::iter::successors(error.source(), |&cause| cause.source());
        causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
    }

    /// Returns the data of the agent's own events with this name.
    pub fn custom(&self, name: &str) -> Vec<Value> {
        self.map(|kind| match kind {
            EventKind::Custom { name: known, data } if known == name => Some(data.clone()),
            _ => None,
        })
    }

    /// Returns the names of the events, in order: that of the agent for its own events, `status`
    /// and the code, `tool` and the name of a tool that began, and otherwise the kind. Pieces of
    /// text and of calls are left out.
    pub fn names(&self) -> Vec<String> {
        self.map(|kind| match kind {
            _ if kind.is_delta() => None,
            EventKind::Custom { name, .. } => Some(name.clone()),
            EventKind::Status { code, .. } => Some(format!("status {code}")),
            EventKind::ToolStarted { name, .. } => Some(format!("tool {name}")),
            kind => {
                let kind = serde_json::to_value(kind).ok()?;
                Some(kind.get("kind")?.as_str()?.to_owned())
            }
        })
    }

    /// Returns the codes of the lines of progress.
    pub fn statuses(&self) -> Vec<&str> {
        self.map(|kind| match kind {
            EventKind::Status { code, .. } => Some(code.as_str()),
            _ => None,
        })
    }

    /// Returns the tools that ended, each with the status of its result.
    pub fn tools(&self) -> Vec<(&str, ToolStatus)> {
        self.map(|kind| match kind {
            EventKind::ToolFinished { name, status, .. } => Some((name.as_str(), *status)),
            _ => None,
        })
    }

    /// Returns the corrections that the model got for its unusable answers.
    pub fn corrections(&self) -> Vec<&str> {
        self.map(|kind| match kind {
            EventKind::Correction { message } => Some(message.as_str()),
            _ => None,
        })
    }

    /// Returns the text that was streamed, block by block.
    pub fn texts(&self) -> Vec<String> {
        let mut blocks: Vec<(&str, String)> = vec![];
        for event in &self.events {
            match &event.kind {
                EventKind::TextStarted { block } => blocks.push((block, String::new())),
                EventKind::TextDelta { block, text } => {
                    match blocks.iter_mut().rfind(|(id, _)| *id == &**block) {
                        Some((_, open)) => open.push_str(text),
                        None => blocks.push((block, text.to_string())),
                    }
                }
                _ => {}
            }
        }
        blocks.into_iter().map(|(_, text)| text).collect()
    }

    /// Returns what `pick` finds in the kinds of the events, in order.
    pub fn map<'a, T>(&'a self, pick: impl FnMut(&'a EventKind) -> Option<T>) -> Vec<T> {
        self.events
            .iter()
            .map(|event| &event.kind)
            .filter_map(pick)
            .collect()
    }
}
