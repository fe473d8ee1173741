use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A time that the person wants kept free until they take it back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FreeTime {
    /// The dates, such as `2026-09-14`.
    pub dates: BTreeSet<String>,
    /// The sections of these days; empty if the whole days are meant.
    pub sections: BTreeSet<u8>,
}
