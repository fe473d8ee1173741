//! Jobs: created, listed, cancelled, and carried out when they are due.
use fugato_testkit::assert_contains;
use std::{sync::atomic::Ordering, time::Duration};

use fugato::{
    EventKind, ThreadId,
    cron::{Job, JobClock, JobRunner, JobSpec, Jobs},
    graph::HistoryEvent,
    store::{DocKey, DocStoreExt as _, Namespace},
};
use jiff::tz::TimeZone;
use serde_json::json;
use transparent::{
    agent::{AgentState, Lang},
    open::clockwork as works,
};

use crate::common::{Home, NOON, TestResult};

fn clockwork(stage: &Home) -> JobRunner<AgentState> {
    works(stage.runner(), stage.deps.jobs.clone())
}

async fn jobs(stage: &Home) -> Vec<Job> {
    stage.deps.jobs.all().await.expect("the jobs")
}

/// Sends a message and confirms its question. Returns the answer.
async fn agreed(stage: &Home, text: &str) -> String {
    stage.say(text).await;
    stage.approve().await.answer()
}

#[tokio::test]
async fn trn_8_a_time_that_passes_under_its_card_is_told() -> TestResult {
    let half_an_hour = 30 * 60 * 1000;
    for (wish, told) in [
        ("remind me today at 12:30 to stretch", "has passed"),
        ("今天12:30提醒我喝水", "已经过了"),
    ] {
        let stage = Home::by_rule();
        stage.say(wish).await;
        stage.clock.store(NOON + half_an_hour + 5, Ordering::SeqCst);
        let answer = stage.approve().await.answer();
        assert_contains(&answer, ["2026-11-22 12:30:00", told]);
        assert_eq!(jobs(&stage).await, []);
    }
    // What comes again is made for the next time.
    let stage = Home::by_rule();
    stage.say("每天12:30提醒我喝水").await;
    stage.clock.store(NOON + half_an_hour + 5, Ordering::SeqCst);
    assert_contains(&stage.approve().await.answer(), "2026-11-23 12:30:00");
    Ok(())
}

#[tokio::test]
async fn trn_8_a_job_fires_in_a_thread_of_its_own_and_survives_the_process() -> TestResult {
    let stage = Home::by_rule();
    let answer = agreed(&stage, "每天12:30提醒我喝水").await;
    assert_contains(&answer, ["2026-11-22 12:30:00", "程序在运行"]);
    let made = jobs(&stage).await;
    assert_eq!(made.len(), 1);
    let half_an_hour = 30 * 60 * 1000;
    assert_eq!(made[0].due, NOON + half_an_hour);
    assert_eq!(made[0].wish.task, "喝水");

    // The same key gives the same job.
    let wish = made[0].wish.clone();
    let twice = [
        stage.deps.jobs.create("k", "desk", wish.clone()).await?.id,
        stage.deps.jobs.create("k", "desk", wish).await?.id,
    ];
    assert_eq!(twice[0], twice[1]);
    assert!(stage.deps.jobs.cancel("desk", &twice[0]).await?);

    // Nothing is due yet; then another process starts, and the job is due.
    assert_eq!(clockwork(&stage).fire().await?, Duration::from_secs(30));
    let again = stage.beside();
    again.clock.store(NOON + half_an_hour + 5, Ordering::SeqCst);
    clockwork(&again).fire().await?;
    clockwork(&again).fire().await?;
    let thread = ThreadId::new(made[0].place())?;
    let agent = again.runner().state(&thread).await?.ok_or("it ran")?;
    assert_eq!(agent.turn.request.job.as_ref(), Some(&made[0].id));
    assert_contains(&agent.turn.answer, "喝水");
    let history = again.runner().history(&thread, 1, 1000).await?;
    let started = history
        .iter()
        .filter(|entry| matches!(entry.event(), HistoryEvent::Started { .. }));
    assert_eq!(started.count(), 1, "it ran once");
    let next = jobs(&again).await;
    let day = 24 * 60 * 60 * 1000;
    assert_eq!((next[0].due, next[0].fired), (made[0].due + day, 1));

    // The job is listed and cancelled in the conversation.
    let id = &made[0].id;
    let listed = again.say("有哪些定时任务").await.answer();
    assert!(
        listed.contains("喝水") && !listed.contains(id.as_str()),
        "{listed}"
    );
    again.say(&format!("取消任务 {id}")).await;
    let cancelled = again.approve().await.answer();
    assert_contains(&cancelled, "已取消");
    assert!(jobs(&again).await.is_empty());
    let missing = again.say(&format!("cancel job {id}")).await.answer();
    assert_contains(&missing, "there is no job");
    Ok(())
}

