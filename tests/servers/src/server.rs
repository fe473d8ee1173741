use std::{
    fmt, fs,
    io::{self, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crate::guard::Guard;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. It ends when it is dropped, and when the test program ends.
pub struct Server {
    guard: Mutex<Guard>,
    recipe: Recipe,
}

/// How a kind of server is run.
pub(crate) struct Recipe {
    /// The program and its arguments. It must not put itself into the background.
    pub(crate) command: Vec<String>,
    /// What belongs to it, and is removed with it. Its output goes to `server.log` in there.
    pub(crate) folder: PathBuf,
    /// As whom it runs, if not as whoever runs the tests.
    pub(crate) user: Option<u32>,
    /// Where clients connect to.
    pub(crate) url: String,
    /// The port of the loopback interface on which it listens.
    pub(crate) port: u16,
    /// The signal after which it writes what it has and ends.
    pub(crate) stop: &'static str,
    /// The signal after which it ends at once, with all of its processes.
    pub(crate) last: &'static str,
    /// Whether the process of this id answers clients.
    pub(crate) ready: Box<dyn Fn(u32) -> bool + Send + Sync>,
}

impl Recipe {
    /// A server over HTTP that keeps nothing.
    pub(crate) fn http<const N: usize>(
        command: [String; N],
        folder: PathBuf,
        port: u16,
        ready: impl Fn(u16) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            command: command.into(),
            folder,
            user: None,
            url: format!("http://127.0.0.1:{port}"),
            port,
            stop: "TERM",
            last: "KILL",
            ready: Box::new(move |_| ready(port)),
        }
    }
}

/// Whether a server says at this path that it is well.
pub(crate) fn is_well(port: u16, path: &str) -> bool {
    is_done(port, "GET", path)
}

/// Returns true if a server does a request without a body.
pub(crate) fn is_done(port: u16, method: &str, path: &str) -> bool {
    asked(port, method, path).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

fn asked(port: u16, method: &str, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

impl Server {
    pub(crate) fn start(recipe: Recipe) -> Self {
        let guard = Guard::new(&recipe.command, &recipe.folder, recipe.last, recipe.user);
        let server = Self {
            guard: Mutex::new(guard),
            recipe,
        };
        server.restart();
        server
    }

    /// Where clients connect to, with a user and password where the server asks for them.
    pub fn url(&self) -> &str {
        &self.recipe.url
    }

    pub(crate) fn port(&self) -> u16 {
        self.recipe.port
    }

    /// What belongs to the server, until it is dropped.
    pub fn folder(&self) -> &Path {
        &self.recipe.folder
    }

    /// Ends the server as a power failure would end it, but that the operating system keeps what
    /// was written. Returns when nobody listens any more.
    pub fn kill9(&self) {
        self.end("KILL");
    }

    /// Lets the server write what it has and end.
    pub fn stop(&self) {
        self.end(self.recipe.stop);
    }

    fn end(&self, signal: &str) {
        self.guard().end(signal);
        let begin = Instant::now();
        // Processes that it started keep its socket until they see that it is gone.
        while TcpStream::connect(("127.0.0.1", self.recipe.port)).is_ok() {
            assert!(begin.elapsed() < PATIENCE, "still there: {}", self.log());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Starts the server again after [`stop`](Self::stop) or [`kill9`](Self::kill9), at the same
    /// address and with what it stored. Returns when it answers.
    ///
    /// # Panics
    /// If it does not answer within a minute, with what it wrote.
    pub fn restart(&self) {
        let mut guard = self.guard();
        let begin = Instant::now();
        let mut process = guard.start();
        while !(self.recipe.ready)(process) {
            assert!(begin.elapsed() < PATIENCE, "no answer: {}", self.log());
            thread::sleep(Duration::from_millis(10));
            if !guard.runs() {
                // What the killed one left behind may take a moment to go.
                thread::sleep(Duration::from_millis(100));
                process = guard.start();
            }
        }
    }

    /// What the server wrote last.
    pub fn log(&self) -> String {
        let written = fs::read(self.recipe.folder.join("server.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&written);
        let lines: Vec<&str> = text.lines().rev().take(40).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    fn guard(&self) -> MutexGuard<'_, Guard> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("url", &self.recipe.url)
            .finish_non_exhaustive()
    }
}

/// A folder for one server; its guard removes it.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = tempfile::Builder::new()
        .prefix(&format!("fugato-{name}-"))
        .tempdir();
    folder.expect("the system has room for a folder").keep()
}

/// A port on which nobody listens now.
pub fn free_port() -> u16 {
    listener().1
}

/// A listener on a port that was free.
pub(crate) fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let port = address.port();
    (listener, port)
}

/// A path as an argument of a command.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().expect("it was made of text").to_owned()
}
