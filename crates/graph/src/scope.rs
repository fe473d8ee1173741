//! Scopes of tasks: the graph itself, or a subgraph under a task. Each scope has its machine, the
//! fold of its state, and the scopes under its tasks.
mod ask;
mod place;
mod replay;
mod resume;
mod step;
mod sub;

use std::collections::{BTreeMap, BTreeSet};

use fugato_state::State;
use fugato_stream::EventKind;

pub(crate) use ask::doubt_key;
pub(crate) use place::ScopeAddress;
pub(crate) use place::trail;
pub(crate) use resume::{asker, find};
pub(crate) use sub::{AttemptEnd, DynScope, Subgraph};

use crate::{
    Graph, RunError, RunErrorKind,
    engine::Engine,
    fold::StateFold,
    machine::{Directive, Fact, Machine, Names, TaskPath, TaskStatus},
};

/// The updates of a task in their stored form, and its notes.
type TaskOutput = (Option<Vec<u8>>, Vec<EventKind>);

/// A graph at work: its machine, and its state.
pub(crate) struct Scope<S: State> {
    pub(crate) graph: Graph<S>,
    pub(crate) machine: Machine,
    pub(crate) fold: StateFold<S>,
    pub(crate) names: std::sync::Arc<Names>,
    /// None for the graph itself.
    pub(crate) at: ScopeAddress,
    /// The state version that wrote last.
    pub(crate) version: u32,
    pub(crate) children: BTreeMap<TaskPath, Box<dyn DynScope>>,
    /// The children that must be advanced, in any order, and maybe more than once.
    stirred: Vec<TaskPath>,
    /// Tasks whose subgraph this graph no longer has.
    lost: BTreeSet<TaskPath>,
    /// The outcome of a step's only task, which becomes one record with its routes.
    solo: Option<TaskOutput>,
}

impl<S: State> Scope<S> {
    pub(crate) fn new(graph: &Graph<S>) -> Self {
        Self::woken(
            graph,
            Machine::default(),
            StateFold::new((graph.0.initial)()),
        )
    }

    pub(crate) fn woken(graph: &Graph<S>, machine: Machine, fold: StateFold<S>) -> Self {
        Self {
            graph: graph.clone(),
            machine,
            fold,
            names: graph.0.names.clone(),
            at: None,
            version: S::VERSION,
            children: BTreeMap::new(),
            stirred: vec![],
            lost: BTreeSet::new(),
            solo: None,
        }
    }

    /// Does all work that needs no waiting. Ready tasks are left with the engine.
    pub(crate) fn advance(&mut self, engine: &mut Engine) -> Result<Directive, RunError> {
        loop {
            // Thousands of subgraphs may be begun at once: a set would find each of them again.
            while !self.stirred.is_empty() {
                let mut stirred = std::mem::take(&mut self.stirred);
                stirred.sort_unstable();
                stirred.dedup();
                for path in stirred {
                    self.look_into(path, engine)?;
                }
            }
            let todo = self.machine.directive();
            let held = engine.is_eager() && self.machine.failure().is_some();
            match todo {
                Directive::Run if engine.closing => return Ok(Directive::Wait),
                Directive::Run if held && self.machine.is_still() => return Ok(Directive::Fail),
                Directive::Run if held => return Ok(Directive::Wait),
                Directive::Run => self.begin(engine)?,
                Directive::Wait | Directive::Sleep(_) | Directive::Park
                    if engine.is_eager() && self.machine.is_done() =>
                {
                    self.route_done(engine);
                }
                Directive::Route if engine.is_eager() => self.route_done(engine),
                Directive::Route => self.close_step(engine),
                todo => return Ok(todo),
            }
            if engine.give_up.is_some() {
                return Ok(Directive::Rest);
            }
        }
    }

