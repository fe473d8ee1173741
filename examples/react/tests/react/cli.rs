//! The real binary, in folders of its own.
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use fugato_testkit::{
    ModelAnswer, ModelServer, TestProgram, assert_contains, assert_lacks, check_chinese_refusals,
    check_hint, check_names, check_patience, check_reading, check_stock_client, check_wrong_lines,
};
use serde_json::json;

fn program() -> TestProgram {
    TestProgram::new(env!("CARGO_BIN_EXE_react"))
}

#[test]
fn one_thing_is_said_and_answered_and_can_be_looked_at() {
    let work = program();
    let said = work.ok(&["say", "(17 + 25) * 2"]);
    assert_contains(&said, "· calculating: (17 + 25) * 2");
    assert!(said.contains("\n(17 + 25) * 2 = 84\n"), "{said}");
    let history = work.ok(&["history", "--full"]);
    assert!(history.contains("agent#1 → tools#1"), "{history}");
    let story = work.ok(&["history"]);
    assert_contains(
        &story,
        [
            "You: (17 + 25) * 2",
            "· calculating: ",
            "Reply: (17 + 25) * 2 = 84",
        ],
    );
    assert_lacks(&story, "agent#1");
    let trace = work.ok(&["trace"]);
    assert_contains(&trace, "ended after");
    assert_lacks(&trace, "model:");
    let threads = work.ok(&["threads"]);
    assert_eq!(threads, "default  finished  (17 + 25) * 2\n");
    let silent = work.err(&["say"]);
    assert_contains(&silent, "say what you want, as in: react say 'hello'");
    let other = program();
    assert!(other.ok(&["graph"]).starts_with("flowchart"));
    assert!(!other.path("react-data").exists(), "looking makes nothing");
}

/// The code of the card, as the program says how to answer it.
fn code(told: &str) -> &str {
    let (_, after) = told.rsplit_once("--card ").expect("a card waits");
    after.get(..4).expect("a code has four signs")
}

#[test]
fn a_write_waits_until_the_person_agrees() {
    let work = program();
    let parked = work.ok(&["say", "write list.md: tea"]);
    assert_contains(&parked, ["list.md", "react say --answer 'true'"]);
    let words = format!("react say 'yes {0}', or 'no {0}'", code(&parked));
    assert_contains(&parked, words.as_str());
    let path = work.path("react-data/files/list.md");
    assert!(!path.exists());
    let unclear = work.ok(&["say", "yes, but in another file"]);
    assert!(unclear.contains("nothing has changed"), "{unclear}");
    // An answer that does not name its card agrees to nothing.
    let unnamed = work.err(&["say", "--answer", "true"]);
    work.ok(&["say", "yes"]);
    work.err(&["say", "--answer", "true", "--card", "Z9Z9"]);
    assert!(!path.exists());
    work.ok(&["say", "--answer", "true", "--card", code(&unnamed)]);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "tea");
    // In another conversation it is still remembered, and agreed to beforehand.
    work.ok(&["say", "记住我喝茶"]);
    let known = work.ok(&["--thread", "other", "say", "你记得喝茶吗"]);
    assert!(known.contains("我喝茶"), "{known}");
    let at_once = work.ok(&["--thread", "other", "say", "--yes", "write b.md: coffee"]);
    assert!(at_once.contains("b.md is written: 6 bytes"), "{at_once}");
}

#[test]
fn deleting_leaves_what_all_conversations_share() {
    let work = program();
    work.ok(&["say", "--yes", "write list.md: tea"]);
    work.ok(&["say", "记住我喝茶"]);
    let shared = ["files", "memory"];
    for name in shared {
        let told = work.err(&["delete", name, "--yes"]);
        assert!(told.contains("nothing of a conversation"), "{told}");
    }
    // Not even a conversation of such a name takes them along.
    for name in shared {
        work.ok(&["--thread", name, "say", "1 + 1"]);
        let deleted = work.ok(&["delete", name, "--yes"]);
        assert_eq!(deleted, format!("deleted: {name}\n"));
        assert!(work.path("react-data").join(name).is_dir());
    }
    let known = work.ok(&["--thread", "other", "say", "你记得喝茶吗"]);
    assert!(known.contains("我喝茶"), "{known}");
    // An interrupted deletion is completed, with or without the log.
    let own = work.path("react-data/conversations/default");
    for _ in 0..2 {
        std::fs::create_dir_all(&own).unwrap();
        work.ok(&["delete", "default", "--yes"]);
        assert!(!own.exists());
    }
    assert_eq!(work.ok(&["threads"]), "other  finished  你记得喝茶吗\n");
}

