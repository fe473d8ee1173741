//! What the store needs of a database.
use std::future::Future;

use fugato::{
    BoxError,
    store::{Found, Statement},
};

use super::ScheduleStoreError;

/// What shall be written after what was read, and the answer. To write nothing takes everything
/// back.
pub(crate) type Decided<T> = Result<(Vec<Statement>, T), ScheduleStoreError>;

/// A database that carries out statements.
pub(crate) trait Database: Send + Sync + 'static {
    /// How a row is inserted unless there is one of its key.
    const INSERT_NEW: &'static str;

    /// What follows the columns of a table.
    const TABLE_OPTIONS: &'static str;

    /// Carries out statements, in one transaction as far as the database can.
    fn prepare(
        &self,
        statements: Vec<Statement>,
    ) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Reads, as everything was at one moment.
    fn read(
        &self,
        queries: Vec<Statement>,
    ) -> impl Future<Output = Result<Vec<Found>, BoxError>> + Send;

    /// Waits for `lock`, which writers of the same thing share, then reads, decides and writes, in
    /// one transaction. It may be tried again when others are in its way.
    fn write<T, F>(
        &self,
        lock: Vec<Statement>,
        queries: Vec<Statement>,
        decide: F,
    ) -> impl Future<Output = Result<Result<T, ScheduleStoreError>, BoxError>> + Send
    where
        T: Send + 'static,
        F: Fn(Vec<Found>) -> Decided<T> + Send + Sync + 'static;
}
