//! A model server that answers as a test says.
use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{Server, TestProgram};

/// A server of chat completions on the loopback interface. It ends with the test program.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Value>>>,
}

/// The answer of a [`ModelServer`] to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    status: u16,
    body: String,
}

impl ModelAnswer {
    /// Creates an answer with this status and body.
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        let body = body.into();
        Self { status, body }
    }

    /// Creates a streamed answer of a model, with the reason for which it ended, such as `stop`.
    pub fn text(text: &str, finish_reason: &str) -> Self {
        let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
        let end =
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish_reason }] });
        Self::new(
            200,
            format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n"),
        )
    }

    /// Creates a streamed answer that calls these tools, each with its arguments; the ids are `call-1`
    /// and so on.
    pub fn calls(calls: &[(&str, Value)]) -> Self {
        let calls = calls.iter().enumerate().map(|(at, (name, arguments))| {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            json!({ "index": at, "id": format!("call-{}", at + 1), "function": function })
        });
        let calls: Vec<_> = calls.collect();
        let delta = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": calls } }] });
        let end =
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
        Self::new(
            200,
            format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n"),
        )
    }

    /// Adds the numbers of tokens that the server counts, those of the prompt and of the answer.
    #[must_use]
    pub fn counting(mut self, prompt: u64, answer: u64) -> Self {
        let usage = json!({
            "prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer,
        });
        let chunk = json!({ "choices": [], "usage": usage });
        let done = "data: [DONE]";
        self.body = self.body.replace(done, &format!("data: {chunk}\n\n{done}"));
        self
    }

    fn wire(&self) -> String {
        let Self { status, body } = self;
        let kind = if body.starts_with("data:") {
            "text/event-stream"
        } else {
            "application/json"
        };
        format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            body.len()
        )
    }
}

#[expect(
    clippy::missing_panics_doc,
    reason = "a helper that fails fails its test"
)]
impl ModelServer {
    /// Starts a server that gives every request the same answer.
    pub fn answering(status: u16, body: &str) -> Self {
        Self::in_turn([ModelAnswer::new(status, body)])
    }

    /// Starts a server that gives these answers one after another, and repeats the last one.
    pub fn in_turn(answers: impl IntoIterator<Item = ModelAnswer>) -> Self {
        let answers: Vec<_> = answers.into_iter().collect();
        let (asked, last) = (AtomicUsize::default(), answers.len().saturating_sub(1));
        Self::deciding(move |_| {
            let nth = asked.fetch_add(1, Ordering::Relaxed).min(last);
            answers.get(nth).expect("at least one answer").clone()
        })
    }

    /// Starts a server that decides each answer from the body of the request.
    pub fn deciding(answer: impl Fn(&Value) -> ModelAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let asked = heard.clone();
        let answer = Arc::new(move |request: &Value| {
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push(request.clone());
            answer(request)
        });
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = answer.clone();
                thread::spawn(move || serve(stream, &*answer));
            }
        });
        Self { address, heard }
    }

    /// Returns the bodies of the requests so far, oldest first.
    pub fn heard(&self) -> Vec<Value> {
        let heard = self.heard.lock();
        heard.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the texts of the messages of each request so far, one after another.
    pub fn prompts(&self) -> Vec<String> {
        let text = |request: &Value| {
            let messages = request["messages"].as_array().into_iter().flatten();
            let texts = messages.filter_map(|message| message["content"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        };
        self.heard().iter().map(text).collect()
    }

    /// Returns all that a run of a program says that asks this server; it must end well.
    #[track_caller]
    pub fn run(&self, program: &TestProgram, args: &[&str]) -> String {
        let url = self.url();
        let named = ["--base-url", &url, "--model", "mini"];
        let ran = program.run(&[&named[..], args].concat());
        assert!(ran.well, "{args:?}: {ran:?}");
        ran.told()
    }

    /// Returns the address of a server that does not exist: no process listens there.
    pub fn closed() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        Self {
            address,
            heard: Arc::default(),
        }
    }

    /// Returns servers that refuse the key, do not know the model, fail, were asked too often, and are
    /// not there; each with what agents say of it in English and in Chinese.
    pub fn failing() -> Vec<(Self, &'static str, &'static str)> {
        let error = r#"{"error": {"message": "no"}}"#;
        vec![
            (Self::answering(401, error), "refused the key", "拒绝了密钥"),
            (Self::answering(404, error), "no such model", "没有这个模型"),
            (
                Self::answering(500, "<html>"),
                "cannot serve now",
                "暂时不能服务",
            ),
            (Self::answering(429, error), "asked too often", "请求太频繁"),
            (Self::closed(), "could not be reached", "连不上服务器"),
        ]
    }

    /// Checks that what a client of OpenAI's protocol says was said before reaches the model of a
    /// program, and that its instructions do not.
    #[track_caller]
    pub(crate) fn check_history(program: &TestProgram) {
        let messages = json!([
            { "role": "system", "content": "You are a pirate." },
            { "role": "user", "content": "My cat is called Tom." },
            { "role": "assistant", "content": "A fine name for a cat." },
            { "role": "user", "content": "Tell me a story about my cat." },
        ]);
        let (status, asked) = Self::asked_for(program, "Tom was a cat.", &messages);
        assert_eq!(status, 200);
        let heard = |words: &str| asked.iter().any(|body| body.to_string().contains(words));
        assert!(
            heard("about my cat") && heard("My cat is called Tom."),
            "{asked:?}"
        );
        assert!(
            !heard("pirate"),
            "instructions are the operator's: {asked:?}"
        );
    }

    /// Serves a program whose model answers `text`, sends it this conversation, and returns the
    /// status, and the bodies of the requests that the model got.
    fn asked_for(program: &TestProgram, text: &str, messages: &Value) -> (u16, Vec<Value>) {
        let model = Self::in_turn([ModelAnswer::text(text, "stop")]);
        let url = model.url();
        let named = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--base-url",
            &url,
            "--model",
            "mini",
        ];
        let server = program.server(&named);
        let body = json!({ "messages": messages }).to_string();
        let request = ("POST", "/v1/chat/completions");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let answer = runtime.block_on(Server::ask(server.address(), request, &[], &body));
        let (status, _) = answer.expect("an answer");
        (status, model.heard())
    }

    /// Returns the address, for `--base-url`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

/// Reads one request, and answers.
fn serve(mut stream: TcpStream, answer: &dyn Fn(&Value) -> ModelAnswer) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let (mut request, mut piece) = (vec![], [0; 4096]);
    let body = loop {
        if let Some(body) = whole_body(&request) {
            break body;
        }
        match stream.read(&mut piece) {
            Ok(read) if read > 0 => request.extend(piece.iter().take(read)),
            _ => return,
        }
    };
    let _ = stream.write_all(answer(&body).wire().as_bytes());
}

/// Returns the body of a request that is complete; null if it is no JSON.
fn whole_body(request: &[u8]) -> Option<Value> {
    let end = request.windows(4).position(|it| it == b"\r\n\r\n")?;
    let (head, body) = request.split_at_checked(end + 4)?;
    let head = String::from_utf8_lossy(head).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length = length.and_then(|length| length.trim().parse().ok());
    let body = body.get(..length.unwrap_or(0))?;
    Some(serde_json::from_slice(body).unwrap_or_default())
}