#[test]
fn tools_and_steps_are_chosen_by_flags() {
    let work = program();
    let few = work.ok(&["--tools", "time", "say", "1 + 1"]);
    assert_contains(&few, "I cannot do that: calculating is switched off.");
    let none = work.ok(&["--tools", "none", "say", "help"]);
    assert!(none.contains("there are no tools"), "{none}");
    // Without a step there is no tool, only an answer.
    let still = work.ok(&["--max-steps", "0", "say", "1 + 1"]);
    assert!(!still.contains("= 2"), "{still}");
    let wrong = work.err(&["--tools", "hammer", "say", "hello"]);
    assert_contains(&wrong, ["hammer", "calculator"]);
    let folder = work.path("papers");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.md"), "Algebra").unwrap();
    let read = work.ok(&["--files", "papers", "say", "read a.md"]);
    assert!(read.contains("Algebra"), "{read}");
    let missing = work.err(&["--mcp", "no-such-program-here", "say", "hello"]);
    let quoted = work.err(&["--mcp", "server 'open", "say", "hello"]);
    if cfg!(feature = "mcp") {
        assert!(missing.contains("no-such-program-here"), "{missing}");
        assert!(quoted.contains("is no command"), "{quoted}");
    } else {
        assert_contains(&missing, "built with `--features mcp`");
    }
}

#[test]
fn what_happens_inside_is_written_for_those_who_ask() {
    let work = program();
    let ran = work.run(&[
        "--trace",
        "fugato_graph=trace,fugato_llm=trace",
        "say",
        "1 + 1",
    ]);
    assert!(ran.well, "{ran:?}");
    let wrong = work.err(&["--trace", "fugato=loud", "say", "1 + 1"]);
    assert!(wrong.contains("is no filter"), "{wrong}");
}

#[test]
fn a_talk_in_the_terminal_reads_lines_and_says_how_to_go_on() {
    let work = program();
    let lines = "2 + 2\nwrite a.md: hello\nmaybe\nyes\n";
    let piped = work.typed(&["--thread", "tea"], lines);
    // What comes from a pipe was not typed under the card.
    assert!(!work.path("react-data/files/a.md").exists(), "{piped}");
    let asked = work.ok(&["--thread", "tea", "say", "yes"]);
    let lines = format!("yes {}\nread a.md\n", code(&asked));
    let said = piped + &work.typed(&["--thread", "tea"], &lines);
    assert_contains(
        &said,
        [
            "2 + 2 = 4",
            "▌ makes a new file \"a.md\"\n▌ file: a.md\n▌ text: hello\n",
            "a.md is written",
            "\nhello\n",
            "react --thread 'tea' chat",
        ],
    );
}

#[test]
fn what_people_ask_is_calculated_told_and_remembered_by_the_program() {
    let work = program();
    let lines = "2^64\n9007199254740993+0\n123456789*987654321\n1/3\n12% of 350\n\
                 帮我算一下1234*5678\n１２＋３\n1,000+1\nremember that my cat is called Tom\n\
                 what do you know about me?\nwhat time is it in Atlantis?\n东京现在几点\n";
    assert_contains(
        &work.typed(&["chat"], lines),
        [
            "= 18446744073709551616",
            "= 9007199254740993",
            "= 121932631112635269",
            "1/3 ≈ 0.3333",
            "= 42\n",
            "= 7006652",
            "= 15\n",
            "= 1001",
            "my cat is called Tom",
            "I do not know “atlantis”",
            "Asia/Tokyo",
        ],
    );
}

/// A question about the notes finds them, however it is put.
#[test]
fn rct_4_what_is_noted_about_something_is_found_in_both_languages() {
    let work = program();
    work.typed(
        &["chat"],
        "remember that I like green tea\n记住我妹妹住在杭州\n",
    );
    for (words, told, other) in [
        (
            "what do you remember about tea?",
            "I like green tea",
            "杭州",
        ),
        (
            "About tea, what do you remember?",
            "I like green tea",
            "杭州",
        ),
        ("你记得什么关于妹妹的", "我妹妹住在杭州", "tea"),
        ("关于杭州，你还记得什么？", "我妹妹住在杭州", "tea"),
        ("你记得哪些关于我妹妹的事", "我妹妹住在杭州", "tea"),
        ("你还记得我关于妹妹说过什么吗", "我妹妹住在杭州", "tea"),
    ] {
        let thread = format!("of {words}");
        let found = work.ok(&["--thread", &thread, "say", words]);
        let (_, found) = found.rsplit_once("· ").expect("the notebook is read");
        assert_contains(found, told);
        assert_lacks(found, other);
    }
    work.ok(&["say", "记住我对坚果过敏"]);
    let own = work.ok(&["--thread", "own", "say", "我对什么过敏"]);
    assert_contains(&own, "\n我对坚果过敏");
    for note in ["记住我的储物柜号码是482", "记住我的wifi密码是Sunflower42"] {
        work.ok(&["say", note]);
    }
    let locker = work.ok(&["--thread", "locker", "say", "我的储物柜号码是多少？"]);
    assert_contains(&locker, "482");
    assert_lacks(&locker, "Sunflower");
    let nothing = work.ok(&["say", "你记得什么关于咖啡的"]);
    assert_contains(&nothing, "没有要记住的这类内容");
}

