//! Whether a request may be carried out on a thread as it is, and what it changes first.
use std::sync::Arc;

use fugato_state::{InterruptId, RunId, State};
use fugato_store::{Commit, Snapshot, StoreError, StoreErrorKind};
use serde_json::Value;

use crate::{
    AnswerError, Answers, Graph, RunError, RunErrorKind,
    context::Shared,
    driver::Driver,
    fold::write_updates,
    graph::Work,
    journal::Journal,
    machine::{Fact, Phase, TaskState, Todo, Under},
    open::{Opened, newer},
    route::{calm, entry},
    snapshot,
};

/// What somebody wants of a thread.
pub(crate) enum Request<U> {
    Start(Vec<U>),
    Resume(Answers),
    Recover,
    Retry,
}

/// A driver that is ready to go on, or why not. A refused request has changed nothing.
pub(crate) fn admit<S: State>(
    graph: &Graph<S>,
    opened: Opened<S>,
    shared: Arc<Shared>,
    journal: Option<Journal>,
    request: Request<S::Update>,
    under: &Under,
) -> Result<Driver<S>, RunError> {
    if !matches!(request, Request::Start(_)) {
        opened.check(graph)?;
    }
    let barrier = barrier(&opened, under)?;
    let fresh = opened.head == 0;
    let Opened { machine, fold, .. } = opened;
    let mut driver = Driver::new(graph.clone(), machine, fold, shared, journal);
    if let Some(base) = barrier {
        if let Some(journal) = &mut driver.journal {
            journal.base = Some(base);
        }
        driver.record(Fact::Migrated {
            under: under.clone(),
        });
    }
    match request {
        Request::Start(updates) => start(&mut driver, updates, under, fresh)?,
        Request::Resume(answers) => resume(&mut driver, answers, under)?,
        Request::Recover => recover(&mut driver, under)?,
        Request::Retry => retry(&mut driver, under)?,
    }
    Ok(driver)
}

/// A log of an older version is folded once: what follows starts from this snapshot, which is
/// written in the same transaction as the first record of the new version.
fn barrier<S: State>(opened: &Opened<S>, under: &Under) -> Result<Option<Snapshot>, RunError> {
    if opened.head == 0 || opened.version == under.state {
        return Ok(None);
    }
    if opened.version > under.state {
        return Err(newer::<S>(opened.version));
    }
    let body = snapshot::save(&opened.machine, &opened.fold, &opened.names)?;
    Ok(Some(Snapshot {
        seq: opened.head,
        body,
    }))
}

fn start<S: State>(
    driver: &mut Driver<S>,
    updates: Vec<S::Update>,
    under: &Under,
    fresh: bool,
) -> Result<(), RunError> {
    if *driver.machine.phase() == Phase::Running {
        let open: Vec<_> = driver.machine.interrupts().map(|i| i.id.clone()).collect();
        let waits = driver.machine.todo() == Todo::Park;
        let kind = if waits {
            RunErrorKind::Waiting { open }
        } else {
            RunErrorKind::Unfinished
        };
        return Err(RunError::new(kind));
    }
    let stored = driver.journal.is_some();
    if fresh && stored {
        let state = serde_json::value::to_raw_value(&*driver.fold.state)?;
        driver.record(Fact::Created {
            version: S::VERSION,
            state,
        });
    }
    let written = if stored {
        write_updates(&updates)?
    } else {
        None
    };
    let bytes = written.as_ref().map_or(0, |updates| updates.get().len());
    if bytes > Commit::MAX_RECORD {
        let limit = Commit::MAX_RECORD;
        let kind = StoreErrorKind::TooLarge { bytes, limit };
        return Err(StoreError::new(kind, "start").into());
    }
    driver.fold.discard();
    driver.fold.apply(updates);
    let run = RunId(driver.machine.run().0 + 1);
    let next = vec![entry(&driver.graph, &driver.machine)];
    driver.record(Fact::Started {
        run,
        under: under.clone(),
        key: None,
        updates: written,
        next,
    });
    Ok(())
}

