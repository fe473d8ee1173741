//! The real binary with real tool servers, and a model server that calls their tools by a script.
//! Where these are not installed there is nothing to call.
use std::path::Path;

use fugato_testkit::{FinishedProgram, TestProgram, assert_contains};
use serde_json::{Value, json};
use servers::{Aimock, Mcp, Server};

/// Returns a model server that answers each wish with one call, and then with words.
fn model(wishes: &[(&str, &str, Value, &str)]) -> Option<Server> {
    let at = |wish: &str, index: u32, response: Value| json!({ "match": { "userMessage": wish, "sequenceIndex": index }, "response": response });
    let both = wishes
        .iter()
        .enumerate()
        .flat_map(|(n, (wish, tool, arguments, words))| {
            let call =
                json!({ "id": format!("c{n}"), "name": tool, "arguments": arguments.to_string() });
            [
                at(wish, 0, json!({ "toolCalls": [call] })),
                at(wish, 1, json!({ "content": words })),
            ]
        });
    Aimock::start(&json!({ "fixtures": both.collect::<Vec<_>>() }).to_string())
}

struct McpFixture {
    program: TestProgram,
    mcp: Mcp,
}

impl McpFixture {
    fn new() -> Option<Self> {
        let program = TestProgram::new(env!("CARGO_BIN_EXE_react"));
        let program = program.env("OPENAI_API_KEY", "sk-tools-0123456789");
        let mcp = Mcp::installed()?;
        Some(Self { program, mcp })
    }

    fn run(&self, args: &[&str]) -> (bool, String) {
        let ran = self.program.run(args);
        (ran.well, ran.told())
    }

    /// Says something to the assistant with this model and these tools, and agrees to everything.
    fn says(&self, model: &Server, tools: [&str; 2], said: &str) -> String {
        let [flag, server] = tools;
        let flags = ["--base-url", model.url(), "--model", "small", flag, server];
        let (well, told) = self.run(&[&flags[..], &["say", "--yes", said]].concat());
        assert!(well, "{told}");
        told
    }

    /// The command line of a server of our own, whose program has this name.
    fn rough(&self, name: &str) -> String {
        let program = self.program.path(name);
        if !program.exists() {
            std::os::unix::fs::symlink(self.mcp.node(), &program).unwrap();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rough.mjs");
        let notes = self.notes();
        let words: [&Path; 4] = [&program, &script, self.mcp.kit(), &notes];
        let quoted = words.map(|word| format!("'{}'", word.display()));
        quoted.join(" ")
    }

    fn notes(&self) -> std::path::PathBuf {
        self.program.path("notes")
    }

    fn written(&self) -> String {
        std::fs::read_to_string(self.notes()).unwrap_or_default()
    }
}

#[test]
fn the_tools_of_the_reference_server_are_called_as_a_program_and_over_http() {
    let Some(desk) = McpFixture::new() else {
        return;
    };
    let over_http = desk.mcp.everything_over_http();
    let url = format!("{}/mcp", over_http.url());
    let program = desk.mcp.everything();
    let ways = [
        (["--mcp", &*program], "node_get-sum"),
        (["--mcp-url", &*url], "127_0_0_1_get-sum"),
    ];
    for (tools, name) in ways {
        let sum = json!({ "a": 17, "b": 25 });
        let wish = ("How much is it together?", name, sum, "It is forty-two.");
        let Some(model) = model(&[wish]) else { return };
        let told = desk.says(&model, tools, "How much is it together?");
        assert!(told.contains("The sum of 17 and 25 is 42."), "{told}");
        assert!(told.contains("It is forty-two."), "{told}");
    }
}

#[test]
fn a_server_that_dies_amid_a_call_has_written_once_and_comes_back() {
    let Some(desk) = McpFixture::new() else {
        return;
    };
    let Some(model) = model(&[
        (
            "Note milk",
            "rough_die",
            json!({ "text": "milk" }),
            "Nobody knows whether it was noted.",
        ),
        (
            "Note tea",
            "rough_append",
            json!({ "text": "tea" }),
            "It is noted.",
        ),
    ]) else {
        return;
    };
    let server = desk.rough("rough");
    let told = desk.says(&model, ["--mcp", &server], "Note milk");
    assert_contains(&told, "rough_die failed: the server `rough` stopped");
    desk.run(&["export", "kept"]);
    let kept = std::fs::read_dir(desk.program.path("kept")).unwrap();
    let kept = kept.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap_or_default());
    let kept: String = kept.collect();
    assert_contains(&kept, "it is not known whether `die` was carried out");
    assert_contains(&told, "Nobody knows whether it was noted.");
    assert_eq!(desk.written(), "milk\n");
    let told = desk.says(&model, ["--mcp", &server], "Note tea");
    assert_contains(&told, ["wrote tea", "It is noted."]);
    assert_eq!(desk.written(), "milk\ntea\n");
}

