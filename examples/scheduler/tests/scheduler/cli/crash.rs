//! Killed, interrupted or competing processes: nothing is lost, nothing is placed twice.
use fugato_testkit::assert_contains;
use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    thread,
};

use super::work::Work;

/// Starts the job and kills it after this many lines of output.
fn kill_after(work: &Work, lines: usize) {
    let mut command = work.command(&["--yes"]);
    let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    // These lines are read; it is no error if the process ends before.
    let _ = out.lines().take(lines).count();
    kill(&mut child);
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_at_any_moment_and_started_again_the_job_comes_to_the_same_end() {
    let undisturbed = Work::new();
    undisturbed.ok(&["--yes"]);
    let expected = (undisturbed.placed(), undisturbed.schedule());
    // Each is killed twice, so that the continuation is interrupted too. Most of the time passes
    // waiting for the lease of the dead process to end, so the folders wait together.
    let killed = (0..20).map(|n| {
        let expected = expected.clone();
        thread::spawn(move || {
            let work = Work::new();
            kill_after(&work, n);
            if n % 2 == 0 {
                kill_after(&work, 4 + n / 2);
            }
            let said = work.ok(&["--yes"]);
            assert_eq!(
                (work.placed(), work.schedule()),
                expected,
                "killed after {n} lines"
            );
            assert_eq!(work.calendar(), work.schedule(), "killed after {n} lines");
            said.contains("going on where it was left")
        })
    });
    let killed: Vec<_> = killed.collect();
    let went_on: Vec<bool> = killed
        .into_iter()
        .map(|trial| trial.join().unwrap())
        .collect();
    assert!(
        went_on.contains(&true),
        "no process was killed in the middle"
    );
}

#[test]
fn two_processes_on_one_conversation_do_the_job_once() {
    let alone = Work::new();
    alone.ok(&["--yes"]);
    let work = Work::new();
    let run: &[&str] = &["--yes"];
    for ran in work.at_once(&[run; 3]) {
        assert!(ran.well, "{ran:?}");
    }
    assert_eq!(work.placed(), alone.placed());
    assert_eq!(work.schedule(), alone.schedule());
    let history = work.ok(&["history", "--full"]);
    assert_eq!(history.matches("a request came").count(), 1, "{history}");
    assert_eq!(history.matches("rough_build#1 →").count(), 1, "{history}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_says_how_to_go_on() {
    use std::io::Write as _;
    let work = Work::new();
    let mut command = work.command(&["chat"]);
    command.stdin(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"plan my week\n").unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    // It has asked, and waits at its prompt for a line that never comes.
    assert!(out.any(|line| line.unwrap().contains("Shall I keep")));
    let pid = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(killed.unwrap().success());
    let rest: Vec<String> = out.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_contains(&rest.join("\n"), "go on with: scheduler chat");
    let done = work.ok(&["--yes"]);
    assert!(done.contains("written: "), "{done}");
}
