//! Threads that a Restate server places survive it, their service, and both.
use std::{
    collections::BTreeMap,
    env, fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use fugato_graph::{
    Answers, BoxError, Context, Drive, END, Effect, Graph, InDoubt, NodePolicy, Runner,
    RunnerOptions, ThreadStatus,
};
use fugato_restate::{Restate, RestateError, RestateOptions};
use fugato_sqlite::SqliteLog;
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use fugato_testkit::share;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::common::{TestResult, registered};

const STEPS: u64 = 20;
const THREADS: u64 = 6;
const NEVER: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Walk {
    taken: u64,
    said: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Change {
    Taken,
    Said(String),
}

impl State for Walk {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Taken => self.taken += 1,
            Change::Said(words) => self.said.push(words),
        }
    }
}

/// The ledger of effects: a line for each, which nothing but its own effect writes.
#[derive(Clone)]
struct Ledger(PathBuf);

impl Ledger {
    fn write(&self, entry: &str) -> Result<(), BoxError> {
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.0)?;
        file.write_all(format!("{entry}\n").as_bytes())?;
        Ok(file.sync_data()?)
    }

    fn count(&self) -> Result<BTreeMap<String, u64>, BoxError> {
        let mut counts = BTreeMap::new();
        if self.0.exists() {
            for line in fs::read_to_string(&self.0)?.lines() {
                *counts.entry(line.to_owned()).or_default() += 1;
            }
        }
        Ok(counts)
    }
}

/// A walk of some steps, each of which writes to the ledger what must not be written twice.
fn walk(ledger: Ledger) -> Result<Graph<Walk>, BoxError> {
    let step = move |cx: Context<Walk>| {
        let ledger = ledger.clone();
        async move {
            let entry = format!("{} {}", cx.thread(), cx.task());
            tokio::time::sleep(Duration::from_millis(30)).await;
            let (looks, sought) = (ledger.clone(), entry.clone());
            let once = Effect::once()
                .timeout(Duration::from_millis(200))
                .reconcile(move || async move {
                    let there = looks.count()?.contains_key(&sought);
                    Ok::<_, BoxError>(Some(if there {
                        InDoubt::Happened(())
                    } else {
                        InDoubt::DidNotHappen
                    }))
                });
            let act = move |_| async move { ledger.write(&entry) };
            cx.effect("write", once, &(), act).await?;
            Ok::<_, BoxError>(Change::Taken)
        }
    };
    let next = |walk: &Walk| if walk.taken < STEPS { "step" } else { END };
    Ok(Graph::<Walk>::starting_at("step")
        .node("step", step)
        .branch("step", ["step", END], next)
        .build()?)
}

fn walker(folder: &Path) -> Result<Runner<Walk>, BoxError> {
    let log = SqliteLog::open(folder.join("threads.db"))?;
    let options = RunnerOptions::default()
        .prefix("walks/")
        .lease(Duration::from_secs(1))
        .crash_limit(100);
    let graph = walk(Ledger(folder.join("ledger")))?;
    Ok(Runner::new(graph, Arc::new(log)).options(options))
}

/// A service in a process of its own, which can be killed.
struct Service(Child);

impl Service {
    fn start(folder: &Path, port: u16, ingress: &str) -> Result<Self, BoxError> {
        let child = Command::new(env::current_exe()?)
            .args([
                "threads::serves_in_a_process_of_its_own",
                "--exact",
                "--nocapture",
            ])
            .env("RESTATE_TEST_FOLDER", folder)
            .env("RESTATE_TEST_PORT", port.to_string())
            .env("RESTATE_TEST_INGRESS", ingress)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self(child))
    }

    /// Kills the process with SIGKILL.
    fn kill9(&mut self) -> TestResult {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

/// The program of [`Service`]; without its settings it does nothing. It ends with its parent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_in_a_process_of_its_own() -> TestResult {
    let (Ok(folder), Ok(port), Ok(ingress)) = (
        env::var("RESTATE_TEST_FOLDER"),
        env::var("RESTATE_TEST_PORT"),
        env::var("RESTATE_TEST_INGRESS"),
    ) else {
        return Ok(());
    };
    std::thread::spawn(|| {
        drop(std::io::stdin().read_to_end(&mut vec![]));
        std::process::exit(0);
    });
    let options = RestateOptions::new(ingress).sweep(Duration::from_millis(300));
    let engine = Restate::new(options)?;
    let runner = engine.placing(walker(Path::new(&folder))?);
    let listener = TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    engine
        .serve(
            listener,
            vec![Arc::new(runner)],
            std::future::pending::<()>(),
        )
        .await?;
    Ok(())
}

