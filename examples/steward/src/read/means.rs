//! The meaning of short parts of a request.
use fugato::words::{
    Phrases, after_word, currency, decided, has_any_word, is_left_out, is_question,
};

use super::{RuleReader, SHORT, document_ids};
use crate::{files, ledger::DocumentStatus};

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
        // "Yes, but in euros".
        let said = decided(text).map_or_else(|| text.to_owned(), |(_, rest)| rest);
        let said = said.to_lowercase();
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

    /// Returns a text without the clauses that only hand in what there is: when that is to be done is no
    /// day of a form.
    pub(crate) fn without_submission(&self, text: &str) -> String {
        const BREAKS: [&str; 10] = [
            ", ", "; ", ". ", "，", "；", "。", "\n", " and ", " but ", " then ",
        ];
        let mut clauses = vec![text];
        for mark in BREAKS {
            clauses = clauses.iter().flat_map(|it| it.split(mark)).collect();
        }
        if !clauses.iter().any(|clause| self.hands_in(clause)) {
            return text.to_owned();
        }
        clauses.retain(|clause| !self.hands_in(clause));
        clauses.join("\n")
    }

    /// Returns true if a clause only hands in what there is: "submit it tomorrow", 明天再提交.
    fn hands_in(&self, clause: &str) -> bool {
        const BEHIND: [&str; 34] = [
            "it",
            "that",
            "this",
            "them",
            "all",
            "everything",
            "now",
            "later",
            "the trip",
            "the application",
            "the claim",
            "the form",
            "the draft",
            "my trip",
            "my claim",
            "my application",
            "on",
            "before",
            "after",
            "by",
            "today",
            "tomorrow",
            "next",
            "please",
            "吧",
            "了",
            "它",
            "这",
            "那",
            "申请",
            "报销",
            "单",
            "出差",
            "上去",
        ];
        let lower = clause.to_lowercase();
        let lower = lower
            .trim()
            .trim_end_matches(['.', '!', '?', '。', '！', '？']);
        let verbs = self
            .submit
            .iter()
            .flat_map(|verb| lower.match_indices(verb.as_str()));
        let mut behind = verbs.filter_map(|(at, verb)| lower.get(at + verb.len()..));
        let is_own = behind.any(|rest| {
            let rest = rest.trim_start();
            rest.is_empty() || after_word(rest, &BEHIND).is_some()
        });
        is_own
            || has_any_word(
                lower,
                &["send it", "send this", "hand it in", "hand this in"],
            )
    }

    /// Returns true if a text asks for what there is: it names nothing of a form.
    pub(crate) fn asks_for_documents(&self, text: &str) -> bool {
        const WHICH: [&str; 12] = [
            "which", "what", "how many", "how much", "who", "when", "哪些", "哪几", "哪笔", "多少",
            "几笔", "谁",
        ];
        let lower = text.to_lowercase();
        let asks = self.means_question(text) && has_any_word(&lower, &WHICH);
        let finds = || after_word(lower.trim_start(), &["find", "show", "look up", "找", "查"]);
        asks || finds().is_some()
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

    /// Returns true if a text would add to an amount that there is: "add 5 EUR tip".
    pub(crate) fn sums_up(&self, text: &str) -> bool {
        let said = decided(text).map_or_else(|| text.to_owned(), |(_, rest)| rest);
        let lower = said.to_lowercase();
        after_word(self.led(&lower), &self.sums_up).is_some()
    }

    /// Returns true if a text names a file and takes it off: "without a.pdf", 不要a.pdf, "take a.pdf off".
    pub(crate) fn takes_off(&self, text: &str, file: &str) -> bool {
        let lower = text.to_lowercase();
        let Some((before, behind)) = lower.split_once(&file.to_lowercase()) else {
            return false;
        };
        let clause = before
            .rsplit([',', '，', ';', '；'])
            .next()
            .unwrap_or(before);
        let takes = has_any_word(clause, &self.takes_off) || is_left_out(text, file);
        let is_taken = !has_any_word(clause, &["take"]) || has_any_word(behind, &self.off);
        files::is_named(text, file)
            && (takes && is_taken || after_word(behind.trim_start(), &self.off).is_some())
    }

    /// Returns those of a claim's files that a text leaves it: all but those that it takes off, or only
    /// those that it names; none if it leaves all.
    pub(crate) fn files_left<'f>(&self, text: &str, files: &[&'f str]) -> Option<Vec<&'f str>> {
        let off = |file: &str| self.takes_off(text, file);
        let stays = |file: &str| files::is_named(text, file) && !off(file);
        let only = has_any_word(text, &self.only) && files.iter().any(|file| stays(file));
        let is_left = |file: &&&str| if only { stays(file) } else { !off(file) };
        let left: Vec<_> = files.iter().filter(is_left).copied().collect();
        (left.len() < files.len()).then_some(left)
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

    /// Returns what something is said to be: "no, it was dinner" is about dinner.
    pub(crate) fn becoming<'t>(&self, text: &'t str) -> &'t str {
        let told = Phrases::default().decline_reason(text).unwrap_or(text);
        // Lower case by ASCII keeps the byte positions.
        let lower = told.to_ascii_lowercase();
        let rest = after_word(self.led(&lower), &self.in_currency);
        let rest = rest.and_then(|rest| told.get(told.len() - rest.len()..));
        rest.unwrap_or(told).trim()
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
