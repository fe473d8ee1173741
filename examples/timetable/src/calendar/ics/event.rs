//! From content lines to events.
use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::IcsCalendar;
use super::component::{Component, components};
use super::error::{Fault, IcsError, IcsProblem, Loss};
use super::lines::{Line, read_lines};
use super::recur::{IterationBudget, Rule};
use super::time::{self, EventTime};
use super::zone::Zones;

/// No calendar that a person keeps has more.
const MOST_EVENTS: usize = 20_000;

/// A `VEVENT`.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// The line on which it begins.
    pub(super) line: usize,
    pub(super) uid: String,
    pub(super) name: String,
    pub(super) category: Option<String>,
    pub(super) start: EventTime,
    pub(super) length: SignedDuration,
    pub(super) rules: Vec<Rule>,
    pub(super) except_rules: Vec<Rule>,
    /// Further starts, some with a length of their own.
    pub(super) extra: Vec<(EventTime, Option<SignedDuration>)>,
    pub(super) except: Vec<EventTime>,
    /// The planned start of the occurrence that this event replaces.
    pub(super) replaces: Option<EventTime>,
    /// True if it replaces all later occurrences too.
    pub(super) and_future: bool,
    /// The version; the highest one of a file counts.
    pub(super) sequence: i64,
    pub(super) cancelled: bool,
    pub(super) free: bool,
}

/// Reads the events of a file. What cannot be read of it costs a line or an entry, and is noted.
pub(super) fn read(file: &str, bytes: &[u8]) -> Result<IcsCalendar, IcsError> {
    let mut faults = Vec::new();
    let lines = read_lines(bytes, &mut faults);
    let components = components(&lines, &mut faults);
    let of = |kind: &'static str| components.iter().filter(move |one| one.kind == kind);
    if of("VCALENDAR").next().is_none() && of("VEVENT").next().is_none() {
        let fault = Fault::new(1, IcsProblem::NotACalendar);
        return Err(fault.costing(Loss::File).within(file, None));
    }
    if let Some(one) = of("VEVENT").nth(MOST_EVENTS) {
        let fault = Fault::new(one.begin, IcsProblem::TooManyEvents(MOST_EVENTS));
        return Err(fault.costing(Loss::File).within(file, None));
    }
    let mut zones = Zones::default();
    let mut budget = IterationBudget::new();
    of("VTIMEZONE").for_each(|definition| zones.define(definition, &mut budget));
    let home = components.iter().find_map(|one| one.line("X-WR-TIMEZONE"));
    zones.home = home.and_then(|line| zones.named(&line.value));
    let named = home.map(|line| (line, line.value.as_str()));
    faults.extend(unknown_zones(
        named.into_iter().chain(of("VEVENT").flat_map(zone_names)),
        &zones,
    ));
    let mut problems: Vec<IcsError> = faults
        .into_iter()
        .map(|fault| fault.within(file, None))
        .collect();
    let mut events = Vec::new();
    for component in of("VEVENT") {
        let mut faults = Vec::new();
        match event(component, &zones, &mut faults) {
            Ok(event) => events.push(event),
            Err(fault) => faults.push(fault),
        }
        let label = label(component);
        let named = |fault: Fault| fault.within(file, label.as_deref());
        problems.extend(faults.into_iter().map(named));
    }
    let outdated = drop_outdated(&mut events).into_iter();
    problems.extend(outdated.map(|(fault, name)| fault.within(file, Some(&name))));
    problems.sort_by_key(|problem| problem.line);
    Ok(IcsCalendar {
        file: file.to_owned(),
        zone: zones.home,
        events,
        problems,
    })
}

/// Returns the zones that the properties of an event name, each with its line.
fn zone_names<'a>(event: &Component<'a>) -> impl Iterator<Item = (&'a Line, &'a str)> {
    let lines: Vec<&'a Line> = event.lines.clone();
    let named = |line: &'a Line| Some((line, line.parameter("TZID")?));
    lines.into_iter().filter_map(named)
}

/// Returns a fault for each zone that is not known, at the first line that names it.
fn unknown_zones<'a>(
    named: impl Iterator<Item = (&'a Line, &'a str)>,
    zones: &Zones,
) -> Vec<Fault> {
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for (line, name) in named {
        if seen.insert(name.trim()) && zones.named(name).is_none() {
            let problem = IcsProblem::UnknownZone(name.trim().to_owned());
            faults.push(Fault::new(line.number, problem).costing(Loss::Nothing));
        }
    }
    faults
}

/// Removes events of which the file has a newer version: one with a higher `SEQUENCE`, or for a
/// changed occurrence one that is further down.
fn drop_outdated(events: &mut Vec<Event>) -> Vec<(Fault, String)> {
    let key = |event: &Event| {
        let planned = event.replaces.as_ref().map(EventTime::civil);
        let version = (event.sequence, planned.map(|_| event.line));
        ((event.uid.clone(), planned), version)
    };
    let mut newest = BTreeMap::new();
    for event in events.iter() {
        let (key, version) = key(event);
        let known = newest.entry(key).or_insert(version);
        *known = version.max(*known);
    }
    let is_old = |event: &mut Event| {
        let (key, version) = key(event);
        newest.get(&key).is_some_and(|newest| *newest > version)
    };
    let dropped = events.extract_if(.., is_old);
    let fault = |event: Event| (Fault::new(event.line, IcsProblem::Outdated), event.name);
    dropped.map(fault).collect()
}

/// Returns the name of an event in errors.
fn label(component: &Component<'_>) -> Option<String> {
    component.text("SUMMARY").or_else(|| component.text("UID"))
}

