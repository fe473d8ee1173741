//! One row a step in SQLite, written by the thread that runs.
use std::path::{Path, PathBuf};

use fugato_state::{Message, State};
use rusqlite::Connection;
use tempfile::TempDir;

use super::steps::speakers;
use crate::{
    BoxError,
    measure::{Measured, Setting, rounds, runtime, timed},
    subject::Talk,
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
        let db = Connection::open(&file)?;
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
            "create table row (thread integer, seq integer, body blob, primary key (thread, seq))
             without rowid",
        )?;
        Ok(Self {
            db,
            file,
            _folder: folder,
        })
    }

    /// Adds a row, in a transaction of its own unless one is open.
    pub(super) fn append(&self, thread: u64, seq: u64, body: &[u8]) -> Result<(), BoxError> {
        self.db
            .prepare_cached("insert into row values (?1, ?2, ?3)")?
            .execute((thread.cast_signed(), seq.cast_signed(), body))?;
        Ok(())
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

    fn bytes(&self) -> Result<u64, BoxError> {
        let wal = self.file.with_extension("db-wal");
        Ok(std::fs::metadata(&self.file)?.len() + std::fs::metadata(wal)?.len())
    }
}

pub(super) fn talk(size: u64, sync: Sync, setting: &Setting) -> Result<Measured, BoxError> {
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
        Ok(crate::measure::Spent {
            bytes: Some(rows.bytes()?),
            ..spent
        })
    })
}

pub(super) fn open(size: u64, setting: &Setting) -> Result<Measured, BoxError> {
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
