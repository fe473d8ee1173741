//! Tests that archives follow their threads, in one process and in several.
use std::{path::Path, sync::Arc, time::Duration};

use fugato_archive::{ArchiveBehind, Archives};
use fugato_graph::{BoxError, Context, END, Graph, Outcome, Runner};
use fugato_state::{State, ThreadId};
use fugato_store::{Intercept, InterceptedLog, MemoryLog, StoreCall, StoreError};
use fugato_stream::Event;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::{sync::Notify, time::timeout};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Lines(Vec<String>);

impl State for Lines {
    type Update = String;

    fn apply(&mut self, said: String) {
        self.0.push(said);
    }
}

fn graph() -> Result<Graph<Lines>, BoxError> {
    let work = async |_: Context<Lines>| Outcome::done(["done".to_owned()]);
    let graph = Graph::<Lines>::starting_at("work").node("work", work);
    Ok(graph.edge("work", END).build()?)
}

/// A process over a folder and a log.
struct Process {
    archives: Archives,
    runner: Runner<Lines>,
    thread: ThreadId,
}

impl Process {
    fn new(folder: &Path, log: &Arc<MemoryLog>) -> Result<Self, BoxError> {
        let archives = Archives::new(folder);
        let store = archives.watching(log.clone());
        Ok(Self {
            archives,
            runner: Runner::new(graph()?, Arc::new(store)),
            thread: ThreadId::new("desk")?,
        })
    }

    async fn say(&self, text: &str) -> Result<(), BoxError> {
        self.runner
            .start(&self.thread, vec![text.to_owned()])
            .await?;
        Ok(())
    }

    async fn logged(&self, thread: &ThreadId) -> Vec<Event> {
        let events = self.runner.events(thread, 0);
        let durable = events.filter(|event| std::future::ready(event.seq.is_some()));
        durable.collect().await
    }

    fn archived(&self, thread: &ThreadId) -> Result<Vec<Event>, BoxError> {
        Ok(self.archives.read(thread)?.events().cloned().collect())
    }
}

/// A slow reader: the result of its read at the barrier arrives late.
#[derive(Default)]
struct Slow {
    read: Notify,
    arrives: Notify,
}

impl Intercept for Slow {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let answer = act.await;
        if matches!(asked, StoreCall::Read) {
            self.read.notify_one();
            self.arrives.notified().await;
        }
        answer
    }
}

#[tokio::test(start_paused = true)]
async fn trn_11_who_writes_what_is_old_by_now_undoes_nothing() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let log = Arc::new(MemoryLog::default());
    let quick = Process::new(folder.path(), &log)?;
    quick.say("hello").await?;
    let slow = Arc::new(Slow::default());
    let archives = Archives::new(folder.path());
    let log = InterceptedLog::new(log, slow.clone());
    let runner = Runner::on_log(graph()?, Arc::new(log));
    let thread = quick.thread.clone();
    let late = tokio::spawn(async move { archives.bring_up(&runner, &thread).await });
    // It has read all events, and more are appended before it writes them.
    slow.read.notified().await;
    quick.say("and more").await?;
    let bring_up = quick.archives.bring_up(&quick.runner, &quick.thread);
    tokio::pin!(bring_up);
    let meanwhile = timeout(Duration::from_secs(1), &mut bring_up).await;
    while !late.is_finished() {
        slow.arrives.notify_one();
        tokio::task::yield_now().await;
    }
    late.await??;
    if meanwhile.is_err() {
        bring_up.await?;
    }
    assert_eq!(
        quick.archived(&quick.thread)?,
        quick.logged(&quick.thread).await
    );
    Ok(())
}

#[tokio::test]
async fn trn_11_a_copy_of_a_thread_is_archived_and_one_is_copied_and_deleted()
-> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let process = Process::new(&folder.path().join("archives"), &Arc::default())?;
    process.say("hello").await?;
    let copy = ThreadId::new("copy")?;
    let seq = process
        .logged(&process.thread)
        .await
        .last()
        .and_then(|event| event.seq);
    let seq = seq.ok_or("it has positions")?;
    process.runner.fork(&process.thread, seq, &copy).await?;
    process
        .runner
        .start(&copy, vec!["and more".to_owned()])
        .await?;
    assert!(process.archives.bring_up_due(&process.runner).await);
    // The log of a copy begins at the position where the original was.
    let begun = process.runner.events(&copy, seq);
    let begun: Vec<Event> = begun
        .filter(|event| std::future::ready(event.seq.is_some()))
        .collect()
        .await;
    assert!(!begun.is_empty());
    assert_eq!(process.archived(&copy)?, begun);

    let (archives, thread) = (&process.archives, &process.thread);
    let to = folder.path().join("archive.jsonl");
    archives.copy(thread, &to)?;
    assert_eq!(std::fs::read(&to)?, std::fs::read(archives.path(thread))?);
    for _ in 0..2 {
        archives.delete(thread)?;
        assert!(!archives.path(thread).exists());
    }
    std::fs::remove_file(&to)?;
    archives.copy(thread, &to)?;
    assert!(!to.exists(), "there is nothing to copy");
    Ok(())
}

#[tokio::test]
async fn trn_11_an_archive_that_cannot_be_written_is_due_again() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("archives");
    std::fs::write(&path, "no folder")?;
    let process = Process::new(&path, &Arc::default())?;
    process.say("hello").await?;
    assert!(!process.archives.bring_up_due(&process.runner).await);
    let why = process
        .archives
        .bring_up(&process.runner, &process.thread)
        .await;
    assert!(matches!(why, Err(ArchiveBehind::File(_))), "{why:?}");
    std::fs::remove_file(&path)?;
    assert!(process.archives.bring_up_due(&process.runner).await);
    assert_eq!(
        process.archived(&process.thread)?,
        process.logged(&process.thread).await
    );
    Ok(())
}
