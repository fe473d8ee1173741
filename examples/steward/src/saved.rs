//! Documents that are saved, as words speak of them: which one is meant, what it shall say instead,
//! and what is claimed or planned in all.
use fugato::{
    cli::Lang,
    form::{Field, FieldKind, Fields, Form, amount_value, cents, day, text},
    words::{DateDirection, currency, dates, has_any_word, keywords, mentioned, month, numerals},
};
use jiff::{Span, ToSpan as _, civil::Date};
use serde_json::Value;

use crate::{
    form::FormKind,
    ledger::{self, Document, DocumentStatus, Documents},
    read::{DocumentQuestion, document_ids},
    service::RuleData,
};

/// The most characters of the name of a place.
const PLACE: usize = 30;

/// A part of words that change a document.
struct ChangePart<'t> {
    /// The document and the field of it, as far as they are named.
    selects: &'t str,
    /// The new value.
    value: Option<&'t str>,
}

impl RuleData {
    /// Returns the documents that the words of a question are about: those that they name, or else
    /// those of the form, the place, the days, the status and the subject that they name.
    pub(crate) fn targets(
        &self,
        documents: &Documents,
        (words, base): (&str, Date),
        asked: DocumentQuestion,
    ) -> Vec<Document> {
        use DocumentQuestion::{Restore, Revise, Submit, Withdraw};
        let fits = |document: &&Document| match (asked, document.status) {
            (Withdraw, status) => status != DocumentStatus::Withdrawn,
            (Restore, status) => status == DocumentStatus::Withdrawn,
            (Submit, status) => {
                status == DocumentStatus::Draft && document.form() == FormKind::Application
            }
            (Revise, status) => status == DocumentStatus::Draft,
            _ => true,
        };
        let selected;
        let words = if asked == Revise {
            selected = self.selecting(documents, words);
            selected.as_str()
        } else {
            words
        };
        let named = document_ids(words);
        let all = documents.all().filter(fits);
        if !named.is_empty() {
            return all.filter(|it| named.contains(&it.id)).cloned().collect();
        }
        // The days of a copy are those of the new one.
        let base = Some(base).filter(|_| asked != DocumentQuestion::Copy);
        // Who tells that a trip is cancelled asks for none that is withdrawn.
        let status = self.reader.status_in(words);
        let status = status.filter(|it| asked != Withdraw || *it != DocumentStatus::Withdrawn);
        let is_status = |it: &&Document| status.is_none_or(|status| status == it.status);
        let all = all.filter(is_status);
        let found: Vec<_> = all.filter(|it| self.describes(words, base, it)).collect();
        // One of several is the one whose subject is named.
        let narrow: Vec<_> = found
            .iter()
            .filter(|it| self.is_subject(words, it))
            .collect();
        let found = match narrow.as_slice() {
            [] => found.iter().collect(),
            _ if matches!(asked, DocumentQuestion::List) => found.iter().collect(),
            _ => narrow,
        };
        found.into_iter().map(|it| (*it).clone()).collect()
    }

    /// Returns true if words tell another value of a document than it has: who hands it in "with 600 EUR"
    /// would hand in another one.
    pub(crate) fn differs_in_words(&self, document: &Document, words: (&str, Date)) -> bool {
        let Some(form) = self.forms.get(&document.form()) else {
            return false;
        };
        let told = self.facts.read(form, words.0, words.1);
        let is_plain = |name: &str| {
            let kinds = [FieldKind::Text, FieldKind::Document, FieldKind::Files];
            form.field(name).is_some_and(|it| !kinds.contains(&it.kind))
        };
        let differs = |(name, value): (&String, &Value)| {
            let known = document.fields.get(name);
            let is_same = known.and_then(Value::as_f64).zip(value.as_f64());
            is_plain(name)
                && known != Some(value)
                && is_same.is_none_or(|(known, told)| (known - told).abs() > f64::EPSILON)
        };
        told.iter().any(differs)
    }

