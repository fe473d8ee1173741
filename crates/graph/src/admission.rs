//! The admission of requests: the check whether a thread allows one, and the first facts of it.
mod resume;

use fugato_state::{InterruptId, Seq, State};
use fugato_store::{Commit, Snapshot, StoreError, StoreErrorKind};

use crate::{
    InDoubt, RunError, RunErrorKind, RunResult, StateEdit,
    answer::{NamedRequest, interrupts},
    control::StopReason,
    digest,
    driver::Driver,
    engine::Recheck,
    fold::write_updates,
    machine::{
        Directive, Fact, KeyedRequest, ProgramVersion, RequestKey, RequestStatus, TaskPath,
        ThreadPhase,
    },
    open::newer,
    policy::millis,
    request::{Request, StartMode},
    route::entry,
    scope::{DynScope, Scope, asker, find},
    snapshot,
};

pub(crate) use resume::{join, void_approvals};
use resume::{resume, withdraw};

/// The result of admitting a request.
pub(crate) enum Admission<S: State> {
    /// It is carried out.
    Run(Box<Driver<S>>),
    /// It was carried out before.
    Already(RunResult<S>),
}

/// Admits a request, and returns a driver that is ready to go on. A refused request has changed
/// nothing.
pub(crate) fn admit<S: State>(
    mut driver: Box<Driver<S>>,
    head: Seq,
    request: Request<S::Update>,
    under: &ProgramVersion,
    incarnation: u64,
) -> Result<Admission<S>, RunError> {
    let fresh = head == 0;
    let refers = !matches!(request, Request::Start { .. } | Request::Cancel { .. });
    let base = ready(&mut driver.root, head, under, refers)?;
    driver.engine.incarnation = if fresh {
        incarnation
    } else {
        driver.root.machine.incarnation()
    };
    if let Some(base) = base {
        if let Some(journal) = &mut driver.engine.journal {
            journal.base = Some(base);
        }
        let under = under.clone();
        driver.record(Fact::Migrated { under });
    }
    match request {
        Request::Start { updates, key, way } => {
            let engine = &mut driver.engine;
            match way {
                StartMode::WithStep => {}
                StartMode::Stored => {
                    if let Some(journal) = &mut engine.journal {
                        journal.stores_start = true;
                    }
                }
                StartMode::Left => {
                    engine.shared.control.stop(StopReason::Drain);
                }
            }
            if let Some(end) = start(
                &mut driver,
                updates,
                key,
                under,
                fresh.then_some(incarnation),
            )? {
                return Ok(Admission::Already(end));
            }
        }
        Request::Resume(answers) => {
            if let Some(end) = resume(&mut driver, answers, under)? {
                return Ok(Admission::Already(end));
            }
        }
        Request::Recover => recover(&mut driver, under)?,
        Request::Retry => retry(&mut driver, under)?,
        Request::Amend(amendment) => amend(&mut driver, amendment, under)?,
        Request::Cancel { by, why } => {
            if *driver.root.machine.phase() != ThreadPhase::Running {
                return Err(RunError::new(RunErrorKind::NothingToDo));
            }
            let stop = StopReason::Cancel { by, why };
            driver.engine.shared.control.stop(stop);
        }
    }
    Ok(Admission::Run(driver))
}

/// Readies a thread that was read for this program, and returns the barrier that its first commit
/// writes. Requests and previews go through here. With `refers`, the graph must still have
/// what the thread refers to.
pub(crate) fn ready<S: State>(
    scope: &mut Scope<S>,
    head: Seq,
    under: &ProgramVersion,
    refers: bool,
) -> Result<Option<Snapshot>, RunError> {
    scope.place(None);
    DynScope::sync_states(scope);
    if refers {
        check(scope)?;
    }
    if head == 0 || scope.version == under.state {
        return Ok(None);
    }
    if scope.version > under.state {
        return Err(newer::<S>(scope.version));
    }
    // The fold of a log of an older version: later folds start from this snapshot, which is written
    // in the same transaction as the first record of the new version.
    let body = snapshot::save(scope)?;
    Ok(Some(Snapshot { seq: head, body }))
}

/// Checks that the graph still has the nodes, subgraphs and joins that the thread refers to.
pub(crate) fn check(scope: &dyn DynScope) -> Result<(), RunError> {
    let mut gone = vec![];
    scope.check(&mut gone);
    if gone.is_empty() {
        return Ok(());
    }
    gone.sort();
    gone.dedup();
    Err(RunError::new(RunErrorKind::GraphChanged { gone }))
}

