mod cached;
mod row;
mod text;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use fugato_memory::{IndexUpdate, SearchHit, SearchIndex, SearchQuery, sought};
use fugato_store::{StoreError, StoreErrorKind};
use rusqlite::{Connection, Error, Transaction, TransactionBehavior};

use self::{cached::VectorCache, text::Texts};
use crate::{
    blocking::Place,
    error::{Refusal, store_error},
    open::write_ahead,
    wal::beside,
};

/// A search index in a file of its own: full text by `FTS5`, with the terms of `fugato-memory`, and
/// an exact search over all vectors. Clones share it.
///
/// The file is derived from its sources and can be deleted and rebuilt. An update therefore does
/// not wait for the disk, and a power failure may undo the newest updates as a whole. A file of
/// another version is emptied; a file that is no such index is refused.
///
/// Names and lengths are kept in memory from the first search on, vectors from the first vector
/// search on, and the posting lists of searched terms until the next change. A search sees the
/// writes of other processes.
#[derive(Debug, Clone)]
pub struct SqliteSearch {
    shared: Arc<Mutex<OpenIndex>>,
}

#[derive(Debug)]
struct OpenIndex {
    connection: Connection,
    cached: Option<VectorCache>,
    texts: Option<Texts>,
}

/// The time to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

/// The application id of our indexes: the letters `fgix`.
const APPLICATION_ID: i32 = 0x6667_6978;

/// The version of the tables and of the terms in them.
///
/// - 1: the first.
/// - 2: the number of terms of each text, and the count of each term.
const VERSION: i32 = 2;

const TABLES: &str = "
    DROP TABLE IF EXISTS term;
    DROP TABLE IF EXISTS entry;
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        digest INTEGER NOT NULL,
        importance REAL NOT NULL,
        length INTEGER NOT NULL,
        vector BLOB
    ) STRICT;
    CREATE VIRTUAL TABLE term USING fts5 (
        terms, content='', contentless_delete=1, detail=none, tokenize='ascii'
    );";

impl SqliteSearch {
    /// Opens an index, or creates one if there is no file or an empty one.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let failed = |error| Refusal::from(error).into_store("open the index");
        let connection = Connection::open(path).map_err(failed)?;
        let wait = connection.busy_timeout(BUSY);
        wait.and_then(|()| prepare(&connection))
            .map_err(failed)?
            .map_err(|what| {
                let what = format!("{} is no index: {what}", PathBuf::from(path).display());
                StoreError::new(StoreErrorKind::Corrupt(what), "open the index")
            })?;
        let opened = OpenIndex {
            connection,
            cached: None,
            texts: None,
        };
        Ok(Self {
            shared: Arc::new(Mutex::new(opened)),
        })
    }

    /// Opens an index as [`open`](Self::open) does, and begins a new one in the place of a damaged
    /// one, or of a file that is no index. That file is kept beside it under the name that is
    /// returned. The index must then be filled from its sources again.
    ///
    /// # Errors
    /// The file can be neither opened nor moved.
    pub fn open_or_renew(path: impl AsRef<Path>) -> Result<(Self, Option<PathBuf>), StoreError> {
        let path = path.as_ref();
        let opened = Self::open(path).and_then(|index| index.checked().map(|()| index));
        match opened {
            Ok(index) => return Ok((index, None)),
            Err(error) if matches!(error.kind, StoreErrorKind::Corrupt(_)) => {}
            Err(error) => return Err(error),
        }
        let numbers = (1..).map(|number| beside(path, &format!(".damaged-{number}")));
        let kept = numbers.take(100).find(|name| !name.exists());
        let kept = kept.unwrap_or_else(|| beside(path, ".damaged"));
        let moved = |error: io::Error| {
            let kind = StoreErrorKind::Other;
            StoreError::new(kind, "move the damaged index away").because(error)
        };
        fs::rename(path, &kept).map_err(moved)?;
        // They belong to the file that was moved, and would damage the new one.
        for suffix in ["-wal", "-shm"] {
            match fs::remove_file(beside(path, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(moved(error)),
                _ => {}
            }
        }
        Ok((Self::open(path)?, Some(kept)))
    }

    /// Reads the whole file once, which finds what opening does not look at.
    fn checked(&self) -> Result<(), StoreError> {
        let opened = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let found: Result<String, _> =
            opened
                .connection
                .query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
        let found = found.map_err(|error| Refusal::from(error).into_store("check the index"))?;
        if found == "ok" {
            return Ok(());
        }
        let kind = StoreErrorKind::Corrupt(found);
        Err(StoreError::new(kind, "check the index"))
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut OpenIndex) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.shared);
        let work = move || work(&mut shared.lock().unwrap_or_else(PoisonError::into_inner));
        match Place::current() {
            Place::Here => work(),
            Place::Worker => tokio::task::block_in_place(work),
            Place::Pool(handle) => handle
                .spawn_blocking(work)
                .await
                .unwrap_or_else(|_| Err(StoreError::new(StoreErrorKind::Unavailable, "search"))),
        }
    }
}