    /// Returns the words that tell which document is changed, and not what it becomes.
    pub(crate) fn selecting(&self, documents: &Documents, words: &str) -> String {
        let parts = self.change_parts(words);
        let names_field = parts
            .iter()
            .any(|part| part.value.is_some() && self.reader.called(part.selects).next().is_some());
        let is_place = |part: &ChangePart<'_>| {
            let value = part.value.unwrap_or_default();
            documents
                .all()
                .any(|it| names(value, text(&it.fields, "destination")))
        };
        // "Change my trip to Oslo" may name the trip that there is.
        if !names_field && parts.iter().any(is_place) {
            return words.to_owned();
        }
        let selects: Vec<_> = parts.iter().map(|part| part.selects).collect();
        selects.join(" ")
    }

    /// Returns true if nothing that words say of a document speaks against this one.
    fn describes(&self, words: &str, base: Option<Date>, document: &Document) -> bool {
        let of_form = match self.reader.form_of(words) {
            Some(form @ (FormKind::Application | FormKind::Reimbursement)) => {
                document.form() == form
            }
            _ => true,
        };
        let destination = text(&document.fields, "destination");
        let of_place = match self.place_in(words) {
            Some(place) => {
                let place = place.as_str().unwrap_or_default();
                self.facts.is_same_place(place, destination)
                    || names(words, destination)
                    || names(text(&document.fields, "reason"), place)
            }
            None => true,
        };
        let toward = self.forms.get(&document.form()).map(|form| form.toward);
        let counted = toward.zip(base);
        let period = counted.and_then(|(toward, base)| period(words, base, toward));
        let of_days = period.is_none_or(|(from, to)| {
            let (first, last) = days_of(&document.fields);
            first.is_none_or(|first| first <= to) && last.is_none_or(|last| from <= last)
        });
        of_form && of_place && of_days
    }

    /// Returns true if words name what a document is about: its place, its category, or a word of
    /// its reason.
    fn is_subject(&self, words: &str, document: &Document) -> bool {
        let fields = &document.fields;
        let category = self
            .category_in(words)
            .is_some_and(|category| category == text(fields, "category"));
        let reason = keywords(text(fields, "reason"));
        category
            || names(words, text(fields, "destination"))
            || reason.iter().any(|word| names(words, word))
    }

    /// Returns the category of claims that words name.
    fn category_in(&self, words: &str) -> Option<&str> {
        let claim = self.forms.get(&FormKind::Reimbursement)?;
        claim.field("category")?.chosen(words)
    }

    /// Returns the place that words name, as a trip has it.
    pub(crate) fn place_in(&self, words: &str) -> Option<Value> {
        let trip = self.forms.get(&FormKind::Application)?;
        self.facts
            .read(trip, words, Date::ZERO)
            .remove("destination")
    }

    /// Returns the claim and the application that shall be linked, as far as words that name no
    /// number leave no choice.
    pub(crate) fn linked(&self, documents: &Documents, words: &str) -> Vec<Document> {
        let named = document_ids(words);
        let only = |of: &[Document], is_meant: &dyn Fn(&Document) -> bool| {
            let open = |it: &&Document| it.status != DocumentStatus::Withdrawn;
            let mut fitting = of.iter().filter(open).filter(|it| is_meant(it));
            fitting.next().filter(|_| fitting.next().is_none()).cloned()
        };
        let is_named = |prefix: &str| named.iter().any(|id| id.starts_with(prefix));
        let claims = &documents.reimbursements;
        let claim = (!is_named("R")).then(|| {
            let subject = |it: &Document| self.is_subject(words, it);
            only(claims, &|_| true).or_else(|| only(claims, &subject))
        });
        let trips = &documents.applications;
        let trip = (!is_named("A")).then(|| {
            let place = |it: &Document| names(words, text(&it.fields, "destination"));
            match self.place_in(words) {
                Some(_) => only(trips, &place),
                None => only(trips, &|_| true).or_else(|| only(trips, &place)),
            }
        });
        let of_id = |id: &String| documents.all().find(|it| it.id == *id).cloned();
        let named = named.iter().filter_map(of_id);
        claim
            .flatten()
            .into_iter()
            .chain(trip.flatten())
            .chain(named)
            .collect()
    }

    /// Returns the fields that words change in a document, or the part of them that is not
    /// understood.
    pub(crate) fn changed(
        &self,
        document: &Document,
        (words, base): (&str, Date),
    ) -> Result<Fields, String> {
        let Some(form) = self.forms.get(&document.form()) else {
            return Ok(Fields::new());
        };
        let mut changed = Fields::new();
        for part in self.change_parts(words) {
            let read = self.change(form, document, &part, base);
            let Some(read) = read else {
                return Err(part.value.unwrap_or(part.selects).trim().to_owned());
            };
            changed.extend(read);
        }
        // What is there already is no change.
        changed.retain(|name, value| document.fields.get(name) != Some(value));
        Ok(changed)
    }

    /// Returns the fields that a part of words changes; `None` if it is not understood.
    fn change(
        &self,
        form: &Form<FormKind>,
        document: &Document,
        part: &ChangePart<'_>,
        base: Date,
    ) -> Option<Fields> {
        let toward = form.toward;
        let whole = format!("{} {}", part.selects, part.value.unwrap_or_default());
        let mut called = self.reader.called(part.selects);
        let called = called.find_map(|name| form.field(name));
        let field = called.filter(|field| field.kind != FieldKind::Day);
        if let (Some(field), Some(value)) = (field, part.value) {
            return self.value(form, field, value, base);
        }
        let days = dates(&whole, base, toward).dates;
        if !days.is_empty() {
            let called = called.map(|it| it.name.as_str());
            return Some(moved(&document.fields, &days, called));
        }
        // By how much days move is not worked out: "extend it by two days".
        if self.reader.means_shift(&whole) {
            return None;
        }
        let said = part.value.map_or(whole, |value| format!("to {value}"));
        let mut read = self.facts.read(form, &said, base);
        read.remove("reason");
        let is_there = names(&said, text(&document.fields, "destination"));
        read.retain(|name, _| name != "destination" || !is_there);
        // Words that only tell which document is meant change nothing.
        let selects = part.value.is_none() || is_there;
        (!read.is_empty() || selects && called.is_none()).then_some(read)
    }

    /// Returns a field that is named, with this new value, and the currency of an amount.
    fn value(
        &self,
        form: &Form<FormKind>,
        field: &Field,
        value: &str,
        base: Date,
    ) -> Option<Fields> {
        let value = value.trim().trim_end_matches(['。', '.', '!', '！']).trim();
        let name = field.name.as_str();
        let read = |told: String| {
            let mut read = self.facts.read(form, &told, base);
            read.retain(|it, _| it == name || field.kind == FieldKind::Amount && it == "currency");
            read.contains_key(name).then_some(read)
        };
        let one = |value: Value| Fields::from_iter([(name.to_owned(), value)]);
        match field.kind {
            FieldKind::Amount => read(format!("金额 {value}")),
            FieldKind::Place => read(format!("to {value}")).or_else(|| {
                let is_name =
                    value.chars().count() <= PLACE && !value.contains(|c: char| c.is_ascii_digit());
                (is_name && !value.is_empty()).then(|| one(value.into()))
            }),
            FieldKind::Choice => field.chosen(value).map(|means| one(means.into())),
            FieldKind::Currency => currency(value).map(|code| one(code.into())),
            FieldKind::Text => self.facts.cleaned(value).map(|text| one(text.into())),
            _ => read(value.to_owned()),
        }
    }

    fn change_parts<'t>(&self, words: &'t str) -> Vec<ChangePart<'t>> {
        let parts = self.reader.change_parts(words).into_iter();
        let parts = parts.map(|(selects, value)| ChangePart { selects, value });
        parts.collect()
    }

    /// Returns the fields of another document like this one, with the days that words name.
    pub(crate) fn copied(&self, document: &Document, (words, base): (&str, Date)) -> Fields {
        let mut fields = document.fields.clone();
        let toward = self.forms.get(&document.form()).map(|form| form.toward);
        let days = toward.map(|toward| dates(words, base, toward).dates);
        let days = days.unwrap_or_default();
        let moved = moved(&fields, &days, None);
        for name in ["start_date", "end_date", "expense_date", "attachments"] {
            fields.remove(name);
        }
        fields.extend(moved);
        fields
    }

    /// Returns the sum of what is claimed, or of what trips are to cost, in each currency, with the
    /// documents that are counted.
    pub(crate) fn total(
        &self,
        documents: &Documents,
        (words, lang): (&str, Lang),
        base: Date,
    ) -> String {
        let of_trips = self.reader.form_of(words) == Some(FormKind::Application)
            && !self.reader.means_spent(words);
        let (form, amount) = if of_trips {
            (FormKind::Application, "estimated_amount")
        } else {
            (FormKind::Reimbursement, "amount")
        };
        let category = self.category_in(words).filter(|_| !of_trips);
        let toward = if of_trips {
            DateDirection::Ahead
        } else {
            DateDirection::Back
        };
        let period = period(words, base, toward);
        let status = self.reader.status_in(words);
        let place = self.place_in(words);
        let fits = |it: &&Document| {
            let (first, last) = days_of(&it.fields);
            let there = text(&it.fields, "destination");
            it.form() == form
                && category.is_none_or(|category| text(&it.fields, "category") == category)
                && status.map_or(it.status != DocumentStatus::Withdrawn, |status| {
                    it.status == status
                })
                && (!of_trips || place.as_ref().is_none_or(|place| place == there))
                && period.is_none_or(|(from, to)| {
                    first.is_some_and(|first| first <= to) && last.is_some_and(|last| from <= last)
                })
        };
        let counted: Vec<_> = documents.all().filter(fits).collect();
        let mut sums: Vec<(&str, i64)> = vec![];
        for document in &counted {
            let code = ledger::currency(&document.fields);
            let value = document.fields.get(amount).and_then(cents).unwrap_or(0);
            match sums.iter_mut().find(|(known, _)| *known == code) {
                Some((_, sum)) => *sum = sum.saturating_add(value),
                None => sums.push((code, value)),
            }
        }
        let sums: Vec<_> = sums
            .iter()
            .map(|(code, sum)| format!("{} {code}", fugato::form::amount_text(&amount_value(*sum))))
            .collect();
        let mut about = vec![];
        if let Some(category) = category {
            let claim = self.forms.get(&form);
            let field = claim.and_then(|form| form.field("category"));
            let shown = field.map(|field| field.shown(&category.into(), lang));
            let shown = shown.unwrap_or_default();
            about.push(lang.pick(format!("category {shown}"), format!("类别{shown}")));
        }
        if let Some((from, to)) = period {
            about.push(if from == to {
                from.to_string()
            } else {
                lang.pick(format!("{from} to {to}"), format!("{from}至{to}"))
            });
        }
        let about = match about.as_slice() {
            [] => String::new(),
            about => lang.pick(
                format!(" ({})", about.join(", ")),
                format!("（{}）", about.join("，")),
            ),
        };
        let what = if of_trips {
            lang.pick("estimated for trips", "出差预计")
        } else {
            lang.pick("claimed", "报销")
        };
        if counted.is_empty() {
            return lang.pick(
                format!("Nothing is {what}{about}."),
                format!("没有{what}的金额{about}。"),
            );
        }
        let sums = sums.join(lang.pick(" and ", "、"));
        let drafts = counted
            .iter()
            .filter(|it| it.status == DocumentStatus::Draft);
        let (all, drafts) = (counted.len(), drafts.count());
        let counts = lang.pick(
            format!("Counted: {all}, drafts among them: {drafts}. Nothing is converted."),
            format!("共计{all}份单据，其中草稿{drafts}份；不同币种不换算。"),
        );
        let first = lang.pick(
            format!("In all {what}{about}: {sums}."),
            format!("一共{what}{about}：{sums}。"),
        );
        let lines = counted
            .iter()
            .map(|it| crate::reply::described(self, it, lang));
        let lines: Vec<_> = [first, counts].into_iter().chain(lines).collect();
        lines.join("\n")
    }
}

