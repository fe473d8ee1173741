use thiserror::Error;

use crate::{ToolFailure, ToolResult, words::list};

/// The refusal of a call that is invalid as it is.
///
/// The text is a correction for the model: what was wrong, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No tool has this name.
    #[error("there is no tool `{name}`; the tools that can be called now are {}", list(.callable))]
    Unknown {
        /// The name that was called.
        name: String,
        /// The names of the tools that can be called.
        callable: Vec<String>,
    },
    /// The tool is disabled.
    #[error(
        "the tool `{name}` is switched off; the tools that can be called now are {}",
        list(.callable)
    )]
    Disabled {
        /// The tool.
        name: String,
        /// The names of the tools that can be called.
        callable: Vec<String>,
    },
    /// The tool is not in the whitelist of this phase.
    #[error(
        "the tool `{name}` is not allowed in this phase; the tools that can be called now are {}",
        list(.callable)
    )]
    NotInPhase {
        /// The tool.
        name: String,
        /// The names of the tools that can be called.
        callable: Vec<String>,
    },
    /// The tool is in a domain or pack that is not active.
    #[error("{}", inactive(.name, .domain, .pack.as_deref(), .can_be_added.then_some(*.merge)))]
    Inactive {
        /// The tool.
        name: String,
        /// The domain to add.
        domain: String,
        /// The pack to add; none if it comes with the domain.
        pack: Option<String>,
        /// True if the domain is active, so that the pack can be merged into it.
        merge: bool,
        /// True if the model has a tool to add the domain and the pack.
        can_be_added: bool,
    },
    /// The arguments do not fit.
    #[error("the arguments of `{name}` do not fit: {}", .problems.join("; "))]
    Arguments {
        /// The tool.
        name: String,
        /// Every problem, with its place.
        problems: Vec<String>,
    },
}

fn inactive(name: &str, domain: &str, pack: Option<&str>, merge: Option<bool>) -> String {
    let Some(merge) = merge else {
        return format!("the tool `{name}` is not available now");
    };
    let packs = match pack {
        Some(pack) if merge => format!(", packs [{pack:?}] and mode \"merge\""),
        Some(pack) => format!(" and packs [{pack:?}]"),
        None => String::new(),
    };
    let add = crate::choice::ADD;
    format!("the tool `{name}` is not active; first call {add} with domain {domain:?}{packs}")
}

impl<U> From<Refusal> for ToolResult<U> {
    fn from(refusal: Refusal) -> Self {
        let text = refusal.to_string();
        match refusal {
            Refusal::Unknown { .. } => ToolFailure::failed(text).into(),
            Refusal::Arguments { problems, .. } => problems
                .into_iter()
                .fold(ToolFailure::failed(text), ToolFailure::issue)
                .into(),
            _ => ToolFailure::blocked(text).into(),
        }
    }
}
