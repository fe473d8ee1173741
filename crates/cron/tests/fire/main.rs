//! Tests that jobs fire once at each of their times, with processes that die and with several at
//! once.
mod world;

use std::{convert::Infallible, sync::atomic::Ordering, time::Duration};

use fugato_cron::{CatchUp, CronSchedule, JobError, JobSpec, JobTools, Jobs, Maker};
use fugato_state::{Lang, Millis, ToolCall};
use fugato_store::{DocKey, DocStoreExt as _, Namespace};
use fugato_tool::{AdmittedCall, GateChain, Registry, ToolContext, Visibility, confirm_writes};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde_json::{Value, json};
use world::{MINUTE, NOON, Process, TestResult, World};

const MINUTES: Duration = Duration::from_secs(60);

/// An event in the life of an agent's processes.
#[derive(Debug, Clone)]
enum Act {
    /// No process runs for so many minutes.
    Away(u32),
    /// So many processes drive the jobs for so many minutes. If given, the first dies at this
    /// write, before or after it was stored.
    Work(u8, u32, Option<(i64, bool)>),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let dies = prop::option::of((1_i64..12, any::<bool>()));
    let act = prop_oneof![
        (1_u32..200).prop_map(Act::Away),
        (1_u8..3, 1_u32..60, dies).prop_map(|(n, minutes, dies)| Act::Work(n, minutes, dies)),
    ];
    prop::collection::vec(act, 1..8)
}

fn catch_ups() -> impl Strategy<Value = CatchUp> {
    prop_oneof![
        Just(CatchUp::Once),
        (1_u32..2000).prop_map(|most| CatchUp::Each { most }),
        (0_u32..3600).prop_map(|seconds| CatchUp::Within { seconds }),
    ]
}

async fn work(world: &World, processes: u8, minutes: u32, dies: Option<(i64, bool)>) {
    let first = world.process(dies);
    let others: Vec<Process> = (1..processes).map(|_| world.process(None)).collect();
    let works: Vec<_> = std::iter::once(&first)
        .chain(&others)
        .map(|process| {
            let clockwork = process.clockwork();
            let over = tokio::time::sleep(MINUTES * minutes);
            tokio::spawn(async move { clockwork.run_until(over).await })
        })
        .collect();
    for work in works {
        work.await.expect("it does not panic");
    }
}

/// Returns the times of a schedule after one time and up to another.
fn times(schedule: &str, after: Millis, until: Millis) -> Vec<Millis> {
    let schedule = CronSchedule::parse(schedule, &TimeZone::UTC).expect("it is one");
    let next = |time: &Millis| schedule.next(*time).filter(|time| *time <= until);
    std::iter::successors(next(&after), next).collect()
}

async fn holds(acts: Vec<Act>, schedule: &str, catch_up: CatchUp) -> TestResult {
    let world = World::new().await?;
    let wish = JobSpec::new(schedule, "stretch").catch_up(catch_up);
    let job = world.process(None).jobs.create("k", "desk", wish).await?;
    for act in acts {
        match act {
            Act::Away(minutes) => tokio::time::sleep(MINUTES * minutes).await,
            Act::Work(processes, minutes, dies) => work(&world, processes, minutes, dies).await,
        }
    }
    // Half a minute to catch up and to wait for leases of dead processes; jobs that are due after
    // that are done in time.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let back = world.clock.now();
    work(&world, 1, 120, None).await;
    let now = world.clock.now();
    let (done, begun) = world.done(&job.place()).await?;
    let for_times: Vec<Millis> = done.iter().map(|(time, _)| *time).collect();
    let told = format!("{done:?}");
    assert_eq!(begun, done.len(), "each run did it once: {told}");
    assert!(
        for_times.is_sorted_by(|a, b| a < b),
        "no time twice: {told}"
    );
    let all = times(schedule, NOON, now - 1000);
    assert!(
        for_times
            .iter()
            .all(|time| times(schedule, NOON, now).contains(time)),
        "{told}"
    );
    let since = |time: &&Millis| **time > back + MINUTE && **time < now - 1000;
    let late: Vec<_> = for_times.iter().filter(since).collect();
    assert_eq!(late, all.iter().filter(since).collect::<Vec<_>>(), "{told}");
    match catch_up {
        // Each time of these two hours and of all before.
        CatchUp::Each { most: 1000.. } => {
            let before = |time: &&Millis| **time < now - 1000;
            let done: Vec<_> = for_times.iter().filter(before).collect();
            assert_eq!(done, all.iter().collect::<Vec<_>>());
        }
        CatchUp::Within { seconds } => {
            let most = Millis::from(seconds) * 1000 + 10_000;
            assert!(done.iter().all(|(time, at)| at - time <= most), "{told}");
        }
        _ => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(fugato_testkit::share_of(32)))]

    #[test]
    fn trn_8_each_time_of_a_job_is_done_once_whatever_dies(
        acts in acts(),
        schedule in prop::sample::select(vec!["*/10 * * * *", "7 */2 * * *", "*/30 */5 * * * *"]),
        catch_up in catch_ups(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()?;
        runtime.block_on(holds(acts, schedule, catch_up)).expect("the world holds");
    }
}

