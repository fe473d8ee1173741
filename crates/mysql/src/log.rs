use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, Record, StoreError, StoreErrorKind,
    ThreadLog, check_page,
};

use crate::{
    MySqlOptions, ServerDurability,
    append::{MAX_SEQ, answer, append},
    clock::StoreClock,
    pool::Pool,
    row::{ReadResult, Row, damaged},
    sql::{Script, hex},
};

/// The logs of many threads in one database of a `MySQL` or `MariaDB` server. Clones share the
/// connections.
///
/// A commit is one transaction, and small ones take one round trip. The durability of an
/// acknowledged commit depends on the settings of the server: see [`durability`](Self::durability).
///
/// A request whose future is dropped may have been carried out or not; its connection is closed,
/// and other requests are not affected. Connections belong to the tokio runtime on which they were
/// made.
#[derive(derive_more::Debug, Clone)]
#[debug("MySqlLog {{ pool: {:?}, .. }}", self.shared.pool)]
pub struct MySqlLog {
    shared: Arc<LogInner>,
}

/// The most times that a page is read which is wrong each time.
const TRIES: u64 = 3;

struct LogInner {
    pool: Pool,
    clock: StoreClock,
}

impl MySqlLog {
    /// Connects to a database, `mysql://user:password@host:port/database`, and creates missing
    /// tables.
    ///
    /// # Errors
    /// `Invalid` for a URL that cannot be used, a wrong password, a missing database or privilege,
    /// and a server that is too old or whose settings do not suffice; the message names the
    /// setting. `Corrupt` if the tables have a newer version. `Unavailable` if the server does not
    /// answer in time. No message contains the password.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, MySqlOptions::default()).await
    }

    /// Connects with options; see [`connect`](Self::connect).
    pub async fn connect_with(url: &str, options: MySqlOptions) -> Result<Self, StoreError> {
        let clock = StoreClock::new(options.clock.clone());
        let pool = Pool::open(url, options).await?;
        Ok(Self {
            shared: Arc::new(LogInner { pool, clock }),
        })
    }

    /// Returns the durability of acknowledged commits, by the settings that the server reported
    /// when the newest connection was made.
    pub fn durability(&self) -> ServerDurability {
        self.shared.pool.durability()
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.shared.pool
    }

    pub(crate) fn clock(&self) -> &StoreClock {
        &self.shared.clock
    }

    /// Runs a script on a thread, and reads its one row.
    pub(crate) async fn ask<T>(
        &self,
        thread: &ThreadId,
        script: &Script,
        operation: &'static str,
        read: impl FnOnce(Row) -> ReadResult<T> + Send,
    ) -> Result<T, StoreError> {
        self.ask_all(thread, script, operation, |rows| {
            let row = rows.into_iter().next();
            read(row.ok_or_else(|| damaged("there is no row"))?)
        })
        .await
    }

    /// Runs a script on a thread, and reads all of its rows.
    pub(crate) async fn ask_all<T>(
        &self,
        thread: &ThreadId,
        script: &Script,
        operation: &'static str,
        read: impl FnOnce(Vec<Row>) -> ReadResult<T> + Send,
    ) -> Result<T, StoreError> {
        let rows = self.pool().run(script, operation).await;
        let read = rows.and_then(|rows| {
            let read = read(rows);
            read.map_err(|kind| StoreError::new(kind, operation))
        });
        read.map_err(|error| error.on(thread))
    }
}

#[async_trait]
impl ThreadLog for MySqlLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let failed = |kind| StoreError::new(kind, "append").on(thread);
        let head = commit.expect.head;
        commit.check_size().map_err(failed)?;
        // A writer that expects a head past the last position gets a conflict anyway.
        if head <= MAX_SEQ {
            commit.check_end(head, MAX_SEQ).map_err(failed)?;
        }
        let script = append(thread, commit, self.clock());
        let read = |row| answer(row, commit, head, false, self.clock());
        self.ask(thread, &script, "append", read).await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let from = from.max(1);
        let name = hex(thread.as_str().as_bytes());
        let mut script = Script::default();
        // One statement reads one consistent state. A thread without such records gives a row of
        // nulls.
        script.add(&format!(
            "SELECT t.base,r.seq,r.body FROM fugato_thread t \
             LEFT JOIN fugato_record r ON r.thread=t.id AND r.seq>={from} \
             WHERE t.name={name} ORDER BY r.seq LIMIT {}",
            limit.max(1)
        ));
        let read = |rows: Vec<Row>| {
            let mut records = vec![];
            for mut row in rows {
                let base = row.number()?;
                if from <= base {
                    return Err(StoreErrorKind::Compacted { base });
                }
                if let (Some(seq), Some(body)) = (row.maybe_number()?, row.maybe_bytes()?) {
                    records.push((seq, Record(body)));
                }
            }
            records.truncate(limit);
            check_page(from, &records)?;
            Ok(records)
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let records = self.ask_all(thread, &script, "read", read).await;
            // Right after it came back from a crash, a MariaDB 10.11 has given a row twice, though
            // the thread and the position are its primary key.
            match records {
                Err(error) if matches!(error.kind, StoreErrorKind::Corrupt(_)) && tries < TRIES => {
                    tokio::time::sleep(Duration::from_millis(tries)).await;
                }
                records => return records,
            }
        }
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        let name = hex(thread.as_str().as_bytes());
        let mut script = Script::default();
        script.add(&format!(
            "SELECT {},head,base,fence,nonce,status,till,lease FROM fugato_thread \
             WHERE name={name} AND status IS NOT NULL",
            self.clock().now("seen")
        ));
        self.ask_all(thread, &script, "read the head of", |rows| {
            let head = rows.into_iter().next().map(|mut row| {
                let now = self.clock().see(row.number()?);
                Ok(Head {
                    now,
                    seq: row.number()?,
                    base: row.number()?,
                    fence: row.number()?,
                    nonce: row.nonce()?,
                    status: row.status()?,
                    leased_until: row.maybe_number()?.filter(|until| *until > now),
                })
            });
            head.transpose()
        })
        .await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        self.lease_for(request).await
    }
}
