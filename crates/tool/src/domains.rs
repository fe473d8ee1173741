use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The domains and their packs. They are part of the program or of its configuration; the active
/// ones are in a [`Visibility`](crate::Visibility).
///
/// ```
/// use fugato_tool::{Domain, Domains};
///
/// let domains = Domains::new()
///     .with("schedule", Domain::new("core").packs(["analyze", "mutation"]).default_packs(["analyze"]))
///     .with("taskclass", Domain::new("core"));
/// assert!(domains.get("schedule").is_some());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Domains(BTreeMap<String, Domain>);

/// A domain of tools, which are divided into packs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Domain {
    /// The core pack, which is active with the domain and cannot be added or removed.
    pub core: String,
    /// The packs that can be added and removed.
    #[serde(default)]
    pub packs: BTreeSet<String>,
    /// The packs that are activated if a request names none.
    #[serde(default)]
    pub default_packs: BTreeSet<String>,
}

impl Domain {
    /// Creates a domain with only its core pack.
    pub fn new(core: impl Into<String>) -> Self {
        Self {
            core: core.into(),
            packs: BTreeSet::new(),
            default_packs: BTreeSet::new(),
        }
    }

    fugato_state::setters! {
        /// Adds packs that can be added and removed.
        pub fn packs<P: Into<String>>(packs: impl IntoIterator<Item = P>) {
            packs.extend(packs.into_iter().map(Into::into))
        }

        /// Adds packs that are activated if a request names none.
        pub fn default_packs<P: Into<String>>(packs: impl IntoIterator<Item = P>) {
            default_packs.extend(packs.into_iter().map(Into::into))
        }
    }

    /// Returns true if the domain has this pack or has it as its core.
    pub fn has(&self, pack: &str) -> bool {
        self.core == pack || self.packs.contains(pack)
    }
}

impl Domains {
    /// Creates an empty set of domains.
    pub fn new() -> Self {
        Self::default()
    }

    fugato_state::setters! {
        /// Adds a domain, or replaces it.
        pub fn with(name: impl Into<String>, domain: Domain) { 0.insert(name.into(), domain) }
    }

    /// Returns a domain by its name.
    pub fn get(&self, name: &str) -> Option<&Domain> {
        self.0.get(name)
    }

    /// Returns the domains in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Domain)> {
        self.0.iter().map(|(name, domain)| (name.as_str(), domain))
    }

    /// Returns the names of the domains.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the packs of all domains that can be added, each once.
    pub(crate) fn all_packs(&self) -> BTreeSet<&str> {
        self.0
            .values()
            .flat_map(|domain| &domain.packs)
            .map(String::as_str)
            .collect()
    }

    /// Returns true if a domain has this pack as its core.
    pub(crate) fn is_core(&self, pack: &str) -> bool {
        self.0.values().any(|domain| domain.core == pack)
    }
}