fn event(
    component: &Component<'_>,
    zones: &Zones,
    faults: &mut Vec<Fault>,
) -> Result<Event, Fault> {
    let missing = || Fault::new(component.begin, IcsProblem::NoStart);
    let start = component.line("DTSTART").ok_or_else(missing)?;
    let mut start = time::moment(start, &start.value, zones)?;
    let mut length = length(component, &start, zones)?;
    if length.is_negative() {
        let problem = IcsProblem::EndsBeforeStart;
        faults.push(Fault::new(component.begin, problem).costing(Loss::Nothing));
        start = start.at(start.civil().saturating_add(length));
        length = -length;
    }
    let planned = component.line("RECURRENCE-ID");
    let name = component.text("SUMMARY").unwrap_or_default();
    let is = |property, value: &str| {
        let text = component.text(property);
        text.is_some_and(|text| text.eq_ignore_ascii_case(value))
    };
    let sequence = component.text("SEQUENCE");
    let category = component.line("CATEGORIES").map(Line::first_text);
    Ok(Event {
        line: component.begin,
        // Without a UID, name and start tell events apart, and stay the same in each import.
        uid: component
            .text("UID")
            .unwrap_or_else(|| format!("{name}@{}", start.civil())),
        name,
        category: category.filter(|category| !category.is_empty()),
        length,
        rules: rules(component, "RRULE", &start, faults)?,
        except_rules: rules(component, "EXRULE", &start, faults)?,
        extra: extra(component, zones, faults),
        except: except(component, zones, faults),
        replaces: planned
            .map(|line| time::moment(line, &line.value, zones))
            .transpose()?,
        and_future: planned.is_some_and(|line| line.parameter("RANGE").is_some()),
        sequence: sequence
            .and_then(|text| text.parse().ok())
            .unwrap_or_default(),
        cancelled: is("STATUS", "CANCELLED"),
        free: is("TRANSP", "TRANSPARENT"),
        start,
    })
}

fn rules(
    component: &Component<'_>,
    property: &str,
    start: &EventTime,
    faults: &mut Vec<Fault>,
) -> Result<Vec<Rule>, Fault> {
    let mut rules = Vec::new();
    for line in component.all(property) {
        if let Some(rule) = Rule::read(line, start.civil())? {
            rules.push(rule);
        } else {
            let problem = IcsProblem::BadLine(format!("{}:{}", line.name, line.value));
            faults.push(Fault::new(line.number, problem).costing(Loss::Line));
        }
    }
    Ok(rules)
}

fn except(component: &Component<'_>, zones: &Zones, faults: &mut Vec<Fault>) -> Vec<EventTime> {
    let values = values(component, "EXDATE");
    let read = |(line, value)| time::moment(line, value, zones);
    kept(values.map(read), faults)
}

/// Returns the values of all properties of a name, each with its line.
fn values<'a>(
    component: &Component<'a>,
    property: &'static str,
) -> impl Iterator<Item = (&'a Line, &'a str)> {
    let split = |line: &'a Line| line.value.split(',').map(move |value| (line, value));
    let values = component.all(property).flat_map(split);
    values.filter(|(_, value)| !value.trim().is_empty())
}

/// Returns the values that could be read, and notes the others.
fn kept<T>(values: impl Iterator<Item = Result<T, Fault>>, faults: &mut Vec<Fault>) -> Vec<T> {
    let mut good = Vec::new();
    for value in values {
        match value {
            Ok(value) => good.push(value),
            Err(fault) => faults.push(fault.costing(Loss::Line)),
        }
    }
    good
}

/// Returns the length from `DTEND`, else from `DURATION`; else a whole day for a date, and zero for
/// a time.
fn length(
    component: &Component<'_>,
    start: &EventTime,
    zones: &Zones,
) -> Result<SignedDuration, Fault> {
    if let Some(line) = component.line("DTEND") {
        let end = time::moment(line, &line.value, zones)?;
        let length = between(start, &end);
        // Some exporters give an all-day event the same date twice.
        if start.is_day() && length.is_zero() {
            return Ok(SignedDuration::from_hours(24));
        }
        return Ok(length);
    }
    if let Some(line) = component.line("DURATION") {
        return time::duration(line, &line.value);
    }
    Ok(if start.is_day() {
        SignedDuration::from_hours(24)
    } else {
        SignedDuration::ZERO
    })
}

/// Returns the length on the clock of the start, so that a clock change overnight does not make a
/// recurring event longer or shorter.
fn between(start: &EventTime, end: &EventTime) -> SignedDuration {
    let end = match start {
        EventTime::Zoned(_, zone) => end.seen_from(zone),
        EventTime::Day(_) | EventTime::Floating(_) => Some(end.civil()),
    };
    end.map_or(SignedDuration::ZERO, |end| {
        end.duration_since(start.civil())
    })
}

/// Reads `RDATE`, which may hold periods: a start, and an end or a duration.
fn extra(
    component: &Component<'_>,
    zones: &Zones,
    faults: &mut Vec<Fault>,
) -> Vec<(EventTime, Option<SignedDuration>)> {
    let read = |(line, value): (&Line, &str)| {
        let Some((start, end)) = value.split_once('/') else {
            return Ok((time::moment(line, value, zones)?, None));
        };
        let start = time::moment(line, start, zones)?;
        let length = if end.trim_start().starts_with(['P', 'p', '+']) {
            time::duration(line, end)?
        } else {
            between(&start, &time::moment(line, end, zones)?)
        };
        if length.is_negative() {
            return Err(Fault::new(line.number, IcsProblem::EndsBeforeStart));
        }
        Ok((start, Some(length)))
    };
    kept(values(component, "RDATE").map(read), faults)
}
