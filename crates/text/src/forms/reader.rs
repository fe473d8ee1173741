//! Reading the fields of a form from a text.
use jiff::civil::Date;
use serde_json::{Value, json};

use super::{
    Field, FieldKind, Fields, Form, Forms, Pattern, TextRules,
    value::{amount_value, cents},
};
use crate::{
    DatedText, DayReference, ShortAnswer, after_word, before_word, courtesy, currency, dates,
    day_mentions, money, money_in, priced_in, spelling::respell_days, strip_phrase,
};

/// A reader of a form's fields from a text, by rule. Its values are in canonical form; ambiguous
/// ones are left out.
#[derive(Debug, Clone)]
pub struct FormReader {
    rules: TextRules,
    /// Matches the numbers of all documents of the forms.
    documents: Option<Pattern>,
    /// Matches facts that belong to other fields than texts.
    facts: Vec<Pattern>,
}

impl FormReader {
    /// Creates a reader from rules, with the vocabulary of the forms.
    ///
    /// # Errors
    /// Fails if a pattern of [`TextRules::facts`] is invalid.
    pub fn new<N>(rules: TextRules, forms: &Forms<N>) -> Result<Self, regex::Error> {
        let fields = || forms.iter().flat_map(|form| &form.fields);
        let prefixes = fields().filter_map(|field| field.prefix.as_deref());
        let prefixes: Vec<_> = prefixes.map(regex::escape).collect();
        let documents = format!(
            r"(?i)(?-u:\b)((?:{})-\d{{1,9}})(?-u:\b)",
            prefixes.join("|")
        );
        let documents = (!prefixes.is_empty()).then(|| documents.try_into());
        let facts = rules.facts.iter().map(|pattern| {
            let named = fields().fold(pattern.clone(), |pattern, field| {
                let words = field.words.iter().flat_map(|choice| &choice.words);
                let words: Vec<_> = words.map(|word| regex::escape(word)).collect();
                match words.as_slice() {
                    [] => pattern,
                    words => pattern.replace(&format!("{{{}}}", field.name), &words.join("|")),
                }
            });
            Pattern::try_from(named)
        });
        Ok(Self {
            documents: documents.transpose()?,
            facts: facts.collect::<Result<_, _>>()?,
            rules,
        })
    }

    /// Reads the fields of a form from a text. The first day goes to the first field of days, and
    /// so on; `base` is the day from which "tomorrow" is counted. Of a text that excludes one of its
    /// own days none is read.
    pub fn read<N>(&self, form: &Form<N>, text: &str, base: Date) -> Fields {
        let unnamed = self.unnamed(text);
        let mut dated = dates(&unnamed, base, form.toward);
        // Which of them is meant is asked.
        if dated.contradicts_itself()
            || ends_early(form, &dated.dates)
            || unclear_day(form, &dated).is_some()
        {
            dated.dates.clear();
        }
        let said = ReducedText {
            text,
            unnamed: &unnamed,
            dated: &dated,
        };
        let (mut read, mut nth) = (Fields::new(), 0);
        // The last day of a period whose first one is not told is no first day.
        let is_last = |field: &Field| field.not_before.is_some();
        let is_end = dated.is_end && form.fields.iter().any(is_last);
        for field in &form.fields {
            let value = match field.kind {
                FieldKind::Day if is_end && !is_last(field) => None,
                FieldKind::Day => {
                    nth += 1;
                    let day = dated.dates.get(nth - 1);
                    day.map(|day| json!(day.to_string()))
                }
                FieldKind::Text => self.text(form, field, &dated.rest).map(|it| json!(it)),
                _ => self.value(field, &said),
            };
            read.extend(value.map(|value| (field.name.clone(), value)));
        }
        read
    }