/// Begins a run, unless the same request was made before.
fn start<S: State>(
    driver: &mut Driver<S>,
    updates: Vec<S::Update>,
    key: Option<String>,
    under: &ProgramVersion,
    fresh: Option<u64>,
) -> Result<Option<RunResult<S>>, RunError> {
    let stored = driver.engine.journal.is_some();
    let written = if stored || key.is_some() {
        write_updates(&updates)?
    } else {
        None
    };
    let input = written.as_ref().map_or("", |updates| updates.get());
    let bytes = input.len();
    let key = key.map(|key| {
        let digest = digest::of(input.as_bytes());
        NamedRequest { key, digest }
    });
    if let Some(named) = &key {
        match repeated(driver, named, under)? {
            RepeatedRequest::Ended(end) => return Ok(Some(end)),
            RepeatedRequest::GoesOn => return Ok(None),
            RepeatedRequest::New => {}
        }
    }
    if *driver.root.machine.phase() == ThreadPhase::Running {
        let open = ids(driver);
        let waits = driver.root.machine.directive() == Directive::Park;
        let kind = if waits {
            RunErrorKind::Waiting { open }
        } else {
            RunErrorKind::Unfinished
        };
        return Err(RunError::new(kind));
    }
    if let Some(incarnation) = fresh.filter(|_| stored) {
        let state = serde_json::value::to_raw_value(&*driver.root.fold.state)?;
        driver.record(Fact::Created {
            version: S::VERSION,
            state,
            incarnation,
        });
    }
    if bytes > Commit::MAX_RECORD {
        let limit = Commit::MAX_RECORD;
        let kind = StoreErrorKind::TooLarge { bytes, limit };
        return Err(StoreError::new(kind, "start").into());
    }
    driver.root.fold.discard();
    driver.root.fold.apply(updates);
    // Clearing an empty map costs more than looking.
    if !driver.root.children.is_empty() {
        driver.root.children.clear();
    }
    let key = key.map(|named| driver.remember(named));
    let run = driver.root.machine.run().next();
    let next = entry(&driver.root.graph, &driver.root.machine);
    if key.is_none() && driver.engine.is_quiet() {
        // The fact would be of use to nobody.
        driver.root.machine.start(run, under, None, &[next]);
        return Ok(None);
    }
    let next = vec![next];
    driver.record(Fact::Started {
        run,
        under: under.clone(),
        key,
        updates: written,
        next,
    });
    Ok(None)
}

/// The state of a request that its caller named.
enum RepeatedRequest<S: State> {
    /// It was never made.
    New,
    /// It was carried out.
    Ended(RunResult<S>),
    /// It was begun, and goes on.
    GoesOn,
}

/// Returns the record of a request that was made before; the same name with another content is an
/// error.
fn known<S: State>(
    driver: &Driver<S>,
    NamedRequest { key, digest }: &NamedRequest,
) -> Result<Option<KeyedRequest>, RunError> {
    let now = driver.engine.shared.now();
    let known = driver.root.machine.keyed(key);
    let known = known.filter(|known| known.until > now);
    if known.is_some_and(|known| known.digest != *digest) {
        let key = key.clone();
        return Err(RunError::new(RunErrorKind::RequestChanged { key }));
    }
    Ok(known.cloned())
}

/// Looks up a repeated request: returns its result, or lets its run go on.
fn repeated<S: State>(
    driver: &mut Driver<S>,
    named: &NamedRequest,
    under: &ProgramVersion,
) -> Result<RepeatedRequest<S>, RunError> {
    let Some(known) = known(driver, named)? else {
        return Ok(RepeatedRequest::New);
    };
    let state = driver.root.fold.state.clone();
    match known.end {
        Some(RequestStatus::Finished { output }) => {
            let output = output.and_then(|json| serde_json::from_str(json.get()).ok());
            Ok(RepeatedRequest::Ended(RunResult::Finished {
                state,
                output,
            }))
        }
        Some(RequestStatus::Failed { error }) => {
            Err(RunError::new(RunErrorKind::FailedBefore { error }))
        }
        Some(RequestStatus::Cancelled { by, why }) => {
            Err(RunError::new(RunErrorKind::Cancelled { by, why }))
        }
        None if driver.root.machine.directive() == Directive::Park => Ok(RepeatedRequest::Ended(
            RunResult::parked(state, interrupts(&driver.root)),
        )),
        None => {
            check(&driver.root)?;
            recover(driver, under).map(|()| RepeatedRequest::GoesOn)
        }
    }
}

fn recover<S: State>(driver: &mut Driver<S>, under: &ProgramVersion) -> Result<(), RunError> {
    if *driver.root.machine.phase() != ThreadPhase::Running {
        return Err(RunError::new(RunErrorKind::NothingToDo));
    }
    let now = driver.engine.shared.now();
    let late = |interrupt: &fugato_state::Interrupt| {
        interrupt.question.expires_at.is_some_and(|at| at <= now)
    };
    let open = interrupts(&driver.root).into_iter();
    let expired: Vec<_> = open.filter(late).map(|late| late.id).collect();
    let mut void = driver.void_approvals(false);
    void.retain(|id| !expired.contains(id));
    if expired.is_empty() && void.is_empty() && driver.root.machine.directive() == Directive::Park {
        let open = ids(driver);
        return Err(RunError::new(RunErrorKind::Waiting { open }));
    }
    take_over(driver, under);
    for id in expired {
        let trail = asker(&driver.root, &id).unwrap_or_default();
        let root: &mut dyn DynScope = &mut driver.root;
        if let Some(scope) = root.scope_mut(&trail) {
            scope.record(Fact::Expired { id }, &mut driver.engine);
        }
    }
    withdraw(driver, void);
    Ok(())
}

