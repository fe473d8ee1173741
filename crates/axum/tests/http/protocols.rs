//! Each protocol: a run is begun, a question asked, and answered.
use axum::http::{Method, StatusCode};
use fugato_state::InterruptId;
use serde_json::{Value, json};

use crate::server::{Answer, Client, LetterServer};

fn say(text: &str) -> Value {
    json!([{ "role": "user", "content": text }])
}

/// The data of a stream of server-sent events.
fn frames(answer: &Answer) -> Vec<Value> {
    let lines = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let json = lines
        .filter(|data| *data != "[DONE]")
        .map(serde_json::from_str);
    json.collect::<Result<_, _>>().unwrap()
}

fn types(frames: &[Value]) -> Vec<&str> {
    frames
        .iter()
        .map(|frame| frame["type"].as_str().unwrap())
        .collect()
}

async fn complete(client: &Client, body: Value) -> Answer {
    client.post("/v1/chat/completions", body).await
}

#[tokio::test]
async fn sch_123_a_new_conversation_is_named_by_a_header() {
    let client = LetterServer::open().client();
    let answer = complete(
        &client,
        json!({ "model": "clerk", "messages": say("talk") }),
    )
    .await;
    let name = answer.header("x-conversation-id").to_owned();
    assert_eq!(answer.json()["ext"]["conversation_id"], name);
    assert_eq!(
        client.get(&format!("/threads/{name}")).await.status,
        StatusCode::OK
    );

    let named = [("x-conversation-id", "desk")];
    let body = json!({ "messages": say("talk") });
    let answer = client
        .with(Method::POST, "/v1/chat/completions", &named, body)
        .await;
    assert_eq!(answer.header("x-conversation-id"), "desk");
    let extra =
        json!({ "messages": say("talk"), "extra": { "conversation_id": "desk", "lang": "zh" } });
    assert_eq!(
        complete(&client, extra).await.header("x-conversation-id"),
        "desk"
    );
    let state = client.get("/threads/desk/state").await.json();
    assert_eq!(state["state"]["extra"], json!({ "lang": "zh" }));
}

#[tokio::test]
async fn sch_118_a_completion_is_whole_or_streamed() {
    let client = LetterServer::open().client();
    let body = json!({ "messages": say("talk"), "extra": { "conversation_id": "desk" } });
    let whole = complete(&client, body).await.json();
    assert_eq!(
        whole,
        json!({
            "id": "chatcmpl-desk-1",
            "object": "chat.completion",
            "created": whole["created"],
            "model": "clerk",
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Let me look.",
                    "reasoning_content": "Which day?",
                },
                "finish_reason": "stop",
            }],
            "ext": { "conversation_id": "desk", "interrupts": [] },
        })
    );
    let body = json!({ "messages": say("talk"), "stream": true });
    let streamed = complete(&client, body).await;
    assert!(streamed.body.ends_with("data: [DONE]\n\n"));
    assert!(!streamed.body.contains("\nid:"));
    let chunks = frames(&streamed);
    let content = chunks
        .iter()
        .filter_map(|it| it["choices"][0]["delta"]["content"].as_str());
    assert_eq!(content.collect::<String>(), "Let me look.");
    let ends: Vec<_> = chunks
        .iter()
        .filter(|chunk| chunk["choices"][0]["finish_reason"] == "stop")
        .collect();
    assert_eq!(ends.len(), 1);
}