/// Returns true if words contain a name that is not empty.
fn names(words: &str, name: &str) -> bool {
    mentioned(words, [name]).is_some()
}

/// Returns the first and the last day of a document.
fn days_of(fields: &Fields) -> (Option<Date>, Option<Date>) {
    let on = |name: &str| day(text(fields, name));
    let spent = on("expense_date");
    (on("start_date").or(spent), on("end_date").or(spent))
}

/// Returns the days of a document that one or two new ones replace. A trip keeps its length if only
/// one is told.
fn moved(fields: &Fields, days: &[Date], called: Option<&str>) -> Fields {
    let told = |name: &str, day: Date| (name.to_owned(), Value::from(day.to_string()));
    let is_claim = fields.contains_key("expense_date");
    let (first, last) = days_of(fields);
    let length = first
        .zip(last)
        .and_then(|(first, last)| first.until(last).ok())
        .map_or(0, |span: Span| span.get_days());
    match *days {
        [] => Fields::new(),
        [day, ..] if is_claim => Fields::from_iter([told("expense_date", day)]),
        [from, to, ..] => Fields::from_iter([told("start_date", from), told("end_date", to)]),
        [day] if called == Some("end_date") => Fields::from_iter([told("end_date", day)]),
        [day] => {
            let end = day.saturating_add(length.days());
            let keeps = called == Some("start_date") && last.is_some_and(|last| day <= last);
            let end = if keeps { last.unwrap_or(end) } else { end };
            Fields::from_iter([told("start_date", day), told("end_date", end)])
        }
    }
}

