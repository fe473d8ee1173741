//! The meaning of short parts of a request.
use fugato::words::{after_word, currency, has_any_word, is_question};

use super::{RuleReader, SHORT, document_ids};
use crate::ledger::DocumentStatus;

impl RuleReader {
    /// Returns the names of the fields that a text names, those with the longest words first.
    pub(crate) fn called(&self, text: &str) -> impl Iterator<Item = &str> {
        let named = self.called.iter().filter_map(|(field, words)| {
            let words = words
                .iter()
                .filter(|word| has_any_word(text, &[word.as_str()]));
            let longest = words.map(|word| word.chars().count()).max()?;
            Some((longest, field.as_str()))
        });
        let mut named: Vec<_> = named.collect();
        named.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        named.into_iter().map(|(_, field)| field)
    }

    /// Returns the status of the documents that a text asks for.
    pub(crate) fn status_in(&self, text: &str) -> Option<DocumentStatus> {
        let all = [
            (&self.drafts, DocumentStatus::Draft),
            (&self.submitted, DocumentStatus::Submitted),
            (&self.withdrawn, DocumentStatus::Withdrawn),
        ];
        let mut named = all
            .into_iter()
            .filter(|(words, _)| has_any_word(text, words));
        named.next().map(|(_, status)| status)
    }

    /// Returns true if a text asks what is missing.
    pub(crate) fn means_missing(&self, text: &str) -> bool {
        has_any_word(text, &self.missing)
    }

    /// Returns true if a text makes a period longer or shorter.
    pub(crate) fn means_shift(&self, text: &str) -> bool {
        has_any_word(text, &self.shifts)
    }

    /// Returns true if a text speaks of the files of a claim.
    pub(crate) fn means_receipt(&self, text: &str) -> bool {
        has_any_word(text, &self.receipt)
    }

    /// Returns the currency that a text is, and nothing else: "in yuan", 是美元.
    pub(crate) fn currency_alone(&self, text: &str) -> Option<&'static str> {
        let said = text.to_lowercase();
        let said = self.led(said.trim().trim_end_matches(['.', '。', '!', '！']));
        let said = after_word(said, &self.in_currency).unwrap_or(said).trim();
        let said = said
            .strip_suffix("please")
            .unwrap_or(said)
            .trim_end_matches([',', ' ']);
        let is_word = said.chars().count() <= 7 && !said.contains(char::is_whitespace);
        currency(said).filter(|_| is_word && !said.contains(|c: char| c.is_ascii_digit()))
    }

    /// Returns true if a text speaks of what was spent or claimed.
    pub(crate) fn means_spent(&self, text: &str) -> bool {
        has_any_word(text, &self.spent)
    }

    /// Returns true if a short text leaves the current task.
    pub fn means_drop(&self, text: &str) -> bool {
        text.chars().count() <= SHORT && has_any_word(text, &self.drop)
    }

    /// Returns true if a text tells when a trip begins.
    pub(crate) fn means_departure(&self, text: &str) -> bool {
        has_any_word(text, &self.departs)
    }

    /// Returns true if a text asks something, and does not ask kindly for something to be done.
    pub(crate) fn means_question(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let wish = self.led(&lower);
        let is_led =
            wish.len() < lower.trim_start().len() && after_word(wish, &self.wish).is_some();
        let is_kind = after_word(lower.trim_start(), &self.kindly).is_some()
            && has_any_word(&lower, &self.wish);
        let asks = has_any_word(text, &self.asks);
        !is_led && (asks || is_question(text) && !is_kind)
    }

    /// Returns true if a text goes somewhere.
    pub(crate) fn goes_somewhere(&self, text: &str) -> bool {
        has_any_word(text, &self.goes)
    }

    /// Returns true if a text begins as a question.
    pub(crate) fn begins_question(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let plain = text.trim_end_matches(|c: char| !c.is_alphanumeric());
        is_question(plain) || after_word(lower.trim_start(), &self.asks).is_some()
    }

    /// Returns true if a text changes what there is, and wants nothing further.
    pub fn means_change(&self, text: &str) -> bool {
        has_any_word(text, &self.change)
    }

    /// Returns true if a text says that it wants something further.
    pub fn means_further(&self, text: &str) -> bool {
        has_any_word(text, &self.further)
    }

    /// Returns true if a text speaks of its attachments and names none.
    pub(crate) fn means_attached(&self, text: &str) -> bool {
        has_any_word(text, &self.attached)
    }

    /// Returns true if the words ask for the next task and say nothing else.
    pub fn means_next(&self, text: &str) -> bool {
        let said = text.trim().trim_end_matches(['。', '.', '!', '！']);
        let said = said.to_lowercase();
        self.next.contains(&said)
    }

    /// Returns true if a text begins with one of these verbs, and with what is done to it: neither with
    /// the number of a document nor with nothing.
    pub(super) fn begins_with(&self, text: &str, verbs: &[String]) -> bool {
        let text = text.to_lowercase();
        let object = after_word(self.led(&text), verbs).map(str::trim_start);
        object.is_some_and(|object| !object.is_empty() && document_ids(object).is_empty())
    }

    /// Returns a text in lower case without what may stand before its verb.
    pub(super) fn led<'t>(&self, text: &'t str) -> &'t str {
        let mut rest = text.trim_start();
        while let Some(behind) = after_word(rest, &self.lead) {
            rest = behind.trim_start();
        }
        rest
    }
}