    /// Advances a subgraph, and sets the state of its task accordingly.
    fn look_into(&mut self, path: TaskPath, engine: &mut Engine) -> Result<(), RunError> {
        let Some(position) = self.machine.position(&path) else {
            return Ok(());
        };
        let Some(child) = self.children.get_mut(&path) else {
            return Ok(());
        };
        let (state, until) = match child.advance(engine)? {
            Directive::Run | Directive::Wait => (TaskStatus::Running, None),
            Directive::Sleep(until) => (TaskStatus::Sleeping, Some(until)),
            Directive::Park => (TaskStatus::Asking, None),
            Directive::Route | Directive::Rest | Directive::End => {
                return self.leave(position, path, engine);
            }
            Directive::Fail => {
                self.give_up(position, path, engine);
                return Ok(());
            }
        };
        self.machine.mirror(position, state, until);
        Ok(())
    }

    /// Leaves a subgraph that has ended, and finishes its task.
    fn leave(
        &mut self,
        position: usize,
        path: TaskPath,
        engine: &mut Engine,
    ) -> Result<(), RunError> {
        let Some(child) = self.children.get(&path) else {
            return Ok(());
        };
        if let Some((join, arrived)) = child.machine().half_filled().first_key_value() {
            let (join, arrived) = (join.clone(), arrived.clone());
            let kind = RunErrorKind::HalfFilledJoin { join, arrived };
            self.give_up_for(position, RunError::new(kind), engine);
            return Ok(());
        }
        let node = self.graph.0.nodes.get(path.node.at());
        let Some(crate::graph::NodeWork::Sub(sub)) = node.map(|wire| &wire.work) else {
            return Ok(());
        };
        let state = &*self.fold.state;
        match crate::route::calm(state, || sub.leave(state, &**child)) {
            Ok(updates) => {
                self.children.remove(&path);
                self.done(position, updates, vec![], engine)
            }
            Err(error) => {
                let node = self.name(position);
                self.failed(position, RunErrorKind::Router { node }, error, engine);
                Ok(())
            }
        }
    }

    /// Fails the task of a subgraph in which a task failed for good.
    fn give_up(&mut self, position: usize, path: TaskPath, engine: &mut Engine) {
        let child = self.children.get(&path);
        let failure = child.and_then(|child| child.machine().failure());
        let error = failure.map_or_else(String::new, |(_, error)| error.to_owned());
        if let Some((task, attempt)) = self.attempt(position) {
            let failed = Fact::Failed {
                task,
                attempt,
                error,
                retry_at: None,
            };
            self.record(failed, engine);
        }
    }

    fn give_up_for(&mut self, position: usize, error: RunError, engine: &mut Engine) {
        let Some((task, attempt)) = self.attempt(position) else {
            return;
        };
        let text = crate::driver::explain(&error);
        engine.error.get_or_insert_with(|| error.into());
        self.record(
            Fact::Failed {
                task,
                attempt,
                error: text,
                retry_at: None,
            },
            engine,
        );
    }

    /// Applies a fact to the machine, and adds it to the journal.
    pub(crate) fn record(&mut self, fact: Fact<TaskPath>, engine: &mut Engine) {
        self.record_done(fact, None, engine);
    }

    /// Does so with a fact of a done task. Its updates, in their stored form, are beside it: only its
    /// record has them.
    fn record_done(&mut self, fact: Fact<TaskPath>, updates: Option<Vec<u8>>, engine: &mut Engine) {
        self.machine.evolve(&fact);
        if !engine.is_quiet() {
            engine.note(&self.at, fact, updates);
        }
    }

    fn attempt(&self, position: usize) -> Option<(TaskPath, u32)> {
        let task = self.machine.task(position)?;
        Some((task.path, task.attempt))
    }

    /// Returns the address of a task, its scope included.
    pub(crate) fn name(&self, position: usize) -> String {
        let task = self.machine.task(position);
        task.map_or_else(String::new, |task| self.full_name(task.path))
    }

    pub(crate) fn full_name(&self, path: TaskPath) -> String {
        let task = self.names.text(path);
        match &self.at {
            Some(place) => format!("{}/{task}", place.text),
            None => task,
        }
    }
}