    /// Returns the parts of a text that look like facts of a form and were not taken up: numbers that
    /// are in none of the fields that were read, days that the form has no field for or that end before
    /// they begin, what is quoted and in none of them, the asides of the rules, and places where it goes to
    /// several.
    pub fn unread<N>(&self, form: &Form<N>, text: &str, read: &Fields, base: Date) -> Vec<String> {
        let unnamed = self.unnamed(text);
        let dated = dates(&unnamed, base, form.toward);
        let fields = |kind: FieldKind| form.fields.iter().filter(move |it| it.kind == kind);
        let of_kind = |kind| fields(kind).filter_map(|field| read.get(&field.name));
        let amount = of_kind(FieldKind::Amount).next().and_then(cents);
        let is_told = |part: &str| {
            let mut told = of_kind(FieldKind::Text).filter_map(Value::as_str);
            told.any(|told| told.contains(part))
        };
        let mut unread = numbers(&dated.rest, amount);
        unread.retain(|part| !is_told(part));
        let lost = if ends_early(form, &dated.dates) {
            0
        } else {
            fields(FieldKind::Day).count()
        };
        unread.extend(dated.dates.iter().skip(lost).map(Date::to_string));
        unread.extend(unclear_day(form, &dated).map(str::to_owned));
        // A number in words beside nothing else: 一千二.
        let parts = dated.rest.split(PAUSES).map(str::trim);
        let alone = parts.filter(|part| {
            let has_digit = part.contains(|c: char| c.is_ascii_digit());
            !has_digit && money(part).is_some_and(|it| Some(it) != amount)
        });
        unread.extend(alone.map(str::to_owned));
        // What is quoted is meant as it stands.
        let quotes = quoted(&dated.rest).filter(|quote| {
            let mut told = read.values().filter_map(Value::as_str);
            !form.names_only_choices(quote) && !told.any(|told| told.contains(quote))
        });
        unread.extend(quotes.map(str::to_owned));
        // What is told of one may be the thing itself: "45 EUR for Adobe".
        let is_whole = |part: &str| {
            let mut told = of_kind(FieldKind::Text).filter_map(Value::as_str);
            told.any(|told| part.ends_with(told))
        };
        let asides = self.asides(&dated.rest);
        let asides = asides.filter(|it| !is_told(it) && !is_whole(it));
        unread.extend(asides.map(str::to_owned));
        let goals = self.rules.places.goals(&dated.rest);
        if goals.len() > 1 && fields(FieldKind::Place).next().is_some() {
            unread.extend(goals);
        }
        unread
    }

