//! Tests of the writes: the allowed ones, the consent to each, and that each is done once.
use std::sync::Arc;

use expect_test::expect;
use fugato::RunnerOptions;
use fugato_testkit::assert_contains;
use serde_json::{Value, json};
use steward::{
    action::{ActionWork, WHITELIST, WhitelistedAction, find, sequence},
    deps::{ConsentPolicy, Deps},
    form::FormKind,
    read::Goal,
    state::{Request, RequestKind, Runtime},
    steward_service::{ClerkError, Confirmation, StewardService},
};

use crate::common::{
    CLAIM, StewardFixture, TRIP, agreed, asked, assert_written, claim, desk, fields, of, thread,
    trip, wants,
};

#[test]
fn stw_21_c1_c2_seven_of_thirteen_actions_write() {
    let named = |is: fn(&WhitelistedAction) -> bool| -> String {
        let actions = WHITELIST.iter().filter(|action| is(action));
        let names: Vec<_> = actions.map(|action| action.name).collect();
        names.join(" ")
    };
    expect!["save_application_draft submit_application create_reimbursement_draft link_existing_application associate_attachments withdraw_document restore_document"].assert_eq(&named(|action| action.writes()));
    // A preview only shows.
    let previews = named(|action| action.work == ActionWork::Preview);
    assert_eq!(
        previews,
        "build_application_preview build_reimbursement_preview"
    );
    assert_eq!(WHITELIST.len(), 13);
}

