//! Answers to questions, and approvals that are asked again.
use fugato_state::{InterruptId, Millis, State};
use fugato_store::{Commit, StoreError, StoreErrorKind};
use serde_json::Value;

use super::{RepeatedRequest, ids, known, recover, repeated, take_over};
use crate::{
    AnswerError, Answers, RunError, RunErrorKind, RunResult,
    answer::interrupts,
    driver::Driver,
    engine::Recheck,
    machine::{Attribution, Fact, ProgramVersion, TaskPath, ThreadPhase},
    scope::{DynScope, asker},
};

/// Answers questions, unless the same request did so before.
pub(super) fn resume<S: State>(
    driver: &mut Driver<S>,
    answers: Answers,
    under: &ProgramVersion,
) -> Result<Option<RunResult<S>>, RunError> {
    if let Some(named) = &answers.key {
        match repeated(driver, named, under)? {
            RepeatedRequest::Ended(end) => return Ok(Some(end)),
            RepeatedRequest::GoesOn => return Ok(None),
            RepeatedRequest::New => {}
        }
    }
    if answers.is_empty() {
        return recover(driver, under).map(|()| None);
    }
    let taken = accept(driver, answers, |driver| take_over(driver, under));
    taken.map(|()| None)
}

/// Answers questions of a run that is under way, unless the same request did so before. Returns
/// false if it was a request of an earlier run, whose result is told when this one has left.
pub(crate) fn join<S: State>(driver: &mut Driver<S>, answers: Answers) -> Result<bool, RunError> {
    if let Some(named) = &answers.key
        && let Some(known) = known(driver, named)?
    {
        return Ok(known.end.is_none());
    }
    fits_a_record(&answers)?;
    accept(driver, answers, |driver| {
        if driver.engine.is_eager() {
            // Siblings go on to change the values that other questions ask about.
            driver.engine.recheck = Recheck::Pauses;
        }
    })?;
    Ok(true)
}

/// Checks that answers can be stored. What is found out only by the append would break off the run
/// that takes them.
fn fits_a_record(answers: &Answers) -> Result<(), RunError> {
    let bytes = serde_json::to_vec(&answers.by)?.len() + answers.bytes()?;
    if bytes <= LARGEST {
        return Ok(());
    }
    let limit = LARGEST;
    let kind = StoreErrorKind::TooLarge { bytes, limit };
    Err(StoreError::new(kind, "resume").into())
}

/// The largest answers that a run takes while it is under way, in bytes: a record, with room for
/// what is written around them.
const LARGEST: usize = Commit::MAX_RECORD - 4096;

/// Checks and records answers. A question whose value has changed, or whose answer the program no
/// longer reads, is asked again, and nothing else happens. `begin` runs before the first record.
fn accept<S: State>(
    driver: &mut Driver<S>,
    answers: Answers,
    begin: impl FnOnce(&mut Driver<S>),
) -> Result<(), RunError> {
    if *driver.root.machine.phase() != ThreadPhase::Running {
        return Err(AnswerError::NothingAsked.into());
    }
    let mut void = driver.void_approvals(false);
    let outgrown = outgrown(driver, &answers);
    if answers.concern(&void) || !outgrown.is_empty() {
        void.retain(|id| !outgrown.contains(id));
        void.extend(outgrown);
        begin(driver);
        withdraw(driver, void);
        return Ok(());
    }
    let by_scope = checked(driver, &answers)?;
    if answers.repeats {
        let open = ids(driver);
        return Err(RunError::new(RunErrorKind::Waiting { open }));
    }
    begin(driver);
    record(driver, answers, by_scope);
    Ok(())
}

