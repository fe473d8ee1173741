use std::fmt::{Display, Write as _};

use serde::{Deserialize, Serialize};

/// How things stand, in one line of `name=value`, made of everything that a change can improve and
/// of nothing else. Where the problem lies does not belong in it: the same problem elsewhere is no
/// improvement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signal(String);

impl Signal {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One value more. Names stay in the order in which they are given. Signs that hold the line
    /// together become `_` in a name or a value, so that no two states share a line by accident.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        if !self.0.is_empty() {
            self.0.push(';');
        }
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{}={}", plain(name), plain(&value.to_string()));
        self
    }

    /// A share or another number that is not whole, to two places: what is less does not count as
    /// an improvement.
    #[must_use]
    pub fn with_share(self, name: &str, value: f64) -> Self {
        self.with(name, format_args!("{value:.2}"))
    }
}

fn plain(text: &str) -> String {
    text.replace([';', '=', '\n', '\r'], "_")
}

impl Display for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Signal> for String {
    fn from(signal: Signal) -> Self {
        signal.0
    }
}

/// How long nothing has helped: the last signal, and how often in a row it came again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stagnation {
    /// The last signal; empty for none.
    pub signal: String,
    /// How many signals before it, in a row, were equal to it.
    pub count: u32,
}

impl Stagnation {
    /// Takes the next signal. Returns how often in a row it is the same.
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
