//! The database interface of the store.
use std::future::Future;

use fugato::{
    BoxError,
    store::{QueryRows, Statement},
};

use super::ScheduleStoreError;

/// The statements to carry out after reading, and the answer. Without statements the transaction is
/// rolled back.
pub(crate) type StoreDecision<T> = Result<(Vec<Statement>, T), ScheduleStoreError>;

/// A database that carries out statements.
pub(crate) trait Database: Send + Sync + 'static {
    /// The SQL that inserts a row unless there is one with its key.
    const INSERT_NEW: &'static str;

    /// The SQL after the columns of a table.
    const TABLE_OPTIONS: &'static str;

    /// Carries out statements, in one transaction as far as the database can.
    fn prepare(
        &self,
        statements: Vec<Statement>,
    ) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Reads a consistent snapshot.
    fn read(
        &self,
        queries: Vec<Statement>,
    ) -> impl Future<Output = Result<Vec<QueryRows>, BoxError>> + Send;

    /// Waits for `lock`, which writers of the same calendar share, then reads, decides and writes,
    /// in one transaction. The transaction may be repeated after a conflict with others.
    fn write<T, F>(
        &self,
        lock: Vec<Statement>,
        queries: Vec<Statement>,
        decide: F,
    ) -> impl Future<Output = Result<Result<T, ScheduleStoreError>, BoxError>> + Send
    where
        T: Send + 'static,
        F: Fn(Vec<QueryRows>) -> StoreDecision<T> + Send + Sync + 'static;
}
