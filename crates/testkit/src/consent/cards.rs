//! Cards, as responses of all protocols show them.
use std::fmt::Write as _;

use fugato_state::InterruptId;
use serde_json::Value;

/// A card that was shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Card {
    pub(super) id: String,
    pub(super) thread: String,
    pub(super) digest: Option<String>,
    pub(super) content: Value,
}

impl Card {
    pub(super) fn code(&self) -> String {
        InterruptId::from(self.id.as_str()).code()
    }
}

/// A card in a response: its id, digest and content.
pub(super) type ShownCard = (String, Option<String>, Value);

/// The cards in a body: one JSON value, or events whose data are such.
pub(super) fn shown(body: &str, content: &dyn Fn(&Value) -> Option<Value>) -> Vec<ShownCard> {
    let mut found = vec![];
    if let Ok(whole) = serde_json::from_str::<Value>(body) {
        find(&whole, content, &mut found);
        return found;
    }
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    for data in data {
        if let Ok(event) = serde_json::from_str::<Value>(data.trim()) {
            find(&event, content, &mut found);
        }
    }
    found
}

fn find(value: &Value, content: &dyn Fn(&Value) -> Option<Value>, found: &mut Vec<ShownCard>) {
    match value {
        Value::Object(object) => {
            let id = object.get("id").and_then(Value::as_str);
            // One that is not bound to its content is a card all the same.
            let id = id.filter(|id| id.contains('~'));
            let prompt = object.get("prompt").or_else(|| {
                let metadata = object.get("metadata")?;
                metadata.get("prompt")
            });
            if let (Some(id), Some(content)) = (id, prompt.and_then(content)) {
                let digest = object.get("digest").and_then(Value::as_str);
                found.push((id.to_owned(), digest.map(str::to_owned), content));
            }
            object.values().for_each(|part| find(part, content, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| find(part, content, found)),
        _ => {}
    }
}

/// Renders a response as a chat: the words of the assistant, and the cards with their codes.
pub(super) fn rendered(body: &str, cards: &[ShownCard]) -> String {
    let whole = serde_json::from_str::<Value>(body).unwrap_or_default();
    let said = whole.pointer("/choices/0/message/content");
    let mut text = said.and_then(Value::as_str).unwrap_or_default().to_owned();
    // The newest one is what the person sees last.
    if let Some((id, _, content)) = cards.last() {
        let code = InterruptId::from(id.as_str()).code();
        let _ = write!(text, "\n{content}\nreply: yes {code}");
    }
    if text.is_empty() {
        text.push_str("(nothing)");
    }
    text
}

/// Returns true if a text has this word.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let mut parts = text.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| part == word)
}
