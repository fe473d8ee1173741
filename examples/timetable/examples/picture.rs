//! Draws the weeks of a calendar as an SVG, before and after everything is placed.
//!
//! `cargo run -p timetable --example picture > weeks.svg`
use std::io::Write;

use jiff::tz::TimeZone;
use timetable::calendar::{Classes, IcsCalendar, Lang, Picture, import};
use timetable::schedule::rough_build::rough_build;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let courses = IcsCalendar::parse("courses.ics", include_bytes!("../sample/zh/courses.ics"))?;
    let classes = Classes::parse("tasks.toml", include_bytes!("../sample/zh/tasks.toml"))?;
    let intake = import(&courses, &classes, &TimeZone::UTC, Lang::Zh);

    let ids: Vec<u32> = intake
        .state
        .task_classes
        .iter()
        .map(|class| class.id)
        .collect();
    let mut after = intake.state.clone();
    for change in &rough_build(&intake.state, &ids)?.changes {
        after.apply(change);
    }
    let picture = Picture {
        title: "各周安排",
        sections: &intake.sections,
        lang: Lang::Zh,
    };
    write!(std::io::stdout(), "{}", picture.draw(&intake.state, &after))?;
    Ok(())
}
