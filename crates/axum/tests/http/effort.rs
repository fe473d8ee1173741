//! The work of a request about a thread of somebody else: it shows in the time of the answer.
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::http::Method;
use fugato_axum::AgentRoutes;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, MemoryLog, Record, StoreError,
    ThreadLog,
};
use serde_json::{Value, json};

use crate::server::{Client, LetterServer, by_header};

/// A log that notes what it is asked.
#[derive(Default)]
struct AskedLog {
    log: MemoryLog,
    asked: Mutex<Vec<String>>,
}

impl AskedLog {
    fn note(&self, asked: String) {
        self.asked.lock().unwrap().push(asked);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

#[async_trait]
impl ThreadLog for AskedLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        self.note(format!("append {thread}"));
        self.log.append(thread, commit).await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.note(format!("read {thread} from {from}, {limit}"));
        self.log.read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.note(format!("head {thread}"));
        self.log.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        if let LeaseRequest::Acquire { thread, .. } = &request {
            self.note(format!("acquire {thread}"));
        }
        self.log.lease(request).await
    }
}

#[tokio::test]
async fn another_tenants_thread_costs_what_none_costs() {
    let log = Arc::new(AskedLog::default());
    let clerk = LetterServer::open().clerk_over(log.clone());
    let client = Client(AgentRoutes::new(clerk).authenticate(by_header).router());
    let ask = async |user: &str, method: Method, path: &str, body: Value| {
        client.with(method, path, &[("user", user)], body).await
    };
    let begun = json!({ "thread": "desk", "text": "a free day" });
    let begun = ask("ada", Method::POST, "/sse/react", begun).await;
    assert_eq!(begun.status, 200);
    let own = ask("ada", Method::GET, "/threads/desk", Value::Null).await;
    let id = own.json()["interrupts"][0]["id"].clone();
    let answers = json!({ "answers": { id.as_str().unwrap(): true } });
    assert!(!log.take().is_empty());
    for (method, path, body) in [
        (Method::GET, "/threads/{}", Value::Null),
        (Method::GET, "/threads/{}/timeline", Value::Null),
        (Method::GET, "/threads/{}/events?follow=false", Value::Null),
        (Method::GET, "/threads/{}/history", Value::Null),
        (Method::GET, "/threads/{}/state", Value::Null),
        (Method::GET, "/sse/react?thread={}", Value::Null),
        (Method::GET, "/api/chat/{}/stream", Value::Null),
        (Method::POST, "/threads/{}/resume", answers),
        (Method::POST, "/threads/{}/cancel", json!({})),
        (Method::POST, "/threads/{}/recover", json!({})),
        (Method::POST, "/threads/{}/retry", json!({})),
        (Method::POST, "/threads/{}/fork", json!({ "at": 2 })),
        (Method::DELETE, "/threads/{}", Value::Null),
    ] {
        let mut costs = vec![];
        for name in ["desk", "none", "ada%2Fdesk", "ada%2Fnone"] {
            let at = path.replace("{}", name);
            let refused = ask("bob", method.clone(), &at, body.clone()).await;
            assert!(refused.status.as_u16() >= 204, "{at}: {refused:?}");
            let asked = log.take();
            let theirs = asked.iter().find(|asked| asked.contains(" ada"));
            assert_eq!(theirs, None, "{method} {at} looks at a thread of another");
            let name = name.replace("%2F", "/");
            let asked = asked.iter().map(|asked| asked.replace(&name, "{}"));
            costs.push(asked.collect::<Vec<_>>());
        }
        assert_eq!(costs[0], costs[1], "{method} {path}");
        assert_eq!(costs[2], costs[3], "{method} {path}");
    }
}
