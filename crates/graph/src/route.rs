//! The routes of a closing step.
use std::borrow::Cow;

use fugato_state::State;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    BoxError, Graph, RunError, RunErrorKind,
    graph::Outgoing,
    machine::{Machine, NextTask, NodeIx, Routes, ScatterItem, TaskPath},
};

/// The target that ends a branch of the run.
pub const END: &str = "END";

/// The choice of a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Targets {
    /// One node, or [`END`].
    One(Cow<'static, str>),
    /// Several nodes, which run in the same step.
    Many(Vec<Cow<'static, str>>),
}

/// The conversion of a router's return value: a name, several names, or a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name the targets of a branch",
    note = "a router returns a `&'static str`, a `String`, a `Vec` or array of these, or a `Result`"
)]
pub trait IntoTargets {
    /// Returns the targets.
    fn into_targets(self) -> Result<Targets, BoxError>;
}

impl IntoTargets for &'static str {
    fn into_targets(self) -> Result<Targets, BoxError> {
        Ok(Targets::One(self.into()))
    }
}

impl IntoTargets for String {
    fn into_targets(self) -> Result<Targets, BoxError> {
        Ok(Targets::One(self.into()))
    }
}

impl<T: Into<Cow<'static, str>>> IntoTargets for Vec<T> {
    fn into_targets(self) -> Result<Targets, BoxError> {
        Ok(Targets::Many(self.into_iter().map(Into::into).collect()))
    }
}

impl<T: Into<Cow<'static, str>>, const N: usize> IntoTargets for [T; N] {
    fn into_targets(self) -> Result<Targets, BoxError> {
        Ok(Targets::Many(self.into_iter().map(Into::into).collect()))
    }
}

impl<T: IntoTargets, E: Into<BoxError>> IntoTargets for Result<T, E> {
    fn into_targets(self) -> Result<Targets, BoxError> {
        self.map_err(Into::into)?.into_targets()
    }
}

pub(crate) type Router<S> = dyn Fn(&S) -> Result<Targets, BoxError> + Send + Sync;
pub(crate) type Scatter<S> = dyn Fn(&S) -> Result<Vec<ScatterItem>, BoxError> + Send + Sync;

pub(crate) fn items<T: Serialize>(
    items: impl IntoIterator<Item = T>,
) -> Result<Vec<ScatterItem>, BoxError> {
    let item = |item| Ok(ScatterItem(serde_json::value::to_raw_value(&item)?.into()));
    items.into_iter().map(item).collect()
}

/// Reads the item of a task.
pub(crate) fn item<T: DeserializeOwned>(item: Option<&ScatterItem>) -> Result<T, BoxError> {
    let item = item.ok_or("the task does not come from a scatter")?;
    let other = |error| format!("the item of the scatter has another type: {error}");
    Ok(serde_json::from_str(item.0.get()).map_err(other)?)
}

/// Writes the routes of a step in place of others: each node of the frontier is routed once, on the
/// folded state.
pub(crate) fn route<S: State>(
    graph: &Graph<S>,
    machine: &Machine,
    state: &S,
    routes: &mut Routes<TaskPath>,
) -> Result<(), RunError> {
    if !routes.is_empty() {
        routes.clear();
    }
    let mut routing = Routing::new(graph, machine, state, routes);
    let mut last = None;
    for task in machine.frontier() {
        if last != Some(task.path.node) {
            routing.leave(task.path.node)?;
            last = Some(task.path.node);
        }
    }
    routing.pass()
}

/// Returns the routes of one task alone, while others go on. A route to a node with an unbegun task
/// leads into that task.
pub(crate) fn route_from<S: State>(
    graph: &Graph<S>,
    machine: &Machine,
    state: &S,
    node: NodeIx,
) -> Result<Routes<TaskPath>, RunError> {
    let mut routes = Routes::default();
    let mut routing = Routing::new(graph, machine, state, &mut routes);
    routing.leave(node)?;
    routing.pass()?;
    routes
        .next
        .retain(|next| next.items.is_some() || !machine.unbegun(next.task.node));
    Ok(routes)
}

/// Returns the route into the first node of a run.
pub(crate) fn entry<S: State>(graph: &Graph<S>, machine: &Machine) -> NextTask<TaskPath> {
    NextTask {
        task: machine.next_path(graph.0.start),
        items: None,
    }
}

struct Routing<'a, S: State> {
    graph: &'a Graph<S>,
    machine: &'a Machine,
    state: &'a S,
    routes: &'a mut Routes<TaskPath>,
    /// Workers for which a scatter had no item.
    passed: Vec<NodeIx>,
}

impl<'a, S: State> Routing<'a, S> {
    fn new(
        graph: &'a Graph<S>,
        machine: &'a Machine,
        state: &'a S,
        routes: &'a mut Routes<TaskPath>,
    ) -> Self {
        Self {
            graph,
            machine,
            state,
            routes,
            passed: vec![],
        }
    }