#[tokio::test]
async fn trn_8_a_notification_of_a_job_needs_no_second_consent_and_one_job_makes_no_other()
-> TestResult {
    let stage = Home::by_rule();
    agreed(&stage, "10分钟后提醒我每天12:30提醒我喝水").await;
    let made = jobs(&stage).await;
    stage.clock.store(made[0].due, Ordering::SeqCst);
    clockwork(&stage).fire().await?;
    let thread = ThreadId::new(made[0].place())?;
    let agent = stage.runner().state(&thread).await?.ok_or("it ran")?;
    let made: Vec<_> = agent
        .turn
        .uses
        .iter()
        .map(|made| made.call.name.as_str())
        .collect();
    assert_eq!(made, ["notify"]);
    // The tool itself is blocked for a job, and only for a job.
    let wish = json!({ "schedule": "30 12 * * *", "task": "x" });
    let call = [fugato::ToolCall::new("c9", "create_cron_job", wish)];
    let cards = |agent: &AgentState| stage.deps.toolbox.round(&call, agent).cards().count();
    assert_eq!((cards(&agent), cards(&stage.state().await)), (0, 1));
    // The job was to run once.
    assert!(jobs(&stage).await.is_empty());
    Ok(())
}

#[tokio::test]
async fn trn_8_a_job_does_what_it_says_and_who_dies_in_between_does_it_once() -> TestResult {
    let stage = Home::by_rule();
    agreed(&stage, "每天12:30提醒我帮我找出上周写的项目计划书").await;
    let job = jobs(&stage).await.remove(0);
    let (space, name) = (Namespace::new(["jobs"])?, DocKey::new(&*job.id)?);
    let stored = stage
        .docs
        .get(&space, &name)
        .await?
        .ok_or("it is there")?
        .value;
    stage.clock.store(job.due, Ordering::SeqCst);
    clockwork(&stage).fire().await?;
    // The process died before the end of the job was stored, so the job is unchanged.
    stage.deps.jobs.cancel("desk", &job.id).await?;
    stage.docs.put(&space, &name, stored).await?;
    clockwork(&stage.beside()).fire().await?;
    let thread = ThreadId::new(job.place())?;
    let agent = stage.runner().state(&thread).await?.ok_or("it ran")?;
    assert_eq!(agent.conversation.history.len(), 2);
    assert_contains(&agent.turn.answer, "plan_v1.md");
    let next = jobs(&stage).await;
    assert_eq!(next[0].fired, 1);
    Ok(())
}

#[tokio::test]
async fn trn_8_a_job_speaks_the_language_in_which_it_was_made() -> TestResult {
    let stage = Home::by_rule();
    stage.say("hello").await;
    let wish = JobSpec::new("30 12 * * *", "喝水").extra(json!({ "lang": "en" }));
    let job = stage.deps.jobs.create("k", "desk", wish).await?;
    stage.clock.store(job.due, Ordering::SeqCst);
    clockwork(&stage).fire().await?;
    let agent = stage.runner().state(&ThreadId::new(job.place())?).await?;
    assert_eq!(agent.ok_or("it ran")?.lang, Lang::En);
    Ok(())
}

#[tokio::test]
async fn trn_8_a_schedule_that_cannot_be_used_is_told_and_others_keep_theirs() -> TestResult {
    let call = |schedule: &str| {
        let job = json!({ "schedule": schedule, "task": "x" });
        crate::common::use_tool("create_cron_job", &job)
    };
    let fixed = json!({ "params": { "schedule": "0 8 * * *", "task": "x" } }).to_string();
    let remind = json!({ "intent": "remind", "complexity": 0.3 }).to_string();
    let stage = Home::scripted([
        remind,
        call("every morning"),
        fixed,
        crate::common::finish(),
        "Done.".into(),
    ]);
    stage.say("remind me").await;
    let failed = stage.approve().await;
    let cause = failed.custom("correction")[0]["cause"].clone();
    assert_contains(&cause, "five fields are one");
    let told = stage.approve().await.answer();
    assert!(
        told.starts_with("Done: 2026-11-23 08:00:00 (every day at 08:00): x")
            && told.ends_with("\n\nDone."),
        "{told}"
    );
    let job = jobs(&stage).await.remove(0);
    assert_eq!(job.wish.schedule, "0 8 * * *");
    // No other conversation lists or cancels it.
    assert!(stage.deps.jobs.list("ada/desk").await?.is_empty());
    assert!(!stage.deps.jobs.cancel("ada/desk", &job.id).await?);
    assert_eq!(stage.deps.jobs.list("another").await?.len(), 1);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn trn_8_the_clockwork_wakes_by_itself() -> TestResult {
    let stage = Home::by_rule();
    stage.say("hello").await;
    let begun = tokio::time::Instant::now();
    let docs = stage.docs.clone();
    // A clock that follows tokio's clock.
    let clock = JobClock::new(TimeZone::UTC, move || {
        NOON + i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX)
    });
    let jobs = Jobs::new(docs, clock);
    let wish = JobSpec::new("*/10 * * * *", "stretch");
    let job = jobs.create("k", "desk", wish).await?;
    let runner = stage.runner();
    let clockwork = works(runner.clone(), jobs.clone());
    let over = || tokio::time::sleep(Duration::from_mins(25));
    tokio::join!(
        clockwork.run_until(over()),
        stage.archives.run_until(&runner, over())
    );
    assert_eq!(jobs.all().await?[0].fired, 2);
    let thread = ThreadId::new(job.place())?;
    let archive = stage.archives.read(&thread)?;
    let cards = archive.events().filter(
        |event| matches!(&event.kind, EventKind::Card { data, .. } if data["text"] == "stretch"),
    );
    assert_eq!(cards.count(), 2);
    Ok(())
}
