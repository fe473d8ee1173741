//! Archives follow their threads, whoever writes them.
use std::{path::Path, sync::Arc};

use fugato_archive::{ArchiveBehind, Archives};
use fugato_graph::{BoxError, Context, END, Graph, Outcome, Runner};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::Event;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Desk(Vec<String>);

impl State for Desk {
    type Update = String;

    fn apply(&mut self, said: String) {
        self.0.push(said);
    }
}

/// A process over a folder and a log.
struct Process {
    archives: Archives,
    runner: Runner<Desk>,
    thread: ThreadId,
}

impl Process {
    fn new(folder: &Path, log: &Arc<MemoryLog>) -> Result<Self, BoxError> {
        let archives = Archives::new(folder);
        let work = async |_: Context<Desk>| Outcome::done(["done".to_owned()]);
        let graph = Graph::<Desk>::starting_at("work");
        let graph = graph.node("work", work).edge("work", END).build()?;
        let store = archives.watching(log.clone());
        Ok(Self {
            archives,
            runner: Runner::new(graph, Arc::new(store)),
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trn_11_two_who_write_at_once_leave_nothing_twice() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let log = Arc::new(MemoryLog::default());
    let (a, b) = (
        Process::new(folder.path(), &log)?,
        Process::new(folder.path(), &log)?,
    );
    let (a, b) = (Arc::new(a), Arc::new(b));
    for round in 0..30 {
        a.say(&format!("{round}")).await?;
        let works = [a.clone(), b.clone()].map(|process| {
            tokio::spawn(async move {
                let Process {
                    archives,
                    runner,
                    thread,
                } = &*process;
                archives.bring_up(runner, thread).await
            })
        });
        for work in works {
            work.await??;
        }
        // Neither has to look again for it to be whole.
        assert_eq!(a.archived(&a.thread)?, a.logged(&a.thread).await, "{round}");
    }
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
    // The log of a copy begins where the other one was.
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
