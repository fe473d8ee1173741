//! A stock client of OpenAI's protocol: it names no conversation, and repeats all that was said.
use std::{
    thread,
    time::{Duration, Instant},
};

use fugato_state::Lang;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    FaultyServer, ModelAnswer, ModelServer, Server, ServerFault, TestProgram, assert_contains,
    assert_lacks, language::foreign,
};

/// The path of the protocol.
const PATH: &str = "/v1/chat/completions";

/// A client with its conversation.
struct StockClient<'s> {
    server: &'s Server,
    runtime: &'s Runtime,
    messages: Vec<Value>,
}

impl<'s> StockClient<'s> {
    fn new(server: &'s Server, runtime: &'s Runtime) -> Self {
        let messages = vec![];
        Self {
            server,
            runtime,
            messages,
        }
    }

    /// Sends the conversation with these fields, and returns the status and the response.
    fn ask(&self, more: &Value) -> (u16, String) {
        let mut body = more.as_object().cloned().unwrap_or_default();
        body.insert("messages".into(), json!(self.messages));
        let body = Value::from(body).to_string();
        let asked = Server::ask(self.server.address(), ("POST", PATH), &[], &body);
        self.runtime.block_on(asked).expect("an answer")
    }

    /// Adds a message.
    fn add(&mut self, role: &str, text: &str) {
        let message = json!({ "role": role, "content": text });
        self.messages.push(message);
    }

    /// Says something, and returns the answer, which it keeps.
    #[track_caller]
    fn say(&mut self, text: &str) -> String {
        self.add("user", text);
        let (status, body) = self.ask(&Value::Null);
        assert_eq!(status, 200, "{text:?}: {body}");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        let part = |path| body.pointer(path).and_then(Value::as_str);
        assert_eq!(part("/choices/0/finish_reason"), Some("stop"), "{body}");
        let said = part("/choices/0/message/content").unwrap_or_default();
        assert!(!said.trim().is_empty(), "an empty answer: {body}");
        self.add("assistant", said);
        said.to_owned()
    }
}

/// Returns the code of a card that is shown in a message.
#[track_caller]
fn code(told: &str) -> &str {
    shown_code(told).unwrap_or_else(|| panic!("no card says how to answer: {told}"))
}

/// Returns the code of a card, if one is shown in a message.
fn shown_code(told: &str) -> Option<&str> {
    let how = ["reply: yes ", "请回复：好的 "];
    how.iter().find_map(|how| told.split_once(how)?.1.get(..4))
}

/// Checks what a stock client of OpenAI's protocol gets of a program: what was said before counts, a
/// waiting card is a message that the next one answers, nobody but the person says what is wanted, and
/// the tokens of a model are told. `cards` are words that end with a card, with what is told once the
/// person has agreed, and only then.
///
/// # Panics
/// Panics if that is not so.
pub fn check_stock_client(program: &TestProgram, cards: &[(&str, &str)]) {
    ModelServer::check_history(program);
    let runtime = Runtime::new().expect("a runtime");
    let server = program.server(&["serve", "--listen", "127.0.0.1:0"]);
    let client = || StockClient::new(&server, &runtime);
    for (words, done) in cards {
        let (mut yes, mut no) = (client(), client());
        let card = yes.say(words);
        let other = no.say(words);
        assert_lacks(&card, *done);
        // The other client's card is declined, and its code is no answer to this one.
        let told = no.say(&format!("no {}", code(&other)));
        assert_lacks(&told, *done);
        // The card waits while something else is said, or a newer one is shown.
        let aside = yes.say("What is that?");
        assert_lacks(&aside, *done);
        let card = shown_code(&aside).unwrap_or_else(|| code(&card)).to_owned();
        let told = yes.say(&format!("yes {card}"));
        assert_contains(&told, *done);
        // The same request again does nothing: no card waits that it could answer.
        for who in [&yes, &no] {
            let mut again = client();
            let before = who.messages.iter().take(2);
            again.messages.extend(before.cloned());
            let told = again.say(&format!("yes {card}"));
            assert_lacks(&told, *done);
            assert_eq!(foreign(Lang::of(words), &told, words), None, "{told}");
        }
        not_the_persons(&mut client(), words);
        streamed(&mut client(), words);
    }
    drop(server);
    counted(program, &runtime);
}

/// Words of somebody else are no request.
#[track_caller]
fn not_the_persons(client: &mut StockClient<'_>, words: &str) {
    for role in ["assistant", "system", "tool"] {
        client.messages.clear();
        client.add("user", "hello");
        client.add(role, words);
        let (status, told) = client.ask(&Value::Null);
        assert_eq!(status, 400, "{role}: {told}");
        assert_contains(&told, role);
    }
}

