use std::{future::Future, marker::PhantomData, pin::Pin};

use async_trait::async_trait;
use fugato_state::State;
use futures::FutureExt;

use crate::{BoxError, Context, IntoOutcome, Outcome};

/// One duty of an agent. It reads a snapshot of the state, and returns the updates of it.
///
/// An async function or closure of a [`Context`] is a node; a struct implements this trait if the
/// node has settings or clients of its own.
///
/// ```
/// use async_trait::async_trait;
/// use fugato_graph::{BoxError, Context, END, Graph, Node, Outcome, Runner};
/// # use fugato_state::State;
/// # #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
/// # struct Text(String);
/// # impl State for Text {
/// #     type Update = String;
/// #     fn apply(&mut self, text: String) { self.0 = text }
/// # }
///
/// struct Cut {
///     most: usize,
/// }
///
/// #[async_trait]
/// impl Node<Text> for Cut {
///     async fn run(&self, cx: Context<Text>) -> Result<Outcome<String>, BoxError> {
///         let text = &cx.state().0;
///         if text.is_empty() {
///             return Err("there is no text".into());
///         }
///         Ok(Outcome::done([text.chars().take(self.most).collect()]))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// let graph = Graph::<Text>::starting_at("cut").node("cut", Cut { most: 4 });
/// let runner = Runner::ephemeral(graph.edge("cut", END).build()?);
/// let ended = runner.run("once upon a time".to_owned()).await?;
/// assert_eq!(ended.state().0, "once");
/// # Ok(())
/// # }
/// ```
///
/// *Contract*
/// - **reads a snapshot**: `cx.state()` is the state at the start of the step; what siblings do
///   is not in it.
/// - **may run again**: after a crash or a failure, a node without a recorded outcome runs again.
///   What it does to the outside world goes through [`Context::effect`], which is done as often as
///   its class allows, however often the node runs.
/// - **can be dropped**: when its time is over or its run is cancelled, its future is. What it began
///   as an effect that must not be done twice goes on, and is recorded.
/// - **does not route**: where the thread goes next is the wiring's business.
///
/// Wrong: looping inside a node until the model is content. A loop in the graph can be stored,
/// shown and interrupted; a loop in a node cannot. After a crash in the fifth round all five run
/// again:
///
/// ```text
/// loop {
///     let draft = model.write(cx.state()).await?;
///     if is_good(&draft) {
///         return Ok(Change::Drafted(draft));
///     }
/// }
/// ```
///
/// # Errors
/// An error or a panic fails this attempt. The node's [`NodePolicy`](crate::NodePolicy) may try it
/// again; without another try the run fails as `Node` or `Panicked`, or as `Timeout` or `Idle` if
/// the attempt exceeded its limit. The outcomes of siblings are kept, and
/// [`Runner::retry`](crate::Runner::retry) runs only the failed tasks.
///
/// # Cancellation safety
/// The future can be dropped at every `await`, without a chance to run more code than its
/// destructors. Nothing of a dropped attempt is stored but its effects, so the next attempt begins
/// at the top.
///
/// # Cost
/// A snapshot is a shared pointer. If it is still held when the next update applies, for example by
/// a spawned task, that update copies the state. A task alone in its step runs inline, without a
/// spawn.
#[async_trait]
pub trait Node<S: State>: Send + Sync {
    /// Runs one task.
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError>;
}

/// The conversion into a node: of a struct that implements [`Node`], an async function or an async
/// closure that takes a [`Context`]. `Marker` only tells these apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node of a graph over `{S}`",
    note = "a node implements `Node<{S}>`, or is an async function of a `Context<{S}>` that returns updates of `{S}` (`State::Update`), or a `Result<_, BoxError>` of them"
)]
pub trait IntoNode<S: State, Marker> {
    /// The node.
    type Node: Node<S> + 'static;

    /// Converts into the node.
    fn into_node(self) -> Self::Node;
}

#[doc(hidden)]
#[derive(Debug)]
pub struct IsNode;

impl<S: State, N: Node<S> + 'static> IntoNode<S, IsNode> for N {
    type Node = N;

    fn into_node(self) -> N {
        self
    }
}

/// A function as a node.
#[derive(derive_more::Debug)]
#[doc(hidden)]
#[debug("FnNode")]
pub struct FnNode<F, Fut, Shape>(F, PhantomData<fn() -> (Fut, Shape)>);

// Written out, so that what is allocated is the future of the function once, and not its context too.
impl<S, F, Fut, Shape> Node<S> for FnNode<F, Fut, Shape>
where
    S: State,
    F: Fn(Context<S>) -> Fut + Send + Sync,
    Fut: Future<Output: IntoOutcome<S::Update, Shape> + Send> + Send,
{
    fn run<'a, 'b>(
        &'a self,
        cx: Context<S>,
    ) -> Pin<Box<dyn Future<Output = Result<Outcome<S::Update>, BoxError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin((self.0)(cx).map(IntoOutcome::into_outcome))
    }
}

impl<S, F, Fut, Shape> IntoNode<S, (Fut, Shape)> for F
where
    S: State,
    F: Fn(Context<S>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoOutcome<S::Update, Shape> + Send> + Send + 'static,
    Shape: 'static,
{
    type Node = FnNode<F, Fut, Shape>;

    fn into_node(self) -> Self::Node {
        FnNode(self, PhantomData)
    }
}
