//! What a page shows of a conversation that is kept as messages.
use fugato_state::{Message, Role};
use serde_json::{Value, json};

/// How long a title is, in characters.
const LONGEST: usize = 40;

/// A title for a conversation: the first line that the person said, cut short.
pub fn title<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Option<String> {
    let mut asked = messages.into_iter();
    let first = asked.find(|message| message.role == Role::User)?;
    let line = first.content.lines().next()?.trim();
    let mut title: String = line.chars().take(LONGEST).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    Some(title)
}

/// The items of a page's [timeline](crate::Agent::timeline): what was said, which tools were
/// called, and what came out.
///
/// ```
/// use fugato_axum::{timeline, title};
/// use fugato_state::Message;
///
/// let messages = [Message::user("Good morning"), Message::assistant("And to you")];
/// assert_eq!(title(&messages).as_deref(), Some("Good morning"));
/// assert_eq!(timeline(&messages)[1]["kind"], "assistant_text");
/// ```
pub fn timeline<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Value> {
    messages.into_iter().flat_map(items).collect()
}

fn items(message: &Message) -> Vec<Value> {
    match message.role {
        Role::User => vec![json!({ "kind": "user_text", "text": message.content })],
        Role::Assistant => {
            let mut items = vec![];
            if !message.content.trim().is_empty() {
                items.push(json!({
                    "kind": "assistant_text",
                    "text": message.content,
                    "reasoning_content": message.reasoning,
                }));
            }
            items.extend(message.tool_calls.iter().map(|call| {
                json!({ "kind": "tool_call", "call": call.id, "name": call.name, "arguments": call.arguments })
            }));
            items
        }
        Role::Tool => vec![json!({
            "kind": "tool_result",
            "call": message.tool_call_id,
            "result": message.content,
        })],
        Role::System => vec![],
    }
}
