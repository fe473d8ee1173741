//! K35 for the program itself: two servers on one folder, requests over TCP, and `kill -9` at any
//! moment. No order is placed to which nobody has agreed.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails fails its test"
)]
use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use fugato::{BoxError, sqlite::rusqlite::Connection};
use fugato_testkit::{
    Server, TestProgram,
    consent::{ConsentRequest, ConsentResponse, ConsentSim, ConsentWords, ConsentWorld},
    log::Failure,
};
use planner::desk::Exchange;
use serde_json::{Value, json};

/// Servers of the program, side by side.
const SERVERS: usize = 2;

/// A folder, and the servers that have it open now.
struct House {
    program: TestProgram,
    servers: Mutex<Vec<Server>>,
    sent: AtomicUsize,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl House {
    fn new() -> Self {
        Self {
            program: TestProgram::new(env!("CARGO_BIN_EXE_planner")),
            servers: Mutex::default(),
            sent: AtomicUsize::default(),
        }
    }
}

/// The content of an order, as cards and the exchange show it.
fn order(it: &Value) -> Value {
    json!([it["side"], it["symbol"], it["quantity"], it["price"]])
}

#[async_trait]
impl ConsentWorld for House {
    async fn restart(&self) -> Result<(), BoxError> {
        lock(&self.servers).clear();
        let threads = self.program.path("planner-data/threads.db");
        if threads.exists() {
            // The leases of the processes that died are over, as if ten seconds had passed.
            let opened = Connection::open(threads)?;
            opened.busy_timeout(Duration::from_secs(5))?;
            opened.execute("UPDATE thread SET lease_until = 0", [])?;
        }
        let server = |_| self.program.server(&["serve", "--listen", "127.0.0.1:0"]);
        *lock(&self.servers) = (0..SERVERS).map(server).collect();
        Ok(())
    }

    async fn send(&self, _: &str, sent: ConsentRequest) -> ConsentResponse {
        let turn = self.sent.fetch_add(1, Ordering::Relaxed) % SERVERS;
        let address = lock(&self.servers)[turn].address().to_owned();
        let body = sent.body.to_string();
        let line = (sent.method, &*sent.path);
        let came = Server::ask(&address, line, &sent.headers, &body).await;
        // A connection that broke off says nothing.
        let (status, body) = came.unwrap_or((502, String::new()));
        ConsentResponse { status, body }
    }

    async fn writes(&self) -> Vec<Value> {
        let desk = Exchange::open(self.program.path("planner-data/desk.db")).unwrap();
        // None of these prices is ever met, so that all orders stay open.
        let open = desk.open_orders().await.unwrap();
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
        ];
        requests.map(str::to_owned).to_vec()
    }

    fn edits(&self) -> Vec<String> {
        vec!["buy 0.04 BTC at 10000".into(), "start over".into()]
    }

    fn turn(&self) -> Duration {
        Duration::from_millis(1)
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
async fn k35_nor_by_two_servers_that_are_killed() -> Result<(), Failure> {
    let house = || Ok::<_, Failure>(House::new());
    let report = ConsentSim::new(house).cases(8).run().await?;
    assert!(2 * report.writes > report.cases, "{report}");
    assert!(3 * report.accepted > report.requests, "{report}");
    Ok(())
}
