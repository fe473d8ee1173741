//! Schemas of arguments: closed, so that only named properties are allowed, and read to say which
//! those are.
use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Makes every object of a schema reject properties that it does not name, and drops keys that only
/// cost tokens.
pub(crate) fn closed(mut schema: Value) -> Value {
    if let Some(root) = schema.as_object_mut() {
        root.remove("$schema");
        root.remove("title");
    }
    let mut parts = BTreeSet::new();
    find_parts(&schema, &mut parts);
    close(&mut schema, &parts, "#");
    schema
}

const UNIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Returns true if other schemas add to the properties of this one. Each part sees only its own
/// properties, so the whole is closed and not the parts.
fn is_composed(object: &Map<String, Value>) -> bool {
    object.contains_key("properties")
        && (object.contains_key("$ref") || UNIONS.iter().any(|key| object.contains_key(*key)))
}

/// Collects the addresses of schemas that are parts of a composition.
fn find_parts(schema: &Value, parts: &mut BTreeSet<String>) {
    if let Value::Object(object) = schema {
        if is_composed(object) {
            let members = UNIONS
                .iter()
                .filter_map(|key| object.get(*key)?.as_array())
                .flatten();
            let references = members.filter_map(|member| member.get("$ref"));
            let references = references
                .chain(object.get("$ref"))
                .filter_map(Value::as_str);
            parts.extend(references.map(str::to_owned));
        }
        object.values().for_each(|child| find_parts(child, parts));
    } else if let Value::Array(items) = schema {
        for child in items {
            find_parts(child, parts);
        }
    }
}

fn close(schema: &mut Value, parts: &BTreeSet<String>, address: &str) {
    let Value::Object(object) = schema else {
        return;
    };
    let composed = is_composed(object);
    let names = object.contains_key("properties") && !object.contains_key("additionalProperties");
    if names && !parts.contains(address) {
        let rule = if composed {
            "unevaluatedProperties"
        } else {
            "additionalProperties"
        };
        object.insert(rule.to_owned(), Value::Bool(false));
    }
    for (key, child) in object.iter_mut() {
        let at = format!("{address}/{key}");
        match (key.as_str(), child) {
            ("properties" | "$defs" | "definitions" | "patternProperties", Value::Object(map)) => {
                for (name, child) in map {
                    close(child, parts, &format!("{at}/{name}"));
                }
            }
            ("items" | "additionalProperties" | "contains", child) => close(child, parts, &at),
            ("prefixItems", Value::Array(children)) => {
                for child in children {
                    close(child, parts, &at);
                }
            }
            (key, Value::Array(children)) if UNIONS.contains(&key) && !composed => {
                for child in children {
                    close(child, parts, &at);
                }
            }
            _ => {}
        }
    }
}

/// A view of an object schema that lists what it allows.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    root: &'a Value,
    here: &'a Value,
}

/// One property of an object.
pub(crate) struct Property<'a> {
    pub(crate) name: &'a str,
    pub(crate) required: bool,
    pub(crate) description: Option<&'a str>,
    pub(crate) values: Vec<String>,
}

impl<'a> Shape<'a> {
    pub(crate) fn of(root: &'a Value) -> Self {
        Self { root, here: root }
    }

    /// Follows references and unions with null.
    fn resolved(self, schema: &'a Value) -> Self {
        let mut here = schema;
        // A longer chain of references is circular.
        for _ in 0..32 {
            let reference = here.get("$ref").and_then(Value::as_str);
            let next = match reference.and_then(|r| r.strip_prefix('#')) {
                Some(pointer) => self.root.pointer(pointer),
                None => not_null(here),
            };
            match next {
                Some(next) => here = next,
                None => break,
            }
        }
        Self {
            root: self.root,
            here,
        }
    }

