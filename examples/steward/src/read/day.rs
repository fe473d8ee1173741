//! Days in what people write.
use jiff::{
    ToSpan as _,
    civil::{Date, Weekday},
};
use regex::{Captures, Regex};

use crate::form::FormKind;

/// Reads days.
#[derive(Debug)]
pub struct Days {
    day: Regex,
    lasts: Regex,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [(&str, &str, Weekday); 8] = [
    ("一", "mon", Weekday::Monday),
    ("二", "tue", Weekday::Tuesday),
    ("三", "wed", Weekday::Wednesday),
    ("四", "thu", Weekday::Thursday),
    ("五", "fri", Weekday::Friday),
    ("六", "sat", Weekday::Saturday),
    ("日", "sun", Weekday::Sunday),
    ("天", "sun", Weekday::Sunday),
];
/// Days from today.
const NEAR: [(&str, i64); 12] = [
    ("大后天", 3),
    ("后天", 2),
    ("明天", 1),
    ("今天", 0),
    ("昨天", -1),
    ("大前天", -3),
    ("前天", -2),
    ("day before yesterday", -2),
    ("day after tomorrow", 2),
    ("tomorrow", 1),
    ("today", 0),
    ("yesterday", -1),
];
const DIGITS: &str = "一二三四五六七八九";

/// Where a day lies of which the year or the week is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Toward {
    /// Ahead: nobody applies for what was.
    Ahead,
    /// Back: nobody claims what will be.
    Back,
}

impl Toward {
    /// Where the days of a form lie.
    pub fn of(form: FormKind) -> Self {
        if form == FormKind::Application {
            Self::Ahead
        } else {
            Self::Back
        }
    }
}

impl Days {
    pub(super) fn new() -> Result<Self, regex::Error> {
        let months = MONTHS.join("|");
        let month = format!(r"(?:{months})[a-z]*\.?");
        let near: Vec<_> = NEAR.iter().map(|(word, _)| *word).collect();
        let day = [
            r"(?P<y1>\d{4})\s*[-/.年]\s*(?P<m1>\d{1,2})\s*[-/.月]\s*(?P<d1>\d{1,2})\s*[日号]?".to_owned(),
            r"(?P<m2>\d{1,2})\s*月\s*(?P<d2>\d{1,2})\s*[日号]?".to_owned(),
            format!(r"\b(?P<m3>{month})\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y3>\d{{4}})\b)?"),
            format!(r"\b(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<m4>{month})(?:\s+(?P<y4>\d{{4}})\b)?"),
            r"(?:到|至|[-–~]|\bto\b|\buntil\b)\s*(?P<d5>\d{1,2})(?:\s*[日号]|(?:st|nd|rd|th)?\b)".to_owned(),
            format!("(?P<near>{})", near.join("|")),
            r"(?P<week>上上|上|下下|下|这|本)?个?(?:周|星期|礼拜)(?P<wzh>[一二三四五六日天])".to_owned(),
            r"\b(?:(?P<which>last|next|this)\s+)?(?P<wen>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)day\b".to_owned(),
        ];
        Ok(Self {
            day: Regex::new(&format!("(?i){}", day.join("|")))?,
            lasts: Regex::new(&format!(r"(?i)(\d+|[两十{DIGITS}]+)\s*(?:天|days?)"))?,
        })
    }

    /// The days of a text, in its order, and what is left of the text. How long something lasts
    /// makes the last day of it.
    pub fn read(&self, text: &str, base: Date, toward: Toward) -> (Vec<Date>, String) {
        let mut days: Vec<Date> = vec![];
        let mut rest = String::new();
        let mut seen = 0;
        for found in self.day.captures_iter(text) {
            let Some(whole) = found.get(0) else { continue };
            let Some(day) = one(&found, base, days.last().copied(), toward) else {
                continue;
            };
            rest.push_str(text.get(seen..whole.start()).unwrap_or_default());
            rest.push(' ');
            seen = whole.end();
            days.push(day);
        }
        rest.push_str(text.get(seen..).unwrap_or_default());
        let lasts = self
            .lasts
            .captures(&rest)
            .and_then(|found| count(found.get(1)?.as_str()));
        if let (Some(lasts), [start]) = (lasts, days.as_slice())
            && let Ok(end) = start.checked_add((lasts - 1).days())
        {
            days.push(end);
        }
        let rest = self.lasts.replace_all(&rest, " ").into_owned();
        (days, rest)
    }
}

