//! Tests of documents that are withdrawn and restored, by words and as actions of a page.
use fugato::form::Fields;
use fugato_testkit::{Scripted, assert_contains};
use serde_json::{Value, json};
use steward::{
    CardReply,
    ledger::{Document, DocumentStatus, LedgerWrite, WriteKind},
    state::Runtime,
};

use crate::common::{CLAIM, StewardFixture, TRIP, assert_written, claim, fields, trip};

/// Returns the action of the open card and its summary.
fn card(answer: &Value) -> (&str, &str) {
    let prompt = &answer["pending_interrupt"]["prompt"];
    let name = prompt["call"]["name"].as_str();
    (
        name.unwrap_or_default(),
        prompt["summary"].as_str().unwrap_or_default(),
    )
}

async fn statuses(stage: &StewardFixture) -> Vec<(String, DocumentStatus)> {
    let documents = stage.documents().await;
    let status = |it: &Document| (it.id.clone(), it.status);
    documents.all().map(status).collect()
}

/// A stage with the trip A-1, which is handed in.
async fn with_trip(runtime: Runtime) -> StewardFixture {
    let stage = StewardFixture::with(None::<Scripted>, runtime).await;
    stage.chat(TRIP).await;
    assert_written(&stage.agree().await, "A-1");
    stage
}

#[tokio::test]
async fn stw_21_a_document_is_withdrawn_after_its_card_and_restored() {
    use DocumentStatus::{Draft, Submitted, Withdrawn};
    for runtime in [Runtime::Graph, Runtime::Legacy] {
        for (withdraw, withdrawn, restore) in [
            ("取消我的上海出差", "已撤回A-1", "恢复A-1"),
            ("withdraw A-1", "A-1 is withdrawn", "restore A-1"),
        ] {
            let stage = with_trip(runtime).await;
            let asks = stage.chat(withdraw).await;
            let (name, shows) = card(&asks);
            assert_eq!(name, "withdraw_document", "{asks}");
            // What is withdrawn is on the card, and not its number alone.
            assert_contains(shows, "上海");
            assert_contains(shows, "1200");
            assert_eq!(statuses(&stage).await, [("A-1".to_owned(), Submitted)]);
            let done = stage.agree().await;
            assert_contains(&done["reply"], withdrawn);
            assert_eq!(statuses(&stage).await, [("A-1".to_owned(), Withdrawn)]);
            // Its days are free again.
            let other = stage.chat(TRIP).await;
            assert_eq!(card(&other).0, "submit_application", "{other}");
            stage.press(CardReply::reject()).await;
            let again = stage.chat(withdraw).await;
            assert_eq!(again["pending_interrupt"], Value::Null, "{again}");
            let asks = stage.chat(restore).await;
            assert_eq!(card(&asks).0, "restore_document", "{asks}");
            stage.agree().await;
            assert_eq!(statuses(&stage).await, [("A-1".to_owned(), Draft)]);
        }
    }
}

#[tokio::test]
async fn stw_14_what_cannot_be_withdrawn_or_restored_gets_no_card() {
    let stage = with_trip(Runtime::Graph).await;
    let refused = async |words: &str, told: &str| {
        let answer = stage.chat(words).await;
        assert_eq!(answer["pending_interrupt"], Value::Null, "{answer}");
        assert_contains(&answer["reply"], told);
    };
    refused("撤回A-9", "没有A-9。").await;
    refused("withdraw A-1 and A-9", "There is no A-9.").await;
    refused("恢复A-1", "没有恢复任何单据。").await;
    stage.chat(CLAIM).await;
    assert_written(&stage.agree().await, "R-1");
    stage.chat("把R-1关联到A-1").await;
    assert_written(&stage.agree().await, "R-1");
    refused("撤回A-1", "请先撤回R-1").await;
    stage.chat("撤回R-1").await;
    assert_written(&stage.agree().await, "R-1");
    // The same is claimed anew, so that the old claim stays withdrawn.
    stage.chat(CLAIM).await;
    assert_written(&stage.agree().await, "R-2");
    refused("restore R-1", "R-2 already claims 86.5").await;
    refused("把R-1关联到A-1", "R-1已经撤回了").await;
    assert_eq!(stage.tried(), 5);
}

