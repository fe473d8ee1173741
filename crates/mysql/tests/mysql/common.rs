//! Stores on the server of the tests, each in a database of its own.
use std::sync::atomic::{AtomicU32, Ordering};

use fugato_mysql::{MySqlLog, MySqlOptions};
use fugato_state::{Seq, ThreadId};
use fugato_store::{Commit, Expect, Record, Status};
use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, TestClock};
use mysql_async::{Conn, prelude::Queryable};
use servers::{MariaDb, Server};

/// Creates a database on the server of this URL, and returns its URL.
pub(crate) async fn database(url: &str) -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let name = format!("test_{}", MADE.fetch_add(1, Ordering::Relaxed));
    let mut conn = admin(url).await;
    let made = conn.query_drop(format!("CREATE DATABASE {name}")).await;
    made.expect("the name is new");
    conn.disconnect().await.expect("nothing is left to do");
    let (server, _) = url.rsplit_once('/').expect("a database follows the server");
    format!("{server}/{name}")
}

pub(crate) async fn admin(url: &str) -> Conn {
    Conn::from_url(url).await.expect("the server is there")
}

pub(crate) fn shared() -> Option<&'static Server> {
    MariaDb::shared()
}

/// A factory of logs for the test suites.
#[derive(Default)]
pub(crate) struct Databases {
    url: std::sync::Mutex<String>,
    forgets: bool,
}

impl Databases {
    /// Opens each log only once, because processes do not share a time that no thread has seen.
    pub(crate) fn opened_once() -> Self {
        Self {
            forgets: true,
            ..Self::default()
        }
    }

    async fn open(&self, url: &str, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let clock = clock.clone();
        let options = MySqlOptions::default().clock(move || clock.now());
        Ok(OpenedLog::whole(
            MySqlLog::connect_with(url, options).await?,
        ))
    }
}

#[async_trait::async_trait]
impl LogFactory for Databases {
    fn abilities(&self) -> Abilities {
        let sides = Abilities::log_only().with_snapshots().with_admin();
        if self.forgets {
            sides
        } else {
            sides.persistent()
        }
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let url = shared().ok_or("the server is not there")?.url();
        let url = database(url).await;
        self.url.lock().map_err(|_| "poisoned")?.clone_from(&url);
        self.open(&url, clock).await
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let url = self.url.lock().map_err(|_| "poisoned")?.clone();
        self.open(&url, clock).await
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
