mod normal;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The JSON Schema of a value. Cheap to clone; compiled when it is first checked against, and once
/// for all that are the same.
#[derive(derive_more::Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Value", into = "Value")]
#[debug("Schema({})", self.0.schema)]
pub struct Schema(Arc<Inner>);

struct Inner {
    schema: Value,
    compiled: OnceLock<CompileResult>,
}

type CompileResult = Result<Arc<jsonschema::Validator>, SchemaError>;

/// The schemas that were compiled last, by their text. Those of a program are few, and come back:
/// with each question that is read from a log, and each registry that is built.
static COMPILED: LazyLock<Mutex<HashMap<String, CompileResult>>> = LazyLock::new(Mutex::default);

/// So many are kept, and then they are compiled anew.
const KEPT: usize = 256;
/// A longer text is not kept.
const LONG: usize = 64 * 1024;

/// Compiles a schema, or finds the same one compiled.
fn compile(schema: &Value) -> CompileResult {
    let text = schema.to_string();
    let kept = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = kept().get(&text).cloned();
    if let Some(known) = known {
        return known;
    }
    let compiled = jsonschema::validator_for(schema)
        .map(Arc::new)
        .map_err(|error| SchemaError::Invalid(error.to_string()));
    if text.len() <= LONG {
        let mut kept = kept();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(text, compiled.clone());
    }
    compiled
}

impl From<Value> for Schema {
    fn from(schema: Value) -> Self {
        Self(Arc::new(Inner {
            schema,
            compiled: OnceLock::new(),
        }))
    }
}

impl From<Schema> for Value {
    fn from(schema: Schema) -> Self {
        schema.0.schema.clone()
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.0.schema == other.0.schema
    }
}

impl Schema {
    /// Returns the schema of a Rust type, made by schemars.
    pub fn of<T: JsonSchema>() -> Self {
        schemars::schema_for!(T).to_value().into()
    }

    /// Creates a schema from JSON; `Invalid` if it is not a valid JSON Schema.
    pub fn new(schema: Value) -> Result<Self, SchemaError> {
        let schema = Self::from(schema);
        schema.compiled()?;
        Ok(schema)
    }

    /// Returns true if both schemas are equivalent: they differ at most in titles, descriptions and
    /// other annotations, in the names of definitions, and in order.
    ///
    /// Two schemas that this calls different may still accept the same values.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let form = |schema: &Self| normal::form(&schema.0.schema);
        self == other || form(self).is_some_and(|own| form(other) == Some(own))
    }

    /// Returns the schema as JSON.
    pub fn as_value(&self) -> &Value {
        &self.0.schema
    }

    /// Checks a value. Each violation names its place, so that a person or a model can correct it.
    pub fn check(&self, value: &Value) -> Result<(), SchemaError> {
        let violations: Vec<_> = self
            .compiled()?
            .iter_errors(value)
            .map(|error| Violation {
                path: error.instance_path().to_string(),
                message: error.to_string(),
            })
            .collect();
        if violations.is_empty() {
            Ok(())
        } else {
            Err(SchemaError::Violated(violations))
        }
    }

    fn compiled(&self) -> Result<&jsonschema::Validator, SchemaError> {
        let compiled = self.0.compiled.get_or_init(|| compile(&self.0.schema));
        compiled.as_deref().map_err(Clone::clone)
    }
}

/// The error of a value that does not fit its schema, or of an invalid schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The schema is not a JSON Schema.
    #[error("the schema is not a valid JSON Schema: {0}")]
    Invalid(String),
    /// The value breaks the schema at these places.
    #[error("{}", ViolationList(.0))]
    Violated(Vec<Violation>),
}

/// One place at which a value breaks its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// A JSON pointer into the value; empty for the value itself.
    pub path: String,
    /// The violated rule, and the allowed values.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() {
            "the value"
        } else {
            &self.path
        };
        write!(f, "{place}: {}", self.message)
    }
}

struct ViolationList<'a>(&'a [Violation]);

impl fmt::Display for ViolationList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, violation) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{violation}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_violation_names_its_place() {
        let schema = Schema::new(json!({
            "type": "object",
            "properties": { "day": { "type": "integer", "minimum": 1 } },
        }))
        .unwrap();
        assert_eq!(schema.check(&json!({ "day": 2 })), Ok(()));
        let SchemaError::Violated(found) = schema.check(&json!({ "day": 0 })).unwrap_err() else {
            panic!("the schema is valid");
        };
        assert_eq!(found[0].path, "/day");
    }

    #[test]
    fn an_invalid_schema_is_rejected_when_made() {
        assert!(matches!(
            Schema::new(json!({ "type": 7 })),
            Err(SchemaError::Invalid(_))
        ));
    }

    #[test]
    fn the_same_schema_is_compiled_once() {
        let schema = || Schema::new(json!({ "type": "integer", "maximum": 71 })).unwrap();
        let (one, two) = (schema(), schema());
        assert!(std::ptr::eq(
            one.compiled().unwrap(),
            two.compiled().unwrap()
        ));
        let other = Schema::new(json!({ "type": "integer", "maximum": 72 })).unwrap();
        assert!(one.check(&json!(72)).is_err());
        assert_eq!(other.check(&json!(72)), Ok(()));
        // However many there are, each is checked against its own.
        for most in 0..=2 * KEPT {
            let schema = Schema::from(json!({ "maximum": most }));
            assert_eq!(schema.check(&json!(most)), Ok(()));
            assert!(schema.check(&json!(most + 1)).is_err());
        }
    }

    #[test]
    fn null_is_valid_where_the_schema_allows_it() {
        assert_eq!(Schema::of::<Option<bool>>().check(&Value::Null), Ok(()));
        assert!(Schema::of::<bool>().check(&Value::Null).is_err());
    }
}
