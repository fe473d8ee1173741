//! Fields beside an answer to a card, in words or by a button: they are in the answer, or are refused by
//! their names.
use std::sync::Arc;

use async_trait::async_trait;
use axum::http::Method;
use fugato_axum::{AgentRoutes, AllowAll, BadInput, MessageIntent, ServedAgent, UserMessage};
use fugato_graph::{Answers, BoxError, Context, END, Graph, Outcome, Runner};
use fugato_state::{Question, Schema, State, ThreadId};
use fugato_store::MemoryLog;
use futures::{SinkExt as _, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_tungstenite::{connect_async, tungstenite::Message};

use crate::{
    server::{Answer, Client},
    wire::{PATIENCE, TestServer},
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Claims {
    wish: String,
    answer: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Change {
    Wished(String),
    Answered(Value),
}

impl State for Claims {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Wished(wish) => {
                *self = Self {
                    wish,
                    answer: Value::Null,
                }
            }
            Change::Answered(answer) => self.answer = answer,
        }
    }
}

/// Asks for an approval that takes fields beside the words, for one that takes a yes or a no, or a
/// question.
async fn ask(cx: Context<Claims>) -> Result<Outcome<Change>, BoxError> {
    if let Some(answer) = cx.answer::<Value>("card")? {
        return Ok(Outcome::done([Change::Answered(answer)]));
    }
    let prompt = match cx.state().wish.as_str() {
        "whichever" => json!("Which one?"),
        _ => json!({ "type": "confirm", "title": "Claim it?" }),
    };
    let fields = json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "context": { "type": "object" }, "attachments": { "type": "array", "items": { "type": "string" } },
            "lang": { "type": ["string", "null"] },
        },
    });
    let schema = match cx.state().wish.as_str() {
        "whichever" => json!({ "type": "string" }),
        "plain" => json!({ "type": "boolean" }),
        _ => json!({
            "type": "object", "required": ["action"], "additionalProperties": false,
            "$defs": { "Beside": fields },
            "properties": {
                "action": { "enum": ["approve", "reject", "say"] }, "text": { "type": "string" },
                "beside": { "anyOf": [{ "$ref": "#/$defs/Beside" }, { "type": "null" }] },
            },
        }),
    };
    let mut question = Question::new::<Value>("card", prompt);
    question.schema = Schema::new(schema)?;
    Ok(Outcome::ask(match cx.state().wish.as_str() {
        "whichever" => question,
        _ => question.digest("1f0c"),
    }))
}

struct Clerk(Runner<Claims>);

#[async_trait]
impl ServedAgent for Clerk {
    type State = Claims;

    fn name(&self) -> &'static str {
        "claims"
    }

    fn content_fields(&self) -> &[&str] {
        &["context", "attachments", "budget"]
    }

    fn runner(&self) -> &Runner<Claims> {
        &self.0
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<Change>, BadInput> {
        Ok(vec![Change::Wished(said.text)])
    }

    async fn intent(
        &self,
        thread: &ThreadId,
        said: &UserMessage,
    ) -> Result<MessageIntent, BadInput> {
        let open = self
            .0
            .interrupts(thread)
            .await
            .map_err(|error| BadInput::new("no").because(error))?;
        Ok(match open.first() {
            Some(asked) if asked.question.digest.is_none() => {
                let answers = Answers::to(asked.id.clone(), &said.text);
                MessageIntent::Answer(answers.map_err(|error| BadInput::new("no").because(error))?)
            }
            _ => MessageIntent::Request,
        })
    }
}

fn runner() -> Runner<Claims> {
    let graph = Graph::<Claims>::starting_at("ask")
        .node("ask", ask)
        .edge("ask", END);
    let graph = graph.build().expect("the graph is well formed");
    Runner::new(graph, Arc::new(MemoryLog::default()))
}

fn routes(runner: &Runner<Claims>) -> AgentRoutes<Clerk> {
    AgentRoutes::new(Clerk(runner.clone())).authenticate(AllowAll)
}

/// Begins a conversation that asks, and returns its card.
async fn asked(client: &Client, thread: &str, wish: &str) -> String {
    client.run(thread, wish).await;
    client.asked(thread).await
}

/// The answer that the thread has got.
async fn answer(client: &Client, thread: &str) -> Value {
    let state = client.get(&format!("/threads/{thread}/state")).await;
    state.json()["state"]["answer"].clone()
}

