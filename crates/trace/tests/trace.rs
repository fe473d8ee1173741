//! The trace of every request from the log alone: tasks, durations, attempts, errors.
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use fugato_graph::{Answers, BoxError, Context, END, Graph, NodePolicy, Outcome, Runner};
use fugato_state::{EffectClass, Millis, State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use fugato_trace::{AttemptStatus, RunStatus, RunTrace, TaskTrace};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Lines(Vec<String>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Say(String);

impl State for Lines {
    type Update = Say;

    fn apply(&mut self, Say(line): Say) {
        self.0.push(line);
    }
}

fn say(line: impl Into<String>) -> Say {
    Say(line.into())
}

fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

/// Returns a log whose clock is the paused one of the test, so that every duration is known.
fn log() -> Arc<MemoryLog> {
    let start = Instant::now();
    let clock = move || Millis::try_from(start.elapsed().as_millis()).unwrap_or(Millis::MAX);
    Arc::new(MemoryLog::with_clock(clock))
}

async fn work(millis: u64) {
    sleep(Duration::from_millis(millis)).await;
}

/// Returns a graph that looks for 300 ms, fails once after 50 ms, asks a person, and writes to two
/// in parallel.
fn graph() -> Graph<Lines> {
    let tries = AtomicU32::new(0);
    let tries = Arc::new(tries);
    let flaky = move |_: Context<Lines>| {
        let tries = tries.clone();
        async move {
            work(50).await;
            match tries.fetch_add(1, Ordering::Relaxed) {
                0 => Err("the line is busy".into()),
                _ => Ok(say("called")),
            }
        }
    };
    let policy = NodePolicy::default().attempts(2);
    let policy = policy.backoff(Duration::from_secs(1), Duration::from_secs(1));
    Graph::<Lines>::starting_at("look")
        .node("look", async |_: Context<Lines>| {
            work(300).await;
            let code = "looking".to_owned();
            let summary = "looking around".to_owned();
            Outcome::done([say("looked")]).note(EventKind::Status { code, summary })
        })
        .node("call", flaky)
        .policy("call", policy)
        .pause(
            "ask",
            |_: &Lines| "which ones?",
            |_, answer: String| say(answer),
        )
        .node("write", async |cx: Context<Lines>| {
            let whom: String = cx.item()?;
            work(if whom == "Ada" { 20 } else { 40 }).await;
            let letter = whom.clone();
            let act = async move |_| Ok::<_, BoxError>(letter);
            let sent: String = cx.effect("send", EffectClass::Once, &whom, act).await?;
            Ok::<_, BoxError>(say(format!("wrote to {sent}")))
        })
        .label("look", "looking around")
        .label("write", "writing letters")
        .edge("look", "call")
        .edge("call", "ask")
        .scatter("ask", "write", |_: &Lines| ["Ada", "Grace"])
        .edge("write", END)
        .build()
        .expect("the graph is sound")
}

/// Returns a task in one line, to be compared whole.
fn line(task: &TaskTrace) -> String {
    let attempts: Vec<String> = task
        .attempts
        .iter()
        .map(|attempt| {
            let error = attempt.error.as_deref().unwrap_or("ok");
            format!("{}: {error}", attempt.number)
        })
        .collect();
    format!(
        "{} ({}) {:?} took {:?} waited {:?} [{}] {} → {} {:?}",
        task.task,
        task.label.as_deref().unwrap_or("-"),
        task.end,
        task.took(),
        task.waited,
        attempts.join(", "),
        task.input,
        task.output,
        task.effects,
    )
}

fn lines(run: &RunTrace) -> Vec<String> {
    run.tasks.iter().map(line).collect()
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_durations_attempts_and_errors_of_every_task() {
    let runner = Runner::new(graph(), log());
    let asked = runner.start(&thread(), say("go")).await.expect("it asks");
    assert_eq!(asked.interrupts().len(), 1);
    work(5_000).await;
    let answer = Answers::only("both").expect("a text is JSON");
    runner.resume(&thread(), answer).await.expect("it ends");

    let runs = RunTrace::read(&runner, &thread())
        .await
        .expect("the log can be read");
    let [run] = &runs[..] else {
        panic!("{runs:?}");
    };
    assert_eq!(
        lines(run),
        [
            r#"look#1 (looking around) Done took Some(300ms) waited 0ns [1: ok] ["go"] → ["looked"] []"#,
            r#"call#1 (-) Done took Some(100ms) waited 0ns [1: task call#1 failed: the line is busy, 2: ok] ["looked"] → ["called"] []"#,
            r#"ask#1 (-) Done took Some(0ns) waited 5s [1: ok] ["called"] → ["both"] []"#,
            r#"write#1[0] (writing letters) Done took Some(20ms) waited 0ns [1: ok] "Ada" → ["wrote to Ada"] [("send", true)]"#,
            r#"write#1[1] (writing letters) Done took Some(40ms) waited 0ns [1: ok] "Grace" → ["wrote to Grace"] [("send", true)]"#,
        ]
    );
    assert_eq!(run.end, Some(RunStatus::Finished));
    assert_eq!(
        run.ended.map(|ended| ended - run.began),
        Some(300 + 50 + 1_000 + 50 + 5_000 + 40)
    );
    let told: Vec<usize> = run.tasks.iter().map(|task| task.notes.len()).collect();
    assert_eq!(told, [1, 0, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_trace_of_an_unfinished_run_says_what_it_waits_for() {
    let runner = Runner::new(graph(), log());
    assert_eq!(
        RunTrace::read(&runner, &thread())
            .await
            .expect("nothing is there"),
        []
    );
    runner.start(&thread(), say("go")).await.expect("it asks");
    let runs = RunTrace::read(&runner, &thread())
        .await
        .expect("the log can be read");
    let ends: Vec<_> = runs
        .iter()
        .flat_map(|run| &run.tasks)
        .map(|task| (task.node(), task.end))
        .collect();
    assert_eq!(
        ends,
        [
            ("look", AttemptStatus::Done),
            ("call", AttemptStatus::Done),
            ("ask", AttemptStatus::Waiting)
        ]
    );
    assert_eq!(
        runs.first().map(|run| (&run.end, run.ended)),
        Some((&None, None))
    );

    runner
        .cancel(&thread(), "Ada", "enough")
        .await
        .expect("it can be cancelled");
    let runs = RunTrace::read(&runner, &thread())
        .await
        .expect("the log can be read");
    let last = runs
        .last()
        .and_then(|run| run.tasks.last())
        .map(|task| task.end);
    assert_eq!(last, Some(AttemptStatus::Dropped));
    let (by, why) = ("Ada".to_owned(), "enough".to_owned());
    assert_eq!(
        runs.last().and_then(|run| run.end.clone()),
        Some(RunStatus::Cancelled { by, why })
    );
}

/// The first attempt fails; an operator retries the run.
#[tokio::test(start_paused = true)]
async fn what_failed_and_was_tried_again_is_one_task_with_two_attempts() {
    let tries = Arc::new(AtomicU32::new(0));
    let graph = Graph::<Lines>::starting_at("a")
        .node("a", move |_: Context<Lines>| {
            let failed = tries.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                work(10).await;
                if failed {
                    Err("no paper".into())
                } else {
                    Ok(say("a".repeat(500)))
                }
            }
        })
        .edge("a", END)
        .build()
        .expect("the graph is sound");
    let runner = Runner::new(graph, log());
    runner
        .start(&thread(), say("go"))
        .await
        .expect_err("it fails");
    let failed = RunTrace::read(&runner, &thread())
        .await
        .expect("the log can be read");
    assert!(matches!(
        failed.first().and_then(|run| run.end.clone()),
        Some(RunStatus::Failed { error }) if error.contains("no paper")
    ));
    runner.retry(&thread()).await.expect("it ends");
    let runs = RunTrace::read(&runner, &thread())
        .await
        .expect("the log can be read");
    let [run] = &runs[..] else {
        panic!("{runs:?}");
    };
    let [task] = &run.tasks[..] else {
        panic!("{run:?}");
    };
    let attempts: Vec<_> = task
        .attempts
        .iter()
        .map(|attempt| (attempt.number, attempt.error.as_deref()))
        .collect();
    assert_eq!(
        (run.end.clone(), attempts),
        (
            Some(RunStatus::Finished),
            vec![(1, Some("task a#1 failed: no paper")), (1, None)]
        )
    );
    assert_eq!(task.took(), Some(Duration::from_millis(20)));
    assert_eq!(task.output.chars().count(), TaskTrace::MOST_CHARACTERS);
    assert!(task.output.ends_with('…'));
}

#[tokio::test(start_paused = true)]
async fn tasks_of_a_subgraph_are_told_under_its_scope() {
    let inner = Graph::<Lines>::starting_at("pen")
        .node("pen", async |_: Context<Lines>| {
            work(7).await;
            say("ink")
        })
        .edge("pen", END)
        .build()
        .expect("the graph is sound");
    let graph = Graph::<Lines>::starting_at("letter")
        .subgraph(
            "letter",
            &inner,
            |_| Ok::<_, BoxError>(Lines::default()),
            |_: &Lines, done: &Lines| say(done.0.concat()),
        )
        .label("letter", "writing a letter")
        .edge("letter", END)
        .build()
        .expect("the graph is sound");
    let runner = Runner::new(graph, log());
    runner.start(&thread(), say("go")).await.expect("it ends");
    let runs = RunTrace::read(&runner, &thread())
        .await
        .expect("the log can be read");
    let told: Vec<_> = runs
        .iter()
        .flat_map(|run| &run.tasks)
        .map(|task| {
            (
                task.scope.as_str(),
                task.task.as_str(),
                task.label.as_deref(),
                task.took(),
            )
        })
        .collect();
    let (label, took) = (Some("writing a letter"), Some(Duration::from_millis(7)));
    assert_eq!(
        told,
        [
            ("", "letter#1", label, took),
            ("letter#1", "pen#1", label, took)
        ]
    );
}