    /// Returns what no field of a form takes: "for Bob", but not "for Vienna".
    fn asides<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let found = self.rules.asides.iter().flat_map(|it| it.marked(text));
        let is_other = |it: &&str| {
            let is_day = !day_mentions(&it.to_ascii_lowercase()).is_empty();
            !is_day && self.rules.places.named(it).is_none()
        };
        found.map(str::trim).filter(is_other)
    }

    /// Returns the places to which a text goes, each once; the way back is none.
    pub fn goals(&self, text: &str) -> Vec<String> {
        self.rules.places.goals(&self.unnamed(text))
    }

    /// Returns true if two names are those of one place, be it in two languages.
    pub fn is_same_place(&self, one: &str, other: &str) -> bool {
        let known = self.rules.places.known.iter();
        let mut names = known.map(|place| [place.zh.as_str(), place.en.as_str()]);
        let is_in =
            |names: &[&str; 2], it: &str| names.iter().any(|name| name.eq_ignore_ascii_case(it));
        one == other || names.any(|names| is_in(&names, one) && is_in(&names, other))
    }

    /// Returns a text without facts of other fields; `None` if nothing is left.
    pub fn cleaned(&self, text: &str) -> Option<String> {
        let text = self
            .facts
            .iter()
            .fold(text.to_owned(), |text, fact| fact.replace(&text, " "));
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let text = text.trim_matches(|c: char| c.is_whitespace() || ",，.。;；:：、-".contains(c));
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns a text with its days spelled right, and without the names of files and documents, whose
    /// digits are no days or amounts.
    fn unnamed(&self, text: &str) -> String {
        let names = [&self.rules.files, &self.documents];
        let names = names.into_iter().flatten();
        let unnamed = names.fold(text.to_owned(), |text, name| name.replace(&text, " "));
        respell_days(&unnamed)
    }

    fn value(&self, field: &Field, said: &ReducedText<'_>) -> Option<Value> {
        let rest = &said.dated.rest;
        match field.kind {
            FieldKind::Amount => {
                let labels: Vec<&str> = self.rules.amount.iter().map(String::as_str).collect();
                money_in(rest, &labels).map(amount_value)
            }
            FieldKind::Currency => {
                let labels: Vec<&str> = self.rules.amount.iter().map(String::as_str).collect();
                let (_, currency) = priced_in(rest, &labels)?;
                currency.map(|code| json!(code))
            }
            FieldKind::Choice => field.chosen(said.unnamed).map(|means| json!(means)),
            FieldKind::Files => self.files(said.text),
            FieldKind::Document => self.document(said.text, field.prefix.as_deref()?),
            FieldKind::Place => self.rules.places.read(rest).map(|it| json!(it)),
            FieldKind::Text | FieldKind::Day => None,
        }
    }

    fn files(&self, text: &str) -> Option<Value> {
        let found = self.rules.files.as_ref()?.all(text);
        let mut names: Vec<&str> = found.map(|name| self.bare_name(name)).collect();
        names.dedup();
        (!names.is_empty()).then(|| json!(names))
    }

    /// Returns a file name without its folder, and without a word that precedes it without a space, in
    /// Chinese.
    fn bare_name<'a>(&self, name: &'a str) -> &'a str {
        let name = name.rsplit('/').next().unwrap_or(name);
        let mut before = self.rules.before_files.iter();
        match before.find_map(|before| name.strip_prefix(before)) {
            Some(rest) if !rest.starts_with('.') => self.bare_name(rest),
            _ => name,
        }
    }

    fn document(&self, text: &str, prefix: &str) -> Option<Value> {
        let mut found = self.documents.as_ref()?.all(text);
        found.find_map(|found| {
            let (letters, number) = found.rsplit_once('-')?;
            let is_it = letters.eq_ignore_ascii_case(prefix);
            is_it.then(|| json!(format!("{prefix}-{number}")))
        })
    }

    /// Reads a text field. Words that say more than what a choice of the form has said already come
    /// before those that do not: of "for the taxi, for the audit" the audit.
    fn text<'p, N>(&self, form: &Form<N>, field: &'p Field, text: &str) -> Option<String> {
        /// The most texts that one pattern finds.
        const MOST: usize = 16;
        let label = self.rules.labels.get(&field.name);
        if let Some(labelled) = label.and_then(|label| label.first(text)) {
            return self.cleaned(labelled.trim_matches(['‘', '’']));
        }
        // Each may go on to the end of the text.
        let found = |it: &'p Pattern| it.overlapping(text).take(MOST);
        let found = field.patterns.iter().flat_map(found);
        let cleaned = found.filter_map(|found| match &self.rules.cut {
            Some(cut) => self.cleaned(cut_behind(form, found, cut)),
            None => self.cleaned(found),
        });
        let asides: Vec<_> = self.asides(text).collect();
        let is_aside = |found: &String| asides.iter().any(|it| it.contains(found.as_str()));
        let (beside, own): (Vec<_>, Vec<_>) = cleaned.partition(is_aside);
        let mut cleaned = if own.is_empty() { beside } else { own }.into_iter();
        let first = cleaned.next()?;
        if !form.names_only_choices(&first) {
            return Some(first);
        }
        let more = cleaned.find(|text| !form.names_only_choices(text));
        more.or(Some(first))
    }

    /// Returns the parts of a text between pauses in which nothing of the form is found, without what
    /// belongs to no text, and without greetings, thanks and short answers.
    pub fn remarks<N>(&self, form: &Form<N>, text: &str, base: Date) -> Vec<String> {
        let unnamed = self.unnamed(text);
        let parts = unnamed.split(PAUSES).flat_map(|part| part.split(". "));
        let remark = |part: &str| {
            let remark = self.cleaned(part)?;
            let read = self.read(form, part, base);
            let fills =
                |field: &Field| field.kind != FieldKind::Text && read.contains_key(&field.name);
            let names_day = !day_mentions(&part.to_lowercase()).is_empty();
            let has_digit = remark.contains(|c: char| c.is_ascii_digit());
            let has_goal = !self.rules.places.goals(part).is_empty();
            let is_told = names_day || has_digit || has_goal || form.fields.iter().any(fills);
            let answers = courtesy(part).is_some() || ShortAnswer::of(part).is_some();
            let says_more = !is_told && money(part).is_none() && !answers;
            says_more.then_some(remark)
        };
        parts.filter_map(remark).collect()
    }
}

/// Returns a text up to where it is cut, with what is joined to it where both only name choices:
/// "breakfast and coffee".
fn cut_behind<'t, N>(form: &Form<N>, text: &'t str, cut: &Pattern) -> &'t str {
    let mut said = cut_behind_people(text, cut);
    while form.names_only_choices(said) {
        let behind = text.get(said.len()..).unwrap_or_default();
        let Some(behind) = after_word(behind.trim_start(), &["and"]) else {
            break;
        };
        let more = cut_behind_people(behind, cut);
        if !form.names_only_choices(more) {
            break;
        }
        said = text
            .get(..text.len() - behind.len() + more.len())
            .unwrap_or(text);
    }
    said
}