/// Words under a card with fields beside them, in every protocol.
fn said(thread: &str, card: &str, text: &str, beside: &Value) -> Vec<(String, Value)> {
    let with_card = || {
        let mut all = beside.clone();
        all["card"] = json!(card);
        all
    };
    let messages =
        json!([{ "role": "user", "content": text, "parts": [{ "type": "text", "text": text }] }]);
    let mut openai = with_card();
    openai["conversation_id"] = json!(thread);
    let mut sdk = with_card();
    (sdk["id"], sdk["messages"]) = (json!(thread), messages.clone());
    vec![
        (
            format!("/threads/{thread}/runs"),
            json!({ "text": text, "card": card, "extra": beside }),
        ),
        (
            "/agui".into(),
            json!({ "threadId": thread, "runId": "r", "messages": messages, "forwardedProps": with_card() }),
        ),
        ("/api/chat".into(), sdk),
        (
            "/v1/chat/completions".into(),
            json!({ "messages": messages, "extra": openai }),
        ),
        (
            "/sse/react".into(),
            json!({ "thread": thread, "text": text, "card": card, "extra": beside }),
        ),
    ]
}

/// A yes or a no by a button of a card with fields beside it, in every protocol.
fn pressed(thread: &str, card: &str, agrees: bool, beside: &Value) -> Vec<(String, Value)> {
    let answers = json!({ card: agrees });
    let action = if agrees { "approve" } else { "reject" };
    let mut openai = beside.clone();
    openai["conversation_id"] = json!(thread);
    openai["resume"] = json!({ "interaction_id": card, "type": "confirm", "action": action });
    let mut sdk = beside.clone();
    (sdk["id"], sdk["answers"]) = (json!(thread), answers.clone());
    let entry = json!({ "interruptId": card, "status": "resolved", "payload": agrees });
    vec![
        (
            format!("/threads/{thread}/resume"),
            json!({ "answers": answers, "extra": beside }),
        ),
        (
            "/agui".into(),
            json!({
                "threadId": thread, "runId": "r", "messages": [], "resume": [entry],
                "forwardedProps": beside,
            }),
        ),
        ("/api/chat".into(), sdk),
        (
            "/v1/chat/completions".into(),
            json!({ "messages": [], "extra": openai }),
        ),
        (
            "/sse/react".into(),
            json!({ "thread": thread, "answers": answers, "extra": beside }),
        ),
    ]
}

/// Says it under a card in each protocol; see [`in_each`].
async fn each(wish: &str, text: &str, beside: &Value) -> Vec<(String, String, Value)> {
    let socket = |card: &Value| {
        let data = json!({ "content": text, "card": card, "extra": beside });
        json!({ "event": "user_input", "data": data })
    };
    in_each(
        wish,
        |thread, card| said(thread, card, text, beside),
        socket,
    )
    .await
}

/// Presses a button of a card in each protocol; see [`in_each`].
async fn each_press(wish: &str, agrees: bool, beside: &Value) -> Vec<(String, String, Value)> {
    let socket = |card: &Value| {
        let data = json!({ "id": card, "answer": agrees, "extra": beside });
        json!({ "event": "answer", "data": data })
    };
    let requests = |thread: &str, card: &str| pressed(thread, card, agrees, beside);
    in_each(wish, requests, socket).await
}

/// Sends it in each protocol to a conversation of its own, over a socket too, and returns the names of
/// the protocols with the response and the answer that the card got.
async fn in_each(
    wish: &str,
    requests: impl Fn(&str, &str) -> Vec<(String, Value)>,
    to_socket: impl Fn(&Value) -> Value,
) -> Vec<(String, String, Value)> {
    let runner = runner();
    let served = TestServer::open(routes(&runner)).await;
    let client = Client(routes(&runner).router());
    let mut came = vec![];
    for at in 0..5 {
        let thread = format!("desk-{at}");
        let card = asked(&client, &thread, wish).await;
        let (path, body) = requests(&thread, &card).swap_remove(at);
        let accept = [("accept", "text/event-stream")];
        let Answer { body, .. } = client.with(Method::POST, &path, &accept, body).await;
        came.push((path, body, answer(&client, &thread).await));
    }
    let url = format!("ws://{}/ws/chat?thread=desk", served.address);
    let (mut socket, _) = connect_async(url).await.expect("a socket opens");
    let begin = json!({ "event": "user_input", "data": { "content": wish } });
    socket
        .send(Message::text(begin.to_string()))
        .await
        .expect("it is sent");
    let mut until = async |names: &[&str], next: Option<Message>| {
        if let Some(next) = next {
            socket.send(next).await.expect("it is sent");
        }
        loop {
            let message = tokio::time::timeout(PATIENCE, socket.next()).await;
            let message = message.expect("in time").expect("open").expect("whole");
            let message: Value =
                serde_json::from_str(message.to_text().expect("text")).expect("JSON");
            if names.iter().any(|name| message["event"] == *name) {
                return message;
            }
        }
    };
    let card = until(&["interrupt"], None).await["data"]["id"].clone();
    let next = Message::text(to_socket(&card).to_string());
    let end = until(&["final_answer", "error", "done"], Some(next)).await;
    came.push((
        "socket".into(),
        end.to_string(),
        answer(&client, "desk").await,
    ));
    came
}

