//! A model server with harmful answers.
use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// A server of chat completions, on this machine, that answers every request in the same bad way.
/// It serves until its process ends.
#[derive(Debug, Clone)]
pub struct FaultyServer {
    url: String,
    requests: Arc<AtomicU64>,
}

/// A harmful way to answer. An endless answer ends when its client disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerFault {
    /// Endless text, in deltas of 10 kB.
    EndlessText,
    /// Endless reasoning, in deltas of 10 kB.
    EndlessReasoning,
    /// Endless text, one letter at each interval.
    Drip(Duration),
    /// A line of 1 GB that does not end.
    EndlessLine,
    /// Lines of data that never become an event.
    EndlessEvent,
    /// A comment at each interval, and nothing else.
    Comments(Duration),
    /// Comments as fast as the client reads them.
    EndlessComments,
    /// The connection is accepted, and nothing is sent.
    Hangs,
    /// A part of an answer, and then nothing.
    HangsMidway,
    /// This many bytes of text, and a proper end.
    LongText(usize),
    /// This many calls of a tool, and a proper end.
    ManyCalls(usize),
    /// Endless calls without text.
    EndlessCalls,
    /// Endless arguments of a call.
    EndlessArguments,
    /// Status 500 with an endless body.
    EndlessError,
    /// An endless header.
    EndlessHead,
    /// An endless JSON document in place of events.
    EndlessJson,
    /// Status 400: the request exceeds the context of the model.
    ContextExceeded,
}

impl FaultyServer {
    /// Starts a server.
    ///
    /// # Panics
    /// When this machine has no free port.
    pub fn start(fault: ServerFault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::new(AtomicU64::new(0));
        let count = requests.clone();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let count = count.clone();
                // Its client disconnects when it has read enough.
                thread::spawn(move || drop(serve(socket, fault, &count)));
            }
        });
        Self {
            url: format!("http://{address}/v1"),
            requests,
        }
    }

    /// Returns the base address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

fn serve(socket: TcpStream, fault: ServerFault, count: &AtomicU64) -> io::Result<()> {
    let mut reader = BufReader::new(socket);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(found) = line.to_lowercase().strip_prefix("content-length:") {
            length = found.trim().parse().map_err(io::Error::other)?;
        }
        line.clear();
    }
    io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
    count.fetch_add(1, Ordering::Relaxed);
    answer(reader.get_mut(), fault)
}

fn answer(to: &mut TcpStream, fault: ServerFault) -> io::Result<()> {
    match fault {
        ServerFault::Hangs => hang(),
        ServerFault::EndlessHead => {
            to.write_all(b"HTTP/1.1 200 OK\r\nx-long: ")?;
            return endless(to, |_| "x".repeat(10_000));
        }
        ServerFault::ContextExceeded => {
            let why = r#"{"error":{"code":400,"message":"request (8327 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error"}}"#;
            head(to, "400 Bad Request", "application/json")?;
            return to.write_all(why.as_bytes());
        }
        ServerFault::EndlessError => head(to, "500 Internal Server Error", "text/plain")?,
        ServerFault::EndlessJson => head(to, "200 OK", "application/json")?,
        _ => head(to, "200 OK", "text/event-stream")?,
    }
    say(to, fault)
}

fn say(to: &mut TcpStream, fault: ServerFault) -> io::Result<()> {
    let words = "10 kB of words. ".repeat(625);
    match fault {
        ServerFault::EndlessText => endless(to, |_| event(&json!({ "content": words }))),
        ServerFault::EndlessReasoning => {
            endless(to, |_| event(&json!({ "reasoning_content": words })))
        }
        ServerFault::Drip(pause) => endless(to, |_| {
            thread::sleep(pause);
            event(&json!({ "content": "x" }))
        }),
        ServerFault::EndlessLine => {
            to.write_all(b"data: ")?;
            (0..100_000).try_for_each(|_| to.write_all(words.as_bytes()))
        }
        ServerFault::EndlessEvent => endless(to, |_| format!("data: {words}\n")),
        ServerFault::Comments(pause) => endless(to, |_| {
            thread::sleep(pause);
            ": ping\n\n".to_owned()
        }),
        ServerFault::EndlessComments => endless(to, |_| format!(": {words}\n\n")),
        ServerFault::HangsMidway => {
            to.write_all(event(&json!({ "content": "Well, " })).as_bytes())?;
            hang()
        }
        ServerFault::LongText(bytes) => {
            for _ in 0..bytes.div_ceil(words.len()) {
                to.write_all(event(&json!({ "content": words })).as_bytes())?;
            }
            end(to, "stop")
        }
        ServerFault::ManyCalls(calls) => {
            for n in 0..calls {
                to.write_all(call(n, &format!("call-{n}"), "{}").as_bytes())?;
            }
            end(to, "tool_calls")
        }
        ServerFault::EndlessCalls => endless(to, |n| call(n, "", "")),
        ServerFault::EndlessArguments => endless(to, |_| call(0, "a", &words)),
        _ => endless(to, |_| words.clone()),
    }
}

fn head(to: &mut TcpStream, status: &str, kind: &str) -> io::Result<()> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
    to.write_all(head.as_bytes())
}

fn endless(to: &mut TcpStream, mut next: impl FnMut(usize) -> String) -> io::Result<()> {
    (0..).try_for_each(|n| to.write_all(next(n).as_bytes()))
}

fn event(delta: &Value) -> String {
    let chunk = json!({ "choices": [{ "index": 0, "delta": delta }] });
    format!("data: {chunk}\n\n")
}

fn call(index: usize, id: &str, arguments: &str) -> String {
    let function = json!({ "name": "look", "arguments": arguments });
    event(&json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] }))
}

fn end(to: &mut TcpStream, reason: &str) -> io::Result<()> {
    let last = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    to.write_all(format!("data: {last}\n\ndata: [DONE]\n\n").as_bytes())
}

fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_secs(3_600));
    }
}