/// Returns the days that words name as a day, a range, a month, a week or a year.
fn period(words: &str, base: Date, toward: DateDirection) -> Option<(Date, Date)> {
    let said = dates(words, base, toward);
    let lower = words.to_lowercase();
    let since = ["since", "以来", "开始至今", "到现在"];
    match said.dates.as_slice() {
        [] => {}
        [day] if has_any_word(&lower, &since) && *day <= base => return Some((*day, base)),
        [day] => return Some((*day, *day)),
        [from, .., to] => return Some((*from, *to)),
    }
    let month_of = |day: Date| (day.first_of_month(), day.last_of_month());
    let week_of = |day: Date| {
        let back = i64::from(day.weekday().to_monday_zero_offset());
        let monday = day.saturating_sub(back.days());
        (monday, monday.saturating_add(6.days()))
    };
    let year_of = |day: Date| (day.first_of_year(), day.last_of_year());
    let has = |words: &[&str]| has_any_word(&lower, words);
    let named = [
        (
            has(&["last month", "上个月", "上月"]),
            month_of(base.saturating_sub(1.month())),
        ),
        (
            has(&["next month", "下个月", "下月"]),
            month_of(base.saturating_add(1.month())),
        ),
        (has(&["this month", "这个月", "本月"]), month_of(base)),
        (
            has(&["last week", "上周", "上个星期", "上星期"]),
            week_of(base.saturating_sub(1.week())),
        ),
        (
            has(&["next week", "下周", "下个星期", "下星期"]),
            week_of(base.saturating_add(1.week())),
        ),
        (
            has(&["this week", "本周", "这周", "这个星期"]),
            week_of(base),
        ),
        (
            has(&["last year", "去年"]),
            year_of(base.saturating_sub(1.year())),
        ),
        (has(&["this year", "今年"]), year_of(base)),
    ];
    if let Some((_, days)) = named.into_iter().find(|(is_said, _)| *is_said) {
        return Some(days);
    }
    let number = month_named(&lower)?;
    let this = Date::new(base.year(), number, 1).ok()?;
    let month = match toward {
        DateDirection::Ahead if this.last_of_month() < base => this.saturating_add(1.year()),
        DateDirection::Back if this > base => this.saturating_sub(1.year()),
        _ => this,
    };
    let (from, to) = month_of(month);
    let until = if has_any_word(&lower, &since) {
        base
    } else {
        to
    };
    Some((from, until))
}

/// Returns the month that a text in lower case names alone: "in March", 3月份.
fn month_named(text: &str) -> Option<i8> {
    let latin = text.char_indices().find_map(|(at, _)| {
        let before = text.get(..at)?;
        let starts = ["in ", "of ", "for ", "since ", "during "];
        let is_one = starts.iter().any(|word| before.ends_with(word));
        let (number, _) = month(text.get(at..).filter(|_| is_one)?)?;
        Some(number)
    });
    latin.or_else(|| {
        let (before, _) = text.split_once('月')?;
        let before = numerals(before);
        let digits = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = before.get(digits.len()..)?.parse().ok();
        number.filter(|month| (1..=12).contains(month))
    })
}
