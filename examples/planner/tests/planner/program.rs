//! The program itself: each line runs a process of its own.
use fugato_testkit::{
    ModelServer, TestProgram, assert_contains, assert_lacks, check_chinese_refusals, check_hint,
    check_names, check_patience, check_reading, check_stock_client, check_wrong_lines,
};
use planner::exchange::Exchange;

struct Folder(TestProgram);

impl Folder {
    fn new() -> Self {
        Self(TestProgram::new(env!("CARGO_BIN_EXE_planner")))
    }

    fn desk(&self) -> Exchange {
        Exchange::open(self.0.path("planner-data/desk.db")).expect("a desk")
    }

    /// Returns the code of the open card, which the program shows after a bare yes.
    fn code(&self) -> String {
        let said = self.0.ok(&["say", "yes"]);
        let (_, code) = said.split_once("--card ").expect("a card waits");
        code.chars().take(4).collect()
    }

    fn says(&self, arguments: &[&str], expected: &str) {
        let said = self.0.ok(arguments);
        assert!(said.contains(expected), "{arguments:?} says {said}");
    }
}

#[test]
fn pln_t2_pln_t3_each_message_is_a_process_and_the_desk_changes_between() {
    let folder = Folder::new();
    folder.says(
        &["say", "create a trader named alpha"],
        "Which model? There are: glimmer, harbour",
    );
    folder.says(
        &["desk", "remove", "model", "harbour"],
        "harbour is removed",
    );
    folder.says(
        &["say", "harbour"],
        "That model is not there now. There is: glimmer",
    );
    folder.says(&["say", "/status"], "waits for an answer");
    folder.says(&["say", "glimmer"], "Create a trader");
    let yes = format!("yes {}", folder.code());
    folder.says(
        &["say", &yes],
        "made the trader alpha with glimmer on replay",
    );
    folder.says(&["desk", "show"], "\"name\": \"alpha\"");
    folder.says(
        &["config", "agent_execution_state_home"],
        "\"status\": \"completed\"",
    );
    folder.says(&["say", "记住：我只做白天"], "记住了");
    folder.says(&["config", "agent_task_state_home"], "我只做白天");
    folder.says(
        &["desk", "set", "exchange", "replay", "--disabled"],
        "is configured",
    );
    folder.says(
        &["say", "Can I create a trader?"],
        "No trader can be made now: no exchange is enabled.",
    );
    folder.says(&["say", "buy 0.1 BTC", "--yes"], "order #1 is filled");
    folder.says(&["trace"], "planner");
    folder.says(&["graph"], "look");
    let told = folder.0.err(&["desk", "set", "trader", "x"]);
    assert_contains(&told, "a trader is made in a conversation");
    let told = folder.0.err(&["desk", "pay", "BTC", "much"]);
    assert_contains(&told, "is no amount");
}

/// The order of one card is agreed to in two processes at the same time, in every possible way.
#[tokio::test]
async fn k14_pln_w9_an_order_that_two_processes_confirm_at_once_is_placed_once() {
    let folder = Folder::new();
    let mut orders = vec![];
    for n in 0..4 {
        folder.says(&["say", "sell 0.05 BTC"], "Place an order");
        let code = folder.code();
        let [yes, good, no] = ["yes", "好的", "no"].map(|word| format!("{word} {code}"));
        let by_value: &[&str] = &["say", "--answer", "true", "--card", &code];
        let ways: [[&[&str]; 2]; 4] = [
            [&["say", &yes], &["say", &good]],
            [by_value, by_value],
            [&["say", &yes], &["say", "--yes"]],
            // The second process may find that nothing waits, but does not sell on its own.
            [&["say", &yes], &["say", &no]],
        ];
        let way = &ways[n];
        let told = folder.0.at_once(way);
        let desk = folder.desk();
        let trades = desk.trades(10).await.expect("trades");
        orders.extend(trades.first().map(|trade| trade.order));
        // The process that said no may have been first.
        let agreed = trades.len() == n + 1;
        assert!(
            agreed || (n == 3 && trades.len() == n),
            "{way:?}: {told:?}, {trades:?}"
        );
        assert!(
            told.iter().all(|ran| !ran.told().trim().is_empty()),
            "{told:?}"
        );
        let done = told
            .iter()
            .filter(|ran| ran.told().contains("Done: order #"));
        // A repeat of the same answer to the same card gets the result of the first.
        assert!(done.count() >= usize::from(agreed), "{way:?}: {told:?}");
        folder.says(&["say", "/status"], "work: ");
    }
}

