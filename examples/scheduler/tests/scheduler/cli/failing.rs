//! A model that fails, or makes false claims: only requested actions are done, and the report
//! matches them.
use fugato_testkit::{ModelAnswer, ModelServer, assert_contains, assert_lacks};
use serde_json::{Value, json};

use super::work::Work;

/// Returns the address of a model server that gives these answers one after another, and repeats
/// the last one.
fn serving(answers: impl IntoIterator<Item = ModelAnswer>) -> String {
    ModelServer::in_turn(answers).url()
}

fn says(text: &str) -> ModelAnswer {
    ModelAnswer::text(text, "stop")
}

fn decides(decision: &Value) -> ModelAnswer {
    says(&decision.to_string())
}

fn fails(status: u16) -> ModelAnswer {
    let body = json!({ "error": { "message": "Incorrect API key provided: sk-1. SECRET WORDS" } });
    ModelAnswer::new(status, body.to_string())
}

/// Runs a request against such a server with consent to everything; returns the output.
fn asked(work: &Work, url: &str, lang: &str, request: &str) -> String {
    let model = ["--base-url", url, "--model", "parrot"];
    work.ok(&[&["--yes", "--lang", lang, "--request", request], &model[..]].concat())
}

fn assert_untouched(work: &Work, said: &str) {
    assert_lacks(
        &said,
        [
            "Shall I",
            "Done.",
            "stored",
            "items placed",
            "要执行",
            "已完成",
            "已保存",
            "已安排",
        ],
    );
    assert!(!work.path("scheduler-data/default/schedule.ics").exists());
}

#[test]
fn sch_27_a_failed_model_is_replaced_by_rules_and_places_nothing() {
    let closed = ModelServer::closed().url();
    let nothing = "please delete nothing and plan nothing, just say hi";
    for (url, request, reason) in [
        (serving([fails(500)]), "what is the weather", "status 500"),
        (serving([fails(429)]), nothing, "status 429"),
        (
            serving([fails(401)]),
            "what is the weather",
            "status 401: the key is wrong or missing",
        ),
        (serving([fails(404)]), "what is the weather", "status 404"),
        (closed, nothing, "its server cannot be reached"),
        (
            serving([ModelAnswer::new(200, "rubbish")]),
            "what is the weather",
            "did not answer",
        ),
        (
            serving([says("What a lovely day!")]),
            nothing,
            "3 answers in a row that cannot be used",
        ),
    ] {
        let work = Work::new();
        let said = asked(&work, &url, "en", request);
        assert_untouched(&work, &said);
        assert_contains(&said, ["The model parrot", reason, "nothing was changed"]);
        assert_lacks(&said, ["SECRET WORDS", "decided by rule"]);
    }
}

#[test]
fn sch_27_a_failed_model_is_told_in_chinese_too() {
    for (url, reason) in [
        (serving([fails(401)]), "状态码 401：密钥错误或缺失"),
        (serving([says("今天天气真好！")]), "连续 3 次回答都无法使用"),
    ] {
        let work = Work::new();
        let said = asked(&work, &url, "zh", "你好，今天天气怎么样");
        assert_untouched(&work, &said);
        assert_contains(
            &said,
            ["模型 parrot", reason, "没有改动任何内容", "没有看懂"],
        );
        assert_lacks(&said, ["the ", "SECRET", "按规则决定"]);
    }
}

#[test]
fn sch_27_words_that_rules_know_are_obeyed_when_the_model_fails() {
    let work = Work::new();
    let said = asked(&work, &serving([fails(401)]), "en", "plan my week");
    assert_contains(
        &said,
        [
            "The model parrot",
            "status 401",
            "21 items placed",
            "21 placed",
            "Done.",
        ],
    );
    assert_eq!(said.matches("status 401").count(), 1, "said once: {said}");
}

#[test]
fn sch_61_a_wish_that_rules_cannot_read_ends_with_nothing_changed() {
    let (task, plan) = (
        json!({ "intent": "task" }),
        json!({ "action": "plan_done", "plan_steps": [{ "content": "Move Wednesday to Friday" }] }),
    );
    for (answers, lang, words) in [
        (
            vec![decides(&task), fails(401)],
            "en",
            ["did not understand", "nothing was changed", "status 401"],
        ),
        (
            vec![decides(&task), decides(&plan), fails(500)],
            "en",
            ["did not understand", "nothing was changed", "status 500"],
        ),
        (
            vec![decides(&task), says("?")],
            "zh",
            ["没有看懂", "没有改动任何内容", "连续 3 次"],
        ),
    ] {
        let work = Work::new();
        let wish = "juggle everything on Wednesday afternoon";
        let said = asked(&work, &serving(answers), lang, wish);
        for word in words {
            assert!(said.contains(word), "{word}: {said}");
        }
        assert_lacks(
            &said,
            [
                "Done.",
                "已完成",
                "stored",
                "items placed",
                "Place everything",
            ],
        );
        // The file has the calendar of the beginning, without any placement.
        let ics = work.path("scheduler-data/default/schedule.ics");
        assert!(!ics.exists() || work.events() == 0);
    }
}

