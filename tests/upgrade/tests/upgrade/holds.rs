//! Comparing what was said with what is said now.
use serde_json::Value;

/// Checks that everything that was said is said still. An object may have fields that it did not
/// have then, if they say nothing: absent and empty mean the same.
///
/// # Errors
/// The place of the first difference.
pub(crate) fn holds(then: &Value, now: &Value) -> Result<(), String> {
    compare(then, now, "")
}

/// Fields that newer programs work out of what is in older logs.
const DERIVED: [&str; 5] = [
    "/previous",
    "/run/places",
    "/run/stored",
    "/run/understood",
    "/timeline",
];

fn compare(then: &Value, now: &Value, place: &str) -> Result<(), String> {
    match (then, now) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, then) in old {
                let now = new.get(name).unwrap_or(&Value::Null);
                compare(then, now, &format!("{place}/{name}"))?;
            }
            let mut more = new.iter().filter(|(name, _)| !old.contains_key(*name));
            let is_derived = |name: &String| DERIVED.contains(&&*format!("{place}/{name}"));
            match more.find(|(name, value)| !is_empty(value) && !is_derived(name)) {
                Some((name, value)) => Err(format!("{place}/{name} was not there: {value}")),
                None => Ok(()),
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let mut both = old.iter().zip(new).enumerate();
            both.try_for_each(|(n, (then, now))| compare(then, now, &format!("{place}/{n}")))
        }
        _ if then == now => Ok(()),
        _ => Err(format!("{place} was {then} and is {now}")),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is) => !is,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_field_must_be_empty_and_nothing_may_be_lost() {
        let then = json!({ "a": [1, { "b": "x" }], "n": null });
        assert_eq!(
            holds(&then, &json!({ "a": [1, { "b": "x", "c": {} }] })),
            Ok(())
        );
        for (now, place) in [
            (json!({ "a": [1, { "b": "y" }] }), "/a/1/b was"),
            (
                json!({ "a": [1, { "b": "x", "c": 1 }] }),
                "/a/1/c was not there",
            ),
            (json!({ "a": [1] }), "/a was"),
            (json!({}), "/a was"),
        ] {
            let told = holds(&then, &now).unwrap_err();
            assert!(told.starts_with(place), "{told}");
        }
    }
}
