//! A support case with many fields of lists and maps.
use std::{collections::BTreeMap, sync::Arc};

use fugato_state::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A document that is passed around and never changed.
type Document = Arc<Value>;

/// The state of a support desk: fifteen fields.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ticket {
    /// What was said.
    pub messages: Vec<Document>,
    /// What happened.
    pub events: Vec<Document>,
    /// How the person wrote.
    pub medium: String,
    /// What was answered at once.
    pub autoresponse: Option<Document>,
    /// What it is about.
    pub issue: Option<Document>,
    /// The rules that apply.
    pub rules: Vec<Document>,
    /// What is remembered.
    pub memories: Vec<Document>,
    /// The kinds of things.
    pub categories: Vec<Document>,
    /// What was answered.
    pub responses: Vec<Document>,
    /// Who the person is.
    pub user: Option<Document>,
    /// What sales know of them.
    pub customer: Option<Document>,
    /// The thread of their mail.
    pub mail_thread: String,
    /// Who takes part.
    pub participants: BTreeMap<String, Document>,
    /// Who answers.
    pub bot: String,
    /// Who was told.
    pub notified: BTreeMap<String, Document>,
    /// It goes on until there are more messages than this.
    pub wanted: u64,
}

/// What one node changes of a [`Ticket`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TicketUpdate {
    /// Node one.
    Events(Vec<Document>, String),
    /// Node two.
    Issue(Document),
    /// Node three.
    Rules(Vec<Document>),
    /// Node four.
    Responses(Vec<Document>),
    /// Node five.
    Person(Document),
    /// Node six.
    Messages(Vec<Document>),
}

impl Ticket {
    /// A ticket with one message that goes on until there are more than `wanted`. The more messages
    /// there are to be, the smaller they are: 25, 15 or 9 lists.
    pub fn until(wanted: u64) -> Self {
        let (outer, inner) = match wanted {
            ..450 => (5, 5),
            450..900 => (3, 5),
            _ => (3, 3),
        };
        let facts: Vec<Value> = std::iter::repeat_n(
            [
                json!("hello ".repeat(5)),
                json!(true),
                json!(1),
                json!(6_327_816_386_138_u64),
                json!(null),
            ],
            5,
        )
        .flatten()
        .collect();
        let lists: serde_json::Map<_, _> =
            (0..inner).map(|key| (name(key), json!(facts))).collect();
        let maps: serde_json::Map<_, _> = (0..outer).map(|key| (name(key), json!(lists))).collect();
        Self {
            messages: vec![Arc::new(maps.into())],
            wanted,
            ..Self::default()
        }
    }

    /// Whether there are enough messages.
    pub fn is_over(&self) -> bool {
        self.messages.len() as u64 > self.wanted
    }

    /// How many messages and responses there are in the end.
    pub fn expected(wanted: u64) -> (usize, usize) {
        let (mut messages, mut events, mut responses) = (1, 0, 0);
        while messages as u64 <= wanted {
            events += messages;
            responses += events;
            messages += responses;
        }
        (messages, responses)
    }

    /// Node one reads the messages.
    pub fn one(&self) -> TicketUpdate {
        TicketUpdate::Events(self.messages.clone(), "mail".repeat(6))
    }

    /// Node two reads what happened.
    pub fn two(&self) -> TicketUpdate {
        TicketUpdate::Issue(last(&self.events))
    }

    /// Node three reads what was answered at once.
    pub fn three(&self) -> TicketUpdate {
        TicketUpdate::Rules(self.autoresponse.iter().cloned().collect())
    }

    /// Node four reads what happened.
    pub fn four(&self) -> TicketUpdate {
        TicketUpdate::Responses(self.events.clone())
    }

    /// Node five reads the kinds of things.
    pub fn five(&self) -> TicketUpdate {
        TicketUpdate::Person(last(&self.categories))
    }

    /// Node six reads what was answered.
    pub fn six(&self) -> TicketUpdate {
        TicketUpdate::Messages(self.responses.clone())
    }
}

fn name(key: u8) -> String {
    key.to_string().repeat(10)
}

fn last(documents: &[Document]) -> Document {
    documents.last().cloned().unwrap_or_default()
}

fn merge(map: &mut BTreeMap<String, Document>, document: &Document) {
    let entries = document.as_object().into_iter().flatten();
    map.extend(entries.map(|(key, _)| (key.clone(), document.clone())));
}

impl State for Ticket {
    type Update = TicketUpdate;
    fn apply(&mut self, update: TicketUpdate) {
        match update {
            TicketUpdate::Events(events, medium) => {
                self.events.extend(events);
                self.medium = medium;
            }
            TicketUpdate::Issue(issue) => {
                self.autoresponse = Some(issue.clone());
                self.issue = Some(issue);
            }
            TicketUpdate::Rules(rules) => self.rules = rules,
            TicketUpdate::Responses(responses) => {
                self.memories.clone_from(&responses);
                self.categories.extend_from_slice(&responses);
                self.responses.extend(responses);
            }
            TicketUpdate::Person(person) => {
                merge(&mut self.participants, &person);
                merge(&mut self.notified, &person);
                self.mail_thread = "thread".repeat(4);
                self.bot = "bot".repeat(8);
                self.customer = Some(person.clone());
                self.user = Some(person);
            }
            TicketUpdate::Messages(messages) => self.messages.extend(messages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_counts_are_those_that_are_known() {
        assert_eq!(
            [300, 600, 1200].map(Ticket::expected),
            [(595, 406), (1873, 1278), (1873, 1278)]
        );
    }
}
