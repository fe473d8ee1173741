use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// Sums up a state in one line of `name=value`, made of everything that a change can improve and of
/// nothing else. The place of a problem does not belong in it: the same problem in another place is
/// no improvement.
///
/// The characters `;`, `=` and line breaks become `_` in a name or a value, so different states do
/// not share a line by accident. A fraction is best rounded, as in `format_args!("{share:.2}")`: a
/// smaller difference then does not count as an improvement.
pub fn signal(values: &[(&str, &dyn Display)]) -> String {
    let plain = |text: &str| text.replace([';', '=', '\n', '\r'], "_");
    let one = |(name, value): &(&str, &dyn Display)| {
        format!("{}={}", plain(name), plain(&value.to_string()))
    };
    values.iter().map(one).collect::<Vec<_>>().join(";")
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
