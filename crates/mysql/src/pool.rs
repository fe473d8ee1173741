//! A pool of connections, each used by one request at a time.
use std::{
    future::Future,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use fugato_store::{StoreError, StoreErrorKind};
use mysql_async::{Conn, Opts, prelude::Queryable};
use tokio::sync::Semaphore;

use crate::{
    MySqlOptions, ServerDurability,
    error::{store_error, was_in_the_way},
    row::{ReadResult, Row},
    server,
    sql::Script,
};

/// The idle time after which a connection is checked before use.
const FRESH: Duration = Duration::from_secs(10);

/// The most attempts of a transaction that conflicts with others.
const TRIES: u32 = 50;

#[derive(derive_more::Debug)]
#[debug(
    "Pool {{ host: {:?}, port: {:?}, database: {:?}, .. }}",
    self.opts.ip_or_hostname(),
    self.opts.tcp_port(),
    self.opts.db_name()
)]
pub(crate) struct Pool {
    opts: Opts,
    options: MySqlOptions,
    permits: Semaphore,
    free: Mutex<Free>,
}

struct Free {
    connections: Vec<(Conn, Instant)>,
    /// The number of times that connections were found broken; a connection of an earlier era is
    /// not used again.
    era: u64,
    durability: ServerDurability,
}

impl Pool {
    /// Creates the pool with a first connection.
    pub(crate) async fn open(url: &str, options: MySqlOptions) -> Result<Self, StoreError> {
        let pool = Self {
            opts: server::opts(url, &options)?,
            permits: Semaphore::new(options.connections.min(Semaphore::MAX_PERMITS)),
            free: Mutex::new(Free {
                connections: vec![],
                era: 0,
                durability: ServerDurability::Second,
            }),
            options,
        };
        let waits = AtomicBool::new(false);
        let conn = pool.in_time("open", &waits, pool.take()).await?;
        pool.put(conn);
        Ok(pool)
    }

    pub(crate) fn durability(&self) -> ServerDurability {
        self.free().durability
    }

    /// Runs a script, and returns the rows of its last statement. If the connection breaks
    /// meanwhile, the outcome is unknown. The connection of a cancelled request is closed.
    pub(crate) async fn run(
        &self,
        script: &Script,
        operation: &'static str,
    ) -> Result<Vec<Row>, StoreError> {
        let nothing = |_: &[Row]| Ok(Script::default());
        self.run_then(script, nothing, operation).await
    }

    /// Runs a script and then one that depends on its rows, and returns the rows of the first.
    pub(crate) async fn run_then(
        &self,
        script: &Script,
        then: impl Fn(&[Row]) -> ReadResult<Script> + Send + Sync,
        operation: &'static str,
    ) -> Result<Vec<Row>, StoreError> {
        let waits = AtomicBool::new(true);
        let run = async {
            let permit = self.permits.acquire().await;
            waits.store(false, Ordering::Relaxed);
            let _permit = permit.map_err(|_| StoreError::new(StoreErrorKind::Other, operation))?;
            let (mut conn, era) = self.take().await?;
            let mut tries = 0;
            loop {
                tries += 1;
                let error = match both(&mut conn, script, &then).await {
                    Ok(rows) => {
                        self.put((conn, era));
                        return Ok(rows);
                    }
                    Err(RequestError::Damaged(kind)) => {
                        return Err(StoreError::new(kind, operation));
                    }
                    Err(RequestError::Server(error)) => error,
                };
                // The transaction may still be open.
                let undone = !error.is_fatal() && conn.query_drop("ROLLBACK").await.is_ok();
                if undone && was_in_the_way(&error) && tries < TRIES {
                    tokio::time::sleep(Duration::from_millis(tries.into())).await;
                    continue;
                }
                if undone {
                    self.put((conn, era));
                } else {
                    self.forget(era);
                }
                return Err(store_error(error, operation));
            }
        };
        self.in_time(operation, &waits, run).await
    }

    async fn in_time<T>(
        &self,
        operation: &'static str,
        waits: &AtomicBool,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let timeout = self.options.timeout;
        let done = tokio::time::timeout(timeout, work).await;
        done.unwrap_or_else(|_| {
            let error = StoreError::new(StoreErrorKind::Unavailable, operation);
            if waits.load(Ordering::Relaxed) {
                let connections = self.options.connections;
                Err(error.because(RequestTimeout::Busy {
                    connections,
                    timeout,
                }))
            } else {
                Err(error.because(RequestTimeout::Silent { timeout }))
            }
        })
    }

    /// Takes a free connection that works, or opens a new one. Returns it with its era.
    async fn take(&self) -> Result<(Conn, u64), StoreError> {
        loop {
            let (found, era) = {
                let mut free = self.free();
                (free.connections.pop(), free.era)
            };
            let Some((mut conn, since)) = found else {
                let (conn, durability) = server::connect(&self.opts, &self.options).await?;
                self.free().durability = durability;
                return Ok((conn, era));
            };
            if since.elapsed() < FRESH || conn.ping().await.is_ok() {
                return Ok((conn, era));
            }
        }
    }

    fn put(&self, (conn, era): (Conn, u64)) {
        let mut free = self.free();
        if free.era == era {
            free.connections.push((conn, Instant::now()));
        }
    }

    /// Drops all free connections of the era, because they are most likely broken, too.
    fn forget(&self, era: u64) {
        let mut free = self.free();
        if free.era == era {
            free.era += 1;
            free.connections.clear();
        }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum RequestError {
    Server(mysql_async::Error),
    /// The server returned a row that this crate cannot have caused.
    Damaged(StoreErrorKind),
}

async fn both(
    conn: &mut Conn,
    script: &Script,
    then: impl Fn(&[Row]) -> ReadResult<Script>,
) -> Result<Vec<Row>, RequestError> {
    let rows = execute(conn, script).await.map_err(RequestError::Server)?;
    let next = then(&rows).map_err(RequestError::Damaged)?;
    execute(conn, &next).await.map_err(RequestError::Server)?;
    Ok(rows)
}

async fn execute(conn: &mut Conn, script: &Script) -> Result<Vec<Row>, mysql_async::Error> {
    let mut rows = vec![];
    for packet in script.packets() {
        let mut result = conn.query_iter(packet.as_str()).await?;
        while !result.is_empty() {
            rows = result.collect::<mysql_async::Row>().await?;
        }
        result.drop_result().await?;
    }
    Ok(rows.into_iter().map(Row::from).collect())
}

/// The error of a request that timed out.
#[derive(Debug, thiserror::Error)]
enum RequestTimeout {
    #[error("none of the {connections} connections became free within {timeout:?}")]
    Busy {
        connections: usize,
        timeout: Duration,
    },
    #[error("no answer within {timeout:?}")]
    Silent { timeout: Duration },
}