fn count(text: &str) -> Option<i64> {
    let days = text.parse().ok().or_else(|| chinese(text))?;
    Some(days).filter(|days| (1..=99).contains(days))
}

/// A number below a hundred, such as 十五 or 二十.
fn chinese(text: &str) -> Option<i64> {
    let digit = |text: &str| match text {
        "两" => Some(2),
        text => {
            let mut digits = DIGITS.chars().zip(1..);
            digits.find_map(|(digit, value)| text.chars().eq([digit]).then_some(value))
        }
    };
    match text.split_once('十') {
        None => digit(text),
        Some((tens, ones)) => {
            let tens = if tens.is_empty() { 1 } else { digit(tens)? };
            let ones = if ones.is_empty() { 0 } else { digit(ones)? };
            Some(10 * tens + ones)
        }
    }
}

fn one(found: &Captures<'_>, base: Date, last: Option<Date>, toward: Toward) -> Option<Date> {
    let text = |name: &str| found.name(name).map(|part| part.as_str().to_lowercase());
    let number = |names: [&str; 3]| {
        names
            .iter()
            .find_map(|name| text(name))
            .and_then(|it| it.parse::<i16>().ok())
    };
    if let Some(word) = text("near") {
        let (_, days) = NEAR.iter().find(|(near, _)| *near == word)?;
        return base.checked_add(days.days()).ok();
    }
    if let Some(weekday) = text("wzh") {
        let weeks = match text("week").as_deref() {
            Some("上上") => -2,
            Some("上") => -1,
            Some("下") => 1,
            Some("下下") => 2,
            _ => 0,
        };
        return of_week(&weekday, base, weeks);
    }
    if let Some(weekday) = text("wen") {
        return english(&weekday, text("which").as_deref(), base, toward);
    }
    if let Some(day) = number(["d5", "", ""]) {
        // A bare number is a day of the month that was named before, and of no other.
        let last = last?;
        return Date::new(last.year(), last.month(), i8::try_from(day).ok()?).ok();
    }
    let month = match text("m3").or_else(|| text("m4")) {
        Some(name) => MONTHS
            .iter()
            .position(|month| name.starts_with(month))
            .and_then(|at| i16::try_from(at + 1).ok()),
        None => number(["m1", "m2", ""]),
    }?;
    let day = ["d1", "d2", "d3", "d4"]
        .iter()
        .find_map(|name| text(name))?;
    let (month, day) = (i8::try_from(month).ok()?, day.parse().ok()?);
    match number(["y1", "y3", "y4"]) {
        Some(year) => Date::new(year, month, day).ok(),
        None => without_year(month, day, last.unwrap_or(base), toward),
    }
}

/// The day of the year in which it lies in this direction. The end of something lies after its
/// beginning.
fn without_year(month: i8, day: i8, from: Date, toward: Toward) -> Option<Date> {
    let year = from.year();
    let mut days = [year - 1, year, year + 1]
        .into_iter()
        .filter_map(|year| Date::new(year, month, day).ok());
    match toward {
        Toward::Ahead => days.find(|day| *day >= from),
        Toward::Back => days.rfind(|day| *day <= from),
    }
}

fn weekday(word: &str) -> Option<i64> {
    let mut days = WEEKDAYS.iter();
    let (.., day) = days.find(|(zh, en, _)| word == *zh || word.starts_with(en))?;
    Some(i64::from(day.to_monday_zero_offset()))
}

