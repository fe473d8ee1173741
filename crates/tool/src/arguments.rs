use fugato_state::{Schema, SchemaError, say};
use serde_json::{Map, Value};

use crate::{ToolSpec, schema::Shape, words::list};

/// Normalises arguments: aliases of names and synonyms of values are replaced. A JSON object in a
/// string, null and an empty string count as objects, because models send them. Arguments that are
/// only nearly JSON were repaired when the model's answer was read.
pub(crate) fn normalised(spec: &ToolSpec, arguments: Value) -> Value {
    let mut object = match arguments {
        Value::Object(object) => object,
        Value::Null => Map::new(),
        Value::String(text) if text.trim().is_empty() => Map::new(),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => object,
            _ => return Value::String(text),
        },
        other => return other,
    };
    for (alias, name) in &spec.argument_aliases {
        // An alias next to its name stays, and is reported as unknown, unless both have the same
        // value.
        match (object.get(alias), object.get(name)) {
            (Some(value), None) => {
                let value = value.clone();
                object.insert(name.clone(), value);
                object.remove(alias);
            }
            (Some(same), Some(value)) if same == value => {
                object.remove(alias);
            }
            _ => {}
        }
    }
    for (argument, words) in &spec.synonyms {
        if let Some(value) = object.get_mut(argument) {
            replace(value, &|word| words.get(&word.to_lowercase()).cloned());
        }
    }
    Value::Object(object)
}

fn replace(value: &mut Value, meaning: &dyn Fn(&str) -> Option<String>) {
    match value {
        Value::String(word) => {
            if let Some(meaning) = meaning(word.trim()) {
                *word = meaning;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, meaning)),
        _ => {}
    }
}

/// Returns true for the message of a schema about properties that it does not name.
fn is_about_unknown(message: &str) -> bool {
    ["Additional properties are not allowed", "不允许额外的属性"]
        .iter()
        .any(|start| message.starts_with(start))
}

/// Returns every problem of the arguments, each with its place and what is allowed.
pub(crate) fn problems(schema: &Schema, arguments: &Value) -> Vec<String> {
    if !arguments.is_object() {
        return vec![say!(
            "the arguments must be a JSON object",
            "参数必须是一个 JSON 对象"
        )];
    }
    let mut problems = vec![];
    Shape::of(schema.as_value()).report_unknown(arguments, "", &mut |path, name, shape| {
        let place = if path.is_empty() {
            String::new()
        } else {
            format!("{path}: ")
        };
        let names: Vec<_> = shape.names().map(|name| format!("`{name}`")).collect();
        problems.push(if names.is_empty() {
            say!(
                "{place}there is no argument `{name}`; none are allowed",
                "{place}没有参数 `{name}`；不允许任何参数"
            )
        } else {
            say!(
                "{place}there is no argument `{name}`; allowed are {}",
                "{place}没有参数 `{name}`；可以用{}",
                list(names)
            )
        });
    });
    let unknown_is_reported = !problems.is_empty();
    match schema.check(arguments) {
        Ok(()) => {}
        Err(SchemaError::Violated(found)) => {
            let told = |message: &str| unknown_is_reported && is_about_unknown(message);
            let new = found.iter().filter(|violation| !told(&violation.message));
            problems.extend(new.map(ToString::to_string));
        }
        Err(error) => problems.push(error.to_string()),
    }
    problems
}
