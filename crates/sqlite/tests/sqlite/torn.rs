//! Tests that a database after a crash, a lost end or lost writes is opened as it was, or refused.
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use fugato_sqlite::{SqliteLog, SqliteOptions};
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    Commit, DocKey, DocStore as _, DocStoreExt as _, Expect, Namespace, Record, Snapshot,
    Snapshots, Status, StoreError, StoreErrorKind, ThreadLog,
};
use proptest::{prelude::*, test_runner::TestCaseError};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const THREADS: u64 = 6;
const ROUNDS: Seq = 30;

fn name(thread: u64) -> ThreadId {
    ThreadId::new(format!("thread {thread}")).expect("a short name")
}

fn record(thread: u64, seq: Seq) -> Record {
    Record(format!("{thread}/{seq} {}", "x".repeat(250)).into())
}

fn commit(thread: u64, seq: Seq) -> Commit {
    Commit {
        expect: Expect {
            head: seq - 1,
            fence: 0,
        },
        nonce: seq.into(),
        records: vec![record(thread, seq)],
        status: Status::Runnable,
        base: None,
    }
}

fn space() -> Namespace {
    Namespace::new(["user"]).expect("a short name")
}

/// The files of a database after a crash, without closing.
struct Image {
    database: Vec<u8>,
    wal: Vec<u8>,
}

impl Image {
    fn at(&self, path: &Path) -> Result<PathBuf, std::io::Error> {
        let path = path.join("desk.db");
        fs::write(&path, &self.database)?;
        fs::write(path.with_extension("db-wal"), &self.wal)?;
        Ok(path)
    }
}

/// Returns a database with single and grouped records, a snapshot and documents, of which the
/// write-ahead log holds the newest part.
fn image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let runtime = tokio::runtime::Runtime::new().expect("threads can be had");
        runtime.block_on(write()).expect("a folder can be written")
    })
}

async fn write() -> Result<Image, Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("desk.db");
    let log = SqliteLog::open_with(&path, SqliteOptions::default().wal_pages(120))?;
    for seq in 1..=ROUNDS {
        let alone = commit(0, seq);
        log.append(&name(0), &alone).await?;
        let together = (1..THREADS).map(|thread| {
            let log = log.clone();
            async move { log.append(&name(thread), &commit(thread, seq)).await }
        });
        futures::future::try_join_all(together).await?;
        log.docs()
            .put(&space(), &DocKey::new(seq.to_string())?, seq)
            .await?;
        if seq == ROUNDS / 2 {
            let body = b"a fold".to_vec();
            log.put(&name(0), Snapshot { seq, body }).await?;
        }
    }
    let image = Image {
        database: fs::read(&path)?,
        wal: fs::read(path.with_extension("db-wal"))?,
    };
    assert!(image.wal.len() > 20_000, "{} bytes", image.wal.len());
    assert!(
        image.database.len() > 50_000,
        "{} bytes",
        image.database.len()
    );
    Ok(image)
}

/// Returns the number of readable records of each thread. Readable records must equal those
/// written; others must be reported as damaged.
async fn look(log: &SqliteLog) -> Result<BTreeMap<u64, Seq>, TestCaseError> {
    let mut found = BTreeMap::new();
    for thread in 0..THREADS {
        match log.read(&name(thread), 1, 1_000).await {
            Ok(records) => {
                let expected: Vec<_> = (1..)
                    .map(|seq| (seq, record(thread, seq)))
                    .take(records.len())
                    .collect();
                prop_assert_eq!(&records, &expected);
                prop_assert!(records.len() as u64 <= ROUNDS);
                found.insert(thread, records.len() as u64);
            }
            Err(error) => is_said(&error)?,
        }
        match log.latest_at(&name(thread), ROUNDS).await {
            Ok(latest) => prop_assert!(latest.is_none_or(|fold| fold.body == b"a fold")),
            Err(error) => is_said(&error)?,
        }
    }
    for seq in 1..=ROUNDS {
        let key =
            DocKey::new(seq.to_string()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        match log.docs().get(&space(), &key).await {
            Ok(doc) => prop_assert!(doc.is_none_or(|doc| doc.value == seq)),
            Err(error) => is_said(&error)?,
        }
    }
    Ok(found)
}

fn is_said(error: &StoreError) -> Result<(), TestCaseError> {
    let said = matches!(
        error.kind,
        StoreErrorKind::Corrupt(_) | StoreErrorKind::Compacted { .. }
    );
    prop_assert!(said, "{:?}", error);
    Ok(())
}

/// Opens the image and reads it; `None` if it is refused.
fn open(image: &Image) -> Result<Option<BTreeMap<u64, Seq>>, TestCaseError> {
    let failed = |error: std::io::Error| TestCaseError::fail(error.to_string());
    let folder = fugato_testkit::tempdir().map_err(failed)?;
    let path = image.at(folder.path()).map_err(failed)?;
    let log = match SqliteLog::open(&path) {
        Ok(log) => log,
        Err(error) => return is_said(&error).map(|()| None),
    };
    futures::executor::block_on(look(&log)).map(Some)
}

#[test]
fn what_was_acknowledged_before_a_crash_is_there() -> Result<(), TestCaseError> {
    let all = (0..THREADS).map(|thread| (thread, ROUNDS)).collect();
    assert_eq!(open(image())?, Some(all));
    Ok(())
}

/// Generates a position in a file, as a fraction of its length.
fn place() -> impl Strategy<Value = f64> {
    0.0..1.0
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a place in a small file"
)]
fn at(bytes: &[u8], place: f64) -> usize {
    (bytes.len() as f64 * place) as usize
}

