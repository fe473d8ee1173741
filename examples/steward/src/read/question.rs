//! Questions about documents, and wishes that a message has beside one.
use fugato::words::{
    Phrases, after_word, before_word, day_mentions, has_any_word, is_chinese, is_question,
    is_wanted, money, money_in, month,
};

use super::{DocumentQuestion, PartWish, RuleReader, SHORT, document_ids, exchanged};
use crate::form::FormKind;

/// Returns true if a text has one of these words, and denies each of them.
pub(super) fn denies(text: &str, verbs: &[String]) -> bool {
    has_any_word(text, verbs) && !is_wanted(text, verbs)
}

impl RuleReader {
    /// Returns the question about documents that a text is, if it is no request; see
    /// `RuleData::document_question`.
    pub(crate) fn question(&self, text: &str) -> Option<DocumentQuestion> {
        if has_any_word(text, &self.approver) {
            return Some(DocumentQuestion::Approver);
        }
        let is_named = !document_ids(text).is_empty();
        // What is restored on a trip is no document.
        let is_short = text.chars().count() <= 2 * SHORT;
        if has_any_word(text, &self.restore) && (is_short || is_named) {
            if self.asks_of_deed(text, &self.restore) {
                return Some(DocumentQuestion::Ways);
            }
            return Some(DocumentQuestion::Restore);
        }
        // "Cancel the Shanghai trip", and no trip with its days.
        let plain = !text.contains(|c: char| c.is_ascii_digit());
        let names_form = || {
            let brief = text.chars().count() <= 3 * SHORT + 4;
            brief && plain && self.form_of(text).is_some()
        };
        let is_draft = || plain && has_any_word(text, &self.drafts);
        let takes_back =
            has_any_word(text, &self.take_back) && (is_named || names_form() || is_draft());
        if takes_back || has_any_word(text, &self.withdraw) {
            if self.asks_of_deed(text, &self.withdraw) {
                return Some(DocumentQuestion::Ways);
            }
            return Some(DocumentQuestion::Withdraw);
        }
        if let Some(wish) = self.saved_wish(text, is_named) {
            return Some(wish);
        }
        // "Can you submit trips?" names none.
        let asks = is_question(text) && !text.contains(|c: char| c.is_ascii_digit());
        let is_of_form = is_named || self.form_of(text).is_some();
        if is_of_form
            && has_any_word(text, &self.submit)
            && (asks || self.asks_of_deed(text, &self.submit))
        {
            return Some(DocumentQuestion::Ways);
        }
        let how_much = has_any_word(text, &self.how_much) && !self.asks_bound(text);
        let sums = has_any_word(text, &self.total);
        // What one of them costs is on it: 北京那个花多少钱.
        if how_much && !sums && has_any_word(text, &self.one_of) {
            return Some(DocumentQuestion::List);
        }
        // What was not claimed is in no document.
        if (sums || how_much) && self.means_spent(text) && !denies(text, &self.spent) {
            return Some(DocumentQuestion::Total);
        }
        if let Some(form) = self.form_of(text).filter(|_| how_much) {
            // What one trip costs is on it.
            let several = sums || has_any_word(text, &self.several);
            let one = form == FormKind::Application && !several;
            return Some(if one {
                DocumentQuestion::List
            } else {
                DocumentQuestion::Total
            });
        }
        let finds = || has_any_word(text, &self.find) || self.means_question(text);
        let owns = || {
            let documents = self.kind.iter().flat_map(|kind| &kind.documents);
            let is_theirs = has_any_word(text, &self.saved)
                && self.means_whether(text)
                && self.form_of(text).is_some();
            let named = is_theirs || has_any_word(text, &documents.collect::<Vec<_>>());
            self.means_question(text) && named
        };
        let which = has_any_word(text, &self.list) || self.asks_which(text);
        let lists = which || is_named && finds() || owns() || self.is_name(text);
        lists.then_some(DocumentQuestion::List)
    }

    /// Returns true if a text asks which of one's documents are such: 我哪些报销超过五十块.
    pub(crate) fn asks_which(&self, text: &str) -> bool {
        let which = ["which of my", "哪些", "哪几", "哪张", "哪份", "哪笔"];
        let own = ["my", "i", "我"];
        has_any_word(text, &which) && has_any_word(text, &own) && self.form_of(text).is_some()
    }

