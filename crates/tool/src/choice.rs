//! Choice of domains and packs: pure functions from a request to a verdict.
use std::collections::BTreeSet;

use fugato_state::say;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Domain, Domains, Visibility, VisibilityUpdate, words::list};

/// The name of the tool that adds a domain and packs.
pub const ADD: &str = "context_tools_add";
/// The name of the tool that removes a domain or packs.
pub const REMOVE: &str = "context_tools_remove";

/// A request to activate a domain, and packs of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddTools {
    /// The domain to activate.
    #[schemars(extend("x-zh" = "要启用的领域。"))]
    pub domain: String,
    /// The packs to activate beside the core pack; the domain's default packs if left out.
    #[schemars(extend("x-zh" = "核心包之外要启用的工具包；不写则用领域的默认包。"))]
    #[serde(default)]
    pub packs: Vec<String>,
    /// `replace` (the default) sets the packs, `merge` adds to those that are active.
    #[schemars(extend("x-zh" = "`replace`（默认）设定工具包，`merge` 加到已启用的上面。"))]
    #[serde(default)]
    pub mode: Option<String>,
}

/// A request to deactivate packs, a domain, or everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemoveTools {
    /// The domain to deactivate; `all` for every domain.
    #[schemars(extend("x-zh" = "要停用的领域；`all` 表示所有领域。"))]
    #[serde(default)]
    pub domain: Option<String>,
    /// Whether to deactivate every domain.
    #[schemars(extend("x-zh" = "是否停用所有领域。"))]
    #[serde(default)]
    pub all: bool,
    /// The packs to deactivate; the whole domain if left out.
    #[schemars(extend("x-zh" = "要停用的工具包；不写则停用整个领域。"))]
    #[serde(default)]
    pub packs: Vec<String>,
}

/// The verdict on a request: the answer for the model, and the change of the visibility.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChosenTools {
    /// The name of the tool that was called.
    pub tool: String,
    /// True if the request was accepted.
    pub success: bool,
    /// The action that was taken.
    pub action: ChoiceAction,
    /// The domain of the request; empty for every domain.
    pub domain: String,
    /// The packs that are active now, or those of a rejected request.
    pub packs: Vec<String>,
    /// The mode of a request to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The action as text for the model; empty if the request was rejected.
    pub message: String,
    /// The problem and what is allowed; empty if the request was accepted.
    pub error: String,
    /// The problem as a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<ChoiceError>,
    /// The change of the visibility; `None` if the request was rejected.
    #[serde(skip)]
    pub update: Option<VisibilityUpdate>,
}

/// The action that was taken on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceAction {
    /// The domain was activated.
    Activate,
    /// All domains were deactivated.
    ClearAll,
    /// The domain was deactivated.
    Deactivate,
    /// The packs were deactivated.
    DeactivatePacks,
    /// Nothing was changed.
    Reject,
}

/// The reason why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceError {
    /// There is no such domain.
    InvalidDomain,
    /// There is no such mode, or it does not fit what is active.
    InvalidMode,
    /// No domain has such a pack.
    InvalidPack,
    /// The core pack cannot be added or removed.
    FixedPackForbidden,
    /// Another domain has the pack.
    UnsupportedPacksForDomain,
}

type Rejection = (ChoiceError, String);

impl Domains {
    /// Judges a request to activate a domain. The verdict holds the change; nothing is changed
    /// here.
    pub fn add(&self, now: &Visibility, request: &AddTools) -> ChosenTools {
        let verdict = ChosenTools {
            packs: request.packs.clone(),
            mode: Some(request.mode.clone().unwrap_or_else(|| "replace".into())),
            ..ChosenTools::rejected(ADD, &request.domain)
        };
        match self.added(now, request) {
            Ok(update) => {
                let packs = now.clone().after(update.clone()).packs;
                ChosenTools {
                    success: true,
                    action: ChoiceAction::Activate,
                    message: say!(
                        "{} is active with {}",
                        "{} 已启用，含{}",
                        request.domain,
                        named(&packs)
                    ),
                    packs: packs.into_iter().collect(),
                    update: Some(update),
                    ..verdict
                }
            }
            Err(why) => verdict.because(why),
        }
    }

    fn added(&self, now: &Visibility, request: &AddTools) -> Result<VisibilityUpdate, Rejection> {
        let domain = self.known(&request.domain)?;
        let merge = match request.mode.as_deref() {
            None | Some("replace") => false,
            Some("merge") => true,
            Some(other) => {
                let error = say!(
                    "there is no mode {other:?}; the modes are replace and merge",
                    "没有 mode {other:?}；可以用 replace 和 merge"
                );
                return Err((ChoiceError::InvalidMode, error));
            }
        };
        self.check_packs(&request.domain, domain, &request.packs)?;
        let mut packs: BTreeSet<_> = request.packs.iter().cloned().collect();
        if packs.is_empty() {
            packs.clone_from(&domain.default_packs);
        }
        let domain = request.domain.clone();
        match now.domain.as_deref() {
            Some(active) if merge && active == domain => {
                Ok(VisibilityUpdate::Added { domain, packs })
            }
            Some(active) if merge => {
                let error = say!(
                    "merge works within the active domain, which is {active}; use mode replace",
                    "merge 只用于已启用的领域 {active}；请用 mode replace"
                );
                Err((ChoiceError::InvalidMode, error))
            }
            _ => Ok(VisibilityUpdate::Activated { domain, packs }),
        }
    }

