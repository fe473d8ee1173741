//! Tables of a program's own.
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, Error};

/// How long another process may write.
const BUSY: Duration = Duration::from_secs(10);

/// A file with tables of a program's own. Clones use the same connection, one at a time.
#[derive(Debug, Clone)]
pub struct SqliteTables(Arc<Mutex<Connection>>);

impl SqliteTables {
    /// Opens a file, or makes a new one. What was committed to it is on the disk.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::over(Connection::open(path)?)
    }

    /// Tables that are gone with the last clone.
    ///
    /// # Errors
    /// Why they cannot be made.
    pub fn in_memory() -> Result<Self, Error> {
        Self::over(Connection::open_in_memory()?)
    }

    fn over(connection: Connection) -> Result<Self, Error> {
        connection.busy_timeout(BUSY)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Does something with the connection, on this thread.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn with_now<T, E>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        // A transaction that panicked was rolled back when it was dropped.
        let mut connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut connection)
    }

    /// Does something with the connection, on a thread that may wait for the disk.
    ///
    /// # Errors
    /// Those of `work`.
    ///
    /// # Panics
    /// If `work` does. Its transaction is rolled back, and the tables can be used again.
    pub async fn with<T, E>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let tables = self.clone();
        match tokio::task::spawn_blocking(move || tables.with_now(work)).await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and whoever waits here with it.
                Err(_) => std::future::pending().await,
            },
        }
    }
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
}