/// Each wish of a message has a card or an answer of its own, in its order.
#[test]
fn several_wishes_are_done_one_after_the_other() {
    let work = program();
    let first = work.ok(&[
        "say",
        "write a.txt: one and write b.txt: two, then list files",
    ]);
    assert_contains(&first, "text: one\n");
    let second = work.ok(&["say", &format!("yes {}", code(&first))]);
    assert_contains(&second, "text: two\n");
    let third = work.ok(&["say", &format!("yes {}", code(&second))]);
    assert_contains(&third, "b.txt");
    let both = work.ok(&["say", "read a.txt and c.txt"]);
    assert_contains(&both, "one");
    assert_contains(&both, "there is no \"c.txt\"");
    work.ok(&["say", "remember that dentist on 4 December at 9:30"]);
    let card = work.ok(&["say", "forget the dentist note"]);
    assert_contains(&card, "note: dentist on 4 December at 9:30");
}

/// The heading of a card is what people call the act, and so are its arguments.
#[test]
fn k35_a_card_says_what_it_does_in_words_of_its_language() {
    for (words, card) in [
        (
            "write a.md: tea",
            "] Write a file\n▌ makes a new file \"a.md\"\n▌ file: a.md\n▌ text: tea\n",
        ),
        (
            "写入 a.md：茶",
            "] 写文件\n▌ 将新建文件 \"a.md\"\n▌ 文件: a.md\n▌ 内容: 茶\n",
        ),
    ] {
        let asked = program().ok(&["say", words]);
        assert_contains(&asked, card);
        assert_lacks(&asked, ["write_file", "path:"]);
    }
}

/// A note goes with a card, as every write does, and for all conversations.
#[test]
fn rct_4_a_note_is_forgotten_by_words_when_the_person_agrees() {
    let notes = "remember that I drink tea\nremember that I like tea with milk\n记住我住在杭州\n";
    for (words, other, card, note, told) in [
        (
            "forget that I drink tea",
            "forget about the moon",
            "removes this note",
            "I drink tea",
            "forgotten: I drink tea",
        ),
        (
            "忘掉我住在杭州这件事",
            "忘记我的车",
            "将删除这条笔记",
            "我住在杭州",
            "已忘掉：我住在杭州",
        ),
    ] {
        let work = program();
        work.typed(&["chat"], notes);
        let kept = || std::fs::read_to_string(work.path("react-data/memory/MEMORY.md")).unwrap();
        let before = kept();
        let none = work.ok(&["say", other]);
        assert!(
            none.contains("no such note") || none.contains("没有这样的笔记"),
            "{none}"
        );
        let which = work.ok(&["say", "forget tea"]);
        assert_contains(&which, ["Which one?", "I drink tea\nI like tea with milk"]);
        let asked = work.ok(&["--thread", "other", "say", words]);
        assert_contains(&asked, [card, &*format!(": {note}\n")]);
        let declined = work.ok(&["--thread", "other", "say", &format!("no {}", code(&asked))]);
        assert_eq!(kept(), before, "{declined}");
        let asked = work.ok(&["--thread", "other", "say", words]);
        let agreed = work.ok(&["--thread", "other", "say", &format!("yes {}", code(&asked))]);
        assert_contains(&agreed, told);
        assert_eq!(kept(), before.replace(&format!("- {note}\n"), ""));
    }
}

