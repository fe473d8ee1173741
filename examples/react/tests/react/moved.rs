//! Conversations that move between stores by the real binary, and copies that are gone on with.
use std::{
    fs,
    time::{Duration, Instant},
};

use fugato::{
    sqlite::SqliteLog,
    state::{Lang, ThreadId},
    store::{Commit, Expect, LeaseOutcome, LeaseRequest, Record, Status, ThreadLog, absence},
};
use fugato_testkit::{TestProgram, assert_contains, assert_lacks, language::foreign};
use futures::executor::block_on;
use jiff::Timestamp;

fn program() -> TestProgram {
    TestProgram::new(env!("CARGO_BIN_EXE_react"))
}

/// Returns the error of a run under `--lang zh`, which must be Chinese.
#[track_caller]
fn refused_in_chinese(work: &TestProgram, args: &[&str]) -> String {
    let told = work.err(&[&["--lang", "zh"], args].concat());
    let given = format!("{} {}", args.join(" "), work.folder().display());
    assert_eq!(foreign(Lang::Zh, &told, &given), None, "{told}");
    told
}

fn open(work: &TestProgram, path: &str) -> SqliteLog {
    SqliteLog::open(work.path(path)).unwrap()
}

/// Returns true if a process could run the conversation in this store.
fn runs(log: &SqliteLog, thread: &ThreadId) -> bool {
    if block_on(log.head(thread)).unwrap().is_none() {
        return false;
    }
    let acquire = LeaseRequest::Acquire {
        thread: thread.clone(),
        owner: "test".into(),
        ttl: 60_000,
    };
    let Ok(LeaseOutcome::Granted(leases)) = block_on(log.lease(acquire)) else {
        return false;
    };
    let (thread, fence) = (thread.clone(), leases[0].fence);
    block_on(log.lease(LeaseRequest::Release { thread, fence })).unwrap();
    true
}

#[test]
fn k31_a_conversation_moves_to_another_file_and_goes_on_there() {
    let work = program();
    let parked = work.ok(&["say", "write list.md: tea"]);
    let (_, code) = parked.rsplit_once("--card ").expect("a card waits");
    let agree = ["say", "--answer", "true", "--card", &code[..4]];
    let moved = work.ok(&["move", "new.db"]);
    assert_contains(&moved, ["lives in ", "new.db now: default"]);
    // What was asked before is answered there.
    let there = |args: &[&str]| work.ok(&[&["--store", "new.db"], args].concat());
    there(&agree);
    let list = work.path("react-data/files/list.md");
    assert_eq!(fs::read_to_string(list).unwrap(), "tea");
    assert_contains(&there(&["say", "1 + 1"]), "1 + 1 = 2");
    for refused in [&["say", "2 + 2"][..], &agree] {
        let told = work.err(refused);
        assert_contains(
            &told,
            ["it moved from ", "react-data/threads.db to ", "new.db"],
        );
        let told = refused_in_chinese(&work, refused);
        assert_contains(&told, ["它已从 ", "移到 ", "new.db"]);
    }
    for looks in [&["threads"][..], &["history"], &["show", "2"], &["card"]] {
        assert_contains(&work.ok(looks), ["it moved from ", "new.db"]);
        let zh = work.ok(&[&["--lang", "zh"], looks].concat());
        assert_contains(&zh, ["它已从 ", "new.db"]);
        assert_lacks(&there(looks), "moved");
    }
    // Repeating it changes nothing, and it comes back.
    assert_eq!(work.ok(&["move", "new.db"]), moved);
    there(&["move", "react-data/threads.db"]);
    assert_contains(&work.ok(&["history"]), "1 + 1 = 2");
    assert_contains(&work.ok(&["say", "6 * 7"]), "6 * 7 = 42");
    assert_contains(
        &work.err(&["--store", "new.db", "say", "2 + 2"]),
        "it moved from ",
    );
    let same = work.err(&["move", "react-data/threads.db"]);
    assert_contains(&same, "name another store");
}

/// The moments at which a move is killed, over the time that one takes which nobody kills.
const MOMENTS: u32 = 40;

