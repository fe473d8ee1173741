//! Prints what calendar files hold, one JSON object a file, for comparison with other programs.
//!
//! `cargo run -p timetable --example occurrences -- FOLDER` reads every `.ics` file below the folder
//! and follows it over windows of 26 weeks, on the clocks of three zones.
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use timetable::calendar::{Classes, IcsCalendar, Lang, Occurrence, import};

const ZONES: [&str; 3] = ["Europe/Berlin", "America/New_York", "Asia/Shanghai"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files)?;
    files.sort();
    let mut out = std::io::stdout().lock();
    for path in files {
        let bytes = std::fs::read(&path)?;
        let started = Instant::now();
        let read = follow(&path.display().to_string(), &bytes)?;
        let took = started.elapsed().as_secs_f64();
        writeln!(
            out,
            "{}",
            json!({ "file": path, "seconds": took, "read": read })
        )?;
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "ics") {
            files.push(path);
        }
    }
    Ok(())
}

fn follow(file: &str, bytes: &[u8]) -> Result<Value, Box<dyn std::error::Error>> {
    let calendar = match IcsCalendar::parse(file, bytes) {
        Ok(calendar) => calendar,
        Err(error) => return Ok(json!({ "error": error.to_string() })),
    };
    let problems = calendar.problems().iter();
    let problems: Vec<String> = problems.map(|problem| problem.say(Lang::En)).collect();
    let mut windows = Vec::new();
    for first in begins(bytes) {
        let last = first.checked_add((26 * 7 - 1).days())?;
        for name in ZONES {
            // A person would import it; that must go well too.
            let classes = format!("zone = \"{name}\"\nwindow = {{ start = {first}, weeks = 26 }}");
            let classes = Classes::parse("tasks.toml", classes.as_bytes())?;
            import(&calendar, &classes, &TimeZone::UTC, Lang::En);
            let (found, long) = calendar.occurrences(first, last, &TimeZone::get(name)?);
            let found: Vec<Value> = found.iter().map(line).collect();
            windows.push(json!({
                "first": first, "last": last, "zone": name, "found": found, "long": long.len(),
            }));
        }
    }
    Ok(json!({ "events": calendar.names().len(), "problems": problems, "windows": windows }))
}

fn line(one: &Occurrence) -> Value {
    json!([one.start, one.end, one.all_day, one.name])
}

/// Returns the first days of the windows: that of the first start of an event and of the last, a
/// year later, and three.
fn begins(bytes: &[u8]) -> Vec<Date> {
    let text = String::from_utf8_lossy(bytes);
    let date = |line: &str| {
        let value = line.strip_prefix("DTSTART")?.rsplit_once(':')?.1;
        let date = value.get(..8)?.parse::<Date>().ok()?;
        Some(date).filter(|date| (1970..2100).contains(&date.year()))
    };
    let starts = || text.lines().filter_map(date);
    let mut begins: Vec<Date> = starts().min().into_iter().chain(starts().max()).collect();
    let later: Vec<Date> = [1, 3]
        .into_iter()
        .filter_map(|years| starts().min()?.checked_add(years.years()).ok())
        .collect();
    begins.extend(later);
    begins.sort_unstable();
    begins.dedup();
    begins
}
