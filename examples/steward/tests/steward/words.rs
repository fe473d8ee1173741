//! Words under a card: they answer the card that was seen, once, and by whom it is about.
use std::sync::{Arc, atomic::Ordering};

use fugato::{Answers, graph::Standing, store::MemoryLog};
use serde_json::{Value, json};
use steward::{
    Reply,
    clerk::ClerkError,
    state::{Request, RequestKind, Runtime},
};

use crate::common::{CLAIM, Stage, TRIP, agreed, asked, thread, trip, wants};

fn chat(trace: &str, message: &str) -> Request {
    asked(RequestKind::Chat, message).trace(trace)
}

async fn say(stage: &Stage, request: Request) -> Value {
    stage.clerk.request(&thread(), request).await.unwrap()
}

fn name(answer: &Value) -> &Value {
    &answer["pending_interrupt"]["prompt"]["call"]["name"]
}

#[tokio::test]
async fn stw_25_words_that_are_repeated_answer_no_other_card() {
    for runtime in [Runtime::Graph, Runtime::Legacy] {
        let stage = Stage::with(None::<fugato_testkit::Scripted>, runtime).await;
        say(&stage, chat("w1", &format!("{TRIP}。{CLAIM}"))).await;
        let second = say(&stage, chat("w2", "好的")).await;
        assert_eq!(name(&second), "create_reimbursement_draft", "{second}");
        // The answer was lost, and the client says it again, to another process.
        let stage = stage.reloaded();
        let again = say(&stage, chat("w2", "好的")).await;
        assert_eq!(again["pending_interrupt"], second["pending_interrupt"]);
        assert_eq!(stage.tried(), 1, "nobody has agreed to the second card");
        let done = say(&stage, chat("w3", "好的")).await;
        assert_eq!(
            (done["action_result"]["outcome"].as_str(), stage.tried()),
            (Some("succeeded"), 2)
        );
        let again = say(&stage, chat("w3", "好的")).await;
        assert_eq!(
            (again["action_result"]["outcome"].as_str(), stage.tried()),
            (Some("succeeded"), 2)
        );
        // What belongs to requests crosses to the next one.
        say(&stage, chat("w4", "3月10日申请出差")).await;
        assert_eq!(stage.state().await.heard, ["w2/chat", "w3/chat"]);
    }
}

#[tokio::test]
async fn stw_c3_words_after_a_crash_agree_to_nothing_that_was_not_seen() {
    for words in ["好的", "继续"] {
        let mut stage = Stage::new().await;
        let now = stage.now.clone();
        stage.store = Arc::new(MemoryLog::with_clock(move || now.load(Ordering::SeqCst)));
        // The process dies before the card is shown.
        let doomed = stage.reloaded();
        doomed.books.hangs.store(1, Ordering::SeqCst);
        let request = chat("w1", TRIP);
        let begun = tokio::spawn(async move { doomed.clerk.request(&thread(), request).await });
        while stage.books.hangs.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
        begun.abort();
        drop(begun.await);
        stage.now.fetch_add(11 * 60_000, Ordering::SeqCst);
        let stage = stage.reloaded();
        let standing = stage.clerk.runner().standing(&thread()).await.unwrap();
        assert_eq!(standing, Standing::Unfinished);

        // The answer was lost, and the client says the same again.
        for _ in 0..2 {
            let card = say(&stage, chat("w2", words)).await;
            assert_eq!(name(&card), "submit_application", "{card}");
            assert_eq!(stage.tried(), 0, "{words}: nobody has seen the card");
        }
        let done = say(&stage, asked(RequestKind::Chat, words)).await;
        assert_eq!(done["action_result"]["outcome"], "succeeded", "{done}");
    }
}

#[tokio::test]
async fn stw_16_nobody_goes_on_in_the_conversation_of_another_employee() {
    let stage = Stage::new().await;
    let card = stage.chat(TRIP).await;
    let before = stage.state().await;
    for kind in [RequestKind::Chat, RequestKind::Plan, RequestKind::Decide] {
        let request = Request::new(kind, "c1", "bob").message("好的");
        let refused = stage.clerk.request(&thread(), request).await;
        assert!(
            matches!(refused, Err(ClerkError::SomebodyElses)),
            "{refused:?}"
        );
    }
    let said = agreed(&card).unwrap();
    let thread = thread();
    let conversation = stage.clerk.on(Runtime::Graph, &thread);
    let refused = conversation.confirm("bob", said.clone()).await;
    assert!(
        matches!(refused, Err(ClerkError::SomebodyElses)),
        "{refused:?}"
    );
    let mut action = wants("d1", "save_application_draft", &trip());
    action.employee = "bob".into();
    let refused = conversation.execute(&action, Some(said.clone())).await;
    assert!(
        matches!(refused, Err(ClerkError::SomebodyElses)),
        "{refused:?}"
    );
    assert_eq!((stage.state().await, stage.tried()), (before, 0));
    let done = conversation.confirm("ann", said).await.unwrap();
    assert_eq!(done["action_result"]["outcome"], "succeeded", "{done}");
    // Nor does anybody take over where nothing waits any more.
    let (before, tried) = (stage.state().await, stage.tried());
    for kind in [
        RequestKind::Chat,
        RequestKind::Plan,
        RequestKind::Decide,
        action.kind.clone(),
    ] {
        let mut request = Request::new(kind, "c2", "bob").message(TRIP);
        request.client_trace_id = "d2".into();
        let refused = conversation.request(&request).await;
        assert!(
            matches!(refused, Err(ClerkError::SomebodyElses)),
            "{refused:?}"
        );
    }
    assert_eq!((stage.state().await, stage.tried()), (before, tried));
}

#[tokio::test]
async fn stw_13_what_comes_with_words_under_a_card_counts() {
    let stage = Stage::new().await;
    stage.chat(CLAIM).await;
    let mut request = chat("w2", "日期昨天").on("2026-02-24");
    request.beside.attachments = vec!["b.pdf".into()];
    request.beside.context = json!({ "category": "meals" })
        .as_object()
        .cloned()
        .unwrap_or_default();
    let changed = say(&stage, request).await;
    let shown = &changed["pending_interrupt"]["prompt"]["call"]["arguments"];
    assert_eq!(shown["expense_date"], "2026-02-23", "{changed}");
    assert_eq!(shown["attachments"], json!(["b.pdf"]), "{changed}");
    assert_eq!(shown["category"], "meals", "{changed}");
    // A yes with a file is about another card than the one that was seen.
    let mut request = chat("w3", "好的");
    request.beside.attachments = vec!["c.pdf".into()];
    let changed = say(&stage, request).await;
    let shown = &changed["pending_interrupt"]["prompt"]["call"]["arguments"];
    assert_eq!(
        (shown["attachments"].clone(), stage.tried()),
        (json!(["c.pdf"]), 0),
        "{changed}"
    );
}

#[test]
fn a_reply_of_before_is_still_read() {
    let reply: Reply = serde_json::from_value(json!({ "action": "say", "text": "好的" })).unwrap();
    assert_eq!(reply, Reply::say("好的"));
    assert!(Answers::only(&reply).is_ok());
}
