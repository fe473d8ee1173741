//! The normal form of a schema: two schemas with the same form accept the same values.
use serde_json::{Map, Value, json};

/// Keywords that accept and refuse nothing.
const ANNOTATIONS: [&str; 11] = [
    "$comment",
    "$id",
    "$schema",
    "default",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
    "$anchor",
];
/// Keywords under which schemas have names of the writer's choice.
const NAMED: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Keywords under which each schema is a member of an array.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords of lists in which the order means nothing.
const SETS: [&str; 2] = ["enum", "required"];
/// Keywords that are themselves a schema.
const INNER: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The largest number of nested schemas that are read: definitions that use each other twice grow
/// without bound.
const LIMIT: usize = 10_000;

/// Returns the normal form of a schema; none if it is too large to tell.
pub(super) fn form(schema: &Value) -> Option<Value> {
    let mut reader = Reader {
        root: schema,
        open: vec![],
        left: LIMIT,
    };
    let form = reader.schema(schema);
    (reader.left > 0).then_some(form)
}

/// Reads one document; references within it are followed.
struct Reader<'a> {
    root: &'a Value,
    /// The definitions that are being read, outermost first.
    open: Vec<&'a str>,
    left: usize,
}

impl<'a> Reader<'a> {
    fn schema(&mut self, schema: &'a Value) -> Value {
        self.left = self.left.saturating_sub(1);
        let Some(keywords) = schema.as_object().filter(|_| self.left > 0) else {
            return schema.clone();
        };
        let mut normal = Map::new();
        for (keyword, value) in keywords {
            let keyword = keyword.as_str();
            if ANNOTATIONS.contains(&keyword) || matches!(keyword, "$defs" | "definitions") {
                continue;
            }
            let value = match value {
                Value::String(target) if keyword == "$ref" => self.reference(target),
                Value::Object(schemas) if NAMED.contains(&keyword) => {
                    let schemas = schemas.iter();
                    schemas
                        .map(|(name, schema)| (name.clone(), self.schema(schema)))
                        .collect()
                }
                Value::Array(schemas) if LISTS.contains(&keyword) => {
                    schemas.iter().map(|schema| self.schema(schema)).collect()
                }
                Value::Array(values) if SETS.contains(&keyword) => {
                    let mut values = values.clone();
                    values.sort_by_key(Value::to_string);
                    values.into()
                }
                value if INNER.contains(&keyword) => self.schema(value),
                value => value.clone(),
            };
            normal.insert(keyword.to_owned(), value);
        }
        // A lone reference is replaced by its target.
        match normal.remove("$ref") {
            Some(target) if normal.is_empty() => target,
            Some(target) => {
                normal.insert("$ref".into(), target);
                normal.into()
            }
            None => normal.into(),
        }
    }

    /// Returns the form of a reference's target, or its nesting distance if the target is being
    /// read already.
    fn reference(&mut self, target: &'a str) -> Value {
        if let Some(at) = self.open.iter().rposition(|open| *open == target) {
            return json!({ "$ref": self.open.len() - at });
        }
        let pointer = target.strip_prefix('#');
        let Some(found) = pointer.and_then(|pointer| self.root.pointer(pointer)) else {
            return json!({ "$ref": target });
        };
        self.open.push(target);
        let found = self.schema(found);
        self.open.pop();
        found
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde_json::json;

    use crate::Schema;

    /// A tree.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Tree {
        /// The height in metres.
        height: u32,
        children: Vec<Tree>,
        kind: Kind,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Kind {
        Oak,
        Elm,
    }

    mod other {
        use schemars::JsonSchema;

        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        pub(super) struct Plant {
            kind: Sort,
            /// The branches.
            children: Vec<Plant>,
            height: u32,
        }

        /// The sort of a plant.
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        pub(super) enum Sort {
            Elm,
            Oak,
        }
    }

    #[test]
    fn names_titles_descriptions_and_order_are_no_difference() {
        assert_ne!(Schema::of::<Tree>(), Schema::of::<other::Plant>());
        assert!(Schema::of::<Tree>().is_equivalent(&Schema::of::<other::Plant>()));
    }

    #[test]
    fn a_property_may_be_called_like_an_annotation() {
        let of = |of: &str| {
            Schema::from(json!({ "title": of, "properties": { "title": { "type": of } } }))
        };
        assert!(!of("string").is_equivalent(&of("number")));
        let required = |names: &[&str]| Schema::from(json!({ "required": names }));
        assert!(required(&["a", "b"]).is_equivalent(&required(&["b", "a"])));
        assert!(!required(&["a", "b"]).is_equivalent(&required(&["a"])));
    }

    #[test]
    fn definitions_that_double_are_not_followed_for_ever() {
        let twice = |n: u32| {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            (format!("d{n}"), json!({ "anyOf": [next, next] }))
        };
        let defs: serde_json::Map<_, _> = (0..60).map(twice).collect();
        let of = |title: &str| {
            Schema::from(json!({ "title": title, "$defs": defs, "$ref": "#/$defs/d0" }))
        };
        assert!(!of("a").is_equivalent(&of("b")));
        assert!(of("a").is_equivalent(&of("a")));
    }

    #[test]
    fn a_reference_to_nothing_is_kept() {
        let of = |target: &str| Schema::from(json!({ "$ref": target }));
        assert!(!of("#/$defs/a").is_equivalent(&of("#/$defs/b")));
        assert!(of("#/$defs/a").is_equivalent(&of("#/$defs/a")));
    }
}
