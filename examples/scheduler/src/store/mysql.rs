//! Calendars in a MySQL or MariaDB database.
use std::{future::Future, time::Duration};

use fugato::{
    BoxError,
    store::{Cell, QueryRows, Statement},
};
use mysql_async::{
    IsolationLevel, Opts, OptsBuilder, Params, Pool, TxOpts, Value, prelude::Queryable,
};

use super::{
    ScheduleStoreError,
    database::{Database, StoreDecision},
};

/// The timeout of a request.
const PATIENCE: Duration = Duration::from_secs(15);

/// The number of attempts for a transaction that conflicts with others.
const TRIES: u32 = 20;

/// The server error codes of a transaction that conflicted with another, or waited too long for
/// one.
const IN_THE_WAY: [u16; 3] = [1020, 1205, 1213];

/// A database of a server.
#[derive(Debug)]
pub(crate) struct MySql(Pool);

impl MySql {
    pub(crate) fn new(opts: Opts) -> Self {
        // The given address is used, even if the server suggests a shorter way.
        let opts = OptsBuilder::from_opts(opts)
            .prefer_socket(false)
            .setup(vec![
                "SET NAMES utf8mb4",
                "SET SESSION sql_mode='STRICT_ALL_TABLES',autocommit=1",
            ]);
        Self(Pool::new(opts))
    }
}

impl Database for MySql {
    const INSERT_NEW: &'static str = "INSERT IGNORE INTO";
    const TABLE_OPTIONS: &'static str =
        "ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

    async fn prepare(&self, statements: Vec<Statement>) -> Result<(), BoxError> {
        in_time(async {
            // A table is created at once, independent of the transaction.
            let mut conn = self.0.get_conn().await?;
            run(&mut conn, &statements).await
        })
        .await
    }

    async fn read(&self, queries: Vec<Statement>) -> Result<Vec<QueryRows>, BoxError> {
        in_time(async {
            let mut options = TxOpts::default();
            options
                .with_isolation_level(IsolationLevel::RepeatableRead)
                .with_consistent_snapshot(true);
            let mut transaction = self.0.start_transaction(options).await?;
            let found = query(&mut transaction, &queries).await?;
            transaction.rollback().await?;
            Ok(found)
        })
        .await
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
        in_time(async {
            let mut tries = 0;
            loop {
                tries += 1;
                match self.once(&lock, &queries, &decide).await {
                    Err(error) if tries < TRIES && is_in_the_way(&error) => {
                        tokio::time::sleep(Duration::from_millis(tries.into())).await;
                    }
                    done => return done,
                }
            }
        })
        .await
    }
}

impl MySql {
    async fn once<T>(
        &self,
        lock: &[Statement],
        queries: &[Statement],
        decide: impl Fn(Vec<QueryRows>) -> StoreDecision<T>,
    ) -> Result<Result<T, ScheduleStoreError>, BoxError> {
        let mut options = TxOpts::default();
        // With the lock held, it reads the writes of the previous holder.
        options.with_isolation_level(IsolationLevel::ReadCommitted);
        // A transaction that is dropped is rolled back before its connection is used again.
        let mut transaction = self.0.start_transaction(options).await?;
        run(&mut transaction, lock).await?;
        let (statements, answer) = match decide(query(&mut transaction, queries).await?) {
            Ok(decided) => decided,
            Err(error) => {
                transaction.rollback().await?;
                return Ok(Err(error));
            }
        };
        if statements.is_empty() {
            transaction.rollback().await?;
        } else {
            run(&mut transaction, &statements).await?;
            transaction.commit().await?;
        }
        Ok(Ok(answer))
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, BoxError>>) -> Result<T, BoxError> {
    let late = |_| BoxError::from(format!("no answer within {PATIENCE:?}"));
    tokio::time::timeout(PATIENCE, work).await.map_err(late)?
}

fn is_in_the_way(error: &BoxError) -> bool {
    match error.downcast_ref() {
        Some(mysql_async::Error::Server(error)) => IN_THE_WAY.contains(&error.code),
        _ => false,
    }
}

async fn run(conn: &mut impl Exec, statements: &[Statement]) -> Result<(), BoxError> {
    for statement in statements {
        conn.exec_drop(statement.sql.as_str(), values(statement))
            .await?;
    }
    Ok(())
}

async fn query(conn: &mut impl Exec, queries: &[Statement]) -> Result<Vec<QueryRows>, BoxError> {
    let mut all = vec![];
    for statement in queries {
        let rows: Vec<mysql_async::Row> =
            conn.exec(statement.sql.as_str(), values(statement)).await?;
        let cells = |row: mysql_async::Row| row.unwrap().into_iter().map(cell).collect();
        all.push(rows.into_iter().map(cells).collect::<Result<_, _>>()?);
    }
    Ok(all)
}

trait Exec: Queryable + Send {}
impl<T: Queryable + Send> Exec for T {}

fn values(statement: &Statement) -> Params {
    let value = |cell: &Cell| match cell {
        Cell::Null => Value::NULL,
        Cell::Int(number) => Value::Int(*number),
        Cell::Text(text) => Value::Bytes(text.clone().into_bytes()),
    };
    match &statement.values[..] {
        [] => Params::Empty,
        values => Params::Positional(values.iter().map(value).collect()),
    }
}

fn cell(value: Value) -> Result<Cell, BoxError> {
    Ok(match value {
        Value::NULL => Cell::Null,
        Value::Int(number) => Cell::Int(number),
        Value::UInt(number) => Cell::Int(number.try_into()?),
        Value::Bytes(bytes) => Cell::Text(String::from_utf8(bytes)?),
        _ => return Err("a value is neither a whole number nor text".into()),
    })
}
