use std::{future::Future, marker::PhantomData};

use async_trait::async_trait;
use fugato_state::State;

use crate::{BoxError, Context, IntoOutcome, Outcome};

/// One duty of an agent. It reads a snapshot of the state, and returns what should change.
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
/// shown and interrupted; a loop in a node cannot.
#[async_trait]
pub trait Node<S: State>: Send + Sync {
    /// Runs one task.
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError>;
}

/// What can be a node: a struct that implements [`Node`], an async function or an async closure
/// that takes a [`Context`]. `Marker` only tells these apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node of a graph over `{S}`",
    note = "a node implements `Node<{S}>`, or is an async function of a `Context<{S}>` that returns updates or a `Result` of them"
)]
pub trait IntoNode<S: State, Marker> {
    /// The node.
    type Node: Node<S> + 'static;

    /// Makes the node.
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
#[doc(hidden)]
pub struct FnNode<F, Marker>(F, PhantomData<fn() -> Marker>);

impl<F, Marker> std::fmt::Debug for FnNode<F, Marker> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FnNode")
    }
}

#[doc(hidden)]
#[derive(Debug)]
pub struct Fallible<Fut, Shape>(PhantomData<(Fut, Shape)>);

#[async_trait]
impl<S, F, Fut, R, E, Shape> Node<S> for FnNode<F, Fallible<Fut, Shape>>
where
    S: State,
    F: Fn(Context<S>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<R, E>> + Send,
    R: IntoOutcome<S::Update, Shape> + Send,
    E: Into<BoxError> + Send,
{
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        (self.0)(cx)
            .await
            .map(IntoOutcome::into_outcome)
            .map_err(Into::into)
    }
}

impl<S, F, Fut, R, E, Shape> IntoNode<S, Fallible<Fut, Shape>> for F
where
    S: State,
    F: Fn(Context<S>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: IntoOutcome<S::Update, Shape> + Send + 'static,
    E: Into<BoxError> + Send + 'static,
    Shape: 'static,
{
    type Node = FnNode<F, Fallible<Fut, Shape>>;

    fn into_node(self) -> Self::Node {
        FnNode(self, PhantomData)
    }
}

#[doc(hidden)]
#[derive(Debug)]
pub struct Infallible<Fut, Shape>(PhantomData<(Fut, Shape)>);

#[async_trait]
impl<S, F, Fut, R, Shape> Node<S> for FnNode<F, Infallible<Fut, Shape>>
where
    S: State,
    F: Fn(Context<S>) -> Fut + Send + Sync,
    Fut: Future<Output = R> + Send,
    R: IntoOutcome<S::Update, Shape> + Send,
{
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        Ok((self.0)(cx).await.into_outcome())
    }
}

impl<S, F, Fut, R, Shape> IntoNode<S, Infallible<Fut, Shape>> for F
where
    S: State,
    F: Fn(Context<S>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoOutcome<S::Update, Shape> + Send + 'static,
    Shape: 'static,
{
    type Node = FnNode<F, Infallible<Fut, Shape>>;

    fn into_node(self) -> Self::Node {
        FnNode(self, PhantomData)
    }
}
