//! Tests of models that are configured and do not answer, through the binary: the person gets the
//! notice at once; and of files, which come by the terminal.
use std::{
    thread,
    time::{Duration, Instant},
};

use fugato_testkit::{FaultyServer, ModelServer, ServerFault, TestProgram, assert_contains};

#[test]
fn stw_11_a_named_model_that_fails_is_said_at_once_with_the_reason() {
    let program = || TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    for (server, en, zh) in ModelServer::failing() {
        let url = server.url();
        let named = ["--base-url", &url, "--model", "mini", "say"];
        let says = |words: &str| program().ok(&[&named[..], &[words]].concat());
        let told = says("what is the weather like?");
        assert_contains(&told, [en, "I go on by rules."]);
        assert_contains(&told, "I could not read this request, and did nothing.");
        let told = says("今天天气怎么样");
        assert_contains(&told, [zh, "我改按规则继续。"]);
        assert_contains(&told, "这个请求没能读懂");
    }
}

/// However a model and its backup hang, a person waits no longer than for three answers of ten
/// seconds, is told which of them did not answer, and is served by rules.
#[test]
fn stw_11_models_that_hang_cost_a_person_half_a_minute_and_are_told() {
    const MOST: Duration = Duration::from_secs(45);
    let faults = [
        ServerFault::Hangs,
        ServerFault::HangsMidway,
        ServerFault::Drip(Duration::from_millis(200)),
        ServerFault::Comments(Duration::from_millis(200)),
    ];
    let waiting = faults.map(|fault| {
        thread::spawn(move || {
            let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
            let [main, backup] = [fault, fault].map(FaultyServer::start);
            let named = ["--base-url", main.url(), "--model", "mini"];
            let backups = ["--backup-base-url", backup.url(), "--backup-model", "maxi"];
            let words = "Sort out three days in Rome for me";
            let began = Instant::now();
            let told = program.ok(&[&named[..], &backups, &["say", words]].concat());
            let took = began.elapsed();
            assert!(took < MOST, "{fault:?}: {took:?}");
            assert_contains(&told, ["did not answer", "I go on by rules."]);
            assert_contains(&told, "I could not read this request, and did nothing.");
        })
    });
    for waiting in waiting {
        waiting.join().unwrap();
    }
}

/// A file comes by a command or by its path in words, and goes with the conversation.
#[test]
fn stw_21_files_come_from_the_terminal_and_go_with_the_conversation() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    let receipt = program.path("收据.pdf");
    std::fs::write(&receipt, b"%PDF-1.4 taxi").unwrap();
    let no_pdf = program.path("note.pdf");
    std::fs::write(&no_pdf, b"just words").unwrap();
    let (receipt, no_pdf) = (receipt.display().to_string(), no_pdf.display().to_string());
    let refused = program.err(&["attach", &no_pdf]);
    assert_contains(&refused, "note.pdf is not what its name says");
    assert_contains(&program.ok(&["attach", &receipt]), "收据.pdf (13 B)");
    let told = program.ok(&["say", "报销昨天的打车费86.5元"]);
    assert_contains(&told, "收据.pdf (13 B)");
    let open = program.path("steward-data/attachments/open");
    assert_eq!(std::fs::read_dir(&open).unwrap().count(), 1);
    program.ok(&["delete", "default", "--yes"]);
    assert_eq!(std::fs::read_dir(&open).unwrap().count(), 0);

    let words = format!("报销昨天的午饭45元，附件{receipt}");
    let told = program.ok(&["--thread", "other", "say", &words]);
    assert_contains(&told, "收据.pdf (13 B)");

    // A person's file is theirs, from the command to the card.
    program.ok(&["people", "add", "ann", "--role", "person"]);
    let ann = |rest: &[&str]| program.ok(&[&["--person", "ann"], rest].concat());
    ann(&["attach", &receipt]);
    let told = ann(&["say", "报销昨天的打车费86.5元"]);
    assert_contains(&told, "收据.pdf (13 B)");
}
