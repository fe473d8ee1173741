//! A program that several processes serve from one folder.
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use super::world::{ConsentRequest, ConsentResponse};
use crate::program::{Server, TestProgram};

/// The processes that serve one folder side by side.
const PROCESSES: usize = 2;

/// A program that two processes serve from one folder, for a
/// [`ConsentWorld`](super::ConsentWorld) of real processes. Requests go to them in turn.
#[derive(Debug)]
pub struct ServedProgram {
    program: TestProgram,
    args: Vec<String>,
    servers: Mutex<Vec<Server>>,
    sent: AtomicUsize,
}

impl ServedProgram {
    /// Prepares a program that these arguments and `serve` let serve.
    pub fn new(program: TestProgram, args: &[&str]) -> Self {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let args = args.iter().chain(&serve);
        Self {
            program,
            args: args.map(|&it| it.to_owned()).collect(),
            servers: Mutex::default(),
            sent: AtomicUsize::default(),
        }
    }

    /// Returns the program, with its folder.
    pub fn program(&self) -> &TestProgram {
        &self.program
    }

    /// Kills all processes, as `kill -9` does.
    pub fn kill(&self) {
        self.servers().clear();
    }

    /// Starts the processes, in place of those that run.
    pub fn start(&self) {
        self.kill();
        let args: Vec<_> = self.args.iter().map(String::as_str).collect();
        let server = |_| self.program.server(&args);
        *self.servers() = (0..PROCESSES).map(server).collect();
    }

    /// Sends a request to the next process. A connection that broke off has the status 502.
    pub async fn send(&self, request: ConsentRequest) -> ConsentResponse {
        let turn = self.sent.fetch_add(1, Ordering::Relaxed) % PROCESSES;
        let address = self
            .servers()
            .get(turn)
            .map(|server| server.address().to_owned());
        let (Some(address), body) = (address, request.body.to_string()) else {
            return ConsentResponse::lost();
        };
        let line = (request.method, &*request.path);
        let came = Server::ask(&address, line, &request.headers, &body).await;
        came.map_or_else(
            |_| ConsentResponse::lost(),
            |(status, body)| ConsentResponse { status, body },
        )
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Server>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
