//! Real timetables: what schools and universities made with FET, as weeks of one group of students.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use timetable::schedule::{PlacementPreferences, Slot};

use crate::case::{Case, Draft, SeededRng, subject};

/// The numbers of items of the loads, and the weeks over which they lie.
const LOADS: [(u64, u64); 11] = [
    (10, 4),
    (20, 4),
    (30, 6),
    (50, 8),
    (80, 10),
    (120, 12),
    (150, 18),
    (200, 18),
    (300, 18),
    (400, 18),
    (500, 18),
];

/// Reads all files below a folder that have their times, in the order of their paths; each becomes
/// a case with one of the loads.
pub(crate) fn cases(folder: &Path) -> Result<Vec<Case>> {
    let mut files = vec![];
    find(folder, &mut files)?;
    files.sort();
    let mut cases = vec![];
    for file in files {
        let text =
            std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let text = String::from_utf8_lossy(&text);
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        for week in weeks(&text) {
            let load = LOADS.iter().cycle().nth(cases.len());
            let (items, weeks) = load.copied().unwrap_or((10, 4));
            cases.push(case(&name, &week, items, weeks, cases.len() as u64));
        }
    }
    Ok(cases)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "fet") {
            files.push(path);
        }
    }
    Ok(())
}

/// The sections that the courses of a group take, by day of the week from 1.
type Week = Vec<(u64, Slot)>;

/// Returns the weeks of the first and the last group with at least ten hours, if they differ; none
/// if the file has no times.
fn weeks(text: &str) -> Vec<Week> {
    let days = names(text, "Days_List");
    let hours = names(text, "Hours_List");
    let activities: BTreeMap<&str, (u8, Vec<&str>)> = blocks(text, "Activity")
        .filter_map(|activity| {
            let length = tag(activity, "Duration").and_then(|text| text.parse().ok());
            let students = blocks(activity, "Students").collect();
            Some((tag(activity, "Id")?, (length.unwrap_or(1), students)))
        })
        .collect();
    let mut placed: BTreeMap<&str, Vec<(u64, Slot)>> = BTreeMap::new();
    let mut found = 0;
    for time in blocks(text, "ConstraintActivityPreferredStartingTime") {
        let Some(id) = tag(time, "Activity_Id") else {
            continue;
        };
        let day = tag(time, "Preferred_Day").or_else(|| tag(time, "Day"));
        let hour = tag(time, "Preferred_Hour").or_else(|| tag(time, "Hour"));
        let at = |names: &[&str], name: Option<&str>| names.iter().position(|it| Some(*it) == name);
        let place = at(&days, day).zip(at(&hours, hour));
        let (Some((length, students)), Some((day, hour))) = (activities.get(id), place) else {
            continue;
        };
        found += 1;
        let Some(place) = section(day, hour, *length, (days.len(), hours.len())) else {
            continue;
        };
        for group in students {
            placed.entry(group).or_default().push(place);
        }
    }
    if found * 2 < activities.len() {
        return vec![];
    }
    let full = |week: &Week| week.len() >= 10;
    let mut groups: Vec<Week> = placed.into_values().filter(full).collect();
    groups.dedup();
    if groups.len() > 2 {
        groups.drain(1..groups.len() - 1);
    }
    groups
}

/// Returns the day of the week and the sections of an hour. Files with ten or twelve short days have
/// a morning and an afternoon for each.
fn section(
    day: usize,
    hour: usize,
    length: u8,
    (days, hours): (usize, usize),
) -> Option<(u64, Slot)> {
    let halves = matches!(days, 10 | 12) && hours <= 6;
    let (weekday, first) = if halves {
        (day / 2, hour + day % 2 * 6)
    } else {
        (day, hour)
    };
    let first = u8::try_from(first + 1).ok()?;
    let last = first + length.max(1) - 1;
    let is_week = weekday < 7 && last <= 12;
    is_week.then(|| (weekday as u64 + 1, Slot::new(1, first, last)))
}

fn case(name: &str, week: &Week, items: u64, weeks: u64, seed: u64) -> Case {
    let mut draft = Draft::new(weeks);
    let mut taken = [0_u16; 8];
    for (day, slot) in week {
        let bits = (slot.slot_start..=slot.slot_end).fold(0, |bits, section| bits | 1 << section);
        let day_bits = usize::try_from(*day)
            .ok()
            .and_then(|day| taken.get_mut(day));
        if let Some(day_bits) = day_bits.filter(|there| **there & bits == 0) {
            *day_bits |= bits;
            draft.course(*day, *slot);
        }
    }
    // At most four fifths of the open blocks are wanted, so that most loads are feasible.
    let open: u64 = (1..=7)
        .map(|day| {
            let bits = taken.get(day).copied().unwrap_or(0);
            (0..6)
                .filter(|block| (bits >> (block * 2 + 1)).trailing_zeros() >= 2)
                .count() as u64
        })
        .sum();
    let items = items.min(open * weeks * 4 / 5);
    let mut dice = SeededRng::new(seed);
    let classes = 3 + seed % 3;
    for class in 0..classes {
        let count = items / classes + u64::from(class < items % classes);
        let mut settings = subject(&mut dice, class);
        if dice.below(3) == 0 {
            settings.excluded_days_of_week = vec![7];
        }
        draft.class(settings, count.max(1));
    }
    draft.state.preferences = Some(PlacementPreferences::default());
    Case {
        name: format!("{name}, {items} items, {weeks} weeks"),
        state: draft.state,
    }
}

/// Returns the names in a list of the file.
fn names<'t>(text: &'t str, list: &str) -> Vec<&'t str> {
    let list = blocks(text, list).next().unwrap_or_default();
    let mut names = vec![];
    let mut rest = list;
    while let Some((_, after)) = rest.split_once("<Name>") {
        let Some((name, next)) = after.split_once("</Name>") else {
            break;
        };
        names.push(name.trim());
        rest = next;
    }
    names
}

/// Returns the contents of all elements of a name, which do not nest.
fn blocks<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&open)?;
        let (inside, next) = after.split_once(&close)?;
        rest = next;
        Some(inside)
    })
}

fn tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    Some(blocks(text, name).next()?.trim())
}
