//! K35 for this agent: whatever callers send, and whenever it dies, no order is placed to which
//! nobody has agreed.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails fails its test"
)]
mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, request::Parts},
};
use common::World;
use fugato::{
    BoxError,
    axum::{AccessDenied, AgentRoutes, Caller},
};
use fugato_testkit::{
    consent::{ConsentRequest, ConsentResponse, ConsentSim, ConsentWords, ConsentWorld},
    log::Failure,
};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// The planner for two people at one desk.
struct Room {
    world: World,
    router: Mutex<Router>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The content of an order, as cards and the exchange show it.
fn order(it: &Value) -> Value {
    json!([it["side"], it["symbol"], it["quantity"], it["price"]])
}

#[async_trait]
impl ConsentWorld for Room {
    async fn restart(&self) -> Result<(), BoxError> {
        // The lease of the process that died is over.
        self.world.wait(60_000);
        let by_user = |request: &Parts| {
            let user = request.headers.get("user").and_then(|it| it.to_str().ok());
            Ok::<_, AccessDenied>(Caller::default().user(user.unwrap_or_default()))
        };
        let routes = AgentRoutes::new(self.world.planner()?).authenticate(by_user);
        *lock(&self.router) = routes.router();
        Ok(())
    }

    async fn send(&self, caller: &str, request: ConsentRequest) -> ConsentResponse {
        let router = lock(&self.router).clone();
        let built = Request::builder().method(request.method).uri(&request.path);
        let headers = request.headers.iter();
        let built = headers.fold(built, |built, (name, value)| built.header(*name, value));
        let built = built.header("content-type", "application/json");
        let built = built.header("user", caller);
        let body = Body::from(request.body.to_string());
        let response = router.oneshot(built.body(body).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        ConsentResponse {
            status,
            body: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }

    async fn writes(&self) -> Vec<Value> {
        // None of these prices is ever met, so that all orders stay open.
        let open = self.world.desk.open_orders().await.unwrap();
        open.iter().map(|it| order(&json!(it))).collect()
    }

    fn content(&self, prompt: &Value) -> Option<Value> {
        let call = prompt.get("call")?;
        (call["name"] == "place_order").then(|| order(&call["arguments"]))
    }

    fn requests(&self) -> Vec<String> {
        let requests = [
            "buy 0.01 BTC at 10000",
            "buy 0.02 BTC at 11000",
            "sell 0.01 BTC at 900000",
            "buy 0.03 BTC at 12000",
        ];
        requests.map(str::to_owned).to_vec()
    }

    fn edits(&self) -> Vec<String> {
        let edits = ["buy 0.04 BTC at 10000", "start over", "/status", "at 9000"];
        edits.map(str::to_owned).to_vec()
    }

    fn separates_callers(&self) -> bool {
        true
    }

    fn own_words(&self, words: &ConsentWords) -> Vec<ConsentRequest> {
        let mut body = json!({ "thread": words.thread, "text": words.text });
        if let Some(card) = &words.card {
            body["card"] = json!(card);
        }
        vec![ConsentRequest::post("/sse/planner", body)]
    }
}

#[tokio::test]
async fn k35_no_order_is_placed_without_a_consent() -> Result<(), Failure> {
    let room = || {
        Ok::<_, BoxError>(Room {
            world: World::new()?,
            router: Mutex::default(),
        })
    };
    let report = ConsentSim::new(room).steps(14).run().await?;
    assert!(2 * report.writes > report.cases, "{report}");
    assert!(3 * report.accepted > report.requests, "{report}");
    Ok(())
}