    /// Returns true if a text asks about one of these deeds and does not ask for it: "can I withdraw
    /// it?", but no "can you withdraw it?".
    pub(super) fn asks_of_deed(&self, text: &str, verbs: &[String]) -> bool {
        let lower = text.trim_start().to_lowercase();
        let may =
            self.asks_leave(text) || !is_chinese(text) && after_word(&lower, &self.may).is_some();
        let begins = after_word(self.led(&lower), verbs).is_some();
        may || self.means_question(text) && (!begins || has_any_word(text, &self.asks))
    }

    /// Returns true if a text asks whether something may be done.
    pub(crate) fn asks_leave(&self, text: &str) -> bool {
        let lower = text.trim_start().to_lowercase();
        let may = after_word(&lower, &self.may).is_some();
        may && is_question(text) && !(is_chinese(text) && has_any_word(text, &self.favour))
    }

    /// Returns true if a text asks for a bound of what may be claimed.
    pub(crate) fn asks_bound(&self, text: &str) -> bool {
        self.means_question(text) && has_any_word(text, &self.bounds)
    }

    /// Returns true if a text puts something that it names under a category: "file the taxi under
    /// travel".
    pub(crate) fn files_under(&self, text: &str) -> bool {
        const IT: [&str; 7] = ["it", "this", "that", "them", "它", "这", "那"];
        let lower = text.to_lowercase();
        let led = self.led(&lower);
        let thing = after_word(led, &self.files).or_else(|| is_chinese(led).then_some(led));
        let is_named = thing.is_some_and(|thing| after_word(thing.trim_start(), &IT).is_none());
        let plain = !lower.contains(|c: char| c.is_ascii_digit());
        plain && is_named && has_any_word(&lower, &self.under)
    }

    /// Returns true if a text says that there shall be no trip: "I don't need to go to Berlin".
    pub(crate) fn denies_trip(&self, text: &str) -> bool {
        // What is not to be handed in may still be written down.
        let wish = self.wish.iter().filter(|verb| !self.submit.contains(verb));
        let mut kinds = self.kind.iter();
        let hands_in = has_any_word(text, &self.submit);
        let trip = kinds.find(|kind| kind.form == FormKind::Application && !hands_in);
        let trip = trip.into_iter().flat_map(|kind| &kind.words);
        let words: Vec<_> = wish.chain(&self.goes).chain(trip).cloned().collect();
        denies(text, &words) && !has_any_word(text, &["forget", "忘"])
    }

    /// Returns what a text says shall not be done, or was not: that a document is withdrawn, restored or
    /// handed in.
    pub(crate) fn denied(&self, text: &str) -> Option<DocumentQuestion> {
        let is_named = !document_ids(text).is_empty();
        let is_of_form = || is_named || self.form_of(text).is_some();
        let is_denied = |verbs: &[String]| denies(text, verbs);
        if is_denied(&self.withdraw) || is_of_form() && is_denied(&self.take_back) {
            return Some(DocumentQuestion::Withdraw);
        }
        if is_denied(&self.restore) {
            return Some(DocumentQuestion::Restore);
        }
        (is_named && is_denied(&self.submit)).then_some(DocumentQuestion::Submit)
    }

