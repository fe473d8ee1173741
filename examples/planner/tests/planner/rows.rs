//! Requirements of the planner, through the binary: the model is a server with a script.
use fugato_testkit::{ModelAnswer, ModelServer, TestProgram, assert_contains, assert_lacks};
use serde_json::{Value, json};

use crate::common::{call, order};

fn program() -> TestProgram {
    TestProgram::new(env!("CARGO_BIN_EXE_planner"))
}

fn says(text: &str) -> ModelAnswer {
    ModelAnswer::text(text, "stop")
}

fn plan(steps: &[Value]) -> ModelAnswer {
    says(&json!({ "goal": "", "steps": steps }).to_string())
}

fn respond() -> Value {
    json!({ "type": "respond", "instruction": "Tell what came of it." })
}

fn finish() -> ModelAnswer {
    says(&json!({ "action": "finish", "instruction": "Tell what came of it." }).to_string())
}

/// Agrees to the card that waits, or declines it.
fn answered(model: &ModelServer, work: &TestProgram, asked: &str, said: &str) -> String {
    let (_, code) = asked.rsplit_once("--card ").expect("a card waits");
    let code: String = code.chars().take(4).collect();
    model.run(work, &["say", &format!("{said} {code}")])
}

fn stored(work: &TestProgram, key: &str) -> Value {
    let text = work.ok(&["config", key]);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{key}: {error}: {text}"))
}

const WORK: &str = "agent_execution_state_home";

/// Both executors carry out the plan of a model, and a write waits for a yes.
#[test]
fn pln_6_pln_9_pln_12_pln_16_pln_c4_pln_c7_a_plan_of_a_model_is_carried_out_step_by_step() {
    let look = || call("get_prices", &json!({}));
    let whole = vec![
        plan(&[look(), order(), respond()]),
        finish(),
        says("There it is."),
    ];
    let batches = vec![
        plan(&[look()]),
        plan(&[order()]),
        plan(&[respond()]),
        says("There it is."),
    ];
    for (words, yes, done) in [
        ("Buy 0.25 BTC for me", "yes", "Done: order #1 is filled"),
        ("帮我买0.25个BTC", "好的", "完成：订单 #1"),
    ] {
        for (manner, script) in [("plan", whole.clone()), ("next-batch", batches.clone())] {
            let (work, model) = (program(), ModelServer::in_turn(script));
            let asked = model.run(&work, &["--manner", manner, "say", words]);
            assert_contains(&asked, "0.25");
            assert_contains(
                &stored(&work, WORK).to_string(),
                "waiting_user_confirmation",
            );
            let (_, code) = asked.rsplit_once("--card ").expect("a card waits");
            let code: String = code.chars().take(4).collect();
            let yes = format!("{yes} {code}");
            let told = model.run(&work, &["--manner", manner, "say", &yes]);
            assert_contains(&told, [done, "There it is."]);
            let kept = stored(&work, WORK).to_string();
            assert_contains(&kept, ["\"completed\"", "place_order", "0.75"]);
            // The look after the order has taken the place of the one before.
            assert_eq!(kept.matches("current_balances").count(), 1, "{kept}");
        }
    }
}

/// The facts that were known before are in front of the model, in the order in which they are
/// believed.
#[test]
fn pln_1_pln_7_pln_10_pln_19_pln_24_pln_c5_the_model_reads_what_is_known_and_what_to_believe() {
    let ask = json!({ "type": "ask_user", "instruction": "How bold?" });
    for (prefer, keep, rule, wish, answer, facts, goal) in [
        (
            "/prefer tone = short answers",
            "Remember that I never risk more than two percent.",
            "I never risk more than two percent",
            "show my balance and suggest something",
            "rather careful",
            "1. Facts",
            "# Goal",
        ),
        (
            "/prefer 语气 = 简短",
            "记住：我从不冒超过百分之二的险",
            "我从不冒超过百分之二的险",
            "看一下我的余额，再给点建议",
            "谨慎一点",
            "1. ",
            "# ",
        ),
    ] {
        let script = [
            plan(std::slice::from_ref(&ask)),
            plan(&[respond()]),
            says("Patience."),
        ];
        let (work, model) = (program(), ModelServer::in_turn(script));
        for words in [prefer, keep, wish, answer] {
            model.run(&work, &["say", words]);
        }
        let prompts = model.prompts();
        let [first, resumed, ..] = &prompts[..] else {
            panic!("{prompts:?}")
        };
        let (_, tone) = prefer.split_once("= ").expect("a preference");
        assert_contains(
            first,
            [
                "place_order",
                tone,
                rule,
                wish,
                "current_balances: ",
                facts,
                goal,
            ],
        );
        assert_contains(resumed, ["How bold?", answer]);
    }
}

