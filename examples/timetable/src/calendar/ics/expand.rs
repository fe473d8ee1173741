//! Expansion of events into the occurrences of a window.
use std::collections::BTreeMap;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

use super::error::{Fault, IcsError};
use super::event::Event;
use super::recur::IterationBudget;
use super::time::EventTime;
use super::{Calendar, Occurrence};

impl Calendar {
    /// Returns the occurrences from `first` to the end of `last`, on the clock of `home`, in order
    /// of time. Cancelled events are left out; those that leave the time free are marked.
    pub fn occurrences(
        &self,
        first: Date,
        last: Date,
        home: &TimeZone,
    ) -> Result<Vec<Occurrence>, IcsError> {
        let window = Window::new(first, last, home);
        let mut replaced: BTreeMap<&str, Vec<&EventTime>> = BTreeMap::new();
        for event in &self.events {
            if let Some(planned) = &event.replaces {
                replaced.entry(&event.uid).or_default().push(planned);
            }
        }
        let mut patience = IterationBudget::new();
        let mut found = Vec::new();
        for event in self.events.iter().filter(|event| !event.cancelled) {
            if let Some(planned) = &event.replaces {
                found.extend(window.occurrence(event, &event.start, event.length, planned));
                continue;
            }
            let gone = replaced
                .get(event.uid.as_str())
                .map_or(&[][..], Vec::as_slice);
            let named = |fault: Fault| fault.within(&self.file, Some(&event.name));
            found.extend(
                window
                    .recurring(event, gone, &mut patience)
                    .map_err(named)?,
            );
        }
        found.sort_by(|a, b| (a.start, a.end, &a.id).cmp(&(b.start, b.end, &b.id)));
        Ok(found)
    }
}

/// The requested range of time.
struct Window<'a> {
    start: DateTime,
    end: DateTime,
    last: Date,
    home: &'a TimeZone,
}

impl<'a> Window<'a> {
    fn new(first: Date, last: Date, home: &'a TimeZone) -> Self {
        let end = last
            .tomorrow()
            .unwrap_or(last)
            .to_datetime(Time::midnight());
        // On the clock of the event the same moment may be a day later.
        let last = last.tomorrow().unwrap_or(last);
        Self {
            start: first.to_datetime(Time::midnight()),
            end,
            last,
            home,
        }
    }

    fn recurring(
        &self,
        event: &Event,
        replaced: &[&EventTime],
        patience: &mut IterationBudget,
    ) -> Result<Vec<Occurrence>, Fault> {
        let mut starts: Vec<(EventTime, SignedDuration)> = Vec::new();
        let zone = match &event.start {
            EventTime::Zoned(_, zone) => zone,
            EventTime::Day(_) | EventTime::Floating(_) => self.home,
        };
        let first = event.start.civil();
        for rule in &event.rules {
            let days = rule.starts(first, self.last, zone, patience)?;
            starts.extend(
                days.into_iter()
                    .map(|day| (event.start.at(day), event.length)),
            );
        }
        if event.rules.is_empty() {
            starts.push((event.start.clone(), event.length));
        }
        for (start, length) in &event.extra {
            starts.push((start.clone(), length.unwrap_or(event.length)));
        }
        starts.retain(|(start, _)| {
            let hit = |gone: &EventTime| self.same(start, gone);
            !event.except.iter().any(hit) && !replaced.iter().any(|gone| hit(gone))
        });
        // A rule and an RDATE may name the same start.
        let mut found: Vec<Occurrence> = Vec::new();
        for (start, length) in starts {
            let occurrence = self.occurrence(event, &start, length, &start);
            found.extend(occurrence.filter(|new| found.iter().all(|old| old.id != new.id)));
        }
        Ok(found)
    }

    /// Returns true if an exception refers to this start. Exporters often give a date where a time
    /// is due, or midnight where a date is due; then only the days are compared.
    fn same(&self, start: &EventTime, exception: &EventTime) -> bool {
        if start.is_day() || exception.is_day() {
            return start.civil().date() == exception.civil().date();
        }
        match (start.instant(self.home), exception.instant(self.home)) {
            (Some(start), Some(exception)) => start.timestamp() == exception.timestamp(),
            _ => false,
        }
    }

    /// Returns the occurrence, if it touches the window.
    fn occurrence(
        &self,
        event: &Event,
        start: &EventTime,
        length: SignedDuration,
        planned: &EventTime,
    ) -> Option<Occurrence> {
        let end = start.civil().checked_add(length).ok()?;
        let end = match start {
            EventTime::Day(_) => end,
            _ => start.at(end).seen_from(self.home)?,
        };
        let begin = start.seen_from(self.home)?;
        let end = end.max(begin);
        let touches = begin < self.end && (end > self.start || begin >= self.start);
        touches.then(|| Occurrence {
            id: format!(
                "{}/{}",
                event.uid,
                planned.civil().strftime("%Y%m%dT%H%M%S")
            ),
            name: event.name.clone(),
            category: event.category.clone(),
            start: begin,
            end,
            all_day: start.is_day(),
            free: event.free,
            off_rule: off_rule(event, start),
            line: event.line,
        })
    }
}

fn off_rule(event: &Event, start: &EventTime) -> bool {
    let first = event.start.civil();
    start.civil() == first
        && !event.rules.is_empty()
        && event.rules.iter().all(|rule| !rule.names(first.date()))
}
