//! Places what is to be done between the courses of a calendar, and prints the weeks.
//!
//! `cargo run -p timetable --example plan [-- COURSES.ics TASKS.toml]`; without files, the sample.
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use timetable::calendar::{Lang, WeekTable, open};
use timetable::schedule::{Quality, WriteOptions, local_search, refine, rough_build::rough_build};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample/en");
    let given = |n, name: &str| {
        std::env::args()
            .nth(n)
            .map_or(sample.join(name), PathBuf::from)
    };
    let (courses, tasks) = (given(1, "courses.ics"), given(2, "tasks.toml"));
    let mut intake = open(&courses, &tasks, &TimeZone::system(), Lang::En)?;

    let ids: Vec<u32> = intake
        .state
        .task_classes
        .iter()
        .map(|class| class.id)
        .collect();
    for change in &rough_build(&intake.state, &ids)?.changes {
        intake.state.apply(change);
    }
    refine(&mut intake.state, 30, &WriteOptions::default());
    for change in local_search(&intake.state, &WriteOptions::default()) {
        intake.state.apply(&change);
    }

    let mut out = std::io::stdout().lock();
    for remark in &intake.remarks {
        writeln!(out, "{}", remark.say(Lang::En))?;
    }
    let table = WeekTable {
        sections: &intake.sections,
        lang: Lang::En,
        width: 120,
    };
    for week in WeekTable::weeks(&intake.state) {
        writeln!(out, "{}", table.draw(&intake.state, week))?;
    }
    writeln!(
        out,
        "quality {}, of which 0 is the best",
        Quality::of(&intake.state).score()
    )?;
    Ok(())
}
