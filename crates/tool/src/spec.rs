use std::{collections::BTreeMap, time::Duration};

use fugato_state::{EffectClass, Lang, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The access of a tool to the state that the model works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// It only reads. Reads may run at the same time.
    Read,
    /// It changes the state. Gates can ask a person before it runs.
    Write,
    /// It changes only which tools are visible. It is visible in every domain.
    Context,
}

/// The description of a tool for the registry, gates and the model.
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
    /// The name: 1 to 64 of `A-Z a-z 0-9 _ -`, which every model server accepts.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The same in Chinese; none if there is only the other.
    pub chinese: Option<String>,
    /// The words of people for the act, in English and in Chinese: the heading of its card. None if
    /// it has only its name.
    pub title: Option<[String; 2]>,
    /// The words of people for its arguments, in English and in Chinese.
    pub labels: BTreeMap<String, [String; 2]>,
    /// The words of people for values of its arguments, in English and in Chinese.
    pub value_labels: BTreeMap<(String, String), [String; 2]>,
    /// The access to the state: read, write, or choice of tools.
    pub access: Access,
    /// The class of its effect on the outside world.
    pub effect: EffectClass,
    /// The domain that has to be active; `None` for a tool that is always visible.
    pub domain: Option<String>,
    /// The pack of the domain that has to be active; `None` for the domain alone.
    pub pack: Option<String>,
    /// Aliases by which models may call it.
    pub aliases: Vec<String>,
    /// Aliases of its arguments, with the names that they stand for.
    pub argument_aliases: BTreeMap<String, String>,
    /// For each argument, synonyms of its values in lower case, with the values that they stand
    /// for.
    pub synonyms: BTreeMap<String, BTreeMap<String, String>>,
    /// The arguments that may be shown to people; the first two that are present are shown.
    pub preview: Vec<String>,
    /// The time limit of a call; `None` for that of the registry.
    pub timeout: Option<Duration>,
    /// True if it is blocked while there is no state to work on.
    pub requires_state: bool,
    /// True if it is registered, but neither shown nor callable.
    pub disabled: bool,
    /// The schema of the arguments, if the input type does not determine it.
    pub schema: Option<Schema>,
}

impl ToolSpec {
    fn new(name: impl Into<String>, description: impl Into<String>, access: Access) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            chinese: None,
            title: None,
            labels: BTreeMap::new(),
            value_labels: BTreeMap::new(),
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

    /// Creates the spec of a tool that only reads, and has no effect.
    pub fn read(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name, description, Access::Read)
    }

    /// Creates the spec of a tool that changes something. Its effect is [`EffectClass::Once`], the
    /// strictest class, until [`effect`](Self::effect) sets another.
    pub fn write(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name, description, Access::Write).effect(EffectClass::Once)
    }

    /// Creates the spec of a tool that changes which tools are visible.
    pub fn context(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name, description, Access::Context)
    }

    fugato_state::setters! {
        /// Sets the description in Chinese. That of an argument is the key `x-zh` of its schema:
        /// `#[schemars(extend("x-zh" = "…"))]`.
        pub fn chinese(text: impl Into<String>) { chinese = Some(text.into()) }

        /// Sets what people call the act, in English and in Chinese: “Writes a file”.
        pub fn titled(english: impl Into<String>, chinese: impl Into<String>) {
            title = Some([english.into(), chinese.into()])
        }

        /// Sets what people call an argument, in English and in Chinese.
        pub fn label(argument: impl Into<String>, english: impl Into<String>, chinese: impl Into<String>) {
            labels.insert(argument.into(), [english.into(), chinese.into()])
        }

        /// Sets what people call a value of an argument, in English and in Chinese.
        pub fn value_label(
            argument: impl Into<String>,
            value: impl Into<String>,
            english: impl Into<String>,
            chinese: impl Into<String>,
        ) {
            value_labels.insert((argument.into(), value.into()), [english.into(), chinese.into()])
        }

        /// Sets the class of its effect on the outside world.
        pub fn effect(effect: EffectClass) { effect = effect }

        /// Shows it only while this domain is active.
        pub fn domain(domain: impl Into<String>) { domain = Some(domain.into()) }

        /// Shows it only while this pack of its domain is active.
        pub fn pack(pack: impl Into<String>) { pack = Some(pack.into()) }

        /// Adds an alias of the tool.
        pub fn also_called(alias: impl Into<String>) { aliases.push(alias.into()) }

        /// Adds an alias of the argument `name`.
        pub fn argument_alias(alias: impl Into<String>, name: impl Into<String>) {
            argument_aliases.insert(alias.into(), name.into())
        }

        /// Sets the arguments that may be shown to people.
        pub fn preview<N: Into<String>>(arguments: impl IntoIterator<Item = N>) {
            preview = arguments.into_iter().map(Into::into).collect()
        }

        /// Sets the time limit of a call. The model reads that a call exceeded it.
        pub fn timeout(timeout: Duration) { timeout = Some(timeout) }

        /// Sets the schema of the arguments, for an input type that accepts anything.
        pub fn schema(schema: Schema) { schema = Some(schema) }
    }

    /// Returns the description in the language that is spoken now.
    pub fn about(&self) -> &str {
        match (&self.chinese, Lang::current()) {
            (Some(chinese), Lang::Zh) => chinese,
            _ => &self.description,
        }
    }

    /// Returns what people call the act in the language that is spoken now; its name if they have no
    /// word for it.
    pub fn title(&self) -> &str {
        self.title.as_ref().map_or(self.name.as_str(), spoken)
    }

    /// Returns what people call these arguments in the language that is spoken now.
    pub(crate) fn names_of(&self, arguments: &Value) -> BTreeMap<String, String> {
        let given = arguments.as_object().into_iter().flatten();
        let named = given.filter_map(|(name, _)| {
            let label = self.labels.get(name)?;
            Some((name.clone(), spoken(label).to_owned()))
        });
        named.collect()
    }

    /// Returns what people call the values of these arguments in the language that is spoken now.
    pub(crate) fn labels_of(&self, arguments: &Value) -> BTreeMap<String, String> {
        let given = arguments.as_object().into_iter().flatten();
        let labelled = given.filter_map(|(name, value)| {
            let key = (name.clone(), value.as_str()?.to_owned());
            let label = self.value_labels.get(&key)?;
            Some((key.0, spoken(label).to_owned()))
        });
        labelled.collect()
    }

    /// Adds `word`, in upper or lower case, as a synonym of the value `meaning` of an argument.
    /// Words in a list are replaced too.
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

    /// Blocks it while there is no state to work on.
    #[must_use]
    pub fn requires_state(mut self) -> Self {
        self.requires_state = true;
        self
    }

    /// Registers the tool, but neither shows it nor lets it be called.
    #[must_use]
    pub fn disabled(mut self) -> Self {
        self.disabled = true;
        self
    }
}

fn spoken([english, chinese]: &[String; 2]) -> &str {
    Lang::current().pick(english.as_str(), chinese.as_str())
}