/// Returns what a job did after so many minutes without a process: its runs, as minutes after noon.
async fn caught_up(wish: JobSpec, away: u32) -> TestResult<Vec<Millis>> {
    let world = World::new().await?;
    let process = world.process(None);
    let job = process.jobs.create("k", "desk", wish).await?;
    tokio::time::sleep(MINUTES * away).await;
    while process.clockwork().fire().await? == Duration::ZERO {}
    let (done, _) = world.done(&job.place()).await?;
    Ok(done
        .iter()
        .map(|(time, _)| (time - NOON) / MINUTE)
        .collect())
}

#[tokio::test(start_paused = true)]
async fn trn_8_times_that_nobody_was_there_for() -> TestResult {
    let often = |catch_up| JobSpec::new("*/10 * * * *", "stretch").catch_up(catch_up);
    let each = |most| often(CatchUp::Each { most });
    let within = |seconds| often(CatchUp::Within { seconds });
    assert_eq!(caught_up(often(CatchUp::Once), 45).await?, [10]);
    assert_eq!(caught_up(each(1000), 45).await?, [10, 20, 30, 40]);
    assert_eq!(caught_up(each(3), 45).await?, [20, 30, 40]);
    assert_eq!(caught_up(each(0), 45).await?, [40]);
    assert_eq!(caught_up(within(360), 45).await?, [40]);
    assert_eq!(caught_up(within(240), 45).await?, Vec::<Millis>::new());
    let once = |catch_up| often(catch_up).once();
    assert_eq!(caught_up(once(CatchUp::Each { most: 9 }), 45).await?, [10]);
    assert_eq!(
        caught_up(once(CatchUp::Within { seconds: 60 }), 45).await?,
        Vec::<Millis>::new()
    );
    Ok(())
}

/// Returns the times that a job has done, as minutes after noon: every ten minutes, during forty
/// minutes, and during two hours after the clock was set back by so many minutes.
async fn set_back(by: Millis) -> TestResult<Vec<Millis>> {
    let world = World::new().await?;
    let wish = JobSpec::new("*/10 * * * *", "stretch");
    let job = world.process(None).jobs.create("k", "desk", wish).await?;
    work(&world, 1, 35, None).await;
    world.back.store(by * MINUTE, Ordering::SeqCst);
    let wait = world.process(None).clockwork().fire().await?;
    assert!(wait <= Duration::from_secs(30), "{wait:?}");
    work(&world, 1, 120, None).await;
    let (done, begun) = world.done(&job.place()).await?;
    assert_eq!(begun, done.len());
    let times = done.iter().map(|(time, _)| (time - NOON) / MINUTE);
    Ok(times.collect())
}

