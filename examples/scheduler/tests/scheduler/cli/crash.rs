//! Killed, interrupted or competing processes: nothing is lost, nothing is placed twice.
use fugato_testkit::{assert_contains, share};
use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    thread,
};

use servers::Moto;

use super::work::Work;

/// Starts the job and kills it after this many lines of output.
fn kill_after(work: &Work, lines: usize) {
    kill_with(work, &["--yes"], lines);
}

fn kill_with(work: &Work, args: &[&str], lines: usize) {
    let mut command = work.command(args);
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

/// Kills the job after every number of lines, or every fifth if not all cases are tried, in a folder of
/// its own each time, and goes on with it.
fn comes_to_the_same_end(begin: impl Fn(usize) -> Work + Sync) {
    let undisturbed = Work::new();
    undisturbed.ok(&["--yes"]);
    let expected = (undisturbed.placed(), undisturbed.schedule());
    // Each is killed twice, so that the continuation is interrupted too. Most of the time passes
    // waiting for the lease of the dead process to end, so the folders wait together.
    let (expected, begin) = (&expected, &begin);
    let killed = |n| {
        move || {
            let work = begin(n);
            kill_after(&work, n);
            if n % 2 == 0 {
                kill_after(&work, 4 + n / 2);
            }
            let said = work.ok(&["--yes"]);
            let schedule = work.schedule();
            assert_eq!(
                &(work.placed(), schedule.clone()),
                expected,
                "killed after {n} lines"
            );
            assert_eq!(work.calendar(), schedule, "killed after {n} lines");
            said.contains("going on where it was left")
        }
    };
    let went_on: Vec<bool> = thread::scope(|scope| {
        let killed: Vec<_> = (0..20)
            .step_by(share().min(5))
            .map(|n| scope.spawn(killed(n)))
            .collect();
        let ended = killed.into_iter().map(|trial| trial.join().unwrap());
        ended.collect()
    });
    assert!(
        went_on.contains(&true),
        "no process was killed in the middle"
    );
}

#[test]
fn killed_at_any_moment_and_started_again_the_job_comes_to_the_same_end() {
    comes_to_the_same_end(|_| Work::new());
}

#[test]
fn k24_killed_at_any_moment_the_job_goes_on_from_its_commits_in_a_folder() {
    comes_to_the_same_end(|_| Work::new().flag("--store", "file:commits"));
}

#[test]
fn k24_killed_at_any_moment_the_job_goes_on_from_its_commits_in_a_bucket() {
    let Some(server) = Moto::start() else { return };
    comes_to_the_same_end(|n| Work::in_bucket(server.url(), &format!("job-{n}")));
}

#[test]
fn k31_a_log_that_is_lost_amid_the_job_is_restored_from_its_copy() {
    let undisturbed = Work::new();
    undisturbed.ok(&["--yes"]);
    let expected = (undisturbed.placed(), undisturbed.schedule());
    let lost = (1..=4).map(|n| {
        let (expected, lines) = (expected.clone(), 6 + 2 * n);
        thread::spawn(move || {
            let work = Work::new();
            let ship = format!("file:{}", work.path("copy").display());
            let run = ["--yes", "--ship", &ship];
            kill_with(&work, &run, lines);
            for file in ["threads.db", "threads.db-wal", "threads.db-shm"] {
                // SQLite may have put its own files away.
                let _ = std::fs::remove_file(work.path(&format!("scheduler-data/{file}")));
            }
            // A new log does not begin the conversation anew.
            let refused = work.err(&run);
            assert_contains(&refused, "belongs to the home");
            let refused = work.err(&["--lang", "zh", "--yes", "--ship", &ship]);
            assert_contains(&refused, "副本属于存储");
            let unsaid = work.err(&["--ship", &ship, "restore"]);
            assert_contains(&unsaid, "--lost");
            let restored = work.ok(&["--ship", &ship, "restore", "--lost"]);
            assert_contains(&restored, "goes on here: default");
            let again = work.ok(&["--ship", &ship, "restore"]);
            assert_eq!(again, restored, "repeated");
            work.ok(&run);
            let ended = (work.placed(), work.schedule());
            assert_eq!(ended, expected, "killed after {lines} lines");
            assert_eq!(
                work.calendar(),
                work.schedule(),
                "killed after {lines} lines"
            );
        })
    });
    let lost: Vec<_> = lost.collect();
    for trial in lost {
        trial.join().unwrap();
    }
}

#[test]
fn k31_a_place_for_a_copy_is_named() {
    let work = Work::new();
    for wrong in ["ftp://host/x", "file:", "copy"] {
        let refused = work.err(&["--ship", wrong, "restore"]);
        assert_contains(&refused, "file:FOLDER, s3://BUCKET/PREFIX");
    }
    assert_contains(&work.err(&["restore"]), "--ship names the copy");
    let refused = work.err(&["--lang", "zh", "--ship", "file:", "restore"]);
    assert_contains(&refused, "不是副本的位置");
    if cfg!(not(feature = "s3")) {
        let refused = work.err(&["--ship", "s3://bucket/x", "restore"]);
        assert_contains(&refused, "--features s3");
    }
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
