use std::{collections::BTreeMap, time::Duration};

use fugato_state::{EffectClass, Schema};
use serde::{Deserialize, Serialize};

/// What calling a tool means for the state that the model works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// It only looks. It may run at once.
    Read,
    /// It changes something. Gates ask before it runs.
    Write,
    /// It changes which tools are visible, and nothing else. It is visible in every domain.
    Context,
}

/// What is known about a tool without calling it.
///
/// ```
/// use fugato_tool::{EffectClass, ToolSpec};
///
/// let place = ToolSpec::write("place", "Places a pending task.")
///     .effect(EffectClass::Pure)
///     .domain("schedule")
///     .pack("mutation")
///     .also_called("place_task")
///     .argument_alias("id", "task_id")
///     .preview(["task_id", "day"]);
/// assert_eq!(place.name, "place");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// Its name: 1 to 64 of `A-Z a-z 0-9 _ -`, which every model server accepts.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// Whether it looks, changes, or chooses tools.
    pub access: Access,
    /// What it does to the outside world.
    pub effect: EffectClass,
    /// The domain that has to be active; none for a tool that is always visible.
    pub domain: Option<String>,
    /// The pack of the domain that has to be active; none for the domain alone.
    pub pack: Option<String>,
    /// Other names by which models call it.
    pub aliases: Vec<String>,
    /// Other names of its arguments, and what they mean.
    pub argument_aliases: BTreeMap<String, String>,
    /// For an argument, other words for its values, in lower case, and what they mean.
    pub synonyms: BTreeMap<String, BTreeMap<String, String>>,
    /// The arguments that may be shown to people; the first two that are present are.
    pub preview: Vec<String>,
    /// How long a call may take; none for as long as the registry lets every tool.
    pub timeout: Option<Duration>,
    /// Whether it is blocked while there is no state to work on.
    pub requires_state: bool,
    /// Whether it is registered, but neither shown nor callable.
    pub disabled: bool,
    /// The schema of the arguments where the input type does not tell it.
    pub schema: Option<Schema>,
}

impl ToolSpec {
    fn new(name: impl Into<String>, description: impl Into<String>, access: Access) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            access,
            effect: EffectClass::Pure,
            domain: None,
            pack: None,
            aliases: vec![],
            argument_aliases: BTreeMap::new(),
            synonyms: BTreeMap::new(),
            preview: vec![],
            timeout: None,
            requires_state: false,
            disabled: false,
            schema: None,
        }
    }

    /// A tool that only looks, and has no effect.
    pub fn read(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name, description, Access::Read)
    }

    /// A tool that changes something. Its effect is taken to be [`EffectClass::Once`], the most
    /// careful class, until [`effect`](Self::effect) says otherwise.
    pub fn write(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name, description, Access::Write).effect(EffectClass::Once)
    }

    /// A tool that changes which tools are visible.
    pub fn context(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name, description, Access::Context)
    }

    /// Sets what it does to the outside world.
    #[must_use]
    pub fn effect(mut self, effect: EffectClass) -> Self {
        self.effect = effect;
        self
    }

    /// Shows it only while this domain is active.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// Shows it only while this pack of its domain is active.
    #[must_use]
    pub fn pack(mut self, pack: impl Into<String>) -> Self {
        self.pack = Some(pack.into());
        self
    }

    /// Accepts another name for the tool.
    #[must_use]
    pub fn also_called(mut self, alias: impl Into<String>) -> Self {
        self.aliases.push(alias.into());
        self
    }

    /// Accepts `alias` as another name of the argument `name`.
    #[must_use]
    pub fn argument_alias(mut self, alias: impl Into<String>, name: impl Into<String>) -> Self {
        self.argument_aliases.insert(alias.into(), name.into());
        self
    }

    /// Accepts `word`, in upper or lower case, for the value `meaning` of an argument. Words in a
    /// list are replaced, too.
    #[must_use]
    pub fn synonym(
        mut self,
        argument: impl Into<String>,
        word: &str,
        meaning: impl Into<String>,
    ) -> Self {
        let words = self.synonyms.entry(argument.into()).or_default();
        words.insert(word.to_lowercase(), meaning.into());
        self
    }

    /// Names the arguments that may be shown to people.
    #[must_use]
    pub fn preview<N: Into<String>>(mut self, arguments: impl IntoIterator<Item = N>) -> Self {
        self.preview = arguments.into_iter().map(Into::into).collect();
        self
    }

    /// Stops a call that takes longer; the model reads that it did.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Blocks it while there is no state to work on.
    #[must_use]
    pub fn requires_state(mut self) -> Self {
        self.requires_state = true;
        self
    }

    /// Registers it without showing it or letting it be called.
    #[must_use]
    pub fn disabled(mut self) -> Self {
        self.disabled = true;
        self
    }

    /// Sets the schema of the arguments, for an input type that accepts anything.
    #[must_use]
    pub fn schema(mut self, schema: Schema) -> Self {
        self.schema = Some(schema);
        self
    }
}
