//! The clauses of a request as rules read them, each with a form and a goal. The words are in
//! `words.toml`.
mod last;
mod means;
mod question;
mod remark;

use std::{collections::BTreeMap, sync::Arc};

use fugato::{
    form::{Fields, Pattern, text as text_of},
    words::{after_word, amounts, clauses, dates, has_any_word, is_chinese, is_wanted},
};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::{form::FormKind, service::RuleData};
pub(crate) use last::LastRead;

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
    /// Match the name of somebody else whose documents are asked for.
    others: Vec<Pattern>,
    drop: Vec<String>,
    asks: Vec<String>,
    whether: Vec<String>,
    may: Vec<String>,
    bounds: Vec<String>,
    files: Vec<String>,
    under: Vec<String>,
    favour: Vec<String>,
    wish_ends: Vec<String>,
    reckons: Vec<String>,
    by_so_much: Vec<String>,
    of_all: Vec<String>,
    unknown: Vec<String>,
    done: Vec<String>,
    without: Vec<String>,
    adds: Vec<String>,
    asks_for: Vec<String>,
    states: Vec<String>,
    plain: Vec<String>,
    receipt: Vec<String>,
    wish: Vec<String>,
    kindly: Vec<String>,
    goes: Vec<String>,
    and_also: Vec<String>,
    departs: Vec<String>,
    attached: Vec<String>,
    takes_off: Vec<String>,
    off: Vec<String>,
    only: Vec<String>,
    sums_up: Vec<String>,
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
    /// The amounts with a currency that the words of a claim tell.
    #[serde(skip)]
    pub amounts: Vec<(i64, &'static str)>,
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
fn exchange<'t>(text: &'t str) -> Option<(&'t str, &'t str)> {
    const ARTICLES: [&str; 5] = ["a", "an", "the", "my", "it's"];
    let text = text.trim().trim_end_matches(['.', '。', '!', '！']);
    let lower = text.to_ascii_lowercase();
    let denied = after_word(&lower, &["not", "it's not", "it is not", "不是"])?;
    let denied = text.get(text.len() - denied.len()..)?;
    let marks = [" but ", "，而是", "而是", "，是", ", but "];
    let (old, new) = marks.iter().find_map(|mark| denied.split_once(mark))?;
    let bare = |said: &'t str| {
        let said = said.trim().trim_end_matches([',', '，']);
        after_word(said, &ARTICLES).map_or(said, str::trim_start)
    };
    let (old, new) = (bare(old), bare(new));
    (!old.is_empty() && !new.is_empty()).then_some((old, new))
}

/// Returns what a text says something is not, and what it is instead, in either order: "70, not 60".
pub(crate) fn exchanged(text: &str) -> Option<(&str, &str)> {
    const MARKS: [&str; 6] = [
        ", not ",
        " not ",
        "，不是",
        "而不是",
        "不是",
        " instead of ",
    ];
    let mut denials = ["不是", "not "].iter();
    let within = denials.find_map(|not| exchange(text.get(text.find(not)?..)?));
    within.or_else(|| {
        let mut marks = MARKS.iter();
        let (new, old) = marks.find_map(|mark| text.split_once(mark))?;
        let ends = [' ', ',', '，', '.', '。'];
        let (old, new) = (old.trim_matches(ends), new.trim_matches(ends));
        (!old.is_empty() && !new.is_empty()).then_some((old, new))
    })
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
    let form = desk.forms.get(&FormKind::Reimbursement)?;
    let paid = desk.facts.read(form, text, base);
    let is_paid = paid.contains_key("amount")
        && form.field("category").is_some_and(|it| it.is_named(text))
        && day(&paid, "expense_date").is_none_or(|day| day <= base);
    is_paid.then_some(FormKind::Reimbursement)
}

/// Returns the day of the last of several claims, if it is the only one with a day.
fn day_of_last(desk: &RuleData, claims: &[String], base: Date) -> Option<Date> {
    let form = desk.forms.get(&FormKind::Reimbursement)?;
    let days = |claim: &String| dates(claim, base, form.toward).dates;
    let (last, others) = claims.split_last()?;
    let is_only = others.iter().all(|claim| days(claim).is_empty());
    match *days(last) {
        [day] if is_only => Some(day),
        _ => None,
    }
}

impl RuleReader {
    /// Returns the clauses of a request; none if it is about something else. Most steps of a turn ask
    /// for those of the same words, which are read once.
    pub fn clauses(&self, desk: &RuleData, text: &str, base: Date) -> Arc<[Clause]> {
        desk.last_read
            .clauses(text, base, || self.read_clauses(desk, text, base))
    }

