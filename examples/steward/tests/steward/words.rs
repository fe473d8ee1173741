//! Tests of words under a card: they answer the card that was seen, once, and only from the
//! employee whom it is about.
use std::sync::{Arc, atomic::Ordering};

use fugato::{Answers, graph::ThreadStatus, store::MemoryLog};
use fugato_testkit::Scripted;
use serde_json::{Value, json};
use steward::{
    CardReply,
    state::{Request, RequestKind, Runtime},
    steward_service::ClerkError,
};

use crate::common::{
    CLAIM, StewardFixture, TRIP, agreed, asked, asked_fields, assert_written, fields, thread, trip,
    wants,
};

fn chat(trace: &str, message: &str) -> Request {
    asked(RequestKind::Chat, message).trace(trace)
}

async fn say(stage: &StewardFixture, request: Request) -> Value {
    stage.ask(request).await.unwrap()
}

fn name(answer: &Value) -> &Value {
    &answer["pending_interrupt"]["prompt"]["call"]["name"]
}

#[tokio::test]
async fn stw_25_words_that_are_repeated_answer_no_other_card() {
    for runtime in [Runtime::Graph, Runtime::Legacy] {
        let stage = StewardFixture::with(None::<Scripted>, runtime).await;
        say(&stage, chat("w1", &format!("{TRIP}。{CLAIM}"))).await;
        let bare = say(&stage, chat("w1b", "好的")).await;
        assert_eq!(name(&bare), "submit_application");
        assert_eq!(stage.tried(), 0);
        let first = stage.shown().await;
        let yes = || chat("w2", "好的").under(first.clone());
        let second = say(&stage, yes()).await;
        assert_eq!(name(&second), "create_reimbursement_draft", "{second}");
        // The answer was lost, and the client says it again, to another process.
        let stage = stage.reloaded();
        let again = say(&stage, yes()).await;
        assert_eq!(again["pending_interrupt"], second["pending_interrupt"]);
        assert_eq!(stage.tried(), 1, "nobody has agreed to the second card");
        let shown = stage.shown().await;
        let yes = || chat("w3", "好的").under(shown.clone());
        for _ in 0..2 {
            assert_written(&say(&stage, yes()).await, "R-1");
            assert_eq!(stage.tried(), 2);
        }
    }
}

#[tokio::test]
async fn stw_c3_words_after_a_crash_agree_to_nothing_that_was_not_seen() {
    for words in ["好的", "继续"] {
        let mut stage = StewardFixture::new().await;
        let now = stage.now.clone();
        stage.store = Arc::new(MemoryLog::with_clock(move || now.now()));
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
        stage.now.advance(11 * 60_000);
        let stage = stage.reloaded();
        let standing = stage.clerk.runner().status(&thread()).await.unwrap();
        assert_eq!(standing, ThreadStatus::Unfinished);

        // The answer was lost, and the client says the same again.
        for _ in 0..2 {
            let card = say(&stage, chat("w2", words)).await;
            assert_eq!(name(&card), "submit_application", "{card}");
            assert_eq!(stage.tried(), 0, "{words}: nobody has seen the card");
        }
        let seen = asked(RequestKind::Chat, "好的").under(stage.shown().await);
        let done = say(&stage, seen).await;
        assert_eq!(done["action_result"]["outcome"], "succeeded", "{done}");
    }
}

/// A yes that is sent six times at once answers one card, with a name of its client or without.
#[tokio::test]
async fn k35_six_copies_of_a_yes_write_one_document() {
    for trace in ["y1", ""] {
        for runtime in [Runtime::Graph, Runtime::Legacy] {
            let stage = StewardFixture::with(None::<Scripted>, runtime).await;
            let two = format!("{CLAIM}。报销住宿费2001元，日期2月19日，附件r2.pdf");
            say(&stage, chat("w1", &two)).await;
            let at_once = async |request: Request| {
                let place = thread();
                let six = std::iter::repeat_n(request, 6);
                let six = six.map(|request| stage.clerk.request(&place, request));
                futures::future::join_all(six).await
            };
            at_once(chat(trace, "yes")).await;
            assert_eq!(stage.tried(), 0, "no card was named");
            at_once(chat(trace, "yes").under(stage.shown().await)).await;
            assert_eq!(stage.tried(), 1, "the second card was seen by nobody");
        }
    }
}

/// A confirmation that was given in one conversation is none in another.
#[tokio::test]
async fn k35_a_copied_confirmation_writes_nothing_elsewhere() {
    let stage = StewardFixture::new().await;
    let draft = || wants("d1", "save_application_draft", &trip());
    let elsewhere = fugato::state::ThreadId::new("c2").unwrap();
    let runtime = stage.clerk.runtime();
    let place = thread();
    let here = stage.clerk.on(runtime, &place);
    let there = stage.clerk.on(runtime, &elsewhere);
    let card = here.execute(&draft(), None).await.unwrap();
    let copied = there.execute(&draft(), agreed(&card)).await;
    assert!(copied.is_err(), "{copied:?}");
    assert_eq!(stage.tried(), 0);
    here.execute(&draft(), agreed(&card)).await.unwrap();
    assert_eq!(stage.tried(), 1);
}

/// A card that is approved with words that take it back is not approved.
#[tokio::test]
async fn k35_an_approval_that_says_no_is_none() {
    for words in ["no", "不要", "yes?", "嗯"] {
        let stage = StewardFixture::new().await;
        stage.chat(TRIP).await;
        let reply = CardReply {
            text: Some(words.to_owned()),
            ..CardReply::approve()
        };
        stage.press(reply).await;
        assert_eq!(stage.tried(), 0, "{words}");
    }
}

