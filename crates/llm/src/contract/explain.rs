//! Descriptions of a schema and of violations, in words for a model.
//!
//! Alternatives are never shown as one value with bars between them, because small models copy
//! that.

use std::collections::BTreeSet;

use fugato_state::{Lang, Schema, SchemaError, Violation, say};
use serde_json::Value;

/// The longest chain of references that is followed; a longer one is circular.
const MAX_REFERENCES: usize = 16;

/// Returns one line for each key of an object schema.
pub(super) fn outline(schema: &Schema) -> String {
    let root = schema.as_value();
    let mut lines = String::new();
    for node in branches(root, root) {
        let Some(keys) = node.get("properties").and_then(Value::as_object) else {
            continue;
        };
        for (key, property) in keys {
            let required = is_required(node, key);
            let allowed = allowed(root, &branches(root, property)).unwrap_or_default();
            let separator = if allowed.is_empty() {
                ""
            } else {
                Lang::current().pick(": ", "：")
            };
            let need = if required {
                say!("required", "必需")
            } else {
                say!("optional", "可选")
            };
            lines += &say!(
                "- \"{key}\" ({need}){separator}{allowed}\n",
                "- \"{key}\"（{need}）{separator}{allowed}\n"
            );
        }
    }
    lines
}

/// The depth of nested optional objects up to which violations are described.
const MAX_DEPTH: usize = 8;

/// Returns the violations in words, and true if one of them is a copied list of alternatives.
pub(super) fn violations(
    schema: &Schema,
    value: &Value,
    found: &[Violation],
) -> (Vec<Violation>, bool) {
    let (mut told, mut copied) = (vec![], false);
    let mut open: Vec<_> = found
        .iter()
        .rev()
        .map(|found| (found.clone(), MAX_DEPTH))
        .collect();
    while let Some((found, left)) = open.pop() {
        if let Some(inner) = left
            .checked_sub(1)
            .and_then(|left| Some((within(schema, value, &found)?, left)))
        {
            let (inner, left) = inner;
            open.extend(inner.into_iter().rev().map(|violation| (violation, left)));
            continue;
        }
        let (violation, copy) = violation(schema, value, &found);
        copied |= copy;
        told.push(violation);
    }
    (told, copied)
}

/// Returns the violations within an object for which the validator reports only that no alternative
/// fits; `None` unless exactly one alternative is an object.
fn within(schema: &Schema, value: &Value, found: &Violation) -> Option<Vec<Violation>> {
    let root = schema.as_value();
    let at = value.pointer(&found.path).filter(|at| at.is_object())?;
    let nodes = resolve(root, &found.path);
    let mut objects = nodes
        .into_iter()
        .filter(|node| node.get("properties").is_some());
    let only = objects.next().filter(|_| objects.next().is_none())?;
    if !found.message.contains("anyOf") && !found.message.contains("oneOf") {
        return None;
    }
    let mut only = only.as_object()?.clone();
    if let Some(definitions) = root.get("$defs") {
        only.insert("$defs".to_owned(), definitions.clone());
    }
    match Schema::new(Value::Object(only)).ok()?.check(at) {
        Err(SchemaError::Violated(inner)) => Some(
            inner
                .into_iter()
                .map(|inner| Violation {
                    path: format!("{}{}", found.path, inner.path),
                    ..inner
                })
                .collect(),
        ),
        _ => None,
    }
}

fn violation(schema: &Schema, value: &Value, found: &Violation) -> (Violation, bool) {
    let root = schema.as_value();
    let nodes = resolve(root, &found.path);
    let at = value.pointer(&found.path).unwrap_or(&Value::Null);
    let choices = choices(&nodes);
    let path = found.path.clone();
    if at.as_str().is_some_and(|text| copies(text, &choices)) {
        let message = say!(
            "choose exactly one of {}",
            "只能从 {} 中选一个",
            listed(&choices)
        );
        return (Violation { path, message }, true);
    }
    let accepts = |kind: &str| types(&nodes).contains(kind);
    let message = if let (Value::Array(_), true, false) = (at, accepts("object"), accepts("array"))
    {
        say!(
            "a list was given; give exactly one object",
            "给的是列表；请只给一个对象"
        )
    } else if at.is_object() {
        named_keys(&nodes, found)
    } else if let Some(allowed) = allowed(root, &nodes) {
        say!(
            "{} is not allowed; allowed is {allowed}",
            "{} 不允许；可以是 {allowed}",
            short(at)
        )
    } else {
        found.message.clone()
    };
    (Violation { path, message }, false)
}

/// Returns the message of a violation; for an unexpected key, with the known keys.
fn named_keys(nodes: &[&Value], found: &Violation) -> String {
    let keys: BTreeSet<_> = nodes
        .iter()
        .filter_map(|node| node.get("properties")?.as_object())
        .flat_map(|keys| keys.keys().map(|key| format!("\"{key}\"")))
        .collect();
    let unexpected = ["unexpected", "不允许"]
        .iter()
        .any(|it| found.message.contains(it));
    if keys.is_empty() || !unexpected {
        return found.message.clone();
    }
    let keys: Vec<_> = keys.into_iter().collect();
    say!(
        "{}; known keys are {}",
        "{}；已知的键有 {}",
        found.message,
        keys.join(", ")
    )
}

