//! The bounds of days, amounts and texts: what is beyond them is a slip, and is not written.
use fugato::{
    cli::Lang,
    form::{Fields, cents, day, text},
};
use jiff::{ToSpan as _, civil::Date};

use crate::form::FormKind;

/// The highest amount, in hundredths.
const MOST: i64 = 1_000_000_000;
/// The most characters of a text.
const LONGEST: usize = 500;
/// The most days of a trip.
const LONGEST_TRIP: i64 = 180;

/// Returns what is beyond the bounds, each with what is allowed. Days are counted from `base`.
pub(crate) fn out_of_bounds(
    fields: &Fields,
    form: FormKind,
    base: Option<Date>,
    lang: Lang,
) -> Vec<String> {
    let mut wrong = vec![];
    let amounts = ["amount", "estimated_amount"].iter();
    for value in amounts.filter_map(|name| fields.get(*name)) {
        if cents(value).is_none_or(|cents| cents > MOST) {
            wrong.push(lang.pick(
                format!("an amount of {value} is more than the 10000000 that is allowed"),
                format!("金额{value}超过了允许的10000000"),
            ));
        }
    }
    for name in ["reason", "destination"] {
        let length = text(fields, name).chars().count();
        if length > LONGEST {
            wrong.push(lang.pick(
                format!(
                    "a text of {length} characters is longer than the {LONGEST} that are allowed"
                ),
                format!("文字有{length}个字，超过了允许的{LONGEST}个字"),
            ));
        }
    }
    if let Some(base) = base {
        wrong.extend(days(fields, form, base, lang));
    }
    wrong
}

fn days(fields: &Fields, form: FormKind, base: Date, lang: Lang) -> Vec<String> {
    let (back, ahead) = match form {
        // Conversations of older versions wait with trips of 2099, and still go on.
        FormKind::Application => (1, 80),
        _ => (2, 0),
    };
    let first = base.saturating_sub(back.years());
    // Where it is later than here, tomorrow is today.
    let last = base.saturating_add(ahead.years()).saturating_add(1.day());
    let named = ["start_date", "end_date", "expense_date"].iter();
    let given = named.filter_map(|name| day(text(fields, name)));
    let beyond = given.filter(|day| !(first..=last).contains(day));
    let mut wrong: Vec<_> = beyond
        .map(|day| {
            lang.pick(
                format!("{day} is not between {first} and {last}"),
                format!("{day}不在{first}到{last}之间"),
            )
        })
        .collect();
    let (start, end) = (text(fields, "start_date"), text(fields, "end_date"));
    let last = day(start).map(|start| start.saturating_add(LONGEST_TRIP.days()));
    if let (Some(end), Some(last)) = (day(end), last)
        && end > last
    {
        wrong.push(lang.pick(
            format!("a trip from {start} to {end} is longer than {LONGEST_TRIP} days"),
            format!("{start}到{end}的出差超过了{LONGEST_TRIP}天"),
        ));
    }
    if !end.is_empty() && end < start {
        wrong.push(lang.pick(
            format!("the trip would end on {end}, before it begins on {start}"),
            format!("结束日期{end}早于开始日期{start}"),
        ));
    }
    wrong
}
