//! A node for one tool call with its gates.
use std::ops::ControlFlow;

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, IntoUpdates, Node, Outcome};
use fugato_state::{State, ToolCall};
use fugato_tool::AnsweredCall;

use super::{Toolbox, finished};

impl<S: State> Toolbox<S> {
    /// Returns a node that carries out the call that `wanted` returns, if the gates allow it.
    /// `settled` makes updates of its result, in addition to the updates of the tool.
    ///
    /// If a gate needs a confirmation, the node asks with the card, and the answer is tied to a
    /// digest of it. The gates judge again after the answer, so evidence that has expired in the
    /// meantime blocks the call. A call that is blocked or declined has a result that says so.
    pub fn one_call<R, Shape>(
        self,
        wanted: impl Fn(&S) -> Option<ToolCall> + Send + Sync + 'static,
        settled: impl Fn(&AnsweredCall<S::Update>) -> R + Send + Sync + 'static,
    ) -> impl Node<S>
    where
        R: IntoUpdates<S::Update, Shape>,
    {
        OneCall {
            toolbox: self,
            wanted,
            settled: move |called: &AnsweredCall<S::Update>| settled(called).into_updates(),
        }
    }
}

/// The node of [`Toolbox::one_call`].
struct OneCall<S: State, W, F> {
    toolbox: Toolbox<S>,
    wanted: W,
    settled: F,
}

#[async_trait]
impl<S, W, F> Node<S> for OneCall<S, W, F>
where
    S: State,
    W: Fn(&S) -> Option<ToolCall> + Send + Sync,
    F: Fn(&AnsweredCall<S::Update>) -> Vec<S::Update> + Send + Sync,
{
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let wanted = (self.wanted)(cx.state()).ok_or("there is no call that is wanted")?;
        let called = match self.toolbox.execute(&cx, &[wanted]).await? {
            ControlFlow::Continue(called) => called,
            ControlFlow::Break(asks) => return Ok(asks),
        };
        let notes: Vec<_> = called.iter().map(finished).collect();
        let mut updates = vec![];
        for one in called {
            updates.extend((self.settled)(&one));
            updates.extend(one.result.updates);
        }
        let done = Outcome::done(updates);
        Ok(notes.into_iter().fold(done, Outcome::note))
    }
}
