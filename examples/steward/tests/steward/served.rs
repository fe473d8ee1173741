//! The rows of the requirements through the program as it is served: from words and actions over
//! HTTP to documents, through the death of a process, and with models that misbehave.
use std::collections::BTreeSet;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use fugato::cli::Lang;
use fugato_testkit::{
    ModelAnswer, ModelServer, Server, TestProgram, assert_contains, check_chinese_refusals,
    check_hint, check_names, check_patience, check_reading, check_stock_client, check_wrong_lines,
    language::foreign, share,
};
use serde_json::{Value, json};

use steward::action;

use crate::common::{TODAY, TRIP, of, trip};

struct ProgramServer {
    program: TestProgram,
    args: Vec<String>,
    server: Server,
}

impl ProgramServer {
    fn new(flags: &[&str]) -> Self {
        Self::of(TestProgram::new(env!("CARGO_BIN_EXE_steward")), flags)
    }

    fn of(program: TestProgram, flags: &[&str]) -> Self {
        let args = [flags, &["serve", "--listen", "127.0.0.1:0"]].concat();
        let server = program.server(&args);
        let args = args.into_iter().map(str::to_owned).collect();
        Self {
            program,
            args,
            server,
        }
    }

    /// The process is killed, and another one takes its place.
    fn restart(self) -> Self {
        let Self {
            program,
            args,
            server,
        } = self;
        drop(server);
        let flags: Vec<_> = args.iter().map(String::as_str).collect();
        let server = program.server(&flags);
        Self {
            program,
            args,
            server,
        }
    }

    async fn send(&self, request: (&str, &str), body: &Value) -> (u16, Value) {
        self.spoken("en", request, body).await
    }

