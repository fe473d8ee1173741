use fugato_graph::{BuildError, Run, RunError, RunResult, Runner};
use fugato_state::{Interrupt, RunContext, ThreadId};
use fugato_tool::RegistryError;

use super::{React, ReactReply, ReactUpdate};
use crate::Embeds;

/// A `ReAct` agent with the interface of its callers: a message in, a reply out.
#[derive(derive_more::Debug)]
#[debug("Assistant {{ .. }}")]
pub struct Assistant<S: Embeds<React> = React> {
    runner: Runner<S>,
}

/// The reason why a message got no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The tools do not fit together.
    #[error(transparent)]
    Tools(#[from] RegistryError),
    /// The graph cannot be built.
    #[error(transparent)]
    Graph(#[from] BuildError),
    /// The run failed.
    #[error("the run did not come to its end")]
    Run(#[from] RunError),
    /// A person has to answer first.
    #[error("{} questions wait for an answer", .0.len())]
    Asks(Vec<Interrupt>),
    /// The run ended without an output that is a reply.
    #[error("the run ended without a reply")]
    NoReply(#[source] Option<serde_json::Error>),
}

impl<S: Embeds<React>> Assistant<S> {
    /// Creates an assistant of a [`ReactLoop`](super::ReactLoop).
    pub fn new(runner: Runner<S>) -> Self {
        Self { runner }
    }

    /// Returns the runner, to answer questions, read the history or cancel.
    pub fn runner(&self) -> &Runner<S> {
        &self.runner
    }

    /// Sends a message, and waits for the reply. With a context:
    /// [`chat_stream_with`](Self::chat_stream_with).
    pub async fn chat(&self, thread: &ThreadId, text: &str) -> Result<ReactReply, ReplyError> {
        Self::reply(self.chat_stream(thread, text).await?)
    }

    /// Sends a message. Returns the run: a stream of its events, and a future of its end, which
    /// [`reply`](Self::reply) converts into a reply.
    pub fn chat_stream(&self, thread: &ThreadId, text: &str) -> Run<S> {
        let said = S::embed(ReactUpdate::user(text));
        self.runner.start(thread, vec![said])
    }

    /// Sends a message as [`chat_stream`](Self::chat_stream) does, on behalf of a user, to a model
    /// of the caller's choice.
    pub fn chat_stream_with(&self, thread: &ThreadId, text: &str, context: RunContext) -> Run<S> {
        let request = ReactUpdate::request(text, context).into_iter();
        let updates: Vec<_> = request.map(S::embed).collect();
        self.runner.start(thread, updates)
    }

    /// Returns the reply of a run that has ended.
    pub fn reply(ended: RunResult<S>) -> Result<ReactReply, ReplyError> {
        match ended {
            RunResult::Finished {
                output: Some(output),
                ..
            } => serde_json::from_value(output).map_err(|error| ReplyError::NoReply(Some(error))),
            RunResult::Interrupted { interrupts, .. } => Err(ReplyError::Asks(interrupts)),
            _ => Err(ReplyError::NoReply(None)),
        }
    }
}