#[test]
fn k31_a_move_that_is_killed_at_any_moment_leaves_one_home() {
    let work = program();
    let names: Vec<_> = (0..=MOMENTS)
        .map(|moment| format!("talk {moment}"))
        .collect();
    for name in &names {
        work.ok(&["--thread", name, "say", "1 + 1"]);
    }
    let moving = |name: &str| work.command(&["--thread", name, "move", "new.db"]);
    let (undisturbed, rest) = names.split_last().unwrap();
    let begun = Instant::now();
    assert!(moving(undisturbed).output().unwrap().status.success());
    let whole = begun.elapsed();
    let mut dead = 0;
    for (moment, name) in (0..).zip(rest) {
        let thread = ThreadId::new(name).unwrap();
        let (old, new) = (open(&work, "react-data/threads.db"), open(&work, "new.db"));
        let before = block_on(old.read(&thread, 1, 1_000)).unwrap();
        for killed_again in [false, true] {
            let mut child = moving(name).spawn().unwrap();
            std::thread::sleep(whole * moment / MOMENTS);
            child.kill().unwrap();
            dead += u32::from(!child.wait().unwrap().success());
            let homes = (runs(&old, &thread), runs(&new, &thread));
            assert_ne!(homes, (true, true), "{name} {killed_again}");
        }
        work.ok(&["--thread", name, "move", "new.db"]);
        assert_eq!((runs(&old, &thread), runs(&new, &thread)), (false, true));
        assert!(block_on(absence(&old, &thread)).unwrap().is_some());
        assert_eq!(block_on(new.read(&thread, 1, 1_000)).unwrap(), before);
        let on = work.ok(&["--store", "new.db", "--thread", name, "say", "6 * 7"]);
        assert_contains(&on, "6 * 7 = 42");
        assert_contains(
            &work.err(&["--thread", name, "say", "6 * 7"]),
            "it moved from ",
        );
    }
    assert!(
        dead > MOMENTS / 4,
        "only {dead} were killed before their end"
    );
}

#[test]
fn k31_all_conversations_of_a_program_move_and_no_others() {
    let work = program();
    for name in ["one", "two", "team/three"] {
        work.ok(&["--thread", name, "say", "1 + 1"]);
    }
    let log = open(&work, "react-data/threads.db");
    let commit = Commit {
        expect: Expect { head: 0, fence: 0 },
        nonce: 1,
        records: vec![Record(b"of another program".to_vec())],
        status: Status::Idle,
        base: None,
    };
    let other = ThreadId::new("other").unwrap();
    block_on(log.append(&other, &commit)).unwrap();
    drop(log);
    let some = work.ok(&["move", "--all", "--prefix", "team/", "team.db"]);
    assert_contains(&some, "now: team/three");
    assert_lacks(&some, ["now: one", "other"]);
    let all = work.ok(&["move", "--all", "--prefix", "", "new.db"]);
    assert_contains(
        &all,
        [
            "now: one",
            "now: two",
            "stays, as this program cannot read it: other",
        ],
    );
    let here = work.run(&["--lang", "zh", "move", "--all", "new.db"]);
    // One of them lives in a third store.
    assert_contains(
        &here.told(),
        ["无法读取，留在原处：other", "它已从 ", "team.db"],
    );
    let log = open(&work, "react-data/threads.db");
    assert!(runs(&log, &other));
}

#[test]
fn k31_a_conversation_lives_in_a_folder_of_commits() {
    let work = program();
    let commits = |args: &[&str]| work.ok(&[&["--store", "file:commits"], args].concat());
    let nothing = work.err(&["--store", "file:commits", "threads"]);
    assert_contains(&nothing, "there are no conversations in file:commits");
    assert!(!work.path("commits").exists());
    assert_contains(&commits(&["say", "1 + 1"]), "1 + 1 = 2");
    assert_contains(&commits(&["threads"]), "default  finished  1 + 1");
    assert_contains(&commits(&["move", "new.db"]), "new.db now: default");
    assert_contains(
        &work.ok(&["--store", "new.db", "say", "2 + 2"]),
        "2 + 2 = 4",
    );
    let refused = work.err(&["--store", "file:commits", "say", "3 + 3"]);
    assert_contains(&refused, ["it moved from file:", "commits to ", "new.db"]);
    work.ok(&["--store", "new.db", "move", "file:commits"]);
    assert_contains(&commits(&["history"]), ["1 + 1 = 2", "2 + 2 = 4"]);
    assert_contains(&commits(&["say", "3 + 3"]), "3 + 3 = 6");
}