/// Words that fit several documents are a question for the person, and each that is named gets a card.
#[tokio::test]
async fn stw_13_documents_are_withdrawn_one_after_the_other() {
    use DocumentStatus::{Submitted, Withdrawn};
    let stage = with_trip(Runtime::Graph).await;
    stage
        .chat("申请出差：3月9日到3月10日去北京开会，坐飞机，预算2300元")
        .await;
    assert_written(&stage.agree().await, "A-2");
    let which = stage.chat("撤回我的出差申请").await;
    assert_eq!(which["pending_interrupt"], Value::Null, "{which}");
    for shown in ["请说明单号", "A-1", "A-2"] {
        assert_contains(&which["reply"], shown);
    }
    // A further wish under a card waits, and its own card says what it is about.
    stage
        .chat("申请出差：3月16日到3月17日去杭州开会，坐火车，预算900元")
        .await;
    let queued = stage.chat("撤回A-1和A-2").await;
    assert_contains(card(&queued).1, "杭州");
    let second = stage.agree().await;
    assert_eq!(card(&second).0, "withdraw_document", "{second}");
    assert_contains(card(&second).1, "上海");
    let third = stage.agree().await;
    assert_contains(card(&third).1, "北京");
    stage.agree().await;
    let all = [("A-1", Withdrawn), ("A-2", Withdrawn), ("A-3", Submitted)];
    assert_eq!(
        statuses(&stage).await,
        all.map(|(id, status)| (id.to_owned(), status))
    );
}

#[tokio::test]
async fn stw_13_documents_are_found_by_the_words_of_their_owner() {
    let stage = with_trip(Runtime::Graph).await;
    for words in ["我的出差申请到哪一步了", "A-1什么状态", "show me A-1"] {
        let told = stage.chat(words).await;
        assert_contains(&told["reply"], "A-1");
    }
    let asks = stage.chat("把A-1删掉").await;
    assert_eq!(card(&asks).0, "withdraw_document", "{asks}");
}

/// A page requests changes of documents as actions: what would be refused gets no card either.
#[tokio::test]
async fn stw_24_a_change_that_would_be_refused_gets_no_card() {
    let stage = with_trip(Runtime::Graph).await;
    for (action, arguments, told) in [
        ("withdraw_document", json!({ "document": "A-9" }), "A-9"),
        ("restore_document", json!({ "document": "A-1" }), "A-1"),
        (
            "link_existing_application",
            json!({ "reimbursement": "R-7", "application": "A-1" }),
            "R-7",
        ),
    ] {
        let answer = stage.does(action, action, arguments).await;
        assert_eq!(answer["outcome"], "blocked", "{answer}");
        assert_contains(&answer["message"], told);
    }
    let mut far = trip();
    (far["start_date"], far["end_date"]) = (json!("1999-03-02"), json!("1999-03-05"));
    let answer = stage.does("d1", "save_application_draft", far).await;
    assert_eq!(answer["outcome"], "blocked", "{answer}");
    assert_contains(&answer["message"], "1999-03-02");
    let asks = stage
        .does("w1", "withdraw_document", json!({ "document": "A-1" }))
        .await;
    assert_eq!(asks["outcome"], "needs_confirmation", "{asks}");
    assert_contains(card(&asks).1, "上海");
    assert_eq!(stage.tried(), 1);
}

/// Words that fill in a form ask for it, whatever else they say.
#[tokio::test]
async fn stw_14_a_request_is_no_question_about_documents() {
    for reason in ["恢复系统", "查看设备", "参加撤回流程培训"] {
        let stage = StewardFixture::new().await;
        let words = format!("申请3月2日到3月5日去上海，事由{reason}，坐火车，预算1200元");
        let asks = stage.chat(&words).await;
        assert_eq!(card(&asks).0, "submit_application", "{asks}");
        assert_contains(card(&asks).1, reason);
    }
}

