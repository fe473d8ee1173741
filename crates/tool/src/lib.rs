#![doc = include_str!("../README.md")]

mod admitted;
mod arguments;
mod builder;
mod catalogue;
mod choice;
mod context;
mod context_tools;
mod domains;
mod dynamic;
mod evidence;
mod failure;
mod function;
mod gate;
mod history;
mod manifest;
mod next_step;
mod preview;
mod refusal;
mod registry;
mod result;
mod round;
mod schema;
mod spec;
mod tool;
mod view;
mod visibility;
mod wanted;
mod words;

pub use admitted::{AdmittedCall, UnknownOutcome};
pub use async_trait::async_trait;
pub use builder::{RegistryBuilder, RegistryError, RegistryIssue};
pub use catalogue::CatalogueDetail;
pub use choice::{ADD, AddTools, ChoiceAction, ChoiceError, ChosenTools, REMOVE, RemoveTools};
pub use context::{ToolCaller, ToolContext};
pub use domains::{Domain, Domains};
pub use evidence::{
    Evidence, EvidenceName, EvidenceSource, EvidenceUpdate, Finding, NeedsEvidence, StepEvidence,
};
pub use failure::ToolFailure;
pub use fugato_state::{EffectClass, ToolSchema, ToolStatus};
pub use function::{AsyncFunctionTool, FunctionTool, async_tool_fn, tool_fn};
pub use gate::{ConfirmCard, GateChain, GatePolicy, GatedCall, ToolLists, Verdict, confirm_writes};
pub use history::{arguments_of, call_pair, round_messages};
pub use manifest::{Manifest, ManifestError, Permission};
pub use next_step::{Handoff, NextStep};
pub use preview::preview;
pub use refusal::Refusal;
pub use registry::Registry;
pub use result::{SUMMARY_CHARS, ToolOutput, ToolResult, clip};
pub use round::{AnsweredCall, Round};
pub use spec::{Access, ToolSpec};
pub use tool::{NoArguments, Tool};
pub use visibility::{Visibility, VisibilityUpdate};
pub use wanted::WantedCall;
