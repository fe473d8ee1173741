/// The order in which contradicting sources are trusted: the first that has a statement applies.
///
/// A model that reads several memories of one thing needs to know which of them is newer or more
/// accurate, and for what.
///
/// ```
/// use fugato_prompt::Trust;
///
/// let trust = Trust::new()
///     .then("Execution", "where the plan stands", Some("when tools have changed since"))
///     .then("Conversation", "what is wanted now", None);
/// assert_eq!(
///     trust.to_string(),
///     "1. Execution: for where the plan stands; not when tools have changed since\n\
///      2. Conversation: for what is wanted now",
/// );
/// ```
#[derive(derive_more::Display, Debug, Clone, Default, PartialEq, Eq)]
#[display("{}", self.lines(": for ", "; not "))]
pub struct Trust(Vec<TrustSource>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct TrustSource {
    source: String,
    what_for: String,
    not_when: Option<String>,
}

impl Trust {
    /// Creates an empty order.
    pub fn new() -> Self {
        Self::default()
    }

    fugato_state::setters! {
        /// Adds a source that is trusted less than those before it. The model reads what the source
        /// is good for, and when it is not.
        pub fn then(source: impl Into<String>, what_for: &str, not_when: Option<&str>) {
            0.push(TrustSource {
                source: source.into(),
                what_for: what_for.to_owned(),
                not_when: not_when.map(str::to_owned),
            })
        }
    }

    /// Returns the place of a source, from 0; sources that are not mentioned come last.
    pub fn rank(&self, source: &str) -> usize {
        let place = self.0.iter().position(|trusted| trusted.source == source);
        place.unwrap_or(self.0.len())
    }

    pub(crate) fn lines(&self, what_for: &str, not_when: &str) -> String {
        let line = |(n, trusted): (usize, &TrustSource)| {
            let not = trusted.not_when.as_ref();
            let not = not.map_or(String::new(), |not| format!("{not_when}{not}"));
            format!(
                "{}. {}{what_for}{}{not}",
                n + 1,
                trusted.source,
                trusted.what_for
            )
        };
        let lines: Vec<_> = self.0.iter().enumerate().map(line).collect();
        lines.join("\n")
    }
}
