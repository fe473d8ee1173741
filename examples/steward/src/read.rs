//! The clauses of a request as rules read them, each with a form and a goal. The words are in
//! `words.toml`.
use std::collections::BTreeMap;

use fugato::{
    form::{Fields, Form, text as text_of},
    words::{
        Phrases, after_word, before_word, clauses, currency, dates, has_any_word, is_chinese,
        is_question, is_wanted, money,
    },
};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::{form::FormKind, ledger::DocumentStatus, service::RuleData};

/// Reads requests by rule.
#[derive(Debug, Deserialize)]
pub struct RuleReader {
    draft: Vec<String>,
    next: Vec<String>,
    either: Vec<String>,
    estimate: Vec<String>,
    breaks: Vec<String>,
    change: Vec<String>,
    further: Vec<String>,
    list: Vec<String>,
    withdraw: Vec<String>,
    find: Vec<String>,
    take_back: Vec<String>,
    restore: Vec<String>,
    submit: Vec<String>,
    revise: Vec<String>,
    shifts: Vec<String>,
    one_of: Vec<String>,
    copy: Vec<String>,
    saved: Vec<String>,
    it: Vec<String>,
    becomes: Vec<String>,
    changes: Vec<String>,
    total: Vec<String>,
    how_much: Vec<String>,
    missing: Vec<String>,
    in_currency: Vec<String>,
    several: Vec<String>,
    spent: Vec<String>,
    drafts: Vec<String>,
    submitted: Vec<String>,
    withdrawn: Vec<String>,
    /// The names of fields where a saved document is changed.
    called: BTreeMap<String, Vec<String>>,
    approver: Vec<String>,
    drop: Vec<String>,
    asks: Vec<String>,
    whether: Vec<String>,
    may: Vec<String>,
    favour: Vec<String>,
    wish_ends: Vec<String>,
    reckons: Vec<String>,
    by_so_much: Vec<String>,
    of_all: Vec<String>,
    unknown: Vec<String>,
    done: Vec<String>,
    without: Vec<String>,
    plain: Vec<String>,
    receipt: Vec<String>,
    wish: Vec<String>,
    kindly: Vec<String>,
    goes: Vec<String>,
    and_also: Vec<String>,
    departs: Vec<String>,
    attached: Vec<String>,
    lead: Vec<String>,
    kind: Vec<Kind>,
}

/// A question about documents that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentQuestion {
    /// The documents are asked for.
    List,
    /// A document shall be withdrawn.
    Withdraw,
    /// A withdrawn document shall be a draft again.
    Restore,
    /// A draft shall be handed in.
    Submit,
    /// A draft shall say something else.
    Revise,
    /// Another document like one that there is shall be written.
    Copy,
    /// The sum of what is claimed or planned is asked for.
    Total,
    /// The approver is asked for.
    Approver,
    /// The ways to hand in, withdraw and restore documents are asked for, or how one stands.
    Ways,
}

impl DocumentQuestion {
    /// Returns true if it does something with a document, and not only asks.
    pub(crate) fn begins_task(self) -> bool {
        !matches!(self, Self::List | Self::Total | Self::Approver | Self::Ways)
    }
}

/// The wish of a part of a text.
enum PartWish {
    /// Something of a document.
    Document(DocumentQuestion),
    /// A form.
    Form,
}

/// The words for a form in requests.
#[derive(Debug, Deserialize)]
struct Kind {
    form: FormKind,
    words: Vec<String>,
    /// The verbs that name it only at the beginning: "claim my taxi" is no "claim R-1".
    #[serde(default)]
    begins: Vec<String>,
    /// The words that name its documents, and ask for none.
    #[serde(default)]
    documents: Vec<String>,
}

/// A form, and how sure it is that it is meant.
type FormGuess = (FormKind, f64);

/// One thing that is asked for, as a rule or a model has understood it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Clause {
    /// The form it belongs to.
    pub form: FormKind,
    /// The goal: handed in, or kept as a draft.
    #[serde(default)]
    pub goal: Goal,
    /// The fields that it gives for the form.
    #[serde(default)]
    pub fields: Fields,
    /// The confidence that it is this form, from 0 to 1.
    #[serde(default = "sure")]
    pub confidence: f64,
    /// The parts that look like facts and were not taken up.
    #[serde(skip)]
    pub unread: Vec<String>,
}

/// The extent of an action.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Goal {
    /// Handed in. A claim is never handed in here: it is kept as a draft.
    #[default]
    Submit,
    /// Kept as a draft.
    Draft,
}

