//! The real binary, in folders of its own.
mod answers;
mod archive;
mod crash;
#[cfg(feature = "evening")]
mod evening;
mod failing;
mod input;
mod limits;
#[cfg(feature = "evening")]
mod repairs;
mod server;
mod settings;
#[cfg(feature = "evening")]
mod shared;
mod size;
#[cfg(all(feature = "postgres", feature = "redis"))]
mod stores;
mod threads;
mod unit;
mod whole;
pub(crate) mod work;

use fugato_testkit::{assert_contains, assert_lacks, assert_starts_with};
use work::Work;

#[test]
fn the_whole_job_runs_and_writes_its_files() {
    let work = Work::new();
    let first = work.ok(&["--yes"]);
    assert_contains(&first, "21 items placed");
    assert_contains(&first, "21 placed, 0 moved, 0 taken out, 0 still pending");
    let ics = work.read("scheduler-data/default/schedule.ics");
    assert_eq!(ics.matches("BEGIN:VEVENT").count(), 21);
    assert_starts_with(&work.read("scheduler-data/default/schedule.svg"), "<svg");
    // The second run shows the result, and decides nothing again.
    let second = work.ok(&[]);
    assert_contains(&second, "Week 4");
    assert_lacks(&second, "items placed");
    assert_eq!(work.placed(), events(&ics));
    // It can be talked to further.
    let more = work.ok(&["--yes", "--request", "rearrange everything"]);
    assert_contains(&more, ["goes to", "It is stored in the calendar."]);
}

#[test]
fn everything_is_said_once_and_in_the_language_of_the_person() {
    let work = Work::new();
    let said = work.ok(&["--yes", "--lang", "zh"]);
    assert_contains(
        &said,
        [
            "已安排 21 项",
            "检查日程 完成",
            "新安排 21 项",
            "第 2 周",
            "已写入",
        ],
    );
    assert_eq!(said.matches("保存这份日程吗？").count(), 1, "{said}");
    // Without `--lang`, the conversation continues in its own language.
    let again = work.ok(&[]);
    assert_contains(&again, "已写入");
    assert_lacks(&again, "written");
    let words = Work::new();
    let said = words.ok(&["--yes", "--request", "把任务都排一下"]);
    assert_contains(&said, "已安排 21 项");
}

#[test]
fn the_help_shows_how_to_begin() {
    let work = Work::new();
    let help = work.ok(&["--help"]);
    assert_contains(
        &help,
        [
            "Examples:",
            "scheduler --yes",
            "scheduler chat",
            "--courses",
            "--base-url",
        ],
    );
    let graph = work.ok(&["graph"]);
    assert_starts_with(&graph, "flowchart TD");
    assert_starts_with(&work.ok(&["graph", "--format", "dot"]), "digraph");
    assert!(
        !work.path("scheduler-data").exists(),
        "looking changes nothing"
    );
}

/// Returns the events of a calendar file without the time at which it was made.
fn events(ics: &str) -> Vec<&str> {
    ics.lines()
        .filter(|line| !line.starts_with("DTSTAMP"))
        .collect()
}
