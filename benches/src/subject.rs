//! The states that the workloads change, the same for fugato and for the hand-written programs.
mod answers;
pub mod corpus;
mod slogan;
mod ticket;

use std::{collections::HashMap, sync::Arc};

use fugato_state::{Message, State, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub use self::{
    answers::{JsonAnswer, answers},
    slogan::{Campaign, CampaignUpdate, Number, Slogan, SloganUpdate},
    ticket::{Ticket, TicketUpdate},
};
use crate::workload::{WIDE_KEYS, WIDE_NODES};

/// A state that nothing changes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Still {
    /// Dead weight.
    pub weight: String,
}

/// No change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Nothing;

impl State for Still {
    type Update = Nothing;
    fn apply(&mut self, Nothing: Nothing) {}
}

/// A counter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Count {
    /// How far it got.
    pub reached: u64,
    /// How far it is to get.
    pub wanted: u64,
}

/// One more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tick;

impl State for Count {
    type Update = Tick;
    fn apply(&mut self, Tick: Tick) {
        self.reached += 1;
    }
}

/// A conversation of agent and tools.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Talk {
    /// What was said.
    pub messages: Vec<Message>,
    /// How many messages there are to be.
    pub wanted: u64,
}

impl Talk {
    /// A conversation of so many turns, two messages each.
    pub fn of_turns(turns: u64) -> Self {
        Self {
            messages: vec![],
            wanted: 2 * turns,
        }
    }

    /// Whether everything was said.
    pub fn is_over(&self) -> bool {
        self.messages.len() as u64 >= self.wanted
    }

    /// What the agent says: 200 characters.
    pub fn agent_says() -> Message {
        Message::assistant("The calendar is free on Tuesday. ".repeat(7).split_off(31))
    }

    /// What a tool answers: 200 characters.
    pub fn tool_says() -> Message {
        Message::tool(
            "call-1",
            "lecture at 8:00 in room B 204;  ".repeat(7).split_off(24),
        )
    }

    /// The agent calls a tool with 3.6 KB of arguments.
    pub fn agent_calls() -> Message {
        let arguments = json!({ "query": "free on Tuesday? ".repeat(211) });
        Message::assistant("").with_tool_calls([ToolCall::new("call-1", "search", arguments)])
    }

    /// The tool returns 36 KB.
    pub fn tool_returns() -> Message {
        Message::tool("call-1", "lecture at 8:00 in room B 204;  ".repeat(1125))
    }
}

impl State for Talk {
    type Update = Message;
    fn apply(&mut self, message: Message) {
        self.messages.push(message);
    }
}

/// Work that is shared out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// How many items there are: 0, 1, 2 and so on.
    pub items: u64,
    /// What came out, in the order of the items.
    pub squares: Vec<u64>,
    /// What the join made of it.
    pub sum: Option<u64>,
}

/// A change of a [`Tally`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TallyUpdate {
    /// The square of one item.
    Square(u64),
    /// The sum of all squares.
    Sum(u64),
}

impl State for Tally {
    type Update = TallyUpdate;
    fn apply(&mut self, update: TallyUpdate) {
        match update {
            TallyUpdate::Square(square) => self.squares.push(square),
            TallyUpdate::Sum(sum) => self.sum = Some(sum),
        }
    }
}

/// Many values under names.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Wide {
    /// The values.
    pub values: HashMap<Arc<str>, u64>,
    /// How many rounds are over.
    pub rounds: u64,
    /// How many rounds there are to be.
    pub wanted: u64,
}

impl Wide {
    /// All values zero.
    pub fn of_rounds(wanted: u64) -> Self {
        let values = (0..WIDE_KEYS).map(|key| (key_name(key), 0)).collect();
        Self {
            values,
            rounds: 0,
            wanted,
        }
    }

    /// The names that the node of this number changes.
    pub fn keys_of(node: u64) -> Vec<Arc<str>> {
        let share = WIDE_KEYS / WIDE_NODES;
        (node * share..(node + 1) * share).map(key_name).collect()
    }

    /// The change that a node makes: each of its values plus one.
    pub fn grown(&self, keys: &[Arc<str>], ends_round: bool) -> WideUpdate {
        let grown = |key: &Arc<str>| (key.clone(), self.values.get(key).map_or(1, |old| old + 1));
        WideUpdate {
            values: keys.iter().map(grown).collect(),
            ends_round,
        }
    }
}

fn key_name(key: u64) -> Arc<str> {
    format!("key-{key:04}").into()
}

/// A change of a [`Wide`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WideUpdate {
    /// The new values.
    pub values: Vec<(Arc<str>, u64)>,
    /// Whether a round is over with it.
    pub ends_round: bool,
}

impl State for Wide {
    type Update = WideUpdate;
    fn apply(&mut self, update: WideUpdate) {
        self.rounds += u64::from(update.ends_round);
        for (key, value) in update.values {
            self.values.insert(key, value);
        }
    }
}

/// Something that a person is to approve.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Approval {
    /// The answer.
    pub approved: Option<bool>,
}

impl State for Approval {
    type Update = bool;
    fn apply(&mut self, approved: bool) {
        self.approved = Some(approved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_has_200_characters() {
        assert_eq!(
            [Talk::agent_says(), Talk::tool_says()].map(|message| message.content.len()),
            [200, 200]
        );
    }

    #[test]
    fn a_tool_call_has_3600_bytes_and_its_result_36000() {
        let calls = Talk::agent_calls().tool_calls;
        let arguments = calls.iter().map(|call| call.arguments.to_string().len());
        assert_eq!(arguments.collect::<Vec<_>>(), [3599]);
        assert_eq!(Talk::tool_returns().content.len(), 36_000);
    }
}