#[async_trait]
impl SearchIndex for SqliteSearch {
    async fn update(&self, update: IndexUpdate) -> Result<(), StoreError> {
        let work = move |opened: &mut OpenIndex| {
            opened.whole("BEGIN IMMEDIATE", "update the index", |opened| {
                opened.update(&update)
            })
        };
        self.with(work).await
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        let query = query.clone();
        let work = move |opened: &mut OpenIndex| {
            opened.whole("BEGIN", "search", |opened| opened.search(&query))
        };
        self.with(work).await
    }

    async fn digests(&self, prefix: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        let prefix = prefix.to_owned();
        let work = move |opened: &mut OpenIndex| {
            let read = row::digests(&opened.connection, &prefix);
            read.map_err(|error| store_error(&Arc::new(error), "read the index"))
        };
        self.with(work).await
    }
}

/// Checks that the file is ours, and creates the tables. The inner error says what was found
/// instead.
fn prepare(connection: &Connection) -> Result<Result<(), String>, Error> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let sql = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    // Read afterwards: another process may make both at once, and then neither is foreign.
    let application = pragma("application_id")?;
    if tables > 0 && application != APPLICATION_ID {
        let what = format!("its application id is {application:#010x}");
        return Ok(Err(format!("{what}; expected {APPLICATION_ID:#010x}")));
    }
    write_ahead(connection, BUSY)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    if pragma("user_version")? == VERSION {
        return Ok(Ok(()));
    }
    let making = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have made them, and filled them, meanwhile.
    if pragma("user_version")? != VERSION {
        making.execute_batch(&format!(
            "{TABLES} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
        ))?;
    }
    making.commit().map(Ok)
}

impl OpenIndex {
    /// Runs `work` in one transaction, on one consistent snapshot.
    fn whole<T>(
        &mut self,
        begin: &str,
        operation: &'static str,
        work: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, StoreError> {
        let opened = self.connection.execute_batch(begin);
        let done = opened.map_err(Refusal::from).and_then(|()| {
            let done = work(self)?;
            self.connection.execute_batch("COMMIT")?;
            Ok(done)
        });
        if done.is_err() {
            // The caches may be ahead of the stored data.
            (self.cached, self.texts) = (None, None);
            if !self.connection.is_autocommit() {
                // The first error is the one to report.
                let _ = self.connection.execute_batch("ROLLBACK");
            }
        }
        done.map_err(|refused| refused.into_store(operation))
    }

    /// Returns `data_version`, which changes when another connection writes.
    fn seen(&self) -> Result<i64, Error> {
        let pragma = "data_version";
        self.connection
            .pragma_query_value(None, pragma, |row| row.get(0))
    }

    fn cached(&mut self) -> Result<&mut VectorCache, Refusal> {
        let seen = self.seen()?;
        match &mut self.cached {
            Some(cached) if cached.seen == seen => {}
            stale => *stale = Some(VectorCache::load(&self.connection, seen)?),
        }
        let missing = || StoreErrorKind::Corrupt("the vectors are gone".into()).into();
        self.cached.as_mut().ok_or_else(missing)
    }

    fn update(&mut self, update: &IndexUpdate) -> Result<(), Refusal> {
        let vectors = update.put.iter().any(|entry| entry.vector.is_some());
        if vectors || self.cached.is_some() {
            self.cached()?.check(update)?;
        }
        let put = update.put.iter().map(|entry| &entry.id);
        for name in update.remove.iter().chain(put) {
            self.remove(name)?;
        }
        for entry in &update.put {
            // Of two entries with one id the last counts.
            self.remove(&entry.id)?;
            let (id, length) = row::put(&self.connection, entry)?;
            if let (Some(vector), Some(cached)) = (&entry.vector, &mut self.cached) {
                cached.put(id, &entry.id, entry.importance, vector)?;
            }
            if let Some(texts) = &mut self.texts {
                texts.put(id, &entry.id, entry.importance, length)?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), Error> {
        let Some(id) = row::remove(&self.connection, name)? else {
            return Ok(());
        };
        if let Some(cached) = &mut self.cached {
            cached.remove(id);
        }
        self.texts.as_mut().map_or(Ok(()), |texts| texts.remove(id))
    }

    fn search(&mut self, query: &SearchQuery) -> Result<Vec<SearchHit>, Refusal> {
        let by_text = self.by_text(query)?;
        let by_vector = match &query.vector {
            Some(vector) => self.cached()?.nearest(vector, query)?,
            None => vec![],
        };
        Ok(query.fusion.fuse(by_text, by_vector, query.limit))
    }

    fn by_text(&mut self, query: &SearchQuery) -> Result<Vec<(String, f64)>, Error> {
        let wanted = sought(&query.text);
        if wanted.is_empty() {
            return Ok(vec![]);
        }
        let seen = self.seen()?;
        let known = self.texts.take().filter(|texts| texts.seen == seen);
        let mut texts = match known {
            Some(texts) => texts,
            None => Texts::load(&self.connection, seen)?,
        };
        let best = texts.best(&self.connection, wanted, query)?;
        self.texts = Some(texts);
        Ok(best)
    }
}
