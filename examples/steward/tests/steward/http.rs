//! The endpoints over their wire.
use std::{sync::atomic::Ordering, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use fugato::{
    BoxError,
    axum::{AccessDenied, AgentRoutes, AllowAll, Caller, Page, Parts, Tenant},
};
use fugato_testkit::assert_contains;
use fugato_testkit::consent::{TestRequest, TestResponse};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use steward::{
    http,
    response::{
        StewardActionResponse, StewardPlanResponse, StewardRuntimeDecisionResponse,
        StewardSlotDecisionResponse,
    },
    served::ServedSteward,
};
use tokio::net::TcpListener;
use tokio_tungstenite::{connect_async, tungstenite::Message};
use tower::ServiceExt as _;

use crate::common::{StewardFixture, TODAY, TRIP, TestResult, of, trip};

/// The router of the program, over a stage.
pub(crate) struct Wire(Router);

impl Wire {
    pub(crate) async fn new() -> (Self, StewardFixture) {
        let stage = StewardFixture::new().await;
        let routes =
            AgentRoutes::new(ServedSteward::new(stage.clerk.clone())).authenticate(AllowAll);
        let routes = routes
            .beside(http::routes(stage.clerk.clone()))
            .page(Page::chat());
        (Self(routes.router()), stage)
    }

    pub(crate) async fn send(
        &self,
        method: &'static str,
        path: &str,
        body: &Value,
    ) -> (StatusCode, String) {
        let request = TestRequest::new(method, path, body.clone());
        let TestResponse { status, body } = request.call(self.0.clone()).await;
        (StatusCode::from_u16(status).unwrap(), body)
    }

    /// Waits for the end of a run that was begun without reading it.
    async fn settled(&self) {
        let events = "/threads/c1/events?follow=false";
        self.send("GET", events, &json!({})).await;
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        let mut body = body;
        body["conversation_id"] = json!("c1");
        let (status, text) = self.send("POST", &format!("/steward/{path}"), &body).await;
        (
            status,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }
}

/// Returns the request with the consent to the card of an answer.
fn confirmed(mut request: Value, waits: &Value) -> Value {
    let pending = &waits["pending_interrupt"];
    request["confirmation"] = json!({ "interrupt_id": pending["id"], "digest": pending["digest"] });
    request
}

#[tokio::test]
async fn stw_28_five_endpoints_answer_in_their_forms() -> TestResult {
    let (wire, stage) = Wire::new().await;
    let says = async |path, message| {
        let body = json!({ "message": message, "base_date": TODAY });
        let (status, answer) = wire.post(path, body).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer
    };
    let plan = says("plans", "申请出差去上海拜访客户，坐火车").await;
    let typed: StewardPlanResponse = serde_json::from_value(plan)?;
    let missing = ["start_date", "end_date", "estimated_amount"];
    assert_eq!(typed.missing_fields, missing);

    let slots = says("slot-decisions", "预算1200元").await;
    let typed: StewardSlotDecisionResponse = serde_json::from_value(slots)?;
    let missing = ["start_date", "end_date"];
    assert_eq!(typed.slot_decision.missing_fields, missing);

    let decided = says("runtime-decisions", "3月2日到3月5日").await;
    let typed: StewardRuntimeDecisionResponse = serde_json::from_value(decided)?;
    assert_eq!(typed.missing_fields, [""; 0]);

    let precheck = json!({ "client_trace_id": "p1", "action": "run_duplicate_precheck", "arguments": of("application", &trip()) });
    let (_, checked) = wire.post("actions/execute", precheck).await;
    assert_eq!(checked["outcome"], "succeeded", "{checked}");
    let submit =
        json!({ "client_trace_id": "p1", "action": "submit_application", "arguments": trip() });
    let (_, waits) = wire.post("actions/execute", submit.clone()).await;
    assert_eq!(waits["outcome"], "needs_confirmation", "{waits}");
    let (status, done) = wire
        .post("actions/execute", confirmed(submit, &waits))
        .await;
    assert_eq!(status, StatusCode::OK);
    let typed: StewardActionResponse = serde_json::from_value(done)?;
    assert_eq!(typed.outcome, "succeeded");
    assert_eq!(stage.tried(), 1);

    let (_, documents) = wire.send("GET", "/steward/documents", &json!({})).await;
    let documents: Value = serde_json::from_str(&documents)?;
    assert_eq!(documents["applications"][0]["fields"], trip());
    Ok(())
}

/// Words under a card with fields beside them, by the door of all agents and by the program's own.
#[tokio::test]
async fn stw_13_what_comes_beside_words_under_a_card_is_never_lost() -> TestResult {
    let amount = json!({ "context": { "estimated_amount": 300 } });
    for runs in [true, false] {
        let (wire, stage) = Wire::new().await;
        let says = async |text: &str, card: Option<&str>, beside: &Value| {
            if runs {
                let body = json!({ "text": text, "card": card, "extra": beside });
                let (status, told) = wire.send("POST", "/threads/c1/runs", &body).await;
                return (status, Value::String(told));
            }
            let mut body = beside.clone();
            (body["message"], body["card"]) = (json!(text), json!(card));
            wire.post("plans", body).await
        };
        let body = json!({ "text": TRIP, "extra": { "base_date": TODAY } });
        let (status, begun) = wire.send("POST", "/threads/c1/runs", &body).await;
        assert!(status.is_success(), "{begun}");
        wire.settled().await;
        // A no takes nothing along, and the card waits.
        let card = stage.shown().await;
        let refused = says("no", card.as_deref(), &amount).await;
        assert_eq!(refused.0, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.1);
        assert!(refused.1.to_string().contains("context"), "{}", refused.1);
        assert_eq!(stage.shown().await, card);
        // A yes to something else than was seen is shown first, and so is a correction.
        for (text, amount) in [("yes", 300), ("another amount", 400)] {
            let beside = json!({ "context": { "estimated_amount": amount } });
            let told = says(text, stage.shown().await.as_deref(), &beside).await;
            assert!(told.0.is_success(), "{}", told.1);
            wire.settled().await;
            let plan = stage.state().await.steward_state;
            let fields = &plan.current().ok_or("a task")?.fields;
            assert_eq!(fields["estimated_amount"], amount, "{text}: {}", told.1);
            assert_eq!(stage.tried(), 0);
        }
        let seen = json!({ "context": { "estimated_amount": 400 } });
        let told = says("yes", stage.shown().await.as_deref(), &seen).await;
        assert!(told.0.is_success(), "{}", told.1);
    }
    Ok(())
}

/// A change that a button asked for is not altered by fields beside a yes.
#[tokio::test]
async fn stw_13_nothing_comes_beside_a_yes_to_what_a_button_asked_for() -> TestResult {
    let (wire, stage) = Wire::new().await;
    let precheck = json!({ "client_trace_id": "p1", "action": "run_duplicate_precheck", "arguments": of("application", &trip()) });
    wire.post("actions/execute", precheck).await;
    let submit =
        json!({ "client_trace_id": "p1", "action": "submit_application", "arguments": trip() });
    let (_, waits) = wire.post("actions/execute", submit).await;
    assert_eq!(waits["outcome"], "needs_confirmation", "{waits}");
    let card = stage.shown().await.ok_or("a card")?;
    let beside = json!({ "context": { "estimated_amount": 1 } });
    let with = |field: &str, reply: Value| json!({ field: reply });
    let approve = json!({ "action": "approve", "beside": beside });
    let mut own = beside.clone();
    (own["message"], own["card"], own["conversation_id"]) =
        ("yes".into(), json!(card), "c1".into());
    for (path, body) in [
        (
            "/threads/c1/runs",
            json!({ "text": "yes", "card": card, "extra": beside }),
        ),
        ("/threads/c1/resume", with("answers", with(&card, approve))),
        ("/steward/plans", own),
    ] {
        let (status, told) = wire.send("POST", path, &body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{path}: {told}");
        assert!(told.contains("context"), "{path}: {told}");
        assert_eq!(
            (stage.shown().await.as_ref(), stage.tried()),
            (Some(&card), 0)
        );
    }
    let body = json!({ "text": "yes", "card": card, "extra": { "context": { "reason": trip()["reason"] } } });
    let (status, told) = wire.send("POST", "/threads/c1/runs", &body).await;
    assert!(status.is_success(), "{told}");
    Ok(())
}

#[tokio::test]
async fn stw_28_a_stream_tells_phases_and_then_the_plan() {
    let (wire, _) = Wire::new().await;
    let body = json!({ "conversation_id": "c1", "message": TRIP, "base_date": TODAY });
    let (status, text) = wire.send("POST", "/steward/plans/stream", &body).await;
    assert_eq!(status, StatusCode::OK);
    let events = text.lines().filter_map(|line| line.strip_prefix("event: "));
    let events: Vec<&str> = events.collect();
    assert_eq!(events.last(), Some(&"result"), "{text}");
    for told in ["node_start", "status", "node_end"] {
        assert!(events.contains(&told), "{told}: {events:?}");
    }
    let mut lines = text.lines().rev();
    let data = lines.find_map(|line| line.strip_prefix("data: ")).unwrap();
    let plan: StewardPlanResponse = serde_json::from_str(data).unwrap();
    assert_eq!(json!(plan.tasks[0].task.fields), trip());
}

#[tokio::test]
async fn what_cannot_be_served_is_told_with_what_is_allowed() {
    let (wire, _) = Wire::new().await;
    let check_refusal = async |path, body, status, kind: &str| {
        let (got, answer) = wire.post(path, body).await;
        assert_eq!(got.as_u16(), status, "{answer}");
        assert_eq!(answer["error"]["type"], kind, "{answer}");
        answer
    };
    let trip_to = |field: &str, value: &str| json!({ "message": "出差", field: value });
    let unnamed = json!({ "action": "save_application_draft" });
    for (path, body, told) in [
        ("plans", json!({}), "message"),
        ("plans", trip_to("base_date", "soon"), "2026-03-02"),
        ("plans", trip_to("colour", "red"), "conversation_id"),
        ("plans", trip_to("runtime", "x"), "langgraph"),
        ("actions/execute", unnamed, "client_trace_id"),
        (
            "actions/execute",
            json!({ "client_trace_id": "d0" }),
            "action",
        ),
    ] {
        let answer = check_refusal(path, body, 422, "invalid_request").await;
        assert_contains(&answer["error"]["message"], told);
    }
    let body = json!({ "text": TRIP, "extra": { "base_date": "soon" } });
    let (status, refused) = wire.send("POST", "/threads/c1/runs", &body).await;
    assert_eq!(status.as_u16(), 422, "{refused}");
    assert_contains(&refused, "2026-03-02");
    let execute = |arguments: Value| json!({ "client_trace_id": "d1", "action": "save_application_draft", "arguments": arguments });
    wire.post("actions/execute", execute(trip())).await;
    let mut other = trip();
    other["destination"] = json!("北京");
    check_refusal("actions/execute", execute(other), 422, "request_changed").await;
    let mut forged = execute(trip());
    forged["confirmation"] = json!({ "interrupt_id": "human_review#7~7", "digest": "0" });
    check_refusal("actions/execute", forged, 404, "unknown_interrupt").await;
    let waits = check_refusal("slot-decisions", json!({}), 409, "waiting").await;
    assert!(waits["error"]["pending_interrupt"]["digest"].is_string());
}

/// Sends a message over the WebSocket of the steward, and returns what comes until the run waits or
/// is finished: what comes of a run that fails is an error.
async fn over_socket(stage: &StewardFixture, message: &Value) -> Result<String, BoxError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("ws://{}/ws/chat?thread=c1", listener.local_addr()?);
    let routes = AgentRoutes::new(ServedSteward::new(stage.clerk.clone())).authenticate(AllowAll);
    let never = std::future::pending();
    tokio::spawn(fugato::axum::serve(listener, routes, never));
    let (mut socket, _) = connect_async(url).await?;
    socket.send(Message::text(message.to_string())).await?;
    let mut told = String::new();
    let rests = ["\"parked\"", "\"final_answer\""];
    let heard = async {
        while !rests.iter().any(|end| told.contains(end)) {
            let next = socket.next().await.ok_or("the server has closed it")??;
            told += next.to_text()?;
        }
        Ok::<_, BoxError>(())
    };
    match tokio::time::timeout(Duration::from_secs(30), heard).await {
        Ok(heard) => heard.map(|()| told),
        Err(_) => Err(told.into()),
    }
}

/// The graph breaks once behind each front door: the legacy path goes on, the door tells of no
/// failure, and the card is answered by the door of the page.
#[tokio::test]
async fn stw_6_every_front_door_falls_back_to_the_legacy_path() -> TestResult {
    let words = json!([{ "role": "user", "content": TRIP, "id": "m1" }]);
    let parts =
        json!([{ "role": "user", "id": "m1", "parts": [{ "type": "text", "text": TRIP }] }]);
    let day = json!({ "base_date": TODAY });
    for (path, body) in [
        ("/threads/c1/runs", json!({ "text": TRIP, "extra": day })),
        (
            "/sse/react",
            json!({ "thread": "c1", "text": TRIP, "extra": day }),
        ),
        (
            "/v1/chat/completions",
            json!({ "model": "steward", "messages": words, "conversation_id": "c1", "base_date": TODAY }),
        ),
        (
            "/v1/chat/completions",
            json!({ "model": "steward", "messages": words, "conversation_id": "c1", "stream": true, "base_date": TODAY }),
        ),
        (
            "/agui",
            json!({ "threadId": "c1", "runId": "r1", "messages": words, "tools": [], "context": [], "state": {}, "forwardedProps": day }),
        ),
        (
            "/api/chat",
            json!({ "id": "c1", "messages": parts, "base_date": TODAY }),
        ),
        (
            "/steward/plans",
            json!({ "conversation_id": "c1", "message": TRIP, "base_date": TODAY }),
        ),
        (
            "/ws/chat",
            json!({ "event": "user_input", "data": { "content": TRIP, "extra": day } }),
        ),
    ] {
        let (wire, stage) = Wire::new().await;
        stage.books.panics.store(1, Ordering::SeqCst);
        let (status, told) = if path == "/ws/chat" {
            (StatusCode::OK, over_socket(&stage, &body).await?)
        } else {
            wire.send("POST", path, &body).await
        };
        assert_eq!(status, StatusCode::OK, "{path}: {told}");
        // A node that fails is told where nodes are; the run has not failed.
        for failure in ["run_failed", "RUN_ERROR", "\"type\":\"error\""] {
            assert!(!told.contains(failure), "{path}: {told}");
        }
        let (_, list) = wire.send("GET", "/threads", &json!({})).await;
        let list: Value = serde_json::from_str(&list)?;
        let name = list["threads"][0]["thread"]
            .as_str()
            .ok_or("a thread")?
            .to_owned();
        let (_, kept) = wire
            .send("GET", &format!("/threads/{name}/state"), &json!({}))
            .await;
        let kept: Value = serde_json::from_str(&kept)?;
        assert_eq!(kept["state"]["runtime"], "legacy", "{path}: {told}");
        let rollback = &kept["state"]["rollback"];
        assert_contains(rollback, "the program is wrong here");
        if path == "/steward/plans" {
            continue;
        }
        let (_, view) = wire
            .send("GET", &format!("/threads/{name}"), &json!({}))
            .await;
        let view: Value = serde_json::from_str(&view)?;
        let asked = &view["interrupts"][0];
        let id = asked["id"]
            .as_str()
            .ok_or_else(|| format!("{path}: {view}"))?;
        let answer = json!({ "answers": { id: { "action": "approve" } }, "digests": { id: asked["digest"] } });
        let (_, done) = wire
            .send("POST", &format!("/threads/{name}/resume"), &answer)
            .await;
        assert_eq!(stage.tried(), 1, "{path}: {done}");
    }
    Ok(())
}

/// A file is uploaded, listed on the card with its name and size, and linked to the document.
#[tokio::test]
async fn stw_21_an_attachment_is_a_real_file() -> TestResult {
    let (wire, stage) = Wire::new().await;
    let attach = async |name: &str, content: &[u8]| {
        let body = json!({ "name": name, "content": BASE64_STANDARD.encode(content) });
        wire.post("attachments", body).await
    };
    let says = async |text: &str| {
        let body = json!({ "text": text, "extra": { "base_date": TODAY } });
        wire.send("POST", "/threads/c1/runs", &body).await;
        let (_, view) = wire.send("GET", "/threads/c1", &json!({})).await;
        serde_json::from_str::<Value>(&view)
    };
    for (name, content, status) in [
        ("receipt.pdf", &b"MZ this is a program"[..], 422),
        ("receipt.png", b"%PDF-1.4", 422),
        ("../../etc/passwd", b"%PDF-1.4", 422),
        // It would be shown as `receiptgnp.pdf`, and these as `receipt.pdf`.
        ("receipt\u{202e}fdp.png.pdf", b"%PDF-1.4", 422),
        ("receipt\u{200b}.pdf", b"%PDF-1.4", 422),
        ("rece\u{7}ipt.pdf", b"%PDF-1.4", 422),
        ("receipt.pdf", b"", 413),
    ] {
        let (got, refused) = attach(name, content).await;
        assert_eq!(got.as_u16(), status, "{name}: {refused}");
    }
    let large = vec![b'%'; (10 << 20) + 1];
    assert_eq!(attach("large.pdf", &large).await.0.as_u16(), 413);

    let claim = "报销打车费86.5元，日期2月20日，附件receipt.pdf";
    let view = says(claim).await?;
    assert_eq!(view["interrupts"], json!([]), "{view}");
    assert_contains(&view["timeline"].to_string(), "这里没有文件receipt.pdf");

    let (status, kept) = attach("receipt.pdf", b"%PDF-1.4 taxi").await;
    assert_eq!(status, StatusCode::OK, "{kept}");
    let view = says("附件receipt.pdf").await?;
    let card = &view["interrupts"][0];
    assert_contains(&card["prompt"]["summary"], "receipt.pdf (13 B)");
    assert_eq!(card["prompt"]["files"], json!([kept]), "{card}");
    let id = card["id"].as_str().ok_or("a card")?;
    // It has the name of the one on the card, and waits for another claim.
    let (_, other) = attach("receipt.pdf", b"%PDF-1.4 other").await;
    let yes =
        json!({ "answers": { id: { "action": "approve" } }, "digests": { id: card["digest"] } });
    wire.send("POST", "/threads/c1/resume", &yes).await;
    let list = "/steward/attachments?conversation_id=c1";
    let (_, waits) = wire.send("GET", list, &json!({})).await;
    assert_eq!(
        serde_json::from_str::<Value>(&waits)?["files"],
        json!([other])
    );
    let documents = stage.books.tables.documents("me").await?;
    assert_eq!(
        documents.reimbursements[0].fields["attachments"],
        json!(["receipt.pdf"])
    );
    let link = kept["link"].as_str().ok_or("a link")?;
    let (status, fetched) = wire.send("GET", link, &json!({})).await;
    assert_eq!((status, &*fetched), (StatusCode::OK, "%PDF-1.4 taxi"));
    Ok(())
}

/// A client that sends a file again before it has an answer, from as many windows as it likes.
#[tokio::test(flavor = "multi_thread")]
async fn stw_21_a_file_that_is_uploaded_several_times_at_once_is_kept() -> TestResult {
    let folder = fugato_testkit::tempdir()?;
    let files = steward::files::FileStore::at(folder.path());
    let thread = fugato::ThreadId::new("c1")?;
    for round in 0..20 {
        let content = format!("%PDF-1.4 taxi {round}").into_bytes();
        let upload = |_| {
            let (files, thread, content) = (files.clone(), thread.clone(), content.clone());
            let upload = async move { files.upload(&thread, "ann", "receipt.pdf", content).await };
            tokio::spawn(upload)
        };
        let uploads: Vec<_> = (0..8).map(upload).collect();
        for upload in uploads {
            upload.await??;
        }
    }
    assert_eq!(files.of(&thread, "ann")?.len(), 1);
    Ok(())
}

/// A file is fetched by its owner, while it waits and after it was written, and by nobody else.
#[tokio::test]
async fn stw_21_only_its_owner_fetches_an_attachment() -> TestResult {
    let office = ByCaller::new().await;
    let (ann, bob) = (Some("firm/ann"), Some("firm/bob"));
    let fetch = async |who: Option<&str>, path: &str| {
        let request = Request::get(path).header("x-who", who.unwrap_or_default());
        let request = request.body(Body::empty())?;
        let (head, body) = office.0.clone().oneshot(request).await?.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await?;
        Ok::<_, BoxError>((head, body.to_vec()))
    };
    let (name, content) = ("发票 \"1\".pdf", b"%PDF-1.4 \xff\xfe taxi");
    let upload = json!({ "conversation_id": "c1", "name": name, "content": BASE64_STANDARD.encode(content) });
    let (_, kept) = office.ask(ann, "/steward/attachments", &upload).await;
    let link = kept["link"].as_str().ok_or("a link")?.to_owned();
    let digest = kept["digest"].as_str().ok_or("a digest")?.to_owned();
    let whole = format!("/steward/attachments/{digest}");
    let claim = json!({
        "expense_date": "2026-02-20", "category": "transport", "amount": 86.5,
        "reason": "taxi", "attachments": [name],
    });
    let claim = json!({
        "conversation_id": "c1", "client_trace_id": "r1", "action": "create_reimbursement_draft",
        "arguments": claim, "base_date": TODAY,
    });
    for is_written in [false, true] {
        if is_written {
            let execute = "/steward/actions/execute";
            let (_, waits) = office.ask(ann, execute, &claim).await;
            let prompt = &waits["pending_interrupt"]["prompt"];
            assert_eq!(prompt["files"], json!([kept]), "{waits}");
            assert_contains(&prompt["summary"], &link);
            let (_, done) = office
                .ask(ann, execute, &confirmed(claim.clone(), &waits))
                .await;
            assert_eq!(done["outcome"], "succeeded", "{done}");
            let (_, list) = fetch(ann, "/steward/documents").await?;
            let list: Value = serde_json::from_slice(&list)?;
            assert_eq!(
                list["reimbursements"][0]["files"][0]["link"], link,
                "{list}"
            );
            let (_, waiting) = fetch(ann, "/steward/attachments?conversation_id=c1").await?;
            assert_eq!(waiting, b"{\"files\":[]}");
        }
        for path in [&link, &whole] {
            let (head, body) = fetch(ann, path).await?;
            assert_eq!(
                (head.status, &*body),
                (StatusCode::OK, &content[..]),
                "{path}"
            );
            for (name, value) in [
                ("content-type", "application/pdf"),
                (
                    "content-disposition",
                    "attachment; filename=\"________1_.pdf\"; filename*=UTF-8''%E5%8F%91%E7%A5%A8%20%221%22.pdf",
                ),
                ("x-content-type-options", "nosniff"),
                ("content-security-policy", "sandbox"),
                ("cache-control", "private, no-store"),
            ] {
                assert_eq!(head.headers[name], value, "{name}");
            }
            let (head, body) = fetch(bob, path).await?;
            assert_eq!(head.status, StatusCode::NOT_FOUND);
            assert!(!String::from_utf8_lossy(&body).contains("发票"));
        }
    }
    for id in [
        "0",
        "..%2F..%2Fsteward.db",
        &"0".repeat(64),
        &"0".repeat(5000),
    ] {
        let (head, _) = fetch(ann, &format!("/steward/attachments/{id}")).await?;
        assert_eq!(head.status, StatusCode::NOT_FOUND, "{id}");
    }
    // What was changed on the disk is not passed off as what was agreed to.
    let path = office.1.files.folder.path().join("kept").join(&digest);
    std::fs::write(path, "%PDF-1.4 another")?;
    let (head, body) = fetch(ann, &link).await?;
    assert_eq!(head.status, StatusCode::GONE);
    assert_contains(&String::from_utf8_lossy(&body).into_owned(), "发票");
    Ok(())
}

/// A folder that can keep no file is told, no card names it, and nothing is written without it.
#[tokio::test]
async fn stw_21_a_file_that_cannot_be_kept_is_on_no_card_and_in_no_document() -> TestResult {
    let (wire, stage) = Wire::new().await;
    let folder = stage.files.folder.path().to_owned();
    let content = BASE64_STANDARD.encode(b"%PDF-1.4 taxi");
    let upload = || json!({ "name": "receipt.pdf", "content": content });
    let claim = json!({
        "expense_date": "2026-02-20", "category": "transport", "amount": 86.5,
        "reason": "taxi", "attachments": ["receipt.pdf"],
    });
    let claimed = |trace: &str| json!({ "client_trace_id": trace, "action": "create_reimbursement_draft", "arguments": claim, "base_date": TODAY });
    // The folder of files that wait cannot be made.
    std::fs::write(folder.join("open"), "no folder")?;
    let (status, refused) = wire.post("attachments", upload()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{refused}");
    assert_contains(&refused["error"]["message"], "folder of the attachments");
    let (_, blocked) = wire.post("actions/execute", claimed("r1")).await;
    assert_eq!(blocked["outcome"], "blocked", "{blocked}");
    assert_contains(&blocked["message"], "no file receipt.pdf");
    std::fs::remove_file(folder.join("open"))?;
    // The folder of files that are kept cannot be made.
    wire.post("attachments", upload()).await;
    std::fs::write(folder.join("kept"), "no folder")?;
    let (_, waits) = wire.post("actions/execute", claimed("r2")).await;
    let (_, failed) = wire
        .post("actions/execute", confirmed(claimed("r2"), &waits))
        .await;
    assert_eq!(failed["outcome"], "failed", "{failed}");
    assert_contains(&failed["message"], "nothing is written");
    assert_eq!(stage.tried(), 0);
    // Nothing was lost: the same file is written when there is room.
    std::fs::remove_file(folder.join("kept"))?;
    let (_, waits) = wire.post("actions/execute", claimed("r3")).await;
    let (_, done) = wire
        .post("actions/execute", confirmed(claimed("r3"), &waits))
        .await;
    assert_eq!(done["outcome"], "succeeded", "{done}");
    Ok(())
}

#[tokio::test]
async fn stw_21_a_colleague_neither_adds_to_a_conversation_nor_sees_its_files() -> TestResult {
    let office = ByCaller::new().await;
    let content = BASE64_STANDARD.encode(b"%PDF-1.4 taxi");
    let upload = json!({ "conversation_id": "c1", "name": "receipt.pdf", "content": content });
    let (ann, bob) = (Some("firm/ann"), Some("firm/bob"));
    let attachments = "/steward/attachments";
    office.ask(ann, attachments, &upload).await;
    let body = json!({ "text": "报销打车费86.5元", "extra": { "base_date": TODAY } });
    office.ask(ann, "/threads/c1/runs", &body).await;
    let (status, refused) = office.ask(bob, attachments, &upload).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{refused}");
    let thread = fugato::ThreadId::new("firm/c1")?;
    let files = &office.1.files.store;
    assert_eq!(files.of(&thread, "firm/ann")?.len(), 1);
    assert_eq!(files.of(&thread, "firm/bob")?, []);
    Ok(())
}

#[tokio::test]
async fn stw_w3_the_page_resumes_what_waits_by_its_button() {
    let (wire, stage) = Wire::new().await;
    let body = json!({ "text": TRIP, "extra": { "base_date": TODAY } });
    let (_, told) = wire.send("POST", "/threads/c1/runs", &body).await;
    assert!(told.contains("waiting_for_confirmation"));
    // The page is reloaded, and finds the card.
    let (_, view) = wire.send("GET", "/threads/c1", &json!({})).await;
    let view: Value = serde_json::from_str(&view).unwrap();
    let asked = &view["interrupts"][0];
    assert_eq!(view["status"], "waiting");
    assert_eq!(asked["prompt"]["type"], "confirm");
    let id = asked["id"].as_str().unwrap();
    let answer =
        json!({ "answers": { id: { "action": "approve" } }, "digests": { id: asked["digest"] } });
    wire.send("POST", "/threads/c1/resume", &answer).await;
    let documents = stage.books.tables.documents("me").await.unwrap();
    assert_eq!(documents.applications.len(), 1);
    let (_, script) = wire.send("GET", "/agent.js", &json!({})).await;
    assert!(script.contains("panels"));
}

/// Returns the caller named in a header: `firm/ann`.
pub(crate) fn by_name(request: &Parts) -> Result<Caller, AccessDenied> {
    let name = request.headers.get("x-who");
    let name = name.and_then(|name| name.to_str().ok());
    let name = name.ok_or_else(|| AccessDenied::unauthorized("say who you are"))?;
    let (tenant, user) = name.split_once('/').unwrap_or((name, ""));
    let tenant = Tenant::new(tenant).map_err(|error| AccessDenied::forbidden(error.to_string()))?;
    let caller = Caller::new(tenant);
    Ok(if user.is_empty() {
        caller
    } else {
        caller.user(user)
    })
}

/// An office in which every request names its caller.
struct ByCaller(Router, StewardFixture);

impl ByCaller {
    async fn new() -> Self {
        let stage = StewardFixture::new().await;
        let routes = AgentRoutes::new(ServedSteward::new(stage.clerk.clone()))
            .authenticate(by_name)
            .beside(http::routes(stage.clerk.clone()));
        Self(routes.router(), stage)
    }

    async fn ask(&self, who: Option<&str>, path: &str, body: &Value) -> (StatusCode, Value) {
        let request = TestRequest::post(path, body.clone());
        let named = who.into_iter();
        let request = named.fold(request, |request, who| request.header("x-who", who));
        let response = request.call(self.0.clone()).await;
        let status = StatusCode::from_u16(response.status).unwrap();
        (status, response.json())
    }
}

#[tokio::test]
async fn conversations_of_one_tenant_do_not_exist_for_another() {
    let office = ByCaller::new().await;
    let ask = async |who: Option<&str>, message: &str| {
        let body = json!({ "conversation_id": "c1", "message": message, "base_date": TODAY });
        office.ask(who, "/steward/plans", &body).await
    };
    assert_eq!(ask(None, TRIP).await.0, StatusCode::UNAUTHORIZED);
    ask(Some("ann"), TRIP).await;
    let (_, other) = ask(Some("bob"), "报销").await;
    let tasks = other["steward_state"]["tasks"].as_array();
    assert_eq!(tasks.map(Vec::len), Some(1), "{other}");
    // The same user name in two tenants is two persons.
    let draft = json!({
        "conversation_id": "c2", "client_trace_id": "d1", "action": "save_application_draft",
        "arguments": trip(),
    });
    let execute = "/steward/actions/execute";
    let ann = Some("firm/ann");
    let (_, waits) = office.ask(ann, execute, &draft).await;
    office.ask(ann, execute, &confirmed(draft, &waits)).await;
    for (who, count) in [("firm/ann", 1), ("other/ann", 0), ("ann", 0)] {
        let documents = office.1.books.tables.documents(who).await.unwrap();
        assert_eq!(documents.applications.len(), count, "{who}");
    }
}

/// A colleague sees nothing of the conversation and answers nothing in it, through any endpoint.
#[tokio::test]
async fn stw_16_only_whose_documents_they_are_agrees() -> TestResult {
    let office = ByCaller::new().await;
    let (ann, bob) = (Some("firm/ann"), Some("firm/bob"));
    let body = json!({ "text": TRIP, "extra": { "base_date": TODAY } });
    office.ask(ann, "/threads/c1/runs", &body).await;

    let thread = fugato::ThreadId::new("firm/c1")?;
    let card = async || match office.1.clerk.runner().status(&thread).await {
        Ok(fugato::graph::ThreadStatus::Waiting(open)) => open.into_iter().next(),
        _ => None,
    };
    let asked = card().await.ok_or("a card is open")?;
    let (id, digest) = (asked.id.as_str(), asked.question.digest.clone());
    let yes = json!({ "action": "approve" });
    let confirmation = json!({ "interrupt_id": id, "digest": digest });
    let resume = json!({ "answers": { id: yes }, "digests": { id: digest } });
    let bare = json!({ "answers": { id: yes } });
    let execute = json!({
        "conversation_id": "c1", "client_trace_id": "s1", "action": "submit_application",
        "arguments": trip(), "confirmation": confirmation,
    });
    let words = json!({ "conversation_id": "c1", "message": "好的" });
    let named = json!({ "thread": "c1", "answers": { id: yes }, "digests": { id: digest } });
    for (path, body) in [
        ("/threads/c1/fork", &json!({ "at": 1 })),
        ("/threads/c1/recover", &json!({})),
        ("/threads/c1/cancel", &json!({})),
        ("/threads/c1/resume", &resume),
        ("/threads/c1/resume", &bare),
        ("/sse/react", &named),
        ("/steward/actions/execute", &execute),
        ("/steward/plans", &words),
        ("/steward/runtime-decisions", &words),
    ] {
        let (status, refused) = office.ask(bob, path, body).await;
        let expected = if path.starts_with("/steward/") {
            (StatusCode::FORBIDDEN, "forbidden")
        } else {
            (StatusCode::NOT_FOUND, "not_found")
        };
        assert_eq!(status, expected.0, "{path}: {refused}");
        assert_eq!(refused["error"]["type"], expected.1, "{path}: {refused}");
    }
    let streamed = json!({ "conversation_id": "c1", "message": "好的" });
    let (_, told) = office.ask(bob, "/steward/plans/stream", &streamed).await;
    assert_contains(&told, "\"forbidden\"");
    assert_eq!((card().await, office.1.tried()), (Some(asked.clone()), 0));

    let (status, told) = office.ask(ann, "/threads/c1/resume", &resume).await;
    assert_eq!((status, office.1.tried()), (StatusCode::OK, 1), "{told}");
    Ok(())
}

/// The timeline of the conversation is read from the log, with the card between the messages.
#[tokio::test]
async fn a_conversation_that_is_opened_again_shows_what_was_said_in_its_order() -> TestResult {
    let (wire, stage) = Wire::new().await;
    let say = async |text: &str| {
        let body = json!({ "text": text, "extra": { "base_date": TODAY } });
        wire.send("POST", "/threads/c1/runs", &body).await
    };
    say(TRIP).await;
    let asked = stage.pending().await.ok_or("a card is open")?;
    let id = asked.id.as_str();
    let said = json!({ "action": "say", "text": "预算1500元" });
    let answer = json!({ "answers": { id: said }, "digests": { id: asked.question.digest } });
    wire.send("POST", "/threads/c1/resume", &answer).await;
    let asked = stage.pending().await.ok_or("another card is open")?;
    let id = asked.id.as_str();
    let yes = json!({ "answers": { id: { "action": "approve" } }, "digests": { id: asked.question.digest } });
    wire.send("POST", "/threads/c1/resume", &yes).await;
    let (_, view) = wire.send("GET", "/threads/c1", &json!({})).await;
    let view: Value = serde_json::from_str(&view)?;
    let told = view["timeline"].as_array().ok_or("a timeline")?;
    let shown = ["user_text", "assistant_text", "confirm_request"];
    let told = told
        .iter()
        .filter(|item| shown.contains(&item["kind"].as_str().unwrap_or("")));
    let told: Vec<_> = told.map(|item| (&item["kind"], &item["text"])).collect();
    let (card, none) = (json!("confirm_request"), Value::Null);
    let words = json!("user_text");
    let expected = [
        (&words, &json!(TRIP)),
        (&card, &none),
        (&words, &json!("预算1500元")),
        (&card, &none),
        (&json!("assistant_text"), &json!("已办理：A-1（已提交）")),
    ];
    assert_eq!(told, expected, "{view}");
    Ok(())
}
