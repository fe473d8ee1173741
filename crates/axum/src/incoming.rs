//! Parsing of requests in the forms of their protocols.
use axum::http::HeaderMap;
use fugato_state::{InterruptId, say};
use serde_json::{Map, Value};

use crate::{
    Caller, UserMessage,
    error::{ApiError, ApiResult},
};

/// The reason of a cancellation by a client that gives none.
pub(crate) const NO_REASON: &str = "the client said so";

impl UserMessage {
    /// Sets the card under which the words were typed, from the field `card` of the object that
    /// comes with them.
    pub(crate) fn under(mut self, beside: Option<&Value>) -> Self {
        let card = beside.and_then(|beside| beside.get("card")?.as_str());
        self.card = card.map(InterruptId::from);
        self.extra.remove("card");
        self
    }

    /// Sets the model and the retried message from the fields `model` and `retry_of` of the object
    /// that comes with the words.
    pub(crate) fn with_choice(mut self, request: &Value) -> ApiResult<Self> {
        self.model = text(request, "model")?.map(str::to_owned);
        self.retries = text(request, "retry_of")?.map(str::to_owned);
        Ok(self)
    }

    fugato_state::setters! {
        pub(crate) fn by(door: &'static str) { door = door }
    }

    /// Reads a request that carries the whole conversation in `messages`: its last message is the
    /// text.
    pub(crate) fn last_of(caller: &Caller, request: &Value, extra: Map<String, Value>) -> Self {
        let messages = request.get("messages").and_then(Value::as_array);
        let messages = messages.cloned().unwrap_or_default();
        let text = messages.last().map(words).unwrap_or_default();
        Self {
            messages,
            extra,
            ..Self::new(caller.clone(), text)
        }
    }
}

/// Returns the words of one message: its content, or the texts among its parts.
pub(crate) fn words(message: &Value) -> String {
    let content = message.get("content").filter(|it| !it.is_null());
    let content = content.or_else(|| message.get("parts"));
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Returns the fields of an object that are not among `known`.
pub(crate) fn others(request: &Value, known: &[&str]) -> Map<String, Value> {
    let fields = request.as_object().into_iter().flatten();
    let others = fields.filter(|(name, _)| !known.contains(&name.as_str()));
    others
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns a field that must be an object; empty if it is missing.
pub(crate) fn object(request: &Value, name: &str) -> ApiResult<Map<String, Value>> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object.clone()),
        Some(_) => Err(ApiError::bad(say!(
            "{name:?} must be an object",
            "{name:?} 应为对象"
        ))),
    }
}

/// Returns a field that must be a text; none if it is missing.
pub(crate) fn text<'a>(request: &'a Value, name: &str) -> ApiResult<Option<&'a str>> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ApiError::bad(say!(
            "{name:?} must be a text",
            "{name:?} 应为文字"
        ))),
    }
}

/// Returns a header that must be visible ASCII; none if it is missing.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> ApiResult<Option<&'a str>> {
    let value = headers.get(name).map(|value| value.to_str()).transpose();
    value.map_err(|_| {
        ApiError::bad(say!(
            "the header {name} must be visible ASCII",
            "请求头 {name} 应为可见的 ASCII 字符"
        ))
    })
}

/// Returns the client's own key of a request, under which it is carried out once.
pub(crate) fn request_key(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let key = header(headers, "idempotency-key")?;
    match key {
        Some(key) if key.is_empty() || key.len() > 128 => Err(ApiError::bad(say!(
            "the header idempotency-key must have 1 to 128 bytes",
            "请求头 idempotency-key 应有 1 到 128 字节"
        ))),
        key => Ok(key.map(str::to_owned)),
    }
}
