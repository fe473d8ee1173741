//! Many threads on a store that breaks under them, in one process.
use std::{sync::Arc, time::Duration};

use fugato_graph::{Answers, RunError, RunErrorKind, RunResult, Runner, ThreadStatus};
use fugato_state::ThreadId;
use fugato_store::StoreErrorKind;
use tokio::sync::watch;

use crate::{
    TrialResult,
    evidence::Evidence,
    job::{self, Job},
    judge::{Judge, Verdict},
    serve::{Mode, options},
    store::Place,
};

/// Does so many jobs at once while `breaking` breaks the store and mends it again, and judges.
/// Until that has returned, further jobs follow on those that ended.
pub async fn under_load(
    place: &Place,
    jobs: usize,
    breaking: impl Future<Output = TrialResult<()>>,
) -> TrialResult<Verdict> {
    let evidence = Evidence::in_folder(&place.folder.path().join("evidence"))?;
    let runner = place.open().await?.runner(job::graph(&evidence)?);
    let runner = runner.options(options(Duration::from_secs(2)));
    let mut judge = Judge::new(&evidence, Mode::Strict).await?;
    let (over, seen) = watch::channel(false);
    let lanes: Vec<_> = (0..jobs)
        .map(|lane| {
            tokio::spawn(one_after_the_other(
                runner.clone(),
                evidence.clone(),
                lane,
                seen.clone(),
            ))
        })
        .collect();
    breaking.await?;
    over.send(true)?;
    let mut acknowledged = std::collections::HashMap::new();
    let mut done = vec![];
    for lane in lanes {
        for (thread, answers) in lane.await?? {
            judge.verdict.acknowledged += answers.len() as u64;
            acknowledged.extend(answers);
            done.push(thread);
        }
    }
    for thread in done {
        judge.job(&runner, &thread, &acknowledged).await?;
    }
    Ok(judge.verdict)
}

type AnswerList = Vec<(String, serde_json::Value)>;

async fn one_after_the_other(
    runner: Runner<Job>,
    evidence: Evidence,
    lane: usize,
    over: watch::Receiver<bool>,
) -> TrialResult<Vec<(ThreadId, AnswerList)>> {
    let mut done = vec![];
    while done.is_empty() || !*over.borrow() {
        let thread = ThreadId::new(format!("lane-{lane}-{}", done.len()))?;
        let answers = one(&runner, &evidence, &thread).await?;
        done.push((thread, answers));
    }
    Ok(done)
}

/// One job to its end, as a patient caller would do it.
async fn one(
    runner: &Runner<Job>,
    evidence: &Evidence,
    thread: &ThreadId,
) -> TrialResult<AnswerList> {
    let mut acknowledged = vec![];
    let mut ended = runner.start(thread, ()).await;
    loop {
        ended = match ended {
            Ok(RunResult::Finished { .. }) => return Ok(acknowledged),
            Ok(RunResult::Interrupted { interrupts, .. }) => {
                let Some(open) = interrupts.first() else {
                    return Err("parked without a question".into());
                };
                let told = job::told(evidence, thread.as_str(), open)?;
                let answer = told.unwrap_or_else(|| acknowledged.len().into());
                let answers = Answers::to(open.id.clone(), &answer)?;
                let ended = runner.resume(thread, answers).await;
                if ended.is_ok() {
                    acknowledged.push((format!("{thread} {}", open.id), answer));
                }
                ended
            }
            Ok(other) => return Err(format!("{thread} ended as {other:?}").into()),
            Err(error) if is_passing(&error) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                again(runner, thread).await
            }
            Err(error) => return Err(Box::new(error)),
        };
    }
}

/// Goes on from wherever the log says that the thread is.
async fn again(runner: &Runner<Job>, thread: &ThreadId) -> Result<RunResult<Job>, RunError> {
    match runner.status(thread).await? {
        ThreadStatus::New => runner.start(thread, ()).await,
        ThreadStatus::Waiting(open) => {
            let state = runner.state(thread).await?.unwrap_or_default();
            Ok(RunResult::parked(state, open))
        }
        ThreadStatus::Idle => {
            let (state, output) = (
                runner.state(thread).await?.unwrap_or_else(Arc::default),
                None,
            );
            Ok(RunResult::Finished { state, output })
        }
        _ => runner.recover(thread).await,
    }
}

/// Whether waiting may help.
fn is_passing(error: &RunError) -> bool {
    let passing = |kind: &StoreErrorKind| {
        matches!(
            kind,
            StoreErrorKind::Unavailable
                | StoreErrorKind::LeaseLost
                | StoreErrorKind::Conflict { .. }
        )
    };
    match &error.kind {
        RunErrorKind::Busy { .. } => true,
        RunErrorKind::Store(kind) => passing(kind),
        _ => false,
    }
}
