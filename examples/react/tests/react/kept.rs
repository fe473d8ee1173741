//! The files that the real binary leaves, and copies of them.
use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Child, Command},
};

use fugato::{
    sqlite::SqliteLog,
    state::ThreadId,
    store::{Commit, Expect, Record, Status, ThreadLog as _},
};
use fugato_testkit::{TestProgram, assert_contains};

use crate::cli::Serving;

fn program() -> TestProgram {
    TestProgram::new(env!("CARGO_BIN_EXE_react"))
}

/// The names of what lies in a folder and belongs to the log.
fn log_files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("threads")).collect();
    names.sort();
    names
}

fn send(signal: &str, child: &Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status();
    assert!(sent.unwrap().success());
}

fn verify(path: &Path) -> SqliteLog {
    let log = SqliteLog::open(path).unwrap();
    futures::executor::block_on(log.verify()).unwrap();
    log
}

#[test]
fn a_clean_exit_leaves_one_file() {
    let work = program();
    let data = work.path("react-data");
    work.ok(&["say", "1 + 1"]);
    assert_eq!(log_files(&data), ["threads.db"]);
    work.ok(&["history"]);
    work.typed(&["chat"], "2 + 2\n");
    assert_eq!(log_files(&data), ["threads.db"]);
    let mut serving = Serving::start(&work, &[]);
    work.ok(&["say", "3 + 3"]);
    assert_eq!(log_files(&data).len(), 3, "the server has it open");
    send("-TERM", &serving.child);
    assert!(serving.child.wait().unwrap().success());
    assert_eq!(log_files(&data), ["threads.db"]);
}

#[test]
fn a_signal_amid_a_request_leaves_one_file() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let work = program();
        let model = ["--base-url", &url, "--model", "m", "say", "hello"];
        let mut child = work
            .command(&model)
            .env("OPENAI_API_KEY", "k")
            .spawn()
            .unwrap();
        // The model is being asked, and will never answer.
        let (_asked, _) = silent.accept().unwrap();
        send(signal, &child);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(log_files(&work.path("react-data")), ["threads.db"]);
        let goes_on = work.ok(&["say", "1 + 1"]);
        assert_contains(&goes_on, "1 + 1 = 2");
    }
}

#[test]
fn a_damaged_write_ahead_log_begins_no_new_conversation() {
    let work = program();
    let mut serving = Serving::start(&work, &[]);
    work.ok(&["say", "1 + 1"]);
    serving.child.kill().unwrap();
    serving.child.wait().unwrap();
    let log = work.path("react-data/threads.db-wal");
    let whole = fs::read(&log).unwrap();
    let last = whole.len() - 1;
    for at in [0, 20, 1_000, 5_000, last] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        fs::write(&log, &damaged).unwrap();
        for args in [
            &["say", "2 + 2"][..],
            &["history"],
            &["threads"],
            &["backup", "b"],
        ] {
            let told = work.err(args);
            assert_contains(
                &told,
                [
                    "threads.db-wal: the write-ahead log is damaged",
                    "put back a copy",
                ],
            );
        }
        assert!(fs::read(&log).unwrap() == damaged, "byte {at}");
    }
    assert!(!work.path("b").exists());
    fs::write(&log, &whole).unwrap();
    assert_contains(&work.ok(&["threads"]), "default  finished  1 + 1");
    assert_eq!(log_files(&work.path("react-data")), ["threads.db"]);
}

#[test]
fn a_backup_is_written_while_many_write_and_replaces_nothing_unasked() {
    let work = program();
    work.ok(&["say", "--yes", "write list.md: tea"]);
    let _serving = Serving::start(&work, &[]);
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let name = format!("talk-{writer}");
            let say = |words: &str| work.ok(&["--thread", &name, "say", words]);
            say("1 + 1");
            let all = (0..3).map(|number| format!("{number} + 1"));
            let mut sayings = vec![];
            for words in all {
                let args = ["--thread", &name, "say", &words];
                sayings.push(work.command(&args).spawn().unwrap());
            }
            (name.clone(), sayings)
        })
        .collect();
    let copied = work.ok(&["backup", "copies/today"]);
    assert_contains(&copied, ["written: ", "copies/today"]);
    for (_, sayings) in writers {
        for mut said in sayings {
            // Of three that say something in one conversation at once, some are refused.
            said.wait().unwrap();
        }
    }
    let copy = work.path("copies/today");
    assert_eq!(log_files(&copy), ["threads.db"]);
    assert_eq!(
        fs::read_to_string(copy.join("files/list.md")).unwrap(),
        "tea"
    );
    drop(verify(&copy.join("threads.db")));
    let listed = work.ok(&["--dir", "copies/today", "threads"]);
    for writer in 0..4 {
        assert_contains(&listed, &*format!("talk-{writer}"));
    }
    let goes_on = work.ok(&["--dir", "copies/today", "say", "6 * 7"]);
    assert_contains(&goes_on, "6 * 7 = 42");

    let refused = work.err(&["backup", "copies/today"]);
    assert_contains(
        &refused,
        "copies/today is there already; name another folder, or --overwrite",
    );
    work.ok(&["backup", "--overwrite", "copies/today"]);
    fs::create_dir(work.path("mine")).unwrap();
    fs::write(work.path("mine/letter"), "dear").unwrap();
    let refused = work.err(&["backup", "--overwrite", "mine"]);
    assert_contains(&refused, "is no older copy");
    assert!(work.path("mine/letter").exists());
    for own in ["react-data", "."] {
        let refused = work.err(&["backup", "--overwrite", own]);
        assert_contains(&refused, "holds what is to be copied");
    }
    // A folder within that of the program does not copy itself.
    work.ok(&["backup", "react-data/kept"]);
    work.ok(&["backup", "--overwrite", "react-data/kept"]);
    let within = fs::read_dir(work.path("react-data/kept")).unwrap();
    assert!(within.flatten().all(|entry| entry.file_name() != "kept"));
    assert_contains(&program().err(&["backup", "b"]), "there is nothing to copy");
}