/// A stream has the whole card, too.
#[track_caller]
fn streamed(client: &mut StockClient<'_>, words: &str) {
    client.add("user", words);
    let (status, told) = client.ask(&json!({ "stream": true }));
    assert_eq!(status, 200, "{told}");
    assert!(told.ends_with("data: [DONE]\n\n"), "{told}");
    let chunks = told.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = chunks.filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
    let said = chunks.filter_map(|chunk| {
        let text = chunk.pointer("/choices/0/delta/content")?;
        text.as_str().map(str::to_owned)
    });
    code(&said.collect::<String>());
}

/// The tokens that a model server counts are told.
#[track_caller]
fn counted(program: &TestProgram, runtime: &Runtime) {
    let model = ModelServer::in_turn([ModelAnswer::text("Hm.", "stop").counting(11, 7)]);
    let url = model.url();
    let flags = ["--base-url", &url, "--model", "mini"];
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let server = program.server(&[&serve[..], &flags].concat());
    let mut client = StockClient::new(&server, runtime);
    client.add("user", "Tell me a story about a cat.");
    let (status, told) = client.ask(&Value::Null);
    assert_eq!(status, 200, "{told}");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let asked = u64::try_from(model.heard().len()).expect("a small number");
    let usage = json!({
        "prompt_tokens": 11 * asked, "completion_tokens": 7 * asked, "total_tokens": 18 * asked,
    });
    assert!(asked > 0, "no model was asked");
    assert_eq!(told.get("usage"), Some(&usage), "{asked} answers: {told}");
    let (_, told) =
        client.ask(&json!({ "stream": true, "stream_options": { "include_usage": true } }));
    assert_contains(&told, r#""choices":[],"usage":{"completion_tokens":"#);
}

/// The longest time that a person waits for a model that may be silent for a second, and whose
/// answers may take two.
const PATIENCE: Duration = Duration::from_secs(30);

/// Checks that a person waits for a model that hangs, or says one letter a second, no longer than
/// `--model-silence` and `--model-time` say, and is told so, at the terminal and over HTTP. The words are
/// some about which the program asks a model, in English and in Chinese.
///
/// # Panics
/// Panics if that is not so.
pub fn check_patience(program: &TestProgram, words: [&str; 2]) {
    let told = [
        ["The model `m` did not answer", "The model took longer than"],
        ["模型`m`没有回答", "模型太久没有回答"],
    ];
    // Each waits most of the time.
    thread::scope(|scope| {
        for (words, told) in words.into_iter().zip(told) {
            scope.spawn(move || check_patience_with(program, HANGS, words, told));
            scope.spawn(move || check_patience_with(program, DRIPS, words, told));
        }
    });
}

/// A fault of a model, and the seconds that it may be silent, and may take.
type Slowness = (ServerFault, &'static str, &'static str);

const HANGS: Slowness = (ServerFault::Hangs, "1", "60");
const DRIPS: Slowness = (ServerFault::Drip(Duration::from_secs(1)), "60", "2");

fn check_patience_with(
    program: &TestProgram,
    (fault, silence, time): Slowness,
    words: &str,
    told: [&str; 2],
) {
    let runtime = Runtime::new().expect("a runtime");
    let model = FaultyServer::start(fault);
    let (asks, limits) = (
        ["--base-url", model.url(), "--model", "m"],
        ["--model-silence", silence, "--model-time", time],
    );
    let flags = [asks, limits].concat();
    let thread = format!("{silence}-{}", words.is_ascii());
    let say = ["--thread", &thread, "say", words];
    let begun = Instant::now();
    let ran = program.run(&[&flags[..], &say].concat());
    let took = begun.elapsed();
    assert!(took < PATIENCE, "{fault:?} {took:?}");
    assert!(ran.well, "{fault:?}: {ran:?}");
    assert!(says_any(&ran.told(), told), "{fault:?}: {ran:?}");
    // A server of its own: a model that failed is left alone for a while.
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let server = program.server(&[&flags[..], &serve].concat());
    let begun = Instant::now();
    let said = StockClient::new(&server, &runtime).say(words);
    let took = begun.elapsed();
    assert!(took < PATIENCE, "{fault:?} {took:?}");
    assert!(says_any(&said, told), "{fault:?}: {said:?}");
}

fn says_any(text: &str, parts: [&str; 2]) -> bool {
    parts.iter().any(|part| text.contains(part))
}