/// The confidence of a rule that names the form.
const SURE: f64 = 0.9;
/// The confidence of a rule that could also mean another form.
pub(crate) const UNSURE: f64 = 0.4;
/// The most characters of a text that may be just the name of a form.
const SHORT: usize = 12;

fn sure() -> f64 {
    SURE
}

/// Returns the numbers of documents in a text, such as `A-1`, each once.
pub(crate) fn document_ids(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let is_id = |word: &String| {
        let number = word.strip_prefix("A-").or_else(|| word.strip_prefix("R-"));
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|c| c.is_ascii_digit()))
    };
    let mut ids: Vec<_> = words.map(str::to_uppercase).filter(is_id).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// Returns what a text says something is not, and what it is instead: "not a taxi but a train".
pub(crate) fn exchange<'t>(text: &'t str) -> Option<(&'t str, &'t str)> {
    const ARTICLES: [&str; 5] = ["a", "an", "the", "my", "it's"];
    let text = text.trim().trim_end_matches(['.', '。', '!', '！']);
    let lower = text.to_ascii_lowercase();
    let denied = after_word(&lower, &["not", "it's not", "it is not", "不是"])?;
    let denied = text.get(text.len() - denied.len()..)?;
    let marks = [" but ", "，而是", "而是", "，是", ", but "];
    let (old, new) = marks.iter().find_map(|mark| denied.split_once(mark))?;
    let bare = |said: &'t str| {
        let said = said.trim();
        after_word(said, &ARTICLES).map_or(said, str::trim_start)
    };
    let (old, new) = (bare(old), bare(new));
    (!old.is_empty() && !new.is_empty()).then_some((old, new))
}

/// Returns the form that a text fills in without naming it: where a trip goes on a day to come, and
/// more of it; or what was paid for what, on no day to come.
fn told_form(desk: &RuleData, text: &str, base: Date) -> Option<FormKind> {
    let read = |form| Some(desk.facts.read(desk.forms.get(&form)?, text, base));
    let day = |told: &Fields, name: &str| told.get(name)?.as_str()?.parse::<Date>().ok();
    let trip = read(FormKind::Application)?;
    let further = ["end_date", "transport", "estimated_amount"];
    // Who goes may be somebody else.
    let goes = || desk.unknown_words(text, &trip, base) == 0;
    let goes = has_any_word(text, &desk.reader.goes) && goes();
    let has_goal = trip.contains_key("destination") || !desk.facts.goals(text).is_empty();
    let is_ahead = day(&trip, "start_date").is_some_and(|day| day > base)
        && (goes || further.iter().any(|name| trip.contains_key(*name)));
    // It is open when, and not that: what was paid is told with the way, and without what for.
    let is_undated = || {
        let form = desk.forms.get(&FormKind::Application);
        let named = ["reason", "transport"];
        form.is_some_and(|form| !desk.facts.unread(form, text, &trip, base).is_empty())
            && !trip.contains_key("start_date")
            && desk.reader.goes_somewhere(text)
            && named.iter().all(|name| trip.contains_key(*name))
            && !has_any_word(text, &desk.reader.either)
    };
    if has_goal && (is_ahead || is_undated()) {
        return Some(FormKind::Application);
    }
    let paid = read(FormKind::Reimbursement)?;
    let is_paid = paid.contains_key("amount")
        && paid.contains_key("category")
        && day(&paid, "expense_date").is_none_or(|day| day <= base);
    is_paid.then_some(FormKind::Reimbursement)
}

