#![doc = include_str!("../README.md")]

mod alternatives;
mod budget;
mod builder;
mod fence;
mod history;
mod rules;
mod stage;
mod template;
mod trust;
mod wording;
mod work;

// Prompts and model clients count tokens with the same trait.
pub use fugato_state::{EstimatedTokens, TokenCount};

pub use alternatives::{bullets, one_of, piped_alternatives};
pub use budget::{Cut, FittedPrompt, Omission, PromptBudget, TooLong};
pub use builder::{MEMORY, PromptBuilder};
pub use fence::{fenced, fences};
pub use history::{
    conversation_view, correction, is_correction, is_marker, marker, since_marker, spoken,
    work_view,
};
pub use rules::RulePacks;
pub use stage::{AnsweredQuestion, Stage};
pub use template::{Template, TemplateError, TemplateFolder, ValueTemplate, value_text};
pub use trust::Trust;
pub use wording::Wording;
pub use work::StageWork;