    fn leave(&mut self, node: NodeIx) -> Result<(), RunError> {
        let graph = self.graph;
        let Some(wire) = graph.0.nodes.get(node.at()) else {
            return Ok(());
        };
        match &wire.way {
            Outgoing::Edges(targets) => targets.iter().for_each(|target| self.enter(*target)),
            Outgoing::Branch { declared, router } => self.branch(node, declared, router)?,
            Outgoing::Scatter { to, items } => self.scatter(node, *to, items)?,
        }
        wire.joins.iter().for_each(|join| self.arrive(*join, node));
        Ok(())
    }

    fn enter(&mut self, node: NodeIx) {
        if self.routes.next.iter().all(|next| next.task.node != node) {
            self.routes.next.push(NextTask {
                task: self.machine.next_path(node),
                items: None,
            });
        }
    }

    fn branch(
        &mut self,
        node: NodeIx,
        declared: &[(std::sync::Arc<str>, Option<NodeIx>)],
        router: &Router<S>,
    ) -> Result<(), RunError> {
        if let Some((target, wanted)) = &self.graph.0.guard
            && wanted(self.state)
        {
            self.enter(*target);
            return Ok(());
        }
        let chosen =
            calm(self.state, || router(self.state)).map_err(|error| self.failed(node, error))?;
        let mut choose = |name: &str| match declared.iter().find(|(known, _)| **known == *name) {
            Some((_, target)) => {
                if let Some(target) = target {
                    self.enter(*target);
                }
                Ok(())
            }
            None => Err(RunError::new(RunErrorKind::UndeclaredTarget {
                node: self.graph.0.names.name(node).to_string(),
                target: name.to_owned(),
                declared: declared.iter().map(|(name, _)| name.to_string()).collect(),
            })),
        };
        match chosen {
            Targets::One(name) => choose(&name),
            Targets::Many(names) if names.is_empty() => {
                let error = "the router chose no target; to end, choose END".into();
                Err(self.failed(node, error))
            }
            Targets::Many(names) => names.iter().try_for_each(|name| choose(name)),
        }
    }

    fn scatter(&mut self, node: NodeIx, to: NodeIx, items: &Scatter<S>) -> Result<(), RunError> {
        let items =
            calm(self.state, || items(self.state)).map_err(|error| self.failed(node, error))?;
        if items.is_empty() {
            self.passed.push(to);
            return Ok(());
        }
        let mut next = self.routes.next.iter_mut();
        if let Some(others) = next
            .find(|n| n.task.node == to)
            .and_then(|n| n.items.as_mut())
        {
            others.extend(items);
        } else {
            let task = self.machine.next_path(to);
            let items = Some(items);
            self.routes.next.push(NextTask { task, items });
        }
        Ok(())
    }

    /// Routes past workers without items: the thread takes the way out of them, unless another
    /// scatter of the same step has items for them.
    #[inline]
    fn pass(&mut self) -> Result<(), RunError> {
        if self.passed.is_empty() {
            return Ok(());
        }
        let mut passed = std::mem::take(&mut self.passed);
        passed.dedup();
        passed.retain(|to| self.routes.next.iter().all(|next| next.task.node != *to));
        passed.into_iter().try_for_each(|to| self.leave(to))
    }

    fn arrive(&mut self, join: usize, node: NodeIx) {
        let graph = self.graph;
        let Some(join) = graph.0.joins.get(join) else {
            return;
        };
        let (target, from) = (graph.0.names.name(join.to), graph.0.names.name(node));
        let before = self.machine.half_filled().get(&*target);
        self.routes
            .arrived
            .push((target.to_string(), from.to_string()));
        let here = &self.routes.arrived;
        let complete = join.from.iter().all(|source| {
            let source = graph.0.names.name(*source);
            before.is_some_and(|before| before.iter().any(|name| **name == *source))
                || here
                    .iter()
                    .any(|(to, name)| **to == *target && **name == *source)
        });
        if complete && !self.routes.joined.iter().any(|name| **name == *target) {
            self.routes.joined.push(target.to_string());
            self.enter(join.to);
        }
    }

    fn failed(&self, node: NodeIx, error: BoxError) -> RunError {
        let node = self.graph.0.names.name(node).to_string();
        RunError::new(RunErrorKind::Router { node }).because(error)
    }
}

/// Calls a function of the wiring in the language of the state, and returns a panic in it as an
/// error.
pub(crate) fn calm<S: State, T>(
    state: &S,
    f: impl FnOnce() -> Result<T, BoxError>,
) -> Result<T, BoxError> {
    let speaking = || state.lang().scope(f);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(speaking))
        .unwrap_or_else(|panic| Err(panic_text(&*panic).into()))
}

/// Returns the message of a panic.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!(
        "panicked: {}",
        text.unwrap_or_else(|| "without a message".into())
    )
}
