//! Days in what people write.
use jiff::{
    ToSpan as _,
    civil::{Date, Weekday},
};
use regex::{Captures, Regex};

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
const NEAR: [(&str, i64); 10] = [
    ("大后天", 3),
    ("后天", 2),
    ("明天", 1),
    ("今天", 0),
    ("昨天", -1),
    ("前天", -2),
    ("day after tomorrow", 2),
    ("tomorrow", 1),
    ("today", 0),
    ("yesterday", -1),
];
const DIGITS: &str = "一二三四五六七八九十";

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
            r"(?P<nextweek>下)?(?:周|星期|礼拜)(?P<wzh>[一二三四五六日天])".to_owned(),
            r"\b(?P<next>next\s+)?(?P<wen>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)day\b".to_owned(),
        ];
        Ok(Self {
            day: Regex::new(&format!("(?i){}", day.join("|")))?,
            lasts: Regex::new(&format!(r"(?i)(\d{{1,2}}|[{DIGITS}])\s*(?:天|days?)"))?,
        })
    }

    /// The days of a text, in its order, and what is left of the text. How long something lasts
    /// makes the last day of it.
    pub fn read(&self, text: &str, base: Date) -> (Vec<Date>, String) {
        let mut days: Vec<Date> = vec![];
        let mut rest = String::new();
        let mut seen = 0;
        for found in self.day.captures_iter(text) {
            let Some(whole) = found.get(0) else { continue };
            let Some(day) = one(&found, base, days.last().copied()) else {
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
    let digit = DIGITS.chars().position(|c| text.starts_with(c));
    let counted = digit.map(|at| at + 1).or_else(|| text.parse().ok())?;
    i64::try_from(counted)
        .ok()
        .filter(|days| (1..=99).contains(days))
}

fn one(found: &Captures<'_>, base: Date, last: Option<Date>) -> Option<Date> {
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
    if let Some(weekday) = text("wzh").or_else(|| text("wen")) {
        let next = found.name("nextweek").is_some();
        return of_week(&weekday, base, next);
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
        None => nearest(month, day, base),
    }
}

/// Without a year, the day that is nearest.
fn nearest(month: i8, day: i8, base: Date) -> Option<Date> {
    let years = [base.year() - 1, base.year(), base.year() + 1];
    let days = years
        .into_iter()
        .filter_map(|year| Date::new(year, month, day).ok());
    days.min_by_key(|day| {
        base.until(*day)
            .map_or(i32::MAX, |span| span.get_days().abs())
    })
}

/// A day of this week, or of the next one in Chinese; in English the next one there is.
fn of_week(word: &str, base: Date, next: bool) -> Option<Date> {
    let (.., weekday) = WEEKDAYS
        .iter()
        .find(|(zh, en, _)| word == *zh || word.starts_with(en))?;
    let monday = i64::from(base.weekday().to_monday_zero_offset());
    let day = i64::from(weekday.to_monday_zero_offset());
    let ahead = if next {
        7 - monday + day
    } else {
        (day - monday).rem_euclid(7)
    };
    base.checked_add(ahead.days()).ok()
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
            ("12月31日", vec![date(2025, 12, 31)]),
            ("R 5 to 7 things", vec![]),
            ("2月30日", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(days.read(text, base).0, expected, "{text}");
        }
        assert_eq!(days.read("3月2日预算1200元", base).1.trim(), "预算1200元");
    }
}
