mod cached;
mod row;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use fugato_memory::{IndexUpdate, SearchHit, SearchIndex, SearchQuery, Sought, sought};
use fugato_store::{StoreError, StoreErrorKind};
use rusqlite::{Connection, Error, params};

use self::cached::Cached;
use crate::{
    blocking::Place,
    error::{Refusal, store_error},
};

/// An index in a file of its own: full text by `FTS5`, fed with the terms of `fugato-memory`, and
/// vectors that are all compared. Cloning shares it.
///
/// The file is derived from what was indexed: whoever deletes it builds it anew. So an update does
/// not wait for the disk, and a power failure may undo the newest ones, whole. A file of another
/// version is emptied; one that is not such an index is refused. Vectors are kept in memory too,
/// from the first search for one on; what other processes write is seen by the next search.
#[derive(Debug, Clone)]
pub struct SqliteSearch {
    shared: Arc<Mutex<Opened>>,
}

#[derive(Debug)]
struct Opened {
    connection: Connection,
    cached: Option<Cached>,
}

/// Marks an index as ours: the letters `fgix`.
const APPLICATION_ID: i32 = 0x6667_6978;

/// The version of the tables and of the terms in them.
///
/// - 1: the first.
const VERSION: i32 = 1;

const TABLES: &str = "
    DROP TABLE IF EXISTS term;
    DROP TABLE IF EXISTS entry;
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        digest INTEGER NOT NULL,
        importance REAL NOT NULL,
        vector BLOB
    ) STRICT;
    CREATE VIRTUAL TABLE term USING fts5 (
        terms, content='', contentless_delete=1, detail=column, tokenize='ascii'
    );";

impl SqliteSearch {
    /// Opens an index, or makes one where there is no file or an empty one.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let failed = |error| Refusal::from(error).into_store("open the index");
        let connection = Connection::open(path).map_err(failed)?;
        let wait = connection.busy_timeout(Duration::from_secs(5));
        wait.and_then(|()| prepare(&connection))
            .map_err(failed)?
            .map_err(|what| {
                let what = format!("{} is no index: {what}", PathBuf::from(path).display());
                StoreError::new(StoreErrorKind::Corrupt(what), "open the index")
            })?;
        let opened = Opened {
            connection,
            cached: None,
        };
        Ok(Self {
            shared: Arc::new(Mutex::new(opened)),
        })
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Opened) -> Result<T, StoreError> + Send + 'static,
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
        let work = move |opened: &mut Opened| {
            opened.whole("BEGIN IMMEDIATE", "update the index", |opened| {
                opened.update(&update)
            })
        };
        self.with(work).await
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        let query = query.clone();
        let work = move |opened: &mut Opened| {
            opened.whole("BEGIN", "search", |opened| opened.search(&query))
        };
        self.with(work).await
    }

    async fn digests(&self, prefix: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        let prefix = prefix.to_owned();
        let work = move |opened: &mut Opened| {
            let read = row::digests(&opened.connection, &prefix);
            read.map_err(|error| store_error(&Arc::new(error), "read the index"))
        };
        self.with(work).await
    }
}

/// Checks whose file it is, and makes the tables; the inner error says whose it is not.
fn prepare(connection: &Connection) -> Result<Result<(), String>, Error> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let sql = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    if tables > 0 && application != APPLICATION_ID {
        let what = format!("its application id is {application:#010x}");
        return Ok(Err(format!("{what}; expected {APPLICATION_ID:#010x}")));
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    if version != VERSION {
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE; {TABLES}
             PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
        ))?;
    }
    Ok(Ok(()))
}

impl Opened {
    /// Does all of it or nothing, as of one moment.
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
            // What is in memory may be ahead of what is stored.
            self.cached = None;
            if !self.connection.is_autocommit() {
                // The error that matters is the first.
                let _ = self.connection.execute_batch("ROLLBACK");
            }
        }
        done.map_err(|refused| refused.into_store(operation))
    }

    fn cached(&mut self) -> Result<&mut Cached, Refusal> {
        let pragma = "data_version";
        let seen = self
            .connection
            .pragma_query_value(None, pragma, |row| row.get(0))?;
        match &mut self.cached {
            Some(cached) if cached.seen == seen => {}
            stale => *stale = Some(Cached::load(&self.connection, seen)?),
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
            if let Some(id) = row::remove(&self.connection, name)?
                && let Some(cached) = &mut self.cached
            {
                cached.remove(id);
            }
        }
        for entry in &update.put {
            // Of two with one id the last counts.
            if let Some(id) = row::remove(&self.connection, &entry.id)?
                && let Some(cached) = &mut self.cached
            {
                cached.remove(id);
            }
            let id = row::put(&self.connection, entry)?;
            if let (Some(vector), Some(cached)) = (&entry.vector, &mut self.cached) {
                cached.put(id, &entry.id, entry.importance, vector)?;
            }
        }
        Ok(())
    }

    fn search(&mut self, query: &SearchQuery) -> Result<Vec<SearchHit>, Refusal> {
        let by_text = self.by_text(query)?;
        let by_vector = match &query.vector {
            Some(vector) => self.cached()?.nearest(vector, query)?,
            None => vec![],
        };
        Ok(query.fusion.fuse(by_text, by_vector, query.limit))
    }

    fn by_text(&self, query: &SearchQuery) -> Result<Vec<(String, f64)>, Error> {
        let Some(expression) = expression(&query.text) else {
            return Ok(vec![]);
        };
        let sql = "SELECT entry.name, -bm25(term) AS score
                   FROM term JOIN entry ON entry.id = term.rowid
                   WHERE term MATCH ?1 AND entry.importance >= ?2
                       AND substr(entry.name, 1, length(?3)) = ?3
                   ORDER BY score DESC, entry.name LIMIT ?4";
        let depth = i64::try_from(query.depth()).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(sql)?;
        let values = params![expression, query.min_importance, query.prefix, depth];
        let found = statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        found.collect()
    }
}

/// What to look for, in the words of `FTS5`. No term holds a quotation mark.
fn expression(query: &str) -> Option<String> {
    let one = |sought: Sought| match sought {
        Sought::Term(term) => format!("\"{term}\""),
        Sought::Beginning(c) => format!("\"{c}\"*"),
    };
    let all: Vec<String> = sought(query).into_iter().map(one).collect();
    (!all.is_empty()).then(|| all.join(" OR "))
}