/// Returns a text up to where it is cut. The people whom it names there belong to it: "dinner with John
/// Smith and with Anna Weber".
fn cut_behind_people<'t>(text: &'t str, cut: &Pattern) -> &'t str {
    let mut from = 0;
    loop {
        let rest = text.get(from..).unwrap_or_default();
        let Some(behind) = cut.all(rest).next().filter(|it| rest.ends_with(it)) else {
            return text;
        };
        let at = text.len() - behind.len();
        let names_some = from > 0 || strip_phrase(text, &MEETS).is_some();
        match people(behind, names_some) {
            Some(rest) => from = text.len() - rest.len(),
            None => return text.get(..at).unwrap_or(text),
        }
    }
}

/// The verbs whose object are people.
const MEETS: [&str; 5] = ["meeting ", "meet ", "interviewing ", "interview ", "see "];

/// Returns the rest of a text after the people that it begins with: "and with Anna Weber", "with a
/// customer". Where people are named before it, "and" leads to further names, also in lower case.
fn people(text: &str, names_some: bool) -> Option<&str> {
    const JOINS: [&str; 6] = [
        "and with",
        "along with",
        "together with",
        "and also",
        "with",
        "and",
    ];
    const BEFORE: [&str; 12] = [
        "a", "an", "the", "my", "our", "his", "her", "their", "two", "three", "some", "new",
    ];
    const PEOPLE: [&str; 19] = [
        "people",
        "customers",
        "customer",
        "clients",
        "client",
        "colleagues",
        "colleague",
        "team",
        "guests",
        "guest",
        "partners",
        "partner",
        "suppliers",
        "supplier",
        "candidate",
        "boss",
        "manager",
        "friends",
        "visitors",
    ];
    let trimmed = text.trim_start();
    let rest = strip_phrase(trimmed, &JOINS)?;
    let join = trimmed.get(..trimmed.len() - rest.len())?;
    let joins_some = names_some || join.to_ascii_lowercase().contains("with");
    let mut rest = rest.strip_prefix(char::is_whitespace)?.trim_start();
    while let Some(behind) = after_word(rest, &BEFORE) {
        rest = behind.trim_start();
    }
    let mut named = None;
    loop {
        let word = rest.split(|c: char| c.is_whitespace() || c == ',').next()?;
        let is_small = joins_some && is_small_name(word) && !BEFORE.contains(&word);
        if !is_small && !word.starts_with(char::is_uppercase) {
            break;
        }
        let behind = rest.get(word.len()..)?;
        named = Some(behind);
        rest = behind.trim_start();
    }
    after_word(rest, &PEOPLE).or(named)
}

/// Returns true for a word in lower case that may be a name behind "with": none that leads to a fact,
/// or that is no person.
fn is_small_name(word: &str) -> bool {
    const OTHER: [&str; 48] = [
        "from",
        "on",
        "by",
        "in",
        "at",
        "for",
        "to",
        "of",
        "and",
        "or",
        "with",
        "about",
        "until",
        "as",
        "per",
        "budget",
        "costing",
        "cost",
        "costs",
        "amount",
        "no",
        "it",
        "them",
        "me",
        "us",
        "you",
        "this",
        "that",
        "which",
        "who",
        "is",
        "was",
        "receipt",
        "receipts",
        "invoice",
        "cash",
        "card",
        "attachment",
        "attachments",
        "attached",
        "plane",
        "train",
        "flight",
        "car",
        "bus",
        "please",
        "thanks",
        "paid",
    ];
    let is_word = word.len() > 1 && word.chars().all(|c| c.is_lowercase() || "-'’".contains(c));
    is_word && !OTHER.contains(&word) && currency(word).is_none()
}

/// Returns the texts that stand between quotation marks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    const MARKS: [(char, char); 4] = [('"', '"'), ('“', '”'), ('「', '」'), ('‘', '’')];
    let of = move |(open, close)| {
        let mut rest = text;
        std::iter::from_fn(move || {
            let (_, behind) = rest.split_once(open)?;
            let (inner, behind) = behind.split_once(close)?;
            rest = behind;
            Some(inner.trim())
        })
    };
    let all = MARKS.into_iter().flat_map(of);
    all.filter(|inner| inner.contains(char::is_alphanumeric))
}

