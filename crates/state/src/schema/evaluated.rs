//! The parts of a value that keywords have evaluated, which `unevaluatedProperties` and
//! `unevaluatedItems` leave alone.
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    compare::matches,
    validate::{Checker, DEEPEST, resolve},
};

impl<'s> Checker<'s> {
    /// Returns the keys or indexes of a value that keywords other than `asking` have evaluated.
    pub(super) fn evaluated(
        &self,
        rules: &'s Map<String, Value>,
        value: &Value,
        asking: &str,
    ) -> BTreeSet<String> {
        let mut known = BTreeSet::new();
        for (keyword, rule) in rules.iter().filter(|(keyword, _)| *keyword != asking) {
            let branches: Vec<&'s Value> = match (keyword.as_str(), rule) {
                ("$ref", Value::String(reference)) => {
                    resolve(self.root, reference).into_iter().collect()
                }
                ("allOf", Value::Array(all)) => all.iter().collect(),
                ("anyOf" | "oneOf", Value::Array(some)) => {
                    some.iter().filter(|it| self.fits(it, value)).collect()
                }
                ("if", _) if self.fits(rule, value) => [Some(rule), rules.get("then")]
                    .into_iter()
                    .flatten()
                    .collect(),
                ("if", _) => rules.get("else").into_iter().collect(),
                ("dependentSchemas", Value::Object(by_key)) => {
                    let present = by_key.iter().filter(|(key, _)| value.get(*key).is_some());
                    present.map(|(_, schema)| schema).collect()
                }
                _ => {
                    known.extend(self.evaluated_by(keyword, rule, rules, value));
                    continue;
                }
            };
            let deeper = Self::new(self.root, self.left, self.depth + 1);
            for rules in branches.into_iter().filter_map(Value::as_object) {
                let left = if deeper.depth < DEEPEST {
                    self.left.get()
                } else {
                    0
                };
                self.left.set(left.saturating_sub(1));
                if left > 0 {
                    known.extend(deeper.evaluated(rules, value, ""));
                }
            }
        }
        known
    }

    /// Returns the keys or indexes of a value that a keyword evaluates by itself.
    fn evaluated_by(
        &self,
        keyword: &str,
        rule: &'s Value,
        rules: &'s Map<String, Value>,
        value: &Value,
    ) -> BTreeSet<String> {
        match (keyword, value) {
            ("properties" | "patternProperties", Value::Object(fields)) => {
                let one = Map::from_iter([(keyword.to_owned(), rule.clone())]);
                declared(&one, fields)
            }
            ("additionalProperties", Value::Object(fields)) => {
                let known = declared(rules, fields);
                fields
                    .keys()
                    .filter(|key| !known.contains(*key))
                    .cloned()
                    .collect()
            }
            ("unevaluatedProperties", Value::Object(fields)) => fields.keys().cloned().collect(),
            ("prefixItems", Value::Array(items)) => {
                let tuple = rule.as_array().map_or(0, Vec::len);
                (0..tuple.min(items.len())).map(|n| n.to_string()).collect()
            }
            ("items" | "unevaluatedItems", Value::Array(items)) => {
                (0..items.len()).map(|n| n.to_string()).collect()
            }
            ("contains", Value::Array(items)) => {
                let items = items.iter().enumerate();
                let fitting = items.filter(|(_, item)| self.fits(rule, item));
                fitting.map(|(n, _)| n.to_string()).collect()
            }
            _ => BTreeSet::new(),
        }
    }
}

/// Returns the fields that `properties` and `patternProperties` name.
pub(super) fn declared(
    rules: &Map<String, Value>,
    fields: &Map<String, Value>,
) -> BTreeSet<String> {
    let of = |keyword: &str| rules.get(keyword).and_then(Value::as_object);
    let (named, patterns) = (of("properties"), of("patternProperties"));
    let is_declared = |key: &&String| {
        named.is_some_and(|named| named.contains_key(*key))
            || patterns.is_some_and(|all| all.keys().any(|pattern| matches(pattern, key)))
    };
    fields.keys().filter(is_declared).cloned().collect()
}