fn take_over<S: State>(driver: &mut Driver<S>, under: &ProgramVersion) {
    driver.root.mark_dirty();
    let begun = !driver.root.machine.was_handed_over();
    let crashed = DynScope::take_over(&mut driver.root, under, begun, &mut driver.engine);
    if let Some((task, attempts)) = crashed {
        driver.fail(RunError::new(RunErrorKind::CrashLimit { task, attempts }));
    }
}

fn retry<S: State>(driver: &mut Driver<S>, under: &ProgramVersion) -> Result<(), RunError> {
    if !matches!(driver.root.machine.phase(), ThreadPhase::Failed { .. }) {
        return Err(RunError::new(RunErrorKind::NothingToDo));
    }
    driver.root.mark_dirty();
    DynScope::retry(&mut driver.root, under, &mut driver.engine);
    Ok(())
}

fn amend<S: State>(
    driver: &mut Driver<S>,
    amendment: StateEdit<S::Update>,
    under: &ProgramVersion,
) -> Result<(), RunError> {
    let StateEdit {
        updates,
        task,
        settled,
        by,
        why,
    } = amendment;
    match (driver.root.machine.phase(), driver.root.machine.directive()) {
        (ThreadPhase::New, _) => return Err(RunError::new(RunErrorKind::NothingToDo)),
        (ThreadPhase::Running, todo) if todo != Directive::Park => {
            return Err(RunError::new(RunErrorKind::Unfinished));
        }
        _ => {}
    }
    if !updates.is_empty() && task.is_none() {
        driver.engine.recheck = Recheck::All;
    }
    if let Some((key, doubt)) = settled {
        settle(driver, key, doubt, &by)?;
    }
    let Some(task) = task else {
        return driver
            .root
            .amend(updates, None, by, why, &mut driver.engine);
    };
    let Some((trail, path)) = find(&driver.root, &task) else {
        return Err(RunError::new(RunErrorKind::NoSuchTask { task }));
    };
    driver.root.mark_dirty();
    // In a failed run no task begins again by this; a parked run records the program that goes on.
    let waits = *driver.root.machine.phase() == ThreadPhase::Running;
    DynScope::take_over(&mut driver.root, under, waits, &mut driver.engine);
    let read = updates.into_iter().map(serde_json::to_value);
    let updates = read.collect::<Result<Vec<_>, _>>()?;
    let root: &mut dyn DynScope = &mut driver.root;
    match root.scope_mut(&trail) {
        Some(scope) => scope.finish(path, updates, (by, why), &mut driver.engine),
        None => Ok(()),
    }
}

/// Settles an effect of the whole thread on an operator's word.
fn settle<S: State>(
    driver: &mut Driver<S>,
    key: String,
    doubt: InDoubt,
    by: &str,
) -> Result<(), RunError> {
    let doubts: Vec<_> = driver.root.machine.doubts().cloned().collect();
    let Some(effect) = doubts.iter().find(|effect| *effect.key == *key).cloned() else {
        let in_doubt = doubts.iter().map(|effect| effect.key.to_string()).collect();
        return Err(RunError::new(RunErrorKind::NotInDoubt { key, in_doubt }));
    };
    let (task, key, digest) = (None, effect.key, effect.digest);
    driver.record(match doubt {
        InDoubt::Happened(value) => Fact::Receipt {
            task,
            key,
            digest,
            value: serde_json::value::to_raw_value(&value)?,
        },
        InDoubt::DidNotHappen => Fact::Undone {
            task,
            key,
            why: format!("{by} said so"),
        },
    });
    Ok(())
}

fn ids<S: State>(driver: &Driver<S>) -> Vec<InterruptId> {
    let open = interrupts(&driver.root).into_iter();
    open.map(|interrupt| interrupt.id).collect()
}

impl<S: State> Driver<S> {
    fn remember(&self, named: NamedRequest) -> RequestKey {
        let NamedRequest { key, digest } = named;
        let at = self.engine.shared.now();
        let until = at.saturating_add(millis(self.engine.options.key_age));
        RequestKey {
            key,
            digest,
            at,
            until,
        }
    }

    fn record(&mut self, fact: Fact<TaskPath>) {
        self.root.record(fact, &mut self.engine);
    }
}
