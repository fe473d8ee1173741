//! A program that serves, and what a page asks of it.
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// The time that a run may take.
const LONG: Duration = Duration::from_secs(90);

/// The most times that one card is shown: those of older programs may be asked anew, once they are
/// answered.
const ROUNDS: usize = 3;

/// A process that ends with its test.
pub(crate) struct ServedFixture {
    process: Child,
    address: String,
}

impl Drop for ServedFixture {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl ServedFixture {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap_or_default();
        let address = address.trim().trim_end_matches('/').to_owned();
        if address.is_empty() {
            let _ = process.kill();
            let ended = process.wait_with_output().unwrap();
            panic!(
                "it does not serve: {line}{}",
                String::from_utf8_lossy(&ended.stderr)
            );
        }
        Self { process, address }
    }

    /// A request, and the status and body of its answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let (host, body) = (&self.address, body.to_string());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        (
            status.unwrap_or_else(|| panic!("no answer: {answer}")),
            body,
        )
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub(crate) fn view(&self, thread: &str) -> Value {
        self.get(&format!("/threads/{thread}"))
    }

    /// The records of a thread from a position on.
    pub(crate) fn log(&self, thread: &str, from: u64) -> Vec<Value> {
        let path = format!("/threads/{thread}/history?limit=1000&from={from}");
        self.get(&path)["entries"].as_array().unwrap().clone()
    }

    /// The thread once nothing is under way in it.
    pub(crate) fn rests(&self, thread: &str) -> Value {
        let begin = Instant::now();
        loop {
            let view = self.view(thread);
            if !["running", "unfinished", "sleeping"].contains(&view["status"].as_str().unwrap()) {
                return view;
            }
            assert!(
                begin.elapsed() < LONG,
                "{thread} does not come to rest: {view}"
            );
            sleep(Duration::from_millis(50));
        }
    }

    /// The thread once what was accepted has begun, and nothing is under way in it.
    fn goes_on(&self, thread: &str, before: &Value) -> Value {
        let begin = Instant::now();
        while self.view(thread)["head"] == before["head"] {
            assert!(begin.elapsed() < LONG, "{thread} does not go on: {before}");
            sleep(Duration::from_millis(20));
        }
        self.rests(thread)
    }

    /// Says something to a thread that waits for nothing.
    pub(crate) fn says(&self, thread: &str, text: &str) -> Value {
        let before = self.rests(thread);
        let body = json!({ "text": text });
        let (status, told) = self.ask("POST", &format!("/threads/{thread}/runs"), &body);
        assert_eq!(status, 202, "{thread}: {told}");
        self.goes_on(thread, &before)
    }

    /// Takes up again what a crash has left.
    pub(crate) fn recovers(&self, thread: &str) -> Value {
        // Whoever serves may have done so already, and then it is refused.
        self.ask("POST", &format!("/threads/{thread}/recover"), &Value::Null);
        self.rests(thread)
    }

    /// Answers what a thread asks, by the ids and digests that it shows, until it asks nothing
    /// more. A question may come again under a new id, but not for ever.
    pub(crate) fn answers(&self, thread: &str, answer: impl Fn(&Value) -> Value) -> Value {
        let mut asked: Vec<(String, usize)> = vec![];
        loop {
            let view = self.rests(thread);
            let open = view["interrupts"].as_array().unwrap().clone();
            if open.is_empty() {
                return view;
            }
            for question in &open {
                let title = question["prompt"].to_string();
                let known = asked.iter_mut().find(|(known, _)| *known == title);
                let times = known.map_or(1, |(_, times)| {
                    *times += 1;
                    *times
                });
                assert!(times <= ROUNDS, "{thread} asks for ever: {question}");
                if times == 1 {
                    asked.push((title, 1));
                }
            }
            self.answer(thread, &view, &answer);
        }
    }

    fn answer(&self, thread: &str, view: &Value, answer: impl Fn(&Value) -> Value) {
        let mut body = json!({ "answers": {}, "digests": {} });
        for question in view["interrupts"].as_array().unwrap() {
            let id = question["id"].as_str().unwrap();
            body["answers"][id] = answer(question);
            if question["digest"].is_string() {
                body["digests"][id] = question["digest"].clone();
            }
        }
        let (status, told) = self.ask("POST", &format!("/threads/{thread}/resume"), &body);
        let now = self.goes_on(thread, view);
        // It may be refused for being asked anew, and then it shows other ids.
        let refused = status != 202 && now["interrupts"] == view["interrupts"];
        assert!(!refused, "{thread}: {status} {told}");
    }
}

/// The last words of a conversation.
pub(crate) fn last_words(view: &Value) -> &str {
    let items = view["timeline"].as_array().unwrap();
    let mut texts = items.iter().rev();
    let last = texts.find(|item| item["kind"] == "assistant_text");
    last.and_then(|item| item["text"].as_str())
        .unwrap_or_default()
}
