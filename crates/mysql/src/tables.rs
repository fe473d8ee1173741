//! Tables of an application.
use std::{borrow::Cow, future::Future, time::Duration};

use fugato_store::{Cell, QueryRows, Statement, StoreError, StoreErrorKind};
use mysql_async::{
    Conn, Error, IsolationLevel, OptsBuilder, Params, Pool, TxOpts, Value, prelude::Queryable,
};

use crate::{
    MySqlOptions,
    error::{store_error, was_in_the_way},
    server::{opts, settings_of_a_session},
};

/// The most attempts of a transaction that conflicts with others.
const TRIES: u32 = 20;

/// The form of a new table: every text compares by its bytes.
const FORM: &str = "ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// A database with tables of an application.
///
/// A column of the type `TEXT` in a `CREATE TABLE` holds a text of any length, as in other
/// databases. A text in a key needs a length, such as `VARCHAR(190)`.
#[derive(derive_more::Debug)]
#[debug("MySqlTables {{ .. }}")]
pub struct MySqlTables {
    pool: Pool,
    timeout: Duration,
}

impl MySqlTables {
    /// Creates the tables of a database such as `mysql://user:password@host/database`, without
    /// connecting yet.
    ///
    /// # Errors
    /// Fails if this is no such address. The error does not quote it, because it contains a
    /// password.
    pub fn new(url: &str) -> Result<Self, StoreError> {
        let options = MySqlOptions::default();
        let opts = OptsBuilder::from_opts(opts(url, &options)?);
        Ok(Self {
            pool: Pool::new(opts.setup(vec![settings_of_a_session(&options)])),
            timeout: options.timeout,
        })
    }

    /// Runs queries on one consistent snapshot.
    ///
    /// # Errors
    /// Fails if a query fails, or if a value is neither a whole number nor text.
    pub async fn read(&self, queries: Vec<Statement>) -> Result<Vec<QueryRows>, StoreError> {
        let read = async {
            let mut options = TxOpts::default();
            options
                .with_isolation_level(IsolationLevel::RepeatableRead)
                .with_consistent_snapshot(true);
            let mut transaction = self.pool.start_transaction(options).await?;
            let rows = found(&mut transaction, &queries).await?;
            transaction.rollback().await?;
            Ok(rows)
        };
        self.in_time("read tables", read).await
    }

    /// Reads, decides and writes in one transaction. Writers of the database under the same number
    /// `lock` wait for each other. A transaction that conflicts with others is repeated, and so is
    /// `decide`. If it refuses or returns no statements, everything is rolled back.
    ///
    /// # Errors
    /// Fails if nothing was written, or if the outcome is unknown. The inner error is the one of
    /// `decide`.
    pub async fn write<T, E>(
        &self,
        lock: i64,
        queries: Vec<Statement>,
        decide: impl Fn(Vec<QueryRows>) -> Result<(Vec<Statement>, T), E> + Send + Sync,
    ) -> Result<Result<T, E>, StoreError> {
        let write = async {
            let mut conn = self.pool.get_conn().await?;
            // The names of locks are those of the whole server.
            let name = "CONCAT('fugato-', CRC32(DATABASE()), '-', ?)";
            let take = format!("SELECT GET_LOCK({name}, ?)");
            let held = conn
                .exec_first(take, (lock, self.timeout.as_secs()))
                .await?;
            if held != Some(Some(1)) {
                return Err(Error::Other("another writer holds the lock".into()));
            }
            let mut tries = 0;
            let written = loop {
                tries += 1;
                match once(&mut conn, &queries, &decide).await {
                    Err(error) if tries < TRIES && was_in_the_way(&error) => {
                        tokio::time::sleep(Duration::from_millis(tries.into())).await;
                    }
                    done => break done,
                }
            };
            // A connection that is lost, or whose call is cancelled, gives it back by itself.
            let release = format!("SELECT RELEASE_LOCK({name})");
            let _ = conn.exec_drop(release, (lock,)).await;
            written
        };
        self.in_time("write tables", write).await
    }

    async fn in_time<T>(
        &self,
        operation: &'static str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        match tokio::time::timeout(self.timeout, work).await {
            Ok(done) => done.map_err(|error| store_error(error, operation)),
            Err(late) => Err(StoreError::new(StoreErrorKind::Unavailable, operation).because(late)),
        }
    }
}

async fn once<T, E>(
    conn: &mut Conn,
    queries: &[Statement],
    decide: &(impl Fn(Vec<QueryRows>) -> Result<(Vec<Statement>, T), E> + Sync),
) -> Result<Result<T, E>, Error> {
    // With the lock held, it reads what the previous holder wrote.
    let mut options = TxOpts::default();
    options.with_isolation_level(IsolationLevel::ReadCommitted);
    let mut transaction = conn.start_transaction(options).await?;
    let decided = decide(found(&mut transaction, queries).await?);
    let statements = decided
        .as_ref()
        .map_or(&[][..], |(statements, _)| statements);
    for statement in statements {
        let sql = completed(&statement.sql);
        transaction.exec_drop(&*sql, values(statement)).await?;
    }
    if statements.is_empty() {
        transaction.rollback().await?;
    } else {
        transaction.commit().await?;
    }
    Ok(decided.map(|(_, answer)| answer))
}

/// Returns a statement with the form of a table that it creates.
fn completed(sql: &str) -> Cow<'_, str> {
    if sql.starts_with("CREATE TABLE") {
        Cow::Owned(format!("{} {FORM}", sql.replace(" TEXT", " LONGTEXT")))
    } else {
        Cow::Borrowed(sql)
    }
}

async fn found(conn: &mut impl Queryable, queries: &[Statement]) -> Result<Vec<QueryRows>, Error> {
    let mut all = vec![];
    for query in queries {
        let rows: Vec<mysql_async::Row> = conn.exec(&*query.sql, values(query)).await?;
        let cells = |row: mysql_async::Row| row.unwrap().into_iter().map(cell).collect();
        all.push(rows.into_iter().map(cells).collect::<Result<_, _>>()?);
    }
    Ok(all)
}

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

fn cell(value: Value) -> Result<Cell, Error> {
    let odd = || Error::Other("a value is neither a whole number nor text".into());
    Ok(match value {
        Value::NULL => Cell::Null,
        Value::Int(number) => Cell::Int(number),
        Value::UInt(number) => Cell::Int(number.try_into().map_err(|_| odd())?),
        Value::Bytes(bytes) => Cell::Text(String::from_utf8(bytes).map_err(|_| odd())?),
        _ => return Err(odd()),
    })
}
