//! The state of the threads, and what it was before.
use fugato::state::{MigrateError, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The lines of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The lines.
    pub lines: Vec<String>,
}

/// Another line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Say {
    /// The line.
    pub line: String,
}

/// An update that adds a line.
pub fn say(line: impl Into<String>) -> Say {
    Say { line: line.into() }
}

impl State for Page {
    type Update = Say;

    const VERSION: u32 = 2;

    fn apply(&mut self, Say { line }: Say) {
        self.lines.push(line);
    }

    fn migrate_state(from: u32, old: Value) -> Result<Self, MigrateError> {
        let read = match from {
            1 => serde_json::from_value(old).map(|lines| Self { lines }),
            _ => serde_json::from_value(old),
        };
        read.map_err(|source| failed(from, source))
    }

    fn migrate_update(from: u32, old: Value) -> Result<Vec<Say>, MigrateError> {
        let read = match from {
            1 => serde_json::from_value(old).map(|line| Say { line }),
            _ => serde_json::from_value(old),
        };
        let update = read.map_err(|source| failed(from, source))?;
        Ok(vec![update])
    }
}

fn failed(from: u32, source: serde_json::Error) -> MigrateError {
    let to = Page::VERSION;
    MigrateError { from, to, source }
}

/// The same in version 1: the lines alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OldPage(Vec<String>);

impl State for OldPage {
    type Update = String;

    fn apply(&mut self, line: String) {
        self.0.push(line);
    }
}
