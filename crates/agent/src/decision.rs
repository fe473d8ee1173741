//! Decisions that a model makes and code checks.
//!
//! [`settle`] corrects a model in rounds of the graph, where each rejected answer is stored and the
//! count survives a crash. A [`Judge`] is a question that a model answers by a function call, or
//! else rules; an [`Inquiry`] asks it, inside and outside of graphs. If a backup or rules replace
//! the model, [`announce`] says so at once, with the reason in plain words.
mod correction;
mod inquiry;
mod judge;
mod notice;
mod state;

pub(crate) use correction::settle_part;
pub(crate) use notice::announce_backup;

pub use correction::{CorrectionState, OnFailure, settle};
pub use inquiry::Inquiry;
pub use judge::Judge;
pub use notice::{ModelFailure, announce};
pub use state::{DecisionState, DecisionUpdate};
