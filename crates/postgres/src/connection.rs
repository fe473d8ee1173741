//! One connection of the pool, as long as a request uses it.
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::time::timeout;
use tokio_postgres::{Error, Row, error::SqlState, types::ToSql};

use crate::error::Failed;

/// How much longer than the server itself a request waits for its word.
const GRACE: Duration = Duration::from_secs(2);

/// A connection that goes back to the pool only if nothing is under way on it.
///
/// A request that is dropped midway, or that nobody answered, would leave its statement or
/// transaction to whoever uses the connection next; so such a connection is closed instead.
#[derive(Debug)]
pub(crate) struct Connection {
    client: Option<Object>,
    patience: Duration,
    /// Whether a statement was sent and its answer has not come, or a transaction is open.
    pending: bool,
    in_transaction: bool,
}

impl Connection {
    pub(crate) fn new(client: Object, statement_timeout: Duration) -> Self {
        Self {
            client: Some(client),
            patience: statement_timeout.saturating_add(GRACE),
            pending: false,
            in_transaction: false,
        }
    }

    /// Carries out a statement, which is prepared the first time, and returns its rows.
    pub(crate) async fn rows(
        &mut self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failed> {
        self.pending = true;
        let client = self.client();
        let asked = async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, parameters).await
        };
        let answered = timeout(self.patience, asked).await;
        self.settle(answered.map_err(|_| Failed::Silence(self.patience))?)
    }

    /// The same where there is one row or none.
    pub(crate) async fn maybe(
        &mut self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, Failed> {
        Ok(self.rows(sql, parameters).await?.into_iter().next())
    }

    /// The same where there is one row.
    pub(crate) async fn row(
        &mut self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Failed> {
        let row = self.maybe(sql, parameters).await?;
        row.ok_or_else(|| Failed::Damaged("a row is missing that was always there".into()))
    }

    /// Carries out statements without parameters, of which only success matters.
    pub(crate) async fn batch(&mut self, sql: &str) -> Result<(), Failed> {
        self.pending = true;
        let asked = self.client().batch_execute(sql);
        let answered = timeout(self.patience, asked).await;
        self.settle(answered.map_err(|_| Failed::Silence(self.patience))?)
    }

    pub(crate) async fn begin(&mut self) -> Result<(), Failed> {
        self.in_transaction = true;
        self.batch("BEGIN").await
    }

    pub(crate) async fn commit(&mut self) -> Result<(), Failed> {
        self.batch("COMMIT").await?;
        self.in_transaction = false;
        Ok(())
    }

    pub(crate) async fn roll_back(&mut self) -> Result<(), Failed> {
        self.batch("ROLLBACK").await?;
        self.in_transaction = false;
        Ok(())
    }

    /// An answer came. After some of them the connection is of no use any more.
    fn settle<T>(&mut self, answer: Result<T, Error>) -> Result<T, Failed> {
        self.pending = answer.as_ref().is_err_and(leaves_it_useless);
        Ok(answer?)
    }

    fn client(&self) -> &Object {
        self.client.as_ref().expect("it is taken only when dropped")
    }
}

/// Whether a connection is of no use after this.
fn leaves_it_useless(error: &Error) -> bool {
    let Some(code) = error.code() else {
        // It broke, or the two no longer understand each other.
        return true;
    };
    // A prepared statement that the server forgot, or that was prepared for another table.
    let forgotten = [
        SqlState::INVALID_SQL_STATEMENT_NAME,
        SqlState::FEATURE_NOT_SUPPORTED,
    ];
    // The server is about to end it: it stops, or an operator said so.
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
            // What is taken from the pool is closed when it is dropped.
            drop(Object::take(client));
        }
    }
}
