//! The answer to a probe about a store that takes no write.
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use async_trait::async_trait;
use axum::http::StatusCode;
use fugato_axum::{AgentRoutes, AllowAll};
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, MemoryLog, Record, StoreError,
    StoreErrorKind, ThreadLog,
};
use serde_json::json;

use crate::server::{Client, LetterServer};

/// A log on a disk that may be full: it can be read all the same.
#[derive(Default)]
struct FullLog {
    log: MemoryLog,
    full: AtomicBool,
    writes: AtomicU64,
}

impl FullLog {
    fn write(&self) -> Result<(), StoreError> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        if self.full.load(Ordering::SeqCst) {
            return Err(StoreError::new(StoreErrorKind::Full, "append"));
        }
        Ok(())
    }
}

#[async_trait]
impl ThreadLog for FullLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        self.write()?;
        self.log.append(thread, commit).await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.log.read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.log.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        self.write()?;
        self.log.lease(request).await
    }
}

#[tokio::test]
async fn a_server_whose_log_takes_no_write_is_not_ready_until_it_does() {
    let log = Arc::new(FullLog::default());
    let clerk = LetterServer::open().clerk_over(log.clone());
    let client = Client(AgentRoutes::new(clerk).authenticate(AllowAll).router());
    let health = async || {
        let told = client.get("/health").await;
        let word = told.json()["status"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        (told.status.as_u16(), word)
    };
    let say = async |thread: &str| {
        let body = json!({ "thread": thread, "text": "talk" });
        client.post("/sse/react", body).await.status
    };
    assert_eq!(say("one").await, StatusCode::OK);
    let written = log.writes.load(Ordering::SeqCst);
    assert_eq!(health().await, (200, "ok".to_owned()));
    assert_eq!(
        log.writes.load(Ordering::SeqCst),
        written,
        "a probe only reads"
    );

    log.full.store(true, Ordering::SeqCst);
    assert_eq!(say("two").await, StatusCode::SERVICE_UNAVAILABLE);
    for _ in 0..2 {
        assert_eq!(health().await, (503, "store_unavailable".to_owned()));
    }
    log.full.store(false, Ordering::SeqCst);
    assert_eq!(health().await, (200, "ok".to_owned()));
    let written = log.writes.load(Ordering::SeqCst);
    assert_eq!(health().await, (200, "ok".to_owned()));
    assert_eq!(
        log.writes.load(Ordering::SeqCst),
        written,
        "a probe only reads"
    );
}
