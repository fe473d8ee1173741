//! Jobs that are due while something prevents them.
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clap::Parser as _;
use fugato::{
    BoxError, Runner, StoreError, ThreadId,
    cli::{App, Flags, ThreadResources as _},
    cron::{Job, JobClock, JobError, JobSpec, Jobs},
    graph::{HistoryEvent, ThreadStatus},
    store::{Intercept, InterceptedLog, StoreCall, StoreErrorKind},
};
use jiff::tz::TimeZone;
use transparent::{
    agent::{AgentState, Request, Update},
    graph::graph,
    open::clockwork as works,
    resources::ConversationResources,
};

use crate::common::{Home, NOON, TestResult};

const HALF_PAST: &str = "30 12 * * *";
const HALF_AN_HOUR: i64 = 30 * 60 * 1000;
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Returns a conversation, a job of it that is due at half past twelve, and the job's thread.
async fn made(schedule: &str, task: &str) -> Result<(Home, Job, ThreadId), BoxError> {
    let stage = Home::by_rule();
    stage.say("hello").await;
    let job = more(&stage, "k", schedule, task).await?;
    let thread = ThreadId::new(job.place())?;
    Ok((stage, job, thread))
}

/// Creates another job of the conversation.
async fn more(stage: &Home, key: &str, schedule: &str, task: &str) -> Result<Job, JobError> {
    let wish = JobSpec::new(schedule, task).only_once(schedule != HALF_PAST);
    stage.deps.jobs.create(key, "desk", wish).await
}

/// Sets the clock to half past twelve, this many days later.
fn half_past(stage: &Home, days: i64) -> i64 {
    let time = NOON + HALF_AN_HOUR + days * DAY;
    stage.clock.store(time, Ordering::SeqCst);
    time
}

async fn fire(stage: &Home, runner: &Runner<AgentState>) -> Result<Duration, JobError> {
    let clockwork = works(runner.clone(), stage.deps.jobs.clone());
    clockwork.fire().await
}

/// Asserts that the job did not run and was deleted.
async fn is_gone(stage: &Home, thread: &ThreadId) -> TestResult {
    assert!(
        stage.runner().state(thread).await?.is_none(),
        "it did not run"
    );
    assert!(stage.deps.jobs.all().await?.is_empty());
    Ok(())
}

/// Returns the number of runs of a thread that have begun.
async fn begun(stage: &Home, thread: &ThreadId) -> Result<usize, BoxError> {
    let history = stage.runner().history(thread, 1, 1000).await?;
    let begun = history
        .iter()
        .filter(|entry| matches!(entry.event(), HistoryEvent::Started { .. }));
    Ok(begun.count())
}

