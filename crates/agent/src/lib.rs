#![doc = include_str!("../README.md")]

pub mod candidates;
pub mod compact;
mod correction;
mod cycle;
mod deeds;
mod direct;
mod embed;
mod fallback;
mod gate;
pub mod judge;
mod notice;
mod person;
pub mod plan;
pub mod preflight;
mod react;
mod remember;
mod reply;
mod report;
mod sequence;
mod speech;
mod toolbox;
pub mod trace;
mod wording;

pub use correction::{Corrections, Corrects, NoDecision, OnFailure, Rejection, Settled, spoken};
pub use cycle::{Cycle, CycleDetector, Likeness, ToolUse};
pub use deeds::{Deeds, TakesOver, handover, written};
pub use direct::DirectReply;
pub use embed::Embeds;
pub use fallback::{Fall, FallbackChain, FallbackError, GraphFallback, Unseen};
pub use gate::ConfirmGate;
pub use notice::ModelFailure;
pub use person::{PERSON_UNKNOWN, RecallPerson, SavePerson};
pub use react::{
    Assistant, React, ReactLoop, ReactMetadata, ReactReply, ReactRules, ReactRun, ReactUpdate,
    StopReason, StopWords, Unreplied,
};
pub use remember::{MemoryTrigger, REMEMBERED, Recall, RecallArgs, log_once, to_remember};
pub use reply::ask_reply;
pub use report::Report;
pub use sequence::{
    ActionDone, ActionEnd, ActionRequest, Actions, ActionsUpdate, GuardedSequences,
};
pub use speech::{Shown, Speech, ask, show};
pub use toolbox::{Carried, Toolbox, finished};
pub use wording::{claims_action, marked};