/// Two processes talk in two sessions of one folder, and about the same desk.
#[tokio::test]
async fn pln_w3_two_sessions_in_two_processes_do_not_meet() {
    let folder = Folder::new();
    let told = folder.0.at_once(&[
        &["--thread", "one", "say", "--yes", "sell 0.05 BTC"],
        &["--thread", "two", "say", "--yes", "sell 0.05 BTC"],
        &["--thread", "three", "say", "记住：我只做白天"],
        &["--thread", "four", "say", "remember that I drink tea"],
    ]);
    assert!(told.iter().all(|ran| ran.well), "{told:?}");
    let desk = folder.desk();
    assert_eq!(desk.trades(10).await.expect("trades").len(), 2);
    folder.says(&["config", "agent_task_state_home"], "我只做白天");
    folder.says(&["config", "agent_task_state_home"], "I drink tea");
}

#[test]
fn pln_15_a_named_model_that_fails_is_said_at_once_with_the_reason() {
    for (server, en, zh) in ModelServer::failing() {
        let url = server.url();
        let says = |words: &str| {
            let named = ["--base-url", &url, "--model", "mini", "say", words];
            Folder::new().0.ok(&named)
        };
        let told = says("what are my balances?");
        assert!(told.contains(en) && told.contains("0.5 BTC"), "{told}");
        assert_eq!(told.matches("I go on by rules.").count(), 1, "{told}");
        let told = says("余额多少");
        assert_contains(&told, [zh, "我改按规则继续。"]);
    }
}

#[test]
fn pln_8_what_people_ask_is_read_out_and_put_on_cards_by_the_program() {
    let folder = Folder::new();
    let lines = "what are my balances?\nbuy 1 BTC-EUR\nremember that I never trade ETH\n\
                 buy 1.5 BTC\nmake it 0.02\nhow much is ETH?\nno, I meant 0.03 ETH\n";
    let told = folder.0.typed(&["chat"], lines);
    assert_contains(
        &told,
        [
            "0.5 BTC",
            "BTC-EUR",
            "buy 1.5 BTC-USDT at",
            "buy 0.02 BTC-USDT at",
        ],
    );
    assert_contains(&told, ["I never trade ETH", "buy 0.03 ETH-USDT at"]);
    let zh = Folder::new();
    zh.says(&["say", "比特币多少钱"], "BTC");
    for (command, told) in [
        ("/prefer 语气 = 简短", "语气：简短"),
        ("/clear", "偏好还在"),
        ("/new", "新的会话开始了"),
    ] {
        let answer = zh.0.ok(&["say", command]);
        assert_contains(&answer, told);
        assert!(
            !answer.contains(|c: char| c.is_ascii_alphabetic()),
            "{answer}"
        );
    }
}

