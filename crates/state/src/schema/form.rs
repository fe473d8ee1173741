//! The form of a schema itself: which keyword takes what.
use serde_json::Value;

use super::validate::resolve;

/// Returns the first flaw of a schema, with its place; none if the schema is well formed.
pub(super) fn flaw(root: &Value) -> Option<String> {
    flaw_of(root, root, "")
}

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

fn flaw_of(root: &Value, schema: &Value, at: &str) -> Option<String> {
    let rules = match schema {
        Value::Bool(_) => return None,
        Value::Object(rules) => rules,
        other => return Some(format!("{}: {other} is no schema", place(at))),
    };
    rules.iter().find_map(|(keyword, rule)| {
        let at = format!("{at}/{}", keyword.replace('~', "~0").replace('/', "~1"));
        flaw_of_keyword(root, keyword, rule, &at)
    })
}

fn place(at: &str) -> &str {
    if at.is_empty() { "the schema" } else { at }
}

fn flaw_of_keyword(root: &Value, keyword: &str, rule: &Value, at: &str) -> Option<String> {
    let wrong = |allowed: &str| Some(format!("{at}: {rule} is not {allowed}"));
    let unless = |holds: bool, allowed: &str| if holds { None } else { wrong(allowed) };
    match keyword {
        "type" => {
            let is_type = |name: &Value| name.as_str().is_some_and(|it| TYPES.contains(&it));
            let fits = is_type(rule) || is_list(rule, is_type);
            unless(fits, &format!("one or several of {}", TYPES.join(", ")))
        }
        "enum" => unless(rule.is_array(), "a list"),
        "required" => unless(is_list(rule, Value::is_string), "a list of names"),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            unless(rule.is_number(), "a number")
        }
        "multipleOf" => unless(rule.as_f64().is_some_and(|it| it > 0.0), "a number above 0"),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minContains" | "maxContains"
        | "minProperties" | "maxProperties" => {
            let fits = rule
                .as_f64()
                .is_some_and(|it| it >= 0.0 && it.fract() == 0.0);
            unless(fits, "a whole number from 0")
        }
        "uniqueItems" => unless(rule.is_boolean(), "true or false"),
        "pattern" => unless(rule.is_string(), "a text"),
        "$ref" => {
            let found = rule.as_str().and_then(|reference| resolve(root, reference));
            unless(found.is_some(), "a reference within the schema")
        }
        "$dynamicRef" | "$recursiveRef" => wrong("supported; use $ref"),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => match rule {
            Value::Array(schemas) if !schemas.is_empty() => flaw_in_list(root, schemas, at),
            _ => wrong("a list of schemas"),
        },
        "items" => match rule {
            Value::Array(schemas) => flaw_in_list(root, schemas, at),
            schema => flaw_of(root, schema, at),
        },
        "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "additionalItems"
        | "additionalProperties"
        | "unevaluatedItems"
        | "unevaluatedProperties" => flaw_of(root, rule, at),
        "properties" | "patternProperties" | "dependentSchemas" | "dependentRequired"
        | "dependencies" | "$defs" | "definitions" => match rule {
            Value::Object(by_key) => by_key.iter().find_map(|(key, rule)| {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                let takes_names = matches!(keyword, "dependentRequired" | "dependencies");
                if takes_names && is_list(rule, Value::is_string) {
                    return None;
                }
                flaw_of(root, rule, &at)
            }),
            _ => wrong("an object"),
        },
        _ => None,
    }
}

fn is_list(rule: &Value, fits: impl Fn(&Value) -> bool) -> bool {
    rule.as_array().is_some_and(|list| list.iter().all(fits))
}

fn flaw_in_list(root: &Value, schemas: &[Value], at: &str) -> Option<String> {
    let mut schemas = schemas.iter().enumerate();
    schemas.find_map(|(n, schema)| flaw_of(root, schema, &format!("{at}/{n}")))
}