#[test]
fn stw_t18_the_three_sequences() {
    let mut sequences = vec![];
    for (form, goal) in [
        (FormKind::Application, Goal::Submit),
        (FormKind::Application, Goal::Draft),
        (FormKind::Reimbursement, Goal::Draft),
        (FormKind::Link, Goal::Draft),
        (FormKind::Attachment, Goal::Draft),
    ] {
        let sequence = sequence(form, goal);
        assert!(sequence.iter().all(|name| find(name).is_some()));
        sequences.push(sequence.join(" "));
    }
    expect![[r"
        fill_application_fields build_application_preview validate_required_fields run_duplicate_precheck submit_application
        fill_application_fields build_application_preview validate_required_fields save_application_draft
        fill_reimbursement_fields build_reimbursement_preview validate_required_fields create_reimbursement_draft
        link_existing_application
        associate_attachments"]].assert_eq(&sequences.join("\n"));
}

#[tokio::test]
async fn stw_t5_an_unknown_action_is_rejected_and_nothing_is_called() {
    let stage = StewardFixture::new().await;
    for action in [
        "pay_everybody",
        "task:application:submit",
        "submit_application; drop table",
        "",
    ] {
        let answer = stage.does(&format!("x{action}"), action, trip()).await;
        assert_eq!(answer["outcome"], "rejected", "{answer}");
        assert_contains(&answer["message"], "submit_application");
    }
    assert_eq!(stage.tried(), 0);
}

#[tokio::test]
async fn stw_t6_a_missing_field_blocks() {
    let stage = StewardFixture::new().await;
    let mut part = trip();
    part.as_object_mut().unwrap().remove("transport");
    for (action, arguments) in [
        ("submit_application", part.clone()),
        ("save_application_draft", part.clone()),
        ("validate_required_fields", of("application", &part)),
        ("create_reimbursement_draft", json!({ "amount": 5 })),
        (
            "link_existing_application",
            json!({ "reimbursement": "R-1" }),
        ),
    ] {
        let answer = stage.does(action, action, arguments).await;
        assert_eq!(answer["outcome"], "blocked", "{answer}");
        assert_contains(&answer["message"], "missing");
    }
    let validated = stage
        .does("v", "validate_required_fields", of("application", &part))
        .await;
    assert_eq!(validated["missing_fields"], json!(["transport"]));
    assert_eq!(stage.tried(), 0);
}

#[tokio::test]
async fn what_does_not_fit_is_named_with_what_is_allowed() {
    let stage = StewardFixture::new().await;
    let later = "that day or a later one is allowed";
    for (field, wrong, allowed) in [
        ("transport", json!("rocket"), "train, plane, car, bus, ship"),
        ("start_date", json!("soon"), "2026-03-02"),
        ("end_date", json!("2026-01-01"), later),
        ("estimated_amount", json!(-5), "positive amount"),
        ("colour", json!("red"), "reason, start_date"),
    ] {
        let mut wish = trip();
        wish[field] = wrong;
        let answer = stage.does(field, "save_application_draft", wish).await;
        assert_eq!(answer["outcome"], "blocked");
        assert_contains(&answer["message"], allowed);
    }
}

#[tokio::test]
async fn stw_t7_without_a_confirmation_it_waits_and_nothing_is_written() {
    let stage = StewardFixture::new().await;
    let waits = stage.drafts("d1", None).await;
    assert_eq!(waits["outcome"], "needs_confirmation", "{waits}");
    assert_eq!(stage.tried(), 0);
    // The same request name continues after a person has agreed.
    assert_written(&stage.drafts("d1", agreed(&waits)).await, "A-1");
    assert_eq!(stage.documents().await.applications.len(), 1);
}

#[tokio::test]
async fn stw_t8_without_a_passed_precheck_nothing_is_handed_in() {
    let stage = StewardFixture::new().await;
    let answer = stage.does("s1", "submit_application", trip()).await;
    assert_eq!(answer["outcome"], "blocked", "{answer}");
    assert_contains(&answer["message"], "the check for duplicates");
    assert_eq!(answer["pending_interrupt"], Value::Null);
    assert_eq!(stage.tried(), 0);
}

/// Returns a request to submit the trip with the reference of a precheck.
fn submits(trace: &str, precheck_ref: &Value) -> Request {
    let mut request = wants(trace, "submit_application", &trip());
    request.kind = RequestKind::Execute {
        action: "submit_application".into(),
        arguments: fields(&trip()),
        precheck_ref: precheck_ref.as_str().map(str::to_owned),
    };
    request
}

fn reference(checked: &Value) -> &Value {
    &checked["action_result"]["data"]["precheck_ref"]
}

#[tokio::test]
async fn stw_27_a_page_prechecks_and_then_submits() {
    let stage = StewardFixture::new().await;
    let checked = stage.precheck("p1", &trip()).await;
    assert_eq!(checked["outcome"], "succeeded", "{checked}");
    // The same name: a precheck and the submit it belongs to may share it.
    let request = submits("p1", reference(&checked));
    let thread = thread();
    let conversation = stage.clerk.on(Runtime::Graph, &thread);
    let waits = conversation.execute(&request, None).await.unwrap();
    assert_eq!(waits["outcome"], "needs_confirmation", "{waits}");
    let done = conversation.execute(&request, agreed(&waits));
    assert_eq!(done.await.unwrap()["outcome"], "succeeded");
    let documents = stage.documents().await;
    assert_eq!(json!(documents.applications[0].fields), trip());
}

#[tokio::test]
async fn stw_c6_what_a_client_says_of_a_precheck_is_only_a_reference() {
    let stage = StewardFixture::new().await;
    // A finding about other content is none about this.
    let mut other = trip();
    other["destination"] = json!("北京");
    let checked = stage.precheck("p1", &other).await;
    for (trace, found) in [("f1", &json!("passed")), ("f2", reference(&checked))] {
        let answer = stage.ask(submits(trace, found)).await.unwrap();
        assert_eq!(answer["outcome"], "blocked", "{answer}");
    }
    let unnamed = stage.does("f3", "submit_application", trip()).await;
    assert_eq!((&unnamed["outcome"], stage.tried()), (&json!("blocked"), 0));
}

#[tokio::test]
async fn stw_c6_a_precheck_expires_also_while_a_person_thinks() {
    let stage = StewardFixture::new().await;
    stage.precheck("p1", &trip()).await;
    stage.now.advance(11 * 60_000);
    let late = stage.does("s1", "submit_application", trip()).await;
    assert_eq!(late["outcome"], "blocked", "{late}");

    stage.precheck("p2", &trip()).await;
    let waits = stage.does("s2", "submit_application", trip()).await;
    assert_eq!(waits["outcome"], "needs_confirmation");
    stage.now.advance(11 * 60_000);
    let late = stage.execute("s2", "submit_application", trip(), agreed(&waits));
    let late = late.await.unwrap();
    assert_eq!(late["outcome"], "blocked", "{late}");
    assert_contains(&late["message"], "too old");
    assert_eq!(stage.tried(), 0);
}

#[tokio::test]
async fn stw_24_duplicates_block_and_overtake_an_older_finding() {
    let stage = StewardFixture::new().await;
    stage.chat(TRIP).await;
    stage.agree().await;
    let checked = stage.precheck("p1", &trip()).await;
    assert_eq!(checked["outcome"], "blocked");
    assert_eq!(checked["action_result"]["data"]["passed"], false);
    let submitted = stage.does("s1", "submit_application", trip()).await;
    assert_eq!(submitted["outcome"], "blocked", "{submitted}");
    assert_contains(&submitted["message"], "A-1");
    assert_eq!(stage.documents().await.applications.len(), 1);
}

#[tokio::test]
async fn stw_t9_25_a_repeat_replays_and_other_arguments_are_an_error() {
    let stage = StewardFixture::new().await;
    let waits = stage.drafts("d1", None).await;
    // A double click while it waits asks the same question, not another one.
    let again = stage.drafts("d1", None).await;
    assert_eq!(again["pending_interrupt"], waits["pending_interrupt"]);
    let done = stage.drafts("d1", agreed(&waits)).await;
    for said in [None, agreed(&waits)] {
        let repeated = stage.drafts("d1", said).await;
        assert_eq!(repeated, done);
    }
    let mut other = trip();
    other["destination"] = json!("北京");
    let changed = stage
        .execute("d1", "save_application_draft", other, None)
        .await
        .unwrap_err();
    assert_contains(&changed.to_string(), "d1");
    assert_eq!(stage.tried(), 1);
    assert_eq!(stage.documents().await.applications.len(), 1);
}

#[tokio::test]
async fn stw_c4_what_was_declined_stays_so_under_its_name() {
    let stage = StewardFixture::new().await;
    let waits = stage.drafts("d1", None).await;
    let mut said = agreed(&waits).unwrap();
    said.approved = false;
    let declined = stage.drafts("d1", Some(said)).await;
    assert_eq!(declined["outcome"], "cancelled", "{declined}");
    let again = stage.drafts("d1", agreed(&waits)).await;
    assert_eq!(again, declined);
    let new = stage.drafts("d2", None).await;
    assert_eq!(new["outcome"], "needs_confirmation");
    assert_eq!(stage.tried(), 0);
}

#[tokio::test]
async fn forged_confirmations_confirm_nothing() {
    let stage = StewardFixture::new().await;
    let forged = |interrupt_id: &str| Confirmation {
        interrupt_id: interrupt_id.to_owned(),
        digest: "0".into(),
        approved: true,
    };
    let tries = async |said| {
        let refused = stage.execute("d1", "save_application_draft", trip(), Some(said));
        let refused = refused.await;
        assert!(matches!(refused, Err(ClerkError::Run(_))), "{refused:?}");
    };
    // Too early, with a wrong question, and with another digest.
    tries(forged("human_review#1~9")).await;
    let waits = stage.drafts("d1", None).await;
    tries(forged(&agreed(&waits).unwrap().interrupt_id)).await;
    assert_eq!(stage.tried(), 0);
    assert!(stage.pending().await.is_some());
}

#[tokio::test]
async fn stw_t11_26_after_a_reload_the_action_still_waits() {
    let stage = StewardFixture::new().await;
    stage.chat(TRIP).await;
    let before = stage.pending().await;
    let other = stage.reloaded();
    assert_eq!(other.pending().await, before);
    let done = other.agree().await;
    assert_eq!(done["action_result"]["outcome"], "succeeded");
    // A press on an outdated page changes nothing: no card is open any more.
    assert_eq!((stage.pending().await, stage.tried()), (None, 1));
}

#[tokio::test]
async fn another_action_has_to_wait_for_the_one_that_waits() {
    let stage = StewardFixture::new().await;
    stage.drafts("d1", None).await;
    let other = stage.execute("d2", "create_reimbursement_draft", claim(), None);
    let other = other.await;
    assert!(
        matches!(&other, Err(ClerkError::Waiting { pending }) if pending.len() == 1),
        "{other:?}"
    );
    // Words that are no answer do not decide about it.
    let words = stage.ask(asked(RequestKind::Plan, CLAIM)).await;
    assert!(
        matches!(words, Err(ClerkError::Waiting { .. })),
        "{words:?}"
    );
    let yes = stage.plan("好的").await;
    assert_eq!(yes["action_result"]["outcome"], "succeeded", "{yes}");
}

#[tokio::test]
async fn stw_16_a_policy_may_ask_less_but_never_for_handing_in() {
    let stage = StewardFixture::new().await;
    let policy = ConsentPolicy::default()
        .without_asking("save_application_draft")
        .without_asking("submit_application");
    let deps = Deps::new(&desk(), Arc::new(stage.books.clone()), None).policy(policy);
    let options = RunnerOptions::default();
    let clerk = StewardService::new(&deps, &stage.store, &options, Runtime::Graph).unwrap();
    let thread = thread();
    let asks = async |request| clerk.request(&thread, request).await.unwrap();
    let saved = asks(wants("d1", "save_application_draft", &trip())).await;
    assert_eq!(saved["outcome"], "succeeded", "{saved}");
    let checked = of("application", &trip());
    asks(wants("p1", "run_duplicate_precheck", &checked)).await;
    let waits = asks(wants("s1", "submit_application", &trip())).await;
    assert_eq!(waits["outcome"], "needs_confirmation", "{waits}");
}

#[tokio::test]
async fn stw_t21_drafts_links_and_attachments_are_really_written() {
    let stage = StewardFixture::new().await;
    let draft = "申请出差存草稿：3月2日到3月5日去上海拜访客户，坐火车，预算1200元";
    for words in [draft, CLAIM, "把 R-1 关联到 A-1", "把行程单.pdf 附到 R-1"] {
        stage.chat(words).await;
        stage.agree().await;
    }
    let mut claim = claim();
    claim["application"] = json!("A-1");
    claim["attachments"] = json!(["发票.pdf", "行程单.pdf"]);
    let applied = |status| json!([{ "id": "A-1", "status": status, "fields": trip() }]);
    let there = stage.documents().await;
    let files = &there.reimbursements[0].files;
    let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["发票.pdf", "行程单.pdf"]);
    let claimed = json!([{ "id": "R-1", "status": "draft", "fields": claim, "files": files }]);
    let expected = json!({ "applications": applied("draft"), "reimbursements": claimed });
    assert_eq!(json!(there), expected);
    // Handing the same in makes the draft the application, and no second one.
    stage.chat(TRIP).await;
    stage.agree().await;
    let documents = stage.documents().await;
    assert_eq!(json!(documents.applications), applied("submitted"));
}

#[tokio::test]
async fn stw_18_a_step_that_a_page_requests_ends_its_task() {
    let stage = StewardFixture::new().await;
    let plan = stage.plan(CLAIM).await;
    let offered = &plan["tasks"][0]["suggested_actions"][0];
    let action = offered["step"]["action"].as_str().unwrap();
    let presses = |said| stage.execute("b1", action, offered["arguments"].clone(), said);
    let waits = presses(None).await.unwrap();
    let done = presses(agreed(&waits)).await.unwrap();
    let task = &done["steward_state"]["tasks"][0];
    assert_eq!(task["status"], "done", "{done}");
    assert_eq!(task["document"], "R-1", "{done}");
}
