//! Conversations whose log is on a server, from one process to the next.
use fugato_testkit::{assert_contains, assert_lacks};
use servers::{Postgres, Redis, Server};

use super::work::Work;

/// Starts a conversation in one process, answers it in another, and lists, shows, copies, exports
/// and removes it.
fn converse(server: &Server) {
    let work = Work::new();
    let at = ["--store", server.url()];
    let none = work.err(&with(&["history"], &at));
    assert_contains(&none, "there is no conversation \"default\"");
    let asked = work.ok(&with(&["--request", "plan my week"], &at));
    assert!(asked.contains("21 items placed"), "{asked}");
    let listed = work.ok(&with(&["threads"], &at));
    assert_eq!(listed, "default  waits for an answer  plan my week\n");
    let done = work.ok(&with(&["--yes"], &at));
    assert_contains(&done, "21 placed, 0 moved");
    assert_lacks(&done, "21 items placed");
    assert!(
        !work.path("scheduler-data/threads.db").exists(),
        "nothing lies beside the server"
    );

    let history = work.ok(&with(&["history", "--full"], &at));
    let last = history.lines().last().unwrap().trim();
    let last = last.split(['*', ' ']).next().unwrap();
    let state: serde_json::Value =
        serde_json::from_str(&work.ok(&with(&["show", last, "--full"], &at))).unwrap();
    assert_eq!(state["phase"], "done");
    work.ok(&with(&["fork", last, "other"], &at));
    work.ok(&with(&["export", "mine"], &at));
    assert_eq!(
        work.read("mine/log.jsonl").lines().count(),
        history.lines().count()
    );
    assert_eq!(
        work.ok(&with(&["delete", "default", "--yes"], &at)),
        "deleted: default\n"
    );
    let left = work.ok(&with(&["threads"], &at));
    assert_eq!(left, "other  finished  plan my week\n");

    // The result is the same with a local log.
    let local = Work::new();
    local.ok(&["--yes", "--request", "plan my week"]);
    let events = |ics: &str| {
        let lines = ics.lines().filter(|line| !line.starts_with("DTSTAMP"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(events(&work.read("mine/schedule.ics")), local.placed());
}

fn with<'a>(args: &[&'a str], at: &[&'a str]) -> Vec<&'a str> {
    [args, at].concat()
}

#[test]
fn a_conversation_lies_on_postgres() {
    if let Some(server) = Postgres::start() {
        converse(&server);
    }
}

#[test]
fn a_conversation_lies_on_redis() {
    if let Some(server) = Redis::start() {
        converse(&server);
    }
}

#[test]
fn a_server_that_is_not_there_is_named_without_its_password() {
    let work = Work::new();
    for store in [
        "postgres://me:secret@127.0.0.1:1/x",
        "redis://me:secret@127.0.0.1:1/0",
    ] {
        let error = work.err(&["--yes", "--store", store]);
        assert_contains(&error, ["--store", "127.0.0.1:1"]);
        assert!(!error.contains("secret"), "{error}");
    }
}
