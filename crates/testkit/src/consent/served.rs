//! A program that several processes serve from one folder.
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use fugato_graph::BoxError;
use fugato_sqlite::rusqlite::{Connection, Error};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;

use super::world::{
    ConsentAnswer, ConsentWords, ConsentWorld, TestEndpoints, TestRequest, TestResponse,
};
use crate::program::{Server, TestProgram};

/// The processes that serve one folder side by side.
const PROCESSES: usize = 2;

type Preparation = dyn Fn(&TestProgram) -> BoxFuture<'_, Result<(), BoxError>> + Send + Sync;
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
    threads: &'static str,
    preparation: Box<Preparation>,
    writes: Box<Writes>,
}

impl<W: ConsentWorld> ServedProgram<W> {
    /// Wraps a program that these arguments and `serve` let serve. Its threads are in the file
    /// `threads` of `SQLite`, whose leases expire before each start. `writes` reads what was written
    /// so far, as [`ConsentWorld::writes`] does.
    pub fn new(
        like: W,
        (program, args): (TestProgram, &[&str]),
        threads: &'static str,
        writes: impl Fn(&TestProgram) -> BoxFuture<'_, Vec<Value>> + Send + Sync + 'static,
    ) -> Self {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let args = args.iter().chain(&serve);
        Self {
            like,
            program,
            args: args.map(|&it| it.to_owned()).collect(),
            threads,
            preparation: Box::new(|_| async { Ok(()) }.boxed()),
            writes: Box::new(writes),
        }
    }

    /// Prepares the folder before the first start.
    #[must_use]
    pub fn prepared_by(
        mut self,
        preparation: impl Fn(&TestProgram) -> BoxFuture<'_, Result<(), BoxError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.preparation = Box::new(preparation);
        self
    }
}

/// Lets the leases of the processes that died expire, as if ten seconds had passed.
fn expire(threads: &Path) -> Result<(), Error> {
    let opened = Connection::open(threads)?;
    opened.busy_timeout(Duration::from_secs(5))?;
    opened.execute("UPDATE thread SET lease_until = 0", [])?;
    Ok(())
}

#[async_trait]
impl<W: ConsentWorld> ConsentWorld for ServedProgram<W> {
    async fn restart(&self) -> Result<TestEndpoints, BoxError> {
        let threads = self.program.path(self.threads);
        if threads.exists() {
            expire(&threads)?;
        } else {
            (self.preparation)(&self.program).await?;
        }
        let args: Vec<_> = self.args.iter().map(String::as_str).collect();
        let server = |_| self.program.server(&args);
        let servers: Arc<[Server]> = (0..PROCESSES).map(server).collect();
        let sent = AtomicUsize::default();
        Ok(TestEndpoints::new(move |request: TestRequest| {
            let turn = sent.fetch_add(1, Ordering::Relaxed) % PROCESSES;
            let servers = servers.clone();
            async move {
                let address = servers.get(turn).map_or("", Server::address);
                let (body, line) = (request.body.to_string(), (request.method, &*request.path));
                let came = Server::ask(address, line, &request.headers, &body).await;
                // A connection that broke off says nothing.
                let (status, body) = came.unwrap_or((502, String::new()));
                TestResponse { status, body }
            }
        }))
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

    fn turn(&self) -> Option<Duration> {
        Some(Duration::from_millis(1))
    }
}

impl<W> std::fmt::Debug for ServedProgram<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServedProgram")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}
