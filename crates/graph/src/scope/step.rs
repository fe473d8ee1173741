//! The steps of a scope: the start of tasks, their outcomes, and their routes.
use std::{
    collections::btree_map::Entry,
    sync::{Arc, OnceLock},
};

use fugato_state::{State, say};
use fugato_stream::EventKind;
use futures::{FutureExt, future::BoxFuture};

use super::{AttemptEnd, Scope, TaskOutput, place};
use crate::{
    BoxError, Context, Graph, Node, Outcome, RunError, RunErrorKind, SubgraphInput,
    context::Heartbeat,
    engine::Engine,
    fold::write_into,
    graph::{NodeEntry, NodeWork},
    machine::{Fact, Routes, Task, TaskPath, TaskStatus},
    route::{calm, route, route_from},
    tasks::{Attempt, run_one},
};

/// A task, and its node with the way out.
type Work<'t, 'g, S> = (&'t Task<TaskPath>, &'g NodeEntry<S>, &'g Arc<dyn Node<S>>);

impl<S: State> Scope<S> {
    /// Begins the ready tasks: pauses ask, subgraphs are entered, nodes are left with the engine.
    pub(super) fn begin(&mut self, engine: &mut Engine) -> Result<(), RunError> {
        for position in 0..self.machine.frontier().len() {
            let Some(task) = self.machine.task(position) else {
                continue;
            };
            if task.state != TaskStatus::Ready {
                continue;
            }
            let path = task.path;
            let wire = self.graph.0.nodes.get(path.node.at());
            if wire.is_none_or(|wire| matches!(wire.work, NodeWork::Node(_))) {
                if let Some(error) = engine.exhausted(&self.machine) {
                    engine.give_up = Some(error.into());
                    return Ok(());
                }
                self.machine.set(position, TaskStatus::Running);
                engine.ready.push(self.at.clone(), position);
                continue;
            }
            // The node of an older program may have begun what its successor knows nothing of.
            let rewired = || {
                say!(
                    "the program that began it has changed",
                    "开始它的程序已经改变"
                )
            };
            if self.may_doubt(position, engine)
                && self.asks_about_doubts(position, rewired, engine)?
            {
                continue;
            }
            let graph = self.graph.clone();
            match graph.0.nodes.get(path.node.at()).map(|wire| &wire.work) {
                Some(NodeWork::Pause(pause)) => self.pause(position, &**pause, engine)?,
                Some(NodeWork::Sub(sub)) => self.enter(position, &**sub, engine)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Enters the subgraph of a task, or goes on with it.
    fn enter(
        &mut self,
        position: usize,
        sub: &dyn super::Subgraph<S>,
        engine: &mut Engine,
    ) -> Result<(), RunError> {
        let Some(task) = self.machine.task(position) else {
            return Ok(());
        };
        let (path, item) = (task.path, task.item.clone());
        if let Entry::Vacant(vacant) = self.children.entry(path) {
            let entering = SubgraphInput {
                state: &*self.fold.state,
                item: item.as_ref(),
            };
            let mut child = match calm(&*self.fold.state, || sub.enter(entering)) {
                Ok(child) => child,
                Err(error) => {
                    let node = self.name(position);
                    self.failed(position, RunErrorKind::Router { node }, error, engine);
                    return Ok(());
                }
            };
            let names = child.names();
            child.place(Some(place::under(&self.at, &self.names, path, names)));
            child.enter(engine)?;
            vacant.insert(child);
        }
        self.machine.mirror(position, TaskStatus::Running, None);
        self.stirred.push(path);
        Ok(())
    }

    /// Returns the task at a position, and its node with the way out; none if there is no such task,
    /// or its work is no node's.
    pub(crate) fn work<'g>(&self, graph: &'g Graph<S>, position: usize) -> Option<Work<'_, 'g, S>> {
        let task = self.machine.task(position)?;
        let wire = graph.0.nodes.get(task.path.node.at())?;
        Some((task, wire, wire.node()?))
    }

    /// Returns the context of a task's next attempt.
    #[inline]
    pub(crate) fn context(
        &self,
        wire: &NodeEntry<S>,
        task: &Task<TaskPath>,
        engine: &Engine,
    ) -> Context<S> {
        let idle = wire.policy.as_ref().and_then(|policy| policy.idle_timeout);
        Context {
            state: self.fold.state.clone(),
            shared: engine.shared.clone(),
            at: self.at.clone(),
            path: task.path,
            attempt: task.attempt,
            item: task.item.clone(),
            ask: task.ask.clone(),
            pulse: idle.map(|_| Arc::new(Heartbeat::default())),
            origin: OnceLock::new(),
        }
    }

    /// Returns the attempt of a task as a future that carries its scope.
    pub(super) fn attempt_of(
        &self,
        position: usize,
        engine: &Engine,
    ) -> Option<BoxFuture<'static, AttemptEnd>> {
        let (task, wire, node) = self.work(&self.graph, position)?;
        let node = node.clone();
        let cx = self.context(wire, task, engine);
        cx.announce();
        let (at, path, attempt) = (self.at.clone(), cx.path, cx.attempt);
        let policy = wire.policy.clone().filter(|policy| policy.is_timed());
        let done = async move {
            let result = match policy {
                Some(policy) => {
                    let pulse = cx.pulse.clone();
                    policy.watch(pulse, run_one(&*node, cx)).await
                }
                None => run_one(&*node, cx).await,
            };
            AttemptEnd {
                at,
                path,
                attempt,
                result: Box::new(result),
            }
        };
        Some(done.boxed())
    }

    /// Returns true if actions of a task may be in doubt.
    fn may_doubt(&self, position: usize, engine: &Engine) -> bool {
        let task = self.machine.task(position);
        !engine.begun.is_empty() || task.is_some_and(|task| !task.effects.is_empty())
    }

    /// Returns the position of a task whose outcome of this attempt is still wanted.
    pub(super) fn wanted(&self, path: TaskPath, attempt: u32) -> Option<usize> {
        let position = self.machine.position(&path)?;
        let task = self.machine.task(position)?;
        (task.state == TaskStatus::Running && task.attempt == attempt).then_some(position)
    }

    /// Handles the end of an attempt.
    pub(crate) fn take_in(
        &mut self,
        position: usize,
        attempt: Attempt<S::Update>,
        engine: &mut Engine,
    ) -> Result<(), RunError> {
        let unawaited = || {
            say!(
                "the task went on without waiting for its result",
                "任务没有等它的结果就继续了"
            )
        };
        if let Attempt::Outcome(_) = attempt
            && self.may_doubt(position, engine)
            && self.asks_about_doubts(position, unawaited, engine)?
        {
            return Ok(());
        }
        let task = || self.name(position);
        let (kind, error) = match attempt {
            Attempt::Outcome(Outcome::Done { updates, notes }) => {
                return self.done(position, updates, notes, engine);
            }
            Attempt::Outcome(Outcome::Ask { memo, questions }) => {
                self.asked(position, memo, questions, engine);
                return Ok(());
            }
            Attempt::Failed(error) => (RunErrorKind::Node { task: task() }, error),
            Attempt::Panicked(error) => (RunErrorKind::Panicked { task: task() }, error),
            Attempt::Late(after) => (
                RunErrorKind::Timeout {
                    task: task(),
                    after,
                },
                "it took too long".into(),
            ),
            Attempt::Silent(after) => (
                RunErrorKind::Idle {
                    task: task(),
                    after,
                },
                "it gave no sign of life".into(),
            ),
        };
        self.failed(position, kind, error, engine);
        Ok(())
    }

    pub(super) fn done(
        &mut self,
        position: usize,
        updates: Vec<S::Update>,
        notes: Vec<EventKind>,
        engine: &mut Engine,
    ) -> Result<(), RunError> {
        let Some((task, attempt)) = self.attempt(position) else {
            return Ok(());
        };
        let stored = match engine.journal {
            Some(_) => write_into(&mut engine.room.updates, &updates)?,
            None => None,
        };
        if engine.is_eager() {
            self.machine.set(position, TaskStatus::Done);
            self.fold.apply(updates);
            self.solo = Some((stored, notes));
            self.close_task(position, engine);
            return Ok(());
        }
        if self.machine.frontier().len() == 1 {
            self.machine.set(position, TaskStatus::Done);
            self.fold.apply(updates);
            self.solo = Some((stored, notes));
            return Ok(());
        }
        self.fold.stage(position, updates);
        let finished = Fact::Finished {
            task,
            attempt,
            updates: None,
            notes,
        };
        self.record_done(finished, stored, engine);
        Ok(())
    }

    pub(super) fn failed(
        &mut self,
        position: usize,
        kind: RunErrorKind,
        source: BoxError,
        engine: &mut Engine,
    ) {
        let Some(task) = self.machine.task(position) else {
            return;
        };
        let (path, attempt, tries) = (task.path, task.attempt, task.tries());
        let wire = self.graph.0.nodes.get(path.node.at());
        let policy = wire.and_then(|wire| wire.policy.as_ref());
        let now = engine.shared.now();
        let retry_at = policy.and_then(|policy| policy.again(tries, &source, now));
        let error = RunError::new(kind).because(source);
        let text = crate::driver::explain(&error);
        match retry_at {
            Some(at) => engine.wake_at(at, &self.at),
            None => {
                engine.error.get_or_insert_with(|| error.into());
            }
        }
        self.record(
            Fact::Failed {
                task: path,
                attempt,
                error: text,
                retry_at,
            },
            engine,
        );
    }

    /// Closes the step if its routing succeeds.
    pub(super) fn close_step(&mut self, engine: &mut Engine) {
        self.fold.close();
        let solo = self.solo.take();
        let routes = &mut engine.room.routes;
        if let Err(error) = route(&self.graph, &self.machine, &self.fold.state, routes) {
            return self.unrouted(error, solo.zip(self.attempt(0)), engine);
        }
        // Most facts are of one task that is done and routed. One that nobody keeps is not even made.
        if let (Some(_), Some((task, _))) = (&solo, self.attempt(0))
            && engine.is_quiet()
        {
            self.machine.step(&task, &engine.room.routes);
            return engine.room.routes.clear();
        }
        let routes = std::mem::take(&mut engine.room.routes);
        match (solo, self.attempt(0)) {
            (Some(output), Some(attempt)) => self.record_stepped(attempt, output, routes, engine),
            _ => self.record(Fact::Closed { routes }, engine),
        }
    }

    /// Records that a task is done and routed at once.
    fn record_stepped(
        &mut self,
        (task, attempt): (TaskPath, u32),
        (updates, notes): TaskOutput,
        routes: Routes<TaskPath>,
        engine: &mut Engine,
    ) {
        let stepped = Fact::Stepped {
            task,
            attempt,
            updates: None,
            notes,
            routes,
        };
        self.record_done(stepped, updates, engine);
    }

    /// Closes and routes one task alone, while others go on.
    fn close_task(&mut self, position: usize, engine: &mut Engine) {
        let Some((task, attempt)) = self.attempt(position) else {
            return;
        };
        let solo = self.solo.take();
        let staged = self.fold.leave(position, self.machine.frontier().len());
        self.fold.apply(staged);
        let routes = if self.machine.has_siblings(&task) {
            Ok(Routes::default())
        } else {
            route_from(&self.graph, &self.machine, &self.fold.state, task.node)
        };
        match routes {
            Ok(routes) => {
                let output = solo.unwrap_or_default();
                self.record_stepped((task, attempt), output, routes, engine);
            }
            Err(error) => self.unrouted(error, solo.zip(Some((task, attempt))), engine),
        }
    }

    /// Routes the first task that is done and not closed: its routing failed before, or an operator
    /// finished it.
    pub(super) fn route_done(&mut self, engine: &mut Engine) {
        let done = |task: &Task<TaskPath>| task.state == TaskStatus::Done;
        if let Some(position) = self.machine.frontier().iter().position(done) {
            self.close_task(position, engine);
        }
    }

    /// Keeps a step open that cannot be routed, with the outcome of its only task.
    fn unrouted(
        &mut self,
        error: RunError,
        solo: Option<(TaskOutput, (TaskPath, u32))>,
        engine: &mut Engine,
    ) {
        if let Some(((updates, notes), (task, attempt))) = solo {
            let finished = Fact::Finished {
                task,
                attempt,
                updates: None,
                notes,
            };
            self.record_done(finished, updates, engine);
        }
        engine.give_up = Some(error.into());
    }
}