#[tokio::test]
async fn k35_what_comes_beside_a_yes_or_other_words_is_in_the_answer() {
    let beside = json!({ "context": { "amount": 300 }, "attachments": ["receipt.pdf"] });
    for (text, expected) in [
        ("yes", json!({ "action": "approve", "beside": beside })),
        (
            "no, too late",
            json!({ "action": "reject", "text": "too late", "beside": beside }),
        ),
        (
            "three hundred",
            json!({ "action": "say", "text": "three hundred", "beside": beside }),
        ),
    ] {
        for (path, told, got) in each("claim", text, &beside).await {
            assert_eq!(got, expected, "{path} {text}: {told}");
        }
    }
}

#[tokio::test]
async fn k35_what_a_card_does_not_take_is_refused_by_its_name() {
    let amount = json!({ "context": { "amount": 300 }, "budget": 7 });
    for (wish, text, takes) in [
        (
            "claim",
            "yes",
            "\\\"attachments\\\", \\\"context\\\" and \\\"lang\\\"",
        ),
        (
            "claim",
            "three hundred",
            "\\\"attachments\\\", \\\"context\\\" and \\\"lang\\\"",
        ),
        ("plain", "yes", "nothing"),
        ("plain", "no", "nothing"),
        ("whichever", "the first", "nothing"),
    ] {
        for (path, told, got) in each(wish, text, &amount).await {
            assert_eq!(got, Value::Null, "{path} {wish} {text}: {told}");
            for part in ["\\\"budget\\\"", takes] {
                assert!(told.contains(part), "{path} {wish} {text}: {told}");
            }
        }
    }
}

#[tokio::test]
async fn k35_what_comes_beside_a_button_is_in_the_answer_or_refused() {
    let beside = json!({ "context": { "amount": 300 }, "attachments": ["receipt.pdf"] });
    for (agrees, action) in [(true, "approve"), (false, "reject")] {
        let expected = json!({ "action": action, "beside": beside });
        for (path, told, got) in each_press("claim", agrees, &beside).await {
            assert_eq!(got, expected, "{path}: {told}");
        }
        for (path, told, got) in each_press("plain", agrees, &beside).await {
            assert_eq!(got, Value::Null, "{path}: {told}");
            for part in ["\\\"attachments\\\" and \\\"context\\\"", "nothing"] {
                assert!(told.contains(part), "{path}: {told}");
            }
        }
    }
    let settings = json!({ "thinking": true, "lang": "en" });
    for (path, told, got) in each_press("plain", true, &settings).await {
        assert_eq!(got, json!(true), "{path}: {told}");
    }
}

/// The answer that a button sends itself stands, and another field beside it is refused, not passed over.
#[tokio::test]
async fn k35_what_a_button_sends_itself_stands() {
    let client = Client(routes(&runner()).router());
    let card = asked(&client, "desk", "claim").await;
    let own = json!({ "context": { "amount": 300 } });
    let reply = json!({ "action": "approve", "beside": own });
    let extra = json!({ "attachments": ["receipt.pdf"] });
    let sent = |extra: &Value| json!({ "answers": { &card: reply }, "extra": extra });
    let path = "/threads/desk/resume";
    for refused in [
        sent(&json!({ "budget": 7 })),
        json!({ "answers": { &card: reply }, "context": own["context"] }),
    ] {
        let answer = client.post(path, refused).await;
        assert!(answer.status.is_client_error(), "{}", answer.body);
    }
    let accept = [("accept", "text/event-stream")];
    for _ in 0..2 {
        let done = client.with(Method::POST, path, &accept, sent(&extra)).await;
        assert_eq!(done.status.as_u16(), 200, "{}", done.body);
    }
    let both = json!({ "context": { "amount": 300 }, "attachments": ["receipt.pdf"] });
    let expected = json!({ "action": "approve", "beside": both });
    assert_eq!(answer(&client, "desk").await, expected);
    // A repeat with other fields is another request.
    let other = client
        .with(
            Method::POST,
            path,
            &accept,
            sent(&json!({ "attachments": ["b.pdf"] })),
        )
        .await;
    assert_eq!(other.status.as_u16(), 409, "{}", other.body);
}

