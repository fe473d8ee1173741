//! Stores on the servers of the tests, each with a prefix of its own.
use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering},
};

use fugato_redis::{RedisLog, RedisOptions, ServerDurability};
use fugato_state::{Seq, ThreadId};
use fugato_store::{Commit, Expect, Record, Status};
use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, TestClock};
use servers::{Redis, Server};

/// Returns a prefix that no other test of this program has.
pub(crate) fn prefix() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    format!("test {}", MADE.fetch_add(1, Ordering::Relaxed))
}

/// Returns the server that writes its log to the disk before it answers.
pub(crate) fn durable() -> Option<&'static Server> {
    Redis::shared()
}

/// Returns the server that keeps everything in its memory.
pub(crate) fn fast() -> Option<&'static Server> {
    static SHARED: OnceLock<Option<Server>> = OnceLock::new();
    let start = || Redis::start_with(&["appendonly no"]);
    SHARED.get_or_init(start).as_ref()
}

/// A factory of logs for the test suites.
pub(crate) struct Prefixes {
    server: Option<&'static Server>,
    promises: ServerDurability,
    prefix: std::sync::Mutex<String>,
}

impl Prefixes {
    pub(crate) fn on(server: Option<&'static Server>, promises: ServerDurability) -> Self {
        Self {
            server,
            promises,
            prefix: std::sync::Mutex::default(),
        }
    }

    async fn open(&self, prefix: String, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let server = self.server.ok_or("the server is not there")?;
        let clock = clock.clone();
        let options = RedisOptions::default()
            .prefix(prefix)
            .clock(move || clock.now());
        let log = RedisLog::connect_with(server.url(), options).await?;
        if log.durability() != self.promises {
            let found = log.durability();
            return Err(format!("it promises {found}, not {}", self.promises).into());
        }
        Ok(OpenedLog::whole(log))
    }
}

#[async_trait::async_trait]
impl LogFactory for Prefixes {
    /// Returns the abilities of the server; without a log on the disk it loses everything at a
    /// restart.
    fn abilities(&self) -> Abilities {
        let sides = Abilities::log_only().with_snapshots().with_admin();
        if self.promises == ServerDurability::Disk {
            sides.persistent()
        } else {
            sides
        }
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let prefix = prefix();
        self.prefix
            .lock()
            .map_err(|_| "poisoned")?
            .clone_from(&prefix);
        self.open(prefix, clock).await
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let prefix = self.prefix.lock().map_err(|_| "poisoned")?.clone();
        self.open(prefix, clock).await
    }
}

pub(crate) fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).expect("tests use short names without control characters")
}

/// Returns a commit of one record, whose nonce is one more than the expected head.
pub(crate) fn commit(head: Seq, text: &str) -> Commit {
    Commit {
        expect: Expect { head, fence: 0 },
        nonce: u128::from(head) + 1,
        records: vec![Record(text.as_bytes().to_vec())],
        status: Status::Idle,
        base: None,
    }
}
