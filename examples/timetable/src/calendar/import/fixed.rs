//! The fixed tasks of the calendar: one for each day of each occurrence.
use std::collections::BTreeSet;

use jiff::SignedDuration;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::calendar::classes::Classes;
use crate::calendar::ics::{Calendar, Occurrence};
use crate::calendar::lang::Lang;
use crate::calendar::sections::ranges;
use crate::schedule::{EventType, PlacementStatus, ScheduleTask, Source};

use super::{ImportError, Overlap, Remark, same_name};

/// Overlaps beyond this number are not collected, because they add nothing to the error.
const MOST_OVERLAPS: usize = 100;

/// The sections of a day that an occurrence takes.
struct Piece<'a> {
    occurrence: &'a Occurrence,
    /// Counts the days of the occurrence, from 1.
    part: u16,
    day: u16,
    sections: BTreeSet<u8>,
}

/// Returns the tasks in order of time, without their ids.
pub(super) fn fixed(
    calendar: &Calendar,
    classes: &Classes,
    days: &[Date],
    zone: &TimeZone,
    lang: Lang,
) -> Result<(Vec<ScheduleTask>, Vec<Remark>), ImportError> {
    let (Some(&first), Some(&last)) = (days.first(), days.last()) else {
        return Ok((Vec::new(), vec![Remark::NothingInWindow]));
    };
    let mut occurrences = calendar.occurrences(first, last, zone)?;
    for occurrence in &mut occurrences {
        if occurrence.name.is_empty() {
            lang.pick("Untitled", "未命名日程")
                .clone_into(&mut occurrence.name);
        }
    }
    let mut remarks = Vec::new();
    if occurrences.is_empty() {
        remarks.push(Remark::NothingInWindow);
    }
    let taken = sift(&occurrences, classes, &mut remarks);
    let mut pieces = pieces(&taken, classes, days, &mut remarks);
    let overlaps = overlaps(&pieces);
    if !overlaps.is_empty() {
        return Err(ImportError::Overlap(overlaps));
    }
    share(&mut pieces, &mut remarks);
    let tasks = pieces.iter().filter(|piece| !piece.sections.is_empty());
    Ok((tasks.map(|piece| task(piece, classes)).collect(), remarks))
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
        let (name, start) = (occurrence.name.clone(), occurrence.start);
        let ignored = classes
            .ignore
            .iter()
            .any(|ignored| same_name(ignored, &name));
        if occurrence.free || ignored {
            remarks.push(Remark::Free { name, start });
        } else if !seen.insert((&occurrence.name, start, occurrence.end)) {
            remarks.push(Remark::Twice { name, start });
        } else {
            if occurrence.off_rule {
                remarks.push(Remark::OffRule { name, start });
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
                    part,
                    day,
                    sections,
                });
            }
        }
        if pieces.len() == before {
            let Occurrence {
                name, start, end, ..
            } = occurrence;
            remarks.push(Remark::Outside {
                name: name.clone(),
                start: *start,
                end: *end,
            });
        }
    }
    // State ids follow this order.
    pieces.sort_by(|a, b| {
        let key = |piece: &Piece<'a>| (piece.day, piece.sections.first().copied());
        key(a)
            .cmp(&key(b))
            .then_with(|| a.occurrence.id.cmp(&b.occurrence.id))
    });
    pieces
}

/// Returns the pairs that overlap by more than a minute within a section.
fn overlaps(pieces: &[Piece<'_>]) -> Vec<Overlap> {
    let mut overlaps = Vec::new();
    for (index, second) in pieces.iter().enumerate() {
        let same_day = pieces.iter().take(index).rev();
        for first in same_day.take_while(|first| first.day == second.day) {
            if overlaps.len() == MOST_OVERLAPS {
                return overlaps;
            }
            if !first.sections.is_disjoint(&second.sections) {
                overlaps.extend(overlap(first.occurrence, second.occurrence));
            }
        }
    }
    overlaps
}

fn overlap(a: &Occurrence, b: &Occurrence) -> Option<Overlap> {
    let (first, second) = if b.start < a.start { (b, a) } else { (a, b) };
    let (from, to) = (second.start, first.end.min(second.end));
    (to.duration_since(from) > SignedDuration::from_mins(1)).then(|| Overlap {
        first: first.name.clone(),
        first_line: first.line,
        second: second.name.clone(),
        second_line: second.line,
        from,
        to,
    })
}

/// Gives a section that two entries touch one after the other to the first of them.
fn share(pieces: &mut [Piece<'_>], remarks: &mut Vec<Remark>) {
    for index in 1..pieces.len() {
        let (before, rest) = pieces.split_at_mut(index);
        let Some(piece) = rest.first_mut() else {
            return;
        };
        for other in before
            .iter()
            .rev()
            .take_while(|other| other.day == piece.day)
        {
            if !other.sections.is_disjoint(&piece.sections) {
                piece
                    .sections
                    .retain(|section| !other.sections.contains(section));
                remarks.push(Remark::Shared {
                    name: piece.occurrence.name.clone(),
                    with: other.occurrence.name.clone(),
                    start: piece.occurrence.start,
                });
            }
        }
    }
}

fn task(piece: &Piece<'_>, classes: &Classes) -> ScheduleTask {
    let Occurrence {
        id, name, category, ..
    } = piece.occurrence;
    let embeddable = classes
        .embeddable
        .iter()
        .any(|wanted| same_name(wanted, name));
    let part = if piece.part > 1 {
        format!("#{}", piece.part)
    } else {
        String::new()
    };
    ScheduleTask {
        state_id: 0,
        source: Source::Event,
        source_id: format!("{id}{part}"),
        name: name.clone(),
        category: category.clone().unwrap_or_else(|| name.clone()),
        status: PlacementStatus::Existing,
        locked: !embeddable,
        slots: ranges(piece.day, &piece.sections),
        // There are at most twelve.
        duration: u8::try_from(piece.sections.len()).unwrap_or(u8::MAX),
        task_class_id: None,
        task_order: 0,
        can_embed: embeddable,
        embedded_by: None,
        embed_host: None,
        event_type: EventType::Course,
    }
}
