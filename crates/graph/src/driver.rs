//! The run loop: takes the next work from the scopes, does it, and records the results.
mod act;
mod answer;
mod end;
mod wait;

pub(crate) use end::{status, unfinished};

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{self, Poll},
};

use fugato_state::State;
use fugato_store::Status;

use crate::{
    Graph, RunError,
    engine::Engine,
    graph::NodeEntry,
    machine::{Directive, TaskPath},
    scope::{DynScope, Scope, trail},
    snapshot::Snapshotter,
    tasks::{Attempt, Running, begin},
};

/// A task that was polled once, and its node with the way out.
type BegunTask<'g, S> = (
    TaskPath,
    &'g NodeEntry<S>,
    Result<Attempt<<S as State>::Update>, Running<'g, <S as State>::Update>>,
);

/// One run of one thread, in this process.
pub(crate) struct Driver<S: State> {
    pub(crate) root: Scope<S>,
    pub(crate) engine: Engine,
    pub(crate) snapshots: Option<Snapshotter>,
    /// True if the rest of the run is stored, and was sent to the readers.
    pub(crate) rested: bool,
}

impl<S: State> Driver<S> {
    pub(crate) fn new(root: Scope<S>, engine: Engine) -> Self {
        Self {
            root,
            engine,
            snapshots: None,
            rested: false,
        }
    }

    /// Goes on until the run ends, parks, fails or is stopped. The graph is that of the root.
    pub(crate) async fn drive(&mut self, graph: &Graph<S>) -> Result<(), RunError> {
        loop {
            let todo = self.root.advance(&mut self.engine)?;
            if self.engine.give_up.is_some() {
                self.give_up().await?;
                continue;
            }
            match todo {
                Directive::End => self.end(),
                Directive::Fail => self.fail_run(),
                Directive::Rest => return self.rest().await,
                // A thread that only waits is left to nobody: whoever claimed it could do nothing.
                Directive::Park if !self.engine.is_cancelled() => {
                    if !self.asks_anew() && !self.is_answered().await? {
                        return self.rest().await;
                    }
                }
                _ if self.stops() => return self.stop().await,
                Directive::Sleep(until) if self.hands_over(until) => return self.rest().await,
                _ if self.engine.ready.is_empty() => self.wait().await?,
                _ => self.run_ready(graph).await?,
            }
        }
    }

    /// Starts the ready tasks: one runs inline, several run concurrently.
    async fn run_ready(&mut self, graph: &Graph<S>) -> Result<(), RunError> {
        if let Some(error) = self.engine.over_budget(self.root.machine.spent()) {
            self.engine.give_up = Some(error.into());
            return Ok(());
        }
        if self.engine.must_store() {
            self.flush(Status::Runnable).await?;
            // The append may have returned a request to stop.
            if self.stops() {
                return Ok(());
            }
        }
        if let Some(control) = self.engine.shared.control.known() {
            control.step();
        }
        if self.root.machine.steps() % STEPS_PER_YIELD == STEPS_PER_YIELD - 1 {
            tokio::task::yield_now().await;
        }
        let alone = self.root.machine.frontier().len() == 1 && self.engine.tasks.is_empty();
        match self.engine.ready.only() {
            Some((None, position)) if alone => {
                let position = *position;
                self.engine.ready.clear();
                self.run_here(graph, position).await
            }
            _ => {
                self.start_ready();
                Ok(())
            }
        }
    }

    /// Begins the only task of the step. The driver is lent as a whole, because it may move to another
    /// thread with what it waits for.
    fn begin_here<'g>(
        &mut self,
        graph: &'g Graph<S>,
        position: usize,
        waker: &mut task::Context<'_>,
    ) -> Option<BegunTask<'g, S>> {
        let (task, wire, node) = self.root.work(graph, position)?;
        let cx = || {
            let cx = self.root.context(wire, task, &self.engine);
            cx.announce();
            cx
        };
        Some((task.path, wire, begin(&**node, cx, waker)))
    }

    /// Runs the only task of the step inline.
    async fn run_here(&mut self, graph: &Graph<S>, position: usize) -> Result<(), RunError> {
        let first = poll_fn(|waker| Poll::Ready(self.begin_here(graph, position, waker)));
        let Some((path, wire, first)) = first.await else {
            return Ok(());
        };
        let attempt = match first {
            Ok(attempt) if !self.engine.is_called() => {
                return self.root.take_in(position, attempt, &mut self.engine);
            }
            Ok(attempt) => Some(attempt),
            Err(mut running) => {
                let policy = wire.policy.as_ref().filter(|policy| policy.is_timed());
                let pulse = running.pulse.take();
                // It was polled just now: polling it again would be a busy wait, until a call of it
                // is answered.
                let waits = AtomicBool::new(true);
                let running = poll_fn(|cx| {
                    if waits.swap(false, Ordering::Relaxed) {
                        return Poll::Pending;
                    }
                    Pin::new(&mut running).poll(cx)
                });
                match policy {
                    Some(policy) => {
                        let running = policy.watch(pulse, running);
                        self.attend(position, &waits, running).await?
                    }
                    None => self.attend(position, &waits, running).await?,
                }
            }
        };
        // Calls that the task made before its end come first, and the actions that it began.
        if self.engine.is_called() {
            self.receive_calls().await?;
            if attempt.is_some() {
                self.settle_task(&None, path).await?;
            }
        }
        match attempt {
            Some(attempt) => self.root.take_in(position, attempt, &mut self.engine),
            None => Ok(()),
        }
    }

    fn start_ready(&mut self) {
        let ready = self.engine.ready.take();
        let mut futures = Vec::with_capacity(ready.size_hint().0);
        for (at, position) in ready {
            let scope = DynScope::scope(&self.root, trail(&at));
            futures.extend(scope.and_then(|scope| scope.future(position, &self.engine)));
        }
        self.engine.start(futures);
    }

    /// Stores the pending facts, with the current status of the thread.
    pub(crate) async fn flush(&mut self, status: Status) -> Result<(), RunError> {
        let Engine {
            journal,
            shared,
            room,
            ..
        } = &mut self.engine;
        let Some(journal) = journal else {
            return Ok(());
        };
        journal.flush(status, shared, room).await?;
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.consider(journal, &self.root)?;
        }
        self.acknowledge();
        Ok(())
    }
}

/// The number of steps after which the driver yields to other tasks of its executor. Nodes that
/// wait yield anyway; for those that do not, this is well under a millisecond.
const STEPS_PER_YIELD: u64 = 512;

/// The key of a pause's only question.
pub(crate) const ANSWER: &str = "answer";

/// Returns an error with its causes, in one line.
pub(crate) fn explain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
