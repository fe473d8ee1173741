mod compare;
mod evaluated;
mod form;
mod normal;
mod validate;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Lang, say};

/// The JSON Schema of a value. Cheap to clone.
///
/// The keywords of draft 2020-12 are checked, and the tuples and dependencies of draft 7; `format`
/// and the keywords about contents are annotations. References lead within the schema. A `pattern`
/// that needs looking around or references to groups allows every text.
#[derive(derive_more::Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Value", into = "Value")]
#[debug("Schema({})", self.0.schema)]
pub struct Schema(Arc<Inner>);

struct Inner {
    schema: Value,
    /// The flaw of the schema itself, found when it is first checked against.
    flaw: OnceLock<Option<String>>,
}

impl From<Value> for Schema {
    fn from(schema: Value) -> Self {
        Self(Arc::new(Inner {
            schema,
            flaw: OnceLock::new(),
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
        schema.well_formed()?;
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

    /// Returns the schema with the descriptions of one language, without those that are in English
    /// alone; none if it has no Chinese ones, which are at the key `x-zh` beside the English ones.
    pub fn translated(&self, lang: Lang) -> Option<Self> {
        let mut schema = self.0.schema.clone();
        translate(&mut schema, lang).then(|| schema.into())
    }

    /// Checks a value. Each violation names its place, so that a person or a model can correct it.
    pub fn check(&self, value: &Value) -> Result<(), SchemaError> {
        self.well_formed()?;
        let violations = validate::violations(&self.0.schema, value);
        if violations.is_empty() {
            Ok(())
        } else {
            Err(SchemaError::Violated(violations))
        }
    }

    fn well_formed(&self) -> Result<(), SchemaError> {
        let flaw = self.0.flaw.get_or_init(|| form::flaw(&self.0.schema));
        flaw.clone()
            .map_or(Ok(()), |flaw| Err(SchemaError::Invalid(flaw)))
    }
}

/// The key of a Chinese description in a schema.
const CHINESE: &str = "x-zh";

/// Replaces the descriptions, and returns true if there are Chinese ones.
fn translate(schema: &mut Value, lang: Lang) -> bool {
    match schema {
        Value::Object(object) => {
            let chinese = object.get(CHINESE).is_some_and(Value::is_string);
            let chinese = if chinese {
                object.remove(CHINESE)
            } else {
                None
            };
            let mut found = chinese.is_some();
            if lang == Lang::Zh && object.get("description").is_some_and(Value::is_string) {
                object.remove("description");
            }
            if let (Some(text), Lang::Zh) = (chinese, lang) {
                object.insert("description".to_owned(), text);
            }
            for child in object.values_mut() {
                found |= translate(child, lang);
            }
            found
        }
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |found, item| translate(item, lang) | found),
        _ => false,
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
        let whole = Lang::current().pick("the value", "整个值");
        let place = if self.path.is_empty() {
            whole
        } else {
            &self.path
        };
        f.write_str(&say!("{place}: {}", "{place}：{}", self.message))
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
    fn a_schema_or_value_that_never_ends_costs_no_stack() {
        let endless = Schema::new(json!({ "$ref": "#" })).unwrap();
        assert!(endless.check(&json!(1)).is_err());
        let both = json!({ "not": { "$ref": "#" }, "unevaluatedItems": false, "anyOf": [{ "$ref": "#" }] });
        assert!(Schema::new(both).unwrap().check(&json!([[]])).is_err());

        let tree = Schema::new(json!({ "items": { "$ref": "#" }, "type": "array" })).unwrap();
        let deep = |levels| (0..levels).fold(json!([]), |inner, _| json!([inner]));
        assert_eq!(tree.check(&deep(250)), Ok(()));
        let SchemaError::Violated(found) = tree.check(&deep(300)).unwrap_err() else {
            panic!("the schema is valid");
        };
        assert_eq!(
            found[0].message,
            "it is nested too deeply, or too large, to be checked"
        );
    }

    #[test]
    fn a_reference_leads_within_the_schema() {
        let schema = Schema::new(json!({
            "properties": { "a": { "$ref": "#/$defs/b~1c%20d" }, "e": { "$ref": "#whole" } },
            "$defs": { "b/c d": { "type": "null" }, "f": { "$anchor": "whole", "type": "integer" } },
        }));
        let schema = schema.unwrap();
        assert_eq!(schema.check(&json!({ "a": null, "e": 1.0 })), Ok(()));
        let broken = schema.check(&json!({ "a": 1, "e": 1.5 })).unwrap_err();
        assert_eq!(
            broken.to_string(),
            "/a: 1 is not of type \"null\"; /e: 1.5 is not of type \"integer\""
        );
        let abroad = Schema::new(json!({ "items": { "$ref": "https://example.org/tree" } }));
        assert_eq!(
            abroad.unwrap_err().to_string(),
            "the schema is not a valid JSON Schema: /items/$ref: \"https://example.org/tree\" is not a reference within the schema"
        );
    }

    #[test]
    fn null_is_valid_where_the_schema_allows_it() {
        assert_eq!(Schema::of::<Option<bool>>().check(&Value::Null), Ok(()));
        assert!(Schema::of::<bool>().check(&Value::Null).is_err());
    }
}
