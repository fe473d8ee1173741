//! JSON of requests.
use serde_json::{Map, Value};

/// Sets a field of a body.
pub(crate) fn set(body: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    body.insert(key.to_owned(), value.into());
}

/// Converts 0.2 to 0.2, and not to the nearest `f64` of the nearest `f32`.
pub(crate) fn decimal(value: f32) -> Value {
    let text = value.to_string();
    text.parse::<f64>().map_or(Value::Null, Value::from)
}
