use fugato_state::say;

use crate::{ToolFailure, ToolResult, words::list};

/// The refusal of a call that is invalid as it is.
///
/// The text is a correction for the model: what was wrong, and what is allowed.
#[derive(derive_more::Display, Debug, Clone, PartialEq, Eq)]
#[display("{}", self.text())]
#[non_exhaustive]
pub enum Refusal {
    /// No tool has this name.
    Unknown {
        /// The name that was called.
        name: String,
        /// The names of the tools that can be called.
        callable: Vec<String>,
    },
    /// The tool is disabled.
    Disabled {
        /// The tool.
        name: String,
        /// The names of the tools that can be called.
        callable: Vec<String>,
    },
    /// The tool is not in the whitelist of this phase.
    NotInPhase {
        /// The tool.
        name: String,
        /// The names of the tools that can be called.
        callable: Vec<String>,
    },
    /// The tool is in a domain or pack that is not active.
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
    Arguments {
        /// The tool.
        name: String,
        /// Every problem, with its place.
        problems: Vec<String>,
    },
}

impl std::error::Error for Refusal {}

impl Refusal {
    fn text(&self) -> String {
        let reason = self.reason();
        match self.advice() {
            Some(advice) => say!("{reason}; {advice}", "{reason}；{advice}"),
            None => reason,
        }
    }

    /// Returns what was wrong.
    fn reason(&self) -> String {
        match self {
            Self::Unknown { name, .. } => {
                say!("there is no tool `{name}`", "没有工具 `{name}`")
            }
            Self::Disabled { name, .. } => {
                say!("the tool `{name}` is switched off", "工具 `{name}` 已关闭")
            }
            Self::NotInPhase { name, .. } => say!(
                "the tool `{name}` is not allowed in this phase",
                "这个阶段不允许工具 `{name}`"
            ),
            Self::Inactive {
                name, can_be_added, ..
            } => {
                if *can_be_added {
                    say!("the tool `{name}` is not active", "工具 `{name}` 未启用")
                } else {
                    say!(
                        "the tool `{name}` is not available now",
                        "工具 `{name}` 现在不可用"
                    )
                }
            }
            Self::Arguments { name, problems } => {
                let problems = problems.join("; ");
                say!(
                    "the arguments of `{name}` do not fit: {problems}",
                    "`{name}` 的参数不合要求：{problems}"
                )
            }
        }
    }

    /// Returns what a model can do instead.
    fn advice(&self) -> Option<String> {
        match self {
            Self::Unknown { callable, .. }
            | Self::Disabled { callable, .. }
            | Self::NotInPhase { callable, .. } => {
                let callable = list(callable);
                Some(say!(
                    "the tools that can be called now are {callable}",
                    "现在可以调用的工具有{callable}"
                ))
            }
            Self::Inactive {
                domain,
                pack,
                merge,
                can_be_added: true,
                ..
            } => {
                let packs = match pack {
                    Some(pack) if *merge => say!(
                        ", packs [{pack:?}] and mode \"merge\"",
                        "、packs [{pack:?}] 和 mode \"merge\" "
                    ),
                    Some(pack) => say!(" and packs [{pack:?}]", "和 packs [{pack:?}] "),
                    None => String::new(),
                };
                let add = crate::choice::ADD;
                Some(say!(
                    "first call {add} with domain {domain:?}{packs}",
                    "请先用 domain {domain:?}{packs}调用 {add}"
                ))
            }
            Self::Inactive { .. } | Self::Arguments { .. } => None,
        }
    }
}

impl<U> From<Refusal> for ToolResult<U> {
    fn from(refusal: Refusal) -> Self {
        let (reason, advice) = (refusal.reason(), refusal.advice());
        let failure = match refusal {
            Refusal::Unknown { .. } => ToolFailure::failed(reason),
            Refusal::Arguments { problems, .. } => problems
                .into_iter()
                .fold(ToolFailure::failed(reason), ToolFailure::issue),
            _ => ToolFailure::blocked(reason),
        };
        match advice {
            Some(advice) => failure.advice(advice),
            None => failure,
        }
        .into()
    }
}
