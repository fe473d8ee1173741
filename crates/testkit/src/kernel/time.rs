//! Scenarios of retries, timeouts and crash limits: K19, and the part of K4 about tasks that kill.
use std::time::Duration;

use expect_test::expect;
use fugato_graph::{
    Context, Durability, END, Graph, NodePolicy, RunErrorKind, RunResult, RunnerOptions, Worker,
};
use fugato_store::{Claim, LeaseOutcome, LeaseRequest, Status};
use fugato_stream::EventKind;
use futures::StreamExt as _;

use super::{
    fixture::{Calls, Fixture, Page, fails, finished, kind, line},
    script::{check, check_with},
    world::{Stage, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at_once(attempts: u32) -> NodePolicy {
    let policy = NodePolicy::default().attempts(attempts);
    policy.backoff(Duration::ZERO, Duration::ZERO)
}

/// Builds a node that fails its first attempts.
fn flaky(calls: &Calls, fails: usize, policy: NodePolicy) -> Result<Graph<Page>, Failure> {
    let calls = calls.clone();
    Ok(Graph::<Page>::starting_at("flaky")
        .node("flaky", move |cx: Context<Page>| {
            calls.note(format!("{} attempt {}", cx.task(), cx.attempt()));
            let fails = calls.count() <= fails;
            async move {
                if fails {
                    Err("boom".into())
                } else {
                    Ok(line("at last"))
                }
            }
        })
        .policy("flaky", policy)
        .edge("flaky", END)
        .build()?)
}

async fn status(desk: &Fixture) -> Result<Option<Status>, Failure> {
    let head = desk.log_of().head(&desk.thread).await?;
    Ok(head.map(|head| head.status))
}

/// Returns the time that the thread sleeps from now on, in milliseconds.
async fn sleeps(desk: &Fixture) -> Result<i64, Failure> {
    match status(desk).await? {
        Some(Status::Sleeping { until }) => Ok(until - desk.clock.now()),
        other => Err(Failure::new(format!(
            "the thread should sleep, not {other:?}"
        ))),
    }
}

/// A back-off is in the store: another process takes the thread over at its time, and not before;
/// each further wait is twice as long, up to its limit, and no attempt is lost.
pub async fn k19_retries_survive_their_process(factory: &dyn LogFactory) -> CheckResult {
    let mut desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let policy = NodePolicy::default().attempts(4);
    let policy = policy.backoff(Duration::from_secs(100), Duration::from_secs(250));
    let graph = flaky(&calls, 3, policy)?;
    let options = RunnerOptions::default().longest_sleep(Duration::from_secs(1));
    let mut ended = desk
        .runner_with(&graph, options.clone())
        .start(&desk.thread, ())
        .await?;
    for seconds in [100, 200, 250] {
        let until = sleeps(&desk).await?;
        let close = (seconds * 1_000..seconds * 1_000 + 30_000).contains(&until);
        holds(close, || format!("it sleeps for {until} ms"))?;
        let sleeping = matches!(ended, RunResult::Scheduled { .. });
        holds(sleeping, || format!("got {ended:?}"))?;
        // Another process comes too early, and starts nothing.
        desk.another_process();
        desk.clock.advance(-60_000 + until - 5_000);
        let tried = calls.count();
        let runner = desk.runner_with(&graph, options.clone());
        let early = runner.recover(&desk.thread).await?;
        holds(matches!(early, RunResult::Scheduled { .. }), || {
            format!("got {early:?}")
        })?;
        same("tries before the time", calls.count(), tried)?;
        same("claimed before the time", claimable(&desk).await?, 0)?;
        desk.clock.advance(6_000);
        same("claimed at the time", claimable(&desk).await?, 1)?;
        ended = runner.recover(&desk.thread).await?;
    }
    finished(Ok(ended))?.said(&["at last"])?;
    let tries = [
        "flaky#1 attempt 1",
        "flaky#1 attempt 2",
        "flaky#1 attempt 3",
        "flaky#1 attempt 4",
    ];
    calls.ran(&tries)
}

/// Returns the number of threads that can be claimed now. The claims are released.
async fn claimable(desk: &Fixture) -> Result<usize, Failure> {
    let (n, owner, ttl) = (10, "a look".into(), 1_000);
    let claimed = desk
        .log_of()
        .lease(LeaseRequest::Claim(Claim {
            n,
            owner,
            ttl,
            ..Claim::default()
        }))
        .await?;
    let LeaseOutcome::Granted(leases) = claimed else {
        return Err(Failure::new("a claim grants leases"));
    };
    let found = leases.len();
    for lease in leases {
        let (thread, fence) = (lease.thread, lease.fence);
        desk.log_of()
            .lease(LeaseRequest::Release { thread, fence })
            .await?;
    }
    Ok(found)
}

/// A back-off that is left to others ends at its time, and whoever comes before goes away again.
pub async fn k19_a_back_off_that_is_left_to_others_ends_at_its_time(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > start
        = sleeps; + a; ran a#1 b#1
        [created, started -> a#1, stepped a#1 -> b#1 +a] [failed b#1 (boom) again later] sleeping
        > another process then recover
        = sleeps
        > wait 100000 then recover
        = + b; ran b#1 try 2
        [resumed b#1 try 2] [stepped b#1 try 2 +b, run_ended] idle
    "#]];
    check_with(
        factory,
        RunnerOptions::default().longest_sleep(Duration::ZERO),
        "a -> b; b: fail on try 1, tries 2 after 99000",
        expected,
    )
    .await
}

/// If a process dies during a back-off, the next one waits for the rest of the time.
pub async fn k19_a_crash_in_a_back_off_loses_no_try(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        = + flaky; ran flaky#1
        [created, started -> flaky#1, stepped flaky#1 +flaky, run_ended] idle
        > program fails then die before 1 then start
        ! the log failed (Store Other; idle)
        ran flaky#2
        > another process then start
        = + flaky; ran flaky#2 flaky#2 try 2
        [started -> flaky#2, failed flaky#2 (boom) again later] sleeping
        [stepped flaky#2 try 2 +flaky, run_ended] idle
        > fresh then start
        = + flaky; ran flaky#1
        [created, started -> flaky#1, stepped flaky#1 +flaky, run_ended] idle
        > program fails then die after 1 then start
        ! the log failed (Store Other; sleeping)
        ran flaky#2
        [started -> flaky#2, failed flaky#2 (boom) again later] sleeping
        > another process then recover
        = + flaky; ran flaky#2 try 2
        [resumed flaky#2 try 2] [stepped flaky#2 try 2 +flaky, run_ended] idle
    "#]];
    let graph = "flaky; flaky: tries 2 after 10; @fails flaky: fail on try 1, tries 2 after 10";
    check(factory, graph, expected).await
}

/// An error that the policy does not retry fails at once; one that it retries fails after the last
/// attempt.
pub async fn k19_a_policy_says_what_is_tried_again(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > without appends then start
        ! task flaky#1 failed: boom (Node; failed)
        ran flaky#1
        > retry
        ! task flaky#1 failed: boom (Node; failed)
        ran flaky#1
        > program hopeful then start
        ! task flaky#2 failed: boom (Node; failed)
        ran flaky#2 flaky#2 try 2 flaky#2 try 3 flaky#2 try 4 flaky#2 try 5
        > retry
        ! task flaky#2 failed: boom (Node; failed)
        ran flaky#2 flaky#2 try 2 flaky#2 try 3 flaky#2 try 4 flaky#2 try 5
        > program three then start
        ! task flaky#3 failed: boom (Node; failed)
        ran flaky#3 flaky#3 try 2 flaky#3 try 3
        > retry
        ! task flaky#3 failed: boom (Node; failed)
        ran flaky#3 flaky#3 try 2 flaky#3 try 3
        > program none then start
        ! task flaky#4 failed: boom (Node; failed)
        ran flaky#4
        > retry
        ! task flaky#4 failed: boom (Node; failed)
        ran flaky#4
    "#]];
    let graph = |stage: &Stage| {
        let policy = match &*stage.program {
            "" => at_once(5).retry_if(|error| error.to_string() != "boom"),
            "hopeful" => at_once(5).retry_if(|error| error.to_string() == "boom"),
            "three" => at_once(3),
            _ => at_once(0),
        };
        let graph = stage.wire("flaky; flaky: fail")?;
        graph.policy("flaky", policy).build()
    };
    check(factory, graph, expected).await
}

/// Every failure is an event with the time of the next try, if there is one; tries come after their
/// delays, and one that waits is cancelled at once.
pub async fn k19_a_failure_is_told_and_its_retry_can_be_cancelled(
    factory: &dyn LogFactory,
) -> CheckResult {
    for (how, delay) in [
        ("ends well", 20),
        ("is fatal", 20),
        ("is cancelled", 50_000),
    ] {
        let desk = Fixture::of(factory).await?;
        let calls = Calls::default();
        let policy = NodePolicy::default()
            .attempts(5)
            .backoff(ms(delay), ms(3 * delay));
        let notes = calls.clone();
        let policy = policy.retry_if(move |_| how != "is fatal" || notes.count() < 3);
        let runner = desk.runner(&flaky(&calls, 3, policy)?);
        let began = std::time::Instant::now();
        let mut run = runner.start(&desk.thread, ());
        let mut told = vec![];
        while let Some(event) = run.next().await {
            if let EventKind::NodeFailed { error, retry_at } = event.kind {
                told.push((error, retry_at.is_some()));
                if how == "is cancelled" {
                    runner.cancel(&desk.thread, "Ada", "no time").await?;
                }
            }
        }
        let ended = run.await;
        let (retried, least) = match how {
            "ends well" => (vec![true; 3], 20 + 40 + 60),
            "is fatal" => (vec![true, true, false], 20 + 40),
            _ => (vec![true], 0),
        };
        match how {
            "ends well" => finished(ended)?.said(&["at last"])?,
            "is fatal" => drop(kind(ended)?),
            _ => {
                let cancelled = matches!(kind(ended)?, RunErrorKind::Cancelled { .. });
                same("cancelled", cancelled, true)?;
                same("its status", status(&desk).await?, Some(Status::Idle))?;
            }
        }
        let error = || "task flaky#1 failed: boom".to_owned();
        let expected = retried.into_iter().map(|again| (error(), again));
        same(how, told, expected.collect())?;
        let passed = began.elapsed();
        holds((ms(least)..ms(30_000)).contains(&passed), || {
            format!("{how} after {passed:?}")
        })?;
    }
    Ok(())
}

/// Attempts that ended with their process do not count among a policy's attempts.
pub async fn k19_crashes_are_counted_apart_from_tries(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! after 1 steps: the log failed (Store Other; unfinished)
        ran flaky#1; did flaky#1/barrier
        [created, started -> flaky#1]
        > another process then recover
        ! after 1 steps: the log failed (Store Other; unfinished)
        ran flaky#1 try 2; did flaky#1/barrier
        [resumed flaky#1 try 2]
        > another process then recover
        = + sent try 4; ran flaky#1 try 3 flaky#1 try 4; did flaky#1/barrier
        [resumed flaky#1 try 3]
        [receipt flaky#1 barrier value="sent", failed flaky#1 try 3 (boom) again later] sleeping
        [stepped flaky#1 try 4 +sent try 4, run_ended] idle
    "#]];
    let graph =
        "flaky; flaky: idempotent barrier, die on try 1, die on try 2, fail on try 3, try, tries 2";
    let options = RunnerOptions::default().crash_limit(3);
    check_with(factory, options, graph, expected).await
}

/// A task that kills its process reaches its limit in every durability mode, also if it dies in a
/// retry after a failure.
pub async fn k4_a_task_that_kills_meets_its_limit(factory: &dyn LogFactory) -> CheckResult {
    for durability in [
        Durability::Strict,
        Durability::Batched {
            max_records: 1_000,
            max_delay: Duration::from_secs(3),
        },
        Durability::AtPause,
    ] {
        for dies in ["die", "fail on try 1, die"] {
            let mut stage = Stage::of(Fixture::of(factory).await?, "");
            let words = format!("acts -> deadly; acts: once mail; deadly: {dies}, tries 9");
            let options = RunnerOptions::default();
            let options = options.durability(durability).crash_limit(3);
            let mut last = None;
            for process in 0..9 {
                let runner = stage
                    .desk
                    .runner_with(&stage.wire(&words)?.build()?, options.clone());
                let ended = match process {
                    0 => runner.start(&stage.desk.thread, ()).await,
                    _ => runner.recover(&stage.desk.thread).await,
                };
                last = Some(kind(ended)?);
                if matches!(last, Some(RunErrorKind::CrashLimit { .. })) {
                    break;
                }
                stage.desk.another_process();
            }
            let limit = matches!(last, Some(RunErrorKind::CrashLimit { .. }));
            holds(limit, || {
                format!("{durability:?}, {dies}: after 9 deaths {last:?}")
            })?;
        }
    }
    Ok(())
}

/// A run that was left between two steps, or just after its start, has killed nothing: recovery
/// counts no crash.
pub async fn k4_a_hand_over_is_no_crash(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("a")
        .node("a", async |cx: Context<Page>| {
            line(format!("attempt {}", cx.attempt()))
        })
        .edge("a", END)
        .build()?;
    let options = RunnerOptions::default().crash_limit(1);
    let runner = desk.runner_with(&graph, options);
    runner.submit(&desk.thread, ()).await?;
    desk.appended("before it is taken", &["created started handed_over"])?;
    let worker = Worker::new(runner).poll(ms(1));
    let at_rest = async {
        while !matches!(status(&desk).await, Ok(Some(Status::Idle))) {
            tokio::task::yield_now().await;
        }
    };
    let outcome = worker.run_until(at_rest).await;
    let all = (outcome.rested, outcome.failed, outcome.handed_over);
    same("runs that rested, failed, were left again", all, (1, 0, 0))?;
    let resumed = r#"[{"resumed":{"tasks":[]}}"#;
    let brackets = desk.log.brackets();
    holds(brackets.starts_with(resumed), || brackets.clone())?;
    desk.appended("when it is taken", &["resumed", "stepped run_ended"])?;
    same(
        "what was said",
        desk.page(&graph).await?.lines,
        texts(&["attempt 1"]),
    )
}

/// A node that exceeds its timeout fails with an error of its own, and is retried if its policy
/// says so; one that exceeds its idle timeout fails with another. Heartbeats keep it going.
pub async fn k19_nodes_have_time_limits(factory: &dyn LogFactory) -> CheckResult {
    let total = || NodePolicy::default().timeout(ms(30));
    let idle = || NodePolicy::default().idle_timeout(ms(30));
    let twice = |policy: NodePolicy| policy.attempts(2).backoff(ms(0), ms(0));
    let (task, after) = ("slow#1".to_owned(), ms(30));
    let late = Some(RunErrorKind::Timeout {
        task: task.clone(),
        after,
    });
    let silent = Some(RunErrorKind::Idle { task, after });
    for (policy, how, expected) in [
        (total(), "hang", &late),
        (total(), "beat", &late),
        (idle(), "hang", &silent),
        (idle(), "beat", &None),
        (twice(total()), "hang on try 1", &None),
        (twice(idle()), "hang on try 1", &None),
    ] {
        // Alone in its step, and in parallel to another.
        for chain in ["open -> slow", "open -> slow other"] {
            let stage = Stage::of(Fixture::of(factory).await?, "");
            let graph = stage.wire(&format!("{chain}; slow: {how}"))?;
            let graph = graph.policy("slow", policy.clone()).build()?;
            let ended = stage.desk.start(&graph).await;
            if let Some(expected) = expected {
                fails(ended, expected.clone())?;
            } else {
                let said = finished(ended)?.lines.contains(&"slow".to_owned());
                same(&format!("{policy:?}, {how}, {chain}"), said, true)?;
            }
        }
    }
    Ok(())
}

/// A timeout bounds each attempt: a late task is retried with its full time.
pub async fn k19_a_time_limit_is_in_the_log(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! task slow#1 took longer than 10ms: it took too long (Timeout; failed)
        ran dropped dropped slow#1 slow#1 try 2
        [created, started -> slow#1,
         failed slow#1 (task slow#1 took longer than 10ms: it took too long) again later] sleeping
        [failed slow#1 try 2 (task slow#1 took longer than 10ms: it took too long), run_failed] idle
    "#]];
    let graph = |stage: &Stage| {
        let graph = stage.wire("slow; slow: hang")?;
        graph.policy("slow", at_once(2).timeout(ms(10))).build()
    };
    check(factory, graph, expected).await
}
