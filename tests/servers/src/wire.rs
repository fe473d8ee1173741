use std::{
    fmt,
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    thread,
};

use crate::{Server, server::listener};

/// A wire between clients and a server, which a test can cut.
pub struct Wire {
    url: String,
    port: u16,
    left: Arc<AtomicI64>,
    requests: Requests,
}

/// The beginning of the requests that are counted, and the number of them that still pass; none if
/// nothing is cut.
type Requests = Arc<Mutex<Option<(&'static str, u32)>>>;

/// Nothing is cut.
const WHOLE: i64 = -1;

/// Answers get lost on the way.
const DEAF: i64 = -2;

/// Nobody is connected any more.
const GONE: i64 = -3;

impl Wire {
    /// A wire to a server.
    pub fn to(server: &Server) -> Self {
        let (listener, port) = listener();
        let left = Arc::new(AtomicI64::new(WHOLE));
        let requests = Requests::default();
        let (target, watched) = (server.port(), Arc::clone(&left));
        let asked = Arc::clone(&requests);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if watched.load(Ordering::SeqCst) == GONE {
                    break;
                }
                // A server that does not listen refuses by closing the wire.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", target)) {
                    let _ = connect(&client, &server, &asked, &watched);
                }
            }
        });
        let (old, new) = (format!(":{target}"), format!(":{port}"));
        Self {
            url: server.url().replace(&old, &new),
            port,
            left,
            requests,
        }
    }

    /// Where clients connect to.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Lets this many more answers pass. The connection that would bring the next one is cut in its
    /// place, once; the server has done then what it was asked to.
    pub fn cut_after(&self, answers: u32) {
        self.left.store(answers.into(), Ordering::SeqCst);
    }

    /// Lets this many more requests pass that begin so. The connection that would bring the next one
    /// is cut in its place, once; the server hears nothing of it.
    pub fn cut_before(&self, beginning: &'static str, requests: u32) {
        *locked(&self.requests) = Some((beginning, requests));
    }

    /// Lets no answer pass, and says nobody so.
    pub fn go_deaf(&self) {
        self.left.store(DEAF, Ordering::SeqCst);
    }

    /// Lets everything pass again.
    pub fn mend(&self) {
        self.left.store(WHOLE, Ordering::SeqCst);
        *locked(&self.requests) = None;
    }

    /// Returns true if it was cut since it was told to be, or never was told.
    pub fn is_whole(&self) -> bool {
        self.left.load(Ordering::SeqCst) == WHOLE && locked(&self.requests).is_none()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.left.store(GONE, Ordering::SeqCst);
        // Wakes whoever waits for connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

fn connect(
    client: &TcpStream,
    server: &TcpStream,
    asked: &Requests,
    left: &Arc<AtomicI64>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, answers) = (client.try_clone()?, server.try_clone()?);
    let (to_server, to_client) = (server.try_clone()?, client.try_clone()?);
    let (asked, left) = (Arc::clone(asked), Arc::clone(left));
    thread::spawn(move || {
        carry(from_client, to_server, |bytes, out| {
            is_heard(&asked, bytes, out)
        });
    });
    thread::spawn(move || carry(answers, to_client, |_, out| passes(&left, out)));
    Ok(())
}

fn locked<T>(counted: &Mutex<T>) -> MutexGuard<'_, T> {
    counted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a request; an error cuts it.
fn is_heard(requests: &Requests, request: &[u8], out: &TcpStream) -> bool {
    let mut requests = locked(requests);
    match &mut *requests {
        Some((beginning, left)) if request.starts_with(beginning.as_bytes()) => {
            let Some(fewer) = left.checked_sub(1) else {
                *requests = None;
                let _ = out.shutdown(Shutdown::Both);
                return false;
            };
            *left = fewer;
            true
        }
        _ => true,
    }
}

/// Returns true if an answer passes. It is cut by failing.
fn passes(left: &AtomicI64, out: &TcpStream) -> bool {
    let step = |left| (left > WHOLE).then(|| left - 1);
    match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step) {
        Ok(0) => {
            let _ = out.shutdown(Shutdown::Both);
            false
        }
        Ok(_) | Err(WHOLE) => true,
        Err(_) => false,
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, may_pass: impl Fn(&[u8], &TcpStream) -> bool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        let rest = bytes.get(..n).filter(|bytes| may_pass(bytes, &to));
        if rest.is_some_and(|bytes| to.write_all(bytes).is_err()) {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
