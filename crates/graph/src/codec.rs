//! The stored form of a fact: one version byte, then JSON that a person can read.
//!
//! Version 2 adds the scope of a fact, effects, budgets and operators. Version 1 has none of them,
//! and is read as such.
use std::{borrow::Cow, sync::Arc};

use fugato_state::{Millis, RunId};
use fugato_store::Record;
use serde::{Deserialize, Serialize, Serializer};

use crate::{
    RunError, RunErrorKind,
    machine::{Fact, Names, TaskPath},
};

/// The version that this program writes.
pub(crate) const VERSION: u8 = 2;

/// The size of a record without its updates, in bytes, if it has few routes and no notes.
const FRAME: usize = 160;

#[derive(Serialize)]
struct Writing<'a, F> {
    at: Millis,
    run: RunId,
    #[serde(skip_serializing_if = "str::is_empty")]
    scope: &'a str,
    fact: F,
}

#[derive(Deserialize)]
pub(crate) struct Entry<'a> {
    pub(crate) at: Millis,
    pub(crate) run: RunId,
    /// The subgraph of the fact; empty for the graph itself.
    #[serde(borrow, default)]
    pub(crate) scope: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) fact: Fact<StoredPath<'a>>,
}

/// A path as text, in a record that is read.
#[derive(Deserialize)]
pub(crate) struct StoredPath<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// A path that is written as text.
struct PathText<'a>(TaskPath, &'a Names);

impl Serialize for PathText<'_> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        // Written in one piece: the serialiser searches each piece for characters to escape.
        serializer.serialize_str(&self.1.text(self.0))
    }
}

/// Writes a fact. `at` is the store's clock, for people.
pub(crate) fn encode(
    fact: Fact<TaskPath>,
    at: Millis,
    run: RunId,
    scope: &str,
    names: &Names,
) -> Result<Record, RunError> {
    let payload = match &fact {
        Fact::Stepped { updates, .. } | Fact::Finished { updates, .. } => updates.as_ref(),
        _ => None,
    };
    let size = FRAME + payload.map_or(0, |updates| updates.get().len());
    let fact = fact.map(&mut |path| Ok::<_, serde_json::Error>(PathText(path, names)))?;
    let mut body = Vec::with_capacity(size);
    body.push(VERSION);
    let writing = Writing {
        at,
        run,
        scope,
        fact,
    };
    serde_json::to_writer(&mut body, &writing)?;
    Ok(Record(body))
}

/// Reads a stored fact.
pub(crate) fn read(record: &Record) -> Result<Entry<'_>, RunError> {
    match record.0.split_first() {
        Some((1..=VERSION, body)) => {
            // Checked in one piece: the parser would check each text for itself.
            let body = std::str::from_utf8(body).map_err(|error| unreadable(&error.to_string()))?;
            Ok(serde_json::from_str(body)?)
        }
        Some((other, _)) => Err(unreadable(&format!(
            "the record has format version {other}; this program reads versions up to {VERSION}"
        ))),
        None => Err(unreadable("the record is empty")),
    }
}

/// Returns the fact with the addresses that the machine uses.
pub(crate) fn addressed(
    fact: Fact<StoredPath<'_>>,
    names: &mut Arc<Names>,
) -> Result<Fact<TaskPath>, RunError> {
    let mut fact = fact
        .map(&mut |text| names.path(&text.0))
        .map_err(|error| RunError::new(RunErrorKind::Format).because(error))?;
    if let Fact::Stepped { routes, .. } | Fact::Closed { routes } = &mut fact {
        for (join, from) in &mut routes.arrived {
            names.renew(join);
            names.renew(from);
        }
        for join in &mut routes.joined {
            names.renew(join);
        }
    }
    Ok(fact)
}

fn unreadable(why: &str) -> RunError {
    RunError::new(RunErrorKind::Format).because(why)
}
