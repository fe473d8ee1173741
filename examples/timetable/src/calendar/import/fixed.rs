//! The fixed tasks of the calendar: one for each day of each occurrence.
use std::collections::BTreeSet;

use jiff::SignedDuration;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::calendar::classes::Classes;
use crate::calendar::ics::{IcsCalendar, Occurrence};
use crate::lang::Lang;
use crate::schedule::{EventType, PlacementStatus, ScheduleTask, Source, ranges};

use super::{EntryRemark, Remark, same_name};

/// The most problems of a file that are told one by one.
const MOST_PROBLEMS: usize = 20;

/// The sections of a day that an occurrence takes.
struct Piece<'a> {
    occurrence: &'a Occurrence,
    /// Counts the days of the occurrence, from 1.
    part: u16,
    day: u16,
    /// True if an item may be inside it.
    is_host: bool,
    sections: BTreeSet<u8>,
}

/// Returns the tasks in order of time, without their ids.
pub(super) fn fixed(
    calendar: &IcsCalendar,
    classes: &Classes,
    days: &[Date],
    zone: &TimeZone,
    lang: Lang,
) -> (Vec<ScheduleTask>, Vec<Remark>) {
    let (Some(&first), Some(&last)) = (days.first(), days.last()) else {
        return (Vec::new(), vec![Remark::NothingInWindow]);
    };
    let (mut occurrences, endless) = calendar.occurrences(first, last, zone);
    for occurrence in &mut occurrences {
        if occurrence.name.is_empty() {
            lang.pick("Untitled", "未命名日程")
                .clone_into(&mut occurrence.name);
        }
    }
    let problems = || calendar.problems().iter().chain(&endless);
    let told = problems().take(MOST_PROBLEMS).cloned();
    let mut remarks: Vec<Remark> = told.map(Remark::Unreadable).collect();
    if let Some(more) = problems().count().checked_sub(MOST_PROBLEMS + 1) {
        remarks.push(Remark::MoreUnreadable(more + 1));
    }
    if occurrences.is_empty() {
        remarks.push(Remark::NothingInWindow);
    }
    let taken = sift(&occurrences, classes, &mut remarks);
    let mut pieces = pieces(&taken, classes, days, &mut remarks);
    share(&mut pieces, &mut remarks);
    pieces.sort_by_key(|piece| (piece.day, piece.sections.first().copied()));
    let tasks = pieces.iter().filter(|piece| !piece.sections.is_empty());
    (tasks.map(task).collect(), remarks)
}

/// Returns the occurrences that take time, each once.
fn sift<'a>(
    occurrences: &'a [Occurrence],
    classes: &Classes,
    remarks: &mut Vec<Remark>,
) -> Vec<&'a Occurrence> {
    let mut seen = BTreeSet::new();
    let mut taken = Vec::new();
    for occurrence in occurrences {
        let note = |what| Remark::entry(occurrence, what);
        let mut ignored = classes.ignore.iter();
        if occurrence.free || ignored.any(|ignored| same_name(ignored, &occurrence.name)) {
            remarks.push(note(EntryRemark::Free));
        } else if !seen.insert((&occurrence.name, occurrence.start, occurrence.end)) {
            remarks.push(note(EntryRemark::Twice));
        } else {
            if occurrence.off_rule {
                remarks.push(note(EntryRemark::OffRule));
            }
            taken.push(occurrence);
        }
    }
    taken
}

fn pieces<'a>(
    taken: &[&'a Occurrence],
    classes: &Classes,
    days: &[Date],
    remarks: &mut Vec<Remark>,
) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for &occurrence in taken {
        let before = pieces.len();
        let first = days.partition_point(|&date| date < occurrence.start.date());
        let dates = days.iter().zip(1_u16..).skip(first);
        let mut part = 0;
        for (&date, day) in dates.take_while(|&(&date, _)| date <= occurrence.end.date()) {
            let sections = classes
                .sections
                .covered(date, occurrence.start, occurrence.end);
            if !sections.is_empty() {
                part += 1;
                pieces.push(Piece {
                    occurrence,
                    is_host: is_host(occurrence, classes),
                    part,
                    day,
                    sections,
                });
            }
        }
        if pieces.len() == before {
            remarks.push(Remark::entry(occurrence, EntryRemark::Outside));
        }
    }
    // State ids follow this order.
    pieces.sort_by(|a, b| {
        let key = |piece: &Piece<'a>| (piece.day, piece.sections.first().copied());
        let order = key(a).cmp(&key(b));
        order.then_with(|| a.occurrence.id.cmp(&b.occurrence.id))
    });
    pieces
}

/// Gives each section to one entry: to the first that takes it, but before a course that may hold
/// an item to one that may not, because that time is busy.
fn share(pieces: &mut [Piece<'_>], remarks: &mut Vec<Remark>) {
    pieces.sort_by_key(|piece| (piece.day, piece.is_host));
    let mut overlaps: Vec<(&Occurrence, &Occurrence, usize)> = Vec::new();
    for index in 1..pieces.len() {
        let (before, rest) = pieces.split_at_mut(index);
        let Some(piece) = rest.first_mut() else {
            return;
        };
        let before = before.iter().rev();
        for other in before.take_while(|other| other.day == piece.day) {
            if other.sections.is_disjoint(&piece.sections) {
                continue;
            }
            let (one, with) = (piece.occurrence, other.occurrence);
            piece
                .sections
                .retain(|section| !other.sections.contains(section));
            let from = one.start.max(with.start);
            if one.end.min(with.end).duration_since(from) <= SignedDuration::from_mins(1) {
                let with = with.name.clone();
                remarks.push(Remark::entry(one, EntryRemark::Shared { with }));
                continue;
            }
            let same = |known: &&mut (&Occurrence, &Occurrence, usize)| {
                (&known.0.name, &known.1.name) == (&one.name, &with.name)
            };
            match overlaps.iter_mut().find(same) {
                Some((.., times)) => *times += 1,
                None => overlaps.push((one, with, 1)),
            }
        }
    }
    remarks.extend(overlaps.into_iter().map(|(one, with, times)| {
        let (with, with_line) = (with.name.clone(), with.line);
        let what = EntryRemark::Overlap {
            with,
            with_line,
            times,
        };
        Remark::entry(one, what)
    }));
}

fn is_host(occurrence: &Occurrence, classes: &Classes) -> bool {
    let mut wanted = classes.embeddable.iter();
    wanted.any(|wanted| same_name(wanted, &occurrence.name))
}

fn task(piece: &Piece<'_>) -> ScheduleTask {
    let Occurrence {
        id, name, category, ..
    } = piece.occurrence;
    let part = if piece.part > 1 {
        format!("#{}", piece.part)
    } else {
        String::new()
    };
    ScheduleTask {
        source: Source::Event,
        source_id: format!("{id}{part}"),
        name: name.clone(),
        category: category.clone().unwrap_or_else(|| name.clone()),
        status: PlacementStatus::Existing,
        locked: !piece.is_host,
        slots: ranges(piece.day, &piece.sections),
        // There are at most twelve.
        duration: u8::try_from(piece.sections.len()).unwrap_or(u8::MAX),
        can_embed: piece.is_host,
        event_type: EventType::Course,
        ..ScheduleTask::default()
    }
}
