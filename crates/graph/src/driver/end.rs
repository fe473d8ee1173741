//! The end, pause and cancellation of a run.
use std::time::Duration;

use fugato_state::{Millis, State};
use fugato_store::{Status, StoreError, StoreErrorKind};
use fugato_stream::EventKind;

use super::{Driver, explain};
use crate::{
    RunError, RunErrorKind,
    control::StopReason,
    machine::{BudgetUnit, Directive, Fact, TaskPath, TaskStatus},
    route::calm,
    scope::{DynScope, ScopeAddress},
};

impl<S: State> Driver<S> {
    pub(super) fn end(&mut self) {
        if let Some((join, arrived)) = self.root.machine.half_filled().first_key_value() {
            let (join, arrived) = (join.clone(), arrived.clone());
            let kind = RunErrorKind::HalfFilledJoin { join, arrived };
            return self.fail(RunError::new(kind));
        }
        let effects: Vec<_> = self
            .root
            .machine
            .doubts()
            .map(|effect| effect.key.to_string())
            .collect();
        if !effects.is_empty() {
            return self.fail(RunError::new(RunErrorKind::InDoubt { effects }));
        }
        let (output, state) = (self.root.graph.0.output.as_ref(), &self.root.fold.state);
        match output
            .map(|output| calm(&**state, || output(state)))
            .transpose()
        {
            Ok(output) => self
                .root
                .record(Fact::RunEnded { output }, &mut self.engine),
            Err(error) => {
                let node = "END".into();
                self.fail(RunError::new(RunErrorKind::Router { node }).because(error));
            }
        }
    }

    pub(super) fn fail_run(&mut self) {
        // The failure of a task whose run was taken over is known from the log alone.
        let told = self.root.machine.failure().map(|(task, error)| {
            let task = self.root.full_name(task);
            let kind = RunErrorKind::Node { task };
            let named = format!("{kind}: ");
            let cause = error.strip_prefix(&named).unwrap_or(error).to_owned();
            RunError::new(kind).because(cause)
        });
        let error = self.engine.error.take().map(|error| *error).or(told);
        self.fail(error.unwrap_or_else(|| RunError::new(RunErrorKind::NothingToDo)));
    }

    pub(crate) fn fail(&mut self, error: RunError) {
        let text = explain(&error);
        self.engine.error = Some(error.into());
        let failed = Fact::RunFailed { error: text };
        self.root.record(failed, &mut self.engine);
    }

    /// Fails the run although tasks could go on, after those that run have ended.
    pub(super) async fn give_up(&mut self) -> Result<(), RunError> {
        let Some(error) = self.engine.give_up.take() else {
            return Ok(());
        };
        self.engine.ready.clear();
        self.engine.closing = true;
        while !self.engine.tasks.is_empty() && !self.engine.is_cancelled() {
            self.wait().await?;
            self.root.advance(&mut self.engine)?;
        }
        self.engine.give_up = None;
        self.fail(*error);
        Ok(())
    }

    /// Returns true if the run is to stop, and can.
    pub(super) fn stops(&self) -> bool {
        let control = self.engine.shared.control.known();
        control.is_some_and(|control| {
            control.is_stopping() && (control.is_cancelled() || self.engine.tasks.is_empty())
        })
    }

    pub(super) async fn stop(&mut self) -> Result<(), RunError> {
        match self.engine.shared.control.reason() {
            Some(StopReason::Cancel { by, why }) => {
                self.cancel(by, why).await?;
                self.rest().await
            }
            Some(StopReason::LeaseLost) => {
                let error = StoreError::new(StoreErrorKind::LeaseLost, "renew");
                Err(error.on(&self.engine.shared.thread).into())
            }
            Some(StopReason::Drain) | None => {
                self.settle_actions().await?;
                self.root.record(Fact::HandedOver {}, &mut self.engine);
                self.flush(Status::Runnable).await?;
                if let Some(StopReason::Cancel { by, why }) = self.engine.shared.control.rest() {
                    self.cancel(by, why).await?;
                    return self.rest().await;
                }
                self.rested = true;
                Err(RunError::new(RunErrorKind::HandedOver))
            }
        }
    }

    /// Cancels the run: drops its nodes, after waiting for once-only actions under way.
    pub(crate) async fn cancel(&mut self, by: String, why: String) -> Result<(), RunError> {
        self.engine.ready.clear();
        self.engine.tasks.clear();
        self.settle_actions().await?;
        let (mut dropped, mut in_doubt) = (vec![], vec![]);
        unfinished(&self.root, &mut dropped, &mut in_doubt);
        self.root.keep_finished();
        let kind = RunErrorKind::Cancelled {
            by: by.clone(),
            why: why.clone(),
        };
        self.engine.error = Some(RunError::new(kind).into());
        let cancelled = Fact::Cancelled {
            by,
            why,
            dropped,
            in_doubt,
        };
        self.root.record(cancelled, &mut self.engine);
        Ok(())
    }