#[test]
fn pln_4_pln_w1_what_can_be_looked_up_and_what_documents_say_is_not_kept() {
    for (live, document, fact, forget) in [
        (
            "remember that my balance is 7 BTC",
            "remember what lease.docx says",
            "remember that I work at night",
            "forget that I work at night",
        ),
        (
            "记住：我的余额是7个BTC",
            "记住 lease.docx 里写的内容",
            "记住：我只在晚上工作",
            "忘掉我只在晚上工作",
        ),
    ] {
        let work = program();
        for words in [live, document] {
            work.ok(&["say", words]);
        }
        let key = "agent_task_state_home";
        assert_lacks(&work.ok(&["config", key]), ["7", "lease"]);
        work.ok(&["say", fact]);
        let kept = work.ok(&["config", key]);
        assert!(kept.contains("at night") || kept.contains("晚上"), "{kept}");
        // A fact goes only where the person withdraws it.
        work.ok(&["say", "what are my balances?"]);
        assert_eq!(work.ok(&["config", key]), kept);
        work.ok(&["say", forget]);
        assert_lacks(&work.ok(&["config", key]), ["at night", "晚上"]);
    }
}

#[test]
fn pln_2_pln_16a_pln_w7_pln_c3_a_history_is_short_and_short_words_need_no_model() {
    for (hello, order, no, kept) in [
        ("hello", "sell 0.05 BTC", "no", "turns kept: "),
        ("你好", "卖0.05个BTC", "不要", "保留的对话："),
    ] {
        let work = program();
        let lines = format!("{hello}\n").repeat(60);
        work.typed(&["chat"], &lines);
        let told = work.ok(&["say", "/status"]);
        let (_, rest) = told.split_once(kept).expect("it is told");
        let many: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let many: usize = many.parse().expect("a number");
        assert!(many < 2 * 60, "{told}");
        let asked = work.ok(&["say", order]);
        let (_, code) = asked.rsplit_once("--card ").expect("a card waits");
        let code: String = code.chars().take(4).collect();
        let said = work.ok(&["say", &format!("{no} {code}")]);
        assert_lacks(&work.ok(&["config", WORK]), "waiting_user_confirmation");
        assert!(!said.is_empty());
        assert_lacks(&work.ok(&["desk", "show"]), "\"order\": 1");
    }
}

#[test]
fn pln_t5_pln_w8_pln_w13_a_step_that_fails_or_is_declined_is_told_as_not_done() {
    let lie = || says("Done: I bought 0.25 BTC. Order #7 is filled.");
    for (words, no, not_done) in [
        ("Buy 0.25 BTC for me", "no", "Not done"),
        ("帮我买0.25个BTC", "不要", "没有完成"),
    ] {
        let wrong = call(
            "place_order",
            &json!({ "symbol": "BTC-USDT", "side": "buy", "quantity": "900" }),
        );
        for (step, declines) in [(order(), true), (wrong, false)] {
            let script = [
                plan(&[call("get_prices", &json!({})), step, respond()]),
                finish(),
                lie(),
            ];
            let (work, model) = (program(), ModelServer::in_turn(script));
            let asked = model.run(&work, &["say", words]);
            let told = if declines {
                answered(&model, &work, &asked, no)
            } else {
                asked
            };
            assert_lacks(&told, "Order #7");
            assert!(told.contains(not_done) || declines, "{told}");
            assert_lacks(&work.ok(&["desk", "show"]), "\"order\": 1");
            let kept = stored(&work, WORK).to_string();
            assert!(!declines || !kept.contains("\"filled\""), "{kept}");
        }
    }
}

/// A card says each argument once, in words of its language.
#[test]
fn pln_8_a_card_says_each_argument_once() {
    let work = program();
    let asked = work.ok(&["say", "卖0.05个BTC"]);
    assert_lacks(&asked, ["side", "quantity", "sell", "place_order"]);
    assert_contains(&asked, ["] 下单\n", "卖 "]);
    let asked = program().ok(&["say", "sell 0.05 BTC"]);
    assert_contains(&asked, ["] Place an order\n", "sell "]);
    assert_lacks(&asked, "place_order");
    // A question has no name of a program above it either.
    let asked = program().ok(&["say", "创建一个叫小明的交易员"]);
    assert_contains(&asked, "▌ 问题\n");
    let asked = program().ok(&["say", "create a trader named alpha"]);
    assert_contains(&asked, "▌ Question\n");
}

/// A question about what is kept finds it, however it is put.
#[test]
fn pln_8_what_is_kept_about_something_is_told_in_both_languages() {
    let work = program();
    work.ok(&["say", "remember that I like green tea"]);
    work.ok(&["say", "记住我妹妹住在杭州"]);
    for (words, told, other) in [
        (
            "what do you remember about tea?",
            "I like green tea",
            "杭州",
        ),
        ("你记得什么关于妹妹的", "我妹妹住在杭州", "tea"),
        ("关于杭州，你还记得什么？", "我妹妹住在杭州", "tea"),
    ] {
        let found = work.ok(&["--thread", "other", "say", words]);
        assert_contains(&found, told);
        assert_lacks(&found, other);
    }
    let nothing = work.ok(&["--thread", "other", "say", "你记得什么关于咖啡的"]);
    assert_contains(&nothing, "没有记过关于“咖啡”的事");
    // The first words of another conversation know it, too.
    let status = work.ok(&["--thread", "third", "say", "/status"]);
    assert_contains(&status, "facts known of you: 2");
}