    /// Judges a request to deactivate packs or domains. Removing an inactive one is no error. The
    /// verdict holds the change; nothing is changed here.
    pub fn remove(&self, now: &Visibility, request: &RemoveTools) -> ChosenTools {
        if request.all || request.domain.as_deref() == Some("all") {
            return ChosenTools {
                success: true,
                action: ChoiceAction::ClearAll,
                message: say!("no domain is active", "没有启用任何领域"),
                update: Some(VisibilityUpdate::Cleared),
                ..ChosenTools::rejected(REMOVE, "")
            };
        }
        let name = request.domain.as_deref().unwrap_or_default();
        let verdict = ChosenTools {
            packs: request.packs.clone(),
            ..ChosenTools::rejected(REMOVE, name)
        };
        let checked = self
            .known(name)
            .and_then(|domain| self.check_packs(name, domain, &request.packs));
        match checked {
            Ok(()) => verdict.removed(now, request),
            Err(why) => verdict.because(why),
        }
    }

    fn known(&self, name: &str) -> Result<&Domain, Rejection> {
        self.get(name).ok_or_else(|| {
            let error = say!(
                "there is no domain {name:?}; the domains are {}",
                "没有领域 {name:?}；领域有{}",
                list(self.names())
            );
            (ChoiceError::InvalidDomain, error)
        })
    }

    fn check_packs(&self, name: &str, domain: &Domain, packs: &[String]) -> Result<(), Rejection> {
        for pack in packs {
            if domain.packs.contains(pack) {
                continue;
            }
            let allowed = if domain.packs.is_empty() {
                say!("{name} has no packs to choose", "{name} 没有可选的工具包")
            } else {
                say!(
                    "the packs of {name} are {}",
                    "{name} 的工具包有{}",
                    list(&domain.packs)
                )
            };
            let (code, error) = if *pack == domain.core || self.is_core(pack) {
                let error = say!(
                    "the pack {pack:?} is always active and cannot be chosen",
                    "工具包 {pack:?} 始终启用，不能选择"
                );
                (ChoiceError::FixedPackForbidden, error)
            } else if self.all_packs().contains(pack.as_str()) {
                let error = say!(
                    "the pack {pack:?} belongs to another domain",
                    "工具包 {pack:?} 属于另一个领域"
                );
                (ChoiceError::UnsupportedPacksForDomain, error)
            } else {
                (
                    ChoiceError::InvalidPack,
                    say!("there is no pack {pack:?}", "没有工具包 {pack:?}"),
                )
            };
            return Err((code, say!("{error}; {allowed}", "{error}；{allowed}")));
        }
        Ok(())
    }
}

impl ChosenTools {
    fn rejected(tool: &str, domain: &str) -> Self {
        Self {
            tool: tool.into(),
            success: false,
            action: ChoiceAction::Reject,
            domain: domain.into(),
            packs: vec![],
            mode: None,
            message: String::new(),
            error: String::new(),
            error_code: None,
            update: None,
        }
    }

    fn because(self, (code, error): Rejection) -> Self {
        Self {
            error_code: Some(code),
            error,
            ..self
        }
    }

    fn removed(self, now: &Visibility, request: &RemoveTools) -> Self {
        let domain = self.domain.clone();
        if request.packs.is_empty() {
            return Self {
                success: true,
                action: ChoiceAction::Deactivate,
                message: say!("{domain} is not active", "{domain} 未启用"),
                update: Some(VisibilityUpdate::Deactivated { domain }),
                ..self
            };
        }
        let update = VisibilityUpdate::Removed {
            domain: domain.clone(),
            packs: request.packs.iter().cloned().collect(),
        };
        let after = now.clone().after(update.clone());
        let active = after.domain.as_deref() == Some(&*domain);
        let left = if active { after.packs } else { BTreeSet::new() };
        let message = if left.is_empty() {
            say!(
                "no pack is left, so {domain} is not active",
                "没有剩下工具包，所以 {domain} 未启用"
            )
        } else {
            say!(
                "{domain} is active with {}",
                "{domain} 已启用，含{}",
                named(&left)
            )
        };
        Self {
            success: true,
            action: ChoiceAction::DeactivatePacks,
            message,
            packs: left.into_iter().collect(),
            update: Some(update),
            ..self
        }
    }
}

fn named(packs: &BTreeSet<String>) -> String {
    if packs.is_empty() {
        say!("its core pack", "核心工具包")
    } else {
        say!("its core pack and {}", "核心工具包和{}", list(packs))
    }
}

#[cfg(test)]
mod tests;