#[tokio::test]
async fn stw_16_nobody_goes_on_in_the_conversation_of_another_employee() {
    let stage = StewardFixture::new().await;
    let card = stage.chat(TRIP).await;
    let said = agreed(&card).unwrap();
    let mut action = wants("d2", "save_application_draft", &trip());
    action.employee = "bob".into();
    let kinds = [RequestKind::Chat, RequestKind::Plan, RequestKind::Decide];
    let words = kinds.map(|kind| Request::new(kind, "c1", "bob").message("好的"));
    let refuses = |refused: Result<Value, ClerkError>| {
        let is_refused = matches!(refused, Err(ClerkError::SomebodyElses));
        assert!(is_refused, "{refused:?}");
    };
    // With a card that is open, and when none is any more.
    for is_open in [true, false] {
        let (before, tried) = (stage.state().await, stage.tried());
        for request in words.iter().chain([&action]) {
            refuses(stage.ask(request.clone()).await);
        }
        let (thread, said) = (thread(), said.clone());
        let conversation = stage.clerk.on(Runtime::Graph, &thread);
        if is_open {
            refuses(conversation.confirm("bob", said.clone()).await);
            refuses(conversation.execute(&action, Some(said.clone())).await);
        }
        assert_eq!((stage.state().await, stage.tried()), (before, tried));
        if is_open {
            let done = conversation.confirm("ann", said).await.unwrap();
            assert_eq!(done["action_result"]["outcome"], "succeeded", "{done}");
        }
    }
}

#[tokio::test]
async fn stw_13_what_comes_with_words_under_a_card_counts() {
    let stage = StewardFixture::new().await;
    stage.chat(CLAIM).await;
    let mut request = chat("w2", "日期昨天").on("2026-02-24");
    request.beside.attachments = vec!["b.pdf".into()];
    request.beside.context = fields(&json!({ "category": "meals" }));
    let changed = say(&stage, request).await;
    let shown = asked_fields(&changed);
    assert_eq!(shown["expense_date"], "2026-02-23", "{changed}");
    assert_eq!(
        shown["attachments"],
        json!(["发票.pdf", "b.pdf"]),
        "{changed}"
    );
    assert_eq!(shown["category"], "meals", "{changed}");
    // A yes with a file is about another card than the one that was seen.
    let mut request = chat("w3", "好的").under(stage.shown().await);
    request.beside.attachments = vec!["c.pdf".into()];
    let changed = say(&stage, request).await;
    let all = json!(["发票.pdf", "b.pdf", "c.pdf"]);
    assert_eq!(asked_fields(&changed)["attachments"], all);
    assert_eq!(stage.tried(), 0);
}

#[tokio::test]
async fn stw_13_values_that_come_with_a_yes_are_shown_before_it_counts() {
    for runtime in [Runtime::Graph, Runtime::Legacy] {
        for yes in ["好的", "yes"] {
            let stage = StewardFixture::with(None::<Scripted>, runtime).await;
            say(&stage, chat("w1", CLAIM)).await;
            let shown = stage.shown().await;
            let beside = |trace: &str, context: Value| {
                let mut request = chat(trace, yes);
                request.beside.context = fields(&context);
                request
            };
            let request = beside("w2", json!({ "category": "meals" })).under(shown);
            let changed = say(&stage, request).await;
            assert_eq!(asked_fields(&changed)["category"], "meals", "{changed}");
            assert_eq!(stage.tried(), 0);
            // A value that does not fit is named.
            let request = beside("w3", json!({ "amount": "many" })).under(stage.shown().await);
            let told = say(&stage, request).await;
            assert!(told.to_string().contains("many"), "{told}");
            assert_eq!(stage.tried(), 0);
            // By a button they count as well.
            let reply = CardReply {
                beside: Some(beside("w4", json!({ "category": "lodging" })).beside),
                ..CardReply::approve()
            };
            say(&stage, chat("w5", "继续")).await;
            let changed = stage.press(reply).await;
            assert_eq!(asked_fields(&changed)["category"], "lodging", "{changed}");
            assert_eq!(stage.tried(), 0);
            // What the card shows already is nothing more, and neither is a field of another form.
            let seen = json!({ "category": "lodging", "destination": "Oslo" });
            let request = beside("w6", seen).under(stage.shown().await);
            assert_written(&say(&stage, request).await, "R-1");
        }
    }
}

#[tokio::test]
async fn a_yes_before_a_claim_is_not_its_reason() {
    for (words, amount) in [
        ("ok, and lunch was 12 euros", 12),
        ("好的，午饭花了12元", 12),
    ] {
        let stage = StewardFixture::new().await;
        stage.chat(words).await;
        let plan = stage.state().await.steward_state;
        let fields = &plan.current().unwrap().fields;
        assert_eq!(fields["amount"], amount, "{fields:?}");
        assert_eq!(fields.get("reason"), None, "{words}: {fields:?}");
    }
}

#[test]
fn a_reply_of_before_is_still_read() {
    let reply: CardReply =
        serde_json::from_value(json!({ "action": "say", "text": "好的" })).unwrap();
    assert_eq!(reply, CardReply::say("好的"));
    assert!(Answers::only(&reply).is_ok());
}
