//! A graph as a node of another.
use std::marker::PhantomData;

use fugato_state::State;
use serde::de::DeserializeOwned;

use crate::{
    BoxError, Graph, IntoUpdates,
    fold::StateFold,
    machine::{Machine, ScatterItem},
    route,
    scope::{DynScope, Scope, Subgraph},
};

/// The input for a subgraph's state: the state around it, and the item of its task.
#[derive(Debug)]
pub struct SubgraphInput<'a, S> {
    pub(crate) state: &'a S,
    pub(crate) item: Option<&'a ScatterItem>,
}

impl<S> SubgraphInput<'_, S> {
    /// Returns the state around the subgraph, at the start of the step.
    pub fn state(&self) -> &S {
        self.state
    }

    /// Returns the task's item, inside a scatter.
    pub fn item<T: DeserializeOwned>(&self) -> Result<T, BoxError> {
        route::item(self.item)
    }
}

/// A graph over `I` as a node of a graph over another state.
pub(crate) struct MappedGraph<I: State, E, L, Shape> {
    pub(crate) inner: Graph<I>,
    pub(crate) enter: E,
    pub(crate) leave: L,
    pub(crate) marker: PhantomData<fn() -> Shape>,
}

impl<S, I, E, L, R, Shape> Subgraph<S> for MappedGraph<I, E, L, Shape>
where
    S: State,
    I: State,
    E: Fn(SubgraphInput<'_, S>) -> Result<I, BoxError> + Send + Sync,
    L: Fn(&S, &I) -> R + Send + Sync,
    R: IntoUpdates<S::Update, Shape>,
{
    fn blank(&self) -> Box<dyn DynScope> {
        Box::new(Scope::new(&self.inner))
    }

    fn enter(&self, entering: SubgraphInput<'_, S>) -> Result<Box<dyn DynScope>, BoxError> {
        let state = (self.enter)(entering)?;
        let fold = StateFold::new(state);
        Ok(Box::new(Scope::woken(
            &self.inner,
            Machine::default(),
            fold,
        )))
    }

    fn leave(&self, state: &S, child: &dyn DynScope) -> Result<Vec<S::Update>, BoxError> {
        let inner = child.state().downcast_ref::<I>();
        let inner = inner.ok_or("the scope has the state of another subgraph")?;
        Ok((self.leave)(state, inner).into_updates())
    }

    fn picture(&self) -> String {
        self.inner.fingerprint().to_owned()
    }
}