fn garble(bytes: &mut [u8], place: f64, with: &[u8]) {
    let at = at(bytes, place);
    bytes
        .iter_mut()
        .skip(at)
        .zip(with)
        .for_each(|(byte, with)| *byte ^= with);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: fugato_testkit::share_of(64), ..ProptestConfig::default() })]

    /// A torn write-ahead log loses only what comes after its end.
    #[test]
    fn a_torn_write_ahead_log_is_read_up_to_its_end(place in place()) {
        let Image { database, wal } = image();
        let torn = wal.iter().copied().take(at(wal, place)).collect();
        let found = open(&Image { database: database.clone(), wal: torn })?;
        let found = found.ok_or_else(|| TestCaseError::fail("it was refused"))?;
        prop_assert_eq!(found.len() as u64, THREADS);
        // Commits are in order: no thread is more than one round ahead.
        let (least, most) = (found.values().min(), found.values().max());
        prop_assert!(most.copied().unwrap_or(0) - least.copied().unwrap_or(0) <= 1, "{:?}", found);
    }

    #[test]
    fn a_garbled_write_ahead_log_shows_nothing_that_was_not_written(
        place in place(),
        with in prop::collection::vec(1..=u8::MAX, 1..2_000),
    ) {
        let Image { database, wal } = image();
        let mut wal = wal.clone();
        garble(&mut wal, place, &with);
        open(&Image { database: database.clone(), wal })?;
    }

    #[test]
    fn a_garbled_database_shows_nothing_that_was_not_written(
        place in place(),
        with in prop::collection::vec(1..=u8::MAX, 1..2_000),
        logged in any::<bool>(),
    ) {
        let Image { database, wal } = image();
        let mut database = database.clone();
        garble(&mut database, place, &with);
        let wal = if logged { wal.clone() } else { vec![] };
        open(&Image { database, wal })?;
    }

    #[test]
    fn a_torn_database_shows_nothing_that_was_not_written(place in place(), logged in any::<bool>()) {
        let Image { database, wal } = image();
        let database = database.iter().copied().take(at(database, place)).collect();
        let wal = if logged { wal.clone() } else { vec![] };
        open(&Image { database, wal })?;
    }
}

#[tokio::test]
async fn one_changed_letter_of_a_record_is_found_out() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("desk.db");
    let log = SqliteLog::open(&path)?;
    for seq in 1..=3 {
        log.append(&name(0), &commit(0, seq)).await?;
    }
    drop(log);
    let mut bytes = fs::read(&path)?;
    let letters = b"0/2 xxx";
    let found = bytes
        .windows(letters.len())
        .position(|window| window == letters);
    bytes[found.ok_or("the record is there")? + 5] = b'y';
    fs::write(&path, bytes)?;
    let log = SqliteLog::open(&path)?;
    assert_eq!(log.read(&name(0), 1, 1).await?, [(1, record(0, 1))]);
    let read = log.read(&name(0), 1, 10).await.map_err(|error| error.kind);
    let expected = StoreErrorKind::Corrupt("a stored value is damaged".into());
    assert_eq!(read, Err(expected));
    Ok(())
}

#[tokio::test]
async fn a_copy_is_whole_and_goes_on_alone() -> Outcome {
    let folder = fugato_testkit::tempdir()?;
    let (path, copied) = (folder.path().join("desk.db"), folder.path().join("copy.db"));
    let log = SqliteLog::open(&path)?;
    for seq in 1..=20 {
        log.append(&name(0), &commit(0, seq)).await?;
    }
    log.docs()
        .put(&space(), &DocKey::new("tone")?, "plain")
        .await?;
    log.copy_to(&copied).await?;
    log.append(&name(0), &commit(0, 21)).await?;

    let copy = SqliteLog::open(&copied)?;
    copy.verify().await?;
    let expected: Vec<_> = (1..=20).map(|seq| (seq, record(0, seq))).collect();
    assert_eq!(copy.read(&name(0), 1, 100).await?, expected);
    assert_eq!(copy.append(&name(0), &commit(0, 21)).await?.head, 21);
    let tone = copy.docs().get_as(&space(), &DocKey::new("tone")?).await?;
    assert_eq!(tone, Some("plain".to_owned()));

    let refused = log.copy_to(&copied).await.map_err(|error| error.kind);
    let what = format!("cannot make {}", copied.display());
    assert_eq!(refused, Err(StoreErrorKind::Invalid(what)));
    Ok(())
}
