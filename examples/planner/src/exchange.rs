//! The desk: a simulated exchange, the accounts on it, and what is configured, in one SQLite file.
//!
//! It is outside of all conversations: other programs change it, and so does time.
mod account;
mod book;
mod config;
mod orders;
mod schema;

use std::{
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use fugato::{
    sqlite::{
        SqliteTables, is_full,
        rusqlite::{self, Error, MAIN_DB, Params, Row, Transaction, TransactionBehavior},
    },
    state::{Lang, Millis, say},
};
use thiserror::Error;

use book::{Book, Replay};

pub use self::{
    account::{Balance, Position, Trade},
    book::{Price, Side},
    config::{Config, Kind, Trader},
    orders::{NewOrder, Order, OrderStatus},
};

/// A desk. Clones are the same desk.
#[derive(derive_more::Debug, Clone)]
#[debug("Exchange {{ .. }}")]
pub struct Exchange {
    tables: SqliteTables,
    replay: Arc<Replay>,
    clock: Arc<Clock>,
}

type Clock = dyn Fn() -> Millis + Send + Sync;

/// A failure of the desk. The text of a [`Refused`](Self::Refused) is meant for the person.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// It is not possible as things are now; nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// The file with the order book cannot be used.
    #[error("{}", say!("line {line} of the book cannot be used: {why}", "订单簿第 {line} 行无法使用：{why}"))]
    Book {
        /// The line, from 1.
        line: usize,
        /// The reason.
        why: String,
    },
    /// The sample with which a new desk begins cannot be used.
    #[error("what the desk begins with cannot be used")]
    Beginning(#[from] toml::de::Error),
    /// No space is left; nothing was changed.
    #[error("{}", say!("no space is left for the desk", "交易台没有空间了"))]
    Full(#[source] Error),
    /// The database cannot be used.
    #[error("{}", say!("the database of the desk cannot be used", "交易台的数据库无法使用"))]
    Database(#[source] Error),
}

impl From<Error> for ExchangeError {
    fn from(error: Error) -> Self {
        if is_full(&error) {
            Self::Full(error)
        } else {
            Self::Database(error)
        }
    }
}

/// The initial content of a new desk.
const BEGINNING: &str = include_str!("../sample/desk.toml");
/// The order book of the sample.
const BOOK: &str = include_str!("../sample/book.jsonl");

impl Exchange {
    /// Opens a desk, or makes a new one with what is in `sample/`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ExchangeError> {
        Self::over(SqliteTables::open(path)?)
    }

    /// Creates a desk in memory, which is lost with its last clone.
    pub fn in_memory() -> Result<Self, ExchangeError> {
        Self::over(SqliteTables::in_memory()?)
    }

    fn over(tables: SqliteTables) -> Result<Self, ExchangeError> {
        tables.with_now(|connection| {
            // A desk that can only be read was made before.
            if connection.is_readonly(MAIN_DB)? {
                return Ok(());
            }
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            schema::prepare(&transaction, BEGINNING)?;
            Ok::<_, ExchangeError>(transaction.commit()?)
        })?;
        Ok(Self {
            tables,
            replay: Arc::new(Replay::read(BOOK)?),
            clock: Arc::new(|| {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                Millis::try_from(since.unwrap_or_default().as_millis()).unwrap_or(Millis::MAX)
            }),
        })
    }

    fugato::state::setters! {
        /// Sets the clock, in milliseconds since the Unix epoch.
        pub fn clock(clock: impl Fn() -> Millis + Send + Sync + 'static) { clock = Arc::new(clock) }
    }

    /// Returns the best offers for all symbols, now.
    pub async fn prices(&self) -> Result<Vec<Price>, ExchangeError> {
        self.with(|moment| Ok(moment.book.prices())).await
    }

    /// Runs some work on the desk as it is now, after it has settled the open orders up to now.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ExchangeState<'_>) -> Result<T, ExchangeError> + Send + 'static,
    ) -> Result<T, ExchangeError> {
        let (desk, lang) = (self.clone(), Lang::current());
        let done = self.tables.with(move |connection| {
            let behavior = TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(behavior)?;
            let now = (desk.clock)();
            let mut moment = ExchangeState {
                transaction: &transaction,
                book: Book::default(),
                now,
            };
            let (began, settled) = (moment.mark("began")?, moment.mark("settled")?);
            let elapsed = |at: Millis| at.saturating_sub(began).max(0);
            for at in desk.replay.moments(elapsed(settled), elapsed(now)) {
                (moment.book, moment.now) = (desk.replay.at(at), began + at);
                moment.settle()?;
            }
            (moment.book, moment.now) = (desk.replay.at(elapsed(now)), now);
            moment.set_mark("settled", now.max(settled))?;
            let result = lang.scope(|| work(&moment))?;
            transaction.commit()?;
            Ok(result)
        });
        done.await
    }
}

/// The desk at one time, within a transaction.
struct ExchangeState<'a> {
    transaction: &'a Transaction<'a>,
    book: Book,
    now: Millis,
}

impl ExchangeState<'_> {
    /// Returns the rows of a query.
    fn rows<T>(
        &self,
        query: &str,
        parameters: impl Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, ExchangeError> {
        let mut prepared = self.transaction.prepare_cached(query)?;
        let rows = prepared.query_map(parameters, read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Runs a statement, and returns the number of changed rows.
    fn write(&self, statement: &str, parameters: impl Params) -> Result<usize, ExchangeError> {
        Ok(self.transaction.execute(statement, parameters)?)
    }

    /// Returns a stored time. If there is none, it stores the present time.
    fn mark(&self, name: &str) -> Result<Millis, ExchangeError> {
        let query = "SELECT at FROM marks WHERE name = ?1";
        match self.rows(query, [name], |row| row.get(0))?.pop() {
            Some(at) => Ok(at),
            None => self.set_mark(name, self.now).map(|()| self.now),
        }
    }

    fn set_mark(&self, name: &str, at: Millis) -> Result<(), ExchangeError> {
        let insert = "INSERT OR REPLACE INTO marks (name, at) VALUES (?1, ?2)";
        self.write(insert, (name, at)).map(drop)
    }
}

fn refused<T>(why: impl Into<String>) -> Result<T, ExchangeError> {
    Err(ExchangeError::Refused(why.into()))
}
