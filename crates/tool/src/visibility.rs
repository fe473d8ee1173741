use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The active domain and packs: plain state, kept with the rest of an agent's state.
///
/// The tools of a domain and a pack are defined by the program, not by the state: see
/// [`Domains`](crate::Domains). Tools without a domain are always active.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visibility {
    /// The active domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The active packs of the domain, in addition to its core pack, which is always active.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub packs: BTreeSet<String>,
    /// The whitelist of a phase: if set, only these of the active tools are visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<BTreeSet<String>>,
    /// The tools that are hidden and blocked for now.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub disabled: BTreeSet<String>,
}

/// A change of the visibility.
///
/// A change holds the request and not the outcome, so that two requests of one round both take
/// effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VisibilityUpdate {
    /// Activates this domain with these packs, and nothing else.
    Activated {
        /// The domain.
        domain: String,
        /// The packs in addition to the core pack.
        packs: BTreeSet<String>,
    },
    /// Activates these packs too. If the domain is not active, it is activated with only these
    /// packs.
    Added {
        /// The domain.
        domain: String,
        /// The packs to add.
        packs: BTreeSet<String>,
    },
    /// Deactivates these packs of the domain; a domain without chosen packs is deactivated too.
    Removed {
        /// The domain.
        domain: String,
        /// The packs to remove.
        packs: BTreeSet<String>,
    },
    /// Deactivates this domain.
    Deactivated {
        /// The domain.
        domain: String,
    },
    /// Deactivates every domain.
    Cleared,
}

impl Visibility {
    /// Creates a visibility with no active domain.
    pub const fn new() -> Self {
        Self {
            domain: None,
            packs: BTreeSet::new(),
            only: None,
            disabled: BTreeSet::new(),
        }
    }

    /// Creates a visibility with this domain and these packs.
    pub fn of<P: Into<String>>(
        domain: impl Into<String>,
        packs: impl IntoIterator<Item = P>,
    ) -> Self {
        Self {
            domain: Some(domain.into()),
            packs: packs.into_iter().map(Into::into).collect(),
            ..Self::new()
        }
    }

    fugato_state::setters! {
        /// Limits the visible tools to these of the active ones.
        pub fn only<N: Into<String>>(tools: impl IntoIterator<Item = N>) {
            only = Some(tools.into_iter().map(Into::into).collect())
        }

        pub(crate) fn after(update: VisibilityUpdate) { apply(update) }
    }

    /// Applies a change. The whitelist and the disabled tools stay.
    pub fn apply(&mut self, update: VisibilityUpdate) {
        match update {
            VisibilityUpdate::Activated { domain, packs } => {
                self.domain = Some(domain);
                self.packs = packs;
            }
            VisibilityUpdate::Added { domain, packs } => {
                if self.is_active(&domain) {
                    self.packs.extend(packs);
                } else {
                    self.domain = Some(domain);
                    self.packs = packs;
                }
            }
            VisibilityUpdate::Removed { domain, packs } => {
                if self.is_active(&domain) {
                    self.packs.retain(|pack| !packs.contains(pack));
                    if self.packs.is_empty() {
                        self.domain = None;
                    }
                }
            }
            VisibilityUpdate::Deactivated { domain } => {
                if self.is_active(&domain) {
                    self.clear();
                }
            }
            VisibilityUpdate::Cleared => self.clear(),
        }
    }

    fn is_active(&self, domain: &str) -> bool {
        self.domain.as_deref() == Some(domain)
    }

    fn clear(&mut self) {
        self.domain = None;
        self.packs.clear();
    }
}
