//! Tests of what closing leaves, and of a write-ahead log that was damaged.
use std::{
    fs,
    path::{Path, PathBuf},
};

use expect_test::expect;
use fugato_sqlite::{SqliteLog, SqliteTables};
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    Commit, Expect, Record, Statement, Status, StoreError, StoreErrorKind, ThreadLog,
};
use tempfile::TempDir;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The length of a frame: its header, and a page.
const FRAME: usize = 24 + 2048;

fn desk() -> ThreadId {
    ThreadId::new("desk").expect("a short name")
}

async fn append(log: &SqliteLog, head: Seq) -> Result<(), StoreError> {
    let commit = Commit {
        expect: Expect { head, fence: 0 },
        nonce: u128::from(head) + 1,
        records: vec![Record(vec![b'x'; 300])],
        status: Status::Runnable,
        base: None,
    };
    log.append(&desk(), &commit).await.map(drop)
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<String> {
    let found = fs::read_dir(folder).expect("the folder is there");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<_> = found
        .map(|entry| name(entry.expect("it is read")))
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_closed_database_is_one_file() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("desk.db");
    let log = SqliteLog::open(&path)?;
    append(&log, 0).await?;
    let other = SqliteLog::open(&path)?;
    assert_eq!(log.read(&desk(), 1, 9).await?.len(), 1);
    assert_eq!(other.read(&desk(), 1, 9).await?.len(), 1);
    drop(log);
    assert!(files(folder.path()).contains(&"desk.db-wal".to_owned()));
    drop(other);
    assert_eq!(files(folder.path()), ["desk.db"]);
    Ok(())
}

/// The files of a database whose process was killed after so many commits.
struct CrashedFiles {
    folder: TempDir,
}

const COMMITS: Seq = 12;

impl CrashedFiles {
    async fn new() -> Result<Self, Box<dyn std::error::Error>> {
        Ok(Self::beyond(0).await?.0)
    }

    /// Also returns the write-ahead log of a process that wrote so many more commits, and died
    /// before any of them counted.
    async fn beyond(more: Seq) -> Result<(Self, Vec<u8>), Box<dyn std::error::Error>> {
        let (alive, folder) = (fugato_testkit::tempdir()?, fugato_testkit::tempdir()?);
        let log = SqliteLog::open(alive.path().join("desk.db"))?;
        for head in 0..COMMITS {
            append(&log, head).await?;
        }
        for name in files(alive.path()) {
            fs::copy(alive.path().join(&name), folder.path().join(&name))?;
        }
        for head in COMMITS..COMMITS + more {
            append(&log, head).await?;
        }
        Ok((Self { folder }, fs::read(alive.path().join("desk.db-wal"))?))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("desk.db")
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("desk.db-{suffix}"))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) -> Outcome {
        let mut bytes = fs::read(self.beside("wal"))?;
        change(&mut bytes);
        Ok(fs::write(self.beside("wal"), bytes)?)
    }

    /// Opens the database, which must be refused, and returns the message. No file may change.
    fn refused(&self) -> String {
        let all = || -> Vec<_> {
            let names = files(self.folder.path()).into_iter();
            names
                .map(|name| (fs::read(self.folder.path().join(&name)).ok(), name))
                .collect()
        };
        let before = all();
        let error = SqliteLog::open(self.path()).expect_err("commits are lost");
        assert!(before == all(), "{error} changed a file");
        let StoreErrorKind::Corrupt(what) = error.kind else {
            panic!("not corrupt: {error:?}")
        };
        what.replace(&self.folder.path().display().to_string(), "FOLDER")
    }

    /// Returns the number of records.
    async fn records(&self) -> Result<usize, StoreError> {
        let log = SqliteLog::open(self.path())?;
        Ok(log.read(&desk(), 1, 100).await?.len())
    }
}

#[tokio::test]
async fn what_was_acknowledged_before_a_kill_is_there() -> Outcome {
    let killed = CrashedFiles::new().await?;
    assert_eq!(killed.records().await?, 12);
    assert_eq!(files(killed.folder.path()), ["desk.db"]);
    Ok(())
}

#[tokio::test]
async fn a_damaged_header_of_a_write_ahead_log_is_told() -> Outcome {
    for at in 0..32 {
        let killed = CrashedFiles::new().await?;
        killed.change(|log| log[at] ^= 0x40)?;
        expect![[
            r"FOLDER/desk.db-wal: the write-ahead log is damaged in its header, and no commit in it can be read; put back a copy of the database and the log, or move the log away to go on without these commits: mv 'FOLDER/desk.db-wal' 'FOLDER/desk.db-wal.damaged' && rm -f 'FOLDER/desk.db-shm'"
        ]]
        .assert_eq(&killed.refused());
        fs::rename(killed.beside("wal"), killed.beside("wal.damaged"))?;
        fs::remove_file(killed.beside("shm"))?;
        assert_eq!(killed.records().await?, 0, "byte {at}");
    }
    Ok(())
}

