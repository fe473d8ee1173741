mod explain;
mod rejected;

use std::sync::Arc;

use fugato_state::{JsonType, Schema, SchemaError, Violation};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ResponseFormat, extract};

pub use rejected::{RejectedAnswer, RejectedClass};

/// A contract for the answer of a model: a Rust type, its JSON Schema, and checks of its content.
///
/// Reading is lenient in form (see [`extract()`]) and strict in content: a value that breaks the
/// schema or a check is never returned. The [`RejectedAnswer`] error holds the violations in words that
/// the model can act on; an [`Ask`](crate::Ask) sends them to the model until its answer fits.
///
/// # Example
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
/// # Ok::<(), fugato_llm::RejectedAnswer>(())
/// ```
///
/// # Wrong
/// ```text
/// let answer = Ask::json("move", &Contract::<Move>::new("move")).run(&model, request).await?;
/// if answer.value.day > 7 {
///     return Err("no such day".into());
/// }
/// ```
/// The contract has accepted the answer, so the model gets no correction, and the rule of the ask
/// does not decide either: one wrong number fails the whole step. A condition on the answer
/// belongs in a [`check`](Self::check), or in the [`schema`](Self::schema).
///
/// # Contract
/// - The changes of [`alias`](Self::alias), [`synonym`](Self::synonym) and
///   [`prepare`](Self::prepare) are applied in the order in which they were added; then the schema
///   is checked, then the type is deserialised, then all checks run.
/// - The name has only letters, digits, `_` and `-`; servers refuse others.
/// - Changes and checks depend on nothing but the value, so that equal answers have equal results.
/// - A narrowed [`schema`](Self::schema) accepts nothing that `T` cannot hold.
///
/// # Errors
/// [`read`](Self::read) and [`read_value`](Self::read_value) return [`RejectedAnswer`], with one of these
/// classes:
///
/// | class | the answer |
/// |---|---|
/// | `Empty`, `NotJson`, `Array`, `Truncated` | contains no complete JSON object |
/// | `Alternatives` | copies a list of alternatives as a value |
/// | `Schema` | breaks the schema, or cannot be deserialised |
/// | `Sense` | has objections of a check |
///
/// A schema that is itself invalid is of class `Schema` too, for every answer. A panic of a check
/// is not caught.
///
/// # Cancellation safety
/// Reading is synchronous. A contract holds no state between calls, and one can serve many callers.
///
/// # Cost
/// [`new`](Self::new) builds the schema, which is compiled at the first
/// reading. A contract is therefore made once and cloned, which copies only pointers. Reading takes
/// time linear in the length of the answer, and then that of the schema and the checks.
#[derive_where::derive_where(Clone)]
#[derive(derive_more::Debug)]
#[debug("Contract {{ name: {name:?}, checks: {:?}, .. }}", self.checks.len())]
pub struct Contract<T> {
    name: Arc<str>,
    schema: Schema,
    prepare: Vec<Prepare>,
    checks: Vec<Check<T>>,
}

type Prepare = Arc<dyn Fn(&mut Value) + Send + Sync>;
type Check<T> = Arc<dyn Fn(&T, &mut Objections) + Send + Sync>;

/// The objections of the checks of a [`Contract`].
#[derive(Debug, Default)]
pub struct Objections(Vec<Violation>);

impl Objections {
    /// Adds an objection to the value at `path`, a JSON pointer such as `/tool_call/name`; empty
    /// for the whole. The message names the problem and what is allowed.
    pub fn push(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(Violation {
            path: path.into(),
            message: message.into(),
        });
    }
}

impl<T> Contract<T> {
    /// Creates the contract of a type. The name is for servers and traces: letters, digits, `_` and
    /// `-`.
    pub fn new(name: impl Into<Arc<str>>) -> Self
    where
        T: JsonType,
    {
        let schema = Schema::of::<T>();
        Self {
            name: name.into(),
            schema,
            prepare: vec![],
            checks: vec![],
        }
    }
}

impl<T: DeserializeOwned> Contract<T> {
    /// Replaces the schema by a narrower one, for instance of the tools that are visible now.
    #[must_use]
    pub fn schema(mut self, schema: Schema) -> Self {
        self.schema = schema;
        self
    }

    /// Accepts the key `other` for `key`, if `key` itself is absent or has the same value.
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

    /// Accepts `word` for `meaning` as the value of `key`, in upper or lower case.
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

    fugato_state::setters! {
        /// Adds a change of the value before it is validated, such as a move of fields.
        pub fn prepare(change: impl Fn(&mut Value) + Send + Sync + 'static) {
            prepare.push(Arc::new(change))
        }

        /// Adds a check of conditions that the schema cannot express.
        pub fn check(check: impl Fn(&T, &mut Objections) + Send + Sync + 'static) {
            checks.push(Arc::new(check))
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the schema, for the prompt.
    pub fn json_schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the allowed keys for the prompt, one on each line. No line shows alternatives as a
    /// value. It is in the language that is spoken now.
    pub fn outline(&self) -> String {
        explain::outline(&self.schema)
    }

    /// Returns the response format that asks a server to produce only values of the schema.
    pub fn response_format(&self) -> ResponseFormat {
        ResponseFormat::JsonSchema {
            name: self.name.to_string(),
            schema: self.schema.clone(),
            strict: false,
        }
    }

    /// Reads the answer of a model.
    pub fn read(&self, raw: &str) -> Result<T, RejectedAnswer> {
        match extract(raw) {
            Ok(found) => self
                .read_value(Value::Object(found.object))
                .map_err(|why| why.raw(raw)),
            Err(why) => Err(RejectedAnswer::unread(&why, self.outline()).raw(raw)),
        }
    }

    /// Reads a value, such as the arguments of a tool call. A string is read as an answer.
    pub fn read_value(&self, mut value: Value) -> Result<T, RejectedAnswer> {
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
            RejectedAnswer::new(RejectedClass::Schema, vec![violation], self.outline()).raw(&raw)
        })?;
        let mut objections = Objections::default();
        for check in &self.checks {
            check(&read, &mut objections);
        }
        if objections.0.is_empty() {
            Ok(read)
        } else {
            Err(RejectedAnswer::new(RejectedClass::Sense, objections.0, String::new()).raw(&raw))
        }
    }

    fn breach(&self, error: &SchemaError, value: &Value) -> RejectedAnswer {
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
        RejectedAnswer::new(class, violations, self.outline()).raw(&value.to_string())
    }
}

#[cfg(test)]
mod tests;
