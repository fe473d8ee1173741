//! One row a step in SQLite, written by the thread that runs.
use std::path::{Path, PathBuf};

use fugato_state::{Message, State};
use rusqlite::Connection;
use tempfile::TempDir;

use super::steps::{speakers, ticking};
use crate::{
    BoxError,
    measure::{Measurement, Setting, each_unit, rounds, runtime, timed},
    subject::{Approval, Count, Talk},
    survivor,
    workload::Workload,
};

/// How far a commit reaches before it is acknowledged.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sync {
    /// A commit survives the process.
    Normal,
    /// A commit survives a power failure.
    Full,
}

/// A database with one table of rows.
pub(super) struct Rows {
    db: Connection,
    file: PathBuf,
    _folder: TempDir,
}

impl Rows {
    /// An empty database in a folder of its own.
    pub(super) fn create(parent: &Path, sync: Sync) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir_in(parent)?;
        let file = folder.path().join("rows.db");
        let db = Self::in_file(&file, sync)?;
        Ok(Self {
            db,
            file,
            _folder: folder,
        })
    }

    /// Adds a row, in a transaction of its own unless one is open.
    pub(super) fn append(&self, thread: u64, seq: u64, body: &[u8]) -> Result<(), BoxError> {
        append(&self.db, thread, seq, body)
    }

    /// Does several things in one transaction.
    pub(super) fn together(
        &self,
        work: impl FnOnce() -> Result<(), BoxError>,
    ) -> Result<(), BoxError> {
        self.db.execute_batch("begin immediate")?;
        work()?;
        self.db.execute_batch("commit")?;
        Ok(())
    }

    /// The database in a file, which is made if it is not there.
    fn in_file(file: &Path, sync: Sync) -> Result<Connection, BoxError> {
        let db = Connection::open(file)?;
        db.pragma_update(None, "journal_mode", "wal")?;
        db.pragma_update(
            None,
            "synchronous",
            match sync {
                Sync::Normal => "normal",
                Sync::Full => "full",
            },
        )?;
        db.pragma_update(None, "wal_autocheckpoint", 256)?;
        db.execute_batch(
            "create table if not exists row (thread integer, seq integer, body blob, primary key (thread, seq))
             without rowid",
        )?;
        Ok(db)
    }

    fn bytes(&self) -> Result<u64, BoxError> {
        let wal = self.file.with_extension("db-wal");
        Ok(std::fs::metadata(&self.file)?.len() + std::fs::metadata(wal)?.len())
    }
}

fn append(db: &Connection, thread: u64, seq: u64, body: &[u8]) -> Result<(), BoxError> {
    db.prepare_cached("insert into row values (?1, ?2, ?3)")?
        .execute((thread.cast_signed(), seq.cast_signed(), body))?;
    Ok(())
}

/// Steps of a node that acts, with so many rows each.
pub(super) fn acts(size: u64, each: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, node) = (runtime()?, ticking());
    rounds(setting, size, || {
        let rows = Rows::create(&setting.folder, Sync::Full)?;
        let mut state = Count {
            reached: 0,
            wanted: size,
        };
        let (done, spent) = timed(|| {
            runtime.block_on(async {
                while state.reached < state.wanted {
                    let update = node(&state).await;
                    for row in 0..each {
                        let body = serde_json::to_vec(&(state.reached, update))?;
                        rows.append(1, state.reached * each + row, &body)?;
                    }
                    state.apply(update);
                }
                Ok::<_, BoxError>(())
            })
        });
        done?;
        Ok(spent)
    })
}

/// Reads a row and adds one, thread by thread.
pub(super) fn parked(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let rows = Rows::create(&setting.folder, Sync::Full)?;
    let question = serde_json::to_vec(&Approval::default())?;
    rows.together(|| (0..size).try_for_each(|thread| rows.append(thread, 1, &question)))?;
    let units = Workload::Parked.units(size);
    let answer = |number| {
        let thread: u64 = number * (size / units);
        let mut state: Approval = rows
            .db
            .prepare_cached("select body from row where thread = ?1")?
            .query_row((thread.cast_signed(),), |row| {
                Ok(serde_json::from_slice(row.get_ref(0)?.as_blob()?))
            })??;
        state.apply(true);
        rows.append(thread, 2, &serde_json::to_vec(&state)?)
    };
    each_unit(answer, units)
}

/// Reads a thread back, adds rows until it has so many, says so, and waits to be killed.
pub fn survive(file: &Path, steps: u64) -> Result<(), BoxError> {
    let db = Rows::in_file(file, Sync::Full)?;
    let mut talk = read_back(&db)?;
    db.execute_batch("begin immediate")?;
    while (talk.messages.len() as u64) < steps {
        let message = Talk::agent_says();
        let seq = talk.messages.len() as u64 + 1;
        append(&db, 1, seq, &serde_json::to_vec(&message)?)?;
        talk.apply(message);
    }
    db.execute_batch("commit")?;
    survivor::tell()?;
    Ok(survivor::wait()?)
}

pub(super) fn talk(size: u64, sync: Sync, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, nodes) = (runtime()?, speakers());
    rounds(setting, Workload::LoopNormal.units(size), || {
        let rows = Rows::create(&setting.folder, sync)?;
        let mut state = Talk::of_turns(size);
        let (done, spent) = timed(|| {
            runtime.block_on(async {
                while !state.is_over() {
                    for node in &nodes {
                        let update = node(&state).await;
                        let seq = state.messages.len() as u64 + 1;
                        rows.append(1, seq, &serde_json::to_vec(&update)?)?;
                        state.apply(update);
                    }
                }
                Ok::<_, BoxError>(())
            })
        });
        done?;
        Ok(crate::measure::RoundCost {
            bytes: Some(rows.bytes()?),
            ..spent
        })
    })
}

pub(super) fn open(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let rows = Rows::create(&setting.folder, Sync::Normal)?;
    let message = serde_json::to_vec(&Talk::agent_says())?;
    rows.together(|| (1..=size).try_for_each(|seq| rows.append(1, seq, &message)))?;
    rounds(setting, Workload::Open.units(size), || {
        let (read, spent) = timed(|| read_back(&rows.db));
        assert_eq!(read?.messages.len() as u64, size, "each row is a message");
        Ok(spent)
    })
}

fn read_back(db: &Connection) -> Result<Talk, BoxError> {
    let mut talk = Talk::default();
    let mut select = db.prepare_cached("select body from row where thread = 1 order by seq")?;
    let mut found = select.query(())?;
    while let Some(row) = found.next()? {
        let message: Message = serde_json::from_slice(row.get_ref(0)?.as_blob()?)?;
        talk.apply(message);
    }
    Ok(talk)
}
