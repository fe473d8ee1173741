//! Logs in schemas of their own on the server that all tests of a program share.
use std::sync::atomic::{AtomicU32, Ordering};

use fugato_postgres::{PostgresLog, PostgresOptions, Synchronous};
use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, TestClock};
use servers::Postgres;

static MADE: AtomicU32 = AtomicU32::new(0);

/// A factory of logs, each in a new schema.
pub(crate) struct Schemas {
    synchronous: Synchronous,
    last: AtomicU32,
}

impl Schemas {
    pub(crate) fn new(synchronous: Synchronous) -> Self {
        Self {
            synchronous,
            last: AtomicU32::new(0),
        }
    }

    async fn open(&self, number: u32, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let server = Postgres::shared().ok_or("there is no server")?;
        let clock = clock.clone();
        let options = PostgresOptions::default()
            .schema(format!("test {number}"))
            .synchronous(self.synchronous)
            .pool_size(4)
            .clock(move || clock.now());
        let log = PostgresLog::connect_with(server.url(), options).await?;
        Ok(OpenedLog::whole(log))
    }
}

#[async_trait::async_trait]
impl LogFactory for Schemas {
    fn abilities(&self) -> Abilities {
        Abilities::all()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        self.last.store(number, Ordering::Relaxed);
        self.open(number, clock).await
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        self.open(self.last.load(Ordering::Relaxed), clock).await
    }
}
