//! Tests of opening and of refusing, which must not change the file.
use std::{fmt::Display, fs, path::Path};

use fugato_memory::{IndexEntry, IndexUpdate, SearchIndex as _, SearchQuery};
use fugato_sqlite::{SqliteLog, SqliteOptions, SqliteSearch, SqliteTables};
use fugato_state::ThreadId;
use fugato_store::{
    Cell, Commit, Expect, Record, Statement, Status, StoreError, StoreErrorKind, ThreadAdmin,
    ThreadFilter, ThreadLog,
};
use futures::executor::block_on;
use rusqlite::Connection;

const PAGE: usize = 2048;

fn commit(head: u64, bytes: usize) -> Commit {
    Commit {
        expect: Expect { head, fence: 0 },
        nonce: u128::from(head) + 1,
        records: vec![Record(vec![b'x'; bytes])],
        status: Status::Runnable,
        base: None,
    }
}

/// Creates and closes a database of a few hundred records.
async fn fill(path: &Path) -> Result<ThreadId, StoreError> {
    let desk = ThreadId::new("desk").expect("a short name");
    let log = SqliteLog::open(path)?;
    for head in 0..200 {
        log.append(&desk, &commit(head, 300)).await?;
    }
    Ok(desk)
}

/// Opens a file that must be refused as corrupt, and returns the message.
fn refused(path: &Path) -> String {
    let before = fs::read(path).expect("the file is there");
    let error = SqliteLog::open(path).expect_err("the file is not ours");
    assert_eq!(
        fs::read(path).expect("the file is there"),
        before,
        "{error} changed the file"
    );
    let StoreErrorKind::Corrupt(what) = error.kind else {
        panic!("not corrupt: {error:?}")
    };
    let name = path.display().to_string();
    what.strip_prefix(&name)
        .expect("the message begins with the file")
        .to_owned()
}

#[tokio::test]
async fn an_empty_file_is_a_new_database() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("empty.db");
    fs::write(&path, b"")?;
    let desk = fill(&path).await?;
    assert_eq!(
        SqliteLog::open(&path)?
            .head(&desk)
            .await?
            .map(|head| head.seq),
        Some(200)
    );
    Ok(())
}

#[test]
fn what_is_no_database_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("notes.txt");
    for (content, expected) in [
        (
            &b"dear diary"[..],
            ": it is not an SQLite database; expected one made by this crate",
        ),
        (
            &[0; 4096],
            ": it is not an SQLite database; expected one made by this crate",
        ),
        (
            b"SQLite format 3\0",
            ": it ends after 16 bytes, within its header of 100",
        ),
        (
            b"SQLite for",
            ": it ends after 10 bytes, within its header of 100",
        ),
    ] {
        fs::write(&path, content)?;
        assert_eq!(refused(&path), expected);
    }
    Ok(())
}

#[test]
fn the_database_of_another_program_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("other.db");
    let other = Connection::open(&path)?;
    other.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE thread (name TEXT)")?;
    other.pragma_update(None, "application_id", 7)?;
    drop(other);
    let expected = ": its application id is 0x00000007; expected 0x6667746f";
    assert_eq!(refused(&path), expected);
    let beside: Vec<_> = fs::read_dir(&folder)?.collect::<Result<_, _>>()?;
    assert_eq!(beside.len(), 1, "nothing was made beside it: {beside:?}");
    Ok(())
}

#[tokio::test]
async fn a_newer_version_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("newer.db");
    fill(&path).await?;
    let newer = Connection::open(&path)?;
    newer.pragma_update(None, "user_version", 3)?;
    let expected = ": its tables have version 3; versions 1 to 2 are known";
    assert_eq!(
        refused(&path),
        expected,
        "while the version lies in the write-ahead log"
    );
    drop(newer);
    assert_eq!(
        refused(&path),
        expected,
        "while the version lies in the header"
    );
    Ok(())
}

#[tokio::test]
async fn other_tables_are_refused() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("altered.db");
    fill(&path).await?;
    let altered = Connection::open(&path)?;
    altered.execute_batch("DROP INDEX thread_due")?;
    drop(altered);
    assert_eq!(refused(&path), ": thread_due is missing");
    let altered = Connection::open(&path)?;
    altered.execute_batch("CREATE INDEX thread_due ON thread (until)")?;
    drop(altered);
    let expected = ": thread_due is \"CREATE INDEX thread_due ON thread (until)\"; expected \
                    \"CREATE INDEX thread_due ON thread (due) WHERE due IS NOT NULL\"";
    assert_eq!(refused(&path), expected);
    Ok(())
}

