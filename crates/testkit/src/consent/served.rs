//! A program that several processes serve from one folder.
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};
use std::time::Duration;

use async_trait::async_trait;
use fugato_graph::BoxError;
use futures::future::BoxFuture;
use serde_json::Value;

use super::world::{ConsentAnswer, ConsentWords, ConsentWorld, TestRequest, TestResponse};
use crate::program::{Server, TestProgram};

/// The processes that serve one folder side by side.
const PROCESSES: usize = 2;

type Between = dyn Fn(&TestProgram) -> BoxFuture<'_, Result<(), BoxError>> + Send + Sync;
type Writes = dyn Fn(&TestProgram) -> BoxFuture<'_, Vec<Value>> + Send + Sync;

/// A program that two processes serve from one folder, as a world. Requests go to them in turn, and
/// a crash is a `kill -9` of both.
///
/// Requests, cards and callers are those of another world of the same program, which is never
/// opened.
pub struct ServedProgram<W> {
    like: W,
    program: TestProgram,
    args: Vec<String>,
    between: Box<Between>,
    writes: Box<Writes>,
    servers: Mutex<Vec<Server>>,
    sent: AtomicUsize,
}

impl<W: ConsentWorld> ServedProgram<W> {
    /// Prepares a program that these arguments and `serve` let serve. `between` is called while no
    /// process runs, before each start: it lets the leases of the dead ones expire. `writes` reads
    /// what was written so far, as [`ConsentWorld::writes`] does.
    pub fn new(
        like: W,
        (program, args): (TestProgram, &[&str]),
        between: impl Fn(&TestProgram) -> BoxFuture<'_, Result<(), BoxError>> + Send + Sync + 'static,
        writes: impl Fn(&TestProgram) -> BoxFuture<'_, Vec<Value>> + Send + Sync + 'static,
    ) -> Self {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let args = args.iter().chain(&serve);
        Self {
            like,
            program,
            args: args.map(|&it| it.to_owned()).collect(),
            between: Box::new(between),
            writes: Box::new(writes),
            servers: Mutex::default(),
            sent: AtomicUsize::default(),
        }
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Server>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl<W: ConsentWorld> ConsentWorld for ServedProgram<W> {
    async fn restart(&self) -> Result<(), BoxError> {
        self.servers().clear();
        (self.between)(&self.program).await?;
        let args: Vec<_> = self.args.iter().map(String::as_str).collect();
        let server = |_| self.program.server(&args);
        *self.servers() = (0..PROCESSES).map(server).collect();
        Ok(())
    }

    async fn send(&self, _: &str, request: TestRequest) -> TestResponse {
        let turn = self.sent.fetch_add(1, Ordering::Relaxed) % PROCESSES;
        let address = self.servers().get(turn).map(|it| it.address().to_owned());
        let (address, body) = (address.unwrap_or_default(), request.body.to_string());
        let line = (request.method, &*request.path);
        let came = Server::ask(&address, line, &request.headers, &body).await;
        // A connection that broke off says nothing.
        let (status, body) = came.unwrap_or((502, String::new()));
        TestResponse { status, body }
    }

    async fn writes(&self) -> Vec<Value> {
        (self.writes)(&self.program).await
    }

    fn content(&self, prompt: &Value) -> Option<Value> {
        self.like.content(prompt)
    }

    fn requests(&self) -> Vec<String> {
        self.like.requests()
    }

    fn edits(&self) -> Vec<String> {
        self.like.edits()
    }

    fn button(&self, agrees: bool) -> Value {
        self.like.button(agrees)
    }

    fn callers(&self) -> Vec<String> {
        self.like.callers()
    }

    fn own_words(&self, words: &ConsentWords) -> Vec<TestRequest> {
        self.like.own_words(words)
    }

    fn own_answers(&self, answer: &ConsentAnswer) -> Vec<TestRequest> {
        self.like.own_answers(answer)
    }

    fn turn(&self) -> Duration {
        Duration::from_millis(1)
    }
}

impl<W> std::fmt::Debug for ServedProgram<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedProgram")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}
