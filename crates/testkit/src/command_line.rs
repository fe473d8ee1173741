//! The command line of a program: whatever the server takes, and wherever it can only read.
use fugato_state::Lang;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::{Server, TestProgram, assert_contains, language::foreign};

/// Names of conversations that a server takes and that are no plain words.
const NAMES: [&str; 6] = ["../../x", "a b", "🦊狐狸", "-x", "..", "it's a \"trip\""];

/// Checks that what a client named is told, exported and deleted by the command line.
///
/// # Panics
/// Panics if that is not so.
pub fn check_names(program: &TestProgram) {
    let runtime = Runtime::new().expect("a runtime");
    let server = program.server(&["serve", "--listen", "127.0.0.1:0"]);
    for name in NAMES {
        let body = json!({ "thread": name, "text": "hello" }).to_string();
        let said = Server::ask(server.address(), ("POST", "/sse/react"), &[], &body);
        let (status, told) = runtime.block_on(said).expect("an answer");
        assert_eq!(status, 200, "{name:?}: {told}");
    }
    drop(server);
    let beside = || {
        let names = std::fs::read_dir(program.folder()).expect("a folder");
        let names = names.map(|it| it.expect("an entry").file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    let before = beside();
    let listed = program.run(&["threads"]).out;
    for name in NAMES {
        assert_contains(&listed, name);
        let thread = format!("--thread={name}");
        let at = |command: &[&str]| {
            let ran = program.run(&[&[thread.as_str()], command].concat());
            assert!(ran.well, "{name:?} {command:?}: {ran:?}");
            ran.out
        };
        assert_contains(&at(&["history"]), "hello");
        at(&["show", "2"]);
        at(&["trace"]);
        let to = at(&["export"]);
        let (_, to) = to.trim().split_once(": ").expect("it says where");
        assert!(!to.contains('/'), "{name:?} is exported to {to}");
        let to = program.path(to);
        assert!(to.join("log.jsonl").exists(), "{name:?}");
        std::fs::remove_dir_all(to).expect("it is removed");
        let deleted = program.run(&["delete", "--yes", "--", name]);
        assert!(deleted.well, "{name:?}: {deleted:?}");
        assert_eq!(beside(), before, "{name:?} leads somewhere else");
    }
    assert_eq!(program.run(&["threads"]).out, "");
}

/// Checks that a card says how the command line answers it, that just this does so, and that words with
/// the code do so in the language of the conversation, whatever that of the system is. `words` end with
/// a card, and `done` is told once the person has agreed.
///
/// # Panics
/// Panics if that is not so.
pub fn check_hint(program: &TestProgram, words: &str, done: &str) {
    let asked = program.run(&["say", words]).told();
    let (_, hint) = asked.split_once("--answer '").expect("it says how");
    let (answer, rest) = hint.split_once('\'').expect("the answer ends");
    let (_, code) = rest.split_once("--card ").expect("it names the card");
    let code: String = code.chars().take(4).collect();
    let told = program.run(&["say", "--answer", answer, "--card", &code]);
    assert_contains(&told.told(), done);
    let lang = Lang::of(words);
    for (folder, system) in [("english", "C"), ("chinese", "zh_CN.UTF-8")] {
        let say = |said: &str| {
            let mut command = program.command(&["--dir", folder, "say", said]);
            let ran = command.env("LC_ALL", system).output().expect("it runs");
            assert!(ran.status.success(), "{said}: {ran:?}");
            String::from_utf8(ran.stdout).expect("it says words")
        };
        let asked = say(words);
        let (_, code) = asked.rsplit_once("--card ").expect("it names the card");
        let yes = format!("yes {}", code.get(..4).expect("a code"));
        let told = say(&yes);
        assert_contains(&told, done);
        assert_eq!(foreign(lang, &told, words), None, "{system}: {told}");
    }
}

/// Checks that commands that only read do so where nothing can be written, and that the others say
/// so. `words` end with a card.
///
/// # Panics
/// Panics if that is not so.
pub fn check_reading(program: &TestProgram, words: &str, more: &[&[&str]]) {
    let asked = program.run(&["say", words]);
    assert!(asked.well, "{asked:?}");
    let own: [&[&str]; 8] = [
        &["threads"],
        &["history"],
        &["history", "--full"],
        &["show", "2"],
        &["trace", "--full"],
        &["card"],
        &["graph"],
        &["check"],
    ];
    for command in own.iter().chain(more) {
        let usual = program.run(command);
        let Some(ran) = program.read_only(command) else {
            return;
        };
        assert!(ran.well && usual.well, "{command:?}: {ran:?} {usual:?}");
        assert_eq!(ran.out, usual.out, "{command:?}");
    }
    if let Some(said) = program.read_only(&["say", "hello"]) {
        assert!(!said.well, "{said:?}");
        assert_contains(&said.err, "can only be read");
    }
}

/// Lines that no program takes, with what their error has to name: what is wrong, and what is allowed.
const WRONG: [(&[&str], &[&str]); 19] = [
    (&["--bogus"], &["--bogus"]),
    (&["frobnicate"], &["frobnicate"]),
    (&["thread"], &["thread", "threads"]),
    (&["--lang", "fr"], &["fr", "en", "zh"]),
    (&["--model-time", "0"], &["--model-time", "1..=86400"]),
    (&["--model-time", "soon"], &["soon", "--model-time"]),
    (&["--context"], &["--context"]),
    (&["--provider", "other"], &["other", "openai", "anthropic"]),
    (&["--model", "m"], &["--base-url"]),
    (&["--keep-finished", "2w"], &["2w", "forever", "2h"]),
    (&["--person", "../x"], &["../x", "ada@acme"]),
    (&["--typing", "--typing"], &["--typing"]),
    (&["people"], &["people", "add", "list"]),
    (&["show"], &["SEQ"]),
    (&["show", "first"], &["first", "SEQ"]),
    (&["serve", "--listen", "here"], &["here", "127.0.0.1:8080"]),
    (
        &["people", "add", "ada", "--role", "king"],
        &["king", "approver"],
    ),
    (
        &["say", "--yes", "--answer", "true"],
        &["--yes", "--answer"],
    ),
    (&["say", "--answer", "{"], &["{", "true"]),
];

/// Checks that a line that cannot be read is refused with the code 2, in the language that it or the
/// system names, and names what is wrong; `own` are such lines of this program.
///
/// # Panics
/// Panics if that is not so.
pub fn check_wrong_lines(program: &TestProgram, own: &[(&[&str], &[&str])]) {
    let refused = |args: &[&str], system: &str| {
        let mut command = program.command(args);
        let done = command.env("LC_ALL", system).output().expect("it runs");
        assert_eq!(done.status.code(), Some(2), "{args:?}: {done:?}");
        assert!(done.stdout.is_empty(), "{args:?}: {done:?}");
        String::from_utf8(done.stderr).expect("it says words")
    };
    for (line, named) in WRONG.iter().chain(own) {
        let mut lines = vec![
            (Lang::En, refused(line, "C")),
            (Lang::Zh, refused(line, "zh_CN.UTF-8")),
        ];
        if !line.contains(&"--lang") {
            let zh = [line, &["--lang=zh"][..]].concat();
            let en = [&["--lang", "en"], *line].concat();
            lines.push((Lang::Zh, refused(&zh, "C")));
            lines.push((Lang::En, refused(&en, "zh_CN.UTF-8")));
        }
        for (lang, told) in lines {
            assert_eq!(
                foreign(lang, &told, &line.join(" ")),
                None,
                "{line:?}: {told}"
            );
            for name in *named {
                assert!(told.contains(name), "{line:?} does not name {name}: {told}");
            }
        }
    }
    let help = program.command(&["--lang", "zh", "--help"]).output();
    assert!(help.expect("it runs").status.success());
}

/// Checks that what the command line refuses in a Chinese conversation is told in Chinese, whatever the
/// system speaks.
///
/// # Panics
/// Panics if that is not so.
pub fn check_chinese_refusals(program: &TestProgram) {
    let begun = program.run(&["say", "你好"]);
    assert!(begun.well, "{begun:?}");
    std::fs::write(program.path("a-file"), "").expect("it is written");
    let serving = program.server(&["serve", "--listen", "127.0.0.1:0"]);
    let lines: [&[&str]; 13] = [
        &["fork", "1", "other"],
        &["fork", "4711", "other"],
        &["fork", "2", "default"],
        &["show", "4711"],
        &["--thread", "nowhere", "history"],
        &["--store", "ftp://host/x", "say", "你好"],
        &["--store", "nowhere/x.db", "threads"],
        &["--dir", "a-file", "say", "你好"],
        &["--dir", "a-file/in", "say", "你好"],
        &["export", "."],
        &["export", "a-file"],
        &["delete", "default"],
        &["serve", "--listen", serving.address()],
    ];
    for line in lines {
        let told = program.err(&[line, &["--lang", "zh"]].concat());
        let given = format!("{} {}", line.join(" "), program.folder().display());
        assert_eq!(foreign(Lang::Zh, &told, &given), None, "{line:?}: {told}");
    }
}
