//! Reading the log, and continuing from a point in it.
use super::{answers::code, work::Work};
use fugato_testkit::{assert_contains, assert_lacks};

#[test]
fn the_history_reads_like_a_story_in_both_languages() {
    let day = jiff::Zoned::now();
    for (said, no, told) in [
        (
            "plan my weeks: place everything",
            ["no", "not on Friday"],
            [
                "You: plan my weeks: place everything",
                "checking the schedule: ",
                "Question: [",
                "Shall I keep this schedule?",
                "You said no: not on Friday",
                "Reply: I had to stop.",
            ],
        ),
        (
            "把任务都排一下",
            ["不要", "周五不行"],
            [
                "你: 把任务都排一下",
                "检查日程: ",
                "提问: [",
                "保存这份日程吗？",
                "你拒绝了: 周五不行",
                "回复: 任务已中止。",
            ],
        ),
    ] {
        let work = Work::new();
        let parked = work.ok(&["say", said]);
        let [no, why] = no;
        work.ok(&["say", &format!("{no} {}, {why}", code(&parked))]);
        let story = work.ok(&["history"]);
        assert_contains(&story, told);
        assert_contains(&story, &*day.strftime("%Y").to_string());
        for machinery in [
            "#1",
            " → ",
            "context_tools",
            "rough_build",
            "a request came",
        ] {
            assert_lacks(&story, machinery);
        }
    }
}

#[test]
fn history_show_and_fork_read_the_log() {
    let work = Work::new();
    work.ok(&["--yes"]);
    let history = work.ok(&["history", "--full"]);
    assert_contains(&history, ["a request came", "rough_build#1 → execute#1"]);
    let state: serde_json::Value =
        serde_json::from_str(&work.ok(&["show", &work.last(), "--full"])).unwrap();
    assert_eq!(state["phase"], "done");
    // Without `--full` it is what the line changed.
    let changed = work.ok(&["show", &work.last()]);
    assert!(changed.lines().count() < 60, "{changed}");
    // Right after the rough build, in a conversation of its own.
    let built = history
        .lines()
        .find(|line| line.contains("rough_build#1 →"))
        .unwrap();
    let seq = built.trim().split('*').next().unwrap();
    let forked = work.ok(&["fork", seq, "other"]);
    assert!(forked.contains("scheduler --thread 'other'"), "{forked}");
    let went_on = work.ok(&["--thread", "other", "--yes"]);
    assert_contains(&went_on, ["checking the schedule", "written: "]);
    assert!(
        !went_on.contains("items placed"),
        "the rough build was not made again: {went_on}"
    );
    // A copy begins behind the line that it was made at.
    let copied = |args: &[&str]| work.ok(&[&["--thread", "other"], args].concat());
    let lines = copied(&["history", "--full"]);
    let first = lines.split_whitespace().next().unwrap();
    let first = first.trim_end_matches('*');
    assert_eq!(
        first.parse::<u64>().unwrap(),
        seq.parse::<u64>().unwrap() + 1
    );
    assert!(!copied(&["history"]).is_empty() && !copied(&["trace"]).is_empty());
    assert!(!copied(&["show", first]).is_empty());
    copied(&["export", "exported"]);
    let refused = work.err(&["--thread", "other", "show", seq]);
    assert_contains(
        &refused,
        &*format!("no line {seq}; the history has lines {first} to "),
    );
    let taken = work.err(&["fork", seq, "other"]);
    assert!(taken.contains("a name that is free"), "{taken}");
}

#[test]
fn l16_a_trace_tells_what_every_request_went_through() {
    let work = Work::new();
    work.ok(&["--yes"]);
    let trace = work.ok(&["trace"]);
    let nodes: Vec<&str> = trace
        .lines()
        .filter_map(|line| line.split_once('#'))
        .map(|(node, _)| node.trim())
        .collect();
    let first = ["chat", "rough_build", "execute", "decide", "act"];
    assert!(nodes.starts_with(&first), "{trace}");
    assert_eq!(nodes.last(), Some(&"deliver"), "{trace}");
    assert_contains(&trace, ["ended after", "placing by rule"]);
    assert!(!trace.contains("in: "), "{trace}");
    let full = work.ok(&["--lang", "zh", "trace", "--full"]);
    assert_contains(&full, ["粗排", "输出: [{\"judged\":\"continue\"}"]);
}

#[test]
fn what_does_not_exist_is_named_and_not_made() {
    let work = Work::new();
    let none = work.err(&["history"]);
    assert_contains(&none, "there are no conversations in scheduler-data");
    work.ok(&["--yes"]);
    let unknown = work.err(&["history", "--thread", "spring"]);
    assert_contains(&unknown, "no conversation \"spring\"; there are: default");
    assert!(!work.path("scheduler-data/spring").exists());
    let line = work.err(&["show", "4711"]);
    let last = work.last();
    let expected = format!("error: there is no line 4711; the history has lines 1 to {last}\n");
    assert_eq!(line, expected);
    let name = work.err(&["--thread", ""]);
    assert_contains(&name, "1 to 200 bytes without control characters");
}

#[test]
fn a_database_that_is_none_is_left_as_it_is() {
    let work = Work::new();
    std::fs::create_dir(work.path("scheduler-data")).unwrap();
    let noise: Vec<u8> = (0..5000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    std::fs::write(work.path("scheduler-data/threads.db"), &noise).unwrap();
    for args in [&["--yes"][..], &["history"]] {
        let error = work.err(args);
        assert!(error.contains("threads.db"), "{error}");
    }
    assert_eq!(
        std::fs::read(work.path("scheduler-data/threads.db")).unwrap(),
        noise
    );
}

#[cfg(unix)]
#[test]
fn what_can_only_be_read_is_read() {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};
    let work = Work::new();
    work.ok(&["--yes"]);
    let (history, listed) = (work.ok(&["history"]), work.ok(&["threads"]));
    let folder = work.path("scheduler-data");
    let names = || -> Vec<_> {
        let entries = std::fs::read_dir(&folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    set(&folder.join("threads.db"), 0o444);
    set(&folder, 0o555);
    let read = [work.run(&["history"]), work.run(&["threads"])];
    set(&folder, 0o755);
    assert_eq!(read.map(|ran| ran.out), [history, listed]);
    assert_eq!(names(), before, "nothing is left beside it");
}