    /// Sends a request of a client with this language.
    async fn spoken(&self, lang: &str, request: (&str, &str), body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let headers = [("accept-language", lang.to_owned())];
        let came = Server::ask(self.server.address(), request, &headers, &body).await;
        let (status, text) = came.unwrap();
        (
            status,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }

    async fn get(&self, path: &str) -> Value {
        self.send(("GET", path), &Value::Null).await.1
    }

    async fn post(&self, path: &str, mut body: Value) -> (u16, Value) {
        body["conversation_id"] = json!("c1");
        self.send(("POST", &format!("/steward/{path}")), &body)
            .await
    }

    async fn says(&self, path: &str, message: &str) -> Value {
        let (status, answer) = self.post(path, said(message)).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    async fn does(&self, body: Value) -> Value {
        let (status, answer) = self.post("actions/execute", body).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Requests an action, and agrees to its card.
    async fn writes(&self, trace: &str, action: &str, arguments: &Value) -> Value {
        let body = action_of(trace, action, arguments);
        let waits = self.does(body.clone()).await;
        assert_eq!(waits["outcome"], "needs_confirmation", "{waits}");
        let done = self.does(answered(body, &waits, true)).await;
        assert_eq!(done["outcome"], "succeeded", "{done}");
        done["action_result"]["data"]["document"].clone()
    }
}

fn said(message: &str) -> Value {
    json!({ "message": message, "base_date": TODAY })
}

fn action_of(trace: &str, action: &str, arguments: &Value) -> Value {
    json!({ "client_trace_id": trace, "action": action, "arguments": arguments, "base_date": TODAY })
}

/// Returns a request with the answer to the card of an earlier one.
fn answered(mut body: Value, waits: &Value, approved: bool) -> Value {
    let card = &waits["pending_interrupt"];
    body["confirmation"] =
        json!({ "interrupt_id": card["id"], "digest": card["digest"], "approved": approved });
    body
}

fn actions(steps: &Value) -> Vec<&str> {
    let steps = steps.as_array().into_iter().flatten();
    steps.filter_map(|step| step["action"].as_str()).collect()
}

/// Words become plans, fields and decisions, on either path alike.
#[tokio::test]
async fn stw_served_words_become_plans_fields_and_decisions() {
    let mut slots = vec![];
    for (switch, runtime) in [("langgraph", "graph"), ("legacy", "legacy")] {
        let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
        let served = ProgramServer::of(program.env("STEWARD_AGENT_RUNTIME", switch), &[]);
        let plan = served
            .says("plans", "申请 出差\u{0}去上海拜访客户，交通火车")
            .await;
        assert_eq!(plan["runtime"], runtime, "{plan}");
        assert_eq!(plan["planning_source"], "rule");
        assert_eq!(plan["fallback_reason"], "没有模型");
        assert_eq!(plan["tasks"][0]["fields"]["reason"], "拜访客户");
        let missing = json!(["start_date", "end_date", "estimated_amount"]);
        assert_eq!(plan["missing_fields"], missing);
        let submit = [
            "fill_application_fields",
            "build_application_preview",
            "validate_required_fields",
            "run_duplicate_precheck",
            "submit_application",
        ];
        assert_eq!(actions(&plan["action_steps"]), submit);
        assert_eq!(actions(&plan["tasks"][0]["action_steps"]), submit);
        let decided = served.says("slot-decisions", "预算1200元").await;
        slots.push(decided["slot_decision"].clone());
        let decided = served
            .says("runtime-decisions", "3月2日到3月5日，预算1200元")
            .await;
        assert_eq!(decided["runtime_decision"]["decision"], "supplement");
        let fields = &decided["steward_state"]["tasks"][0]["fields"];
        assert_eq!(fields["end_date"], "2026-03-05", "{decided}");
        let kept = served.get("/threads/c1/state").await;
        assert_eq!(kept["state"]["steward_state"], decided["steward_state"]);
        let doubt = served
            .says("plans", "3月2日到3月5日出差上海的费用1200元")
            .await;
        assert_eq!(doubt["pending_interrupt"], Value::Null);
        let other = served.says("plans", "今天天气怎么样？").await;
        assert_eq!(other["off_topic"], true, "{other}");
        // A single request chooses its path before all do.
        let mut chosen = said(TRIP);
        chosen["runtime"] = json!("legacy");
        assert_eq!(served.post("plans", chosen).await.1["runtime"], "legacy");
        if runtime == "graph" {
            let told = served.program.ok(&["--thread", "c1", "trace"]);
            assert_contains(
                &told,
                [
                    "prepare_context",
                    "detect_model_intent",
                    "rule_fallback",
                    "attach_action_steps",
                    "slot_prepare_context",
                    "slot_tool_decision",
                    "runtime_memory_context",
                    "runtime_action_decision",
                    "flow_guard",
                    "response_adapter",
                ],
            );
        }
    }
    assert_eq!(slots[0], slots[1]);
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let program = program.env("STEWARD_AGENT_RUNTIME", "banana");
    assert_contains(&program.err(&["say", TRIP]), "graph, langgraph and legacy");
}

/// Amounts are read in words, and days of a month near this one, as people write them.
#[tokio::test]
async fn stw_served_amounts_in_words_and_days_of_next_month_are_read() {
    let served = ProgramServer::new(&[]);
    for (nth, (words, form, expected)) in [
        ("报销打车费四百二十块，2月20日，事由机场接人", "amount", json!([420, "CNY"])),
        ("报销住宿费一千二百元五角，2月20日，事由培训", "amount", json!([1200.5, "CNY"])),
        ("报销午饭八十六块五，2月20日，事由请客户", "amount", json!([86.5, "CNY"])),
        ("报销酒店叁佰贰拾元整，2月20日，事由培训", "amount", json!([320, "CNY"])),
        ("报销打车费两三百元，2月20日，事由机场接人", "amount", json!([null, null])),
        ("Reimburse my taxi, twenty-three dollars, February 20, reason airport", "amount", json!([23, "USD"])),
        ("Reimburse the dinner of a hundred and five euro on February 20, reason guests", "amount", json!([105, "EUR"])),
        ("Reimburse a hotel for several hundred dollars on February 20, reason fair", "amount", json!([null, null])),
        ("申请出差：下个月3号到6号去上海拜访客户，坐火车，预算两万元", "estimated_amount", json!([20000, "CNY"])),
        ("申请出差：下个月的3到6号去上海拜访客户，坐火车，预算1万2千", "estimated_amount", json!([12000, null])),
        ("Apply for a business trip to Oslo from the 3rd to the 6th of next month, by train, budget two thousand dollars, reason fair", "estimated_amount", json!([2000, "USD"])),
        ("Apply for a business trip to Oslo, next month from the 3rd to the 6th, by train, budget fifteen hundred, reason fair", "estimated_amount", json!([1500, null])),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = said(words);
        body["conversation_id"] = json!(format!("w{nth}"));
        let (_, plan) = served.send(("POST", "/steward/plans"), &body).await;
        let fields = &plan["tasks"][0]["fields"];
        let read = json!([fields[form], fields["currency"]]);
        let whole = |value: &Value| value.as_f64();
        assert_eq!(whole(&read[0]), whole(&expected[0]), "{words}: {plan}");
        assert!(expected[1].is_null() || read[1] == expected[1], "{words}: {plan}");
        if form == "estimated_amount" {
            let days = json!([fields["start_date"], fields["end_date"]]);
            assert_eq!(days, json!(["2026-03-03", "2026-03-06"]), "{words}: {plan}");
        }
    }
    // The answer to a question for the amount is read, too.
    let mut body = json!({ "conversation_id": "w", "base_date": TODAY });
    for (path, words) in [
        ("/steward/plans", "报销打车费，2月20日，事由接人"),
        ("/steward/runtime-decisions", "四百二十块"),
    ] {
        body["message"] = json!(words);
        let (_, plan) = served.send(("POST", path), &body).await;
        let amount = &plan["steward_state"]["tasks"][0]["fields"]["amount"];
        assert_eq!(
            amount.as_f64(),
            (words == "四百二十块").then_some(420.0),
            "{plan}"
        );
    }
}

/// A question begins nothing, and no reason is made of an amount or of a word that stands for what
/// was said before.
#[tokio::test]
async fn stw_served_questions_begin_nothing_and_reasons_are_what_was_said() {
    let served = ProgramServer::new(&[]);
    let told = async |nth: usize, words: &str| {
        let mut body = said(words);
        body["conversation_id"] = json!(format!("q{nth}"));
        served.send(("POST", "/steward/plans"), &body).await.1
    };
    for (nth, (words, part)) in [
        ("Who signs off my travel?", "do not know who approves"),
        ("出差报销要找谁签字？", "不知道由谁审批"),
        ("do I have open expense claims", "no documents"),
        ("我今年一共报销了多少？", "没有报销的金额"),
        ("When is my application decided?", "I can help with"),
        ("How much did my last trip cost?", "no documents"),
        ("有没有还没处理的出差", "我可以帮你"),
    ]
    .into_iter()
    .enumerate()
    {
        let plan = told(nth, words).await;
        assert_eq!(plan["tasks"], json!([]), "{words}: {plan}");
        assert_contains(&plan["reply"], part);
    }
    for (nth, (words, reason)) in [
        ("报销昨天的午饭两百零五元", json!("午饭")),
        ("报销打车费十二块五，2月20日", json!("打车费")),
        (
            "Reimburse the client dinner a hundred and five euro of February 20",
            json!("client dinner"),
        ),
        (
            "I spent 42 euros on a cab on February 20, please reimburse it",
            Value::Null,
        ),
        (
            "Can you apply for a trip to Oslo, what do you need?",
            Value::Null,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let plan = told(20 + nth, words).await;
        assert!(plan["tasks"][0].is_object(), "{words}: {plan}");
        assert_eq!(
            plan["tasks"][0]["fields"]["reason"], reason,
            "{words}: {plan}"
        );
    }
}

/// An action is carried out after its check and its consent, once, also if the process dies while
/// it waits.
#[tokio::test]
async fn stw_served_actions_are_checked_agreed_to_and_done_once() {
    let served = ProgramServer::new(&[]);
    let unknown = served.does(action_of("x1", "pay_everybody", &trip())).await;
    assert_eq!(unknown["outcome"], "rejected", "{unknown}");
    let (_, allowed) = unknown["message"]
        .as_str()
        .unwrap()
        .split_once("allowed are ")
        .unwrap();
    assert_eq!(allowed.split(", ").count(), 13, "{unknown}");
    let mut part = trip();
    part["transport"].take();
    let missing = served
        .does(action_of("x2", "save_application_draft", &part))
        .await;
    assert_eq!(missing["outcome"], "blocked", "{missing}");
    let submit = action_of("p1", "submit_application", &trip());
    let unchecked = served.does(submit.clone()).await;
    assert_eq!(unchecked["outcome"], "blocked", "{unchecked}");
    let check = action_of("p2", "run_duplicate_precheck", &of("application", &trip()));
    let checked = served.does(check).await;
    assert_eq!(checked["outcome"], "succeeded", "{checked}");
    let mut forged = action_of("p3", "submit_application", &trip());
    forged["precheck_ref"] = json!("passed");
    assert_eq!(served.does(forged).await["outcome"], "blocked");
    let declined = action_of("p4", "save_application_draft", &trip());
    let waits = served.does(declined.clone()).await;
    let no = served.does(answered(declined.clone(), &waits, false)).await;
    assert_eq!(no["outcome"], "cancelled", "{no}");
    assert_eq!(served.does(declined).await["outcome"], "cancelled");

    let mut submit = action_of("p2", "submit_application", &trip());
    submit["precheck_ref"] = checked["action_result"]["data"]["precheck_ref"].clone();
    let waits = served.does(submit.clone()).await;
    assert_eq!(waits["outcome"], "needs_confirmation", "{waits}");
    assert_eq!(
        served.get("/steward/documents").await["applications"],
        json!([])
    );
    let served = served.restart();
    let view = served.get("/threads/c1").await;
    assert_eq!(
        view["interrupts"][0]["id"],
        waits["pending_interrupt"]["id"]
    );
    let yes = answered(submit.clone(), &waits, true);
    let done = served.does(yes.clone()).await;
    assert_eq!(done["action_result"]["data"]["document"], "A-1", "{done}");
    for repeat in [yes, submit.clone()] {
        assert_eq!(
            served.does(repeat).await["action_result"],
            done["action_result"]
        );
    }
    submit["arguments"]["destination"] = json!("北京");
    let (status, changed) = served.post("actions/execute", submit).await;
    assert_eq!(
        (status, &changed["error"]["type"]),
        (422, &json!("request_changed"))
    );
    let again = action_of("p5", "run_duplicate_precheck", &of("application", &trip()));
    assert_eq!(served.does(again).await["outcome"], "blocked");

    // A claim with its file, linked, and one more file.
    for name in ["receipt.pdf", "more.pdf"] {
        let content = BASE64_STANDARD.encode(format!("%PDF-1.4 {name}"));
        let file = json!({ "name": name, "content": content });
        assert_eq!(served.post("attachments", file).await.0, 200);
    }
    let claim = json!({
        "expense_date": "2026-02-20", "category": "transport", "amount": 86.5,
        "reason": "taxi", "attachments": ["receipt.pdf"],
    });
    let link = json!({ "reimbursement": "R-1", "application": "A-1" });
    let more = json!({ "reimbursement": "R-1", "attachments": ["more.pdf"] });
    for (trace, action, arguments) in [
        ("r1", "create_reimbursement_draft", &claim),
        ("r2", "link_existing_application", &link),
        ("r3", "associate_attachments", &more),
    ] {
        assert_eq!(served.writes(trace, action, arguments).await, "R-1");
    }
    let documents = served.get("/steward/documents").await;
    let claimed = &documents["reimbursements"][0]["fields"];
    assert_eq!(claimed["application"], "A-1", "{documents}");
    assert_eq!(claimed["attachments"], json!(["more.pdf", "receipt.pdf"]));
    let told = served.program.ok(&["--thread", "c1", "trace"]);
    for node in [
        "prepare_context",
        "action_plan",
        "human_review",
        "action_checkpoint_load",
        "action_execute_node",
        "action_checkpoint_persist",
        "persist_state",
        "response_adapter",
    ] {
        assert_contains(&told, node);
    }
}

/// Returns the answer of a model that calls a function.
fn calls(name: &str, arguments: &Value) -> ModelAnswer {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": "call-1", "type": "function", "function": function });
    let delta = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    ModelAnswer::new(
        200,
        format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n"),
    )
}

/// A model understands, its backup answers for it at once, and what misbehaves writes nothing and
/// is said.
#[tokio::test]
async fn stw_served_models_understand_and_never_agree() {
    let mut fields = trip();
    fields["reason"] = json!("拜访客户交通火车");
    let plan = json!({ "off_topic": false, "tasks": [{ "form": "application", "goal": "draft", "fields": fields }] });
    let well = ModelServer::deciding(move |_| calls("plan_expense_tasks", &plan));
    let down = ModelServer::closed();
    for (main, outcome) in [(&well, "main_succeeded"), (&down, "backup_succeeded")] {
        let (main, backup) = (main.url(), well.url());
        let served = ProgramServer::new(&[
            "--base-url",
            &main,
            "--model",
            "main",
            "--backup-base-url",
            &backup,
            "--backup-model",
            "backup",
        ]);
        let plan = served.says("plans", "下周的差旅帮我先留个底").await;
        assert_eq!(plan["planning_source"], "llm_function_call", "{plan}");
        assert_eq!(plan["model_call_traces"][0]["outcome"], outcome, "{plan}");
        assert_eq!(plan["tasks"][0]["fields"], trip(), "the reason is clean");
        let steps = actions(&plan["action_steps"]);
        assert_eq!(steps.last(), Some(&"save_application_draft"));
        // What is certain is decided without it.
        let decided = served.says("runtime-decisions", "继续").await;
        assert_eq!(decided["planning_source"], "rule", "{decided}");
        assert_eq!(decided["model_call_traces"], json!([]), "{decided}");
        let answer = served.get("/threads/c1/history").await.to_string();
        assert!(!answer.contains("Bearer"), "no key is in the log");
    }
    // A model that names steps, agrees, babbles, or answers in another form.
    let eager =
        json!({ "decision": "confirm", "approve": true, "actions": ["submit_application"] });
    let foreign = "<function=plan_expense_tasks><parameter=tasks>…</parameter></function>";
    for answer in [
        calls("decide_next", &eager),
        calls("submit_application", &trip()),
        ModelAnswer::text("Done! Your trip A-1 is submitted and approved.", "stop"),
        ModelAnswer::text(foreign, "stop"),
        ModelAnswer::text("{\"off_topic\": fal", "length"),
    ] {
        let model = ModelServer::deciding(move |_| answer.clone());
        let url = model.url();
        let served = ProgramServer::new(&["--base-url", &url, "--model", "m"]);
        let plan = served.says("plans", TRIP).await;
        assert_eq!(plan["planning_source"], "rule", "{plan}");
        assert!(plan["fallback_reason"].is_string(), "{plan}");
        assert_eq!(plan["tasks"][0]["fields"], trip());
        let run = json!({ "text": TRIP, "extra": { "base_date": TODAY } });
        served.send(("POST", "/threads/c2/runs"), &run).await;
        let words = json!({ "text": "嗯，就按你说的来吧", "extra": { "base_date": TODAY } });
        served.send(("POST", "/threads/c2/runs"), &words).await;
        assert_eq!(
            served.get("/steward/documents").await["applications"],
            json!([])
        );
        let view = served.get("/threads/c2").await;
        let shown = view["timeline"].to_string();
        assert!(!shown.contains("approved"), "{shown}");
    }
}

/// Returns requests that are refused or checked, each with its path.
fn refused_requests() -> Vec<(&'static str, Value)> {
    let execute = "/steward/actions/execute";
    let act = |trace: &str, action: &str, arguments: Value| {
        let mut body = action_of(trace, action, &arguments);
        body["conversation_id"] = json!(format!("c-{trace}"));
        body
    };
    let changed = |field: &str, value: Value| {
        let mut fields = trip();
        fields[field] = value;
        fields
    };
    let claim = json!({
        "expense_date": "2026-02-20", "category": "transport", "amount": 86.5,
        "reason": "86", "attachments": ["none.pdf"],
    });
    let link = json!({ "reimbursement": "R-77", "application": "A-88" });
    let mut unchecked = act("x6", "submit_application", trip());
    unchecked["precheck_ref"] = json!("p");
    let upload = |name: &str, content: &str| json!({ "conversation_id": "c1", "name": name, "content": content });
    vec![
        (execute, act("x1", "pay_everybody", trip())),
        (
            execute,
            act(
                "x2",
                "save_application_draft",
                changed("transport", json!(null)),
            ),
        ),
        (
            execute,
            act(
                "x3",
                "save_application_draft",
                changed("transport", json!("rocket")),
            ),
        ),
        (
            execute,
            act(
                "x4",
                "save_application_draft",
                changed("estimated_amount", json!(1e9)),
            ),
        ),
        (execute, act("x5", "submit_application", trip())),
        (execute, unchecked),
        (execute, act("x7", "create_reimbursement_draft", claim)),
        (execute, act("x8", "link_existing_application", link)),
        (
            execute,
            act("x9", "withdraw_document", json!({ "document": "A-9" })),
        ),
        (
            execute,
            act("x10", "run_duplicate_precheck", json!({ "form": "link" })),
        ),
        (execute, act("x11", "run_duplicate_precheck", json!({}))),
        (execute, act("", "save_application_draft", trip())),
        (execute, json!({ "conversation_id": "c1" })),
        ("/steward/plans", json!({ "conversation_id": "c1" })),
        ("/steward/plans", json!({ "message": "1" })),
        (
            "/steward/plans",
            json!({ "conversation_id": "c1", "message": "1", "lang": "fr" }),
        ),
        (
            "/steward/plans",
            json!({ "conversation_id": "c1", "message": "1", "runtime": "x" }),
        ),
        (
            "/steward/plans",
            json!({ "conversation_id": "c1", "message": "1", "base_date": "soon" }),
        ),
        ("/steward/attachments", upload("r.pdf", "?")),
        ("/steward/attachments", upload("r.pdf", "AAAA")),
        ("/steward/attachments", upload("../r.pdf", "AAAA")),
        ("/steward/attachments", upload("r.pdf", "")),
    ]
}

/// The result of an action or an upload is told in the language of the client, and a card is whole
/// in that of its conversation.
#[tokio::test]
async fn stw_served_every_door_speaks_the_language_of_its_client() {
    let served = ProgramServer::new(&[]);
    for (path, body) in refused_requests() {
        for (name, lang) in [("en-GB,en;q=0.9", Lang::En), ("zh-CN", Lang::Zh)] {
            let mut body = body.clone();
            if let Some(id) = body["conversation_id"].as_str() {
                body["conversation_id"] = json!(format!("{id}-{lang}"));
            }
            let (status, answer) = served.spoken(name, ("POST", path), &body).await;
            let told = [
                &answer["error"]["message"],
                &answer["message"],
                &answer["reply"],
            ];
            let told: String = told.into_iter().filter_map(Value::as_str).collect();
            assert!(!told.is_empty(), "{status} {body}: {answer}");
            assert_eq!(
                foreign(lang, &told, &body.to_string()),
                None,
                "{body}: {told}"
            );
            assert!(
                Lang::of(&told) == lang || lang == Lang::En,
                "{body}: {told}"
            );
            // Only who names an action that there is none of is told their names.
            let names = action::WHITELIST.iter().map(|action| action.name);
            let is_told = |name: &str| told.contains(name) && !told.contains("pay_everybody");
            assert_eq!(names.into_iter().find(|name| is_told(name)), None, "{told}");
        }
    }
}

/// Words that show no language leave the conversation in its own, and a card at the terminal has no
/// raw names.
#[tokio::test]
async fn stw_served_a_card_stays_in_the_language_of_its_conversation() {
    let served = ProgramServer::new(&[]);
    for words in [TRIP.trim_end_matches("，预算1200元"), "¥1200"] {
        let body = json!({ "thread": "c9", "text": words, "extra": { "base_date": TODAY } });
        served.send(("POST", "/sse/react"), &body).await;
    }
    let card = served.program.ok(&["--thread", "c9", "card"]);
    assert_eq!(foreign(Lang::Zh, &card, ""), None, "{card}");
    for raw in ["train", "transport:"] {
        assert!(!card.contains(raw), "{card}");
    }
    assert_contains(&card, "交通方式: 火车");
}

/// A person changes a card by words at the terminal, as on the page.
#[test]
fn stw_served_words_under_a_card_change_it_at_the_terminal() {
    for (lang, wish, change, shown) in [
        ("zh", TRIP, "预算改成1500元", "预计金额: 1500 CNY"),
        (
            "en",
            "Apply for a trip to Shanghai from 2054-03-02 to 2054-03-05 by train to visit a client, budget 1200 yuan",
            "make it 1500 yuan",
            "estimated amount: 1500 CNY",
        ),
    ] {
        let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
        let wish = wish.replace("3月", "2054年3月");
        program.run(&["--lang", lang, "say", &wish]);
        let told = program.run(&["--lang", lang, "say", change]).told();
        assert_contains(&told, shown);
    }
}

/// The attachments of documents are listed and copied at the command line, and overwrite nothing.
#[test]
fn stw_served_attachments_are_copied_by_a_command() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let receipt = program.path("receipt.pdf");
    std::fs::write(&receipt, "%PDF-1.4 taxi").unwrap();
    assert_contains(&program.ok(&["attachments"]), "there are no attachments");
    let words = format!(
        "Reimburse my taxi 86.50 yuan from yesterday, {}",
        receipt.display()
    );
    program.ok(&["say", "--yes", &words]);
    let listed = program.ok(&["attachments", "r-1"]);
    assert_contains(&listed, "R-1: receipt.pdf (13 B) /steward/attachments/");
    let asked = program.ok(&["say", "list my claims"]);
    let link = listed.trim().rsplit(' ').next().unwrap();
    assert_contains(&asked, link);
    let out = program.path("out");
    std::fs::create_dir(&out).unwrap();
    let to = out.display().to_string();
    program.ok(&["attachments", "--to", &to]);
    let copied = std::fs::read_to_string(out.join("receipt.pdf")).unwrap();
    assert_eq!(copied, "%PDF-1.4 taxi");
    std::fs::write(out.join("receipt.pdf"), "mine").unwrap();
    let again = program.err(&["--lang", "zh", "attachments", "--to", &to]);
    assert_contains(&again, "无法写入");
    assert_eq!(
        std::fs::read_to_string(out.join("receipt.pdf")).unwrap(),
        "mine"
    );
    assert_contains(
        &program.err(&["attachments", "R-9"]),
        "you have no document R-9",
    );
}

/// A client of OpenAI's protocol that keeps the conversation itself goes on with it: what was said
/// before counts, and what was done before is not done again.
#[tokio::test]
async fn stw_served_what_a_client_says_was_said_before_counts() {
    let served = ProgramServer::new(&[]);
    let says = async |lines: &[(&str, &str)]| {
        let messages: Vec<_> = lines
            .iter()
            .map(|(role, content)| json!({ "role": role, "content": content }))
            .collect();
        let body = json!({ "model": "steward", "messages": messages });
        let came = served.send(("POST", "/v1/chat/completions"), &body).await.1;
        let said = came["choices"][0]["message"]["content"].as_str();
        said.unwrap_or_else(|| panic!("{came}")).to_owned()
    };
    for (first, then, shown) in [
        (
            "申请出差去上海拜访客户，坐火车",
            "2054年3月2日到3月5日，预算1200元",
            ["目的地: 上海", "开始日期: 2054-03-02", "预计金额: 1200 CNY"],
        ),
        (
            "Apply for a trip to Shanghai by train to visit a client",
            "from 2054-04-02 to 2054-04-05, budget 1200 yuan",
            [
                "destination: Shanghai",
                "start date: 2054-04-02",
                "estimated amount: 1200 CNY",
            ],
        ),
    ] {
        let user = ("user", first);
        let asked = says(&[user]).await;
        let card = says(&[user, ("assistant", &asked), ("user", then)]).await;
        for line in shown {
            assert_contains(&card, line);
        }
        let yes = [
            user,
            ("assistant", asked.as_str()),
            ("user", then),
            ("assistant", card.as_str()),
            ("user", "yes"),
        ];
        let done = says(&yes).await;
        let done = [&yes[..], &[("assistant", done.as_str())]].concat();
        let more = ("user", "Reimburse my taxi 20 yuan from yesterday");
        let next = says(&[&done[..], &[more]].concat()).await;
        assert!(!next.contains("2054"), "{next}");
        let written = served.get("/steward/documents").await;
        assert_eq!(written["applications"][0]["id"], "A-1", "{done:?}");
    }
}

/// An operator who goes back to the legacy path says why, and the log of the work has it.
#[test]
fn stw_7_the_reason_of_an_operator_is_in_the_log_of_the_work() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let program = program.env("STEWARD_AGENT_RUNTIME", "legacy");
    let program = program.env(
        "STEWARD_ROLLBACK_REASON",
        "the graphs lose claims since Monday",
    );
    program.ok(&["say", TRIP]);
    let told = program.ok(&["show", "3"]);
    assert_contains(&told, "the graphs lose claims since Monday");
}

/// The trace of a request on the legacy path, from the words to the document, has its seven nodes
/// and none of the graphs; that of the same request on the graphs has none of the legacy path.
#[test]
fn stw_7_the_trace_of_the_legacy_path_shows_no_node_of_the_graphs() {
    let traced = |switch: &str| {
        let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
        let program = program.env("STEWARD_AGENT_RUNTIME", switch);
        assert_contains(&program.ok(&["say", "--yes", TRIP]), "A-1");
        let told = program.ok(&["trace"]);
        let tasks = told.lines().filter_map(|line| line.trim().split_once('#'));
        let names = tasks.map(|(node, _)| node.to_owned());
        names.collect::<BTreeSet<String>>()
    };
    let legacy = traced("legacy");
    let own = ["", "_act", "_answer", "_begin", "_keep", "_plan", "_review"];
    assert!(
        legacy.iter().eq(&own.map(|part| format!("legacy{part}"))),
        "{legacy:?}"
    );
    let graphs = traced("graph");
    assert!(graphs.len() > own.len(), "{graphs:?}");
    assert!(legacy.is_disjoint(&graphs), "{graphs:?}");
}

/// An amount that a client sends as text keeps its currency, and what is out of bounds gets no card.
#[tokio::test]
async fn stw_served_amounts_keep_their_currency_and_bounds_hold_for_pages() {
    let served = ProgramServer::new(&[]);
    let with = |field: &str, value: Value| {
        let mut fields = trip();
        fields.as_object_mut().unwrap().remove("currency");
        fields[field] = value;
        fields
    };
    let drafted = async |trace: &str, fields: &Value| {
        let body = action_of(trace, "save_application_draft", fields);
        let body = json!({ "conversation_id": trace, "client_trace_id": trace, "base_date": TODAY, "action": body["action"], "arguments": fields });
        served
            .send(("POST", "/steward/actions/execute"), &body)
            .await
            .1
    };
    let dollars = drafted("d1", &with("estimated_amount", json!("100 USD"))).await;
    let asked = &dollars["pending_interrupt"]["prompt"]["call"]["arguments"];
    assert_eq!(
        (&asked["estimated_amount"], &asked["currency"]),
        (&json!(100), &json!("USD")),
        "{dollars}"
    );
    let from = |start: &str, end: &str| {
        let mut fields = with("start_date", json!(start));
        fields["end_date"] = json!(end);
        fields
    };
    for (trace, fields, why) in [
        ("d2", with("reason", json!("x".repeat(500_000))), "500000"),
        ("d3", from("1900-01-01", "1900-01-03"), "1900-01-01"),
        ("d4", from("2199-01-01", "2199-01-03"), "2199-01-01"),
        ("d5", with("estimated_amount", json!("100 bananas")), ""),
    ] {
        let refused = drafted(trace, &fields).await;
        assert_contains(&refused["reply"].to_string(), why);
        assert_eq!(
            refused["pending_interrupt"],
            Value::Null,
            "{trace}: {refused}"
        );
        assert_eq!(refused["outcome"], "blocked", "{trace}: {refused}");
    }
}

/// A client that keeps its conversation itself answers the card that it repeats, once, and nobody
/// else's words are a request.
#[test]
fn stw_served_a_stock_client_answers_its_card() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let cards = [
        (
            "Save a draft of a business trip to Shanghai from 2054-03-02 to 2054-03-05 by train to visit a client, budget 1200 yuan",
            // Whoever says "What is that?" is answered in English from then on.
            "A-",
        ),
        (
            "存草稿：2054年4月2日到4月5日去上海拜访客户，坐火车，预算1200元",
            "A-",
        ),
    ];
    check_stock_client(&program, &cards);
}

/// Models that hang or drip are waited for as long as the flags say.
#[test]
fn stw_served_a_model_that_hangs_or_drips_is_waited_for_as_long_as_the_flags_say() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    check_patience(
        &program,
        [
            "sort out three days in Rome for me",
            "帮我安排三天的罗马之行",
        ],
    );
}