impl RuleReader {
    /// Returns the clauses of a request; none if it is about something else.
    pub fn clauses(&self, desk: &RuleData, text: &str, base: Date) -> Vec<Clause> {
        let told = desk.told(text, base);
        let text = match self.of_all_claims(&told) {
            Some((told, all)) => {
                let claims = self.each_claim(desk, told, base);
                let claims = claims.lines().map(|claim| format!("{claim}, {all}"));
                claims.collect::<Vec<_>>().join("\n")
            }
            None => self.each_claim(desk, &told, base),
        };
        let text = text.as_str();
        let is_dated = |kind: &FormKind, part: &str| {
            let form = desk.forms.get(kind);
            form.is_some_and(|form| !dates(part, base, form.toward).dates.is_empty())
        };
        let spent = |part: &str| {
            let form = desk.forms.get(&FormKind::Reimbursement);
            let told = form.map(|form| desk.facts.read(form, part, base));
            told.is_some_and(|told| told.contains_key("amount") && told.contains_key("category"))
        };
        let all = clauses(
            text,
            &self.breaks,
            |part| Some(spent(part)),
            |_, _, _| false,
        );
        let several = all.iter().filter(|(is_spent, _)| *is_spent).count() > 1;
        // A clause of the same kind continues the last one, unless it names a day of its own, or
        // what else was paid.
        let goes_on = |(last, _): &FormGuess, (next, _): &FormGuess, part: &str| {
            last == next && !is_dated(next, part) && !(several && spent(part))
        };
        let kind = |part: &str| {
            let named = self.kind(part, true);
            let told = || Some((told_form(desk, part, base)?, SURE));
            match named {
                // What was paid for what is a claim.
                Some((FormKind::Reimbursement, UNSURE)) => told()
                    .filter(|(told, _)| *told == FormKind::Reimbursement)
                    .or(named),
                named => named.or_else(told),
            }
        };
        let parts = clauses(text, &self.breaks, kind, goes_on);
        let read = |((kind, confidence), said): (FormGuess, String)| {
            let is_draft = kind != FormKind::Application || has_any_word(&said, &self.draft);
            let form = desk.forms.get(&kind)?;
            let mut fields = desk.facts.read(form, &said, base);
            if let Some(reason) = self.reason(desk, form, &said, &fields, base) {
                fields.insert("reason".into(), reason.into());
            }
            Some(Clause {
                form: kind,
                goal: if is_draft { Goal::Draft } else { Goal::Submit },
                unread: desk.facts.unread(form, &said, &fields, base),
                fields,
                confidence,
            })
        };
        let clauses: Vec<_> = parts.into_iter().filter_map(read).collect();
        // A reason is cut out of any words.
        let fills = clauses
            .iter()
            .any(|clause| clause.fields.keys().any(|name| name != "reason"));
        if !fills && self.means_question(text) {
            return vec![];
        }
        clauses
    }

    /// Returns a text in which each of several claims of one sentence is a sentence of its own, with the
    /// verb and the currency of the first: "claim 320 for the hotel and 24 for breakfast".
    fn each_claim(&self, desk: &RuleData, text: &str, base: Date) -> String {
        let Some(form) = desk.forms.get(&FormKind::Reimbursement) else {
            return text.to_owned();
        };
        let read = |said: &str| desk.facts.read(form, said, base);
        let is_claim = |told: &Fields| told.contains_key("amount") && told.contains_key("category");
        // The verb goes with what follows it.
        let lower = text.to_ascii_lowercase();
        let claims = self
            .kind
            .iter()
            .find(|it| it.form == FormKind::Reimbursement);
        let verbs = claims
            .iter()
            .flat_map(|kind| kind.begins.iter().chain(&kind.words));
        let verb = verbs
            .chain(&self.either)
            .find(|verb| has_any_word(&lower, &[verb.as_str()]));
        let claim = if is_chinese(text) { "报销" } else { "claim" };
        let verb = verb.map_or(claim, String::as_str);
        let led = |part: &str| {
            let is_led = has_any_word(part, &[verb]);
            let gap = if verb.is_ascii() { " " } else { "" };
            if is_led {
                part.to_owned()
            } else {
                format!("{verb}{gap}{}", part.trim_start())
            }
        };
        for mark in &self.and_also {
            let mut parts = text.split(mark.as_str());
            let mut claims: Vec<String> = parts.next().map(str::to_owned).into_iter().collect();
            for part in parts {
                let before = claims
                    .last()
                    .is_some_and(|last| is_claim(&read(&led(last))));
                let is_other = self
                    .form_of(part)
                    .is_some_and(|form| form != FormKind::Reimbursement);
                if before && !is_other && is_claim(&read(&led(part))) {
                    claims.push(led(part));
                } else if let Some(last) = claims.last_mut() {
                    last.push_str(mark);
                    last.push_str(part);
                }
            }
            if claims.len() > 1 {
                let first = claims.first().map(|it| read(&led(it))).unwrap_or_default();
                let code = first
                    .get("currency")
                    .and_then(|it| it.as_str())
                    .unwrap_or_default();
                let with_currency = |claim: String| {
                    let told = read(&claim);
                    if told.contains_key("currency") || code.is_empty() {
                        return claim;
                    }
                    let amount = told
                        .get("amount")
                        .map(fugato::form::amount_text)
                        .unwrap_or_default();
                    claim.replacen(&amount, &format!("{amount} {code} "), 1)
                };
                let claims = claims
                    .into_iter()
                    .map(with_currency)
                    .map(|it| self.each_claim(desk, &it, base));
                return claims.collect::<Vec<_>>().join("\n");
            }
        }
        text.to_owned()
    }