/// Removes the log of the program, as the loss of its disk does.
fn lose(work: &TestProgram) {
    for file in ["threads.db", "threads.db-wal", "threads.db-shm"] {
        // SQLite may have put its own files away.
        let _ = fs::remove_file(work.path(&format!("react-data/{file}")));
    }
}

#[test]
fn k31_a_conversation_that_moved_is_not_restored_from_its_copy() {
    let work = program();
    let ship = |args: &[&str]| work.ok(&[&["--ship", "file:copy"], args].concat());
    for name in ["gone", "silent", "here"] {
        ship(&["--thread", name, "say", "1 + 1"]);
    }
    ship(&["--thread", "gone", "move", "new.db"]);
    // Nobody told the copy of this one.
    let told = work.ok(&["--thread", "silent", "move", "new.db"]);
    assert_contains(&told, "its copy still has what moves: with --ship");
    lose(&work);
    let restored = ship(&["restore", "--lost"]);
    assert_contains(
        &restored,
        [
            "stays where it moved: gone (",
            "new.db",
            "goes on here: here",
        ],
    );
    let named = ["--ship", "file:copy", "restore", "--lost", "gone"];
    assert_contains(
        &work.err(&named),
        ["it moved to ", "new.db, and lives there"],
    );
    assert_contains(&refused_in_chinese(&work, &named), ["它已移到 ", "new.db"]);
    assert_contains(&ship(&["--thread", "here", "say", "2 + 2"]), "2 + 2 = 4");
}

#[test]
fn k31_a_copy_is_gone_on_with_as_of_a_time() {
    let work = program();
    let ship = ["--ship", "file:copy"];
    let say = |name: &str, words: &str| {
        work.ok(&[&ship[..], &["--thread", name, "say", words]].concat());
    };
    let before = Timestamp::now().to_string();
    say("one", "1 + 1");
    say("two", "2 + 2");
    std::thread::sleep(Duration::from_millis(20));
    let then = Timestamp::now().to_string();
    std::thread::sleep(Duration::from_millis(20));
    say("two", "3 + 3");
    say("three", "4 + 4");
    lose(&work);
    let restore = |rest: &[&'static str], at: &str| {
        [&ship[..], &["restore", "--lost", "--at", at], rest]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let refuses = |line: Vec<String>, en: &str, zh: &str| {
        let line: Vec<_> = line.iter().map(String::as_str).collect();
        assert_contains(&work.err(&[&["--lang", "en"], &line[..]].concat()), en);
        assert_contains(&refused_in_chinese(&work, &line), zh);
    };
    let (en, zh) = (
        "the copy has no line of \"three\" from that time or before",
        "副本里没有 \"three\" 在那个时间或之前的记录",
    );
    refuses(restore(&["three"], &then), en, zh);
    let zh = "副本里没有 \"one\" 在那个时间或之前的记录";
    refuses(restore(&["one"], &before), "no line of \"one\"", zh);
    refuses(
        restore(&[], "noon"),
        "\"noon\" is no time; such are",
        "不是时间；可用的有",
    );
    let run = |line: Vec<String>| {
        let line: Vec<_> = line.iter().map(String::as_str).collect();
        work.ok(&line)
    };
    let one = run(restore(&["two"], &then));
    assert_contains(
        &one,
        [
            "goes on here: two",
            "later lines: --ship needs another place",
        ],
    );
    let history = work.ok(&["--thread", "two", "history"]);
    assert_contains(&history, "2 + 2 = 4");
    assert_lacks(&history, "3 + 3");
    let all = run(restore(&[], &then));
    assert_contains(
        &all,
        [
            "goes on here: one",
            "goes on here: two",
            "had not begun: three",
        ],
    );
    // It goes on from there, with a new copy.
    let words = ["--ship", "file:other", "--thread", "two", "say", "5 + 5"];
    assert_contains(&work.ok(&words), "5 + 5 = 10");
    let old = work.err(&["--ship", "file:copy", "--thread", "two", "say", "6 + 6"]);
    assert_contains(&old, "ship to another place");
}
