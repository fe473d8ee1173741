//! The differences between two JSON values, a line each.
use serde_json::{Map, Value};

/// The most characters of a value in a line.
const WIDTH: usize = 120;

/// Returns the differences, each with the path at which it is.
pub(crate) fn differences(before: &Value, after: &Value) -> Vec<String> {
    let mut lines = vec![];
    compare("", before, after, &mut lines);
    lines
}

fn compare(path: &str, before: &Value, after: &Value, lines: &mut Vec<String>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(before), Value::Object(after)) => objects(path, before, after, lines),
        (Value::Array(before), Value::Array(after)) => {
            for n in 0..before.len().max(after.len()) {
                entry(&format!("{path}[{n}]"), before.get(n), after.get(n), lines);
            }
        }
        _ => lines.push(format!("{path}: {} → {}", short(before), short(after))),
    }
}

fn objects(
    path: &str,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    lines: &mut Vec<String>,
) {
    let added = after.keys().filter(|key| !before.contains_key(*key));
    for key in before.keys().chain(added) {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        entry(&path, before.get(key), after.get(key), lines);
    }
}

fn entry(path: &str, before: Option<&Value>, after: Option<&Value>, lines: &mut Vec<String>) {
    match (before, after) {
        (Some(before), Some(after)) => compare(path, before, after, lines),
        (None, Some(new)) => lines.push(format!("+ {path}: {}", short(new))),
        (Some(old), None) => lines.push(format!("- {path}: {}", short(old))),
        (None, None) => {}
    }
}

/// Returns a value on one line; of a long one, its beginning and its length.
fn short(value: &Value) -> String {
    let text = value.to_string();
    let length = text.chars().count();
    if length <= WIDTH {
        return text;
    }
    let begin: String = text.chars().take(WIDTH).collect();
    format!("{begin}… ({length} characters)")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_difference_is_a_line_with_its_path() {
        let before = json!({ "phase": "chatting", "tasks": [{ "slot": 1 }, 2], "gone": true });
        let after = json!({ "phase": "done", "tasks": [{ "slot": 3 }, 2, "x"], "new": {} });
        assert_eq!(
            differences(&before, &after),
            [
                "- gone: true",
                "phase: \"chatting\" → \"done\"",
                "tasks[0].slot: 1 → 3",
                "+ tasks[2]: \"x\"",
                "+ new: {}",
            ]
        );
        assert_eq!(differences(&after, &after), [""; 0]);
        let long = differences(&json!(""), &json!("x".repeat(500)));
        assert!(
            long.first()
                .is_some_and(|line| line.ends_with("… (502 characters)")),
            "{long:?}"
        );
    }
}
