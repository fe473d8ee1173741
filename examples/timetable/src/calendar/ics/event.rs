//! From content lines to events.
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::Calendar;
use super::error::{Fault, IcsError, IcsProblem};
use super::lines::{Line, read_lines};
use super::rule::Rule;
use super::time::{self, EventTime};
use super::zone::{self, Definition, Zones};

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
    /// Further starts, some with a length of their own.
    pub(super) extra: Vec<(EventTime, Option<SignedDuration>)>,
    pub(super) except: Vec<EventTime>,
    /// The planned start of the occurrence that this event replaces.
    pub(super) replaces: Option<EventTime>,
    pub(super) cancelled: bool,
    pub(super) free: bool,
}

/// Reads the events of a file; all of them, or the first error.
pub(super) fn read(file: &str, bytes: &[u8]) -> Result<Calendar, IcsError> {
    let outside = |fault: Fault| fault.within(file, None);
    let lines = read_lines(bytes).map_err(outside)?;
    let components = components(&lines).map_err(outside)?;
    let mut zones = Zones::default();
    for component in components
        .iter()
        .filter(|component| component.kind == "VTIMEZONE")
    {
        zones.define(&definition(component));
    }
    let zone = components
        .iter()
        .find_map(|component| component.line("X-WR-TIMEZONE"));
    let zone = zone
        .map(|line| home(line, &zones))
        .transpose()
        .map_err(outside)?;
    let mut events = Vec::new();
    for component in components
        .iter()
        .filter(|component| component.kind == "VEVENT")
    {
        if events.len() == MOST_EVENTS {
            let problem = IcsProblem::TooManyEvents { limit: MOST_EVENTS };
            return Err(Fault::new(component.begin, problem).within(file, None));
        }
        let named = |fault: Fault| fault.within(file, label(component).as_deref());
        events.push(event(component, &zones).map_err(named)?);
    }
    Ok(Calendar {
        file: file.to_owned(),
        zone,
        events,
    })
}

/// The properties between a `BEGIN` and its `END`, without nested components.
struct Component<'a> {
    kind: String,
    begin: usize,
    lines: Vec<&'a Line>,
    /// The `TZOFFSETTO` of nested components.
    offsets: Vec<String>,
}

impl<'a> Component<'a> {
    fn line(&self, name: &str) -> Option<&'a Line> {
        self.all(name).next()
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &'a Line> {
        self.lines
            .iter()
            .copied()
            .filter(move |line| line.name == name)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.line(name)
            .map(Line::text)
            .filter(|text| !text.is_empty())
    }
}

fn components(lines: &[Line]) -> Result<Vec<Component<'_>>, Fault> {
    let mut done = Vec::new();
    let mut open: Vec<Component<'_>> = Vec::new();
    for line in lines {
        let kind = line.value.trim().to_ascii_uppercase();
        match (line.name.as_str(), open.last_mut()) {
            ("BEGIN", None) if kind != "VCALENDAR" => {
                return Err(Fault::new(line.number, IcsProblem::NotACalendar));
            }
            ("BEGIN", _) => {
                let begin = line.number;
                open.push(Component {
                    kind,
                    begin,
                    lines: Vec::new(),
                    offsets: Vec::new(),
                });
            }
            ("END", _) => {
                let closed = open.pop_if(|last| last.kind == kind).ok_or_else(|| {
                    let open = open.last().map(|last| last.kind.clone());
                    let found = kind.chars().take(40).collect();
                    Fault::new(line.number, IcsProblem::Mismatched { found, open })
                })?;
                if let Some(parent) = open.last_mut() {
                    let offsets = closed.all("TZOFFSETTO").map(|line| line.value.trim());
                    parent.offsets.extend(offsets.map(str::to_owned));
                }
                done.push(closed);
            }
            (_, Some(component)) => component.lines.push(line),
            (_, None) => return Err(Fault::new(line.number, IcsProblem::NotACalendar)),
        }
    }
    if let Some(component) = open.pop() {
        let component_name = component.kind.chars().take(40).collect();
        let problem = IcsProblem::Unclosed {
            component: component_name,
        };
        return Err(Fault::new(component.begin, problem));
    }
    if done.is_empty() {
        return Err(Fault::new(1, IcsProblem::NotACalendar));
    }
    Ok(done)
}

