//! Tables of an application.
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fugato_store::{Cell, QueryRows, Statement};
use rusqlite::{
    Connection, Error, Row, TransactionBehavior, ffi, params_from_iter,
    types::{Value, ValueRef},
};

use crate::{Synchronous, file::OpenFile, is_full, open::write_ahead, wal::damage};

/// The time to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(10);

/// A file with tables of an application. Clones share one connection, one at a time.
///
/// Once the file was removed or replaced, it takes nothing more, and nothing is read from it.
#[derive(Debug, Clone)]
pub struct SqliteTables(Arc<Mutex<OpenTables>>);

#[derive(Debug)]
struct OpenTables {
    connection: Connection,
    /// None in memory.
    file: Option<OpenFile>,
}

impl SqliteTables {
    /// Opens a file, or creates a new one. A committed transaction is on the disk.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or if committed transactions were lost because its
    /// write-ahead log is damaged. The file is left as it is then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if let Some(what) = damage(path, Synchronous::Full) {
            let corrupt = ffi::Error::new(ffi::SQLITE_CORRUPT);
            return Err(Error::SqliteFailure(corrupt, Some(what)));
        }
        let open = |connection| Self::over(connection, Some(path));
        Connection::open(path).and_then(open).map_err(told)
    }

    /// Creates tables in memory, which are dropped with the last clone.
    ///
    /// # Errors
    /// Fails if the connection cannot be opened.
    pub fn in_memory() -> Result<Self, Error> {
        Self::over(Connection::open_in_memory()?, None)
    }

    fn over(connection: Connection, path: Option<&Path>) -> Result<Self, Error> {
        connection.busy_timeout(BUSY)?;
        write_ahead(&connection, BUSY)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let file = path.map(|path| OpenFile::new(path.to_owned()));
        Ok(Self(Arc::new(Mutex::new(OpenTables { connection, file }))))
    }

    /// Runs `work` with the connection, on the current thread.
    ///
    /// # Errors
    /// Returns the errors of `work`, and fails before it if the file is no longer in its place.
    pub fn with_now<T, E: From<Error>>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        // The transaction of a panicked call was rolled back when it was dropped.
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut opened.file {
            file.check()?;
        }
        work(&mut opened.connection)
    }

    /// Runs `work` with the connection, on a thread that may wait for the disk.
    ///
    /// # Errors
    /// Returns the errors of `work`, and fails before it if the file is no longer in its place.
    ///
    /// # Panics
    /// Panics if `work` does. Its transaction is rolled back, and the tables stay usable.
    pub async fn with<T, E>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let tables = self.clone();
        match tokio::task::spawn_blocking(move || tables.with_now(work)).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down, and this task ends with it.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Runs queries on one consistent snapshot.
    ///
    /// # Errors
    /// Fails if a query fails, or if a value is neither a whole number nor text.
    pub async fn read(&self, queries: Vec<Statement>) -> Result<Vec<QueryRows>, Error> {
        let read = move |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            found(&transaction, &queries)
        };
        self.with(read).await.map_err(told)
    }

    /// Reads, decides and writes in one transaction, in which no other writer or process gets in
    /// between.
    ///
    /// The statements of `first` run before the queries. If `decide` refuses or returns no
    /// statements, everything is rolled back, `first` included.
    ///
    /// # Errors
    /// Fails if nothing could be written. The inner error is the one of `decide`.
    pub async fn write<T, E>(
        &self,
        first: Vec<Statement>,
        queries: Vec<Statement>,
        decide: impl FnOnce(Vec<QueryRows>) -> Result<(Vec<Statement>, T), E> + Send + 'static,
    ) -> Result<Result<T, E>, Error>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.with(move |connection| {
            // An immediate transaction: nothing changes between reading and writing.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            execute(&transaction, &first)?;
            let (statements, answer) = match decide(found(&transaction, &queries)?) {
                Ok(decided) => decided,
                Err(refused) => return Ok(Err(refused)),
            };
            if !statements.is_empty() {
                execute(&transaction, &statements)?;
                transaction.commit()?;
            }
            Ok(Ok(answer))
        })
        .await
        .map_err(told)
    }
}

/// Replaces the message of a full disk, for which `SQLite` may report "disk I/O error".
fn told(error: Error) -> Error {
    match error {
        Error::SqliteFailure(code, _) if is_full(&error) => {
            Error::SqliteFailure(code, Some("no space is left".to_owned()))
        }
        error => error,
    }
}

fn execute(connection: &Connection, statements: &[Statement]) -> Result<(), Error> {
    for statement in statements {
        let mut prepared = connection.prepare_cached(&statement.sql)?;
        let mut rows = prepared.query(params_from_iter(statement.values.iter().map(value)))?;
        while rows.next()?.is_some() {}
    }
    Ok(())
}

