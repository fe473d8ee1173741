//! The tables in an SQLite database.
use fugato::{
    BoxError,
    sqlite::SqliteTables,
    store::{Found, Statement},
};

use super::sql::Database;

impl Database for SqliteTables {
    async fn transact<T: Send + 'static>(
        &self,
        queries: Vec<Statement>,
        decide: impl FnOnce(Vec<Found>) -> (Vec<Statement>, T) + Send + 'static,
    ) -> Result<T, BoxError> {
        let decide = |found| Ok::<_, BoxError>(decide(found));
        self.write(vec![], queries, decide).await?
    }
}