/// The words of a server never stand for what its tool would do.
#[test]
fn k35_the_card_of_a_tool_of_others_has_its_arguments() {
    let Some(desk) = McpFixture::new() else {
        return;
    };
    let text = json!({ "text": format!("tea{}\n99999 to attacker", ", and so on".repeat(20)) });
    let Some(model) = model(&[("Note tea", "rough_append", text, "It is noted.")]) else {
        return;
    };
    let (server, url) = (desk.rough("rough"), model.url());
    let flags = ["--base-url", url, "--model", "small", "--mcp", &server];
    let (well, told) = desk.run(&[&flags[..], &["say", "Note tea"]].concat());
    assert!(well, "{told}");
    assert_contains(
        &told,
        [
            "99999 to attacker",
            "(The tool says of itself: Writes a line.)",
        ],
    );
    assert_eq!(desk.written(), "");
}

#[test]
fn a_tool_with_the_name_of_another_is_refused_with_both_names() {
    let Some(desk) = McpFixture::new() else {
        return;
    };
    // The program is called `write`, and has a tool `file`.
    let server = desk.rough("write");
    let (well, told) = desk.run(&["--mcp", &server, "say", "hello"]);
    assert!(!well && told.contains("write_file"), "{told}");
    assert_eq!(desk.written(), "");
    // Without the tool of its own there is nothing to mistake.
    let flags = ["--tools", "time", "--mcp", &server, "say", "--yes"];
    let call = "call write_file {\"text\": \"tea\"}";
    let (well, told) = desk.run(&[&flags[..], &[call]].concat());
    assert!(well && told.contains("wrote tea"), "{told}");
    assert_eq!(desk.written(), "tea\n");
}

#[test]
fn two_servers_of_one_program_are_told_apart() {
    let Some(desk) = McpFixture::new() else {
        return;
    };
    let server = desk.rough("rough");
    let flags = ["--mcp", &server, "--mcp", &server, "say", "--yes"];
    for (name, text) in [("rough_append", "milk"), ("rough-2_append", "tea")] {
        let call = format!("call {name} {{\"text\": \"{text}\"}}");
        let (well, told) = desk.run(&[&flags[..], &[&call]].concat());
        assert!(well && told.contains(&format!("wrote {text}")), "{told}");
    }
    assert_eq!(desk.written(), "milk\ntea\n");
}

/// One card, and two people who agree to it in two processes at the same time.
#[test]
fn k14_a_write_that_two_processes_confirm_at_once_is_done_once() {
    let Some(desk) = McpFixture::new() else {
        return;
    };
    let server = desk.rough("rough");
    for n in 1..=3 {
        let call = format!("call rough_append {{\"text\": \"line {n}\"}}");
        let (well, told) = desk.run(&["--mcp", &server, "say", &call]);
        assert!(well && told.contains("rough_append"), "{told}");
        let (_, code) = told.rsplit_once("--card ").expect("a card waits");
        let code = code.get(..4).expect("a code has four signs");
        let agree = ["--mcp", &server, "say", "--answer", "true", "--card", code];
        let both = desk.program.at_once(&[&agree, &agree]);
        let told: Vec<String> = both.iter().map(FinishedProgram::told).collect();
        let lines: Vec<String> = (1..=n).map(|n| format!("line {n}\n")).collect();
        assert_eq!(desk.written(), lines.concat(), "{told:?}");
        let wrote = told.iter().filter(|told| told.contains("wrote line"));
        assert_eq!(wrote.count(), 1, "{told:?}");
    }
}
