//! A pooled connection while a request uses it.
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::time::timeout;
use tokio_postgres::{Error, Row, error::SqlState, types::ToSql};

use crate::error::RequestError;

/// The time that a request waits for an answer after the server's own timeout.
const GRACE: Duration = Duration::from_secs(2);

/// A connection that returns to the pool only if no statement and no transaction is open on it.
///
/// A cancelled or unanswered request would leave its statement or transaction to the next user of
/// the connection, so such a connection is closed instead.
#[derive(Debug)]
pub(crate) struct Connection {
    client: Option<Object>,
    timeout: Duration,
    /// True if a statement was sent and is unanswered, or if the connection is unusable.
    pending: bool,
    in_transaction: bool,
}

impl Connection {
    pub(crate) fn new(client: Object, statement_timeout: Duration) -> Self {
        Self {
            client: Some(client),
            timeout: statement_timeout.saturating_add(GRACE),
            pending: false,
            in_transaction: false,
        }
    }

    /// Executes a statement, which is prepared the first time, and returns its rows.
    pub(crate) async fn rows(
        &mut self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, RequestError> {
        self.pending = true;
        let client = self.client();
        let asked = async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, parameters).await
        };
        let answered = timeout(self.timeout, asked).await;
        self.settle(answered.map_err(|_| RequestError::Silence(self.timeout))?)
    }

    /// Executes a statement with at most one row.
    pub(crate) async fn maybe(
        &mut self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, RequestError> {
        Ok(self.rows(sql, parameters).await?.into_iter().next())
    }

    /// Executes a statement with exactly one row.
    pub(crate) async fn row(
        &mut self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, RequestError> {
        let row = self.maybe(sql, parameters).await?;
        row.ok_or_else(|| RequestError::Damaged("a row is missing that was always there".into()))
    }

    /// Executes statements without parameters and results.
    pub(crate) async fn batch(&mut self, sql: &str) -> Result<(), RequestError> {
        self.pending = true;
        let asked = self.client().batch_execute(sql);
        let answered = timeout(self.timeout, asked).await;
        self.settle(answered.map_err(|_| RequestError::Silence(self.timeout))?)
    }

    pub(crate) async fn begin(&mut self) -> Result<(), RequestError> {
        self.in_transaction = true;
        self.batch("BEGIN").await
    }

    pub(crate) async fn commit(&mut self) -> Result<(), RequestError> {
        self.batch("COMMIT").await?;
        self.in_transaction = false;
        Ok(())
    }

    pub(crate) async fn roll_back(&mut self) -> Result<(), RequestError> {
        self.batch("ROLLBACK").await?;
        self.in_transaction = false;
        Ok(())
    }

    /// Handles an answer. After some errors the connection is not used again.
    fn settle<T>(&mut self, answer: Result<T, Error>) -> Result<T, RequestError> {
        self.pending = answer.as_ref().is_err_and(leaves_it_useless);
        Ok(answer?)
    }

    fn client(&self) -> &Object {
        self.client.as_ref().expect("it is taken only when dropped")
    }
}

/// Returns true if the connection cannot be used after this error.
fn leaves_it_useless(error: &Error) -> bool {
    let Some(code) = error.code() else {
        // The connection broke, or the protocol is out of step.
        return true;
    };
    // A prepared statement that the server dropped, or that was prepared for another table.
    let forgotten = [
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::FEATURE_NOT_SUPPORTED,
    ];
    // The server is about to end the connection: it stops, or an operator ended it.
    let ends = ["08", "57P"]
        .iter()
        .any(|class| code.code().starts_with(class));
    ends || forgotten.contains(code)
}

impl Drop for Connection {
    fn drop(&mut self) {
        if (self.pending || self.in_transaction)
            && let Some(client) = self.client.take()
        {
            // An object taken from the pool is closed when it is dropped.
            drop(Object::take(client));
        }
    }
}
