//! Runs the conformance tests of a document store on `SqliteDocs`, alone and in the file of a log.
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use fugato_sqlite::{SqliteDocs, SqliteLog, SqliteOptions};
use fugato_state::ThreadId;
use fugato_store::{
    Commit, DocFilter, DocKey, DocStore, DocStoreExt as _, DocWrite, Expect, Namespace, Record,
    Status, ThreadLog,
};
use fugato_testkit::{
    doc::DocFactory,
    log::{OpenError, TestClock},
};
use serde_json::json;
use tempfile::TempDir;

/// A factory of databases in a temporary folder.
#[derive(Default)]
struct Databases {
    folder: Mutex<Option<TempDir>>,
    made: AtomicU32,
}

impl Databases {
    fn open(&self, number: u32, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        let clock = clock.clone();
        let options = SqliteOptions::default().clock(move || clock.now());
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match &mut *folder {
            Some(folder) => folder,
            none => none.insert(fugato_testkit::tempdir()?),
        };
        let path = folder.path().join(format!("{number}.db"));
        Ok(Arc::new(SqliteDocs::open_with(path, options)?))
    }
}

#[async_trait::async_trait]
impl DocFactory for Databases {
    async fn fresh(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        self.open(self.made.fetch_add(1, Ordering::Relaxed) + 1, clock)
    }

    fn persistent(&self) -> bool {
        true
    }

    async fn reopen(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        self.open(self.made.load(Ordering::Relaxed), clock)
    }
}

fugato_testkit::doc_store_suite!(Databases::default());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_and_threads_share_a_file() -> Result<(), Box<dyn std::error::Error>> {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("desk.db");
    let log = SqliteLog::open(&path)?;
    let docs = log.docs();
    let (space, desk) = (Namespace::new(["user", "7"])?, ThreadId::new("desk")?);
    let commit = Commit {
        expect: Expect { head: 0, fence: 0 },
        nonce: 1,
        records: vec![Record(b"hello".to_vec())],
        status: Status::Idle,
        base: None,
    };
    let key = |n: usize| DocKey::new(n.to_string());
    let (appended, written) = futures::future::join(
        log.append(&desk, &commit),
        futures::future::try_join_all((0..20).map(|n| {
            let (docs, space) = (&docs, &space);
            async move { Ok::<_, OpenError>(docs.put(space, &key(n)?, n).await?) }
        })),
    )
    .await;
    assert_eq!(
        (appended?.head, written.map_err(|e| e.to_string())?.len()),
        (1, 20)
    );

    let other = SqliteDocs::open(&path)?;
    assert_eq!(other.get_as::<usize>(&space, &key(7)?).await?, Some(7));
    other.remove(&space).await?;
    assert_eq!(docs.list(&space, DocFilter::default()).await?, []);
    assert_eq!(log.head(&desk).await?.map(|head| head.seq), Some(1));
    Ok(())
}

#[tokio::test]
async fn expired_documents_are_cleared_away_in_portions() -> Result<(), Box<dyn std::error::Error>>
{
    let folder = fugato_testkit::tempdir()?;
    let (path, clock) = (folder.path().join("docs.db"), TestClock::at(1_000));
    let time = clock.clone();
    let docs = SqliteDocs::open_with(&path, SqliteOptions::default().clock(move || time.now()))?;
    let space = Namespace::new(["short"])?;
    let mut batch = vec![];
    for n in 0..100 {
        batch.push(DocWrite::put(&space, &DocKey::new(n.to_string())?, json!(n)).lasting(10));
    }
    docs.write(batch).await?;
    clock.advance(10);
    let reader = rusqlite::Connection::open(&path)?;
    let kept = || -> rusqlite::Result<i64> {
        reader.query_row("SELECT count(*) FROM doc", [], |row| row.get(0))
    };
    assert_eq!(kept()?, 100);
    docs.put(&space, &DocKey::new("new")?, 1).await?;
    assert_eq!(kept()?, 100 - 64 + 1);
    docs.put(&space, &DocKey::new("new")?, 2).await?;
    assert_eq!(kept()?, 1);
    Ok(())
}
