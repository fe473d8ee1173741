use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::{Message, Role, State};

/// The history of a conversation, and the blocks that every prompt shows.
///
/// The system prompt and the tool schemas are not here: they belong to the program, not the
/// conversation, and are rebuilt for each request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The messages, oldest first.
    #[serde(default)]
    pub history: Vec<Message>,
    /// Blocks that stay in view, in the order in which their keys first appeared.
    #[serde(default)]
    pub pinned: Vec<PinnedBlock>,
}

/// A keyed block of text that every prompt of the conversation shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedBlock {
    /// The key of the block, unique in the conversation.
    pub key: String,
    /// The text.
    pub text: String,
}

/// A change to a [`Conversation`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationUpdate {
    /// Adds a message at the end.
    Said(Message),
    /// Sets the block of this key, in place if it exists.
    Pinned(PinnedBlock),
    /// Removes the block of this key, if it exists.
    Unpinned(String),
    /// Removes everything.
    Cleared,
}

impl State for Conversation {
    type Update = ConversationUpdate;

    fn apply(&mut self, update: ConversationUpdate) {
        match update {
            ConversationUpdate::Said(message) => self.history.push(message),
            ConversationUpdate::Pinned(block) => self.pin(block),
            ConversationUpdate::Unpinned(key) => self.pinned.retain(|b| b.key != key),
            ConversationUpdate::Cleared => *self = Self::default(),
        }
    }
}

impl Conversation {
    fn pin(&mut self, block: PinnedBlock) {
        match self.pinned.iter_mut().find(|b| b.key == block.key) {
            Some(old) => old.text = block.text,
            None => self.pinned.push(block),
        }
    }

    /// Returns the text of a pinned block.
    pub fn pinned(&self, key: &str) -> Option<&str> {
        self.pinned
            .iter()
            .find(|b| b.key == key)
            .map(|b| b.text.as_str())
    }

    /// Returns the history with every tool call paired with a result, whatever stopped in between:
    /// a call without a result gets one with the text `placeholder`, and a result without its call
    /// is left out. Model servers reject anything else.
    pub fn paired(&self, placeholder: &str) -> Vec<Message> {
        let mut paired = Vec::with_capacity(self.history.len());
        let mut open: Vec<&str> = Vec::new();
        let mut answered: HashSet<&str> = HashSet::new();
        for message in &self.history {
            if message.role == Role::Tool {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                if open.contains(&id) && answered.insert(id) {
                    paired.push(message.clone());
                }
                continue;
            }
            close(&mut paired, &mut open, &mut answered, placeholder);
            open.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
            paired.push(message.clone());
        }
        close(&mut paired, &mut open, &mut answered, placeholder);
        paired
    }
}

fn close<'a>(
    paired: &mut Vec<Message>,
    open: &mut Vec<&'a str>,
    answered: &mut HashSet<&'a str>,
    placeholder: &str,
) {
    for id in open.drain(..) {
        if !answered.contains(id) {
            paired.push(Message::tool(id, placeholder));
        }
    }
    answered.clear();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ToolCall;

    #[test]
    fn a_call_without_a_result_is_paired_with_a_placeholder() {
        let call = |id: &str| ToolCall::new(id, "place", json!({}));
        let talk = Conversation {
            history: vec![
                Message::assistant("").with_tool_calls([call("1"), call("2")]),
                Message::tool("2", "done"),
                Message::user("well?"),
                Message::tool("9", "nobody asked"),
            ],
            pinned: vec![],
        };
        assert_eq!(
            talk.paired("cancelled"),
            [
                Message::assistant("").with_tool_calls([call("1"), call("2")]),
                Message::tool("2", "done"),
                Message::tool("1", "cancelled"),
                Message::user("well?"),
            ]
        );
    }

    #[test]
    fn pinning_a_key_again_replaces_its_text_in_place() {
        let mut talk = Conversation::default();
        for (key, text) in [("plan", "a"), ("memory", "b"), ("plan", "c")] {
            talk.apply(ConversationUpdate::Pinned(PinnedBlock {
                key: key.into(),
                text: text.into(),
            }));
        }
        assert_eq!(talk.pinned("plan"), Some("c"));
        assert_eq!(talk.pinned[0].key, "plan");
        talk.apply(ConversationUpdate::Unpinned("plan".into()));
        assert_eq!(talk.pinned("plan"), None);
    }
}
