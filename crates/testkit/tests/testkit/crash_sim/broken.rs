//! The stores and graphs that `CrashSim` must reject, by the promise that each breaks.
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, END, Graph};
use fugato_state::{EffectClass, Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, MemoryLog, Record, StoreError,
    ThreadLog,
};
use fugato_testkit::{
    log::{BrokenLog, Flaw, OpenError, OpenedLog, TestClock},
    sim::{CrashSim, CrashStore, World},
};

use super::everything::{Lines, say};

/// Builds a graph that sends one letter and then does one more step.
fn letter(world: &World, class: EffectClass, inside: bool) -> Result<Graph<Lines>, BoxError> {
    let world = world.clone();
    Ok(Graph::<Lines>::starting_at("send")
        .node("send", move |cx: Context<Lines>| {
            let world = world.clone();
            async move {
                let sent = if inside {
                    let act = move |key| async move { world.act("letter", key).await };
                    cx.effect("letter", class, &"Ada", act).await?
                } else {
                    world.act("letter", "Ada").await?
                };
                Ok::<_, BoxError>(say(sent))
            }
        })
        .pause(
            "ask",
            |_| "read?",
            |_, yes: bool| say(format!("read: {yes}")),
        )
        .node("file", async |_: Context<Lines>| say("filed"))
        .edge("send", "ask")
        .edge("ask", "file")
        .edge("file", END)
        .build()?)
}

fn sound() -> CrashSim<Lines> {
    of(EffectClass::Once, true)
}

fn of(class: EffectClass, inside: bool) -> CrashSim<Lines> {
    CrashSim::new(move |world| letter(world, class, inside))
        .input(|| vec![say("in")])
        .answer(|interrupt| (interrupt.question.key == "answer").then(|| true.into()))
        .random(16)
}

/// Returns the failure of a simulation, and checks that its replay line alone gives the same.
async fn rejected(simulation: impl Fn() -> CrashSim<Lines>) -> String {
    let failure = simulation().share(1).run().await.expect_err("it is broken");
    let text = failure.to_string();
    let replay = text.split('\'').nth(1).expect("it says how to replay it");
    let again = simulation().replay(replay).await.expect_err("it is broken");
    let first = |text: &str| text.lines().next().map(str::to_owned);
    assert_eq!(first(&again.to_string()), first(&text));
    text
}

#[tokio::test]
async fn k24_what_is_sound_passes() {
    let report = sound().run().await.expect("nothing is broken");
    assert!(report.doubts > 0, "{report}");
}

#[tokio::test]
async fn k24_an_action_outside_of_an_effect_is_rejected() {
    let text = rejected(|| of(EffectClass::Once, false)).await;
    assert!(text.starts_with("letter Ada was done 2 times"), "{text}");
}

#[tokio::test]
async fn k24_an_effect_of_the_wrong_class_is_rejected() {
    let text = rejected(|| of(EffectClass::Idempotent, true)).await;
    assert!(text.starts_with("letter /send#1/letter was done"), "{text}");
}

#[tokio::test]
async fn k24_an_end_that_depends_on_the_time_is_rejected() {
    let graph = |world: &World| {
        let world = world.clone();
        let tell = move |_: Context<Lines>| std::future::ready(say(world.now().to_string()));
        Graph::<Lines>::starting_at("tell")
            .node("tell", tell)
            .edge("tell", END)
            .build()
    };
    let text = rejected(|| CrashSim::new(graph).input(Vec::new)).await;
    assert!(text.starts_with("the state at the end: expected"), "{text}");
}

#[tokio::test]
async fn k24_a_question_without_an_answer_is_told() {
    let failure = sound().answer(|_| None).run().await.expect_err("it waits");
    let text = failure.to_string();
    assert!(
        text.starts_with("no answer to \"answer\" of ask#1"),
        "{text}"
    );
}

/// A log that ignores the fence of a writer.
struct UnfencedLog(Mutex<Option<BrokenLog>>);