    fn property_schemas(self) -> Option<&'a Map<String, Value>> {
        self.here.get("properties")?.as_object()
    }

    /// Returns true if the type of the value here is an object.
    pub(crate) fn is_object(self) -> bool {
        self.here.get("type").and_then(Value::as_str) == Some("object")
    }

    /// Returns the names of the properties.
    pub(crate) fn names(self) -> impl Iterator<Item = &'a str> {
        self.property_schemas()
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
    }

    /// Returns the properties, the required ones first.
    pub(crate) fn properties(self) -> Vec<Property<'a>> {
        let required: Vec<_> = self
            .here
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut properties: Vec<_> = self
            .property_schemas()
            .into_iter()
            .flatten()
            .map(|(name, schema)| Property {
                name,
                required: required.contains(&name.as_str()),
                description: schema.get("description").and_then(Value::as_str),
                values: self.resolved(schema).values(),
            })
            .collect();
        properties.sort_by_key(|property| !property.required);
        properties
    }

    /// Returns the values that are allowed here if they are enumerated; for a list, those of its
    /// items.
    fn values(self) -> Vec<String> {
        if let Some(items) = self.here.get("items") {
            return self.resolved(items).values();
        }
        let listed = self
            .here
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let variants = self
            .here
            .get("oneOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let constants = variants.filter_map(|variant| variant.get("const"));
        listed
            .chain(constants)
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    /// Reports each property of `value` that the schema does not name, with its path and the shape
    /// that names the known ones.
    pub(crate) fn report_unknown(
        self,
        value: &Value,
        path: &str,
        report: &mut dyn FnMut(&str, &str, Self),
    ) {
        match value {
            Value::Object(object) => {
                let Some(schemas) = self.property_schemas() else {
                    return;
                };
                let closed = self.here.get("additionalProperties") == Some(&Value::Bool(false));
                for (name, child) in object {
                    match schemas.get(name) {
                        Some(schema) => {
                            let at = format!("{path}/{name}");
                            self.resolved(schema).report_unknown(child, &at, report);
                        }
                        None if closed => report(path, name, self),
                        None => {}
                    }
                }
            }
            Value::Array(values) => {
                let Some(items) = self.here.get("items") else {
                    return;
                };
                for (n, child) in values.iter().enumerate() {
                    self.resolved(items)
                        .report_unknown(child, &format!("{path}/{n}"), report);
                }
            }
            _ => {}
        }
    }
}

/// Returns the only member of a union that is not null.
fn not_null(schema: &Value) -> Option<&Value> {
    let members = schema.get("anyOf")?.as_array()?;
    let is_null = |member: &&Value| member.get("type").and_then(Value::as_str) == Some("null");
    let mut rest = members.iter().filter(|member| !is_null(member));
    rest.next().filter(|_| rest.next().is_none())
}

#[cfg(test)]
mod tests {
    use fugato_state::Schema;
    use serde_json::json;

    use super::*;

    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Moves {
        moves: Vec<Move>,
        how: Option<How>,
    }

    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Move {
        task_id: u32,
    }

    #[derive(schemars::JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is used")]
    enum How {
        Fast(Move),
        Slow { days: u8 },
    }

    #[test]
    fn a_closed_schema_allows_what_it_names_and_nothing_else() {
        let schema = Schema::new(closed(Schema::of::<Moves>().as_value().clone())).unwrap();
        for good in [
            json!({ "moves": [{ "task_id": 1 }] }),
            json!({ "moves": [], "how": { "kind": "fast", "task_id": 1 } }),
            json!({ "moves": [], "how": { "kind": "slow", "days": 1 } }),
            json!({ "moves": [], "how": null }),
        ] {
            assert_eq!(schema.check(&good), Ok(()), "{good}");
        }
        for bad in [
            json!({ "moves": [], "x": 1 }),
            json!({ "moves": [], "how": { "kind": "slow", "days": 1, "x": 1 } }),
            json!({ "moves": [], "how": { "kind": "fast", "task_id": 1, "x": 1 } }),
        ] {
            assert!(schema.check(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_unknown_is_found_at_any_depth() {
        let schema = closed(Schema::of::<Moves>().as_value().clone());
        let mut found = vec![];
        let value = json!({ "moves": [{ "task_id": 1 }, { "task": 2 }], "why": 0 });
        Shape::of(&schema).report_unknown(&value, "", &mut |path, name, shape| {
            found.push((
                path.to_owned(),
                name.to_owned(),
                shape.names().collect::<Vec<_>>().join(" "),
            ));
        });
        // `Move` is a part of `How`, so it stays open when it is used alone.
        assert_eq!(
            found,
            [(String::new(), "why".to_owned(), "how moves".to_owned())]
        );
    }
}