    fn read_clauses(&self, desk: &RuleData, text: &str, base: Date) -> Vec<Clause> {
        let told = desk.told(text, base);
        let text = match self.of_all_claims(desk, &told, base) {
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
                named => named
                    .or_else(told)
                    .or_else(|| self.drafted(desk, part, base)),
            }
        };
        let mut parts = clauses(text, &self.breaks, kind, goes_on);
        if parts.is_empty() && has_any_word(text, &self.draft) {
            parts.push(((FormKind::Application, UNSURE), text.to_owned()));
        }
        let stays = question::denies(text, &self.submit);
        let read = |((kind, confidence), said): (FormGuess, String)| {
            let is_draft =
                kind != FormKind::Application || stays || has_any_word(&said, &self.draft);
            let form = desk.forms.get(&kind)?;
            // "As a draft for now: printer paper" tells of the paper alone.
            let led = said.split_once([':', '：']).filter(|(head, _)| {
                let read = desk.facts.read(form, head, base);
                has_any_word(head, &self.draft) && read.keys().all(|name| name == "reason")
            });
            let said = led.map_or(said.as_str(), |(_, told)| told);
            let (said, beside) = self.beside(desk, form, said, base);
            let said = said.as_str();
            let mut fields = desk.facts.read(form, said, base);
            // "The 23 pounds that I paid" is cut out as a reason, and is none.
            if kind == FormKind::Reimbursement && self.says_nothing(text_of(&fields, "reason")) {
                fields.remove("reason");
            }
            if let Some(reason) = self.reason(desk, form, said, &fields, base) {
                fields.insert("reason".into(), reason.into());
            }
            let mut unread = desk.facts.unread(form, said, &fields, base);
            unread.extend(beside);
            unread.extend(self.left_over(desk, form, said, &fields, base));
            Some(Clause {
                form: kind,
                goal: if is_draft { Goal::Draft } else { Goal::Submit },
                unread,
                amounts: match kind {
                    FormKind::Reimbursement => amounts(&dates(said, base, form.toward).rest),
                    _ => vec![],
                },
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

    /// Returns the form of which a text keeps a draft without naming it: a trip where it goes somewhere
    /// or tells an estimate, and else a claim where it tells an amount.
    fn drafted(&self, desk: &RuleData, text: &str, base: Date) -> Option<FormGuess> {
        let form = desk.forms.get(&FormKind::Application)?;
        let told = desk.facts.read(form, text, base);
        let goes = told.contains_key("destination") || has_any_word(text, &self.estimate);
        let form = if goes {
            FormKind::Application
        } else {
            FormKind::Reimbursement
        };
        let is_draft = has_any_word(text, &self.draft);
        (is_draft && (goes || told.contains_key("estimated_amount"))).then_some((form, SURE))
    }

    /// Returns a text in which each of several claims of one sentence is a sentence of its own, with the
    /// verb and the currency of the first: "claim 320 for the hotel and 24 for breakfast".
    fn each_claim(&self, desk: &RuleData, text: &str, base: Date) -> String {
        /// The most bytes of a sentence that are read again for the claims that it may end in front of.
        const MOST_AGAIN: usize = 4_000;
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
        // What a trip costs in parts is no claim.
        let is_trip = |said: &str| {
            let form = self.form_of(said).or_else(|| told_form(desk, said, base));
            form == Some(FormKind::Application)
        };
        for mark in &self.and_also {
            let mut parts = text.split(mark.as_str());
            let mut claims: Vec<String> = parts.next().map(str::to_owned).into_iter().collect();
            let mut again = 0;
            for part in parts {
                let last = claims.last().map_or("", String::as_str);
                // What is no claim by itself joins what stands before it, however that reads.
                let is_next = again < MOST_AGAIN && is_claim(&read(&led(part))) && {
                    again += last.len();
                    let named = self.form_of(part);
                    let is_other = || match named {
                        Some(form) => form != FormKind::Reimbursement,
                        None => is_trip(last),
                    };
                    is_claim(&read(&led(last))) && !is_other()
                };
                if is_next {
                    again = 0;
                    claims.push(led(part));
                } else if let Some(last) = claims.last_mut() {
                    last.push_str(mark);
                    last.push_str(part);
                }
            }
            if claims.len() > 1 {
                // "Hotel 390" has its amount with the verb of all.
                if let Some(first) = claims.first_mut().filter(|it| !is_claim(&read(it))) {
                    *first = led(first);
                }
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
                // A day at the end is that of all, unless another has its own.
                let day = day_of_last(desk, &claims, base);
                let with_day = |claim: String| match day {
                    Some(day) if dates(&claim, base, form.toward).dates.is_empty() => {
                        format!("{claim} {day}")
                    }
                    _ => claim,
                };
                let claims = claims
                    .into_iter()
                    .map(with_currency)
                    .map(with_day)
                    .map(|it| self.each_claim(desk, &it, base));
                return claims.collect::<Vec<_>>().join("\n");
            }
        }
        text.to_owned()
    }

    /// Returns a text up to what is said of all of it at its end, and that: "both for the audit". What a
    /// Chinese text says of all besides a day is the reason: 都是11月20日去深圳开会的.
    fn of_all_claims<'t>(
        &self,
        desk: &RuleData,
        text: &'t str,
        base: Date,
    ) -> Option<(&'t str, String)> {
        let (told, last) = text.rsplit_once([',', '，'])?;
        let last = last.trim();
        // Lower case by ASCII keeps the byte positions.
        let lower = last.to_ascii_lowercase();
        let all = after_word(&lower, &self.of_all)?.trim_start();
        let all = last.get(last.len() - all.len()..)?;
        if all.is_empty() {
            return None;
        }
        let form = desk.forms.get(&FormKind::Reimbursement)?;
        let dated = dates(all, base, form.toward);
        let ends = |c: char| c.is_whitespace() || "的了吧。，".contains(c);
        let why = dated.rest.trim_matches(ends);
        let read = desk.facts.read(form, why, base);
        let is_reason = is_chinese(why) && read.keys().all(|name| name == "reason");
        Some(match *dated.dates {
            [day] if is_reason => (told, format!("{day}，事由：{why}")),
            _ => (told, all.to_owned()),
        })
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
            None => None,
        }
    }
}