#[tokio::test]
async fn a_file_that_lost_its_end_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("torn.db");
    fill(&path).await?;
    let whole = fs::read(&path)?;
    let pages = whole.len() / PAGE;
    assert!(pages > 15, "{pages} pages");
    for kept in [PAGE, PAGE * 3 + 7, whole.len() - PAGE, whole.len() - 1] {
        fs::write(&path, &whole[..kept])?;
        let held = kept / PAGE;
        let expected = format!(": it holds {held} of its {pages} pages: it lost its end");
        assert_eq!(refused(&path), expected, "{kept} bytes of {}", whole.len());
    }
    fs::write(&path, &whole)?;
    assert_eq!(
        SqliteLog::open(&path)?
            .list(ThreadFilter::default())
            .await?
            .len(),
        1
    );
    Ok(())
}

#[tokio::test]
async fn a_damaged_page_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("damaged.db");
    fill(&path).await?;
    let whole = fs::read(&path)?;
    for page in 1..whole.len() / PAGE {
        let mut damaged = whole.clone();
        damaged[page * PAGE..page * PAGE + 64].fill(0xa5);
        fs::write(&path, damaged)?;
        assert!(!refused(&path).is_empty(), "page {page}");
    }
    Ok(())
}

#[tokio::test]
async fn verifying_finds_what_opening_a_large_file_does_not()
-> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("large.db");
    let desk = ThreadId::new("desk")?;
    let log = SqliteLog::open(&path)?;
    for head in 0..6 {
        log.append(&desk, &commit(head, Commit::MAX_RECORD)).await?;
    }
    log.verify().await?;
    drop(log);
    let mut damaged = fs::read(&path)?;
    // A page in the middle of the overflow chain of one record names the next page; the chain is
    // now broken.
    let middle = damaged.len() / PAGE / 2 * PAGE;
    damaged[middle..middle + 4].fill(0xff);
    fs::write(&path, damaged)?;
    let log = SqliteLog::open(&path)?;
    let found = log.verify().await.expect_err("the damage is there");
    assert!(
        matches!(found.kind, StoreErrorKind::Corrupt(_)),
        "{found:?}"
    );
    let read = log
        .read(&desk, 1, 10)
        .await
        .expect_err("the damage is in a record");
    assert!(matches!(read.kind, StoreErrorKind::Corrupt(_)), "{read:?}");
    Ok(())
}

#[test]
fn what_cannot_be_a_file_is_invalid() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let missing = folder.path().join("missing").join("desk.db");
    for path in [folder.path(), &missing, Path::new("")] {
        let error = SqliteLog::open(path).expect_err("no file can be there");
        let StoreErrorKind::Invalid(what) = &error.kind else {
            panic!("{error:?}")
        };
        assert!(what.contains(&path.display().to_string()), "{what}");
    }
    Ok(())
}

#[tokio::test]
async fn a_name_that_means_memory_to_sqlite_is_a_file() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join(":memory:");
    let desk = fill(&path).await?;
    assert!(path.is_file());
    assert_eq!(SqliteLog::open(&path)?.read(&desk, 200, 9).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_database_locked_by_another_is_unavailable() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("locked.db");
    let desk = fill(&path).await?;
    let options = SqliteOptions::default().busy_timeout(std::time::Duration::ZERO);
    let log = SqliteLog::open_with(&path, options.clone())?;
    let other = Connection::open(&path)?;
    other.execute_batch("BEGIN IMMEDIATE")?;
    let error = log
        .append(&desk, &commit(200, 3))
        .await
        .expect_err("another writes");
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
    assert!(error.is_temporary());
    assert_eq!(
        log.head(&desk).await?.map(|head| head.seq),
        Some(200),
        "reading goes on"
    );
    other.execute_batch("COMMIT")?;
    assert_eq!(log.append(&desk, &commit(200, 3)).await?.head, 201);
    drop(log);

    other.execute_batch("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE")?;
    let error = SqliteLog::open_with(&path, options).expect_err("another has it for itself");
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
    Ok(())
}

/// Lets eight do something at once with each of forty new files.
fn eight_at_once<E: Display + Send>(
    act: impl Fn(&Path, usize) -> Result<(), E> + Sync,
    afterwards: impl Fn(&Path),
) {
    let folder = fugato_testkit::tempdir().expect("a folder");
    for round in 0..40 {
        let path = folder.path().join(format!("{round}.db"));
        let together = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (together, path, act) = (&together, &path, &act);
                scope.spawn(move || {
                    together.wait();
                    act(path, n).unwrap_or_else(|error| panic!("round {round}: {error}"));
                });
            }
        });
        afterwards(&path);
    }
}

#[test]
fn many_may_open_a_new_file_at_once() {
    eight_at_once(|path, _| SqliteLog::open(path).map(drop), |_| {});
}

#[test]
fn many_may_open_new_tables_at_once() {
    eight_at_once(|path, _| SqliteTables::open(path).map(drop), |_| {});
}

