//! A calendar of the person elsewhere, such as on a `CalDAV` server.
use async_trait::async_trait;
use serde_json::{Map, json};

use crate::{contract::Call, schedule::Slot};

/// A calendar elsewhere: what is in it is busy, and what was kept is written into it.
#[async_trait]
pub trait RemoteCalendar: Send + Sync {
    /// Reads what changed there, and writes what was kept here. A failure is a remark.
    async fn sync(&self) -> CalendarSyncReport;

    /// Returns the reason why what was kept is not written there yet, in words.
    fn late(&self) -> Option<String>;
}

const _: Option<&dyn RemoteCalendar> = None;

/// The result of reading and writing a calendar elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CalendarSyncReport {
    /// The text for the person.
    pub remarks: Vec<String>,
    /// The changes there of items that were kept here; nothing of it is taken over or overwritten
    /// before the person says so.
    pub elsewhere: Vec<RemoteChange>,
}

/// A change that somebody made elsewhere to an item that was kept here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteChange {
    /// The item.
    pub task: u32,
    /// Its place there; none if it was deleted.
    pub to: Option<Slot>,
}

impl RemoteChange {
    /// Returns the call by which a person takes it over.
    pub fn call(&self) -> Call {
        let (name, arguments) = match self.to {
            Some(to) => (
                "move",
                json!({ "task_id": self.task, "new_day": to.day, "new_slot_start": to.slot_start }),
            ),
            None => ("unplace", json!({ "task_id": self.task })),
        };
        Call {
            name: name.into(),
            arguments: arguments.as_object().cloned().unwrap_or_else(Map::new),
            listed: false,
        }
    }
}

/// Returns true if a person takes over what was changed elsewhere.
pub fn takes_over(text: &str) -> bool {
    let text = text.trim().trim_end_matches(['.', '!', '。', '！']);
    [
        "take over",
        "take it over",
        "take that over",
        "采用",
        "采用那边的改动",
        "接受那边的改动",
    ]
    .iter()
    .any(|words| text.eq_ignore_ascii_case(words))
}
