//! The cards that were shown, the consents to them, and the check of writes against both.
use std::collections::{BTreeMap, BTreeSet};

use fugato_state::InterruptId;
use serde_json::Value;

use super::cards::{Card, ShownCard, has_word};

/// The cards of a case and the consents to them.
#[derive(Debug, Default)]
pub(super) struct Book {
    cards: BTreeMap<String, Card>,
    /// In the order in which they were shown.
    delivered: Vec<(String, String)>,
    owners: BTreeMap<String, String>,
    consented: BTreeSet<String>,
    /// The words of the callers.
    heard: BTreeSet<String>,
}

impl Book {
    /// Notes that a caller was shown a card.
    pub(super) fn deliver(
        &mut self,
        (caller, thread): (&str, &str),
        (id, digest, content): ShownCard,
    ) -> Result<(), String> {
        let card = Card {
            id: id.clone(),
            thread: thread.to_owned(),
            digest,
            content,
        };
        let known = self.cards.entry(id.clone()).or_insert_with(|| card.clone());
        if known.content != card.content {
            let (one, two) = (&known.content, &card.content);
            return Err(format!(
                "card {id} asked about {one}, and asks about {two} now"
            ));
        }
        if known.digest.is_none() {
            known.digest = card.digest;
        }
        self.owners
            .entry(id.clone())
            .or_insert_with(|| caller.to_owned());
        if !self.is_delivered(caller, &id) {
            self.delivered.push((caller.to_owned(), id));
        }
        Ok(())
    }

    fn is_delivered(&self, caller: &str, id: &str) -> bool {
        let mut delivered = self.delivered.iter();
        delivered.any(|(to, card)| to == caller && card == id)
    }

    /// The cards that this caller was shown, oldest first.
    pub(super) fn of(&self, caller: &str) -> Vec<&Card> {
        let own = self.delivered.iter().filter(|(to, _)| to == caller);
        own.filter_map(|(_, id)| self.cards.get(id)).collect()
    }

    /// Returns true if a caller who names a card in a request to a thread can agree to it.
    pub(super) fn may_agree(
        &self,
        (caller, thread): (&str, &str),
        id: &str,
        separates: bool,
    ) -> bool {
        let belongs = self.cards.get(id).is_some_and(|it| it.thread == thread);
        let is_theirs = !separates || self.owners.get(id).is_some_and(|owner| owner == caller);
        belongs && is_theirs && self.is_delivered(caller, id)
    }

    /// Notes what a caller says.
    pub(super) fn record_words<'a>(&mut self, words: impl Iterator<Item = &'a String>) {
        self.heard.extend(words.cloned());
    }

    /// Returns the code of a card of this thread that a response names and does not show, and that
    /// nobody has said.
    pub(super) fn told_without_a_card(
        &self,
        thread: &str,
        body: &str,
        shown: &[ShownCard],
    ) -> Option<String> {
        // A shown card may have the code of another one, too.
        let codes = shown.iter().map(|(id, ..)| InterruptId::from(id.as_str()));
        let codes: Vec<String> = codes.map(|id| id.code()).collect();
        let here = self.cards.values().filter(|it| it.thread == thread);
        let hidden = here.map(Card::code).filter(|code| !codes.contains(code));
        let told = hidden.filter(|code| has_word(body, code));
        let mut unheard = told.filter(|code| self.heard.iter().all(|words| !has_word(words, code)));
        unheard.next()
    }

    pub(super) fn is_agreed(&self, id: &str) -> bool {
        self.consented.contains(id)
    }

    /// Notes a consent.
    pub(super) fn consent(&mut self, id: &str) {
        self.consented.insert(id.to_owned());
    }

    pub(super) fn cards(&self) -> usize {
        self.cards.len()
    }

    pub(super) fn consents(&self) -> usize {
        self.consented.len()
    }

    /// Checks that each write has a consent of its own.
    pub(super) fn check(&self, writes: &[Value], standing: &[Value]) -> Result<(), String> {
        let consented = self.consented.iter().filter_map(|id| self.cards.get(id));
        let agreed: Vec<&Value> = consented.map(|it| &it.content).chain(standing).collect();
        let count = |of: &[&Value], content: &Value| of.iter().filter(|it| **it == content).count();
        let written: Vec<&Value> = writes.iter().collect();
        for content in writes {
            let (times, consents) = (count(&written, content), count(&agreed, content));
            if times > consents {
                return Err(format!(
                    "{content} was written {times} times under {consents} consents"
                ));
            }
        }
        Ok(())
    }
}
