//! Tests of models that are configured and do not answer, through the binary: the person gets the
//! notice at once; and of files, which come by the terminal.
use std::{
    fs,
    path::Path,
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
    fs::write(&receipt, b"%PDF-1.4 taxi").unwrap();
    let no_pdf = program.path("note.pdf");
    fs::write(&no_pdf, b"just words").unwrap();
    let (receipt, no_pdf) = (receipt.display().to_string(), no_pdf.display().to_string());
    let refused = program.err(&["attach", &no_pdf]);
    assert_contains(&refused, "note.pdf is not what its name says");
    assert_contains(&program.ok(&["attach", &receipt]), "收据.pdf (13 B)");
    let told = program.ok(&["say", "报销昨天的打车费86.5元"]);
    assert_contains(&told, "收据.pdf (13 B)");
    let open = program.path("steward-data/attachments/open");
    assert_eq!(fs::read_dir(&open).unwrap().count(), 1);
    program.ok(&["delete", "default", "--yes"]);
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);

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

/// A link in the folder of a conversation, which leads into that of somebody else, is no file of it:
/// neither is it exported nor does a copy of the conversation have what is behind it.
#[cfg(unix)]
#[test]
fn stw_21_a_link_among_attachments_leads_to_nobody_else() {
    use std::os::unix::fs::symlink;
    let program = TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    for name in ["ann", "bob"] {
        program.ok(&["people", "add", name]);
        let file = format!("{name}.pdf");
        fs::write(program.path(&file), format!("%PDF-1.4 of {name}")).expect("it is written");
        program.ok(&["--person", name, "attach", &file]);
    }
    let open = |name: &str| {
        let open = program
            .path("steward-data/@people")
            .join(name)
            .join("attachments/open");
        let mut entries = fs::read_dir(open).expect("files wait");
        entries
            .next()
            .expect("a conversation")
            .expect("readable")
            .path()
    };
    let (ann, bob) = (open("ann"), open("bob"));
    let contents = |place: &Path| {
        let entries = fs::read_dir(place).expect("files wait");
        let paths = entries.map(|entry| entry.expect("readable").path());
        paths.collect::<Vec<_>>()
    };
    // The content of his own file is hers, and so are more files of his.
    for path in contents(&bob) {
        if path.extension().is_none() {
            fs::remove_file(&path).expect("it is removed");
            let hers = contents(&ann)
                .into_iter()
                .find(|it| it.extension().is_none());
            symlink(hers.expect("a file"), &path).expect("a link");
        }
    }
    for path in contents(&ann) {
        let name = path.file_name().expect("a name");
        symlink(&path, bob.join(name)).expect("a link");
    }
    let has_hers = |folder: &Path| {
        contents(folder).iter().any(|path| {
            let content = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&content).contains("of ann")
        })
    };
    let his = |rest: &[&str]| program.run(&[&["--person", "bob"], rest].concat());
    his(&["say", "hello"]);
    let exported = his(&["export", "out"]);
    assert!(
        !program.path("out").is_dir() || !has_hers(&program.path("out")),
        "{exported:?}"
    );
    his(&["fork", "2", "other"]);
    for place in contents(bob.parent().expect("a folder")) {
        assert!(place == bob || !has_hers(&place), "{}", place.display());
    }
    // Nor does a folder that is a link itself.
    fs::remove_dir_all(&bob).expect("it is removed");
    symlink(&ann, &bob).expect("a link");
    his(&["export", "more"]);
    assert!(!program.path("more").is_dir() || !has_hers(&program.path("more")));
}
