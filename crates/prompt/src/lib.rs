#![doc = include_str!("../README.md")]

mod alternatives;
mod builder;
mod history;
mod rules;
mod stage;
mod tokens;
mod wording;

pub use alternatives::{bullets, one_of, piped_alternatives};
pub use builder::{MEMORY, PromptBuilder};
pub use history::{
    conversation_view, correction, is_correction, is_marker, marker, since_marker, work_view,
};
pub use rules::Rules;
pub use stage::{Resume, Stage};
pub use tokens::{EstimatedTokens, TokenCount};
pub use wording::Wording;
