//! The zones of places, by their names in English and in Chinese.
use std::{collections::BTreeMap, sync::LazyLock};

use fugato::words::{is_negated, normalize};

/// A place that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The name of its zone; none for a country with several.
    pub(crate) zone: Option<String>,
    /// The name, as the text has it, in the form that is compared.
    pub(crate) name: String,
}

/// The zones by the names of their places, in the form that is compared. The longest name of a
/// place in a text counts.
static PLACES: LazyLock<BTreeMap<String, Option<String>>> = LazyLock::new(|| {
    let mut places = BTreeMap::new();
    for zone in jiff::tz::db().available() {
        let zone = zone.as_str();
        // "America/New_York" is New York. Etc/GMT+5 is no place.
        let city = zone.rsplit('/').next().unwrap_or_default();
        let is_place = zone.contains('/') && !zone.starts_with("Etc/") && city.len() > 2;
        if is_place {
            places.insert(key(city), Some(zone.to_owned()));
        }
        // "Singapore" is another name of Asia/Singapore.
        let place = places.entry(key(zone));
        place.or_insert_with(|| Some(zone.to_owned()));
    }
    let lines = include_str!("../../places.txt").lines();
    let entries = lines.filter(|line| !line.starts_with('#'));
    for entry in entries.flat_map(|line| line.split(';')) {
        let mut words = entry.split_whitespace();
        let zone = words.next().unwrap_or_default();
        let zone = (zone != "*").then(|| zone.to_owned());
        places.extend(words.map(|name| (key(name), zone.clone())));
    }
    places.insert(key("Christmas Island"), Some("Indian/Christmas".to_owned()));
    // These are words, or no places on Earth.
    for word in ["nice", "reading", "", "etc", "rocks", "christmas"] {
        places.remove(word);
    }
    places
});

fn key(name: &str) -> String {
    normalize(&name.replace('_', " "))
}

/// Returns the places that a text names, in their order, but for those that it denies, and the text
/// without them.
pub(crate) fn places(text: &str) -> (Vec<Place>, String) {
    let plain = key(text);
    let (mut found, mut rest, mut at) = (Vec::<Place>::new(), String::new(), 0);
    while let Some(here) = plain.get(at..).filter(|here| !here.is_empty()) {
        let before = plain.get(..at).and_then(|text| text.chars().next_back());
        let Some(name) = longest(here, before) else {
            let next = here.chars().next().unwrap_or(' ');
            rest.push(next);
            at += next.len_utf8();
            continue;
        };
        at += name.len();
        if is_negated(&plain, &[name]) {
            continue;
        }
        let zone = PLACES.get(name).cloned().flatten();
        let name = name.to_owned();
        if !found.iter().any(|place| place.zone == zone) {
            found.push(Place { zone, name });
        }
    }
    // "Sydney, Australia" is one place.
    if found.iter().any(|place| place.zone.is_some()) {
        found.retain(|place| place.zone.is_some());
    }
    (found, rest)
}

/// Returns the longest name of a place with which a text begins.
fn longest(text: &str, before: Option<char>) -> Option<&'static str> {
    let is_word = |c: char| c.is_alphanumeric() && c.is_ascii();
    let first = text.chars().next()?;
    if before.is_some_and(is_word) && is_word(first) {
        return None;
    }
    let fits = |name: &&String| {
        let rest = text.strip_prefix(name.as_str());
        let latin = name.ends_with(is_word);
        rest.is_some_and(|rest| !(latin && rest.starts_with(is_word)))
    };
    let from = PLACES.range(first.to_string()..);
    let from = from.take_while(|(name, _)| name.starts_with(first));
    let names = from.map(|(name, _)| name).filter(fits);
    names.max_by_key(|name| name.len()).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_known_in_both_languages() {
        for (text, expected) in [
            ("Tokyo", &["Asia/Tokyo"][..]),
            ("柏林和洛杉矶", &["Europe/Berlin", "America/Los_Angeles"]),
            ("São Paulo", &["America/Sao_Paulo"]),
            ("Sydney, Australia", &["Australia/Sydney"]),
            ("印度", &["Asia/Kolkata"]),
            ("Kathmandu", &["Asia/Kathmandu"]),
            ("in America/Los_Angeles", &["America/Los_Angeles"]),
            ("not Tokyo time, the time in Singapore", &["Asia/Singapore"]),
            ("Atlantis", &[]),
            ("瓦坎达", &[]),
        ] {
            let zones: Vec<_> = places(text)
                .0
                .into_iter()
                .filter_map(|it| it.zone)
                .collect();
            assert_eq!(zones, expected, "{text}");
        }
        assert_eq!(places("USA").0.first().map(|it| &it.zone), Some(&None));
    }

    #[test]
    fn every_name_is_one_of_a_zone_that_exists() {
        for (name, zone) in PLACES.iter() {
            let there = zone.as_deref().map(jiff::tz::TimeZone::get);
            assert!(there.is_none_or(|it| it.is_ok()), "{name}: {zone:?}");
        }
        assert!(PLACES.len() > 1_500, "{}", PLACES.len());
    }
}
