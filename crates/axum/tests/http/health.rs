//! The answer to a probe about a store that takes no write.
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use axum::http::StatusCode;
use fugato_axum::{AgentRoutes, AllowAll};
use fugato_store::{InterceptedLog, MemoryLog, StoreCall, StoreError, StoreErrorKind};
use serde_json::json;

use crate::server::{Client, LetterServer};

#[tokio::test]
async fn a_server_whose_log_takes_no_write_is_not_ready_until_it_does() {
    let disk = Arc::new((AtomicBool::new(false), AtomicU64::new(0)));
    let counted = disk.clone();
    // A disk that may be full can be read all the same.
    let log = InterceptedLog::new(MemoryLog::default(), move |asked: StoreCall<'_>| {
        let (full, writes) = &*counted;
        if matches!(asked, StoreCall::Append(..) | StoreCall::Lease(_)) {
            writes.fetch_add(1, Ordering::SeqCst);
            if full.load(Ordering::SeqCst) {
                return Err(StoreError::new(StoreErrorKind::Full, "append"));
            }
        }
        Ok(())
    });
    let (full, writes) = &*disk;
    let clerk = LetterServer::open().clerk_over(Arc::new(log));
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
    let written = writes.load(Ordering::SeqCst);
    assert_eq!(health().await, (200, "ok".to_owned()));
    assert_eq!(writes.load(Ordering::SeqCst), written, "a probe only reads");

    full.store(true, Ordering::SeqCst);
    assert_eq!(say("two").await, StatusCode::SERVICE_UNAVAILABLE);
    for _ in 0..2 {
        assert_eq!(health().await, (503, "store_unavailable".to_owned()));
    }
    full.store(false, Ordering::SeqCst);
    assert_eq!(health().await, (200, "ok".to_owned()));
    let written = writes.load(Ordering::SeqCst);
    assert_eq!(health().await, (200, "ok".to_owned()));
    assert_eq!(writes.load(Ordering::SeqCst), written, "a probe only reads");
}
