#![doc = include_str!("../README.md")]

mod agent;
pub mod candidates;
pub mod compact;
mod correction;
mod cycle;
mod direct;
mod embed;
mod fallback;
mod gate;
pub mod judge;
mod ledger;
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

pub use agent::{Agent, agent};
pub use correction::{CorrectionState, OnFailure, settle};
pub use cycle::{Cycle, CycleDetector, Similarity, ToolUse};
pub use direct::DirectReply;
pub use embed::Embeds;
pub use fallback::{FallbackChain, FallbackError, FallbackStep, GraphFallback, UnseenEffects};
pub use gate::ConfirmGate;
pub use ledger::{Takeover, WriteLedger, handover, written};
pub use notice::{ModelFailure, announce};
pub use person::{PERSON_UNKNOWN, RecallPerson, SavePerson};
pub use react::{
    Assistant, React, ReactLoop, ReactMetadata, ReactReply, ReactRun, ReactUpdate, ReplyError,
    StopReason, StopWords,
};
pub use remember::{
    MemoryTrigger, REMEMBERED, Recall, RecallArgs, log_once, to_remember, with_note_receipt,
};
pub use reply::ask_reply;
pub use report::RunReport;
pub use sequence::{
    ActionDone, ActionEnd, ActionRequest, Actions, ActionsUpdate, GuardedSequences,
};
pub use speech::{Speech, StreamedParts, ask, show};
pub use toolbox::{RoundOutcome, Toolbox, finished};
pub use wording::{claims_action, marked};
