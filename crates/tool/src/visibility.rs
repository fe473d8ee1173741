use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Which tools are active: plain state, kept with the rest of an agent's state.
///
/// What a domain and a pack contain is the program's business, not the state's: see
/// [`Domains`](crate::Domains). Tools without a domain are active without any of this.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visibility {
    /// The active domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The active packs of the domain, beside its core pack, which always is.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub packs: BTreeSet<String>,
    /// If set, only these tools are left of those that are active: a phase's whitelist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<BTreeSet<String>>,
    /// Tools that are hidden and blocked for now.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub disabled: BTreeSet<String>,
}

/// A change of what is active.
///
/// Changes say what was asked for and not what came out, so that two of them that were asked for
/// in one round both hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VisibilityUpdate {
    /// This domain with these packs, and nothing else, is active.
    Activated {
        /// The domain.
        domain: String,
        /// Its packs beside the core pack.
        packs: BTreeSet<String>,
    },
    /// These packs are active, too. If the domain is not active, it is with these packs.
    Added {
        /// The domain.
        domain: String,
        /// The packs to add.
        packs: BTreeSet<String>,
    },
    /// These packs of the domain are not active; a domain without packs that were chosen is not
    /// active, either.
    Removed {
        /// The domain.
        domain: String,
        /// The packs to remove.
        packs: BTreeSet<String>,
    },
    /// This domain is not active.
    Deactivated {
        /// The domain.
        domain: String,
    },
    /// No domain is active.
    Cleared,
}

impl Visibility {
    /// Nothing of any domain.
    pub const fn new() -> Self {
        Self {
            domain: None,
            packs: BTreeSet::new(),
            only: None,
            disabled: BTreeSet::new(),
        }
    }

    /// This domain, with these packs.
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

    /// Leaves only these tools of those that are active.
    #[must_use]
    pub fn only<N: Into<String>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        self.only = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Changes what is active. Whitelist and disabled tools stay.
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

    pub(crate) fn after(mut self, update: VisibilityUpdate) -> Self {
        self.apply(update);
        self
    }

    fn is_active(&self, domain: &str) -> bool {
        self.domain.as_deref() == Some(domain)
    }

    fn clear(&mut self) {
        self.domain = None;
        self.packs.clear();
    }
}