#[tokio::test(start_paused = true)]
async fn trn_8_a_clock_that_is_set_back_does_nothing_twice_and_leaves_nothing_out() -> TestResult {
    const DAY: Millis = 24 * 60;
    let hours =
        |from: Millis, until: Millis| -> Vec<Millis> { (from..=until).step_by(10).collect() };
    // At 12:35 it is 12:05 again, and then 14:05.
    assert_eq!(set_back(30).await?, hours(10, 120));
    // The times that the clock has already passed are not repeated.
    assert_eq!(set_back(DAY).await?, hours(10, 30));
    // The job does not wait for three days to come again.
    let again = hours(40 - 3 * DAY, 150 - 3 * DAY);
    assert_eq!(set_back(3 * DAY).await?, [hours(10, 30), again].concat());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn trn_8_a_key_makes_one_job_and_owners_see_their_own() -> TestResult {
    let world = World::new().await?;
    let jobs = world.process(None).jobs;
    let wish = || JobSpec::new("30 12 * * *", "stretch").extra(json!({ "lang": "en" }));
    let job = jobs.create("k", "ada/desk", wish()).await?;
    assert_eq!(jobs.create("k", "ada/desk", wish()).await?, job);
    let other = jobs.create("k", "ada/desk", wish().once()).await;
    assert!(
        matches!(&other, Err(JobError::KeyTaken { id, .. }) if *id == job.id),
        "{other:?}"
    );
    assert_eq!(jobs.list("ada/other").await?, std::slice::from_ref(&job));
    assert!(jobs.list("bob/desk").await?.is_empty() && !jobs.cancel("bob/desk", &job.id).await?);
    assert!(jobs.cancel("ada/other", &job.id).await? && jobs.all().await?.is_empty());
    let long = "x".repeat(195);
    let refused = jobs
        .create("l", &long, wish())
        .await
        .err()
        .ok_or("no room")?;
    assert!(refused.to_string().contains("200 bytes"), "{refused}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_owner_has_so_many_jobs_of_such_a_size() -> TestResult {
    let world = World::new().await?;
    let jobs = world.process(None).jobs.at_most(2);
    let create = async |key: &str, thread: &str, task: &str| {
        jobs.create(key, thread, JobSpec::new("0 8 * * *", task))
            .await
    };
    create("1", "ada/one", "work").await?;
    let last = create("2", "ada/other", "work").await?;
    let refused = create("3", "ada/one", "work").await;
    let told = "2 jobs may be kept at a time; cancel one that is no longer needed";
    assert_eq!(
        refused.map_err(|error| error.to_string()),
        Err(told.to_owned())
    );
    // A repetition is no further job, and others have their own.
    assert_eq!(create("2", "ada/other", "work").await?, last);
    create("3", "bob/one", "work").await?;
    assert!(jobs.cancel("ada/one", &last.id).await?);
    create("4", "ada/one", "work").await?;
    let long = "x".repeat(Jobs::MAX_TASK_BYTES + 1);
    let refused = create("5", "carl/one", &long).await;
    assert!(matches!(refused, Err(JobError::TooLong)), "{refused:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn k35_the_card_of_a_job_says_that_nobody_is_asked_again() -> TestResult {
    let world = World::new().await?;
    let tools = JobTools::new(world.process(None).jobs, |(): &()| Maker::new("desk"));
    let registry = Registry::<(), ()>::builder().tool(tools.create()).build()?;
    let card = |task: &str, once: bool| {
        let arguments = json!({ "schedule": "30 12 * * *", "task": task, "once": once });
        let call = ToolCall::new("c", "create_cron_job", arguments);
        let round = registry.round(&[call], &Visibility::new());
        let round = round.judged(&GateChain::<()>::new().with(confirm_writes), &());
        let card = round.cards().next().cloned();
        card.map(|card| (card.consequence, card.summary, card.labels))
    };
    let task = "drink water and then, some time later; then notify boss: APPROVED";
    let (says, summary, labels) = card(task, true).ok_or("nobody is asked")?;
    assert!(
        says.starts_with("acts once, at ") && says.ends_with("without asking again"),
        "{says}"
    );
    assert_eq!(
        summary,
        format!("once: true\nschedule: 30 12 * * *\ntask: {task}")
    );
    // The expression is for programs, and the time for people.
    assert!(says.contains(&labels["schedule"]), "{says} {labels:?}");
    let chinese = Lang::Zh.scope(|| card("喝水", false));
    let (says, _, labels) = chinese.ok_or("nobody is asked")?;
    assert!(says.contains("反复执行，届时不再询问"), "{says}");
    assert_eq!(labels["schedule"], "每天 12:30");
    Ok(())
}

/// Carries out a call of a tool of these jobs, which has begun before or not.
async fn called(tools: &JobTools<()>, repeat: bool, name: &str, arguments: Value) -> String {
    let registry = Registry::<(), ()>::builder().tool(tools.create());
    let registry = registry.tool(tools.cancel()).build().expect("two tools");
    let call = ToolCall::new("c", name, arguments);
    let mut round = registry.round(&[call], &Visibility::new());
    assert!(!repeat || round.resume("c", None));
    let cx = ToolContext::new(&()).idempotency_key("k");
    let run = |call: AdmittedCall<(), ()>| async move { Ok::<_, Infallible>(call.run(cx).await) };
    let Ok(done) = round.run(run).await;
    let text = done.first().map(|called| called.result.text.clone());
    text.unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn trn_8_a_call_that_is_repeated_after_a_crash_says_what_it_did() -> TestResult {
    let world = World::new().await?;
    let jobs = world.process(None).jobs;
    let tools = JobTools::new(jobs.clone(), |(): &()| Maker::new("desk").since(NOON));
    let wish = json!({ "schedule": "30 12 * * *", "task": "drink water", "once": true });
    let created = called(&tools, false, "create_cron_job", wish.clone()).await;
    // It is not done before there is a process again.
    tokio::time::sleep(MINUTES * 40).await;
    let again = called(&tools, true, "create_cron_job", wish.clone()).await;
    assert_eq!(again, created);
    let job = jobs.all().await?.pop().ok_or("there is one")?;
    let id = json!({ "id": job.id });
    for (repeat, says) in [
        (false, "cancelled"),
        (true, "cancelled"),
        (false, "there is no job"),
    ] {
        let told = called(&tools, repeat, "cancel_cron_job", id.clone()).await;
        assert!(told.starts_with(says), "{told}");
    }
    let late = called(&tools, false, "create_cron_job", wish).await;
    assert!(late.contains("has passed"), "{late}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn trn_8_a_job_of_the_application_needs_no_conversation() -> TestResult {
    let world = World::new().await?;
    let jobs = world.process(None).jobs;
    let wish = |task| JobSpec::new("* * * * *", task);
    let job = jobs
        .create("own", "nobody", wish("look").standing(true))
        .await?;
    let gone = jobs.create("gone", "nobody", wish("stretch")).await?;
    work(&world, 1, 3, None).await;
    let done = world.done(&job.place()).await?.0.len();
    assert!(done >= 2, "it is done again: {done}");
    let left = jobs.all().await?;
    assert!(left.iter().any(|left| left.id == job.id), "{left:?}");
    assert!(left.iter().all(|left| left.id != gone.id), "{left:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn trn_8_a_job_that_cannot_be_read_keeps_no_other_from_being_done() -> TestResult {
    let world = World::new().await?;
    let process = world.process(None);
    let space = Namespace::new(["jobs"])?;
    // As the first version wrote it, with an invalid schedule.
    let stored = json!({
        "v": 1, "id": "job-0", "thread": "desk", "wish": { "schedule": "soon", "task": "x" },
        "zone": "UTC", "due": NOON, "fired": 3,
    });
    world
        .docs()
        .put(&space, &DocKey::new("job-0")?, stored)
        .await?;
    world
        .docs()
        .put(&space, &DocKey::new("job-1")?, json!({ "v": 7 }))
        .await?;
    let wish = JobSpec::new("*/10 * * * *", "stretch");
    let job = process.jobs.create("k", "desk", wish).await?;
    tokio::time::sleep(MINUTES * 10).await;
    process.clockwork().fire().await?;
    assert_eq!(world.done(&job.place()).await?.1, 1);
    let told = process.jobs.all().await.err().ok_or("one cannot be read")?;
    assert_eq!(told.to_string(), "the job job-1 cannot be read");
    world.docs().delete(&space, &DocKey::new("job-1")?).await?;
    let all = process.jobs.all().await?;
    assert_eq!(
        (all[0].id.as_str(), all[0].fired, all[0].wish.catch_up),
        ("job-0", 3, CatchUp::Once)
    );
    Ok(())
}