#[async_trait]
impl CrashStore for UnfencedLog {
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let log = BrokenLog::new(Flaw::IgnoresFence, clock);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(log.clone());
        Ok(OpenedLog::whole(log))
    }

    async fn reopen(&self, _: &TestClock) -> Result<OpenedLog, OpenError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(OpenedLog::whole(kept.clone().ok_or("nothing is open")?))
    }
}

#[tokio::test]
async fn k24_a_log_that_ignores_the_fence_is_rejected() {
    let text = rejected(|| sound().store(UnfencedLog(Mutex::default()))).await;
    let why = "the store took an append of an owner whose lease was over";
    assert!(text.starts_with(why), "{text}");
}

/// A log that writes an append only with the next request.
#[derive(Clone)]
struct Lazy {
    disk: MemoryLog,
    /// The records that readers see meanwhile; none if they see the disk.
    cache: Option<MemoryLog>,
    /// True after its first crash: it then writes at once.
    prompt: bool,
    waiting: Arc<Mutex<Option<(ThreadId, Commit)>>>,
}

impl Lazy {
    fn new(clock: &TestClock, cached: bool) -> Self {
        let log = || {
            let clock = clock.clone();
            MemoryLog::with_clock(move || clock.now())
        };
        Self {
            disk: log(),
            cache: cached.then(log),
            prompt: false,
            waiting: Arc::default(),
        }
    }

    fn waiting(&self) -> Option<(ThreadId, Commit)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.take()
    }

    async fn write(&self) -> Result<(), StoreError> {
        if let Some((thread, commit)) = self.waiting() {
            self.disk.append(&thread, &commit).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl ThreadLog for Lazy {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        self.write().await?;
        if self.prompt {
            return self.disk.append(thread, commit).await;
        }
        let appended = match &self.cache {
            Some(cache) => cache.append(thread, commit).await?,
            None => AppendResult {
                head: commit.expect.head + commit.records.len() as Seq,
                now: 0,
                signals: vec![],
            },
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = Some((thread.clone(), commit.clone()));
        Ok(appended)
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        if let Some(cache) = &self.cache {
            return cache.read(thread, from, limit).await;
        }
        self.write().await?;
        self.disk.read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        if let Some(cache) = &self.cache {
            return cache.head(thread).await;
        }
        self.write().await?;
        self.disk.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        self.write().await?;
        if let Some(cache) = &self.cache {
            cache.lease(request.clone()).await?;
        }
        self.disk.lease(request).await
    }
}

/// A store of lazy logs, whose pending append is lost in a crash.
struct LazyDisk {
    cached: bool,
    log: Mutex<Option<Lazy>>,
}

impl LazyDisk {
    fn new(cached: bool) -> Self {
        let log = Mutex::default();
        Self { cached, log }
    }

    fn log(&self) -> Result<Lazy, OpenError> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(log.clone().ok_or("nothing is open")?)
    }
}

fn log_alone(log: impl ThreadLog + 'static) -> OpenedLog {
    OpenedLog {
        log: Arc::new(log),
        snapshots: None,
        admin: None,
    }
}

#[async_trait]
impl CrashStore for LazyDisk {
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let log = Lazy::new(clock, self.cached);
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = Some(log.clone());
        Ok(log_alone(log))
    }

    async fn reopen(&self, _: &TestClock) -> Result<OpenedLog, OpenError> {
        Ok(log_alone(self.log()?))
    }

    fn die(&self, _: Option<u64>) -> Result<(), OpenError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = &mut *log {
            log.waiting();
            (log.cache, log.prompt) = (None, true);
        }
        Ok(())
    }
}

#[tokio::test]
async fn k24_a_log_that_acknowledges_before_it_writes_is_rejected() {
    let text = rejected(|| sound().store(LazyDisk::new(false))).await;
    assert!(
        text.starts_with("the store had acknowledged position"),
        "{text}"
    );
}

#[tokio::test]
async fn k24_a_log_that_loses_its_last_append_is_rejected() {
    let text = rejected(|| sound().store(LazyDisk::new(true))).await;
    assert!(
        text.starts_with("the store had acknowledged position"),
        "{text}"
    );
}
