//! Writes the threads of `data/library`: `cargo run -p upgrade --example write -- FOLDER`.
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use fugato::{
    BoxError, Runner, RunnerOptions, ThreadId,
    graph::{Answers, StateEdit},
    sqlite::{SqliteLog, SqliteOptions},
};
use upgrade::{Page, THEN, ThreadReading, World, graph, old_graph, say, seen};

type WriteResult = Result<(), BoxError>;

#[tokio::main]
async fn main() -> WriteResult {
    let folder = std::env::args().nth(1).ok_or("say into which folder")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let options = SqliteOptions::default().clock(|| THEN);
    let log = Arc::new(SqliteLog::open_with(folder.join("threads.db"), options)?);
    let threads = Threads::over(&log)?;
    threads.write().await?;
    old(&log).await?;
    let mut all: BTreeMap<&str, ThreadReading> = BTreeMap::new();
    for (name, from) in NAMES {
        all.insert(
            name,
            seen(&threads.runner, &ThreadId::new(name)?, from).await?,
        );
    }
    std::fs::write(
        folder.join("expected.json"),
        serde_json::to_string(&all)? + "\n",
    )?;
    Ok(())
}

/// The threads, and where the log of each begins.
const NAMES: [(&str, u64); 17] = [
    ("pause", 1),
    ("approve", 1),
    ("form", 1),
    ("memo", 1),
    ("doubt", 1),
    ("unsure", 1),
    ("failed", 1),
    ("each", 1),
    ("half", 1),
    ("sleeping", 1),
    ("done", 1),
    ("forked", 4),
    ("compacted", 7),
    ("cancelled", 1),
    ("amended", 1),
    ("old", 1),
    ("migrated", 1),
];

struct Threads {
    runner: Runner<Page>,
    broken: Runner<Page>,
    hanging: Runner<Page>,
}

fn id(name: &str) -> Result<ThreadId, BoxError> {
    Ok(ThreadId::new(name)?)
}

impl Threads {
    fn over(log: &Arc<SqliteLog>) -> Result<Self, BoxError> {
        let options = RunnerOptions::default().longest_sleep(Duration::ZERO);
        let runner = |world: &World| -> Result<Runner<Page>, BoxError> {
            let runner = Runner::new(graph(world)?, Arc::clone(log));
            Ok(runner.options(options.clone()))
        };
        let hanging = World::default();
        hanging.hang();
        Ok(Self {
            runner: runner(&World::default())?,
            broken: runner(&World::broken())?,
            hanging: runner(&hanging)?,
        })
    }

    async fn write(&self) -> WriteResult {
        let runner = &self.runner;
        for path in ["pause", "approve", "form", "memo", "each"] {
            runner.start(&id(path)?, say(path)).await?;
        }
        runner.resume(&id("memo")?, Answers::only("Ann")?).await?;
        self.answer_one("each", "first answer").await?;
        runner.start(&id("half")?, say("first")).await?;
        for (thread, path) in [
            ("failed", "left"),
            ("unsure", "send"),
            ("sleeping", "sleep"),
        ] {
            // That it fails is what is wanted.
            let _ = self.broken.start(&id(thread)?, say(path)).await;
        }
        let run = self.hanging.start(&id("doubt")?, say("send"));
        // The action begins and goes on; who waits for it does not.
        let _ = tokio::time::timeout(Duration::from_secs(2), run).await;
        self.ended().await
    }

    async fn ended(&self) -> WriteResult {
        let runner = &self.runner;
        let done = id("done")?;
        runner
            .start_keyed(&done, "request-1", say("approve"))
            .await?;
        self.answer_one("done", true).await?;
        runner.start(&id("compacted")?, say("pause")).await?;
        self.answer_one("compacted", true).await?;
        runner.compact(&id("compacted")?, 6).await?;
        runner.start(&id("compacted")?, say("approve")).await?;
        runner.fork(&id("form")?, 3, &id("forked")?).await?;
        runner.start(&id("cancelled")?, say("pause")).await?;
        runner
            .cancel(&id("cancelled")?, "ann", "no longer needed")
            .await?;
        runner.start(&id("amended")?, say("pause")).await?;
        let amendment = StateEdit::new([say("by hand")], "ann", "it was missing");
        runner.amend(&id("amended")?, amendment).await?;
        Ok(())
    }

    /// Answers the first question that a thread asks.
    async fn answer_one(&self, thread: &str, answer: impl serde::Serialize) -> WriteResult {
        let thread = id(thread)?;
        let asked = self.runner.interrupts(&thread).await?;
        let first = asked.first().ok_or("it asks nothing")?;
        let mut answers = Answers::none();
        answers = match &first.question.digest {
            Some(digest) => answers.approving(first.id.clone(), answer, digest.clone())?,
            None => answers.and(first.id.clone(), answer)?,
        };
        self.runner.resume(&thread, answers).await?;
        Ok(())
    }
}

/// Threads of version 1 of the state: one is left so, one went on under version 2.
async fn old(log: &Arc<SqliteLog>) -> WriteResult {
    let old = Runner::new(old_graph()?, Arc::clone(log));
    for thread in ["old", "migrated"] {
        old.start(&id(thread)?, "pause".to_owned()).await?;
    }
    let new = Runner::new(graph(&World::default())?, Arc::clone(log));
    new.resume(&id("migrated")?, Answers::only(true)?).await?;
    new.start(&id("migrated")?, say("approve")).await?;
    Ok(())
}
