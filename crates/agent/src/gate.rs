//! A node for one tool call with its gates.
use async_trait::async_trait;
use fugato_graph::{BoxError, Context, IntoUpdates, Node, Outcome};
use fugato_state::{State, ToolCall};
use fugato_tool::AnsweredCall;

use crate::{RoundOutcome, Toolbox, toolbox::finished};

/// A node that carries out the call that the state wants, if the gates allow it.
///
/// If a gate needs a confirmation, the node asks with the card, and the answer is tied to a digest
/// of it. The gates judge again after the answer, so evidence that has expired in the meantime
/// blocks the call. A call that is blocked or declined has a result that says so.
#[derive(derive_more::Debug)]
#[debug("ConfirmGate {{ toolbox: {toolbox:?}, .. }}")]
pub struct ConfirmGate<S: State> {
    toolbox: Toolbox<S>,
    wanted: Box<CallSource<S>>,
    settled: Box<Settle<S>>,
}

type CallSource<S> = dyn Fn(&S) -> Option<ToolCall> + Send + Sync;
type Settle<S> =
    dyn Fn(&AnsweredCall<<S as State>::Update>) -> Vec<<S as State>::Update> + Send + Sync;

impl<S: State> ConfirmGate<S> {
    /// Creates a node for the call that `wanted` returns. `settled` makes updates of its result, in
    /// addition to the updates of the tool.
    pub fn new<R, Shape>(
        toolbox: Toolbox<S>,
        wanted: impl Fn(&S) -> Option<ToolCall> + Send + Sync + 'static,
        settled: impl Fn(&AnsweredCall<S::Update>) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: IntoUpdates<S::Update, Shape>,
    {
        Self {
            toolbox,
            wanted: Box::new(wanted),
            settled: Box::new(move |called| settled(called).into_updates()),
        }
    }
}

#[async_trait]
impl<S: State> Node<S> for ConfirmGate<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let wanted = (self.wanted)(cx.state()).ok_or("there is no call that is wanted")?;
        let called = match self.toolbox.execute(&cx, &[wanted]).await? {
            RoundOutcome::Asks(questions) => {
                let memo = None;
                return Ok(Outcome::Ask { memo, questions });
            }
            RoundOutcome::Done(called) => called,
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