/// The signs between the parts of a text.
const PAUSES: [char; 11] = [',', '，', '。', ';', '；', '、', '!', '！', '?', '？', '\n'];

/// Returns the name of a day that can be meant in two ways, as today's can, beside the one day that was
/// read: either may be the first of the two. Where none was read it may be a whole week, too.
fn unclear_day<'t, N>(form: &Form<N>, dated: &'t DatedText) -> Option<&'t str> {
    let days = form.fields.iter().filter(|it| it.kind == FieldKind::Day);
    if days.count() < 2 || dated.dates.len() > 1 {
        return None;
    }
    let lower = dated.rest.to_ascii_lowercase();
    let mut mentions = day_mentions(&lower).into_iter();
    let is_unclear = |days: &DayReference| match days {
        DayReference::Weekdays(_) => true,
        DayReference::NextWeek(_) | DayReference::Span(..) => dated.dates.is_empty(),
        _ => false,
    };
    let named = mentions.find(|it| is_unclear(&it.days) && !it.is_excluded)?;
    dated.rest.get(named.range)
}

/// Returns true if a period ends before it begins: neither of its days is meant.
fn ends_early<N>(form: &Form<N>, days: &[Date]) -> bool {
    let mut named = form.fields.iter().filter(|it| it.kind == FieldKind::Day);
    let first = named.position(|it| {
        form.fields
            .iter()
            .any(|last| last.not_before.as_deref() == Some(&it.name))
    });
    let period = first.and_then(|first| days.get(first..first + 2));
    period.is_some_and(|period| !period.is_sorted())
}

/// Returns the numbers in a text that are not this amount, each with the words after it. Those in names
/// and times of day are none.
fn numbers(text: &str, amount: Option<i64>) -> Vec<String> {
    const LONGEST: usize = 30;
    const SHOWN: usize = 24;
    const LEADS: [&str; 6] = [" on", " from", " until", " till", " since", " by"];
    let is_digit = |c: char| c.is_ascii_digit();
    let (mut found, mut at) = (vec![], 0);
    while let Some(from) = text.get(at..).and_then(|rest| rest.find(is_digit)) {
        let (before, here) = text.split_at(at + from);
        let joins = |c: char| is_digit(c) || ".,'/:-–".contains(c);
        let behind = here.trim_start_matches(joins);
        let run = here.get(..here.len() - behind.len()).unwrap_or(here);
        let run = run.trim_end_matches(|c: char| !is_digit(c));
        let ends = here.char_indices().map(|(at, c)| at + c.len_utf8());
        let ends: Vec<_> = ends.take(LONGEST).filter(|end| *end >= run.len()).collect();
        let prefix = |end: &usize| here.get(..*end).unwrap_or_default();
        let taken = ends
            .iter()
            .rev()
            .find(|end| amount.is_some() && money(prefix(end)) == amount);
        let in_name = before.ends_with(|c: char| c.is_alphabetic() && c.is_ascii());
        let is_time = run.contains(':');
        if let Some(taken) = taken {
            at = before.len() + taken;
            continue;
        }
        at = before.len() + run.len().max(1);
        if in_name || is_time {
            continue;
        }
        let sign = before
            .chars()
            .next_back()
            .filter(|c| "-−£€$¥￥".contains(*c));
        let ends = [',', '，', '。', ';', '；', '、', '!', '\n'];
        let said = here.chars().take(SHOWN);
        let said: String = said.take_while(|c| !ends.contains(c)).collect();
        let said = if said.len() < run.len().min(SHOWN) {
            run.chars().take(SHOWN).collect()
        } else {
            said
        };
        let said: String = sign.into_iter().chain(said.chars()).collect();
        let shown = said.trim_end_matches([' ', '.']);
        // What led to a day is left over where the day was read.
        let shown = before_word(shown, &LEADS).map_or(shown, str::trim_end);
        found.push(shown.to_owned());
        // What stands beside it is shown with it.
        at = at.max(before.len() + said.len().min(here.len()));
        while !text.is_char_boundary(at) {
            at -= 1;
        }
    }
    found
}

/// A text, in versions with more and more left out.
struct ReducedText<'a> {
    text: &'a str,
    /// The text without the names of files and documents.
    unnamed: &'a str,
    /// The same without the days.
    dated: &'a DatedText,
}
