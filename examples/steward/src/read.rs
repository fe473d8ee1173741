//! The clauses of a request as rules read them, each with a form and a goal. The words are in
//! `words.toml`.
use fugato::{
    form::Fields,
    words::{after_word, clauses, dates, has_any_word, is_wanted},
};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::{form::FormKind, service::RuleData};

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
    approver: Vec<String>,
    drop: Vec<String>,
    asks: Vec<String>,
    departs: Vec<String>,
    attached: Vec<String>,
    lead: Vec<String>,
    kind: Vec<Kind>,
}

/// A question about documents, which begins no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentQuestion {
    /// The documents are asked for.
    List,
    /// A document shall be withdrawn.
    Withdraw,
    /// A withdrawn document shall be a draft again.
    Restore,
    /// The approver is asked for.
    Approver,
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

/// Returns the form that a text fills in without naming it: where a trip goes on a day to come, and
/// more of it; or what was paid for what, on no day to come.
fn told_form(desk: &RuleData, text: &str, base: Date) -> Option<FormKind> {
    let read = |form| Some(desk.facts.read(desk.forms.get(&form)?, text, base));
    let day = |told: &Fields, name: &str| told.get(name)?.as_str()?.parse::<Date>().ok();
    let trip = read(FormKind::Application)?;
    let further = ["end_date", "transport", "estimated_amount"];
    let is_trip = trip.contains_key("destination")
        && day(&trip, "start_date").is_some_and(|day| day > base)
        && further.iter().any(|name| trip.contains_key(*name));
    if is_trip {
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
            named.or_else(|| Some((told_form(desk, part, base)?, SURE)))
        };
        let parts = clauses(text, &self.breaks, kind, goes_on);
        let read = |((kind, confidence), said): (FormGuess, String)| {
            let is_draft = kind != FormKind::Application || has_any_word(&said, &self.draft);
            Some(Clause {
                form: kind,
                goal: if is_draft { Goal::Draft } else { Goal::Submit },
                fields: desk.facts.read(desk.forms.get(&kind)?, &said, base),
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
            return Some(DocumentQuestion::Restore);
        }
        // "Cancel the Shanghai trip", and no trip with its days.
        let plain = !text.contains(|c: char| c.is_ascii_digit());
        let names_form = || {
            let brief = text.chars().count() <= 3 * SHORT + 4;
            brief && plain && self.form_of(text).is_some()
        };
        let takes_back = has_any_word(text, &self.take_back) && (is_named || names_form());
        if takes_back || has_any_word(text, &self.withdraw) {
            return Some(DocumentQuestion::Withdraw);
        }
        let lists = has_any_word(text, &self.list) || is_named && has_any_word(text, &self.find);
        lists.then_some(DocumentQuestion::List)
    }

    /// Returns true if a short text leaves the current task.
    pub fn means_drop(&self, text: &str) -> bool {
        text.chars().count() <= SHORT && has_any_word(text, &self.drop)
    }

    /// Returns true if a text tells when a trip begins.
    pub(crate) fn means_departure(&self, text: &str) -> bool {
        has_any_word(text, &self.departs)
    }

    /// Returns true if a text asks something.
    pub(crate) fn means_question(&self, text: &str) -> bool {
        has_any_word(text, &self.asks)
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
        let mut rest = text.trim_start();
        while let Some(behind) = after_word(rest, &self.lead) {
            rest = behind.trim_start();
        }
        let object = after_word(rest, verbs).map(str::trim_start);
        object.is_some_and(|object| !object.is_empty() && document_ids(object).is_empty())
    }

    /// Returns the form that a text is about, with its confidence. A text that names neither form
    /// may still be about one of them, if `guess` allows it.
    fn kind(&self, text: &str, guess: bool) -> Option<FormGuess> {
        let mut kinds = self.kind.iter();
        let named =
            kinds.find(|kind| is_wanted(text, &kind.words) || self.begins_with(text, &kind.begins));
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