fn found(connection: &Connection, queries: &[Statement]) -> Result<Vec<QueryRows>, Error> {
    let rows = |query: &Statement| {
        let mut prepared = connection.prepare_cached(&query.sql)?;
        let columns = prepared.column_count();
        let values = params_from_iter(query.values.iter().map(value));
        let cells = |row: &Row<'_>| (0..columns).map(|at| cell(row, at)).collect();
        prepared.query_map(values, cells)?.collect()
    };
    queries.iter().map(rows).collect()
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(number) => Value::Integer(*number),
        Cell::Text(text) => Value::Text(text.clone()),
    }
}

fn cell(row: &Row<'_>, at: usize) -> Result<Cell, Error> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        // Bytes that are not text are refused here.
        _ => Cell::Text(row.get(at)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_undoes_its_transaction_and_no_other() -> Result<(), Error> {
        let tables = SqliteTables::in_memory()?;
        let make = "CREATE TABLE numbers (n INTEGER); INSERT INTO numbers VALUES (1)";
        tables
            .with(move |connection| connection.execute_batch(make))
            .await?;
        let broken = tables.clone();
        let panicked = tokio::spawn(async move {
            let work = |connection: &mut Connection| {
                let transaction = connection.transaction()?;
                transaction.execute("INSERT INTO numbers VALUES (2)", [])?;
                panic!("in the middle")
            };
            broken.with::<(), Error>(work).await
        });
        assert!(panicked.await.is_err_and(|error| error.is_panic()));
        let count = |connection: &mut Connection| {
            connection.query_row("SELECT count(*) FROM numbers", [], |row| row.get(0))
        };
        assert_eq!(tables.with::<i64, Error>(count).await?, 1);
        Ok(())
    }

    #[tokio::test]
    async fn a_full_disk_is_told_in_the_words_of_the_store() -> Result<(), Error> {
        let tables = SqliteTables::in_memory()?;
        let made = "CREATE TABLE kept (word TEXT); PRAGMA max_page_count = 3";
        tables.with_now(|connection| connection.execute_batch(made))?;
        let long = Cell::from("long".repeat(10_000).as_str());
        let insert = Statement::new("INSERT INTO kept (word) VALUES (?)", [long]);
        let write = |_| Ok::<_, Error>((vec![insert], ()));
        let full = tables.write(vec![], vec![], write).await;
        let why = full.err().map(|error| error.to_string());
        assert_eq!(why.as_deref(), Some("no space is left"));
        let shared = ffi::Error::new(ffi::SQLITE_IOERR_SHMSIZE);
        let shared = Error::SqliteFailure(shared, Some("disk I/O error".into()));
        assert_eq!(told(shared).to_string(), "no space is left");
        let other = ffi::Error::new(ffi::SQLITE_IOERR_READ);
        let other = Error::SqliteFailure(other, Some("disk I/O error".into()));
        assert_eq!(told(other).to_string(), "disk I/O error");
        Ok(())
    }

    #[tokio::test]
    async fn what_is_decided_is_written_whole_or_not_at_all() -> Result<(), Error> {
        let tables = SqliteTables::in_memory()?;
        let table = Statement::new("CREATE TABLE kept (n INTEGER UNIQUE, word TEXT)", []);
        let made = |_| Ok::<_, Error>((vec![table], ()));
        tables.write(vec![], vec![], made).await??;
        let all = || vec![Statement::new("SELECT n, word FROM kept ORDER BY n", [])];
        let insert = |n: i64, word: Cell| {
            Statement::new("INSERT INTO kept (n, word) VALUES (?, ?)", [n.into(), word])
        };

        let (first, more) = (insert(1, "one".into()), insert(2, Cell::Null));
        let seen = tables.write(vec![first.clone()], all(), |found| {
            Ok::<_, &str>((vec![more], found))
        });
        let one = vec![Cell::Int(1), Cell::from("one")];
        assert_eq!(seen.await?, Ok(vec![vec![one.clone()]]));
        let both = vec![vec![one, vec![Cell::Int(2), Cell::Null]]];
        assert_eq!(tables.read(all()).await?, both);

        // A refusal, an empty decision and a failed write leave nothing behind.
        let third = || vec![insert(3, Cell::Null)];
        let refused = |_| Err::<(_, ()), _>("no");
        assert_eq!(tables.write(third(), vec![], refused).await?, Err("no"));
        let nothing = |_| Ok::<_, &str>((vec![], ()));
        assert_eq!(tables.write(third(), vec![], nothing).await?, Ok(()));
        let again = move |_| Ok::<_, &str>((vec![first], ()));
        assert!(tables.write(third(), vec![], again).await.is_err());
        assert_eq!(tables.read(all()).await?, both);

        for odd in ["x'00'", "1.5"] {
            let query = Statement::new(format!("SELECT {odd}"), []);
            assert!(tables.read(vec![query]).await.is_err(), "{odd}");
        }
        Ok(())
    }
}