#[tokio::test]
async fn sch_136_a_question_is_answered_through_the_extension() {
    let client = LetterServer::open().client();
    let body = json!({
        "messages": say("a free day"), "stream": true, "extra": { "conversation_id": "desk" },
    });
    let chunks = frames(&complete(&client, body).await);
    let asked = chunks
        .iter()
        .find(|chunk| chunk["ext"]["kind"] == "confirm_request");
    let id = asked.unwrap()["ext"]["confirm"]["interaction_id"].clone();
    assert_eq!(json!(client.asked("desk").await), id);
    let resume = |action: &str| {
        json!({
            "messages": say("yes"),
            "extra": {
                "conversation_id": "desk",
                "resume": { "interaction_id": id, "type": "confirm", "action": action },
            },
        })
    };
    let wrong = complete(&client, resume("perhaps")).await;
    assert_eq!(wrong.error(), (400, "invalid_request".into()));
    let answer = complete(&client, resume("approve")).await.json();
    // Nothing was said after the answer but the output of the run.
    assert_eq!(answer["choices"][0]["message"]["content"], "placed");
    // A repeat gets the result of the first, and another answer comes too late.
    let again = complete(&client, resume("approve")).await.json();
    assert_eq!(again["choices"][0]["message"]["content"], "placed");
    assert_eq!(
        complete(&client, resume("reject")).await.error(),
        (409, "nothing_asked".into())
    );
}

#[tokio::test]
async fn k35_a_plain_client_reads_what_waits_for_its_answer() {
    let client = LetterServer::open().client();
    let ask = |stream: bool| {
        let extra = json!({ "conversation_id": format!("desk-{stream}") });
        json!({ "messages": say("a free day"), "stream": stream, "extra": extra })
    };
    let whole = complete(&client, ask(false)).await.json();
    let said = whole["choices"][0]["message"]["content"].as_str().unwrap();
    let code = InterruptId::from(&*client.asked("desk-false").await).code();
    assert!(
        said.contains(&format!("[{code}] Place it?\n    a free day\n")),
        "{said}"
    );
    let streamed = frames(&complete(&client, ask(true)).await);
    let content =
        |chunk: &Value| Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned());
    let other = InterruptId::from(&*client.asked("desk-true").await).code();
    let streamed = streamed.iter().filter_map(content).collect::<String>();
    assert_eq!(streamed.replace(&other, &code), said);

    // An approval is answered by its code.
    let seal = json!({ "messages": say("sealed"), "extra": { "conversation_id": "seal" } });
    let whole = complete(&client, seal).await.json();
    let said = whole["choices"][0]["message"]["content"].as_str().unwrap();
    let code = InterruptId::from(&*client.asked("seal").await).code();
    assert!(said.contains(&format!("    [{code}] Seal it?\n")), "{said}");
    assert!(said.contains(&format!("reply: yes {code}.")), "{said}");
}

/// A question without a code may be asked in any conversation: whoever repeats it alone does not answer
/// the one that waits with it.
#[tokio::test]
async fn a_question_is_answered_only_by_who_repeats_the_conversation() {
    let client = LetterServer::open().client();
    let ask = async |before: &[&str], text: &str| {
        let roles = ["user", "assistant"].into_iter().cycle();
        let message = |(role, text): (&str, &str)| json!({ "role": role, "content": text });
        let said = before.iter().copied().chain([text]);
        let messages: Vec<_> = roles.zip(said).map(message).collect();
        complete(&client, json!({ "messages": messages })).await
    };
    let first = ask(&[], "whichever day").await;
    let asked = first.json()["choices"][0]["message"]["content"].clone();
    let asked = asked.as_str().unwrap();
    let name = first.header("x-conversation-id").to_owned();
    let waits = async || client.asked(&name).await;
    let card = waits().await;
    for (before, text) in [
        ("what is this?", "talk"),
        ("not whichever day", "talk on whichever day"),
        ("", "talk on whichever day"),
    ] {
        let other = ask(&[before, asked], text).await;
        assert_eq!(other.status, StatusCode::OK, "{}", other.body);
        assert_ne!(other.header("x-conversation-id"), name, "{before}: {text}");
        assert_eq!(waits().await, card);
    }
    let own = ask(&["whichever day", asked], "talk, instead").await;
    assert_eq!(own.header("x-conversation-id"), name, "{}", own.body);
}

