//! The waits of a run: for outcomes, calls of tasks, a time, or a request to stop.
use std::{
    future::Future,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use fugato_state::State;
use fugato_store::Status;

use super::Driver;
use crate::{
    RunError, RunErrorKind,
    effect::Call,
    engine::Engine,
    machine::{Directive, TaskStatus},
    scope::{AttemptEnd, DynScope, trail},
    tasks::Attempt,
};

/// The event that ended a wait.
enum WaitEvent {
    Done(Vec<AttemptEnd>),
    /// A task died outside of its future.
    Lost,
    Call(Call),
    Time,
    Stopped,
}

impl<S: State> Driver<S> {
    /// Waits for the next event. Pending facts are stored first; outcomes during the append come
    /// next.
    pub(super) async fn wait(&mut self) -> Result<(), RunError> {
        let todo = self.root.machine.directive();
        if todo == Directive::Wait && self.engine.tasks.is_empty() {
            return Err(self.stuck());
        }
        if self.engine.store_within() == Some(Duration::ZERO) {
            let status = match todo {
                Directive::Sleep(until) => Status::Sleeping { until },
                _ => Status::Runnable,
            };
            self.flush(status).await?;
        }
        let waits = [self.engine.store_within(), self.engine.wakes_in()];
        let wait = waits.into_iter().flatten().min();
        let Engine { tasks, shared, .. } = &mut self.engine;
        let heard = tokio::select! {
            biased;
            () = shared.control.cancelled() => WaitEvent::Stopped,
            call = shared.control.calls.next() => WaitEvent::Call(call),
            done = tasks.next(), if !tasks.is_empty() => done.map_or(WaitEvent::Lost, WaitEvent::Done),
            () = shared.control.stopped(), if tasks.is_empty() => WaitEvent::Stopped,
            () = pass(wait) => WaitEvent::Time,
        };
        match heard {
            WaitEvent::Done(batch) => {
                self.receive_calls().await?;
                for done in batch {
                    self.settle_task(&done.at, done.path).await?;
                    let root: &mut dyn DynScope = &mut self.root;
                    if let Some(scope) = root.scope_mut(trail(&done.at)) {
                        scope.complete(done, &mut self.engine)?;
                    }
                }
            }
            WaitEvent::Lost => self.lost()?,
            WaitEvent::Call(call) => {
                self.take_call(call).await?;
                self.receive_calls().await?;
            }
            WaitEvent::Time => self.wake(),
            WaitEvent::Stopped => {}
        }
        Ok(())
    }

    /// Waits for the only task of the step, which runs inline. None if it is no longer wanted.
    ///
    /// `waits` is true while the task has nothing new to see: an answer to its call is new. If it were
    /// left to be woken by that, each effect would give its thread to others once.
    pub(super) async fn attend(
        &mut self,
        position: usize,
        waits: &AtomicBool,
        running: impl Future<Output = Attempt<S::Update>>,
    ) -> Result<Option<Attempt<S::Update>>, RunError> {
        tokio::pin!(running);
        loop {
            let strict = self.engine.options.durability == crate::Durability::Strict;
            let wait = self.engine.store_within().filter(|_| !strict);
            let shared = &self.engine.shared;
            if shared.control.is_cancelled() {
                return Ok(None);
            }
            let heard = tokio::select! {
                biased;
                attempt = &mut running => return Ok(Some(attempt)),
                // After the task, which may have called just now.
                call = shared.control.calls.next() => WaitEvent::Call(call),
                // Listening costs more than asking, so it comes when there is something to wait for.
                () = shared.control.cancelled() => WaitEvent::Stopped,
                () = pass(wait) => WaitEvent::Time,
            };
            match heard {
                WaitEvent::Call(call) => {
                    self.take_call(call).await?;
                    self.receive_calls().await?;
                    waits.store(false, Ordering::Relaxed);
                }
                WaitEvent::Stopped => return Ok(None),
                _ => self.flush(Status::Runnable).await?,
            }
            let task = self.root.machine.task(position);
            if task.is_none_or(|task| task.state != TaskStatus::Running) {
                return Ok(None);
            }
        }
    }

    /// Returns the error of a wait that nothing can end.
    fn stuck(&self) -> RunError {
        let frontier = self.root.machine.frontier().iter();
        let running = frontier.filter(|task| task.state == TaskStatus::Running);
        let tasks = running.map(|task| self.root.full_name(task.path)).collect();
        RunError::new(RunErrorKind::Stuck { tasks })
    }

    /// Makes failed tasks ready whose retry is due.
    fn wake(&mut self) {
        let now = self.engine.shared.now();
        for trail in self.engine.due() {
            let root: &mut dyn DynScope = &mut self.root;
            if let Some(scope) = root.scope_mut(&trail) {
                scope.machine_mut().wake(now);
            }
        }
    }

    /// Handles the loss of an unknown task: all running tasks are tried again, or fail.
    fn lost(&mut self) -> Result<(), RunError> {
        self.engine.tasks.clear();
        fail_lost(&mut self.root, &mut self.engine)
    }
}

fn fail_lost(scope: &mut dyn DynScope, engine: &mut Engine) -> Result<(), RunError> {
    scope.mark_dirty();
    for (_, child) in scope.children_mut() {
        fail_lost(&mut **child, engine)?;
    }
    let inside: Vec<_> = scope.children().map(|(path, _)| path).collect();
    let running = scope.machine().frontier().iter();
    let running = running.filter(|task| task.state == TaskStatus::Running);
    let lost: Vec<_> = running
        .filter(|task| !inside.contains(&task.path))
        .map(|task| (task.path, task.attempt))
        .collect();
    for (path, attempt) in lost {
        scope.fail_lost(path, attempt, engine)?;
    }
    Ok(())
}

/// Waits for a duration; for ever without one.
async fn pass(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