    /// Waits until no action of a task is under way, although its node has ended.
    pub(super) async fn settle_task(
        &mut self,
        at: &ScopeAddress,
        path: TaskPath,
    ) -> Result<(), RunError> {
        while self.engine.acts(at, path) {
            let call = self.engine.shared.control.calls.next().await;
            self.take_call(call).await?;
            self.receive_calls().await?;
        }
        Ok(())
    }

    /// Waits until no action that must not be done twice is under way.
    async fn settle_actions(&mut self) -> Result<(), RunError> {
        self.engine.resting = true;
        if !self.engine.is_called() && self.engine.replies.is_empty() {
            return Ok(());
        }
        self.receive_calls().await?;
        while let Some(last) = self
            .engine
            .acting
            .iter()
            .map(|acting| acting.not_after)
            .max()
        {
            let left = last.saturating_sub(self.engine.shared.now()).max(0);
            let left = Duration::from_millis(left.unsigned_abs());
            match tokio::time::timeout(left, self.engine.shared.control.calls.next()).await {
                Ok(call) => self.take_call(call).await?,
                _ => return Ok(()),
            }
            self.receive_calls().await?;
        }
        Ok(())
    }

    /// Returns true if a wait is so long that the thread is left to a later owner.
    pub(super) fn hands_over(&self, until: Millis) -> bool {
        let options = &self.engine.options;
        let wait = until.saturating_sub(self.engine.shared.now());
        self.engine.ready.is_empty()
            && self.engine.journal.is_some()
            && options
                .longest_sleep
                .is_some_and(|longest| wait > crate::policy::millis(longest))
    }

    pub(super) async fn rest(&mut self) -> Result<(), RunError> {
        self.settle_actions().await?;
        if self
            .engine
            .options
            .budgets
            .contains_key(&BudgetUnit::WallTime)
        {
            let amounts = self.engine.wall_time();
            self.root.record(Fact::Spent { amounts }, &mut self.engine);
        }
        // Without a log there is no lease, and nobody who could cancel the run.
        if self.engine.journal.is_some() {
            self.store_rest().await?;
        }
        self.rested = true;
        if self.engine.shared.hub.has_subscribers()
            && self.root.machine.directive() == Directive::Park
        {
            let interrupts = crate::answer::interrupts(&self.root);
            let parked = self
                .engine
                .shared
                .event(None, EventKind::RunParked { interrupts });
            self.engine.shared.hub.send(parked);
        }
        self.engine.error.take().map_or(Ok(()), |error| Err(*error))
    }

    /// Stores the last facts, and ends the renewals of the lease.
    async fn store_rest(&mut self) -> Result<(), RunError> {
        let todo = self.root.machine.directive();
        let control = self.engine.shared.control.clone();
        let asking = control.asking.lock().await;
        control.needs_no_more();
        self.flush(self.status()).await?;
        drop(asking);
        // The last append may have returned a request to stop.
        if let (Directive::Park | Directive::Sleep(_), Some(StopReason::Cancel { by, why })) =
            (todo, control.rest())
        {
            self.cancel(by, why).await?;
            self.flush(Status::Idle).await?;
        }
        Ok(())
    }

    pub(crate) fn status(&self) -> Status {
        status(&self.root)
    }
}

/// Returns the status of a thread for the queue of threads.
pub(crate) fn status(scope: &dyn DynScope) -> Status {
    match scope.machine().directive() {
        Directive::Park => Status::Waiting {
            expires: expires(scope),
        },
        Directive::Rest => Status::Idle,
        Directive::Sleep(until) => Status::Sleeping { until },
        _ => Status::Runnable,
    }
}

/// Returns the time at which the first open question expires.
fn expires(scope: &dyn DynScope) -> Option<Millis> {
    let inside = scope.children().filter_map(|(_, child)| expires(child));
    inside.chain(scope.machine().expires()).min()
}

/// Collects the tasks that have not ended, and the effects in doubt.
pub(crate) fn unfinished(
    scope: &dyn DynScope,
    dropped: &mut Vec<String>,
    in_doubt: &mut Vec<String>,
) {
    for task in scope.machine().frontier() {
        if task.state != TaskStatus::Done {
            dropped.push(scope.name_of(task.path));
        }
        let name = |effect: &crate::machine::EffectRecord| {
            format!("{}: {}", scope.name_of(task.path), effect.key)
        };
        in_doubt.extend(task.doubts().map(name));
    }
    in_doubt.extend(
        scope
            .machine()
            .doubts()
            .map(|effect| effect.key.to_string()),
    );
    for (_, child) in scope.children() {
        unfinished(child, dropped, in_doubt);
    }
}