fn resume<S: State>(
    driver: &mut Driver<S>,
    answers: Answers,
    under: &Under,
) -> Result<(), RunError> {
    if answers.is_empty() {
        return recover(driver, under);
    }
    if *driver.machine.phase() != Phase::Running {
        return Err(AnswerError::NothingAsked.into());
    }
    let answers = answers.check(&driver.machine, driver.shared.now())?;
    for (id, answer) in &answers {
        try_out(driver, id, answer)?;
    }
    take_over(driver, under);
    driver.record(Fact::Answered { answers });
    Ok(())
}

/// A pause uses an answer before it is accepted: what it cannot use is refused, not failed.
fn try_out<S: State>(driver: &Driver<S>, id: &InterruptId, answer: &Value) -> Result<(), RunError> {
    let task = driver
        .machine
        .asker(id)
        .and_then(|position| driver.machine.task(position));
    let Some(task) = task else { return Ok(()) };
    let wire = driver.graph.0.nodes.get(task.path.node.at());
    let Some(Work::Pause(pause)) = wire.map(|wire| &wire.work) else {
        return Ok(());
    };
    let state = &*driver.fold.state;
    let refused = |error: crate::BoxError| AnswerError::Refused {
        id: id.clone(),
        why: error.to_string(),
    };
    calm(|| pause.answer(state, answer)).map_err(refused)?;
    let asked = driver
        .machine
        .interrupts()
        .find(|interrupt| interrupt.id == *id);
    let asked = asked.and_then(|interrupt| interrupt.question.digest.clone());
    if let Some(asked) = asked {
        let now = driver.shared.now();
        let today = calm(|| pause.question(crate::driver::ANSWER, state, now)).map_err(refused)?;
        let answered = today.digest.unwrap_or_default();
        if answered != asked {
            return Err(AnswerError::Digest {
                id: id.clone(),
                asked,
                answered,
            }
            .into());
        }
    }
    Ok(())
}

fn recover<S: State>(driver: &mut Driver<S>, under: &Under) -> Result<(), RunError> {
    if *driver.machine.phase() != Phase::Running {
        return Err(RunError::new(RunErrorKind::NothingToDo));
    }
    let now = driver.shared.now();
    let late = |interrupt: &&fugato_state::Interrupt| {
        interrupt.question.expires_at.is_some_and(|at| at <= now)
    };
    let expired: Vec<_> = driver
        .machine
        .interrupts()
        .filter(late)
        .map(|i| i.id.clone())
        .collect();
    if expired.is_empty() && driver.machine.todo() == Todo::Park {
        let open = driver.machine.interrupts().map(|i| i.id.clone()).collect();
        return Err(RunError::new(RunErrorKind::Waiting { open }));
    }
    take_over(driver, under);
    for id in expired {
        driver.record(Fact::Expired { id });
    }
    Ok(())
}

/// Going on with what somebody else began counts an attempt for each unfinished task. The record
/// also says that the graph has changed, if it has.
fn take_over<S: State>(driver: &mut Driver<S>, under: &Under) {
    let unfinished = driver
        .machine
        .frontier()
        .iter()
        .filter(|t| t.state == TaskState::Ready);
    let tasks: Vec<_> = unfinished
        .map(|task| (task.path, task.attempt + 1))
        .collect();
    if tasks.is_empty() && driver.machine.under() == Some(under) {
        return;
    }
    let crashed = tasks
        .iter()
        .find(|(_, attempt)| *attempt > driver.crash_limit)
        .copied();
    driver.record(Fact::Resumed {
        under: under.clone(),
        tasks,
    });
    if let Some((path, attempt)) = crashed {
        let task = driver.shared.names.text(path);
        let kind = RunErrorKind::CrashLimit {
            task,
            attempts: attempt - 1,
        };
        driver.fail(RunError::new(kind));
    }
}

fn retry<S: State>(driver: &mut Driver<S>, under: &Under) -> Result<(), RunError> {
    if !matches!(driver.machine.phase(), Phase::Failed { .. }) {
        return Err(RunError::new(RunErrorKind::NothingToDo));
    }
    let again = |task: &&crate::machine::Task<_>| {
        matches!(task.state, TaskState::Failed | TaskState::Ready)
    };
    let tasks = driver.machine.frontier().iter().filter(again);
    let tasks = tasks.map(|task| (task.path, 1)).collect();
    driver.record(Fact::Resumed {
        under: under.clone(),
        tasks,
    });
    Ok(())
}