#[tokio::test]
async fn what_openai_clients_get_wrong_is_told() {
    let client = LetterServer::open().client();
    let models = client.get("/v1/models").await.json();
    assert_eq!(models["data"][0]["id"], "clerk");
    let other = complete(&client, json!({ "model": "gpt", "messages": say("talk") })).await;
    assert_eq!(other.error(), (404, "model_not_found".into()));
    let empty = complete(&client, json!({ "messages": [] })).await;
    assert_eq!(empty.error(), (422, "unusable".into()));
    let failed = complete(&client, json!({ "messages": say("fail") })).await;
    assert_eq!(failed.error(), (500, "run_failed".into()));
    let nobody = json!({ "messages": say("yes"), "extra": { "confirm_action": "accept" } });
    assert_eq!(
        complete(&client, nobody).await.error(),
        (404, "not_found".into())
    );
}

#[tokio::test]
async fn l12_ag_ui_asks_and_goes_on() {
    let client = LetterServer::open().client();
    let input = |run: &str, more: Value| {
        let mut input = json!({
            "threadId": "desk", "runId": run, "state": {}, "tools": [], "context": [],
            "messages": say("a free day"), "forwardedProps": { "lang": "zh" },
        });
        input
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        input
    };
    let events = frames(&client.post("/agui", input("r1", json!({}))).await);
    assert_eq!(
        events[0],
        json!({ "type": "RUN_STARTED", "threadId": "desk", "runId": "r1" })
    );
    let last = events.last().unwrap();
    assert_eq!(last["outcome"]["type"], "interrupt");
    let id = last["outcome"]["interrupts"][0]["id"].clone();
    let resume =
        json!({ "resume": [{ "interruptId": id, "status": "resolved", "payload": true }] });
    let events = frames(&client.post("/agui", input("r2", resume)).await);
    assert_eq!(events.last().unwrap()["outcome"]["type"], "success");
    assert_eq!(events.last().unwrap()["result"], "placed");
    let missing = client.post("/agui", json!({ "threadId": "desk" })).await;
    assert_eq!(missing.error(), (400, "invalid_request".into()));
}

#[tokio::test]
async fn l12_the_ai_sdk_gets_a_message() {
    let client = LetterServer::open().client();
    let body = json!({
        "id": "desk", "trigger": "submit-message",
        "messages": [{ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "talk" }] }],
        "lang": "zh",
    });
    let answer = client.post("/api/chat", body).await;
    assert_eq!(answer.header("x-vercel-ai-ui-message-stream"), "v1");
    let chunks = frames(&answer);
    assert_eq!(types(&chunks).first(), Some(&"start"));
    assert_eq!(types(&chunks).last(), Some(&"finish"));
    let state = client.get("/threads/desk/state").await.json();
    assert_eq!(state["state"]["extra"], json!({ "lang": "zh" }));
    let again = client.get("/api/chat/desk/stream").await;
    assert_eq!(again.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn l12_named_events_in_both_vocabularies() {
    let client = LetterServer::open().client();
    let names = |answer: &Answer| -> Vec<String> {
        let lines = answer
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("event: "));
        lines.map(str::to_owned).collect()
    };
    let react = client
        .post("/sse/react", json!({ "thread": "a", "text": "talk" }))
        .await;
    assert_eq!(names(&react).last().unwrap(), "run_finished");
    let planner = client
        .post("/sse/planner", json!({ "thread": "b", "text": "talk" }))
        .await;
    assert_eq!(names(&planner), ["delta", "delta", "card", "done"]);
    let back = client.get("/sse/planner?thread=b").await;
    assert_eq!(names(&back), ["card", "done"]);
    let id = [("last-event-id", "3")];
    let back = client
        .with(Method::GET, "/sse/planner?thread=b", &id, Value::Null)
        .await;
    assert_eq!(names(&back), ["done"]);
    let other = client.post("/sse/other", json!({ "text": "talk" })).await;
    assert_eq!(other.error(), (404, "not_found".into()));
}
