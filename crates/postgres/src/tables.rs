//! Tables of an application.
use fugato_store::{Cell, QueryRows, Statement, StoreError};
use tokio::sync::Mutex;
use tokio_postgres::{
    Client, Error, IsolationLevel, Row, Transaction,
    types::{ToSql, Type},
};

use crate::{
    PostgresOptions,
    connector::{Connector, drive},
};

/// A database with tables of an application, on one connection that is used by one call at a time
/// and reopened when it is lost.
#[derive(derive_more::Debug)]
#[debug("PostgresTables {{ .. }}")]
pub struct PostgresTables {
    connector: Connector,
    client: Mutex<Option<Client>>,
    settings: String,
}

impl PostgresTables {
    /// Creates the tables of a database such as `postgres://user:password@host/database`, without
    /// connecting yet.
    ///
    /// # Errors
    /// Fails if this is no such address. The error does not quote it, because it contains a
    /// password.
    pub fn new(url: &str) -> Result<Self, StoreError> {
        let options = PostgresOptions::default();
        let timeout = options.statement_timeout.as_millis().max(1);
        Ok(Self {
            connector: Connector::new(url, &options)?,
            client: Mutex::new(None),
            settings: format!("SET statement_timeout = {timeout}"),
        })
    }

    /// Runs queries on one consistent snapshot.
    ///
    /// # Errors
    /// Fails if a query fails, or if a value is neither a 64-bit number nor text.
    pub async fn read(&self, queries: Vec<Statement>) -> Result<Vec<QueryRows>, Error> {
        let mut held = self.client.lock().await;
        let client = self.connected(&mut held).await?;
        let transaction = client.build_transaction().read_only(true);
        let transaction = transaction.isolation_level(IsolationLevel::RepeatableRead);
        found(&transaction.start().await?, &queries).await
    }

    /// Runs `first`, reads, decides and writes, in one transaction.
    ///
    /// `first` is a statement that serialises the writers of the same tables, such as `SELECT
    /// pg_advisory_xact_lock(?)`, so that the queries see what the previous writer has committed.
    /// If `decide` refuses or returns no statements, everything is rolled back.
    ///
    /// # Errors
    /// Fails if nothing was written, or if the outcome is unknown. The inner error is the one of
    /// `decide`.
    pub async fn write<T, E>(
        &self,
        first: Vec<Statement>,
        queries: Vec<Statement>,
        decide: impl FnOnce(Vec<QueryRows>) -> Result<(Vec<Statement>, T), E> + Send,
    ) -> Result<Result<T, E>, Error> {
        let mut held = self.client.lock().await;
        let client = self.connected(&mut held).await?;
        let transaction = client.build_transaction();
        let transaction = transaction.isolation_level(IsolationLevel::ReadCommitted);
        let transaction = transaction.start().await?;
        execute(&transaction, &first).await?;
        let (statements, answer) = match decide(found(&transaction, &queries).await?) {
            Ok(decided) => decided,
            Err(refused) => return Ok(Err(refused)),
        };
        if !statements.is_empty() {
            execute(&transaction, &statements).await?;
            transaction.commit().await?;
        }
        Ok(Ok(answer))
    }

    async fn connected<'a>(&self, held: &'a mut Option<Client>) -> Result<&'a mut Client, Error> {
        if held.as_ref().is_none_or(Client::is_closed) {
            let (client, messages) = self.connector.connect().await?;
            // The task ends with its client, whose caller gets the error.
            tokio::spawn(drive(messages));
            client.batch_execute(&self.settings).await?;
            return Ok(held.insert(client));
        }
        Ok(held.as_mut().expect("there is one that is open"))
    }
}

async fn execute(transaction: &Transaction<'_>, statements: &[Statement]) -> Result<(), Error> {
    for statement in statements {
        let (sql, values) = numbered(statement);
        transaction.execute(&sql, &borrowed(&values)).await?;
    }
    Ok(())
}

async fn found(
    transaction: &Transaction<'_>,
    queries: &[Statement],
) -> Result<Vec<QueryRows>, Error> {
    let mut all = vec![];
    for query in queries {
        let (sql, values) = numbered(query);
        let rows = transaction.query(&sql, &borrowed(&values)).await?;
        all.push(rows.iter().map(cells).collect::<Result<_, _>>()?);
    }
    Ok(all)
}

type SentValue = Box<dyn ToSql + Sync + Send>;

fn borrowed(values: &[SentValue]) -> Vec<&(dyn ToSql + Sync)> {
    let values = values.iter();
    values
        .map(|value| &**value as &(dyn ToSql + Sync))
        .collect()
}

fn cells(row: &Row) -> Result<Vec<Cell>, Error> {
    let cell = |(at, column): (usize, &tokio_postgres::Column)| {
        Ok(if *column.type_() == Type::INT8 {
            row.try_get::<_, Option<i64>>(at)?
                .map_or(Cell::Null, Cell::Int)
        } else {
            row.try_get::<_, Option<String>>(at)?
                .map_or(Cell::Null, Cell::Text)
        })
    };
    row.columns().iter().enumerate().map(cell).collect()
}

/// Returns a statement with `$1`, `$2` … in place of each `?`, and the values. Null has no type, so
/// it is written out.
fn numbered(statement: &Statement) -> (String, Vec<SentValue>) {
    let mut parts = statement.sql.split('?');
    let mut sql = parts.next().unwrap_or_default().to_owned();
    let mut values: Vec<SentValue> = vec![];
    for value in &statement.values {
        match value {
            Cell::Null => {}
            Cell::Int(number) => values.push(Box::new(*number)),
            Cell::Text(text) => values.push(Box::new(text.clone())),
        }
        let part = parts.next().unwrap_or_default();
        sql = match value {
            Cell::Null => format!("{sql}NULL{part}"),
            _ => format!("{sql}${}{part}", values.len()),
        };
    }
    // The server refuses a mark without a value.
    parts.for_each(|part| sql = format!("{sql}?{part}"));
    (sql, values)
}
