//! Texts of one line, for events and reports.
use std::error::Error;

use fugato_stream::EventKind;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the beginning of a text of at most `most` characters, on one line.
pub(crate) fn short(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let cut: String = line.chars().take(most).collect();
    format!("{cut}…")
}

/// Returns an error with its causes, in one line.
pub(crate) fn explain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (**error).source());
    let told: Vec<_> = causes.map(ToString::to_string).collect();
    told.join(": ")
}

/// Returns an event of this crate.
pub(crate) fn custom(name: &str, data: Value) -> EventKind {
    let name = name.to_owned();
    EventKind::Custom { name, data }
}

/// Returns the data of an event of this name; none if the event is another.
pub(crate) fn told<T: DeserializeOwned>(name: &str, event: &EventKind) -> Option<T> {
    match event {
        EventKind::Custom { name: own, data } if own == name => T::deserialize(data).ok(),
        _ => None,
    }
}