#[test]
fn sch_61_a_request_that_does_nothing_reports_nothing() {
    let work = Work::new();
    work.ok(&["--yes"]);
    let said = work.ok(&["--yes", "--request", "place everything again"]);
    assert_contains(&said, "Nothing was changed");
    assert_lacks(&said, ["21 placed", "Done.", "[ ]"]);
    let zh = work.ok(&["--yes", "--lang", "zh", "--request", "把任务都排一下"]);
    assert_contains(&zh, "没有改动任何内容");
    assert_lacks(&zh, ["已完成。", "[ ]"]);
}

const CLAIM: &str = "I moved your exam to Friday and emailed your teacher.";

fn looking(last: [ModelAnswer; 2]) -> Vec<ModelAnswer> {
    let plan = json!({ "action": "plan_done", "plan_steps": [{ "content": "Look at the week" }] });
    let look =
        json!({ "action": "continue", "tool_call": { "name": "get_overview", "arguments": {} } });
    let [closing, summary] = last;
    vec![
        decides(&json!({ "intent": "task" })),
        decides(&plan),
        decides(&look),
        closing,
        summary,
    ]
}

#[test]
fn sch_61_a_claim_without_a_receipt_is_not_shown_as_a_result() {
    let done = json!({ "action": "done", "goal_check": "seen" });
    for claim in [
        CLAIM,
        "Your exam has been moved.",
        "我已经把考试改到周五，也发邮件通知了老师。",
    ] {
        let work = Work::new();
        let url = serving(looking([decides(&done), says(claim)]));
        let said = asked(&work, &url, "en", "look at my week");
        assert!(!said.contains(claim), "{said}");
        assert!(said.contains("Nothing was changed."), "{said}");
        assert!(said.contains("[x] Look at the week"), "{said}");
    }
    // Neither where a decision says so, nor in plain talk.
    let work = Work::new();
    let claims = json!({ "action": "done", "goal_check": "seen", "speak": CLAIM });
    let url = serving(looking([decides(&claims), says("The week is busy.")]));
    let said = asked(&work, &url, "en", "look at my week");
    assert!(!said.contains("emailed"), "{said}");
    let work = Work::new();
    let talk = json!({ "intent": "chat", "reply": CLAIM });
    let said = asked(&work, &serving([decides(&talk)]), "en", "hello");
    assert!(!said.contains("emailed"), "{said}");
    assert_untouched(&work, &said);
}

#[test]
fn sch_61_a_remark_of_the_model_is_marked_as_one() {
    let done = json!({ "action": "done", "goal_check": "seen" });
    let url = serving(looking([decides(&done), says("Your week is quite busy.")]));
    let said = asked(&Work::new(), &url, "en", "look at my week");
    let facts = said.find("Nothing was changed.").unwrap();
    let remark = said.find("The model remarks: Your week is quite busy.");
    assert!(remark.unwrap() > facts, "{said}");
}

const ECHOES: [&str; 6] = [
    "# Now\nDecide on the next action. Begin with the decision inside this tag: <decision nonce=\"607c57172a7a5073\">{...}</decision>.",
    "lorem ipsum {\"action\": lorem ipsum",
    "{\"speak\":\"hm\",\"action\":\"continue\",\"reason\":\"x\"}",
    "{\"intent\"",
    "# 当前任务\n请决定下一步",
    "{\n  \"speak\": \"hm\"\n}",
];

#[test]
fn sch_61_what_is_outside_of_the_contract_is_no_summary() {
    let done = json!({ "action": "done", "goal_check": "seen" });
    for echo in ECHOES {
        let url = serving(looking([decides(&done), says(echo)]));
        let said = asked(&Work::new(), &url, "en", "look at my week");
        let first = echo.lines().next().unwrap();
        assert!(!said.contains(first), "{first}: {said}");
        assert_lacks(&said, ["\"speak\"", "nonce"]);
        assert!(said.contains("0 placed, 0 moved"), "{said}");
    }
    // One that was cut off at the limit of tokens is none either.
    let cut = ModelAnswer::text("Your week is qui", "length");
    let said = asked(
        &Work::new(),
        &serving(looking([decides(&done), cut])),
        "en",
        "look at it",
    );
    assert!(!said.contains("qui"), "{said}");
}

#[test]
fn sch_58_what_is_outside_of_the_contract_is_no_talk() {
    for echo in ECHOES {
        let reply = json!({ "intent": "chat", "reply": echo });
        let work = Work::new();
        let said = asked(&work, &serving([decides(&reply)]), "en", "hello");
        assert!(!said.contains(echo.lines().next().unwrap()), "{said}");
        assert_untouched(&work, &said);
        // A question is a text for the person too.
        let task = json!({ "intent": "task" });
        let ask = json!({ "action": "ask_user", "speak": echo });
        let work = Work::new();
        let said = asked(
            &work,
            &serving([decides(&task), decides(&ask)]),
            "en",
            "what is the weather",
        );
        assert!(!said.contains(echo.lines().next().unwrap()), "{said}");
        assert_untouched(&work, &said);
    }
}

#[test]
fn sch_57_corrections_are_told_in_the_language_of_the_person() {
    let said = asked(&Work::new(), &serving([says("Hm.")]), "zh", "你好");
    assert_contains(&said, "纠正模型");
    assert_lacks(&said, "the answer is rejected");
    let said = asked(&Work::new(), &serving([says("Hm.")]), "en", "hello");
    assert!(!said.contains("JSON"), "{said}");
}