#[tokio::test]
async fn a_damage_within_a_write_ahead_log_is_told_with_what_to_do() -> Outcome {
    let frames = fs::metadata(CrashedFiles::new().await?.beside("wal"))?.len();
    let frames = usize::try_from(frames)? / FRAME;
    assert!(frames > 12, "{frames} frames");
    for frame in 0..frames {
        for (at, index) in [(9, false), (17, true), (500, false)] {
            let killed = CrashedFiles::new().await?;
            killed.change(|log| log[32 + frame * FRAME + at] ^= 1)?;
            // Of the last frame only the index knows that it was committed.
            if !index && frame + 1 < frames {
                fs::remove_file(killed.beside("shm"))?;
            }
            let told = killed.refused();
            let whole = 32 + frame * FRAME;
            let expected = format!("is damaged after {frame} pages, and commits");
            assert!(told.contains(&expected), "{told}");
            let how =
                format!("truncate -s {whole} 'FOLDER/desk.db-wal' && rm -f 'FOLDER/desk.db-shm'");
            assert!(told.ends_with(&how), "{told}");
            killed.change(|log| log.truncate(whole))?;
            let _ = fs::remove_file(killed.beside("shm"));
            assert!(killed.records().await? < 12, "frame {frame}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_a_process_wrote_before_its_commit_counted_is_no_damage() -> Outcome {
    let (killed, mut longer) = CrashedFiles::beyond(2).await?;
    let counted = usize::try_from(fs::metadata(killed.beside("wal"))?.len())?;
    assert!(longer.len() > counted + FRAME, "{} bytes", longer.len());
    // Another process began to write over it, so that the last commit follows what does not fit.
    longer[counted + 500] ^= 1;
    killed.change(|log| *log = longer)?;
    let index = fs::read(killed.beside("shm"))?;
    fs::remove_file(killed.beside("shm"))?;
    assert!(killed.refused().contains("commits that came later"));
    fs::write(killed.beside("shm"), index)?;
    assert_eq!(killed.records().await?, 12);
    Ok(())
}

#[tokio::test]
async fn a_write_ahead_log_that_was_cut_or_removed_is_told() -> Outcome {
    let killed = CrashedFiles::new().await?;
    killed.change(|log| log.truncate(32 + 5 * FRAME + 7))?;
    assert!(killed.refused().contains("is damaged after 5 pages"));
    fs::remove_file(killed.beside("wal"))?;
    expect![[r"FOLDER/desk.db-wal: the write-ahead log is missing, and commits were in it; put it back, or go on without these commits: rm 'FOLDER/desk.db-shm'"]]
        .assert_eq(&killed.refused());
    fs::remove_file(killed.beside("shm"))?;
    assert_eq!(killed.records().await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_write_ahead_log_without_its_database_is_told() -> Outcome {
    let killed = CrashedFiles::new().await?;
    fs::write(killed.path(), b"")?;
    let told = killed.refused();
    expect![[r"FOLDER/desk.db: the database is missing or empty, but its write-ahead log FOLDER/desk.db-wal is there; put the database back, or move the log away to begin a new one"]]
        .assert_eq(&told);
    fs::remove_file(killed.path())?;
    assert_eq!(killed.refused(), told);
    Ok(())
}

#[tokio::test]
async fn tables_with_a_damaged_write_ahead_log_are_refused() -> Outcome {
    let (alive, folder) = (fugato_testkit::tempdir()?, fugato_testkit::tempdir()?);
    let made = Statement::new("CREATE TABLE kept (n BIGINT)", []);
    {
        let tables = SqliteTables::open(alive.path().join("own.db"))?;
        let write = |_| Ok::<_, StoreError>((vec![made], ()));
        tables.write(vec![], vec![], write).await??;
        for name in files(alive.path()) {
            fs::copy(alive.path().join(&name), folder.path().join(&name))?;
        }
    }
    assert_eq!(files(alive.path()), ["own.db"]);
    let (path, log) = (
        folder.path().join("own.db"),
        folder.path().join("own.db-wal"),
    );
    let whole = fs::read(&log)?;
    let mut damaged = whole.clone();
    damaged[3] ^= 1;
    fs::write(&log, damaged)?;
    let error = SqliteTables::open(&path).expect_err("the header is damaged");
    let expected = format!(
        "{}: the write-ahead log is damaged in its header",
        log.display()
    );
    assert!(error.to_string().starts_with(&expected), "{error}");
    fs::write(&log, whole)?;
    let kept = Statement::new("SELECT n FROM kept", []);
    let found = SqliteTables::open(&path)?.read(vec![kept]).await?;
    assert_eq!(found, [Vec::<Vec<_>>::new()]);
    Ok(())
}