#[test]
fn many_may_open_a_new_index_at_once_and_none_empties_it() {
    let put = |path: &Path, n: usize| {
        let index = SqliteSearch::open(path)?;
        let entry = IndexEntry::new(n.to_string(), "tea");
        block_on(index.update(IndexUpdate::put([entry])))
    };
    eight_at_once(put, |path| {
        let index = SqliteSearch::open(path).expect("an index");
        let query = SearchQuery::new("tea").limit(9);
        let found = block_on(index.search(&query)).expect("a search");
        assert_eq!(found.len(), 8);
    });
}

#[tokio::test]
async fn d13_a_full_database_refuses_and_half_writes_nothing()
-> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("full.db");
    let desk = ThreadId::new("desk")?;
    let log = SqliteLog::open_with(&path, SqliteOptions::default().max_bytes(256 * 1024))?;
    let mut head = 0;
    let error = loop {
        match log.append(&desk, &commit(head, 10_000)).await {
            Ok(appended) => head = appended.head,
            Err(error) => break error,
        }
    };
    assert!(head > 10, "{head} records fit");
    assert_eq!(error.kind, StoreErrorKind::Full);
    assert!(error.is_temporary());
    assert_eq!(log.head(&desk).await?.map(|found| found.seq), Some(head));
    assert_eq!(log.read(&desk, 1, 1_000).await?.len() as u64, head);
    log.verify().await?;

    // Of a group only the request that does not fit is refused.
    let (small, large) = (ThreadId::new("small")?, commit(head, 100_000));
    let small_commit = commit(0, 10);
    let (large, small) =
        futures::join!(log.append(&desk, &large), log.append(&small, &small_commit));
    assert_eq!(large.map_err(|error| error.kind), Err(StoreErrorKind::Full));
    assert_eq!(small.map(|appended| appended.head)?, 1);

    log.remove(&ThreadId::new("desk")?).await?;
    assert_eq!(
        log.append(&desk, &commit(0, 10_000)).await?.head,
        1,
        "there is room again"
    );
    Ok(())
}

/// A calendar or a ledger would go on in a file without a name, and say that it is written.
#[cfg(unix)]
#[tokio::test]
async fn tables_whose_file_is_replaced_take_nothing_more() -> Result<(), rusqlite::Error> {
    let folder = fugato_testkit::tempdir().expect("a folder");
    let (path, aside) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let tables = SqliteTables::open(&path)?;
    let write = async |word: &str| {
        let make = Statement::new("CREATE TABLE IF NOT EXISTS kept (word TEXT)", []);
        let insert = Statement::new("INSERT INTO kept VALUES (?)", [Cell::Text(word.to_owned())]);
        let decide = move |_| Ok::<_, ()>((vec![make.clone(), insert.clone()], ()));
        let written = tables.write(vec![], vec![], decide).await;
        written.map(|decided| decided.expect("nothing refuses"))
    };
    let pause = || tokio::time::sleep(std::time::Duration::from_millis(200));
    write("before").await?;
    fs::rename(&path, &aside).expect("it is there");
    for _ in 0..2 {
        pause().await;
        let error = write("lost").await.expect_err("it would be lost");
        assert!(error.to_string().contains("removed or replaced"), "{error}");
        // Another one in its place is not it.
        fs::copy(&aside, &path).expect("a file");
    }
    fs::rename(&aside, &path).expect("it is there");
    pause().await;
    write("after").await?;
    let rows = tables.read(vec![Statement::new("SELECT word FROM kept", [])]);
    let words = ["before", "after"].map(|word| vec![Cell::Text(word.to_owned())]);
    assert_eq!(rows.await?, [words.to_vec()]);
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_is_removed_while_it_is_open_takes_no_more_commits() -> Result<(), StoreError> {
    let folder = fugato_testkit::tempdir().expect("a folder");
    let (path, aside) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let desk = ThreadId::new("desk").expect("a short name");
    let log = SqliteLog::open(&path)?;
    log.append(&desk, &commit(0, 300)).await?;
    let pause = || tokio::time::sleep(std::time::Duration::from_millis(200));
    let refused = async || {
        pause().await;
        let error = log.append(&desk, &commit(1, 300)).await;
        let text = error.expect_err("it would be lost").to_string();
        let names = text.contains("removed or replaced") && text.contains("a.db");
        assert!(names, "{text}");
    };
    fs::rename(&path, &aside).expect("it is there");
    refused().await;
    // Another one in its place is not it.
    fs::copy(&aside, &path).expect("a file");
    refused().await;
    fs::rename(&aside, &path).expect("it is there");
    pause().await;
    log.append(&desk, &commit(1, 300)).await?;
    Ok(())
}
