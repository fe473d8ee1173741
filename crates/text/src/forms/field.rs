//! The fields of a form, and their values.
use std::ops::Range;

use fugato_state::say;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Pattern,
    rules::is_denied,
    value::{amount_text, amount_value, cents, day, strings},
};
use crate::{
    Lang, currency,
    word::{tail_within, word_positions},
};

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Field {
    /// The name that models and clients use.
    pub name: String,
    /// The kind of its values.
    pub kind: FieldKind,
    /// True if the form needs it; false if not set.
    #[serde(default)]
    pub required: bool,
    /// The label in Chinese.
    pub zh: String,
    /// The label in English.
    pub en: String,
    /// The values of a choice.
    #[serde(default)]
    pub words: Vec<Choice>,
    /// True if words for two values of a choice leave it open.
    #[serde(default)]
    pub exclusive: bool,
    /// The name of another day of the form, which this one must not precede.
    #[serde(default)]
    pub not_before: Option<String>,
    /// The prefix of the numbers of a document: `A` for `A-1`.
    #[serde(default)]
    pub prefix: Option<String>,
    /// The patterns that find a text without a label.
    #[serde(default)]
    pub patterns: Vec<Pattern>,
}

/// The kind of a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FieldKind {
    /// Any text.
    Text,
    /// The name of a place.
    Place,
    /// A day, as `2026-03-02`.
    Day,
    /// A positive amount of money with at most two decimals.
    Amount,
    /// The ISO code of the currency of the amount.
    Currency,
    /// One of the values of the field's choices.
    Choice,
    /// The names of files, at least one.
    Files,
    /// The number of a document.
    Document,
}

/// One of the values of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The value.
    pub means: String,
    /// The words that people use for it.
    pub words: Vec<String>,
}

/// A value that does not fit its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{}", say!(
    "{field:?} of the {form} cannot be {given}; {allowed}",
    "{form}的 {field:?} 不能是 {given}；{allowed}"
))]
pub struct FieldError {
    /// The label of the form.
    pub form: String,
    /// The name of the field.
    pub field: String,
    /// The given value, as JSON.
    pub given: String,
    /// A description of the allowed values.
    pub allowed: String,
}

impl Choice {
    /// Returns the name of the value for a person: the value itself in English, and the first
    /// Chinese one of its words in Chinese.
    pub fn label(&self, lang: Lang) -> &str {
        let chinese = self.words.iter().find(|word| Lang::of(word) == Lang::Zh);
        lang.pick(&self.means, chinese.unwrap_or(&self.means))
    }
}

impl Field {
    /// Returns the label of the field.
    pub fn label(&self, lang: Lang) -> &str {
        lang.pick(&self.en, &self.zh)
    }

    /// Formats a value for a person. One of the field's choices is called by its
    /// [label](Choice::label).
    pub fn shown(&self, value: &Value, lang: Lang) -> String {
        match value {
            Value::Array(_) => {
                let values = strings(Some(value)).collect::<Vec<_>>();
                values.join(lang.pick(", ", "、"))
            }
            Value::String(text) => {
                let choice = self.words.iter().find(|choice| choice.means == *text);
                choice
                    .map_or(text.as_str(), |choice| choice.label(lang))
                    .to_owned()
            }
            value if self.kind == FieldKind::Amount => amount_text(value),
            value => value.to_string(),
        }
    }

