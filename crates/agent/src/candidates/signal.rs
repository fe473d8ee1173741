use std::fmt::{Display, Write as _};

use serde::{Deserialize, Serialize};

/// A state summed up in one line of `name=value`, made of everything that a change can improve and
/// of nothing else. The place of a problem does not belong in it: the same problem in another place
/// is no improvement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgressSignal(String);

impl ProgressSignal {
    /// Returns an empty signal.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a value. Names keep the order in which they are given. The characters `;`, `=` and
    /// line breaks become `_` in a name or a value, so different states do not share a line by
    /// accident.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        if !self.0.is_empty() {
            self.0.push(';');
        }
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{}={}", plain(name), plain(&value.to_string()));
        self
    }

    /// Appends a share or another fraction, rounded to two decimal places: a smaller difference
    /// does not count as an improvement.
    #[must_use]
    pub fn with_share(self, name: &str, value: f64) -> Self {
        self.with(name, format_args!("{value:.2}"))
    }
}

fn plain(text: &str) -> String {
    text.replace([';', '=', '\n', '\r'], "_")
}

impl Display for ProgressSignal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ProgressSignal> for String {
    fn from(signal: ProgressSignal) -> Self {
        signal.0
    }
}

/// The last signal, and how often in a row it was repeated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stagnation {
    /// The last signal; empty for none.
    pub signal: String,
    /// The number of equal signals directly before the last one.
    pub count: u32,
}

impl Stagnation {
    /// Records the next signal. Returns how many equal signals came directly before it.
    pub fn observe(&mut self, signal: impl Into<String>) -> u32 {
        let signal = signal.into();
        let same = !signal.is_empty() && signal == self.signal;
        self.count = if same {
            self.count.saturating_add(1)
        } else {
            0
        };
        self.signal = signal;
        self.count
    }
}
