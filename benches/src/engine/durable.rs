//! Runs on a log, in memory or in SQLite.
use std::{path::PathBuf, sync::Arc};

use fugato_graph::{Answers, Graph, Runner, RunnerOptions};
use fugato_sqlite::{SqliteLog, SqliteOptions, Synchronous};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use tempfile::TempDir;

use super::graphs;
use crate::{
    BoxError,
    measure::{Measurement, RoundCost, Setting, each_unit, rounds, runtime, timed},
    subject::{Approval, Talk},
    workload::{AT_ONCE, GROUPED_TURNS, Workload},
};

/// A database in a folder of its own.
pub(super) struct Database {
    log: Arc<SqliteLog>,
    file: PathBuf,
    _folder: TempDir,
}

impl Database {
    pub(super) fn create(synchronous: Synchronous, setting: &Setting) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir_in(&setting.folder)?;
        let file = folder.path().join("threads.db");
        let options = SqliteOptions::default().synchronous(synchronous);
        let log = Arc::new(SqliteLog::open_with(&file, options)?);
        Ok(Self {
            log,
            file,
            _folder: folder,
        })
    }

    pub(super) fn runner<S: State>(&self, graph: Graph<S>) -> Runner<S> {
        Runner::new(graph, self.log.clone()).options(unlimited())
    }

    /// The same file, opened anew.
    fn reopened(self, synchronous: Synchronous) -> Result<Self, BoxError> {
        drop(self.log);
        let options = SqliteOptions::default().synchronous(synchronous);
        let log = Arc::new(SqliteLog::open_with(&self.file, options)?);
        Ok(Self { log, ..self })
    }

    fn bytes(&self) -> Result<u64, BoxError> {
        let wal = self.file.with_extension("db-wal");
        Ok(std::fs::metadata(&self.file)?.len() + std::fs::metadata(wal)?.len())
    }
}

pub(super) fn unlimited() -> RunnerOptions {
    RunnerOptions::default().step_limit(u64::MAX)
}

fn thread(number: u64) -> Result<ThreadId, BoxError> {
    Ok(ThreadId::new(format!("thread-{number}"))?)
}

pub(super) fn talk_in_memory(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, graph, thread) = (runtime()?, graphs::talk(size)?, thread(1)?);
    rounds(setting, Workload::LoopMemory.units(size), || {
        let runner = Runner::new(graph.clone(), Arc::new(MemoryLog::default()));
        let runner = runner.options(unlimited());
        let (done, spent) = timed(|| runtime.block_on(say(&runner, &thread, size)));
        done?;
        Ok(spent)
    })
}

async fn say(runner: &Runner<Talk>, thread: &ThreadId, turns: u64) -> Result<(), BoxError> {
    let ended = runner.start(thread, None).await?;
    assert_eq!(
        ended.state().messages.len() as u64,
        2 * turns,
        "each step says one thing"
    );
    Ok(())
}

pub(super) fn talk(
    size: u64,
    synchronous: Synchronous,
    setting: &Setting,
) -> Result<Measurement, BoxError> {
    let (runtime, graph, thread) = (runtime()?, graphs::talk(size)?, thread(1)?);
    rounds(setting, Workload::LoopNormal.units(size), || {
        let database = Database::create(synchronous, setting)?;
        let runner = database.runner(graph.clone());
        let (done, spent) = timed(|| runtime.block_on(say(&runner, &thread, size)));
        done?;
        Ok(RoundCost {
            bytes: Some(database.bytes()?),
            ..spent
        })
    })
}

pub(super) fn talks(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, graph) = (runtime()?, graphs::talk(GROUPED_TURNS)?);
    let threads = (0..size).map(thread).collect::<Result<Vec<_>, _>>()?;
    rounds(setting, Workload::Grouped.units(size), || {
        let database = Database::create(Synchronous::Full, setting)?;
        let runner = database.runner(graph.clone());
        let (done, spent) = timed(|| runtime.block_on(say_all(&runner, &threads)));
        done?;
        Ok(spent)
    })
}

/// Lets all threads talk at once.
pub(super) async fn say_all(runner: &Runner<Talk>, threads: &[ThreadId]) -> Result<(), BoxError> {
    let runs = threads.iter().map(|thread| runner.start(thread, None));
    let runs: Vec<_> = runs.collect();
    for run in runs {
        let ended = run.await?;
        assert!(ended.state().is_over(), "each thread says everything");
    }
    Ok(())
}

pub(super) fn interrupts(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, graph) = (runtime()?, graphs::approval()?);
    rounds(setting, size, || {
        let database = Database::create(Synchronous::Full, setting)?;
        let runner = database.runner(graph.clone());
        let (done, spent) = timed(|| {
            runtime.block_on(async {
                each(&runner, size, ask).await?;
                each(&runner, size, answer).await
            })
        });
        done?;
        Ok(spent)
    })
}

/// Does something with every thread, with so many at once.
async fn each<F>(
    runner: &Runner<Approval>,
    size: u64,
    act: fn(Runner<Approval>, ThreadId) -> F,
) -> Result<(), BoxError>
where
    F: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    let workers = (0..u64::from(AT_ONCE)).map(|first| {
        let runner = runner.clone();
        tokio::spawn(async move {
            for number in (first..size).step_by(usize::from(AT_ONCE)) {
                act(runner.clone(), thread(number)?).await?;
            }
            Ok::<_, BoxError>(())
        })
    });
    let workers: Vec<_> = workers.collect();
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

async fn ask(runner: Runner<Approval>, thread: ThreadId) -> Result<(), BoxError> {
    let parked = runner.start(&thread, None).await?;
    assert_eq!(parked.interrupts().len(), 1, "one question is open");
    Ok(())
}

async fn answer(runner: Runner<Approval>, thread: ThreadId) -> Result<(), BoxError> {
    let ended = runner.resume(&thread, Answers::only(true)?).await?;
    assert_eq!(ended.state().approved, Some(true), "the answer arrived");
    Ok(())
}

pub(super) fn parked(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, graph) = (runtime()?, graphs::approval()?);
    let database = Database::create(Synchronous::Normal, setting)?;
    runtime.block_on(each(&database.runner(graph.clone()), size, ask))?;
    let database = database.reopened(Synchronous::Full)?;
    let runner = database.runner(graph);
    let units = Workload::Parked.units(size);
    let answer = |number| {
        let thread = thread(number * (size / units))?;
        runtime.block_on(answer(runner.clone(), thread))
    };
    each_unit(answer, units)
}

pub(super) fn open(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, graph, thread) = (runtime()?, graphs::talk(size / 2)?, thread(1)?);
    let database = Database::create(Synchronous::Normal, setting)?;
    runtime.block_on(say(&database.runner(graph.clone()), &thread, size / 2))?;
    rounds(setting, Workload::Open.units(size), || {
        let runner = database.runner(graph.clone());
        let (state, spent) = timed(|| runtime.block_on(runner.state(&thread)));
        let said = state?.map_or(0, |state| state.messages.len());
        assert_eq!(said as u64, size, "everything is read back");
        Ok(spent)
    })
}
