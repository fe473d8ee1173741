//! Rules that decide without a model.
use fugato::state::{State as _, ToolCall};
use serde_json::{Value, json};
use transparent::{
    agent::{AgentState, PendingCall, Request, TurnState, Update},
    intent::IntentKind,
    plan::TurnStep,
    rules::{intent, repair, steps, worth_keeping},
};

fn asked(text: &str) -> AgentState {
    let mut agent = AgentState::default();
    agent.apply(Update::Asked(Request::new(text)));
    agent.apply(Update::Understood(intent(text)));
    agent
}

#[test]
fn trn_2_words_become_intents_in_both_languages() {
    for (text, kind) in [
        ("帮我找出上周写的项目计划书", IntentKind::Search),
        (
            "find the project plan I wrote last week",
            IntentKind::Search,
        ),
        ("明天下午3点提醒我开会", IntentKind::Remind),
        ("Remind me at 15:30 to call Ada", IntentKind::Remind),
        ("请记住我对花生过敏", IntentKind::Create),
        ("remember that I prefer mornings", IntentKind::Create),
        ("拍一张照片", IntentKind::Execute),
        ("notify me that lunch is ready", IntentKind::Execute),
        ("你还记得我喜欢什么茶吗", IntentKind::AskMemory),
        ("When is my exam?", IntentKind::AskMemory),
        ("你好", IntentKind::Chat),
        ("good morning", IntentKind::Chat),
    ] {
        assert_eq!(intent(text).intent, kind, "{text}");
    }
}

#[test]
fn trn_15_the_reference_wish_becomes_a_search_and_a_listing() {
    let agent = asked("帮我找出上周写的项目计划书");
    let pattern = json!({ "pattern": ".*(项目计划书).*", "days": 14 });
    let listing = TurnStep::tool("list_files", pattern);
    assert_eq!(
        steps(&agent.turn, &[]),
        [TurnStep::rag("项目计划书"), listing]
    );
    assert_eq!(agent.turn.phase.node(), "plan");
    let agent = asked("find the proposal in ~/Documents");
    let wanted = json!({ "path": "~/Documents", "pattern": ".*(proposal).*" });
    assert_eq!(
        steps(&agent.turn, &[])[1],
        TurnStep::tool("list_files", wanted)
    );
}

fn failed(name: &str, arguments: Value, cause: &str) -> PendingCall {
    PendingCall {
        call: ToolCall::new("c1", name, arguments),
        id: "c1".into(),
        attempt: 1,
        cause: Some(cause.into()),
    }
}

#[test]
fn trn_9_arguments_are_mended_by_rule() {
    let turn = TurnState::default();
    for (arguments, cause, mended) in [
        (
            json!({ "pattern": "a(b" }),
            "the pattern \"a(b\" is no regular expression: x",
            json!({ "pattern": "a|b" }),
        ),
        (
            json!({ "path": "~/Doc", "pattern": "x" }),
            "there is no \"~/Doc\"; list_files tells",
            json!({ "pattern": "x" }),
        ),
        (
            json!({ "glob": "x" }),
            "there is no argument `glob`; allowed are …",
            json!({}),
        ),
    ] {
        let new = repair(&turn, &failed("list_files", arguments, cause));
        assert_eq!(new.map(Value::Object), Some(mended), "{cause}");
    }
    let missing = json!({ "path": "a.md" });
    for hopeless in [
        failed("list_files", json!({}), "the disk is broken"),
        failed("read_file", missing, "there is no \"a.md\""),
    ] {
        assert_eq!(repair(&turn, &hopeless), None);
    }
}

#[test]
fn trn_11_what_matters_is_kept_and_questions_are_not() {
    for (text, kept) in [
        ("My birthday is on 4 May", true),
        ("我决定以后每天跑步，这很重要", true),
        ("我决定用蓝色的封面", true),
        ("Is my birthday important?", false),
        ("我决定用蓝色的封面吗", false),
        ("good morning", false),
        ("请记住我对花生过敏", false),
    ] {
        assert_eq!(worth_keeping(&asked(text).turn).is_some(), kept, "{text}");
    }
}
