//! The parts of an agent that keep and recall: summaries, a person's data, notes.
//!
//! [`Compact`] and [`CompactLayers`] let a summary take the place of older messages or turns.
//! [`recall_person`] and [`save_person`] are the first and the last node of a run that uses a
//! person's preferences and tasks. [`remember`] stores what a message asks to remember, the tool
//! [`recall`] finds it again, [`to_recall`] reads what a question about it is about, [`forget`]
//! removes it, and [`log_once`] adds a line to the log of a day.
mod compact;
mod day;
mod forget;
mod person;
mod question;
mod recall;
mod remember;

pub use compact::{
    Compact, CompactLayers, Compactable, CompactionInput, CompactionStatistics, LayeredMemory,
    compactions,
};
pub use day::log_once;
pub use forget::forget;
pub use person::{PERSON_UNKNOWN, recall_person, save_person};
pub use question::to_recall;
pub use recall::{is_no_note, recall};
pub use remember::{REMEMBERED, is_taken_back, remember, to_quote, to_remember};