    /// Returns the parts of a text that each want something else, in words without what stands before
    /// their verbs; none if it wants one thing, or several forms.
    pub(crate) fn several_wishes<'t>(&self, text: &'t str) -> Vec<&'t str> {
        use DocumentQuestion::{Revise, Submit};
        let mut parts = vec![text];
        for mark in self.wish_ends.iter().chain(&self.breaks) {
            parts = parts
                .into_iter()
                .flat_map(|part| part.split(mark))
                .collect();
        }
        let wish = |part: &'t str| {
            let lower = part.to_ascii_lowercase();
            let said = part.get(part.len() - self.led(&lower).len()..)?.trim();
            Some((self.wish_of(&said.to_lowercase())?, said))
        };
        let wishes: Vec<_> = parts.into_iter().filter_map(wish).collect();
        let deed = |(wish, _): &(PartWish, &str)| match wish {
            PartWish::Document(deed) => Some(*deed),
            PartWish::Form => None,
        };
        let mut deeds: Vec<_> = wishes.iter().filter_map(deed).collect();
        deeds.dedup();
        let is_form = wishes.iter().any(|it| deed(it).is_none());
        let is_one = match deeds.as_slice() {
            [] => true,
            // A form is handed in, or changed, where no document is named.
            [Submit | Revise] if document_ids(text).is_empty() => true,
            [_] => !is_form,
            _ => false,
        };
        if is_one {
            return vec![];
        }
        wishes.into_iter().map(|(_, said)| said).collect()
    }

    /// Returns what a part of a text in lower case wants: something of a document, or a form.
    pub(super) fn wish_of(&self, said: &str) -> Option<PartWish> {
        use DocumentQuestion::{Restore, Revise, Submit, Total, Withdraw};
        let begins = |verbs: &[String]| after_word(said, verbs).is_some();
        // 把A-1撤回, but no reason in which the word stands: 恢复系统.
        let ends = |verbs: &[String]| verbs.iter().any(|verb| said.ends_with(verb.as_str()));
        let wants = |verbs: &[String]| begins(verbs) || is_chinese(said) && ends(verbs);
        let changes = begins(&self.revise) || is_chinese(said) && is_wanted(said, &self.revise);
        let asks = self.means_question(said);
        let sums = has_any_word(said, &self.how_much) || has_any_word(said, &self.total);
        let deeds = [
            (asks && sums, Total),
            (begins(&self.take_back) || wants(&self.withdraw), Withdraw),
            (wants(&self.restore), Restore),
            (wants(&self.submit), Submit),
            (changes, Revise),
        ];
        let deed = deeds.into_iter().find(|(is_wanted, _)| *is_wanted);
        let mut kinds = self.kind.iter();
        let mut form = || kinds.any(|kind| begins(&kind.begins) || begins(&kind.words));
        match deed {
            Some((_, deed)) => Some(PartWish::Document(deed)),
            None => form().then_some(PartWish::Form),
        }
    }

    /// Returns the words that would have an amount worked out: "20 each", 每晚320, "200 more".
    pub(crate) fn reckons<'t>(&'t self, text: &'t str) -> Option<&'t str> {
        let lower = text.to_lowercase();
        let mut words = self.reckons.iter().map(String::as_str);
        let found = words.find(|word| has_any_word(&lower, &[word]));
        found.or_else(|| {
            let mut clauses = text.split([',', '，', ';', '.', '!', '\n']);
            clauses.find_map(|clause| {
                let said = clause.trim();
                let before = before_word(said, &self.by_so_much)?;
                let mut starts = before.char_indices().map(|(at, _)| at);
                starts.find_map(|at| {
                    let begins = before.get(..at)?.ends_with(char::is_whitespace);
                    let is_amount = begins && money(before.get(at..)?).is_some();
                    is_amount.then(|| said.get(at..)).flatten()
                })
            })
        })
    }

    /// Returns the amount that a text puts in the place of another, and says nothing else, with the other
    /// one where it is named: "make it 54", "no, 54", "it was 54, not 45".
    pub(crate) fn amount_alone(&self, text: &str) -> Option<(Option<i64>, i64)> {
        let phrases = Phrases::default();
        let declined = phrases.decline_reason(text);
        let text = declined.unwrap_or(text);
        let lower = text.to_lowercase();
        let ends = ['.', '。', '!', '！', '了', '块', ' '];
        let said = self.led(lower.trim().trim_end_matches(ends));
        if let Some((old, new)) = exchanged(said) {
            let leads = [
                " was ", " is ", " be ", "'s ", " it ", ", ", "是", "为", "花了", "，",
            ];
            let behind = |lead: &str| new.rfind(lead).and_then(|at| new.get(at + lead.len()..));
            let told = leads.into_iter().filter_map(behind);
            let new = told.chain([new]).find_map(|told| money(told.trim()));
            return Some((Some(money(old)?), new?));
        }
        let told = after_word(said, &self.in_currency).or(declined.map(|_| said));
        Some((None, money(told?.trim())?))
    }

    /// Returns true if a text says that somebody does not know.
    pub(crate) fn means_unknown(&self, text: &str) -> bool {
        has_any_word(text, &self.unknown)
    }

    /// Returns true if a text tells of a claim that was made.
    pub(crate) fn means_done(&self, text: &str) -> bool {
        has_any_word(text, &self.done)
    }

    /// Returns the sum that a text names for all that it tells, with its words: "80 in all", 一共800.
    pub(crate) fn sum_said<'t>(&self, text: &'t str) -> Option<(&'t str, i64)> {
        let labels: Vec<&str> = self.total.iter().map(String::as_str).collect();
        let mut parts = text.split([',', '，', '。', ';', '；', '、', '!', '！', '\n']);
        parts.find_map(|part| {
            if !has_any_word(part, &self.total) {
                return None;
            }
            let lower = part.to_lowercase();
            let bare = labels
                .iter()
                .fold(lower, |bare, word| bare.replace(word, " "));
            let bare = bare.trim_matches(|c: char| !c.is_numeric() && !"$€£¥￥元块".contains(c));
            let sum = money(bare).or_else(|| money_in(part, &labels))?;
            Some((part.trim(), sum))
        })
    }

    /// Returns what a text leaves out of a sum or a list.
    pub(crate) fn left_out<'t>(&self, text: &'t str) -> Option<&'t str> {
        let lower = text.to_ascii_lowercase();
        let at = self.without.iter().find_map(|word| lower.find(word))?;
        let words = text.get(at..)?;
        Some(words.trim_end_matches(|c: char| !c.is_alphanumeric()))
    }

    /// Returns true if a text asks how something stands.
    pub(super) fn means_whether(&self, text: &str) -> bool {
        let lower = text.trim_start().to_lowercase();
        let begins = after_word(&lower, &self.whether).is_some();
        begins || is_chinese(text) && has_any_word(text, &self.whether)
    }

    /// Returns the person whose documents a text is about, if that is somebody else.
    pub(crate) fn somebody_else<'t>(&self, text: &'t str) -> Option<&'t str> {
        let name = self.others.iter().find_map(|other| other.first(text))?;
        let lower = name.to_lowercase();
        let is_time = !day_mentions(&lower).is_empty() || month(&lower).is_some();
        let is_own = ["我", "你", "您", "这", "那", "自己"]
            .iter()
            .any(|own| name.contains(own));
        (!is_time && !is_own).then_some(name)
    }

    /// Returns true if a text is the name of one's documents, and says nothing of them.
    pub(super) fn is_name(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        // 我的报销 asks for what there is.
        let owns = lower.contains("我的");
        let words = self.kind.iter().filter(|_| owns);
        let words = words.flat_map(|kind| kind.words.iter().filter(|word| !word.is_ascii()));
        let documents = self
            .kind
            .iter()
            .flat_map(|kind| &kind.documents)
            .chain(words);
        let without = |text: String, word: &String| text.replace(word.as_str(), " ");
        let rest = documents.fold(lower.clone(), without);
        let is_named = rest.len() != lower.len() || rest != lower;
        let rest = self.saved.iter().fold(rest, without);
        is_named && !rest.contains(char::is_alphanumeric)
    }

    /// Returns what a text does with a document that is saved: hands it in, changes it, or makes
    /// another one like it.
    pub(super) fn saved_wish(&self, text: &str, is_named: bool) -> Option<DocumentQuestion> {
        if self.means_question(text) {
            return None;
        }
        let lower = text.to_lowercase();
        let object = |verbs: &[String]| {
            let is_done = is_wanted(&lower, verbs) && is_chinese(text);
            is_done || after_word(self.led(&lower), verbs).is_some() && is_wanted(&lower, verbs)
        };
        let is_it = has_any_word(&lower, &self.it);
        let is_form = self.form_of(&lower).is_some();
        let is_saved = is_named || is_it || is_form && has_any_word(&lower, &self.saved);
        if object(&self.submit) && is_saved {
            return Some(DocumentQuestion::Submit);
        }
        if object(&self.copy) && (is_saved || is_form) {
            return Some(DocumentQuestion::Copy);
        }
        let is_field = || {
            let parts = self.change_parts(&lower).into_iter();
            let mut parts = parts.filter(|(_, value)| value.is_some());
            parts.any(|(selects, _)| self.called(selects).next().is_some())
        };
        let revises = object(&self.revise) && (is_saved || is_form || is_field());
        revises.then_some(DocumentQuestion::Revise)
    }

    /// Returns the parts of a text that changes a document: each tells which document and field, and
    /// what it becomes, if that is said.
    pub(crate) fn change_parts<'t>(&self, text: &'t str) -> Vec<(&'t str, Option<&'t str>)> {
        // Lower case by ASCII keeps the byte positions.
        let behind = self.led(&text.to_ascii_lowercase()).len();
        let mut parts = vec![text.get(text.len() - behind..).unwrap_or(text)];
        for at in &self.changes {
            let cut = parts.into_iter().flat_map(|part| part.split(at.as_str()));
            parts = cut.collect();
        }
        let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
        let part = |part: &'t str| {
            let lower = part.to_ascii_lowercase();
            let mut marks = self.becomes.iter();
            let found = marks.find_map(|mark| {
                let at = lower.rfind(mark.as_str())?;
                Some((part.get(..at)?, part.get(at + mark.len()..)?))
            });
            // 修改A-7的预算为650: this is no mark without such a verb.
            let found = found.or_else(|| {
                let verb = ["修改", "更改", "调整"];
                part.rsplit_once('为').filter(|_| has_any_word(part, &verb))
            });
            match found {
                Some((selects, value)) if !value.trim().is_empty() => (selects, Some(value)),
                _ => (part, None),
            }
        };
        parts.map(part).collect()
    }
}
