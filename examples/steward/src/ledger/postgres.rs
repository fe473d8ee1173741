//! The tables on a PostgreSQL server, over an unencrypted connection.
use fugato::{
    BoxError,
    store::{Cell, Found, Statement},
};
use tokio::sync::Mutex;
use tokio_postgres::{
    Client, Config, NoTls, Row, Transaction,
    types::{ToSql, Type},
};

use super::sql::Database;

/// A server. Its connection is used by one at a time, and made anew when it is lost.
pub(super) struct Postgres {
    config: Config,
    client: Mutex<Option<Client>>,
}

/// Writers of these tables wait for each other under this number.
const LOCK: i64 = 0x7374_6577_6172_6401;

impl Postgres {
    pub(super) fn new(address: &str) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            config: address.parse()?,
            client: Mutex::new(None),
        })
    }

    async fn connect(&self) -> Result<Client, BoxError> {
        let (client, connection) = self.config.connect(NoTls).await?;
        // It ends with its client, and whoever uses the client is told why.
        tokio::spawn(async move { drop(connection.await) });
        Ok(client)
    }
}

impl Database for Postgres {
    async fn transact<T: Send + 'static>(
        &self,
        queries: Vec<Statement>,
        decide: impl FnOnce(Vec<Found>) -> (Vec<Statement>, T) + Send + 'static,
    ) -> Result<T, BoxError> {
        let mut held = self.client.lock().await;
        let client = match held.as_mut().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => held.insert(self.connect().await?),
        };
        let transaction = client.transaction().await?;
        transaction
            .execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
            .await?;
        let mut found = vec![];
        for query in &queries {
            found.push(read(&transaction, query).await?);
        }
        let (statements, answer) = decide(found);
        for statement in &statements {
            let values = statement.values.iter().map(value).collect::<Vec<_>>();
            transaction
                .execute(&numbered(&statement.sql), &borrowed(&values))
                .await?;
        }
        transaction.commit().await?;
        Ok(answer)
    }
}

async fn read(transaction: &Transaction<'_>, query: &Statement) -> Result<Found, BoxError> {
    let values = query.values.iter().map(value).collect::<Vec<_>>();
    let rows = transaction
        .query(&numbered(&query.sql), &borrowed(&values))
        .await?;
    rows.iter().map(cells).collect()
}

type Sent = Box<dyn ToSql + Sync + Send>;

fn value(cell: &Cell) -> Sent {
    match cell {
        Cell::Null => Box::new(None::<String>),
        Cell::Int(number) => Box::new(*number),
        Cell::Text(text) => Box::new(text.clone()),
    }
}

fn borrowed(values: &[Sent]) -> Vec<&(dyn ToSql + Sync)> {
    values
        .iter()
        .map(|value| &**value as &(dyn ToSql + Sync))
        .collect()
}

fn cells(row: &Row) -> Result<Vec<Cell>, BoxError> {
    let columns = row.columns().iter().enumerate();
    let cell = |(at, column): (usize, &tokio_postgres::Column)| {
        Ok(if *column.type_() == Type::INT8 {
            row.try_get::<_, Option<i64>>(at)?
                .map_or(Cell::Null, Cell::Int)
        } else {
            row.try_get::<_, Option<String>>(at)?
                .map_or(Cell::Null, Cell::Text)
        })
    };
    columns.map(cell).collect()
}

/// `$1`, `$2` … in place of each `?`.
fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .enumerate()
        .fold(first, |sql, (nth, part)| format!("{sql}${}{part}", nth + 1))
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}