async fn rests<S: State>(
    runner: &Runner<S>,
    thread: &ThreadId,
    expected: fn(&ThreadStatus) -> bool,
) -> TestResult {
    let begun = Instant::now();
    loop {
        let status = runner.status(thread).await?;
        if expected(&status) {
            return Ok(());
        }
        if begun.elapsed() > Duration::from_secs(60) {
            return Err(format!("{thread} is {status:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// While threads work, the service, the engine, and both are killed in turn: every thread comes to
/// its end, no effect is lost and none happens twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn k29_killed_services_and_engines_lose_and_double_nothing() -> TestResult {
    let Some(restate) = servers::Restate::start() else {
        return Ok(());
    };
    let folder = fugato_testkit::tempdir()?;
    let (port, ingress) = (servers::free_port(), restate.server().url().to_owned());
    let engine = Restate::new(RestateOptions::new(&ingress))?;
    let mut service = Service::start(folder.path(), port, &ingress)?;
    registered(
        &engine,
        &restate.admin(),
        &format!("http://127.0.0.1:{port}"),
    )
    .await?;
    let runner = engine.placing(walker(folder.path())?);
    let threads: Result<Vec<_>, _> = (0..THREADS)
        .map(|n| ThreadId::new(format!("walks/{n} ünï/?")))
        .collect();
    let threads = threads?;
    for thread in &threads {
        runner.submit(thread, ()).await?;
    }
    let ledger = Ledger(folder.path().join("ledger"));
    let mut kills = 0;
    // One of each kind, where not all cases are tried.
    let rounds = if share() == 1 { 9 } else { 3 };
    for round in 0..rounds {
        // After each kill the threads go on: else the next one never comes.
        let begun = Instant::now();
        let done = loop {
            let done: u64 = ledger.count()?.values().sum();
            // In the first half, so that the last one does not come too late on a busy machine.
            if done > round * THREADS * STEPS / (2 * rounds) {
                break done;
            }
            if begun.elapsed() > Duration::from_secs(60) {
                let log = restate.server().log();
                return Err(format!("{done} effects before kill {round}: {log}").into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert!(done < THREADS * STEPS, "kill {round} came too late");
        // The service, the engine, both.
        if round % 3 != 1 {
            service.kill9()?;
        }
        if round % 3 > 0 {
            restate.server().kill9();
            restate.server().restart();
        }
        if round % 3 != 1 {
            service = Service::start(folder.path(), port, &ingress)?;
        }
        kills += 1;
    }
    assert_eq!(kills, rounds);
    for thread in &threads {
        rests(&runner, thread, |status| *status == ThreadStatus::Idle).await?;
        let head = runner.log().head(thread).await?.map_or(0, |head| head.seq);
        assert_eq!(
            runner.state_at(thread, head).await?.taken,
            STEPS,
            "{thread}"
        );
    }
    let counts = ledger.count()?;
    assert_eq!(counts.len() as u64, THREADS * STEPS, "lost: {counts:?}");
    assert!(
        counts.values().all(|times| *times == 1),
        "doubled: {counts:?}"
    );
    service.kill9()
}

/// The engine wakes what sleeps at its time and drives what was handed over, without any sweep; an
/// answer goes on in the process that takes it, and another agent's threads stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn k29_an_engine_wakes_what_sleeps() -> TestResult {
    let Some(restate) = servers::Restate::start() else {
        return Ok(());
    };
    let policy = NodePolicy::default().attempts(3);
    let wait = Duration::from_millis(700);
    let graph = Graph::<Walk>::starting_at("flaky")
        .node("flaky", async |cx: Context<Walk>| match cx.attempt() {
            3 => Ok(Change::Said("at last".into())),
            attempt => Err(BoxError::from(format!("attempt {attempt}"))),
        })
        .policy("flaky", policy.backoff(wait, wait))
        .pause(
            "ask",
            |walk| walk.said.len(),
            |_, yes: String| Change::Said(yes),
        )
        .edge("flaky", "ask")
        .edge("ask", END)
        .build()?;
    let options = RestateOptions::new(restate.server().url()).sweep(NEVER);
    let engine = Restate::new(options)?;
    let options = RunnerOptions::default()
        .prefix("orders/")
        .longest_sleep(Duration::from_millis(1));
    // The clock of the store is slower than that of the engine, whose timers come too early.
    let (born, epoch) = (Instant::now(), 2_000_000_000_000);
    let log = MemoryLog::with_clock(move || {
        epoch + i64::try_from(born.elapsed().as_millis() / 2).unwrap_or(0)
    });
    let log = Arc::new(log);
    let runner = engine.placing(Runner::new(graph, log).options(options));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    let agents: Vec<Arc<dyn Drive>> = vec![Arc::new(runner.clone())];
    let (serving, served) = (engine.clone(), agents.clone());
    let service = tokio::spawn(async move {
        serving
            .serve(listener, served, std::future::pending::<()>())
            .await
    });
    registered(&engine, &restate.admin(), &endpoint).await?;
    let thread = ThreadId::new("orders/1")?;
    let begun = Instant::now();
    runner.submit(&thread, ()).await?;
    rests(&runner, &thread, |status| {
        matches!(status, ThreadStatus::Waiting { .. })
    })
    .await?;
    // Both back-offs by the clock of the store.
    assert!(begun.elapsed() >= 3 * wait, "{:?}", begun.elapsed());
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    let open = runner.interrupts(&thread).await?;
    let asked = open.first().ok_or("nothing is asked")?;
    let answers = Answers::to(asked.id.clone(), "yes")?;
    let ended = runner.resume(&thread, answers).await?;
    assert_eq!(ended.state().said, ["at last", "yes"]);
    service.abort();
    Ok(())
}

/// Threads that were left while the engine was away go on by the sweep, and by nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn k29_a_lost_word_is_repeated_by_the_sweep() -> TestResult {
    let Some(restate) = servers::Restate::start() else {
        return Ok(());
    };
    let folder = fugato_testkit::tempdir()?;
    let address = restate.server().url();
    let engine = Restate::new(RestateOptions::new(address).sweep(NEVER))?;
    let runner = engine.placing(walker(folder.path())?);
    let port = servers::free_port();
    let serve = async |sweep| {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let engine = Restate::new(RestateOptions::new(address).sweep(sweep))?;
        let agents: Vec<Arc<dyn Drive>> = vec![Arc::new(runner.clone())];
        let never = std::future::pending::<()>();
        let serving = async move { engine.serve(listener, agents, never).await };
        Ok::<_, BoxError>(tokio::spawn(serving))
    };
    let without = serve(NEVER).await?;
    registered(
        &engine,
        &restate.admin(),
        &format!("http://127.0.0.1:{port}"),
    )
    .await?;
    restate.server().kill9();
    let thread = ThreadId::new("walks/1")?;
    runner.submit(&thread, ()).await?;
    // The word gets its refusal before there is a server again.
    tokio::time::sleep(Duration::from_millis(300)).await;
    restate.server().restart();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(runner.status(&thread).await?, ThreadStatus::Unfinished);
    assert!(Ledger(folder.path().join("ledger")).count()?.is_empty());
    without.abort();
    drop(without.await);
    let with = serve(Duration::from_millis(200)).await?;
    rests(&runner, &thread, |status| *status == ThreadStatus::Idle).await?;
    with.abort();
    Ok(())
}

/// Agents that would share threads are refused before anything is served, with both prefixes.
#[tokio::test]
async fn agents_that_share_threads_are_refused() -> TestResult {
    let agent = |prefix: &str| -> Result<Arc<dyn Drive>, BoxError> {
        let graph = walk(Ledger(PathBuf::new()))?;
        let options = RunnerOptions::default().prefix(prefix);
        let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
        Ok(Arc::new(runner))
    };
    let engine = Restate::new(RestateOptions::new("http://127.0.0.1:1"))?;
    for (one, two) in [("a/", "a/b/"), ("", "a/"), ("a/", "a/")] {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let agents = vec![agent(one)?, agent(two)?];
        let refused = engine.serve(listener, agents, async {}).await;
        let named = matches!(&refused, Err(RestateError::Shared { one: o, two: t }) if o == one && t == two);
        assert!(named, "{refused:?}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let refused = engine.serve(listener, vec![], async {}).await;
    assert!(matches!(refused, Err(RestateError::NoAgent)), "{refused:?}");
    Ok(())
}