/// The command line takes each name of a conversation that a server takes.
#[test]
fn stw_served_names_that_a_server_takes_are_told_exported_and_deleted() {
    check_names(&TestProgram::new(env!("CARGO_BIN_EXE_steward")));
}

/// The command line that a card names answers it.
#[test]
fn stw_served_what_a_card_says_of_the_command_line_answers_it() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let trip = TRIP.replace("3月", "2054年3月");
    check_hint(&program, &trip, "已办理：A-1");
}

/// Commands that only read do so where nothing can be written.
#[test]
fn stw_served_reading_commands_work_where_nothing_can_be_written() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let receipt = program.path("receipt.pdf");
    std::fs::write(&receipt, "%PDF-1.4 taxi").unwrap();
    let words = format!("报销昨天的打车费86.5元，附件{}", receipt.display());
    program.ok(&["--thread", "claim", "say", "--yes", &words]);
    check_reading(&program, TRIP, &[&["attachments"], &["attachments", "R-1"]]);
}

/// K35: a consent that was given in a conversation is none in a copy of it: the copy shows the card
/// again, also where what was agreed to is gone by then.
#[test]
fn k35_a_copy_of_a_conversation_asks_again() {
    for runtime in ["graph", "legacy"] {
        let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
        let program = program.env("STEWARD_AGENT_RUNTIME", runtime);
        program.ok(&["say", "--yes", &TRIP.replace("3月", "2054年3月")]);
        program.ok(&["say", "--yes", "撤回A-1"]);
        let history = program.ok(&["history", "--full"]);
        let mut copies = 0;
        let step = share().min(4);
        for seq in (1..=history.lines().count()).step_by(step) {
            let (seq, copy) = (seq.to_string(), format!("copy-{seq}"));
            if program.run(&["fork", &seq, &copy]).well {
                copies += 1;
                program.run(&["--thread", &copy, "say", "你好"]);
            }
        }
        assert!(copies * step > 3, "{runtime}: {history}");
        let told = program.ok(&["--thread", "list", "say", "我有哪些申请"]);
        assert!(!told.contains("A-2"), "{runtime}: {told}");
    }
}

/// A line that cannot be read is refused in the language of the person.
#[test]
fn a_wrong_command_line_is_told_in_the_language_of_the_person() {
    check_wrong_lines(
        &TestProgram::new(env!("CARGO_BIN_EXE_steward")),
        &[(&["attach"], &["FILES"])],
    );
}

/// Refusals of the command line are in Chinese in a Chinese conversation.
#[test]
fn what_the_command_line_refuses_is_told_in_the_language_of_the_person() {
    check_chinese_refusals(&TestProgram::new(env!("CARGO_BIN_EXE_steward")));
}