#[tokio::test]
async fn k35_what_brings_nothing_is_no_reason_to_refuse_a_yes() {
    let nothing = json!({ "lang": "en", "context": {}, "attachments": [], "note": null });
    for (path, told, got) in each("plain", "yes", &nothing).await {
        assert_eq!(got, json!(true), "{path}: {told}");
    }
}

/// A client sends its settings with every message, and whoever uses it cannot leave them out.
#[tokio::test]
async fn k35_a_setting_is_no_reason_to_refuse_a_yes() {
    let settings = json!({ "thinking": true, "webSearch": { "depth": 2 } });
    for (path, told, got) in each("plain", "yes", &settings).await {
        assert_eq!(got, json!(true), "{path}: {told}");
    }
    let mut both = settings;
    both["context"] = json!({ "amount": 300 });
    let taken = json!({ "action": "approve", "beside": { "context": { "amount": 300 } } });
    for (path, told, got) in each("claim", "yes", &both).await {
        assert_eq!(got, taken, "{path}: {told}");
    }
}

#[tokio::test]
async fn k35_a_repeat_with_other_fields_beside_it_is_another_request() {
    let client = Client(routes(&runner()).router());
    let card = asked(&client, "desk", "claim").await;
    let say = async |amount: u32| {
        let beside = json!({ "context": { "amount": amount } });
        let body = json!({ "text": "yes", "card": card, "extra": beside });
        let key = [("idempotency-key", "k1"), ("accept", "text/event-stream")];
        let answer = client
            .with(Method::POST, "/threads/desk/runs", &key, body)
            .await;
        answer.status.as_u16()
    };
    assert_eq!(
        (say(300).await, say(300).await, say(400).await),
        (200, 200, 422)
    );
}

#[tokio::test]
async fn k35_a_field_in_the_wrong_place_is_refused_by_its_name() {
    let client = Client(routes(&runner()).router());
    for (path, body) in [
        (
            "/threads/desk/runs",
            json!({ "text": "claim", "context": { "amount": 300 } }),
        ),
        (
            "/sse/react",
            json!({ "thread": "desk", "text": "claim", "context": { "amount": 300 } }),
        ),
    ] {
        let answer = client.post(path, body).await;
        assert_eq!(answer.error(), (400, "invalid_request".to_owned()));
        for part in ["\\\"context\\\"", "\\\"extra\\\""] {
            assert!(answer.body.contains(part), "{path}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn k35_a_named_stream_compares_the_digests_of_answers() {
    let client = Client(routes(&runner()).router());
    let card = asked(&client, "desk", "plain").await;
    let answer = async |digest: &str| {
        let body =
            json!({ "thread": "desk", "answers": { &card: true }, "digests": { &card: digest } });
        client.post("/sse/react", body).await.status.as_u16()
    };
    assert_eq!((answer("other").await, answer("1f0c").await), (409, 200));
}

#[tokio::test]
async fn control_characters_are_no_part_of_an_answer() {
    let client = Client(routes(&runner()).router());
    let card = asked(&client, "desk", "claim").await;
    let reply = json!({ "action": "say", "text": "three\0hundred" });
    let extra = json!({ "attachments": ["re\u{1b}ceipt.pdf"] });
    let body = json!({ "answers": { &card: reply }, "extra": extra });
    let accept = [("accept", "text/event-stream")];
    let path = "/threads/desk/resume";
    let done = client.with(Method::POST, path, &accept, body).await;
    assert_eq!(done.status.as_u16(), 200, "{}", done.body);
    let beside = json!({ "attachments": ["re ceipt.pdf"] });
    let expected = json!({ "action": "say", "text": "three hundred", "beside": beside });
    assert_eq!(answer(&client, "desk").await, expected);
}
