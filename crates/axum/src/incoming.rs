//! Parsing of requests in the forms of their protocols.
use std::borrow::Cow;

use axum::http::HeaderMap;
use fugato_state::{InterruptId, say};
use fugato_text::without_controls;
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
    pub(crate) fn under(mut self, beside: &Value) -> ApiResult<Self> {
        self.card = text(beside, "card")?.map(InterruptId::from);
        self.extra.remove("card");
        Ok(self)
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
    /// text. One that ends with words of somebody else is refused: an answer of the agent, or the
    /// instructions of a program, are no request of the person.
    pub(crate) fn last_of(
        caller: &Caller,
        request: &Value,
        extra: Map<String, Value>,
    ) -> ApiResult<Self> {
        let messages = match request.get("messages") {
            None | Some(Value::Null) => vec![],
            Some(Value::Array(messages)) if messages.iter().all(Value::is_object) => {
                messages.clone()
            }
            Some(_) => {
                return Err(ApiError::bad(say!(
                    "\"messages\" must be a list of objects with \"role\" and \"content\"",
                    "\"messages\" 应为列表，其中每个对象有 \"role\" 和 \"content\""
                )));
            }
        };
        let last = messages.last().unwrap_or(&Value::Null);
        if let Some(role) = text(last, "role")?.filter(|role| *role != "user") {
            return Err(ApiError::bad(say!(
                "the last of the messages has the role {role:?}; allowed is \"user\": it is what \
                 the agent is asked",
                "最后一条消息的角色是 {role:?}；应为 \"user\"：那是要问助手的话"
            )));
        }
        let text = match said_in(last) {
            Some(Value::String(_) | Value::Array(_)) | None => words(last),
            Some(_) => {
                return Err(ApiError::bad(say!(
                    "\"content\" must be a text or a list of parts",
                    "\"content\" 应为文字或由各部分组成的列表"
                )));
            }
        };
        Ok(Self {
            messages,
            extra,
            ..Self::new(caller.clone(), text)
        })
    }
}

/// Returns the words of one message: its content, or the texts among its parts.
pub(crate) fn words(message: &Value) -> String {
    match said_in(message) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Returns the field that has the words of a message.
fn said_in(message: &Value) -> Option<&Value> {
    let said = ["content", "parts"].map(|name| message.get(name));
    said.into_iter().flatten().find(|said| !said.is_null())
}

/// Puts a space in the place of each control character in a value that a person sends: no note, title
/// or reason has any, whatever takes them.
pub(crate) fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(seen) = without_controls(text) {
                *text = seen;
            }
        }
        Value::Array(all) => all.iter_mut().for_each(clean),
        Value::Object(all) => all.values_mut().for_each(clean),
        _ => {}
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

/// Refuses a request of this server's own protocols with fields that it does not have: an agent gets
/// those in `extra`, and would miss them.
pub(crate) fn only(request: &Value, known: &[&str]) -> ApiResult<()> {
    let unknown = others(request, known);
    let Some(name) = unknown.keys().next() else {
        return Ok(());
    };
    let known = known.join(", ");
    Err(ApiError::bad(say!(
        "there is no field {name:?}; allowed are {known}, and \"extra\" holds what the agent is told \
         beside the words",
        "没有字段 {name:?}；允许的有 {known}，\"extra\" 里是随文字一起告诉助手的内容"
    )))
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

/// Returns a field that must be a text, and must be there.
pub(crate) fn required<'a>(request: &'a Value, name: &str) -> ApiResult<&'a str> {
    text(request, name)?.ok_or_else(|| {
        ApiError::bad(say!(
            "{name:?} is missing; it must be a text",
            "缺少 {name:?}；应为文字"
        ))
    })
}

/// Returns a field that must be true or false; false if it is missing.
pub(crate) fn flag(request: &Value, name: &str) -> ApiResult<bool> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(ApiError::bad(say!(
            "{name:?} must be true or false",
            "{name:?} 应为 true 或 false"
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
