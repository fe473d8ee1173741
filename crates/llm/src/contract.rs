mod explain;
mod rejected;

use std::{fmt, sync::Arc};

use fugato_state::{Schema, SchemaError, Violation};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ResponseFormat, extract};

pub use rejected::{Rejected, RejectedClass};

/// What a model must answer: a Rust type, its JSON Schema, and checks of its sense.
///
/// Reading is lenient in form (see [`extract()`]) and strict in content: a value that breaks
/// the schema or a check never gets through. What is refused says why, in words that the model can
/// act on.
///
/// ```
/// use fugato_llm::Contract;
///
/// #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
/// struct Move { task: u32, day: u32 }
///
/// let contract = Contract::<Move>::new("move").check(|wanted, objections| {
///     if wanted.day > 7 {
///         objections.push("/day", "the week has 7 days");
///     }
/// });
/// assert_eq!(contract.read("I'd say {task: 4, day: 2}.")?.day, 2);
///
/// let rejected = contract.read(r#"{"task": 4, "day": 9}"#).unwrap_err();
/// assert!(rejected.correction().contains("/day: the week has 7 days"));
/// # Ok::<(), fugato_llm::Rejected>(())
/// ```
pub struct Contract<T> {
    name: Arc<str>,
    schema: Schema,
    outline: Arc<str>,
    prepare: Vec<Prepare>,
    checks: Vec<Check<T>>,
}

type Prepare = Arc<dyn Fn(&mut Value) + Send + Sync>;
type Check<T> = Arc<dyn Fn(&T, &mut Objections) + Send + Sync>;

/// What a check of a [`Contract`] has to object to.
#[derive(Debug, Default)]
pub struct Objections(Vec<Violation>);

impl Objections {
    /// Objects to what stands at `path`, a JSON pointer such as `/tool_call/name`; empty for the
    /// whole. The message says what is wrong and what is allowed.
    pub fn push(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(Violation {
            path: path.into(),
            message: message.into(),
        });
    }
}

impl<T: JsonSchema + DeserializeOwned> Contract<T> {
    /// The contract of a type. The name is for servers and traces: letters, digits, `_` and `-`.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        let schema = Schema::of::<T>();
        let outline = explain::outline(&schema).into();
        Self {
            name: name.into(),
            schema,
            outline,
            prepare: vec![],
            checks: vec![],
        }
    }
}

impl<T: DeserializeOwned> Contract<T> {
    /// Narrows the schema, for instance to the tools that are visible now.
    #[must_use]
    pub fn schema(mut self, schema: Schema) -> Self {
        self.outline = explain::outline(&schema).into();
        self.schema = schema;
        self
    }

    /// Takes the key `other` for `key`, where `key` itself is not given or says the same.
    #[must_use]
    pub fn alias(self, other: impl Into<String>, key: impl Into<String>) -> Self {
        let (other, key) = (other.into(), key.into());
        self.prepare(move |value| {
            let Some(object) = value.as_object_mut() else {
                return;
            };
            match (object.get(&other), object.get(&key)) {
                (Some(given), None) => {
                    let given = given.clone();
                    object.insert(key.clone(), given);
                }
                (Some(other), Some(given)) if other == given => {}
                _ => return,
            }
            object.remove(&other);
        })
    }

    /// Takes `word` for `meaning` where it is the value of `key`; upper and lower case are the same.
    #[must_use]
    pub fn synonym(self, key: impl Into<String>, word: &str, meaning: impl Into<String>) -> Self {
        let (key, word, meaning) = (key.into(), word.to_lowercase(), meaning.into());
        self.prepare(move |value| {
            if let Some(Value::String(said)) = value.get_mut(&key)
                && said.trim().to_lowercase() == word
            {
                said.clone_from(&meaning);
            }
        })
    }

    /// Changes what was read before it is validated, such as fields at another place.
    #[must_use]
    pub fn prepare(mut self, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.prepare.push(Arc::new(change));
        self
    }

    /// Adds a check of what the schema cannot say.
    #[must_use]
    pub fn check(mut self, check: impl Fn(&T, &mut Objections) + Send + Sync + 'static) -> Self {
        self.checks.push(Arc::new(check));
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The schema, for the prompt.
    pub fn json_schema(&self) -> &Schema {
        &self.schema
    }

    /// What is allowed, one line a key, for the prompt. No line shows alternatives as a value.
    pub fn outline(&self) -> &str {
        &self.outline
    }

    /// Asks a server that can to produce nothing else.
    pub fn response_format(&self) -> ResponseFormat {
        ResponseFormat::JsonSchema {
            name: self.name.to_string(),
            schema: self.schema.clone(),
            strict: false,
        }
    }

    /// Reads what a model said.
    pub fn read(&self, raw: &str) -> Result<T, Rejected> {
        match extract(raw) {
            Ok(found) => self
                .read_value(Value::Object(found.object))
                .map_err(|why| why.raw(raw)),
            Err(why) => Err(Rejected::unread(&why, &self.outline).raw(raw)),
        }
    }

    /// Reads a value, such as the arguments of a tool call. A string is read as a text.
    pub fn read_value(&self, mut value: Value) -> Result<T, Rejected> {
        if let Value::String(text) = &value {
            return self.read(text);
        }
        for prepare in &self.prepare {
            prepare(&mut value);
        }
        if let Err(error) = self.schema.check(&value) {
            return Err(self.breach(&error, &value));
        }
        let raw = value.to_string();
        let read = serde_json::from_value(value).map_err(|error| {
            let violation = Violation {
                path: String::new(),
                message: error.to_string(),
            };
            Rejected::new(RejectedClass::Schema, vec![violation], &self.outline).raw(&raw)
        })?;
        let mut objections = Objections::default();
        for check in &self.checks {
            check(&read, &mut objections);
        }
        if objections.0.is_empty() {
            Ok(read)
        } else {
            Err(Rejected::new(RejectedClass::Sense, objections.0, "").raw(&raw))
        }
    }

    fn breach(&self, error: &SchemaError, value: &Value) -> Rejected {
        let violations = match error {
            SchemaError::Violated(violations) => violations.clone(),
            SchemaError::Invalid(message) => {
                vec![Violation {
                    path: String::new(),
                    message: message.clone(),
                }]
            }
        };
        let (violations, copied) = explain::violations(&self.schema, value, &violations);
        let class = if copied {
            RejectedClass::Alternatives
        } else {
            RejectedClass::Schema
        };
        Rejected::new(class, violations, &self.outline).raw(&value.to_string())
    }
}

impl<T> Clone for Contract<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            schema: self.schema.clone(),
            outline: self.outline.clone(),
            prepare: self.prepare.clone(),
            checks: self.checks.clone(),
        }
    }
}

impl<T> fmt::Debug for Contract<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contract")
            .field("name", &self.name)
            .field("checks", &self.checks.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
