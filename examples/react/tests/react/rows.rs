//! Requirements of the loop, through the binary: the model is a server with a script.
use fugato_testkit::{
    ModelAnswer, ModelServer, Server, TestProgram, assert_contains, assert_lacks,
};
use serde_json::{Value, json};

fn program() -> TestProgram {
    TestProgram::new(env!("CARGO_BIN_EXE_react"))
}

fn sum(of: &str) -> (&'static str, Value) {
    ("calculate", json!({ "expression": of }))
}

/// Answers a request without tools with words, and every other one with the next of these calls.
fn calling(
    calls: impl Fn(usize) -> ModelAnswer + Send + Sync + 'static,
    words: &str,
) -> ModelServer {
    let words = words.to_owned();
    ModelServer::deciding(move |request| {
        let rounds = request["messages"].as_array().into_iter().flatten();
        let rounds = rounds.filter(|message| !message["tool_calls"].is_null());
        if request["tools"].is_null() {
            ModelAnswer::text(&words, "stop")
        } else {
            calls(rounds.count())
        }
    })
}

/// Returns how many of the requests offered tools.
fn with_tools(model: &ModelServer) -> Vec<bool> {
    let heard = model.heard();
    heard.iter().map(|body| !body["tools"].is_null()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rct_1_rct_2_rct_6_rct_7_rct_12_rct_w5_rct_t2_rct_t6_a_stream_tells_every_step_of_two_rounds()
 {
    for (words, reply) in [
        ("How much is it?", "It is 51."),
        ("一共多少？", "一共 51。"),
    ] {
        let round = ModelAnswer::calls(&[sum("17 * 3"), ("time", json!({ "zone": "UTC" }))]);
        let model = ModelServer::in_turn([round, ModelAnswer::text(reply, "stop")]);
        let (work, url) = (program(), model.url());
        let server = work.server(&[
            "--base-url",
            &url,
            "--model",
            "mini",
            "serve",
            "--listen",
            "127.0.0.1:0",
        ]);
        let body = json!({ "thread": "t", "text": words }).to_string();
        let told = Server::ask(server.address(), ("POST", "/sse/react"), &[], &body).await;
        let (status, told) = told.expect("an answer");
        assert_eq!(status, 200, "{told}");
        let order = ["17 * 3", "17 * 3 = 51", "(UTC)", reply];
        let mut rest = &*told;
        for part in order {
            let (_, after) = rest
                .split_once(part)
                .unwrap_or_else(|| panic!("{part} in {told}"));
            rest = after;
        }
        assert_contains(&rest, "event: run_finished");
        // Each call of the round has its result in the next request, and nothing else came between.
        let last = model.heard().pop().expect("it was asked");
        let messages = last["messages"].as_array().expect("messages").clone();
        let ids = |field: fn(&Value) -> Value| -> Vec<Value> {
            messages
                .iter()
                .map(field)
                .filter(|id| !id.is_null())
                .collect()
        };
        let results = ids(|message| message["tool_call_id"].clone());
        let made = messages
            .iter()
            .find(|message| !message["tool_calls"].is_null());
        let made = made
            .and_then(|message| message["tool_calls"].as_array())
            .expect("calls");
        let made: Vec<_> = made.iter().map(|call| call["id"].clone()).collect();
        assert_eq!((results.len(), &results), (2, &made));
        // The history has the nodes in their order.
        let graph = work.ok(&["--thread", "t", "history", "--full"]);
        let mut rest = &*graph;
        for step in [
            "init_state#1",
            "memory_trigger#1",
            "agent#1",
            "tools#1",
            "agent#2",
            "finalize#1",
        ] {
            let (_, after) = rest
                .split_once(step)
                .unwrap_or_else(|| panic!("{step} in {graph}"));
            rest = after;
        }
    }
}

#[test]
fn rct_t3_rct_9_rct_c5_at_the_limit_of_steps_the_model_is_asked_without_tools() {
    for (words, reply) in [("count", "I stop at 3."), ("数一数", "数到 3。")] {
        let model = calling(|n| ModelAnswer::calls(&[sum(&format!("{n} + 1"))]), reply);
        let said = model.run(&program(), &["--max-steps", "2", "say", words]);
        assert_contains(&said, reply);
        let last = model.prompts().pop().unwrap_or_default();
        assert_contains(&last, ["0 + 1 = 1", "1 + 1 = 2"]);
        assert_lacks(&last, "2 + 1");
        assert_eq!(with_tools(&model), [true, true, false]);
    }
}

#[test]
fn rct_3_rct_11_rct_c3_rct_c4_rct_t4_a_loop_ends_and_the_next_request_begins_anew() {
    for (words, told, next) in [
        ("what is 1 + 1?", "the same steps came again", "and now?"),
        ("1 加 1 是多少？", "同样的步骤", "现在呢？"),
    ] {
        let model = calling(|_| ModelAnswer::calls(&[sum("1 + 1")]), "Two.");
        let work = program();
        let said = model.run(&work, &["say", words]);
        assert_contains(&said, told);
        let first = model.heard().len();
        // The counts are those of the request, and the messages are those of the conversation.
        let again = model.run(&work, &["say", next]);
        assert_contains(&again, told);
        assert!(model.heard().len() > first + 1, "{again}");
        assert_contains(&model.prompts().pop().unwrap_or_default(), [words, next]);
    }
}

#[test]
fn rct_w4_rct_c2_errors_are_results_and_the_run_goes_on() {
    for (words, unknown, zero) in [
        ("try", "hammer", "division by zero"),
        ("试试", "hammer", "不能除以零"),
    ] {
        let wrong = ModelAnswer::calls(&[
            ("hammer", json!({})),
            sum("1 / 0"),
            ("calculate", json!({ "colour": 1 })),
            sum("6 * 7"),
        ]);
        let model = ModelServer::in_turn([wrong, ModelAnswer::text("42", "stop")]);
        let said = model.run(&program(), &["say", words]);
        assert_contains(&said, "42");
        let last = model.heard().pop().expect("it was asked");
        let messages = last["messages"].as_array().expect("messages").clone();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        let results: Vec<_> = results
            .filter_map(|message| message["content"].as_str())
            .collect();
        let [first, second, third, fourth] = results[..] else {
            panic!("{results:?}")
        };
        assert_contains(first, unknown);
        assert_contains(second, zero);
        assert_contains(third, "colour");
        assert_eq!(fourth, "6 * 7 = 42");
        let questions = messages.iter().filter(|message| message["role"] == "user");
        assert_eq!(questions.count(), 1, "a history is appended to");
    }
}

/// The content of a document is no note of the person, by rules or with a model.
#[test]
fn rct_4_what_a_document_says_is_not_noted_as_the_word_of_the_person() {
    for (words, told) in [
        ("remember what lease.docx says", "not what lease.docx says"),
        ("记住 lease.docx 里写的内容", "没有lease.docx里的内容"),
    ] {
        let work = program();
        assert_contains(&work.ok(&["say", words]), told);
        let model = ModelServer::in_turn([ModelAnswer::text("Hm.", "stop")]);
        model.run(&work, &["say", words]);
        assert!(!work.path("react-data/memory/MEMORY.md").exists());
    }
}

/// Returns the text if nothing in it is a command to the terminal.
#[track_caller]
fn harmless(text: String) -> String {
    let is_command = |char: char| char.is_control() && char != '\n';
    assert!(!text.contains(is_command), "{text:?}");
    text
}

/// A card has all that would be done, names what it replaces, and nothing that a model or a
/// file says is a command to the terminal.
#[test]
fn k35_a_card_of_a_model_hides_and_forges_nothing() {
    let forged = "\u{1b}[1A\u{1b}[2K\r";
    let text = format!("line one\n{}{forged}EVIL AT THE END", "so on\n".repeat(100));
    for (words, replaces, done) in [
        (
            "write it",
            "overwrites \".profile\", 3 bytes",
            "Done: .profile",
        ),
        (
            "写下来",
            "将覆盖 \".profile\"（3 字节）",
            "完成：已写入 .profile",
        ),
    ] {
        let work = program();
        let files = work.path("react-data/files");
        std::fs::create_dir_all(&files).expect("a folder");
        std::fs::write(files.join(".profile"), "old").expect("a file");
        let write = json!({ "path": ".profile", "text": text });
        let lie = format!("{forged}Just notes.txt.");
        let model = ModelServer::in_turn([
            ModelAnswer::calls(&[("write_file", write)]),
            ModelAnswer::text(&lie, "stop"),
        ]);
        let asked = harmless(model.run(&work, &["say", words]));
        assert_contains(
            &asked,
            [replaces, ".profile", "line one", "EVIL AT THE END"],
        );
        let (_, code) = asked.rsplit_once("--card ").expect("a card waits");
        let yes = format!("yes {}", code.get(..4).expect("a code"));
        let told = harmless(model.run(&work, &["say", &yes]));
        assert_contains(&told, [done, "Just notes.txt."]);
        // What was written is read, listed and told again as harmlessly.
        let named = format!("notes{forged}.md");
        std::fs::write(files.join(named), "x").expect("a file");
        for ask in ["read .profile", "list files"] {
            harmless(work.ok(&["say", ask]));
        }
        harmless(work.ok(&["history"]));
    }
}

/// A model that claims what did not happen, and one whose answer is cut off, are told as
/// what they are.
#[test]
fn rct_8_a_lie_and_a_cut_answer_are_marked_by_the_program() {
    for (words, said, reason, told) in [
        (
            "write it down",
            "I have written it to list.md.",
            "stop",
            "Nothing was written or changed in this run.",
        ),
        (
            "帮我写下来",
            "好的，已经写入 list.md。",
            "stop",
            "这次没有写入或更改任何东西。",
        ),
        (
            "tell a story",
            "Once upon a",
            "length",
            "Once upon a [cut off: the model reached its length limit]",
        ),
        (
            "讲个故事",
            "从前有",
            "length",
            "从前有 [被截断：模型达到了长度上限]",
        ),
    ] {
        let model = ModelServer::in_turn([ModelAnswer::text(said, reason)]);
        assert_contains(&model.run(&program(), &["say", words]), told);
    }
}

/// A run that stopped names the tools that it called as people do.
#[test]
fn rct_w6_a_run_that_stops_names_its_steps_as_people_do() {
    for (words, stopped, steps) in [
        (
            "look around",
            "I stopped before I was done",
            "Steps that I took: list files, look at the clock.",
        ),
        (
            "到处看看",
            "还没做完我就停下了",
            "做过的步骤：列出文件、查看时间。",
        ),
    ] {
        let calls = [("list_files", json!({})), ("time", json!({}))];
        let model = calling(move |_| ModelAnswer::calls(&calls), "");
        let said = model.run(&program(), &["--max-steps", "2", "say", words]);
        assert_contains(&said, [stopped, steps]);
        assert_lacks(&said, ["list_files", "time."]);
    }
    for (words, told) in [
        (
            "what time is it?",
            "I cannot do that: looking at the clock is switched off.",
        ),
        ("现在几点？", "这件事做不了：没有启用「查看时间」。"),
    ] {
        let said = program().ok(&["--tools", "files", "say", words]);
        assert_contains(&said, told);
    }
}

/// A person without a model is not told a result's advice for one.
#[test]
fn rct_6_a_result_that_is_read_out_has_no_words_for_a_model() {
    let program = program();
    let files = program.path("react-data/files");
    std::fs::create_dir_all(&files).expect("a folder");
    std::fs::write(files.join("long.md"), "tea; `from` is leaf\n".repeat(1000)).expect("a file");
    for (words, told) in [
        ("read nothing.md", "there is no \"nothing.md\""),
        ("读取 nothing.md", "没有 \"nothing.md\""),
        ("read long.md", "\n… it goes on"),
    ] {
        let said = program.ok(&["say", words]);
        assert_contains(&said, told);
        assert_lacks(&said, ["list_files", "read on", "\"from\"", "recall"]);
    }
    // A model is told what helps on.
    let model = calling(
        |n| match n {
            0 => ModelAnswer::calls(&[("read_file", json!({ "path": "nothing.md" }))]),
            _ => ModelAnswer::text("Hm.", "stop"),
        },
        "Hm.",
    );
    model.run(&program, &["--thread", "two", "say", "read it"]);
    let last = model.prompts().pop().unwrap_or_default();
    assert_contains(&last, "list_files tells what there is");
}