/// A day of the week that is so many weeks from this one.
fn of_week(word: &str, base: Date, weeks: i64) -> Option<Date> {
    let monday = i64::from(base.weekday().to_monday_zero_offset());
    let ahead = 7 * weeks + weekday(word)? - monday;
    base.checked_add(ahead.days()).ok()
}

/// The last one there was, the next one there is, or the one in this direction.
fn english(word: &str, which: Option<&str>, base: Date, toward: Toward) -> Option<Date> {
    let today = i64::from(base.weekday().to_monday_zero_offset());
    let ahead = (weekday(word)? - today).rem_euclid(7);
    let days = match (which, toward) {
        (Some("this"), _) => return of_week(word, base, 0),
        (Some("last"), _) => ahead - 7,
        (Some(_), _) if ahead == 0 => 7,
        (None, Toward::Back) if ahead > 0 => ahead - 7,
        _ => ahead,
    };
    base.checked_add(days.days()).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn days_are_read_in_both_languages() {
        let days = Days::new().expect("the patterns are right");
        // A Wednesday.
        let base = date(2026, 2, 25);
        let (second, fifth) = (date(2026, 3, 2), date(2026, 3, 5));
        let cases = [
            ("2026-03-02 到 2026-03-05", vec![second, fifth]),
            ("3月2日至5日", vec![second, fifth]),
            ("3月2号到3月5号", vec![second, fifth]),
            ("3月2日出差4天", vec![second, fifth]),
            ("3月2日，出差三天", vec![second, date(2026, 3, 4)]),
            ("March 2 to 5", vec![second, fifth]),
            ("from 2 March until 5 March 2026", vec![second, fifth]),
            ("Mar 2nd for 4 days", vec![second, fifth]),
            ("明天", vec![date(2026, 2, 26)]),
            ("the day after tomorrow", vec![date(2026, 2, 27)]),
            ("下周一", vec![second]),
            ("next Monday", vec![second]),
            ("昨天打车", vec![date(2026, 2, 24)]),
            ("上周五", vec![date(2026, 2, 20)]),
            ("last Friday", vec![date(2026, 2, 20)]),
            ("last Wednesday", vec![date(2026, 2, 18)]),
            ("next Wednesday", vec![date(2026, 3, 4)]),
            ("周一", vec![date(2026, 2, 23)]),
            ("这周五", vec![date(2026, 2, 27)]),
            ("上个星期天", vec![date(2026, 2, 22)]),
            ("大前天", vec![date(2026, 2, 22)]),
            ("前天", vec![date(2026, 2, 23)]),
            ("the day before yesterday", vec![date(2026, 2, 23)]),
            ("3月2日出差十五天", vec![second, date(2026, 3, 16)]),
            ("3月2日出差十二天", vec![second, date(2026, 3, 13)]),
            ("3月2日出差二十天", vec![second, date(2026, 3, 21)]),
            ("3月2日出差二十一天", vec![second, date(2026, 3, 22)]),
            ("3月2日出差两天", vec![second, date(2026, 3, 3)]),
            ("3月2日出差三五天", vec![second]),
            ("10月1日", vec![date(2026, 10, 1)]),
            (
                "12月31日到1月2日",
                vec![date(2026, 12, 31), date(2027, 1, 2)],
            ),
            ("R 5 to 7 things", vec![]),
            ("2月30日", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(days.read(text, base, Toward::Ahead).0, expected, "{text}");
        }
        let back = [
            ("12月31日", date(2025, 12, 31)),
            ("10月1日", date(2025, 10, 1)),
            ("2月25日", base),
            ("on Friday", date(2026, 2, 20)),
        ];
        for (text, expected) in back {
            assert_eq!(days.read(text, base, Toward::Back).0, [expected], "{text}");
        }
        assert_eq!(
            days.read("3月2日预算1200元", base, Toward::Ahead).1.trim(),
            "预算1200元"
        );
    }
}