/// A model forgets by the same tool and with the same card.
#[test]
fn rct_4_a_note_is_forgotten_by_a_model_when_the_person_agrees() {
    let forgets = ModelAnswer::calls(&[("forget", json!({ "note": "I drink tea" }))]);
    for (words, done) in [
        ("That note about tea is wrong.", "It is gone."),
        ("那条喝茶的笔记不对。", "已经没有了。"),
    ] {
        let model = ModelServer::in_turn([forgets.clone(), ModelAnswer::text(done, "stop")]);
        let work = program();
        work.ok(&["say", "remember that I drink tea"]);
        let asked = model.run(&work, &["say", words]);
        assert_contains(&asked, ": I drink tea");
        let known = ["say", "what do you know about me?", "--thread", "other"];
        assert_contains(&work.ok(&known), "I drink tea");
        model.run(&work, &["say", &format!("yes {}", code(&asked))]);
        assert_contains(&work.ok(&known), "nothing of the kind");
        // A note that is not there asks nobody, and is told in no words for a model.
        let again = ModelServer::in_turn([forgets.clone()]);
        let told = again.run(&work, &["--thread", "again", "say", words]);
        assert_contains(&told, "\"I drink tea\"");
        assert_lacks(&told, ["▌", "recall"]);
    }
}

#[test]
fn words_under_a_card_change_the_file_and_its_text() {
    let work = program();
    let lines = "write trips/list.md: tea\nno, call it trips/oslo.md\n内容改成咖啡\n";
    let told = work.typed(&["chat"], lines);
    assert_contains(
        &told,
        [
            "file: trips/list.md\n▌ text: tea",
            "file: trips/oslo.md\n▌ text: tea",
            "文件: trips/oslo.md\n▌ 内容: 咖啡",
        ],
    );
    let agree = format!("yes {}", code(&work.ok(&["say", "yes"])));
    work.ok(&["say", &agree]);
    let files = work.path("react-data/files");
    let read = std::fs::read_to_string(files.join("trips/oslo.md"));
    assert_eq!(read.expect("it is written"), "咖啡");
    assert!(!files.join("trips/list.md").exists());
}

#[tokio::test]
async fn what_a_client_named_is_read_exported_and_deleted_by_the_command_line() {
    let work = program();
    let name = "../it's a \"trip\"";
    let server = work.server(&["serve", "--listen", "127.0.0.1:0"]);
    let body = serde_json::json!({ "thread": name, "text": "2 + 2" }).to_string();
    let said = fugato_testkit::Server::ask(server.address(), ("POST", "/sse/react"), &[], &body);
    let (status, told) = said.await.expect("an answer");
    assert!(status == 200 && told.contains("2 + 2 = 4"), "{told}");
    let thread = ["--thread", name];
    let at = |command: &[&str]| work.ok(&[&thread[..], command].concat());
    assert_contains(&at(&["history"]), "2 + 2 = 4");
    let parked = at(&["say", "write a.md: tea"]);
    assert_contains(&parked, r#"--thread '../it'\''s a "trip"' say"#);
    assert_eq!(at(&["export"]), "written: export\n");
    assert!(work.path("export/log.jsonl").exists());
    assert_eq!(
        work.ok(&["delete", name, "--yes"]),
        format!("deleted: {name}\n")
    );
    assert_eq!(work.ok(&["threads"]), "");
    assert_contains(&work.err(&["--thread", "", "history"]), "1 to 200 bytes");
}

/// A server of the binary, which is ended when it is dropped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    address: String,
}

impl Serving {
    pub(crate) fn start(work: &TestProgram, args: &[&str]) -> Self {
        let args = [&["serve", "--listen", "127.0.0.1:0"], args].concat();
        let mut command = work.command(&args);
        command.env("CLIENT_KEY", "s3cret").stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("open http://").unwrap();
        let address = address.trim_end_matches('/').to_owned();
        Self { child, address }
    }

