//! Expansion of events into the occurrences of a window.
use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

use super::error::{Fault, IcsError};
use super::event::Event;
use super::recur::IterationBudget;
use super::time::EventTime;
use super::{IcsCalendar, Occurrence};

impl IcsCalendar {
    /// Returns the occurrences from `first` to the end of `last`, on the clock of `home`, in order
    /// of time, and the events whose recurrence is too long to follow. Cancelled events are left
    /// out; those that leave the time free are marked.
    pub fn occurrences(
        &self,
        first: Date,
        last: Date,
        home: &TimeZone,
    ) -> (Vec<Occurrence>, Vec<IcsError>) {
        let window = Window::new(first, last, home);
        let mut overrides: BTreeMap<&str, Vec<(&EventTime, &Event)>> = BTreeMap::new();
        let mut series: BTreeMap<&str, &Event> = BTreeMap::new();
        for event in &self.events {
            if let Some(planned) = &event.replaces {
                let changes = overrides.entry(&event.uid).or_default();
                changes.push((planned, event));
            } else {
                series.insert(&event.uid, event);
            }
        }
        let mut budget = IterationBudget::new();
        let (mut found, mut problems) = (Vec::new(), Vec::new());
        for event in self.events.iter().filter(|event| !event.cancelled) {
            if let Some(planned) = &event.replaces {
                let series = series.get(event.uid.as_str());
                let newer = series.filter(|series| series.sequence > event.sequence);
                if newer.is_none_or(|series| window.names(series, planned, &mut budget)) {
                    found.extend(window.occurrence(event, &event.start, event.length, planned));
                }
                continue;
            }
            let changes = overrides.get(event.uid.as_str());
            let changes = changes.map_or(&[][..], Vec::as_slice);
            match window.recurring(event, changes, &mut budget) {
                Ok(occurrences) => found.extend(occurrences),
                Err(fault) => problems.push(fault.within(&self.file, Some(&event.name))),
            }
        }
        found.sort_by(|a, b| (a.start, a.end, &a.id).cmp(&(b.start, b.end, &b.id)));
        (found, problems)
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
        changes: &[(&EventTime, &Event)],
        budget: &mut IterationBudget,
    ) -> Result<Vec<Occurrence>, Fault> {
        let (starts, off_rule) = self.starts(event, changes, budget)?;
        let instant = |time: &EventTime| Some(time.instant(self.home)?.timestamp());
        // A rule and an RDATE may name the same start.
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for (start, length) in starts {
            if !seen.insert(start.civil()) {
                continue;
            }
            let earlier = changes.iter().filter(|(planned, change)| {
                change.and_future && instant(planned) < instant(&start)
            });
            let latest = earlier.max_by_key(|(planned, _)| instant(planned));
            let Some((planned, change)) = latest else {
                let off_rule = off_rule && start.civil() == event.start.civil();
                let occurrence = self.occurrence(event, &start, length, &start);
                found.extend(occurrence.map(|one| Occurrence { off_rule, ..one }));
                continue;
            };
            let shift = change.start.civil().duration_since(planned.civil());
            let moved = start.civil().checked_add(shift).ok();
            if let Some(moved) = moved.filter(|_| !change.cancelled) {
                let moved = change.start.at(moved);
                found.extend(self.occurrence(change, &moved, change.length, &start));
            }
        }
        Ok(found)
    }

    /// Returns false if a series that is newer than a change has no occurrence any more when it was
    /// planned.
    fn names(&self, series: &Event, planned: &EventTime, budget: &mut IterationBudget) -> bool {
        planned.civil().date() > self.last
            || self
                .starts(series, &[], budget)
                .is_ok_and(|(starts, _)| starts.iter().any(|(start, _)| self.same(start, planned)))
    }

    /// Returns the starts of an event and their lengths, without exceptions and changes, and true
    /// if it has rules that do not name its first start.
    fn starts(
        &self,
        event: &Event,
        changes: &[(&EventTime, &Event)],
        budget: &mut IterationBudget,
    ) -> Result<(Vec<(EventTime, SignedDuration)>, bool), Fault> {
        // Those of RDATE first: if they name a start of the rule, their length counts.
        let length = |length: &Option<SignedDuration>| length.unwrap_or(event.length);
        let extra = event.extra.iter();
        let mut starts: Vec<(EventTime, SignedDuration)> = extra
            .map(|(start, own)| (start.clone(), length(own)))
            .collect();
        let zone = match &event.start {
            EventTime::Zoned(_, zone) => zone,
            EventTime::Day(_) | EventTime::Floating(_) => self.home,
        };
        let mut off_rule = !event.rules.is_empty();
        for rule in &event.rules {
            let named = rule.starts(self.last, zone, budget)?;
            off_rule &= !named.names_first;
            let named = named.starts.into_iter();
            starts.extend(named.map(|start| (event.start.at(start), event.length)));
        }
        if event.rules.is_empty() {
            starts.push((event.start.clone(), event.length));
        }
        for rule in &event.except_rules {
            let gone: BTreeSet<DateTime> = rule
                .exceptions(self.last, zone, budget)?
                .into_iter()
                .collect();
            starts.retain(|(start, _)| !gone.contains(&start.civil()));
        }
        starts.retain(|(start, _)| {
            let hit = |gone: &EventTime| self.same(start, gone);
            !event.except.iter().any(hit) && !changes.iter().any(|(planned, _)| hit(planned))
        });
        Ok((starts, off_rule))
    }

    /// Returns true if an exception refers to this start. Exporters often give a date where a time
    /// is due, or midnight where a date is due; then only the days are compared. A floating time
    /// is the reading of whichever clock it is compared with (RFC 5545, 3.3.5).
    fn same(&self, start: &EventTime, exception: &EventTime) -> bool {
        if start.is_day() || exception.is_day() {
            return start.civil().date() == exception.civil().date();
        }
        let is_floating = |time: &EventTime| matches!(time, EventTime::Floating(_));
        if (is_floating(start) || is_floating(exception)) && start.civil() == exception.civil() {
            return true;
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
        let (begin, end) = if start.is_day() {
            (start.civil(), start.civil().checked_add(length).ok()?)
        } else {
            // A start that the clock skips is later, and so is the end (RFC 5545, 3.3.5).
            let begin = start.instant(self.home)?;
            let end = begin.datetime().checked_add(length).ok()?;
            let end = EventTime::Zoned(end, begin.time_zone().clone());
            let begin = begin.with_time_zone(self.home.clone());
            (begin.datetime(), end.seen_from(self.home)?)
        };
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
            off_rule: false,
            line: event.line,
        })
    }
}
