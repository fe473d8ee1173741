//! The zones that a calendar names: IANA, Windows, or defined in the file.
use std::collections::BTreeMap;

use jiff::civil::date;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::component::Component;
use super::recur::{IterationBudget, Rule};
use super::time;

/// The Windows names of zones and their IANA names, as the Unicode consortium lists them.
const WINDOWS: &str = include_str!("windows.tsv");

/// The zones that a calendar defines itself, in addition to the known ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Zones {
    defined: BTreeMap<String, TimeZone>,
    /// The zone of times without one, if the calendar names it.
    pub(super) home: Option<TimeZone>,
}

impl Zones {
    /// Adds the zone of a `VTIMEZONE`: one whose very name or location is known, else what its
    /// rules say. A definition that says nothing is skipped.
    pub(super) fn define(&mut self, definition: &Component<'_>, budget: &mut IterationBudget) {
        let Some(name) = definition.text("TZID") else {
            return;
        };
        let exact = |name: &str| known(name).filter(|zone| is_named(zone, name));
        let location = || exact(&definition.text("X-LIC-LOCATION")?);
        let zone = exact(&name)
            .or_else(location)
            .or_else(|| described(&name, definition, budget));
        if let Some(zone) = zone {
            self.defined.insert(name, zone);
        }
    }

    /// Returns the zone of a `TZID`.
    pub(super) fn named(&self, name: &str) -> Option<TimeZone> {
        let name = name.trim();
        self.defined.get(name).cloned().or_else(|| known(name))
    }
}

/// Returns true unless the name is that of a zone but for the case of its letters, as in a
/// definition of `Europe/lisbon` that is another zone.
fn is_named(zone: &TimeZone, name: &str) -> bool {
    let iana = zone.iana_name().unwrap_or_default();
    iana == name || !iana.eq_ignore_ascii_case(name)
}

/// Returns a zone by its IANA or Windows name. The database is part of this program, so that a
/// machine without one gives the same answer.
pub(crate) fn known(name: &str) -> Option<TimeZone> {
    let name = name.trim();
    if matches!(
        name,
        "UTC" | "Z" | "GMT" | "Etc/UTC" | "Coordinated Universal Time"
    ) {
        return Some(TimeZone::UTC);
    }
    let mut rows = WINDOWS.lines().filter_map(|row| row.split_once('\t'));
    if let Some((_, iana)) = rows.find(|(windows, _)| windows.eq_ignore_ascii_case(name)) {
        return TimeZoneDatabase::bundled().get(iana).ok();
    }
    // Some programs put a path in front: `/mozilla.org/20050126_1/Europe/Berlin`.
    let mut rest = name.trim_start_matches('/');
    loop {
        // A bare last part such as `Berlin` is no name of a zone, but `EST` is.
        if let Ok(zone) = TimeZoneDatabase::bundled().get(rest) {
            return Some(zone);
        }
        rest = rest.split_once('/')?.1;
    }
}

/// A moment at which the offset of a zone changes, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Transition {
    at: i64,
    from: i32,
    to: i32,
}

/// Returns the zone that the `STANDARD` and `DAYLIGHT` parts of a definition describe, until 2100.
fn described(
    name: &str,
    definition: &Component<'_>,
    budget: &mut IterationBudget,
) -> Option<TimeZone> {
    let mut transitions = Vec::new();
    let mut standard = None;
    for part in &definition.parts {
        let (from, to) = (offset(part, "TZOFFSETFROM")?, offset(part, "TZOFFSETTO")?);
        if part.kind == "STANDARD" {
            standard = standard.or(Some(to.seconds()));
        }
        let before = TimeZone::fixed(from);
        // With one offset only, some leave out since when it holds.
        let first = part
            .line("DTSTART")
            .map(|line| time::civil(line.value.trim()));
        let first = first.unwrap_or(Some(date(1970, 1, 1).at(0, 0, 0, 0)))?;
        let rule = part.line("RRULE").map(|line| Rule::read(line, first));
        let mut onsets = match rule.transpose().ok()?.flatten() {
            Some(rule) => rule.starts(date(2100, 1, 1), &before, budget).ok()?.starts,
            None => vec![first],
        };
        let more = part.all("RDATE").flat_map(|line| line.value.split(','));
        onsets.extend(more.filter_map(|value| time::civil(value.trim())));
        transitions.extend(onsets.into_iter().filter_map(|onset| {
            Some(Transition {
                at: before.to_timestamp(onset).ok()?.as_second(),
                from: from.seconds(),
                to: to.seconds(),
            })
        }));
    }
    transitions.sort_unstable();
    transitions.dedup_by_key(|transition| transition.at);
    // Times before all rules are not said to be anything; summer time would be a bad guess.
    let first = standard.unwrap_or(transitions.first()?.from);
    TimeZone::tzif(name, &tzif(first, &transitions)?).ok()
}

/// Reads an offset such as `+0100` or `-023000`.
fn offset(part: &Component<'_>, property: &str) -> Option<Offset> {
    let text = part.line(property)?.value.trim();
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => (1, text),
    };
    if !matches!(digits.len(), 4 | 6) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize| {
        let part = digits.get(from..from + 2);
        part.map_or(Some(0), |part| part.parse::<i32>().ok())
    };
    let seconds = part(0)? * 3_600 + part(2)? * 60 + part(4)?;
    Offset::from_seconds(sign * seconds).ok()
}

/// Writes transitions in the binary form of RFC 8536, which is the one way to make a zone of them.
fn tzif(first: i32, transitions: &[Transition]) -> Option<Vec<u8>> {
    let mut offsets = vec![first];
    let mut kinds = Vec::new();
    for transition in transitions {
        let known = offsets.iter().position(|offset| *offset == transition.to);
        kinds.push(u8::try_from(known.unwrap_or(offsets.len())).ok()?);
        if known.is_none() {
            offsets.push(transition.to);
        }
    }
    let header = |times: usize, offsets: usize| {
        let mut header = b"TZif2".to_vec();
        header.extend([0; 15 + 3 * 4]);
        for count in [times, offsets, 4] {
            header.extend(u32::try_from(count).ok()?.to_be_bytes());
        }
        Some(header)
    };
    let kind = |offset: i32| [&offset.to_be_bytes()[..], &[0, 0]].concat();
    // A block for readers of the first version, which is passed over.
    let mut bytes = header(0, 1)?;
    bytes.extend(kind(first));
    bytes.extend(b"LMT\0");
    bytes.extend(header(kinds.len(), offsets.len())?);
    for transition in transitions {
        bytes.extend(transition.at.to_be_bytes());
    }
    bytes.extend(kinds);
    bytes.extend(offsets.into_iter().flat_map(kind));
    bytes.extend(b"LMT\0\n\n");
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_windows_name_has_its_zone() {
        for row in WINDOWS.lines() {
            let (windows, iana) = row.split_once('\t').expect("two columns");
            assert!(known(windows).is_some(), "{windows} is said to be {iana}");
        }
        let tonga = known("Tonga Standard Time").expect("a Windows name");
        assert_eq!(tonga.iana_name(), Some("Pacific/Tongatapu"));
    }

    #[test]
    fn a_path_before_an_iana_name_is_ignored() {
        let zone = known("/mozilla.org/20050126_1/Europe/Berlin").expect("it ends in a name");
        assert_eq!(zone.iana_name(), Some("Europe/Berlin"));
        assert_eq!(known("Middle-earth/Shire"), None);
    }
}
