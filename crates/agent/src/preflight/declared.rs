use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use fugato_state::Millis;
use thiserror::Error;

/// The declaration of live facts: their kinds, the maximum age of each, and the tools and intents
/// that need them.
///
/// ```
/// use std::time::Duration;
///
/// use fugato_agent::preflight::LiveFacts;
///
/// let facts = LiveFacts::new()
///     .fact("balances", Duration::ZERO)
///     .fact("accounts", Duration::from_secs(60))
///     .needed_by("transfer", ["accounts", "balances"])
///     .checked()?;
/// let seen = |kind: &str| (kind == "accounts").then_some(5_000);
/// assert_eq!(facts.due(&["transfer"], seen, 10_000), ["balances"]);
/// assert_eq!(facts.due(&["transfer"], seen, 90_000), ["accounts", "balances"]);
/// assert!(facts.due(&["chat"], seen, 90_000).is_empty());
///
/// let error = LiveFacts::new().needed_by("transfer", ["balance"]).checked().unwrap_err();
/// assert_eq!(error.to_string(), "\"transfer\" needs \"balance\", which is no declared fact");
/// # Ok::<(), fugato_agent::preflight::FactError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveFacts {
    ages: BTreeMap<String, Millis>,
    needs: BTreeMap<String, BTreeSet<String>>,
}

/// An error in a declaration of live facts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FactError {
    /// A needed fact is not declared.
    #[error("{by:?} needs {kind:?}, which is no declared fact")]
    Unknown {
        /// The name of the tool or intent that needs it.
        by: String,
        /// The kind.
        kind: String,
    },
    /// A declared fact is not needed, so it would never be looked up.
    #[error("nothing needs the fact {kind:?}, so nobody would look it up")]
    Unneeded {
        /// The kind.
        kind: String,
    },
}

impl LiveFacts {
    /// Returns a declaration without facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a kind of fact with its maximum age; zero for a kind that is always looked up.
    #[must_use]
    pub fn fact(mut self, kind: impl Into<String>, most: Duration) -> Self {
        let most = Millis::try_from(most.as_millis()).unwrap_or(Millis::MAX);
        self.ages.insert(kind.into(), most);
        self
    }

    /// Declares the kinds of facts that a tool or an intent needs before it is planned.
    #[must_use]
    pub fn needed_by<K: Into<String>>(
        mut self,
        name: impl Into<String>,
        kinds: impl IntoIterator<Item = K>,
    ) -> Self {
        let needs = self.needs.entry(name.into()).or_default();
        needs.extend(kinds.into_iter().map(Into::into));
        self
    }

    /// Returns the declaration if every needed kind is declared, and every declared kind is needed.
    pub fn checked(self) -> Result<Self, FactError> {
        for (by, kinds) in &self.needs {
            if let Some(kind) = kinds.iter().find(|kind| !self.ages.contains_key(*kind)) {
                let (by, kind) = (by.clone(), kind.clone());
                return Err(FactError::Unknown { by, kind });
            }
        }
        let needed = |kind: &&String| self.needs.values().any(|kinds| kinds.contains(*kind));
        match self.ages.keys().find(|kind| !needed(kind)) {
            Some(kind) => Err(FactError::Unneeded { kind: kind.clone() }),
            None => Ok(self),
        }
    }

    /// Returns the kinds, in alphabetical order.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.ages.keys().map(String::as_str)
    }

    /// Returns the kinds to look up for a request with these tools or intents, in alphabetical
    /// order; `seen` returns the time of the last lookup of a kind.
    pub fn due<N: AsRef<str>>(
        &self,
        about: &[N],
        seen: impl Fn(&str) -> Option<Millis>,
        now: Millis,
    ) -> Vec<String> {
        let needs = about
            .iter()
            .filter_map(|name| self.needs.get(name.as_ref()));
        let needed: BTreeSet<&String> = needs.flatten().collect();
        let due = needed
            .into_iter()
            .filter(|kind| seen(kind).is_none_or(|at| self.is_old(kind, at, now)));
        due.cloned().collect()
    }

    /// Returns true if a lookup of a kind is too old. A time in the future counts as too old. A
    /// kind that is not declared is never too old, as it is managed elsewhere.
    pub fn is_old(&self, kind: &str, at: Millis, now: Millis) -> bool {
        let most = self.ages.get(kind);
        most.is_some_and(|most| at > now || *most == 0 || now.saturating_sub(at) > *most)
    }
}
