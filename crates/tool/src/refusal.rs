use fugato_state::say;
use thiserror::Error;

use crate::{ToolFailure, ToolResult, words::list};

/// The refusal of a call that is invalid as it is.
///
/// The text is a correction for the model: what was wrong, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No tool has this name.
    #[error("{}", say!(
        "there is no tool `{name}`; the tools that can be called now are {}",
        "没有工具 `{name}`；现在可以调用的工具有{}",
        list(.callable)
    ))]
    Unknown {
        /// The name that was called.
        name: String,
        /// The names of the tools that can be called.
        callable: Vec<String>,
    },
    /// The tool is disabled.
    #[error("{}", say!(
        "the tool `{name}` is switched off; the tools that can be called now are {}",
        "工具 `{name}` 已关闭；现在可以调用的工具有{}",
        list(.callable)
    ))]
    Disabled {
        /// The tool.
        name: String,
        /// The names of the tools that can be called.
        callable: Vec<String>,
    },
    /// The tool is not in the whitelist of this phase.
    #[error("{}", say!(
        "the tool `{name}` is not allowed in this phase; the tools that can be called now are {}",
        "这个阶段不允许工具 `{name}`；现在可以调用的工具有{}",
        list(.callable)
    ))]
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
    #[error("{}", say!(
        "the arguments of `{name}` do not fit: {}",
        "`{name}` 的参数不合要求：{}",
        .problems.join("; ")
    ))]
    Arguments {
        /// The tool.
        name: String,
        /// Every problem, with its place.
        problems: Vec<String>,
    },
}

fn inactive(name: &str, domain: &str, pack: Option<&str>, merge: Option<bool>) -> String {
    let Some(merge) = merge else {
        return say!(
            "the tool `{name}` is not available now",
            "工具 `{name}` 现在不可用"
        );
    };
    let packs = match pack {
        Some(pack) if merge => say!(
            ", packs [{pack:?}] and mode \"merge\"",
            "、packs [{pack:?}] 和 mode \"merge\" "
        ),
        Some(pack) => say!(" and packs [{pack:?}]", "和 packs [{pack:?}] "),
        None => String::new(),
    };
    let add = crate::choice::ADD;
    say!(
        "the tool `{name}` is not active; first call {add} with domain {domain:?}{packs}",
        "工具 `{name}` 未启用；请先用 domain {domain:?}{packs}调用 {add}"
    )
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
