use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use fugato_state::Millis;

/// The declaration of live facts: their kinds, the maximum age of each, and the tools and intents
/// that need them.
///
/// ```
/// use std::time::Duration;
///
/// use fugato_agent::plan::LiveFacts;
///
/// let facts = LiveFacts::new()
///     .fact("balances", Duration::ZERO, ["transfer"])
///     .fact("accounts", Duration::from_secs(60), ["transfer", "close"]);
/// let seen = |kind: &str| (kind == "accounts").then_some(5_000);
/// assert_eq!(facts.due(&["transfer"], seen, 10_000), ["balances"]);
/// assert_eq!(facts.due(&["transfer"], seen, 90_000), ["accounts", "balances"]);
/// assert!(facts.due(&["chat"], seen, 90_000).is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveFacts {
    ages: BTreeMap<String, Millis>,
    needs: BTreeMap<String, BTreeSet<String>>,
}

impl LiveFacts {
    /// Returns a declaration without facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a kind of fact with its maximum age, zero for a kind that is always looked up, and
    /// the tools and intents that need it before they are planned. A request that names the kind
    /// itself needs it, too.
    #[must_use]
    pub fn fact<N: Into<String>>(
        mut self,
        kind: impl Into<String>,
        most: Duration,
        needed_by: impl IntoIterator<Item = N>,
    ) -> Self {
        let (kind, most) = (kind.into(), Millis::try_from(most.as_millis()));
        let named = needed_by.into_iter().map(Into::into);
        for name in named.chain([kind.clone()]) {
            self.needs.entry(name).or_default().insert(kind.clone());
        }
        self.ages.insert(kind, most.unwrap_or(Millis::MAX));
        self
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