#[test]
fn a_backup_that_is_killed_leaves_no_copy_and_harms_nothing() {
    let work = program();
    work.ok(&["say", "1 + 1"]);
    let path = work.path("react-data/threads.db");
    let log = verify(&path);
    let large = ThreadId::new("large").unwrap();
    for head in 0..60 {
        let commit = Commit {
            expect: Expect { head, fence: 0 },
            nonce: u128::from(head),
            records: vec![Record(vec![b'x'; 1 << 20])],
            status: Status::Idle,
            base: None,
        };
        futures::executor::block_on(log.append(&large, &commit)).unwrap();
    }
    drop(log);
    let part = work.path("copy.part/threads.db");
    let mut child = work.command(&["backup", "copy"]).spawn().unwrap();
    while !fs::metadata(&part).is_ok_and(|copy| copy.len() > 1 << 20) {
        assert!(child.try_wait().unwrap().is_none(), "it was faster");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!work.path("copy").exists());
    drop(verify(&path));
    let told = work.err(&["backup", "copy"]);
    assert_contains(&told, ["copy.part is there already", "--overwrite"]);
    work.ok(&["backup", "--overwrite", "copy"]);
    assert!(!work.path("copy.part").exists());
    let copy = verify(&work.path("copy/threads.db"));
    let head = futures::executor::block_on(copy.head(&large)).unwrap();
    assert_eq!(head.map(|head| head.seq), Some(60));
}

/// Writes a file on a disk with less and less space, and then on one that has some again. What each
/// step says stands below a line with its name and its status.
const FILLED: &str = r#"
step() { name=$1; shift; said=$("$0" "$@" 2>&1); printf '@@ %s %s\n%s\n' "$name" "$?" "$said"; }
step first say --yes 'write first.md: tea'
for free in 1024 256 128 64 48 32 24 16 12 8 4 0; do
  left=$(df -Pk . | awk 'NR == 2 { print $4 }')
  head -c "$(( (left > free ? left - free : 0) * 1024 ))" /dev/zero >filler
  step "$free" --thread "of $free" say --yes "写入 f$free.md：牛奶"
  rm filler
done
step again --thread 'of 0' say --yes 'write again.md: milk'
step check check
for file in react-data/files/*; do printf '@@ %s 0\n%s\n' "${file##*/}" "$(cat "$file")"; done
"#;

/// On a full disk nothing is lost that was said to be done, what was not done is said, and with some
/// space it goes on.
#[test]
fn a_full_disk_loses_nothing_that_was_said_to_be_done() {
    let Some(ran) = program().on_small_disk(4096, FILLED) else {
        servers::skipped("nobody may mount a small disk here");
        return;
    };
    let steps = ran.out.split("@@ ").skip(1).map(|step| {
        let (head, said) = step.split_once('\n').unwrap();
        let (name, status) = head.rsplit_once(' ').unwrap();
        (name, (status, said.trim()))
    });
    let steps: std::collections::BTreeMap<_, _> = steps.collect();
    assert_eq!(steps["first.md"].1, "tea", "{ran:?}");
    let (mut done, mut refused) = (0, 0);
    for free in [1024, 256, 128, 64, 48, 32, 24, 16, 12, 8, 4, 0] {
        let (status, said) = steps[&*free.to_string()];
        let file = steps.get(&*format!("f{free}.md")).map(|(_, text)| *text);
        if said.contains(&format!("已写入 f{free}.md")) {
            assert_eq!((status, file), ("0", Some("牛奶")), "{free}: {said}");
            done += 1;
        } else {
            // A store that cannot be opened knows of no conversation, and of no language.
            let is_told = said.contains("空间") || said.contains("cannot open: no space is left");
            assert!(is_told, "{free}: {said}");
            // A file that was not finished is not there.
            assert!(matches!(file, None | Some("牛奶")), "{free}: {file:?}");
            refused += 1;
        }
    }
    assert!(done > 0 && refused > 0, "{ran:?}");
    assert_eq!(steps["again.md"].1, "milk", "{ran:?}");
    assert_eq!(steps["check"].0, "0", "{ran:?}");
}