    /// Returns a text up to what is said of all of it at its end, and that: "both for the audit".
    fn of_all_claims<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        let (told, last) = text.rsplit_once([',', '，'])?;
        let last = last.trim();
        // Lower case by ASCII keeps the byte positions.
        let lower = last.to_ascii_lowercase();
        let all = after_word(&lower, &self.of_all)?.trim_start();
        let all = last.get(last.len() - all.len()..)?;
        (!all.is_empty()).then_some((told, all))
    }

    /// Returns the reason that a text tells in a part of its own, where nothing else tells more than
    /// what was paid.
    fn reason(
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
                || has_any_word(part, &["no", "not", "without"])
                || part.contains(['不', '没', '别', '无']);
            !led && fits
                && !is_beside
                && !self.says_nothing(part)
                && (is_open || part.contains(known))
        };
        let remarks = desk.facts.remarks(form, text, base);
        remarks.iter().find(says_more).cloned()
    }

    /// Returns true if a text has only words that say nothing of their own.
    fn says_nothing(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let known = || {
            self.plain
                .iter()
                .chain(&self.lead)
                .chain(&self.further)
                .chain(&self.change)
        };
        let is_known = |word: &str| known().any(|it| it == word);
        let han = known().filter(|word| !word.is_ascii());
        let left = han.fold(lower.clone(), |left, word| left.replace(word.as_str(), " "));
        let mut words = left
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        words.all(is_known)
    }

    /// Returns the form that a text names, or whose documents it names.
    pub(crate) fn form_of(&self, text: &str) -> Option<FormKind> {
        let mut kinds = self.kind.iter();
        let of_documents = kinds.find(|kind| has_any_word(text, &kind.documents));
        let named = || self.kind(text, false).map(|(kind, _)| kind);
        of_documents.map(|kind| kind.form).or_else(named)
    }

    /// Returns the form whose name a short text is.
    pub fn named_kind(&self, text: &str) -> Option<FormKind> {
        let short = text.trim().chars().count() <= SHORT;
        let kind = self.kind(text, false).filter(|_| short);
        kind.map(|(kind, _)| kind)
    }

    /// Returns the question about documents that a text is, if it is no request; see
    /// [`RuleData::document_question`].
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
        let how_much = has_any_word(text, &self.how_much);
        let sums = has_any_word(text, &self.total);
        // What one of them costs is on it: 北京那个花多少钱.
        if how_much && !sums && has_any_word(text, &self.one_of) {
            return Some(DocumentQuestion::List);
        }
        if (sums || how_much) && self.means_spent(text) {
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
        let lists =
            has_any_word(text, &self.list) || is_named && finds() || owns() || self.is_name(text);
        lists.then_some(DocumentQuestion::List)
    }

    /// Returns true if a text asks about one of these deeds and does not ask for it: "can I withdraw
    /// it?", but no "can you withdraw it?".
    fn asks_of_deed(&self, text: &str, verbs: &[String]) -> bool {
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

    /// Returns what a text says shall not be done, or was not: that a document is withdrawn, restored or
    /// handed in.
    pub(crate) fn denied(&self, text: &str) -> Option<DocumentQuestion> {
        let is_named = !document_ids(text).is_empty();
        let is_of_form = || is_named || self.form_of(text).is_some();
        let is_denied = |verbs: &[String]| has_any_word(text, verbs) && !is_wanted(text, verbs);
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
    fn wish_of(&self, said: &str) -> Option<PartWish> {
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

    /// Returns the amount that a text puts in the place of another, and says nothing else: "make it 54".
    pub(crate) fn amount_alone(&self, text: &str) -> Option<i64> {
        let phrases = Phrases::default();
        let text = phrases.decline_reason(text).unwrap_or(text);
        let lower = text.to_lowercase();
        let said = self.led(lower.trim().trim_end_matches(['.', '。', '!', '！']));
        money(after_word(said, &self.in_currency)?.trim())
    }

    /// Returns true if a text says that somebody does not know.
    pub(crate) fn means_unknown(&self, text: &str) -> bool {
        has_any_word(text, &self.unknown)
    }

    /// Returns true if a text tells of a claim that was made.
    pub(crate) fn means_done(&self, text: &str) -> bool {
        has_any_word(text, &self.done)
    }

    /// Returns what a text leaves out of a sum or a list.
    pub(crate) fn left_out<'t>(&self, text: &'t str) -> Option<&'t str> {
        let lower = text.to_ascii_lowercase();
        let at = self.without.iter().find_map(|word| lower.find(word))?;
        let words = text.get(at..)?;
        Some(words.trim_end_matches(|c: char| !c.is_alphanumeric()))
    }

    /// Returns true if a text asks how something stands.
    fn means_whether(&self, text: &str) -> bool {
        let lower = text.trim_start().to_lowercase();
        let begins = after_word(&lower, &self.whether).is_some();
        begins || is_chinese(text) && has_any_word(text, &self.whether)
    }

    /// Returns true if a text is the name of one's documents, and says nothing of them.
    fn is_name(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let documents = self.kind.iter().flat_map(|kind| &kind.documents);
        let without = |text: String, word: &String| text.replace(word.as_str(), " ");
        let rest = documents.fold(lower.clone(), without);
        let is_named = rest.len() != lower.len() || rest != lower;
        let rest = self.saved.iter().fold(rest, without);
        is_named && !rest.contains(char::is_alphanumeric)
    }

    /// Returns what a text does with a document that is saved: hands it in, changes it, or makes
    /// another one like it.
    fn saved_wish(&self, text: &str, is_named: bool) -> Option<DocumentQuestion> {
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
    fn begins_with(&self, text: &str, verbs: &[String]) -> bool {
        let text = text.to_lowercase();
        let object = after_word(self.led(&text), verbs).map(str::trim_start);
        object.is_some_and(|object| !object.is_empty() && document_ids(object).is_empty())
    }

    /// Returns a text in lower case without what may stand before its verb.
    fn led<'t>(&self, text: &'t str) -> &'t str {
        let mut rest = text.trim_start();
        while let Some(behind) = after_word(rest, &self.lead) {
            rest = behind.trim_start();
        }
        rest
    }

    /// Returns what a text does with a claim that it only names, as in 把报销单关联到A-1.
    fn done_to_a_claim(&self, text: &str) -> Option<&Kind> {
        let claims = self
            .kind
            .iter()
            .find(|kind| kind.form == FormKind::Reimbursement)?;
        let unnamed = claims
            .documents
            .iter()
            .fold(text.to_lowercase(), |text, name| text.replace(name, " "));
        let of_claim = [FormKind::Link, FormKind::Attachment];
        let mut kinds = self
            .kind
            .iter()
            .filter(|kind| of_claim.contains(&kind.form));
        let done = kinds.find(|kind| is_wanted(&unnamed, &kind.words))?;
        let begins = self.begins_with(text, &claims.begins);
        (!begins && !is_wanted(&unnamed, &claims.words)).then_some(done)
    }

    /// Returns the link of a claim that is named by what it is for, as in 把打车的报销关联到北京出差.
    fn links(&self, text: &str) -> Option<&Kind> {
        let lower = text.to_lowercase();
        let link = self.kind.iter().find(|kind| kind.form == FormKind::Link)?;
        let is_object =
            lower.contains("关联到") || after_word(self.led(&lower), &link.words).is_some();
        (is_object && is_wanted(&lower, &link.words)).then_some(link)
    }

    /// Returns true if a text links a claim to an application.
    pub(crate) fn means_link(&self, text: &str) -> bool {
        let kind = self.kind(text, false);
        kind.is_some_and(|(form, _)| form == FormKind::Link)
    }

    /// Returns the form that a text is about, with its confidence. A text that names neither form
    /// may still be about one of them, if `guess` allows it.
    fn kind(&self, text: &str, guess: bool) -> Option<FormGuess> {
        let mut kinds = self.kind.iter();
        let named =
            kinds.find(|kind| is_wanted(text, &kind.words) || self.begins_with(text, &kind.begins));
        let named = self.done_to_a_claim(text).or(self.links(text)).or(named);
        match named.map(|kind| kind.form) {
            Some(FormKind::Application) => {
                let either =
                    has_any_word(text, &self.either) && !has_any_word(text, &self.estimate);
                Some((FormKind::Application, if either { UNSURE } else { SURE }))
            }
            Some(form) => Some((form, SURE)),
            None if guess && has_any_word(text, &self.either) => {
                Some((FormKind::Reimbursement, UNSURE))
            }
            // Only an application is handed in, so that only of one a draft is worth a word.
            None if guess && has_any_word(text, &self.draft) => Some((FormKind::Application, SURE)),
            None => None,
        }
    }
}