fn definition(component: &Component<'_>) -> Definition {
    Definition {
        name: component
            .line("TZID")
            .map(|line| line.value.trim().to_owned())
            .unwrap_or_default(),
        location: component.text("X-LIC-LOCATION"),
        offsets: component.offsets.clone(),
    }
}

fn home(line: &Line, zones: &Zones) -> Result<TimeZone, Fault> {
    let name = line.value.trim();
    zones
        .named(name)
        .or_else(|| zone::known(name))
        .ok_or_else(|| {
            Fault::new(
                line.number,
                IcsProblem::UnknownZone {
                    zone: name.to_owned(),
                },
            )
        })
}

/// Returns the name of an event in errors.
fn label(component: &Component<'_>) -> Option<String> {
    component.text("SUMMARY").or_else(|| component.text("UID"))
}

fn event(component: &Component<'_>, zones: &Zones) -> Result<Event, Fault> {
    let missing = || Fault::new(component.begin, IcsProblem::NoStart);
    let start = component.line("DTSTART").ok_or_else(missing)?;
    let start = time::moment(start, &start.value, zones)?;
    let moments = |name| {
        let lists = component.all(name).map(|line| time::moments(line, zones));
        lists
            .collect::<Result<Vec<_>, _>>()
            .map(|lists| lists.into_iter().flatten().collect())
    };
    refuse(component)?;
    let name = component.text("SUMMARY").unwrap_or_default();
    let is = |property, value: &str| {
        component
            .text(property)
            .is_some_and(|text| text.eq_ignore_ascii_case(value))
    };
    Ok(Event {
        line: component.begin,
        // Without a UID, name and start tell events apart, and stay the same in each import.
        uid: component
            .text("UID")
            .unwrap_or_else(|| format!("{name}@{}", start.civil())),
        name,
        category: component
            .line("CATEGORIES")
            .map(Line::first_text)
            .filter(|c| !c.is_empty()),
        length: length(component, &start, zones)?,
        rules: component
            .all("RRULE")
            .map(Rule::read)
            .collect::<Result<_, _>>()?,
        extra: extra(component, zones)?,
        except: moments("EXDATE")?,
        replaces: moments("RECURRENCE-ID").map(|moments: Vec<_>| moments.into_iter().next())?,
        cancelled: is("STATUS", "CANCELLED"),
        free: is("TRANSP", "TRANSPARENT"),
        start,
    })
}

/// Returns an error for properties that would change the recurrence and are not supported.
fn refuse(component: &Component<'_>) -> Result<(), Fault> {
    if let Some(line) = component.line("EXRULE") {
        let allowed = "EXDATE with each date";
        let property = "EXRULE".to_owned();
        return Err(Fault::new(
            line.number,
            IcsProblem::Unsupported { property, allowed },
        ));
    }
    let ranged = component
        .line("RECURRENCE-ID")
        .filter(|line| line.parameter("RANGE").is_some());
    ranged.map_or(Ok(()), |line| {
        let allowed = "RECURRENCE-ID without RANGE, one for each changed occurrence";
        let property = "RANGE=THISANDFUTURE".to_owned();
        Err(Fault::new(
            line.number,
            IcsProblem::Unsupported { property, allowed },
        ))
    })
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
        let backwards = || Fault::new(line.number, IcsProblem::EndsBeforeStart);
        return Some(length)
            .filter(|length| !length.is_negative())
            .ok_or_else(backwards);
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
) -> Result<Vec<(EventTime, Option<SignedDuration>)>, Fault> {
    let mut extra = Vec::new();
    for line in component.all("RDATE") {
        for value in line
            .value
            .split(',')
            .filter(|value| !value.trim().is_empty())
        {
            let Some((start, end)) = value.split_once('/') else {
                extra.push((time::moment(line, value, zones)?, None));
                continue;
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
            extra.push((start, Some(length)));
        }
    }
    Ok(extra)
}
