//! Answers that are recorded, and their replay.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Duration,
};

use fugato_llm::{
    ChatDelta, ChatModel as _, ChatModelExt as _, ChatRequest, ModelError, ModelErrorKind,
    Recorder, Replay, Retry, RetryAdvice, Secrets, ToolSchema, Usage,
};
use fugato_state::{Message, Schema, ToolCall};
use fugato_testkit::{Scripted, ScriptedReply};
use futures::StreamExt as _;
use serde_json::json;

#[derive(Clone, Default)]
struct Tape(Arc<Mutex<Vec<u8>>>);

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no test panics with it").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tape {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no test panics with it").clone())
            .expect("JSON is UTF-8")
    }

    fn replay(&self) -> Replay {
        Replay::from_lines(&self.text()).expect("it was just recorded")
    }
}

fn ask(text: &str) -> ChatRequest {
    ChatRequest::new([Message::system("Be brief."), Message::user(text)])
}

/// Collects all deltas of an answer, with its error in short.
async fn heard(
    model: &impl fugato_llm::ChatModel,
    request: ChatRequest,
) -> Vec<Result<ChatDelta, String>> {
    match model.stream(request).await {
        Ok(deltas) => {
            deltas
                .map(|delta| delta.map_err(|error| error.to_string()))
                .collect()
                .await
        }
        Err(error) => vec![Err(error.to_string())],
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_gives_the_same_deltas_and_the_same_errors() {
    let limited = ModelError::new(ModelErrorKind::RateLimited, "status 429")
        .advice(RetryAdvice::After(Duration::from_secs(7)));
    let call = ToolCall::new("c1", "move", json!({ "day": 4, "task": "复习" }));
    let script = || {
        Scripted::new([
            ScriptedReply::chunked("Good morning", 5)
                .reasoning("They greet.")
                .usage(Usage::new(9, 3)),
            ScriptedReply::tool_calls([call.clone()]).delta(ChatDelta::Kept {
                by: "some".into(),
                value: json!({ "signature": "c2lnbg==" }),
            }),
            ScriptedReply::error(limited.clone()),
            ScriptedReply::chunks(["Go", "od"])
                .then_error(ModelError::new(ModelErrorKind::CutOff, "")),
        ])
    };
    let tape = Tape::default();
    let (plain, recorded) = (script(), Recorder::new(script(), tape.clone()));
    let schema = Schema::new(json!({ "type": "object" })).unwrap();
    let requests = [
        ask("Hello").temperature(0.2),
        ask("Move").tools([ToolSchema::new("move", "moves", schema)]),
        ask("Again"),
        ask("Again").max_tokens(5),
    ];
    let mut expected = vec![];
    for request in &requests {
        let heard_plain = heard(&plain, request.clone()).await;
        assert_eq!(heard(&recorded, request.clone()).await, heard_plain);
        expected.push(heard_plain);
    }
    let replay = tape.replay();
    // The order of different requests does not matter, nor do fields that no server sees.
    for (request, expected) in requests.into_iter().zip(expected).rev() {
        let request = request
            .timeout(Duration::from_secs(1))
            .metadata("stage", "x");
        assert_eq!(heard(&replay, request).await, expected);
    }
    assert_eq!((replay.name(), replay.left()), ("scripted", 0));
    let error = tape.replay().complete(ask("Again")).await.unwrap_err();
    assert_eq!((error.kind, error.advice), (limited.kind, limited.advice));
}

#[tokio::test(start_paused = true)]
async fn the_same_request_gets_its_answers_in_their_order() {
    let tape = Tape::default();
    let down = ModelError::new(ModelErrorKind::Unavailable, "");
    let script = Scripted::new([
        ScriptedReply::error(down),
        ScriptedReply::text("a"),
        ScriptedReply::text("b"),
    ]);
    let model = Retry::new(Recorder::new(script, tape.clone()));
    for answer in ["a", "b"] {
        assert_eq!(
            model.complete(ask("Hello")).await.unwrap().message.content,
            answer
        );
    }
    let model = Retry::new(tape.replay());
    for answer in ["a", "b"] {
        assert_eq!(
            model.complete(ask("Hello")).await.unwrap().message.content,
            answer
        );
    }
    let why = model.complete(ask("Hello")).await.unwrap_err();
    assert_eq!(
        (why.kind, why.context.as_str()),
        (
            ModelErrorKind::Other,
            "the cassette has this request 3 times, and it was made once more"
        )
    );
}

#[tokio::test]
async fn a_miss_names_the_line_that_comes_nearest() {
    let tape = Tape::default();
    let model = Recorder::new(Scripted::new(["a", "b"]), tape.clone());
    model.complete(ask("Hello").temperature(0.2)).await.unwrap();
    model.complete(ask("Goodbye")).await.unwrap();
    for (request, context) in [
        (
            ask("Goodbye").max_tokens(5),
            "the cassette has no such request; line 2 comes nearest, and differs at /sampling/max_tokens: null there, 5 here",
        ),
        (
            ask("Hello")
                .temperature(0.2)
                .message(Message::user("You there?")),
            "the cassette has no such request; line 1 comes nearest, and differs at /messages/2/content: nothing there, \"You there?\" here",
        ),
    ] {
        let why = tape.replay().complete(request).await.unwrap_err();
        assert_eq!(
            (why.context.as_str(), why.advice),
            (context, RetryAdvice::Never)
        );
    }
    let why = Replay::from_lines("")
        .unwrap()
        .complete(ask("Hello"))
        .await
        .unwrap_err();
    assert_eq!(why.context, "the cassette is empty");
}

#[tokio::test]
async fn a_secret_in_a_request_does_not_keep_it_from_being_found() {
    let tape = Tape::default();
    let secrets = |key: &str| Secrets::new([key]);
    let model = Recorder::new(Scripted::new(["your key is first-key"]), tape.clone());
    let model = model.secrets(secrets("first-key"));
    let response = model.complete(ask("My key is first-key")).await.unwrap();
    assert_eq!(response.message.content, "your key is first-key");
    assert!(!tape.text().contains("first-key"));
    let replay = tape.replay().secrets(secrets("second-key"));
    let response = replay.complete(ask("My key is second-key")).await.unwrap();
    assert_eq!(response.message.content, "your key is ‹•••›");
}

#[tokio::test]
async fn an_answer_that_is_given_up_is_not_kept() {
    let tape = Tape::default();
    let model = Recorder::new(
        Scripted::new([ScriptedReply::chunks(["a", "b"])]),
        tape.clone(),
    );
    let mut deltas = model.stream(ask("Hello")).await.unwrap();
    assert!(deltas.next().await.is_some());
    drop(deltas);
    assert_eq!(tape.text(), "");
}

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_cassette_that_cannot_be_written_is_an_error() {
    let model = Recorder::new(Scripted::new(["a"]), Full);
    let heard = heard(&model, ask("Hello")).await;
    assert_eq!(heard[0], Ok(ChatDelta::text("a")));
    assert_eq!(
        heard.last(),
        Some(&Err(
            "the model failed: the cassette cannot be written".to_owned()
        ))
    );
}
