//! The words of a run: streamed as a model says them, and checked against what was done.
//!
//! [`ask`] streams a model's answer, [`show`] a text that is complete, and [`ask_tagged`] the text
//! that comes after a decision. A [`RunReport`] says from receipts what was done and what was not;
//! [`ask_reply`] asks for the last words of a run and puts them after that report.
//! [`claims_action`] and [`marked`] are the checks on their own.
mod report;
mod speech;
mod tagged;
mod wording;
mod words;

pub(crate) use speech::{CallIds, Speech, SpeechOptions, StreamedAnswer, last_said, overhear};
pub(crate) use wording::{cut_mark, for_people, is_chinese, is_cut};
pub(crate) use words::{NoWords, ask_for_people, spoken};

pub use report::RunReport;
pub(crate) use report::amid_a_line;
pub use speech::{ask, ask_unseen, show};
pub use tagged::ask_tagged;
pub use wording::{claims_action, marked};
pub use words::ask_reply;