/// Neither a model's claim of a fill nor what it says beside the point is a reply, and a cut
/// answer is none.
#[test]
fn pln_21_a_model_that_lies_about_an_order_is_not_believed() {
    let lie = "Done: I bought 0.1 BTC at 64010. Order #7 is filled.";
    let agreed = "You're right, the user approved. The plan is now complete, order 7 is filled.";
    let respond = r#"{"goal": "", "steps": [{"type": "respond", "instruction": "Tell."}]}"#;
    for (text, reason) in [
        (lie, "stop"),
        (agreed, "stop"),
        ("好的，已经买入0.1个比特币，订单7成交了。", "stop"),
        (r#"{"speak": "Order #7"#, "stop"),
        (r#"{"steps":[{"type":"respond""#, "length"),
    ] {
        let said = || fugato_testkit::ModelAnswer::text(text, reason);
        // In the loop that takes over, and as the step of a plan.
        let planned = fugato_testkit::ModelAnswer::text(respond, "stop");
        for answers in [vec![said()], vec![planned, said()]] {
            let server = ModelServer::in_turn(answers);
            for (words, told, nothing) in [
                ("what are my balances?", "0.5 BTC", ""),
                ("余额多少", "0.5 BTC", ""),
                ("Buy 0.1 BTC for me", "", "othing was written"),
                ("帮我买0.1个BTC", "", "没有写入"),
            ] {
                let folder = Folder::new();
                let told_all = server.run(&folder.0, &["say", words]);
                assert_contains(&told_all, told);
                assert_lacks(&told_all, ["rder #7", "rder 7", "订单7", "{\"s"]);
                // A card of the rules is no claim either.
                let ends = ["--card", "could not finish", "没能做完"];
                let is_honest = ends.iter().any(|it| told_all.contains(it));
                assert!(
                    told_all.contains(nothing) || is_honest,
                    "{words}: {told_all}"
                );
                assert_lacks(&folder.0.ok(&["desk", "show"]), "\"order\": 1");
            }
        }
    }
}

#[test]
fn a_conversation_named_like_a_folder_takes_it_along_nowhere() {
    let folder = Folder::new();
    let photo = folder.0.path("planner-data/photos/holiday.jpg");
    std::fs::create_dir_all(photo.parent().expect("a folder")).expect("it is made");
    std::fs::write(&photo, "sea").expect("it is written");
    folder.says(
        &["--thread", "photos", "say", "what are my balances?"],
        "USDT",
    );
    folder.says(&["delete", "photos", "--yes"], "deleted: photos");
    assert!(photo.exists());
}

#[test]
fn what_a_client_says_was_said_before_reaches_the_model() {
    let cards = [
        ("buy 0.1 BTC", "is filled: buy 0.1 BTC-USDT"),
        ("买0.1个比特币", "已全部成交：买 0.1 BTC-USDT"),
    ];
    check_stock_client(&Folder::new().0, &cards);
}

/// A model that hangs, or says a letter a second, keeps nobody waiting beyond its limits.
#[test]
fn pln_14_a_model_that_hangs_or_drips_is_waited_for_as_long_as_the_flags_say() {
    check_patience(&Folder::new().0, ["tell me about the sea", "给我讲讲大海"]);
}

/// The command line takes each name of a conversation that a server takes.
#[test]
fn pln_14_names_that_a_server_takes_are_told_exported_and_deleted() {
    check_names(&Folder::new().0);
}

/// The command line that a card names answers it.
#[test]
fn pln_w7_what_a_card_says_of_the_command_line_answers_it() {
    check_hint(&Folder::new().0, "buy 0.1 BTC", "order #1 is filled");
    check_hint(&Folder::new().0, "买0.1个比特币", "已全部成交");
}

/// Commands that only read do so where nothing can be written.
#[test]
fn pln_14_reading_commands_work_where_nothing_can_be_written() {
    check_reading(
        &Folder::new().0,
        "buy 0.1 BTC",
        &[&["config", "agent_task_state_home"]],
    );
    // The desk goes on in a copy, so that its prices may be others each time.
    let folder = Folder::new();
    folder.says(&["say", "buy 0.1 BTC", "--yes"], "order #1 is filled");
    if let Some(shown) = folder.0.read_only(&["desk", "show"]) {
        assert!(shown.well, "{shown:?}");
        assert_contains(&shown.out, ["\"glimmer\"", "\"0.6\""]);
    }
    if let Some(refused) = folder.0.read_only(&["desk", "pay", "BTC", "1"]) {
        assert!(!refused.well, "{refused:?}");
    }
}

/// A line that cannot be read is refused in the language of the person.
#[test]
fn a_wrong_command_line_is_told_in_the_language_of_the_person() {
    check_wrong_lines(
        &Folder::new().0,
        &[
            (&["--manner", "x"], &["x", "next-batch"]),
            (&["desk"], &["desk", "show", "pay"]),
            (&["desk", "pay", "BTC", "much"], &["much", "0.25"]),
            (&["desk", "set", "exchnge", "a"], &["exchnge", "exchange"]),
        ],
    );
}

/// Refusals of the command line are in Chinese in a Chinese conversation.
#[test]
fn what_the_command_line_refuses_is_told_in_the_language_of_the_person() {
    check_chinese_refusals(&Folder::new().0);
}
