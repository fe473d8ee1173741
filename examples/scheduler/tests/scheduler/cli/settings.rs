//! Tests that the settings of the command line reach the agent.
use std::sync::{Arc, Mutex};

use fugato_testkit::{
    ModelAnswer, ModelServer, assert_contains, assert_lacks, check_chinese_refusals,
    check_wrong_lines,
};
use serde_json::{Value, json};

use super::work::Work;

type Bodies = Arc<Mutex<Vec<Value>>>;

/// A server that decides by the words of the request, and keeps the requests.
fn server(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> (String, Bodies) {
    let bodies = Bodies::default();
    let kept = bodies.clone();
    let server = ModelServer::deciding(move |body| {
        kept.lock().unwrap().push(body.clone());
        ModelAnswer::text(&answer(&body.to_string()), "stop")
    });
    (server.url(), bodies)
}

fn nonce(body: &str) -> &str {
    let (_, after) = body.split_once("nonce=\\\"").expect("a tag with a nonce");
    after.split('\\').next().expect("its end")
}

#[test]
fn sch_28_five_routes_are_chosen_by_a_flag() {
    let route = |body: &str| {
        let nonce = nonce(body);
        format!("<route nonce=\"{nonce}\" to=\"direct_reply\"/>Hello to you, too.")
    };
    let (url, bodies) = server(route);
    let work = Work::new();
    let model = ["--base-url", url.as_str(), "--model", "m"];
    let said = work.ok(&[&model[..], &["--request", "hello", "--routes", "five"]].concat());
    assert_contains(&said, "Hello to you, too.");
    assert_contains(&bodies.lock().unwrap()[0].to_string(), "deep_answer");
    let wrong = work.err(&["--routes", "six"]);
    assert_contains(&wrong, ["two", "five"]);
}

#[test]
fn sch_34_the_stages_of_a_model_are_set_by_flags() {
    let (url, bodies) = server(|_| json!({ "intent": "chat", "reply": "Hi." }).to_string());
    let work = Work::new();
    let model = ["--base-url", url.as_str(), "--model", "m"];
    let stages = [
        "--stage=chat.temperature=0.25",
        "--stage=chat.max_tokens=77",
    ];
    work.ok(&[&model[..], &["--request", "hello"], &stages].concat());
    let first = bodies.lock().unwrap()[0].clone();
    assert_eq!(first["temperature"], 0.25, "{first}");
    assert!(first.to_string().contains("77"), "{first}");
    let wrong = work.err(&["--stage", "chat.heat=1"]);
    assert_contains(&wrong, ["chat.heat=1", "allowed are STAGE.temperature"]);
}

#[test]
fn sch_8_the_rounds_of_a_request_are_set_by_a_flag() {
    let rounds = |flags: &[&str]| {
        let decide = |body: &str| {
            if body.contains("\\\"intent\\\"") {
                return json!({ "intent": "task" }).to_string();
            }
            let step = json!({ "content": "look", "done_when": "seen" });
            if body.contains("plan_done") {
                return json!({ "action": "plan_done", "speak": "A plan.", "plan_steps": [step] })
                    .to_string();
            }
            let call = json!({ "name": "get_overview", "arguments": {} });
            json!({ "action": "continue", "tool_call": call }).to_string()
        };
        let (url, bodies) = server(decide);
        let work = Work::new();
        let model = ["--base-url", url.as_str(), "--model", "m"];
        let said = work.ok(&[&model[..], &["--yes", "--request", "look at it"], flags].concat());
        assert_contains(&said, "I have used all the rounds I had");
        let bodies = bodies.lock().unwrap();
        bodies
            .iter()
            .filter(|body| body.to_string().contains("get_overview"))
            .count()
    };
    assert!(rounds(&["--max-rounds", "2"]) < rounds(&["--max-rounds", "5"]));
    let wrong = Work::new().err(&["--max-rounds", "0"]);
    assert_contains(&wrong, "1..=1000");
}

#[test]
fn sch_121_a_text_that_is_typed_is_the_same_text() {
    let typed = Work::new().ok(&["say", "hello", "--typing"]);
    let plain = Work::new().ok(&["say", "hello"]);
    assert_eq!(typed, plain);
    assert_lacks(&typed, "error");
}

#[test]
fn sch_132_the_models_of_the_stages_are_set_by_flags() {
    let (url, bodies) = server(|_| json!({ "intent": "chat", "reply": "Hi." }).to_string());
    let work = Work::new();
    let model = ["--base-url", url.as_str(), "--model", "m"];
    let also = ["--also-model", "small", "--request", "hello"];
    let stage = ["--stage", "chat.model=small"];
    work.ok(&[&model[..], &also, &stage].concat());
    assert_eq!(bodies.lock().unwrap()[0]["model"], "small");
    let wrong = ["--stage", "plan.model=huge"];
    let wrong = work.err(&[&model[..], &also, &wrong].concat());
    assert_contains(&wrong, ["huge", "allowed are m, small"]);
    let alone = work.err(&["--also-model", "small"]);
    assert_contains(&alone, "--model");
}

#[test]
fn sch_62_a_command_lists_what_was_kept() {
    let work = Work::new();
    assert_contains(
        &work.ok(&["--notes"]),
        "There are no reminders, to-dos or notes.",
    );
    work.ok(&["--request", "make a note: the bakery closes at six"]);
    work.ok(&["--request", "加个待办：买牛奶"]);
    let listed = work.ok(&["--notes", "--lang", "en"]);
    assert_contains(&listed, ["note: the bakery closes at six", "to do: 买牛奶"]);
    assert_contains(&work.ok(&["--notes", "--lang", "zh"]), "待办：买牛奶");
    assert_contains(&work.err(&["--notes", "--yes"]), "--yes");
}

/// A line that cannot be read is refused in the language of the person.
#[test]
fn a_wrong_command_line_is_told_in_the_language_of_the_person() {
    check_wrong_lines(
        &Work::new(),
        &[
            (&["--routes", "six"], &["six", "two", "five"]),
            (
                &["--stage", "chat.heat=1"],
                &["chat.heat=1", "STAGE.temperature"],
            ),
            (
                &["--undo-import", "--tasks", "a"],
                &["--undo-import", "--tasks"],
            ),
            (&["serve", "--evening", "late"], &["late", "21:00"]),
            (&["--calendar", "a b"], &["a b", "`_`"]),
        ],
    );
}

/// Refusals of the command line are in Chinese in a Chinese conversation.
#[test]
fn what_the_command_line_refuses_is_told_in_the_language_of_the_person() {
    check_chinese_refusals(&Work::new());
}
