//! Tests on a server that speaks the protocol of S3.
use std::{
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use fugato_commits::{CommitLog, CommitLogOptions};
use fugato_store::{StoreError, StoreErrorKind};
use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, TestClock};
use servers::{Moto, Server};

/// The server that all tests of this program share.
pub(crate) fn moto() -> Option<&'static Server> {
    static SHARED: OnceLock<Option<Server>> = OnceLock::new();
    SHARED.get_or_init(Moto::start).as_ref()
}

async fn open(
    endpoint: &str,
    url: &str,
    options: CommitLogOptions,
) -> Result<CommitLog, StoreError> {
    let settings = [
        ("endpoint", endpoint),
        ("allow_http", "true"),
        ("region", "us-east-1"),
        ("access_key_id", "desk"),
        ("secret_access_key", "not-to-be-shown"),
    ];
    CommitLog::open_bucket(url, settings, options).await
}

/// A factory of logs: each `fresh` has a prefix of its own.
#[derive(Default)]
pub(crate) struct Prefixes(Mutex<String>);

impl Prefixes {
    async fn open(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let prefix = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let clock = clock.clone();
        let options = CommitLogOptions::default()
            .max_skew(Duration::ZERO)
            .clock(move || clock.now());
        let server = moto().ok_or("the server is not there")?;
        let url = format!("s3://{}/{prefix}", Moto::BUCKET);
        Ok(OpenedLog::whole(open(server.url(), &url, options).await?))
    }
}

#[async_trait::async_trait]
impl LogFactory for Prefixes {
    fn abilities(&self) -> Abilities {
        Abilities::all()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("test/{}", MADE.fetch_add(1, Ordering::Relaxed));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = prefix;
        self.open(clock).await
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        self.open(clock).await
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(600)
    }
}

#[tokio::test]
async fn a_bucket_that_cannot_be_used_is_named() {
    let Some(server) = moto() else { return };
    let options = CommitLogOptions::default;
    let absent = open(server.url(), "s3://nobodys-bucket", options()).await;
    let absent = absent.expect_err("nobody made it");
    assert!(
        matches!(
            absent.kind,
            StoreErrorKind::NotFound | StoreErrorKind::Unavailable
        ),
        "{absent}"
    );
    for url in ["", "threads", "s3://", "https://threads"] {
        let refused = open(server.url(), url, options()).await;
        let refused = refused.expect_err("it is no bucket").to_string();
        assert!(
            refused.contains("s3://bucket/prefix is allowed"),
            "{refused}"
        );
    }
    let unknown = CommitLog::open_bucket("s3://threads", [("colour", "red")], options()).await;
    let unknown = unknown.expect_err("there is no such setting").to_string();
    assert!(unknown.contains("no setting \"colour\""), "{unknown}");
}

#[tokio::test]
async fn the_clock_of_a_server_is_measured_in_whole_seconds() {
    let Some(server) = moto() else { return };
    let options = CommitLogOptions::default().max_skew(Duration::ZERO);
    let url = format!("s3://{}/clock", Moto::BUCKET);
    let opened = open(server.url(), &url, options).await;
    assert!(
        opened.is_ok(),
        "its clock is that of this machine: {opened:?}"
    );
    let shown = format!("{opened:?}");
    assert!(!shown.contains("not-to-be-shown"), "{shown}");
}