    fn ask(&self, request: &str) -> String {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, path: &str, head: &str) -> String {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\n{head}connection: close\r\n\r\n"
        ))
    }

    fn complete(&self, words: &str, head: &str) -> String {
        let body = format!(
            r#"{{"model": "react", "messages": [{{"role": "user", "content": "{words}"}}]}}"#
        );
        self.ask(&format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{head}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn it_is_served_with_a_page_and_the_protocols_to_its_own_machine() {
    let work = program();
    let serving = Serving::start(&work, &[]);
    let page = serving.get("/", "host: localhost\r\n");
    assert!(page.contains("<!doctype html>"), "{page}");
    let answer = serving.complete("6 * 7", "");
    assert!(answer.contains("6 * 7 = 42"), "{answer}");
    // A foreign page whose name resolves to this machine is refused.
    let foreign = serving.get("/", "host: evil.example\r\n");
    assert!(foreign.starts_with("HTTP/1.1 421"), "{foreign}");
}

#[cfg(unix)]
#[test]
fn a_server_with_a_key_lets_in_who_knows_it_and_ends_in_peace() {
    let work = program();
    let mut serving = Serving::start(&work, &["--client-key-env", "CLIENT_KEY"]);
    let denied = serving.complete("6 * 7", "authorization: Bearer wrong\r\n");
    assert!(denied.starts_with("HTTP/1.1 401"), "{denied}");
    let answer = serving.complete("6 * 7", "authorization: Bearer s3cret\r\n");
    assert!(answer.contains("6 * 7 = 42"), "{answer}");
    // The counters of everybody are for who knows the key, too; only that it lives is for all.
    for (path, key, status) in [
        ("/metrics", "", 401),
        ("/metrics", "authorization: Bearer wrong\r\n", 401),
        ("/metrics", "authorization: Bearer s3cre\r\n", 401),
        ("/metrics", "authorization: s3cret\r\n", 401),
        ("/metrics", "authorization: Bearer s3cret\r\n", 200),
        ("/health", "", 200),
    ] {
        let told = serving.get(path, &format!("host: localhost\r\n{key}"));
        let line = format!("HTTP/1.1 {status} ");
        assert!(told.starts_with(&line), "{path} {key:?}: {told}");
        let counts = told.contains("# TYPE ");
        assert_eq!(
            counts,
            path == "/metrics" && status == 200,
            "{key:?}: {told}"
        );
    }
    let pid = serving.child.id().to_string();
    let told = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(told.success() && serving.child.wait().unwrap().success());
}

#[test]
fn what_a_client_says_was_said_before_reaches_the_model() {
    let cards = [
        ("write a.md: tea", "a.md is written: 3 bytes"),
        ("写入 b.md：茶", "已写入 b.md：3 字节"),
    ];
    check_stock_client(&program(), &cards);
}

/// A model that hangs, or says a letter a second, keeps nobody waiting beyond its limits.
#[test]
fn rct_w4_a_model_that_hangs_or_drips_is_waited_for_as_long_as_the_flags_say() {
    check_patience(&program(), ["tell me about the sea", "给我讲讲大海"]);
}

/// The command line takes each name of a conversation that a server takes.
#[test]
fn rct_w4_names_that_a_server_takes_are_told_exported_and_deleted() {
    check_names(&program());
}

/// Nobody is asked to agree to what cannot be done: by rules, and by a model.
#[test]
fn rct_10_a_write_that_is_refused_in_any_case_asks_nobody() {
    for (words, told) in [
        ("write ../../x: tea", "lies outside of the folder"),
        ("写入 ../../x：茶", "在文件夹之外"),
        ("write files/: tea", "is no file"),
    ] {
        let work = program();
        let folder = work.path("react-data/files/files");
        std::fs::create_dir_all(folder).unwrap();
        let said = work.ok(&["say", words]);
        assert_contains(&said, told);
        assert_lacks(&said, ["--card", "▌"]);
        let call = ("write_file", json!({ "path": "../../x", "text": "tea" }));
        let call = ModelAnswer::calls(&[call]);
        let model = ModelServer::in_turn([call, ModelAnswer::text("All done.", "stop")]);
        let said = model.run(&work, &["--thread", "two", "say", words]);
        assert_lacks(&said, ["--card", "▌"]);
    }
    let work = program();
    let gone = ModelAnswer::calls(&[("forget", json!({ "note": "I drink tea" }))]);
    let model = ModelServer::in_turn([gone, ModelAnswer::text("Hm.", "stop")]);
    let said = model.run(&work, &["say", "forget my tea"]);
    assert_lacks(&said, ["--card", "▌"]);
}

/// The command line that a card names answers it.
#[test]
fn rct_w4_what_a_card_says_of_the_command_line_answers_it() {
    check_hint(&program(), "write a.md: tea", "a.md is written");
    check_hint(&program(), "写入 a.md：茶", "已写入 a.md");
}

/// Commands that only read do so where nothing can be written.
#[test]
fn rct_w4_reading_commands_work_where_nothing_can_be_written() {
    check_reading(&program(), "write a.md: tea", &[]);
}

/// A line that cannot be read is refused in the language of the person.
#[test]
fn a_wrong_command_line_is_told_in_the_language_of_the_person() {
    check_wrong_lines(
        &program(),
        &[
            (&["--tools", "nose"], &["nose", "calculator"]),
            (&["--max-steps", "-1"], &["-1"]),
        ],
    );
}

/// Refusals of the command line are in Chinese in a Chinese conversation.
#[test]
fn what_the_command_line_refuses_is_told_in_the_language_of_the_person() {
    check_chinese_refusals(&program());
}