/// A draft that somebody changed while the card of a change waited stays as it is: the card would
/// write over it.
#[tokio::test]
async fn a_draft_that_was_changed_under_its_card_is_not_written_over() {
    for runtime in [Runtime::Graph, Runtime::Legacy] {
        for words in ["change the budget of A-1 to 650", "submit A-1"] {
            let stage = StewardFixture::with(None::<Scripted>, runtime).await;
            let mut write = LedgerWrite {
                deed: WriteKind::Draft,
                employee: "ann".into(),
                fields: fields(&trip()),
                files: vec![],
                known: None,
                status: None,
            };
            let ledger = &stage.books.tables;
            ledger.write("k1", &write).await.unwrap();
            let asks = stage.chat(words).await;
            assert_ne!(asks["pending_interrupt"], Value::Null, "{asks}");
            write.fields.insert("document".into(), "A-1".into());
            write.fields.insert("destination".into(), "北京".into());
            ledger.write("k2", &write).await.unwrap();
            let changed = stage.documents().await;
            let refused = stage.agree().await;
            assert_contains(&refused["reply"], "A-1 was changed");
            assert_eq!(stage.documents().await, changed, "{refused}");
            // With what it says now, it can be changed again.
            stage.chat("change the budget of A-1 to 700").await;
            stage.agree().await;
            let documents = stage.documents().await;
            let says = &documents.applications[0].fields;
            let says = [&says["destination"], &says["estimated_amount"]];
            assert_eq!(says, [&json!("北京"), &json!(700)]);
        }
    }
}

/// A document that somebody changed while a card about it waited is not the one that the card shows.
#[tokio::test]
async fn a_card_acts_on_no_document_that_was_changed_since_it_was_shown() {
    let draft = |destination: &str| {
        let mut fields = fields(&trip());
        fields.insert("destination".into(), destination.into());
        fields
    };
    let with = |mut fields: Fields, key: &str, value: &str| {
        fields.insert(key.into(), value.into());
        fields
    };
    let link = |to: &str| fields(&json!({ "reimbursement": "R-1", "application": to }));
    let withdrawn = || fields(&json!({ "document": "A-1" }));
    let cases = [
        (
            "withdraw A-1",
            WriteKind::Draft,
            with(draft("北京"), "document", "A-1"),
        ),
        (
            "withdraw A-1",
            WriteKind::Submit,
            with(draft("上海"), "document", "A-1"),
        ),
        ("link R-1 to A-1", WriteKind::Link, link("A-2")),
        ("submit A-1", WriteKind::Withdraw, withdrawn()),
    ];
    for runtime in [Runtime::Graph, Runtime::Legacy] {
        for (words, deed, theirs) in &cases {
            let stage = StewardFixture::with(None::<Scripted>, runtime).await;
            let ledger = &stage.books.tables;
            let write = |deed, fields: &Fields| LedgerWrite {
                deed,
                employee: "ann".into(),
                fields: fields.clone(),
                files: vec![],
                known: None,
                status: None,
            };
            for (key, deed, fields) in [
                ("k1", WriteKind::Draft, draft("上海")),
                ("k2", WriteKind::Draft, draft("广州")),
                ("k3", WriteKind::Claim, fields(&claim())),
            ] {
                ledger.write(key, &write(deed, &fields)).await.unwrap();
            }
            let asks = stage.chat(words).await;
            assert_ne!(asks["pending_interrupt"], Value::Null, "{words}: {asks}");
            ledger.write("k4", &write(*deed, theirs)).await.unwrap();
            let changed = stage.documents().await;
            let refused = stage.agree().await;
            assert_eq!(stage.documents().await, changed, "{words}: {refused}");
            let told = if *deed == WriteKind::Withdraw {
                "withdrawn"
            } else {
                "was changed"
            };
            assert_contains(&refused["reply"], told);
            // A new card is about what there is now.
            let asks = stage.chat(words).await;
            if *deed != WriteKind::Withdraw {
                stage.agree().await;
                assert_ne!(stage.documents().await, changed, "{words}: {asks}");
            }
        }
    }
}