    /// Returns the value of a choice that a text means, by its words that nothing denies; none if they
    /// mean several values ("dinner and taxi"). A word that only says where, with whom or to where
    /// ("lunch at the hotel", 打车去酒店), and the first part of a compound ("hotel breakfast",
    /// 酒店早餐), count if there is no other and the field is not [exclusive](Self::exclusive).
    pub fn chosen(&self, text: &str) -> Option<&str> {
        let text = text.to_lowercase();
        let mut found = self.named(&text);
        if self.exclusive {
            let (_, first) = found.first()?;
            return found
                .iter()
                .all(|(_, means)| means == first)
                .then_some(first);
        }
        let is_place =
            |(at, _): &(Range<usize>, &str)| text.get(..at.start).is_some_and(ends_in_place);
        if !found.iter().all(is_place) {
            found.retain(|named| !is_place(named));
        }
        // In the order of the text each has to be compared with its neighbours only.
        found.sort_by_key(|(at, _)| at.start);
        let is_head = |(at, _): &&(Range<usize>, &str)| {
            let behind = found.partition_point(|(next, _)| next.start < at.end);
            let between = found.get(behind..).unwrap_or_default().iter();
            let between = between.filter_map(|(next, _)| text.get(at.end..next.start));
            !between
                .take_while(|between| is_near(between))
                .any(is_compound)
        };
        let heads: Vec<_> = found.iter().filter(is_head).collect();
        let longest = heads.iter().map(|(at, _)| at.len()).max().unwrap_or(0);
        // A word within another one is not said: "taxi" in "taxi voucher".
        let is_within = |(at, _): &(Range<usize>, &str)| {
            let covers = |other: &Range<usize>| other.start <= at.start && at.end <= other.end;
            let from = at.end.saturating_sub(longest);
            let first = heads.partition_point(|(other, _)| other.start < from);
            let near = heads.get(first..).unwrap_or_default().iter();
            near.take_while(|(other, _)| other.start <= at.start)
                .any(|(other, _)| covers(other) && other.len() > at.len())
        };
        let mut said = heads.iter().filter(|named| !is_within(named));
        let (_, first) = said.next()?;
        said.all(|(_, means)| means == first).then_some(*first)
    }

    /// Returns true if a text names a value of a choice, also where it leaves open which one: "dinner and
    /// taxi".
    pub fn is_named(&self, text: &str) -> bool {
        !self.named(&text.to_lowercase()).is_empty()
    }

    /// Returns where a text in lower case has a word for a value of a choice that nothing denies.
    fn named(&self, text: &str) -> Vec<(Range<usize>, &str)> {
        let words = self.words.iter().flat_map(|choice| {
            let words = choice.words.iter().map(|word| word.to_lowercase());
            words.map(|word| (word, choice.means.as_str()))
        });
        let named = words.flat_map(|(word, means)| {
            let named = named_at(text, &word).into_iter();
            named.map(move |at| (at..at + word.len(), means))
        });
        named.collect()
    }

    /// Returns the canonical form of a value, or a description of the allowed values.
    pub(crate) fn read(&self, value: &Value) -> Result<Value, String> {
        let text = value.as_str().map(str::trim);
        match self.kind {
            FieldKind::Text | FieldKind::Place | FieldKind::Document => match text {
                Some(text) => Ok(json!(text)),
                None => Err(say!("a text is allowed", "应为文字")),
            },
            FieldKind::Day => match text.and_then(day) {
                Some(day) => Ok(json!(day.to_string())),
                None => Err(say!(
                    "a day is allowed, such as 2026-03-02",
                    "应为日期，例如 2026-03-02"
                )),
            },
            FieldKind::Amount => match cents(value) {
                Some(cents) if cents > 0 => Ok(amount_value(cents)),
                _ => Err(say!(
                    "a positive amount with at most two decimals is allowed",
                    "应为正数金额，最多两位小数"
                )),
            },
            FieldKind::Currency => match text.and_then(currency) {
                Some(code) => Ok(json!(code)),
                None => Err(say!(
                    "a currency is allowed, such as CNY, USD, EUR, GBP, JPY or HKD",
                    "应为币种，例如 CNY、USD、EUR、GBP、JPY 或 HKD"
                )),
            },
            FieldKind::Choice => self.choice(text),
            FieldKind::Files => files(value),
        }
    }

