//! The search for the recorded request that is nearest to one that was not recorded.

use std::collections::BTreeMap;

use serde_json::Value;

/// The number of characters of a value that a message shows.
const SHOWN_CHARS: usize = 60;

/// The nearest request, and the first place where it differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NearestRequest {
    pub(super) line: usize,
    pub(super) place: String,
    pub(super) there: String,
    pub(super) here: String,
}

/// Returns the request that differs in the fewest places; the first of several.
pub(super) fn nearest<'a>(
    recorded: impl Iterator<Item = (usize, &'a Value)>,
    request: &Value,
) -> Option<NearestRequest> {
    let here = leaves(request);
    let compared = recorded.map(|(line, value)| {
        let there = leaves(value);
        let places: Vec<String> = here
            .keys()
            .chain(there.keys())
            .filter(|place| here.get(*place) != there.get(*place))
            .cloned()
            .collect();
        (line, there, places)
    });
    let (line, there, places) = compared.min_by_key(|(_, _, places)| places.len())?;
    let place = places.into_iter().min().unwrap_or_default();
    Some(NearestRequest {
        line,
        there: shown(there.get(&place)),
        here: shown(here.get(&place)),
        place,
    })
}

fn shown(text: Option<&String>) -> String {
    let Some(text) = text else {
        return "nothing".to_owned();
    };
    let short: String = text.chars().take(SHOWN_CHARS).collect();
    if short.len() == text.len() {
        short
    } else {
        short + "…"
    }
}

/// Returns every leaf of a value as JSON text, by its JSON pointer. Empty arrays and objects are
/// leaves.
pub(super) fn leaves(value: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![(String::new(), value)];
    while let Some((place, value)) = left.pop() {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let items = items.iter().enumerate();
                left.extend(items.map(|(position, item)| (format!("{place}/{position}"), item)));
            }
            Value::Object(fields) if !fields.is_empty() => {
                let names = fields.iter().map(|(name, field)| {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    (format!("{place}/{name}"), field)
                });
                left.extend(names);
            }
            leaf => {
                found.insert(place, leaf.to_string());
            }
        }
    }
    found
}
