//! The zones that a calendar names: IANA, Windows, or defined in the file.
use std::collections::BTreeMap;

use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

/// The zones that a calendar defines itself, in addition to the known ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Zones {
    defined: BTreeMap<String, TimeZone>,
}

/// The contents of a `VTIMEZONE`.
#[derive(Debug, Default)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) location: Option<String>,
    /// The `TZOFFSETTO` of each of its rules.
    pub(super) offsets: Vec<String>,
}

impl Zones {
    /// Adds the zone of a `VTIMEZONE`, found by its name, its location or its constant offset; an
    /// unknown zone is skipped.
    pub(super) fn define(&mut self, definition: &Definition) {
        let location = definition.location.as_deref().and_then(known);
        let zone = known(&definition.name)
            .or(location)
            .or_else(|| constant(definition));
        if let Some(zone) = zone {
            self.defined.insert(definition.name.clone(), zone);
        }
    }

    /// Returns the zone of a `TZID`.
    pub(super) fn named(&self, name: &str) -> Option<TimeZone> {
        self.defined.get(name).cloned().or_else(|| known(name))
    }
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
    let windows = WINDOWS
        .iter()
        .find(|(windows, _)| windows.eq_ignore_ascii_case(name));
    if let Some((_, iana)) = windows {
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

/// Returns the zone of a definition with a single offset, which needs no known name.
fn constant(definition: &Definition) -> Option<TimeZone> {
    let first = definition.offsets.first()?;
    if definition.offsets.iter().any(|offset| offset != first) {
        return None;
    }
    let (sign, digits) = match first.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    if !matches!(digits.len(), 4 | 6) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize| {
        digits
            .get(from..from + 2)
            .map_or(Some(0), |part| part.parse::<i32>().ok())
    };
    let seconds = sign * (part(0)? * 3_600 + part(2)? * 60 + part(4)?);
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

/// The Windows names that calendars of Outlook and Exchange use most.
const WINDOWS: &[(&str, &str)] = &[
    ("AUS Eastern Standard Time", "Australia/Sydney"),
    ("Arabian Standard Time", "Asia/Dubai"),
    ("Argentina Standard Time", "America/Buenos_Aires"),
    ("Atlantic Standard Time", "America/Halifax"),
    ("Bangladesh Standard Time", "Asia/Dhaka"),
    ("Canada Central Standard Time", "America/Regina"),
    ("Cen. Australia Standard Time", "Australia/Adelaide"),
    ("Central America Standard Time", "America/Guatemala"),
    ("Central Asia Standard Time", "Asia/Almaty"),
    ("Central Europe Standard Time", "Europe/Budapest"),
    ("Central European Standard Time", "Europe/Warsaw"),
    ("Central Standard Time", "America/Chicago"),
    ("Central Standard Time (Mexico)", "America/Mexico_City"),
    ("China Standard Time", "Asia/Shanghai"),
    ("E. Africa Standard Time", "Africa/Nairobi"),
    ("E. Australia Standard Time", "Australia/Brisbane"),
    ("E. Europe Standard Time", "Europe/Chisinau"),
    ("E. South America Standard Time", "America/Sao_Paulo"),
    ("Eastern Standard Time", "America/New_York"),
    ("Egypt Standard Time", "Africa/Cairo"),
    ("FLE Standard Time", "Europe/Kiev"),
    ("GMT Standard Time", "Europe/London"),
    ("GTB Standard Time", "Europe/Bucharest"),
    ("Greenwich Standard Time", "Atlantic/Reykjavik"),
    ("Hawaiian Standard Time", "Pacific/Honolulu"),
    ("India Standard Time", "Asia/Calcutta"),
    ("Iran Standard Time", "Asia/Tehran"),
    ("Israel Standard Time", "Asia/Jerusalem"),
    ("Korea Standard Time", "Asia/Seoul"),
    ("Morocco Standard Time", "Africa/Casablanca"),
    ("Mountain Standard Time", "America/Denver"),
    ("Myanmar Standard Time", "Asia/Rangoon"),
    ("Nepal Standard Time", "Asia/Katmandu"),
    ("New Zealand Standard Time", "Pacific/Auckland"),
    ("Newfoundland Standard Time", "America/St_Johns"),
    ("Pacific SA Standard Time", "America/Santiago"),
    ("Pacific Standard Time", "America/Los_Angeles"),
    ("Pakistan Standard Time", "Asia/Karachi"),
    ("Romance Standard Time", "Europe/Paris"),
    ("Russian Standard Time", "Europe/Moscow"),
    ("SA Pacific Standard Time", "America/Bogota"),
    ("SE Asia Standard Time", "Asia/Bangkok"),
    ("Singapore Standard Time", "Asia/Singapore"),
    ("South Africa Standard Time", "Africa/Johannesburg"),
    ("Sri Lanka Standard Time", "Asia/Colombo"),
    ("Taipei Standard Time", "Asia/Taipei"),
    ("Tokyo Standard Time", "Asia/Tokyo"),
    ("Turkey Standard Time", "Europe/Istanbul"),
    ("US Eastern Standard Time", "America/Indianapolis"),
    ("US Mountain Standard Time", "America/Phoenix"),
    ("Ulaanbaatar Standard Time", "Asia/Ulaanbaatar"),
    ("W. Australia Standard Time", "Australia/Perth"),
    ("W. Central Africa Standard Time", "Africa/Lagos"),
    ("W. Europe Standard Time", "Europe/Berlin"),
    ("West Asia Standard Time", "Asia/Tashkent"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_windows_name_has_its_zone() {
        for (windows, iana) in WINDOWS {
            assert!(known(windows).is_some(), "{windows} is said to be {iana}");
        }
    }

    #[test]
    fn a_path_before_an_iana_name_is_ignored() {
        let zone = known("/mozilla.org/20050126_1/Europe/Berlin").expect("it ends in a name");
        assert_eq!(zone.iana_name(), Some("Europe/Berlin"));
        assert_eq!(known("Middle-earth/Shire"), None);
    }

    #[test]
    fn a_zone_of_the_file_needs_a_location_or_a_constant_offset() {
        let zone = |location: Option<&str>, offsets: &[&str]| {
            let mut zones = Zones::default();
            zones.define(&Definition {
                name: "Campus".to_owned(),
                location: location.map(str::to_owned),
                offsets: offsets.iter().map(|&offset| offset.to_owned()).collect(),
            });
            zones.named("Campus")
        };
        assert_eq!(zone(Some("Asia/Tokyo"), &[]), known("Asia/Tokyo"));
        let eight = Offset::from_seconds(8 * 3_600).expect("within a day");
        assert_eq!(
            zone(None, &["+0800", "+0800"]),
            Some(TimeZone::fixed(eight))
        );
        assert_eq!(zone(None, &["+0100", "+0200"]), None);
        assert_eq!(zone(None, &["8 hours"]), None);
        assert_eq!(zone(None, &[]), None);
    }
}
