//! K35 for this agent: whatever callers send, and whenever it dies, no order is placed to which
//! nobody has agreed.
use std::{
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::common::World;
use async_trait::async_trait;
use axum::{Router, http::request::Parts};
use fugato::{
    BoxError,
    axum::{AccessDenied, AgentRoutes, Caller},
    sqlite::{SqliteLog, SqliteOptions, Synchronous, rusqlite::Connection},
};
use fugato_testkit::{
    TestProgram,
    consent::{
        ConsentSim, ConsentWords, ConsentWorld, ServedProgram, TestRequest, TestResponse,
        WorldStore,
    },
    log::Failure,
};
use futures::{FutureExt as _, future::BoxFuture};
use planner::{exchange::Exchange, service::Planner};
use serde_json::{Value, json};

/// The planner for two people at one desk.
struct Room {
    world: World,
    router: Mutex<Router>,
}

impl Room {
    fn new(store: WorldStore) -> Result<Self, BoxError> {
        Ok(Self {
            world: World::over(store)?,
            router: Mutex::default(),
        })
    }

    /// The same over a file.
    fn on_file() -> Result<Self, BoxError> {
        Self::new(WorldStore::in_file(|path, clock| {
            let options = SqliteOptions::default().clock(move || clock.now());
            SqliteLog::open_with(path, options.synchronous(Synchronous::Normal))
        })?)
    }
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
        let by_user = |request: &Parts| {
            let user = request.headers.get("user").and_then(|it| it.to_str().ok());
            Ok::<_, AccessDenied>(Caller::default().user(user.unwrap_or_default()))
        };
        let planner = Planner::new(&self.world.deps(), Arc::new(self.world.store.restart()?))?;
        let routes = AgentRoutes::new(planner).authenticate(by_user);
        *lock(&self.router) = routes.router();
        Ok(())
    }

    async fn send(&self, caller: &str, request: TestRequest) -> TestResponse {
        let router = lock(&self.router).clone();
        request.header("user", caller).call(router).await
    }

    async fn writes(&self) -> Vec<Value> {
        orders(&self.world.desk).await
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

    fn turn(&self) -> Duration {
        self.world.store.turn()
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

/// Lets the leases of the processes that died expire, as if ten seconds had passed.
fn expire(program: &TestProgram) -> BoxFuture<'_, Result<(), BoxError>> {
    let threads = program.path("planner-data/threads.db");
    let expired = || -> Result<(), BoxError> {
        if threads.exists() {
            let opened = Connection::open(threads)?;
            opened.busy_timeout(Duration::from_secs(5))?;
            opened.execute("UPDATE thread SET lease_until = 0", [])?;
        }
        Ok(())
    };
    ready(expired()).boxed()
}

fn written(program: &TestProgram) -> BoxFuture<'_, Vec<Value>> {
    let desk = Exchange::open(program.path("planner-data/desk.db")).unwrap();
    async move { orders(&desk).await }.boxed()
}

#[tokio::test]
async fn k35_no_order_is_placed_without_a_consent() -> Result<(), Failure> {
    let room = || Room::new(WorldStore::in_memory());
    let report = ConsentSim::new(room).steps(14).run().await?;
    report.assert_tried();
    Ok(())
}

#[tokio::test]
async fn k35_nor_over_a_file() -> Result<(), Failure> {
    let sim = ConsentSim::new(Room::on_file).cases(50).seed(20_000);
    let report = sim.steps(14).run().await?;
    report.assert_tried();
    Ok(())
}

#[tokio::test]
async fn k35_nor_by_two_servers_that_are_killed() -> Result<(), Failure> {
    let processes = || {
        let program = TestProgram::new(env!("CARGO_BIN_EXE_planner"));
        let like = Room::new(WorldStore::in_memory())?;
        Ok::<_, BoxError>(ServedProgram::new(like, (program, &[]), expire, written))
    };
    let report = ConsentSim::new(processes).cases(8).run().await?;
    report.assert_tried();
    Ok(())
}
