//! Our checks of schemas agree with those of the crate `jsonschema`: on what fits, and on each place
//! that does not.
use std::collections::BTreeSet;

use fugato_state::{Schema, SchemaError};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "ab", "x/y", "z~"]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-4_i64..8).prop_map(Value::from),
        (-4_i32..8).prop_map(|n| Value::from(f64::from(n) / 2.0)),
        select(vec![
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1e300),
            json!(0.3)
        ]),
        select(vec!["", "a", "ab", "abc", "7", "日本", "\u{1f600}"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            fields(inner).prop_map(Value::from),
        ]
    })
}

fn fields(of: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec((name(), of), 0..4).prop_map(Map::from_iter)
}

fn types() -> impl Strategy<Value = Value> {
    let name = || {
        select(vec![
            "null", "boolean", "integer", "number", "string", "array", "object",
        ])
    };
    let several = proptest::collection::btree_set(name(), 1..3);
    prop_oneof![
        name().prop_map(Value::from),
        several.prop_map(|names| names.into_iter().collect())
    ]
}

/// A keyword that holds no schema, with its value.
fn assertion() -> impl Strategy<Value = (String, Value)> {
    let limit = select(vec![
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    ]);
    let count = select(vec![
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    ]);
    let number = prop_oneof![
        (-3_i64..6).prop_map(Value::from),
        (-3_i32..6).prop_map(|n| json!(f64::from(n) / 2.0))
    ];
    let part = select(vec![json!(1), json!(2), json!(0.5), json!(3)]);
    let pattern = select(vec!["^a", "b$", "[0-9]+", "^.{2}$", "本", ""]);
    prop_oneof![
        types().prop_map(|rule| ("type".to_owned(), rule)),
        vec(value(), 1..3).prop_map(|rule| ("enum".to_owned(), rule.into())),
        value().prop_map(|rule| ("const".to_owned(), rule)),
        (limit, number).prop_map(|(keyword, rule)| (keyword.to_owned(), rule)),
        (count, 0_u8..4).prop_map(|(keyword, rule)| (keyword.to_owned(), rule.into())),
        part.prop_map(|rule| ("multipleOf".to_owned(), rule)),
        pattern.prop_map(|rule| ("pattern".to_owned(), rule.into())),
        any::<bool>().prop_map(|rule| ("uniqueItems".to_owned(), rule.into())),
        vec(name(), 0..3).prop_map(|names| {
            let names: BTreeSet<_> = names.into_iter().collect();
            ("required".to_owned(), names.into_iter().collect())
        }),
        (name(), name())
            .prop_map(|(key, other)| ("dependentRequired".to_owned(), json!({ key: [other] }))),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        1 => select(vec![json!({ "$ref": "#/$defs/one" }), json!({ "$ref": "#/$defs/two" })]),
        6 => vec(assertion(), 0..3).prop_map(|rules| Value::from(Map::from_iter(rules))),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let one = select(vec![
            "not",
            "if",
            "then",
            "else",
            "items",
            "contains",
            "propertyNames",
            "additionalProperties",
            "unevaluatedProperties",
            "unevaluatedItems",
        ]);
        let some = select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
        let keyed = select(vec!["properties", "dependentSchemas"]);
        let pattern = select(vec!["^a", "b"]);
        let rule = prop_oneof![
            (one, inner.clone()).prop_map(|(keyword, rule)| (keyword.to_owned(), rule)),
            (some, vec(inner.clone(), 1..3))
                .prop_map(|(word, rule)| (word.to_owned(), rule.into())),
            (keyed, fields(inner.clone())).prop_map(|(word, rule)| (word.to_owned(), rule.into())),
            (pattern, inner).prop_map(|(pattern, rule)| {
                ("patternProperties".to_owned(), json!({ pattern: rule }))
            }),
        ];
        (
            vec(rule, 1..4),
            vec(assertion(), 0..2),
            option::of(0_u8..3),
            option::of(0_u8..3),
        )
            .prop_map(|(rules, assertions, least, most)| {
                let mut rules: Map<_, _> = rules.into_iter().chain(assertions).collect();
                if rules.contains_key("contains") {
                    rules.extend(least.map(|least| ("minContains".to_owned(), least.into())));
                    rules.extend(most.map(|most| ("maxContains".to_owned(), most.into())));
                }
                rules.into()
            })
    })
}

/// The places of the violations; none if the schema is invalid.
fn ours(schema: &Value, value: &Value) -> Option<BTreeSet<String>> {
    match Schema::from(schema.clone()).check(value) {
        Ok(()) => Some(BTreeSet::new()),
        Err(SchemaError::Violated(found)) => Some(found.into_iter().map(|it| it.path).collect()),
        Err(SchemaError::Invalid(_)) => None,
    }
}

fn theirs(schema: &Value, value: &Value) -> Option<BTreeSet<String>> {
    let validator = jsonschema::validator_for(schema).ok()?;
    let places = validator.iter_errors(value);
    Some(places.map(|it| it.instance_path().to_string()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn checks_agree_with_those_of_jsonschema(
        mut schema in schema(),
        one in schema(),
        two in assertion(),
        values in vec(value(), 1..6),
    ) {
        if let Value::Object(rules) = &mut schema {
            // A definition refers to another, and not to itself.
            let refers = one.to_string().contains("#/$defs/one");
            let one = if refers { json!({ "$ref": "#/$defs/two" }) } else { one };
            let defs = json!({ "one": one, "two": Map::from_iter([two]) });
            rules.insert("$defs".to_owned(), defs);
        }
        for value in &values {
            let (ours, theirs) = (ours(&schema, value), theirs(&schema, value));
            let fits = |places: &Option<BTreeSet<_>>| places.as_ref().map(BTreeSet::is_empty);
            prop_assert_eq!(fits(&ours), fits(&theirs), "{} of {}", schema, value);
            // What nothing else has evaluated they report at its parent.
            if !schema.to_string().contains("unevaluated") {
                prop_assert_eq!(ours, theirs, "{} of {}", schema, value);
            }
        }
    }
}

#[test]
fn both_call_the_same_schemas_invalid() {
    let flawed = [
        json!({ "type": 7 }),
        json!({ "type": "text" }),
        json!({ "properties": [] }),
        json!({ "properties": { "a": 1 } }),
        json!({ "required": "a" }),
        json!({ "minLength": -1 }),
        json!({ "multipleOf": 0 }),
        json!({ "anyOf": [] }),
        json!({ "anyOf": [{ "items": "string" }] }),
        json!({ "$ref": "#/$defs/none" }),
        json!({ "uniqueItems": "yes" }),
        json!("object"),
    ];
    for schema in flawed {
        assert!(theirs(&schema, &Value::Null).is_none(), "{schema}");
        assert!(Schema::new(schema.clone()).is_err(), "{schema}");
    }
}

#[test]
fn the_tuples_and_dependencies_of_draft_7_are_checked() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {
            "pair": { "items": [{ "type": "string" }, { "type": "integer" }], "additionalItems": false },
        },
        "dependencies": { "card": ["name"], "name": { "required": ["pair"] } },
    });
    for value in [
        json!({ "pair": ["a", 1] }),
        json!({ "pair": ["a", 1, 2] }),
        json!({ "pair": [1, "a"] }),
        json!({ "card": 1 }),
        json!({ "card": 1, "name": "a" }),
        json!({ "card": 1, "name": "a", "pair": [] }),
    ] {
        assert_eq!(
            ours(&schema, &value).is_some_and(|it| it.is_empty()),
            theirs(&schema, &value).is_some_and(|it| it.is_empty()),
            "{value}"
        );
    }
}
