use std::fmt;

/// Named texts, each with a condition on the state: the rule packs of a stage, or its hints.
///
/// ```
/// use fugato_prompt::RulePacks;
///
/// let rules = RulePacks::<bool>::new()
///     .always("core", "Answer with one JSON object.")
///     .when("plan", |planned| *planned, "Work on the current step only.");
/// assert_eq!(rules.chosen(&false).map(|(name, _)| name).collect::<Vec<_>>(), ["core"]);
/// assert_eq!(rules.chosen(&true).count(), 2);
/// ```
pub struct RulePacks<S>(Vec<Rule<S>>);

struct Rule<S> {
    name: String,
    text: String,
    holds: Box<dyn Fn(&S) -> bool + Send + Sync>,
}

impl<S> RulePacks<S> {
    /// Creates an empty set of rules.
    pub fn new() -> Self {
        Self(vec![])
    }

    /// Adds a text that always applies.
    #[must_use]
    pub fn always(self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.when(name, |_| true, text)
    }

    /// Adds a text that applies if `holds` returns true for the state. Texts keep the order in
    /// which they are added; one of the same name is replaced.
    #[must_use]
    pub fn when(
        mut self,
        name: impl Into<String>,
        holds: impl Fn(&S) -> bool + Send + Sync + 'static,
        text: impl Into<String>,
    ) -> Self {
        let rule = Rule {
            name: name.into(),
            text: text.into(),
            holds: Box::new(holds),
        };
        match self.0.iter_mut().find(|old| old.name == rule.name) {
            Some(old) => *old = rule,
            None => self.0.push(rule),
        }
        self
    }

    /// Returns the names and texts that apply in this state.
    pub fn chosen<'a>(&'a self, state: &'a S) -> impl Iterator<Item = (&'a str, &'a str)> {
        let holding = self.0.iter().filter(move |rule| (rule.holds)(state));
        holding.map(|rule| (rule.name.as_str(), rule.text.as_str()))
    }

    /// Returns all names and texts, whether they apply or not, so that a test can examine each.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|rule| (rule.name.as_str(), rule.text.as_str()))
    }
}

impl<S> Default for RulePacks<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> fmt::Debug for RulePacks<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.all()).finish()
    }
}