    /// Returns the JSON schema of the field, for a model.
    pub(crate) fn schema(&self) -> Value {
        let mut schema = match self.kind {
            FieldKind::Text | FieldKind::Place | FieldKind::Document | FieldKind::Currency => {
                json!({ "type": "string" })
            }
            FieldKind::Day => json!({ "type": "string", "format": "date" }),
            FieldKind::Amount => json!({ "type": "number", "exclusiveMinimum": 0 }),
            FieldKind::Choice => json!({ "type": "string", "enum": self.choices() }),
            FieldKind::Files => {
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 })
            }
        };
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".into(), json!(self.label(Lang::current())));
        }
        schema
    }

    fn choice(&self, text: Option<&str>) -> Result<Value, String> {
        let choices = self.choices();
        let exact = text.filter(|text| choices.contains(text));
        let meant = exact.or_else(|| self.chosen(text?));
        let allowed = || say!("allowed are {}", "可选的有 {}", choices.join(", "));
        meant.map(|word| json!(word)).ok_or_else(allowed)
    }

    fn choices(&self) -> Vec<&str> {
        let choices = self.words.iter();
        choices.map(|choice| choice.means.as_str()).collect()
    }
}

impl FieldKind {
    /// Returns the name of the kind in the data.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Place => "place",
            Self::Day => "day",
            Self::Amount => "amount",
            Self::Currency => "currency",
            Self::Choice => "choice",
            Self::Files => "files",
            Self::Document => "document",
        }
    }
}

/// Returns where a text contains a word that nothing denies, of a Latin one no other form than the
/// plural: who goes to a training names no train.
fn named_at(text: &str, word: &str) -> Vec<usize> {
    if !text.contains(word) {
        return vec![];
    }
    let others = ["d", "ed", "ment", "ing"].map(|ending| format!("{word}{ending}"));
    let text = others.iter().fold(text.to_owned(), |text, other| {
        let latin = word.is_ascii();
        if latin {
            text.replace(other.as_str(), &" ".repeat(other.len()))
        } else {
            text
        }
    });
    let positions = word_positions(&text, word);
    let named = positions.filter(|at| !is_denied(text.get(..*at).unwrap_or_default()));
    named.collect()
}

/// The words behind which a place or a person follows.
const PLACING: [&str; 9] = [
    "at", "from", "in", "near", "opposite", "to", "towards", "via", "with",
];

/// Returns true if what follows a text is only where, with whom or to where.
fn ends_in_place(text: &str) -> bool {
    let clause = tail_within(text, 100)
        .rsplit(is_pause)
        .next()
        .unwrap_or_default();
    let words = clause.split_whitespace().rev().take(4);
    let mut words = words.take_while(|word| *word != "and");
    // 的 ends where something is, and begins what it is.
    let mut signs = clause
        .chars()
        .rev()
        .take(4)
        .take_while(|sign| *sign != '的');
    words.any(|word| PLACING.contains(&word)) || signs.any(|sign| "在去到从往".contains(sign))
}

/// Returns true if so little stands between two words that they may be one compound, unlike with all
/// that stands further behind.
fn is_near(between: &str) -> bool {
    let mut words = between.split_whitespace();
    let word = words.next().unwrap_or_default();
    let is_short = word.is_ascii() || word.chars().count() == 1;
    words.next().is_none() && !between.contains(is_pause) && is_short
}

/// Returns true if the words on both sides of a text that is short are one compound, of which the last
/// part counts.
fn is_compound(between: &str) -> bool {
    let word = between.trim();
    let joins =
        ["and", "or", "plus", "then", "for", "by"].contains(&word) || PLACING.contains(&word);
    !joins && (word.is_ascii() || !"和与及或加跟".contains(word))
}

/// Returns true for what ends a phrase.
fn is_pause(sign: char) -> bool {
    sign.is_ascii_digit() || (!sign.is_alphanumeric() && !sign.is_whitespace() && sign != '-')
}

fn files(value: &Value) -> Result<Value, String> {
    let listed = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut names: Vec<&str> = vec![];
    for name in listed {
        match name.as_str().map(str::trim) {
            None | Some("") => {
                return Err(say!("a list of file names is allowed", "应为文件名的列表"));
            }
            Some(name) if names.contains(&name) => {}
            Some(name) => names.push(name),
        }
    }
    Ok(json!(names))
}
