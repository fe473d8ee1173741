//! Calendars in an SQLite database.
use fugato::{
    BoxError,
    sqlite::SqliteTables,
    store::{QueryRows, Statement},
};

use super::{
    ScheduleStoreError,
    database::{Database, StoreDecision},
};

impl Database for SqliteTables {
    const INSERT_NEW: &'static str = "INSERT OR IGNORE INTO";
    const TABLE_OPTIONS: &'static str = "";

    async fn prepare(&self, statements: Vec<Statement>) -> Result<(), BoxError> {
        let made = |_| Ok::<_, BoxError>((statements, ()));
        self.write(vec![], vec![], made).await?
    }

    async fn read(&self, queries: Vec<Statement>) -> Result<Vec<QueryRows>, BoxError> {
        Ok(self.read(queries).await?)
    }

    async fn write<T, F>(
        &self,
        lock: Vec<Statement>,
        queries: Vec<Statement>,
        decide: F,
    ) -> Result<Result<T, ScheduleStoreError>, BoxError>
    where
        T: Send + 'static,
        F: Fn(Vec<QueryRows>) -> StoreDecision<T> + Send + Sync + 'static,
    {
        Ok(self.write(lock, queries, decide).await?)
    }
}