fn copies(text: &str, choices: &BTreeSet<String>) -> bool {
    let parts = text.split(['|', '/', ',']).map(str::trim);
    parts
        .filter(|part| choices.contains(&format!("{part:?}")))
        .take(2)
        .count()
        == 2
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        return text;
    }
    text.chars().take(60).chain(['…']).collect()
}

/// Returns a description of the values that any of these schemas allows; `None` if they name
/// neither values nor types.
fn allowed(root: &Value, nodes: &[&Value]) -> Option<String> {
    let choices = choices(nodes);
    if !choices.is_empty() {
        return Some(say!("one of {}", "{} 之一", listed(&choices)));
    }
    let kinds: Vec<_> = types(nodes)
        .into_iter()
        .map(|kind| kind_text(root, nodes, kind))
        .collect();
    (!kinds.is_empty()).then(|| kinds.join(Lang::current().pick(" or ", " 或 ")))
}

fn kind_text(root: &Value, nodes: &[&Value], kind: &str) -> String {
    let bound = |key: &str| {
        nodes
            .iter()
            .find_map(|node| node.get(key))
            .map(ToString::to_string)
    };
    match kind {
        "integer" | "number" => match (bound("minimum"), bound("maximum")) {
            (Some(low), Some(high)) => {
                say!("{kind} from {low} to {high}", "{kind}（{low} 到 {high}）")
            }
            (Some(low), None) => say!("{kind} from {low}", "{kind}（从 {low} 起）"),
            (None, Some(high)) => say!("{kind} up to {high}", "{kind}（至多 {high}）"),
            (None, None) => kind.to_owned(),
        },
        "object" => {
            let keys: Vec<_> = nodes
                .iter()
                .filter_map(|node| node.get("properties")?.as_object())
                .flat_map(|keys| keys.keys().map(|key| format!("\"{key}\"")))
                .collect();
            if keys.is_empty() {
                return "object".to_owned();
            }
            let keys = keys.join(", ");
            say!("object with the keys {keys}", "object（键为 {keys}）")
        }
        "array" => {
            let items = nodes.iter().find_map(|node| node.get("items"));
            let inner = items.map(|items| branches(root, items)).unwrap_or_default();
            let choices = choices(&inner);
            match types(&inner).into_iter().next() {
                _ if !choices.is_empty() => say!(
                    "list of some of {}",
                    "由 {} 中若干个组成的列表",
                    listed(&choices)
                ),
                Some(item) => say!("list, each item: {item}", "列表，每项为 {item}"),
                None => say!("list", "列表"),
            }
        }
        other => other.to_owned(),
    }
}

fn listed(choices: &BTreeSet<String>) -> String {
    choices
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the values that an enumeration allows, as JSON text.
fn choices(nodes: &[&Value]) -> BTreeSet<String> {
    let single = nodes.iter().filter_map(|node| node.get("const"));
    let several = nodes
        .iter()
        .filter_map(|node| node.get("enum")?.as_array())
        .flatten();
    single
        .chain(several)
        .filter(|value| !value.is_null())
        .map(ToString::to_string)
        .collect()
}

fn types<'a>(nodes: &[&'a Value]) -> BTreeSet<&'a str> {
    let kinds = nodes.iter().filter_map(|node| node.get("type"));
    kinds
        .flat_map(|kind| match kind {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            kind => kind.as_str().into_iter().collect::<Vec<_>>(),
        })
        .filter(|kind| *kind != "null")
        .collect()
}

fn is_required(node: &Value, key: &str) -> bool {
    let required = node.get("required").and_then(Value::as_array);
    required.is_some_and(|keys| keys.iter().any(|required| required == key))
}

/// Returns the schemas that apply to the place at a JSON pointer.
fn resolve<'a>(root: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut nodes = branches(root, root);
    for segment in path.split('/').skip(1) {
        let key = segment.replace("~1", "/").replace("~0", "~");
        nodes = nodes
            .iter()
            .filter_map(|node| child(node, &key))
            .flat_map(|node| branches(root, node))
            .collect();
    }
    nodes
}

fn child<'a>(node: &'a Value, key: &str) -> Option<&'a Value> {
    let property = node.get("properties").and_then(|keys| keys.get(key));
    let item = || key.parse::<usize>().ok().and_then(|_| node.get("items"));
    property
        .or_else(item)
        .or_else(|| node.get("additionalProperties").filter(|v| v.is_object()))
}

/// Returns a schema together with the targets of its references and its alternatives, as one list.
fn branches<'a>(root: &'a Value, node: &'a Value) -> Vec<&'a Value> {
    let mut open = vec![(node, MAX_REFERENCES)];
    let mut found = vec![];
    while let Some((node, left)) = open.pop() {
        found.push(node);
        let Some(left) = left.checked_sub(1) else {
            continue;
        };
        let reference = node.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|name| root.pointer(name.strip_prefix('#')?));
        open.extend(target.map(|target| (target, left)));
        for key in ["allOf", "oneOf", "anyOf"] {
            let several = node
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            open.extend(several.map(|node| (node, left)));
        }
    }
    found
}
