//! K35 for this agent: whatever callers send, and whenever it dies, no order is placed to which
//! nobody has agreed.
use std::sync::Arc;

use crate::common::World;
use async_trait::async_trait;
use axum::http::request::Parts;
use fugato::{
    BoxError,
    axum::{AccessDenied, AgentRoutes, Caller},
};
use fugato_testkit::{
    TestProgram,
    consent::{ConsentWords, ConsentWorld, ServedProgram, TestEndpoints, TestRequest, WorldStore},
};
use futures::{FutureExt as _, future::BoxFuture};
use planner::{exchange::Exchange, service::Planner};
use serde_json::{Value, json};

/// The planner for two people at one desk.
struct Room(World);

impl Room {
    fn new(store: Arc<WorldStore>) -> Result<Self, BoxError> {
        Ok(Self(World::over(store)?))
    }
}

/// The content of an order, as cards and the exchange show it.
fn order(it: &Value) -> Value {
    json!([it["side"], it["symbol"], it["quantity"], it["price"]])
}

#[async_trait]
impl ConsentWorld for Room {
    async fn restart(&self) -> Result<TestEndpoints, BoxError> {
        let by_user = |request: &Parts| {
            let user = request.headers.get("user").and_then(|it| it.to_str().ok());
            Ok::<_, AccessDenied>(Caller::default().user(user.unwrap_or_default()))
        };
        let planner = Planner::new(&self.0.deps(), Arc::new(self.0.store.restart()?))?;
        let routes = AgentRoutes::new(planner).authenticate(by_user);
        Ok(TestEndpoints::of(routes.router()))
    }

    async fn signed(&self, caller: &str, request: TestRequest) -> TestRequest {
        request.header("user", caller)
    }

    async fn writes(&self) -> Vec<Value> {
        orders(&self.0.desk).await
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

    fn own_words(&self, words: &ConsentWords) -> Vec<TestRequest> {
        let mut body = json!({ "thread": words.thread, "text": words.text });
        if let Some(card) = &words.card {
            body["card"] = json!(card);
        }
        vec![TestRequest::post("/sse/planner", body)]
    }
}

/// The open orders. None of the prices is ever met, so that all orders stay open.
async fn orders(desk: &Exchange) -> Vec<Value> {
    let open = desk.open_orders().await.unwrap();
    open.iter().map(|it| order(&json!(it))).collect()
}

fn written(program: &TestProgram) -> BoxFuture<'_, Vec<Value>> {
    let desk = Exchange::open(program.path("planner-data/desk.db")).unwrap();
    async move { orders(&desk).await }.boxed()
}

fn processes(store: Arc<WorldStore>) -> Result<ServedProgram<Room>, BoxError> {
    let program = (TestProgram::new(env!("CARGO_BIN_EXE_planner")), &[][..]);
    let threads = "planner-data/threads.db";
    Ok(ServedProgram::new(
        Room::new(store)?,
        program,
        threads,
        written,
    ))
}

fugato_testkit::consent_suite!(Room::new, served processes);