fn record<S: State>(driver: &mut Driver<S>, answers: Answers, by_scope: ByScope) {
    let Answers { by, key, .. } = answers;
    let key = key.map(|named| driver.remember(*named));
    let by = match (by, key) {
        (None, None) => None,
        (by, key) => Some(Attribution {
            key,
            ..by.map(|by| *by).unwrap_or_default()
        }),
    };
    let inside = by.clone().map(|by| Attribution { key: None, ..by });
    let is_inside = |(trail, _): &(Vec<TaskPath>, _)| !trail.is_empty();
    if by.is_some() && by_scope.iter().all(is_inside) {
        // The root records the requests of all scopes.
        let (answers, by) = (vec![], by.clone());
        driver.record(Fact::Answered { answers, by });
    }
    for (trail, answers) in by_scope {
        let by = if trail.is_empty() { &by } else { &inside }.clone();
        let root: &mut dyn DynScope = &mut driver.root;
        if let Some(scope) = root.scope_mut(&trail) {
            scope.record(Fact::Answered { answers, by }, &mut driver.engine);
        }
    }
}

type ByScope = Vec<(Vec<TaskPath>, Vec<(InterruptId, Value)>)>;

/// Checks every answer, and returns them by the scope that asks.
fn checked<S: State>(driver: &mut Driver<S>, answers: &Answers) -> Result<ByScope, RunError> {
    let now = driver.engine.shared.now();
    let answers = answers.clone().check(&interrupts(&driver.root), now)?;
    let mut by_scope: ByScope = vec![];
    for (id, answer) in answers {
        let trail = asker(&driver.root, &id).unwrap_or_default();
        let root: &mut dyn DynScope = &mut driver.root;
        if let Some(scope) = root.scope_mut(&trail) {
            scope.try_out(&id, &answer)?;
        }
        match by_scope.iter_mut().find(|(known, _)| *known == trail) {
            Some((_, answers)) => answers.push((id, answer)),
            None => by_scope.push((trail, vec![(id, answer)])),
        }
    }
    Ok(by_scope)
}

/// Returns the answered questions that an older program asked and whose answers do not fit the
/// questions of this one.
fn outgrown<S: State>(driver: &mut Driver<S>, answers: &Answers) -> Vec<InterruptId> {
    let asked = interrupts(&driver.root);
    let mut outgrown = vec![];
    for (id, answer) in answers.values(&asked) {
        let trail = asker(&driver.root, id).unwrap_or_default();
        let root: &mut dyn DynScope = &mut driver.root;
        let scope = root.scope_mut(&trail);
        if scope.is_some_and(|scope| scope.is_outgrown(id, answer)) {
            outgrown.push(id.clone());
        }
    }
    outgrown
}

pub(super) fn withdraw<S: State>(driver: &mut Driver<S>, ids: Vec<InterruptId>) {
    for id in ids {
        let trail = asker(&driver.root, &id).unwrap_or_default();
        let root: &mut dyn DynScope = &mut driver.root;
        if let Some(scope) = root.scope_mut(&trail) {
            scope.record(Fact::Withdrawn { id }, &mut driver.engine);
        }
    }
}

/// Returns the void approvals of all scopes. `amended` concerns the root alone: an operator changes
/// its state, and not that of subgraphs.
pub(crate) fn void_approvals(
    root: &dyn DynScope,
    amended: bool,
    incarnation: u64,
    now: Millis,
) -> Vec<InterruptId> {
    let mut void = root.void_approvals(amended, incarnation, now);
    for (_, child) in root.children() {
        void.extend(void_approvals(child, false, incarnation, now));
    }
    void
}

impl<S: State> Driver<S> {
    pub(super) fn void_approvals(&self, amended: bool) -> Vec<InterruptId> {
        let now = self.engine.shared.now();
        void_approvals(&self.root, amended, self.engine.incarnation, now)
    }

    /// Withdraws void approvals before a run comes to rest, and returns true if there are any. The
    /// new questions are not checked again: a question need not be stable.
    pub(crate) fn asks_anew(&mut self) -> bool {
        let recheck = std::mem::replace(&mut self.engine.recheck, Recheck::Nothing);
        if recheck == Recheck::Nothing {
            return false;
        }
        let void = self.void_approvals(recheck == Recheck::All);
        let any = !void.is_empty();
        withdraw(self, void);
        any
    }
}