#[tokio::test]
async fn trn_8_a_job_whose_store_is_down_is_done_when_it_is_back() -> TestResult {
    let (stage, job, thread) = made("0 30 12 22 11 * 2026", "stretch").await?;
    half_past(&stage, 0);
    let is_down = Arc::new(AtomicBool::new(true));
    let known = is_down.clone();
    let down = move |asked: StoreCall<'_>| {
        if known.load(Ordering::SeqCst) && !matches!(asked, StoreCall::Head) {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "ask"));
        }
        Ok(())
    };
    let log = InterceptedLog::new(stage.store().open()?, down);
    let runner = Runner::on_log(graph(&stage.deps)?, Arc::new(log));
    let soon = fire(&stage, &runner).await?;
    assert!(soon <= Duration::from_secs(2), "{soon:?}");
    assert_eq!(stage.deps.jobs.all().await?, [job]);
    is_down.store(false, Ordering::SeqCst);
    fire(&stage, &runner).await?;
    assert_eq!(begun(&stage, &thread).await?, 1);
    assert!(stage.deps.jobs.all().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn trn_8_a_job_that_nobody_answered_runs_again_the_next_day() -> TestResult {
    let (stage, _, thread) = made(HALF_PAST, "take a photo").await?;
    for day in 0..2 {
        let time = half_past(&stage, day);
        fire(&stage, &stage.runner()).await?;
        let standing = stage.runner().status(&thread).await?;
        assert!(matches!(standing, ThreadStatus::Waiting(_)), "{standing:?}");
        let agent = stage.runner().state(&thread).await?.ok_or("it ran")?;
        assert_eq!(agent.turn.began_at, time);
    }
    assert_eq!(begun(&stage, &thread).await?, 2);
    assert_eq!(stage.deps.jobs.all().await?[0].fired, 2);
    Ok(())
}

#[tokio::test]
async fn trn_8_what_a_crash_left_of_an_earlier_time_is_ended_first() -> TestResult {
    let (stage, _, thread) = made(HALF_PAST, "stretch").await?;
    stage.kill_after(1);
    let earlier = Update::Asked(Request::of_job("job-of-yesterday", "drink"));
    let run = stage.runner().start(&thread, earlier);
    assert!(stage.follow(run).await.is_killed());
    stage.reopen().await;
    let standing = stage.runner().status(&thread).await?;
    assert!(matches!(standing, ThreadStatus::Unfinished), "{standing:?}");

    half_past(&stage, 0);
    fire(&stage, &stage.runner()).await?;
    let said = stage.runner().state(&thread).await?.ok_or("it ran")?;
    let said = said.conversation.history.iter();
    let said: Vec<&str> = said.map(|message| message.content.as_str()).collect();
    assert_eq!((said.len(), said[0], said[2]), (4, "drink", "stretch"));
    Ok(())
}

#[tokio::test]
async fn trn_8_jobs_end_with_their_conversation() -> TestResult {
    let (stage, _, thread) = made(HALF_PAST, "stretch").await?;
    let runner = stage.runner();
    runner
        .admin()
        .ok_or("the log has one")?
        .remove(stage.thread())
        .await?;
    half_past(&stage, 0);
    fire(&stage, &stage.runner()).await?;
    is_gone(&stage, &thread).await
}

/// A person cancels a job as soon as anything of another one is stored.
struct Cancels(Jobs, String);

impl Intercept for Cancels {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let Self(jobs, id) = self;
        if matches!(asked, StoreCall::Append(..)) {
            let cancelled = jobs.cancel("desk", id).await;
            cancelled.map_err(|_| StoreError::new(StoreErrorKind::Unavailable, "cancel"))?;
        }
        act.await
    }
}

#[tokio::test]
async fn trn_8_a_job_that_is_cancelled_while_another_runs_does_not_run() -> TestResult {
    let (stage, job, thread) = made(HALF_PAST, "stretch").await?;
    more(&stage, "c", "0 20 12 22 11 * 2026", "drink").await?;
    half_past(&stage, 0);
    let cancels = Cancels(stage.deps.jobs.clone(), job.id.clone());
    let log = InterceptedLog::new(stage.store().open()?, Arc::new(cancels));
    fire(&stage, &Runner::on_log(graph(&stage.deps)?, Arc::new(log))).await?;
    is_gone(&stage, &thread).await
}

/// The consent to a job covers its notification and nothing else: it cancels no job by itself.
#[tokio::test]
async fn trn_8_a_job_asks_before_it_cancels_another_one() -> TestResult {
    let (stage, job, thread) = made(HALF_PAST, "stretch").await?;
    let cancels = format!("cancel job {}", job.id);
    let other = more(&stage, "c", "0 20 12 22 11 * 2026", &cancels).await?;
    half_past(&stage, 0);
    fire(&stage, &stage.runner()).await?;
    assert_eq!(begun(&stage, &thread).await?, 1, "it was not cancelled");
    let place = ThreadId::new(other.place())?;
    let ThreadStatus::Waiting(asked) = stage.runner().status(&place).await? else {
        return Err("it asks".into());
    };
    let card = asked[0].question.prompt.to_string();
    assert!(card.contains("stretch"), "{card}");
    assert_eq!(stage.deps.jobs.all().await?.len(), 1);
    Ok(())
}

#[derive(clap::Parser)]
struct Args {
    #[command(flatten)]
    flags: Flags,
}

#[tokio::test]
async fn trn_8_whoever_deletes_a_conversation_deletes_its_jobs_and_no_others() -> TestResult {
    let folder = fugato_testkit::tempdir()?;
    let dir = folder.path().to_string_lossy();
    let flags = Args::try_parse_from(["x", "--dir", &*dir])?.flags;
    let docs = App::new("transparent", flags.clone()).open().await?.docs;
    let jobs = Jobs::new(docs, JobClock::new(TimeZone::UTC, || NOON));
    let wish = JobSpec::new(HALF_PAST, "stretch");
    jobs.create("k", "desk", wish.clone()).await?;
    let other = jobs.create("o", "other", wish).await?;
    let kept = ConversationResources::new(flags);
    for _ in 0..2 {
        kept.delete(&ThreadId::new("desk")?).await?;
        assert_eq!(jobs.all().await?, std::slice::from_ref(&other));
    }
    Ok(())
}
