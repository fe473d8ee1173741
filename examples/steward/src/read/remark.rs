//! The parts of a request that no field of its form takes: a reason in a part of its own, what is said
//! beside what was paid, and what is left over.
use fugato::{
    form::{Fields, Form, text as text_of},
    words::{after_word, dates, has_any_word},
};
use jiff::civil::Date;

use super::RuleReader;
use crate::{form::FormKind, service::RuleData};

impl RuleReader {
    /// Returns the reason that a text tells in a part of its own, where nothing else tells more than
    /// what was paid.
    pub(super) fn reason(
        &self,
        desk: &RuleData,
        form: &Form<FormKind>,
        text: &str,
        read: &Fields,
        base: Date,
    ) -> Option<String> {
        /// The most characters of what a trip is for.
        const MOST: usize = 30;
        let is_claim = form.name == FormKind::Reimbursement;
        if !is_claim && form.name != FormKind::Application || read.len() < 2 {
            return None;
        }
        let known = text_of(read, "reason");
        let is_open = known.is_empty() || is_claim && form.names_only_choices(known);
        let says_more = |part: &&String| {
            let led = ["for ", "to ", "为", "因为"]
                .iter()
                .any(|word| part.starts_with(word));
            let fits = is_claim || part.chars().count() <= MOST && !self.goes_somewhere(part);
            let is_beside = self.means_receipt(part)
                || self.means_attached(part)
                || self.means_change(part)
                || self.means_unknown(part)
                || self.means_question(part)
                || self.adds(part)
                // What would have an amount worked out is refused as a whole.
                || has_any_word(part, &self.states) && self.reckons(part).is_none()
                || self.is_labelled(form, part)
                || after_word(part.to_lowercase().as_str(), &self.asks_for).is_some()
                || [
                    &self.draft,
                    &self.either,
                    &self.total,
                    &self.submit,
                    &self.wish,
                ]
                .iter()
                .any(|words| has_any_word(part, words))
                || self.form_of(part).is_some()
                || denies(part);
            !led && fits
                && !is_beside
                && !self.says_nothing(part)
                && (is_open || part.contains(known))
        };
        let remarks = desk.facts.remarks(form, text, base);
        remarks.iter().find(says_more).cloned()
    }

    /// Returns true if a part begins with the name of the reason, behind which all of it was read.
    fn is_labelled(&self, form: &Form<FormKind>, part: &str) -> bool {
        let lower = part.trim().to_lowercase();
        form.field("reason").is_some_and(|field| {
            after_word(self.led(&lower), &[field.en.as_str(), field.zh.as_str()]).is_some()
        })
    }

    /// Returns true if a text has only words that say nothing of their own.
    pub(super) fn says_nothing(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let known = || {
            self.plain
                .iter()
                .chain(&self.lead)
                .chain(&self.further)
                .chain(&self.change)
                .chain(&self.either)
        };
        let is_known = |word: &str| known().any(|it| it == word);
        let han = known().filter(|word| !word.is_ascii());
        let left = han.fold(lower.clone(), |left, word| left.replace(word.as_str(), " "));
        let mut words = left
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        words.all(is_known)
    }

    /// Returns true if a part names something beside what stands before it: "and my lunch too".
    fn adds(&self, part: &str) -> bool {
        has_any_word(part, &self.adds)
    }

    /// Returns a claim without the parts behind what was paid that name another thing and no amount of
    /// it, and these parts: "a taxi for 20 euros" and "my lunch too".
    pub(super) fn beside(
        &self,
        desk: &RuleData,
        form: &Form<FormKind>,
        text: &str,
        base: Date,
    ) -> (String, Vec<String>) {
        let (mut claim, mut beside) = (text.to_owned(), vec![]);
        let Some(category) = form.field("category") else {
            return (claim, beside);
        };
        let mut parts = vec![text];
        for mark in &self.and_also {
            let cut = parts.into_iter().flat_map(|it| it.split(mark.as_str()));
            parts = cut.collect();
        }
        let whole = desk.facts.read(form, text, base);
        let is_open = !whole.contains_key("category");
        let mut paid = None;
        for part in parts {
            let Some(means) = category.chosen(part) else {
                continue;
            };
            let has_amount = desk.facts.read(form, part, base).contains_key("amount");
            let adds = self.adds(part);
            let is_other = |paid: &str| adds || is_open && means != paid;
            let undated = dates(part, base, form.toward).rest;
            let is_told = text_of(&whole, "reason").contains(undated.trim());
            match paid {
                None if has_amount => paid = Some(means),
                Some(paid) if is_other(paid) && !has_amount && !is_told => {
                    if let Some(at) = claim.rfind(part) {
                        claim.replace_range(at..at + part.len(), "");
                    }
                    beside.push(part.trim().to_owned());
                }
                _ => {}
            }
        }
        (claim, beside)
    }

    /// Returns the parts of a text that say something of which no field has anything: 不住酒店.
    pub(super) fn left_over(
        &self,
        desk: &RuleData,
        form: &Form<FormKind>,
        text: &str,
        read: &Fields,
        base: Date,
    ) -> Vec<String> {
        let is_known = |part: &String| {
            let mut told = read.values().filter_map(|value| value.as_str());
            let reads = |known: &str| known.contains(part.as_str()) || part.contains(known);
            let is_beside = self.means_receipt(part)
                || self.means_attached(part)
                || [&self.draft, &self.submit, &self.either]
                    .iter()
                    .any(|words| has_any_word(part, words));
            // What asks something is no part of what is asked for.
            let asks = self.begins_question(led(part));
            told.any(reads)
                || is_beside
                || self.says_nothing(part)
                || !denies(part) && !asks && desk.unknown_words(part, read, base) == 0
        };
        let mut parts = desk.facts.remarks(form, text, base);
        parts.retain(|part| !is_known(part));
        parts.iter().map(|part| led(part).to_owned()).collect()
    }
}

/// Returns a part of a text without the word that joins it.
fn led(part: &str) -> &str {
    after_word(part, &["and", "but"]).unwrap_or(part).trim()
}

/// Returns true if a part of a text leaves something out.
fn denies(part: &str) -> bool {
    has_any_word(part, &["no", "not", "without"]) || part.contains(['不', '没', '别', '无'])
}
