use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use fugato_state::Millis;
use thiserror::Error;

/// Which kinds of live facts there are, how old a look at each may be, and what needs them.
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

/// A declaration of live facts that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FactError {
    /// Something needs a fact that does not exist.
    #[error("{by:?} needs {kind:?}, which is no declared fact")]
    Unknown {
        /// What needs it.
        by: String,
        /// The kind.
        kind: String,
    },
    /// Nothing needs a fact, so it would never be looked up.
    #[error("nothing needs the fact {kind:?}, so nobody would look it up")]
    Unneeded {
        /// The kind.
        kind: String,
    },
}

impl LiveFacts {
    /// No facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// A kind of fact, and how old a look at it may be; zero for one that is always looked up.
    #[must_use]
    pub fn fact(mut self, kind: impl Into<String>, most: Duration) -> Self {
        let most = Millis::try_from(most.as_millis()).unwrap_or(Millis::MAX);
        self.ages.insert(kind.into(), most);
        self
    }

    /// What a tool or an intent needs to know before it is planned.
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

    /// Whether everything that is needed exists, and everything that exists is needed.
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

    /// The kinds, in the order of their names.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.ages.keys().map(String::as_str)
    }

    /// What must be looked up now for a request that is about these tools or intents, in the order
    /// of the names; `seen` says when a kind was last looked at.
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

    /// Whether a look at a kind is too old to be believed. One of the future is, too, and one of a
    /// kind that is not declared never is: somebody else looks after it.
    pub fn is_old(&self, kind: &str, at: Millis, now: Millis) -> bool {
        let most = self.ages.get(kind);
        most.is_some_and(|most| at > now || *most == 0 || now.saturating_sub(at) > *most)
    }
}
