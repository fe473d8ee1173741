//! Dates, and durations in days.
mod notation;

use jiff::{
    ToSpan as _,
    civil::{Date, Weekday},
};

pub(crate) use notation::ends_dotted;
use notation::{chinese, day_first, digits, dotted, english, full, of_day, ordinal, slashed, year};

use crate::{
    calendar::{month, near_day, week, weekday, weekday_sign},
    intent::ends_in_denial,
    number::{is_digit, number},
    numeral::english_word,
    word::{after_word, before_word, is_inside, tail},
};

/// The direction in which an unspecified year or week is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateDirection {
    /// The future, for plans.
    Ahead,
    /// The past, for reports.
    Back,
}

/// The dates in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatedText {
    /// The dates, in the order of the text. A duration after a single day adds its last day.
    pub dates: Vec<Date>,
    /// The dates that are excluded: "not on 2 March", 不要3月2日.
    pub excluded: Vec<Date>,
    /// The days of the week that are excluded: "not on a Monday", 不要周一.
    pub excluded_weekdays: Vec<Weekday>,
    /// The text without the dates.
    pub rest: String,
    /// True if the only date is the end of a period whose beginning is not told: "until Friday".
    pub(crate) is_end: bool,
}

/// Reads the dates of a text. Ambiguous ones stay in the text.
pub fn dates(text: &str, today: Date, toward: DateDirection) -> DatedText {
    let seen = vec![];
    read(
        text,
        Reader {
            today,
            toward,
            is_plan: false,
            seen,
        },
    )
}

/// Reads the dates of a text for something that is yet to come: 周五, said on a Saturday, is no Friday
/// before.
pub(crate) fn planned(text: &str, today: Date) -> DatedText {
    let (toward, seen) = (DateDirection::Ahead, vec![]);
    read(
        text,
        Reader {
            today,
            toward,
            is_plan: true,
            seen,
        },
    )
}

fn read(text: &str, mut reader: Reader) -> DatedText {
    // Lower case by ASCII keeps the byte positions.
    let lower = text.to_ascii_lowercase();
    let (mut rest, mut end) = (String::new(), 0);
    let (mut excluded, mut excluded_weekdays) = (vec![], vec![]);
    let mut is_end = false;
    for (at, _) in lower.char_indices() {
        let (Some((before, here)), true) = (lower.split_at_checked(at), at >= end) else {
            continue;
        };
        let gap = before.get(end..).unwrap_or_default();
        // A day that is excluded is no later than the others.
        let is_out = is_excluded(before);
        let known = if is_out {
            std::mem::take(&mut reader.seen)
        } else {
            vec![]
        };
        let mut read = reader.read(before, gap, here);
        if is_out {
            let named = named_weekday(here);
            for (day, is_weekday) in std::mem::replace(&mut reader.seen, known) {
                match named {
                    Some(_) => {}
                    None if is_weekday => excluded_weekdays.push(day.weekday()),
                    None => excluded.push(day),
                }
            }
            if let Some((weekday, rest)) = named {
                excluded_weekdays.push(weekday);
                read = Some(rest);
            }
        }
        if let Some(behind) = read {
            let lead = tail(before).trim_end();
            is_end |= before_word(lead, &UNTIL).is_some() || follows_no_day(lead);
            rest.push_str(text.get(end..at).unwrap_or_default());
            rest.push(' ');
            end = lower.len() - behind.len();
        }
    }
    rest.push_str(text.get(end..).unwrap_or_default());
    let (lasts, shorter) = lasts(&rest);
    let mut dates: Vec<Date> = reader.seen.into_iter().map(|(day, _)| day).collect();
    // A duration that contradicts a period stays in the text.
    let lies = match (lasts, dates.as_slice()) {
        (Some(lasts), [first, last]) => first.checked_add((lasts - 1).days()).ok() != Some(*last),
        _ => false,
    };
    let rest = if lies { rest } else { shorter };
    if let (Some(lasts), [start]) = (lasts, dates.as_slice()) {
        dates.extend(start.checked_add((lasts - 1).days()));
    }
    DatedText {
        is_end: is_end && dates.len() == 1,
        dates,
        excluded,
        excluded_weekdays,
        rest,
    }
}

impl DatedText {
    /// Returns true if the text excludes one of its own dates, or a day between them.
    pub fn contradicts_itself(&self) -> bool {
        let (Some(first), Some(last)) = (self.dates.iter().min(), self.dates.iter().max()) else {
            return false;
        };
        let ends = [first, last];
        let is_excluded = |day: &&Date| self.excluded_weekdays.contains(&day.weekday());
        let is_within = |day: &Date| first <= day && day <= last;
        self.excluded.iter().any(is_within) || ends.iter().any(is_excluded)
    }
}

/// Reads 周一 or 星期天: any day of this name.
fn named_weekday(here: &str) -> Option<(Weekday, &str)> {
    let mut behind = week(here)?.chars();
    let day = weekday_sign(behind.next()?)?;
    Some((day, behind.as_str()))
}

/// Returns true if the words right before a day exclude it.
fn is_excluded(before: &str) -> bool {
    const EXCEPT: [&str; 6] = ["except", "excluding", "avoid", "avoiding", "避开", "除了"];
    const LINKS: [&str; 9] = [
        "on a", "on any", "on the", "on", "a", "any", "在", "是", "选",
    ];
    let before = tail(before).trim_end();
    let linked = before_word(before, &LINKS).map_or(before, str::trim_end);
    ends_in_denial(linked) || before_word(linked, &EXCEPT).is_some()
}

struct Reader {
    today: Date,
    toward: DateDirection,
    /// True if nothing that is over can be meant.
    is_plan: bool,
    /// Each day, and true if it was only the name of a weekday.
    seen: Vec<(Date, bool)>,
}

impl Reader {
    /// Reads the day at the beginning of `here`, and returns the rest of the text.
    fn read<'a>(&mut self, before: &str, gap: &str, here: &'a str) -> Option<&'a str> {
        let several = self.of_near_month(before, here);
        let several = several.or_else(|| {
            let (days, rest) = self.span(before, here)?;
            Some((days.to_vec(), rest))
        });
        if let Some((days, rest)) = several {
            self.seen.extend(days.into_iter().map(|day| (day, false)));
            return Some(rest);
        }
        let last = self.seen.last().map(|(day, _)| *day);
        let (day, named, rest) = self
            .date(before, here)
            .or_else(|| self.near(before, here))
            .map(|(day, rest)| (day, false, rest))
            .or_else(|| range_end(last?, gap, here).map(|(day, rest)| (day, false, rest)))
            .or_else(|| self.week(before, here))?;
        let beside = gap
            .trim_matches([' ', ',', '，', '(', '（', ')', '）'])
            .is_empty();
        match self.seen.last_mut() {
            // The name of a day next to its date. If they contradict each other, both are dropped.
            Some(last) if beside && (last.1 || named) && last.0.weekday() == day.weekday() => {
                *last = if named { *last } else { (day, false) };
            }
            Some(last) if beside && last.1 != named => {
                self.seen.pop();
            }
            _ => self.seen.push((day, named)),
        }
        Some(rest)
    }

    /// Reads `2-5 March`, `2nd to 5th of March 2026`: two days of one month.
    fn span<'a>(&self, before: &str, here: &'a str) -> Option<([Date; 2], &'a str)> {
        if before.ends_with(is_digit) || is_inside(before) {
            return None;
        }
        let (first, rest) = ordinal(here)?;
        let (month, last, rest) =
            day_first(to(before, rest)?).filter(|(_, last, _)| first < *last)?;
        let (start, rest) = match year(rest) {
            Some((year, rest)) => (Date::new(year, month, first).ok()?, rest),
            None => (self.without_year(month, first)?, rest),
        };
        let end = Date::new(start.year(), month, last).ok()?;
        Some(([start, end], rest))
    }

    /// Reads 下个月3号, 上月3日到6日, `next month on the 3rd`, `the 3rd to the 6th of next month`: one
    /// or two days of a month near this one.
    fn of_near_month<'a>(&self, before: &str, here: &'a str) -> Option<(Vec<Date>, &'a str)> {
        if before.ends_with(is_digit) || is_inside(before) {
            return None;
        }
        let (months, [first, last], rest) = if let Some((months, rest)) = near_month(here) {
            let (days, rest) = days_behind(rest)?;
            (months, days, rest)
        } else {
            let (first, rest) = ordinal(here)?;
            let (last, rest) = match to(before, rest) {
                Some(rest) => ordinal(rest).map(|(day, rest)| (Some(day), rest))?,
                None => (None, rest),
            };
            let rest = rest.trim_start();
            let (months, rest) = near_month(rest.strip_prefix("of ").unwrap_or(rest))?;
            (months, [Some(first), last], rest)
        };
        let month = self.today.first_of_month().checked_add(months.months());
        let month = month.ok()?;
        let day = |day: i8| Date::new(month.year(), month.month(), day).ok();
        let days = [first, last].into_iter().flatten().map(day);
        let days: Vec<_> = days.collect::<Option<_>>()?;
        // A period that ends before its beginning is neither of its days.
        let right = days.is_sorted();
        Some((days.into_iter().filter(|_| right).collect(), rest))
    }

    /// Reads 2026-03-02, 2026年3月2日, 3月2日, `March 2nd, 2026`, `2 March`.
    fn date<'a>(&self, before: &str, here: &'a str) -> Option<(Date, &'a str)> {
        if before.ends_with(is_digit) {
            return None;
        }
        if let Some(found) = full(here) {
            return Some(found);
        }
        if let Some((month, day, rest)) = chinese(here) {
            return Some((self.without_year(month, day)?, rest));
        }
        if let Some((month, day, rest)) = dotted(before, here).or_else(|| slashed(before, here)) {
            return match digits(rest, 4).filter(|(year, _)| *year >= 1000) {
                Some((year, rest)) => Some((Date::new(year, month, day).ok()?, rest)),
                None => Some((self.without_year(month, day)?, rest)),
            };
        }
        let (month, day, rest) = english(here).filter(|_| !is_inside(before))?;
        // A period that ends before its beginning is neither of its days: "from 10 to 8 April".
        if here.starts_with(is_digit) && ends_period(before, day) {
            return None;
        }
        match year(rest) {
            Some((year, rest)) => Some((Date::new(year, month, day).ok()?, rest)),
            None => Some((self.without_year(month, day)?, rest)),
        }
    }

    /// Returns the day in the year that fits the direction. The end of a period is after its
    /// beginning.
    fn without_year(&self, month: i8, day: i8) -> Option<Date> {
        let from = self.seen.last().map_or(self.today, |(day, _)| *day);
        let year = from.year();
        let mut days = [year - 1, year, year + 1]
            .into_iter()
            .filter_map(|year| Date::new(year, month, day).ok());
        match self.toward {
            DateDirection::Ahead => days.find(|day| *day >= from),
            DateDirection::Back => {
                let later = days.clone().find(|day| (from..=self.today).contains(day));
                later.or_else(|| days.rfind(|day| *day <= self.today))
            }
        }
    }

    /// Reads 明天, 3天后, `in 3 days`, `3 days ago`.
    fn near<'a>(&self, before: &str, here: &'a str) -> Option<(Date, &'a str)> {
        if before.ends_with(is_digit) || is_inside(before) {
            return None;
        }
        let (days, rest) = match near_day(here) {
            // 然后天 and similar characters are the ends of other words.
            Some((days, rest)) if !before.ends_with(['以', '之', '然', '今', '最', '随', '先']) => {
                (days, rest)
            }
            Some(_) => return None,
            None => counted(here)?,
        };
        Some((self.today.checked_add(days.days()).ok()?, rest))
    }

    /// Reads 下周三, 周三, `last Friday`, `Friday`; the flag is true for the bare name.
    fn week<'a>(&self, before: &str, here: &'a str) -> Option<(Date, bool, &'a str)> {
        const WHICH: [(&str, i64); 6] = [
            ("上上", -2),
            ("上", -1),
            ("下下", 2),
            ("下", 1),
            ("这", 0),
            ("本", 0),
        ];
        // 每周三 is more than one day, and so are three weeks.
        let head = before.strip_suffix('个').unwrap_or(before);
        if head.ends_with(['每', '几', '第']) || head.ends_with(is_digit) || is_inside(head) {
            return None;
        }
        let told = ["last ", "next ", "this ", "上", "下", "这", "本"];
        let told = || told.iter().any(|word| head.ends_with(word));
        if let Some((day, weeks, rest)) = of_named_week(here) {
            return Some((self.of_week(day, weeks)?, false, rest));
        }
        let mut words = ["last ", "next ", "this "].into_iter();
        let word = words.find_map(|word| Some((word, here.strip_prefix(word)?.trim_start())));
        if let Some((day, rest)) = weekday(word.map_or(here, |(_, rest)| rest)) {
            let day = self.english(day, word.map_or("", |(word, _)| word))?;
            let named = word.is_none();
            return (!named || !told()).then_some((day, named, rest));
        }
        let which = WHICH.into_iter().find_map(|(word, weeks)| {
            let rest = here.strip_prefix(word)?;
            Some((weeks, rest.strip_prefix('个').unwrap_or(rest)))
        });
        let mut behind = week(which.map_or(here, |(_, rest)| rest))?.chars();
        let day = weekday_sign(behind.next()?)?;
        let rest = behind.as_str();
        // 周三天 may be three days of a week.
        if rest.starts_with('天') && !rest.starts_with("天气") {
            return None;
        }
        let day = match which {
            Some((weeks, _)) => self.of_week(day, weeks)?,
            None => self.named(day).filter(|day| {
                let is_sure = !self.seen.is_empty() || self.is_plan;
                is_sure || self.of_week(day.weekday(), 0) == Some(*day)
            })?,
        };
        let named = which.is_none();
        (!named || !told()).then_some((day, named, rest))
    }

    /// Returns the last or next such day, if it is also in the last or next week; otherwise it is
    /// ambiguous.
    fn english(&self, day: Weekday, word: &str) -> Option<Date> {
        let ahead = i64::from(self.today.weekday().until(day));
        let days = match word {
            "this " => return self.of_week(day, 0).filter(|day| self.lies_there(*day)),
            "last " => ahead - 7,
            "next " if ahead == 0 => 7,
            "next " => ahead,
            _ => return self.named(day),
        };
        let found = self.today.checked_add(days.days()).ok()?;
        let week = if word == "last " { -1 } else { 1 };
        (self.of_week(day, week) == Some(found)).then_some(found)
    }

    /// Returns the first such day from the last one read on, or else the nearest one in this
    /// direction.
    fn named(&self, day: Weekday) -> Option<Date> {
        if let Some((last, _)) = self.seen.last() {
            return last
                .checked_add(i64::from(last.weekday().until(day)).days())
                .ok();
        }
        let ahead = i64::from(self.today.weekday().until(day));
        let days = match self.toward {
            DateDirection::Ahead => ahead,
            DateDirection::Back => ahead - 7,
        };
        // Today would be named as such.
        (ahead != 0).then(|| self.today.checked_add(days.days()).ok())?
    }

    fn lies_there(&self, day: Date) -> bool {
        match self.toward {
            DateDirection::Ahead => day >= self.today,
            DateDirection::Back => day <= self.today,
        }
    }

    /// Returns a day of the week that is so many weeks from this one.
    fn of_week(&self, day: Weekday, weeks: i64) -> Option<Date> {
        let monday = i64::from(self.today.weekday().to_monday_zero_offset());
        let ahead = 7 * weeks + i64::from(day.to_monday_zero_offset()) - monday;
        self.today.checked_add(ahead.days()).ok()
    }
}

/// Reads `next week Tuesday`, `Tuesday of next week`, with the distance in weeks.
fn of_named_week(here: &str) -> Option<(Weekday, i64, &str)> {
    const WEEKS: [(&str, i64); 3] = [("last week", -1), ("this week", 0), ("next week", 1)];
    let named = |text| {
        let mut weeks = WEEKS.into_iter();
        weeks.find_map(|(name, distance)| Some((distance, after_word(text, &[name])?)))
    };
    if let Some((distance, behind)) = named(here) {
        let behind = behind.trim_start_matches([' ', ',']);
        let (day, rest) = weekday(after_word(behind, &["on"]).unwrap_or(behind).trim_start())?;
        return Some((day, distance, rest));
    }
    let (day, behind) = weekday(here)?;
    let behind = behind.trim_start_matches([' ', ',']);
    let behind = after_word(behind, &["of", "in"])
        .unwrap_or(behind)
        .trim_start();
    let (distance, rest) = named(behind)?;
    Some((day, distance, rest))
}

/// Reads the name of a month near this one, with its distance in months.
fn near_month(here: &str) -> Option<(i64, &str)> {
    const NEAR: [(&str, i64); 11] = [
        ("下下个月", 2),
        ("下个月", 1),
        ("下月", 1),
        ("这个月", 0),
        ("本月", 0),
        ("上上个月", -2),
        ("上个月", -1),
        ("上月", -1),
        ("next month", 1),
        ("this month", 0),
        ("last month", -1),
    ];
    let mut near = NEAR.into_iter();
    near.find_map(|(word, months)| Some((months, after_word(here, &[word])?)))
}

/// Reads the day or the days behind the name of a month: 的3号到6号, ` from the 3rd to the 6th`.
fn days_behind(text: &str) -> Option<([Option<i8>; 2], &str)> {
    let text = text.trim_start_matches(['的', ' ', ',', '，']);
    if let Some((day, rest)) = number(text) {
        let first = i8::try_from(day).ok();
        let until = |rest| {
            let (day, rest) = number(after_word(rest, &TO)?.trim_start())?;
            Some(([first, i8::try_from(day).ok()], of_day(rest)?))
        };
        return match of_day(rest) {
            Some(rest) => Some(until(rest.trim_start()).unwrap_or(([first, None], rest))),
            None => until(rest.trim_start()).or_else(|| english_days("", text)),
        };
    }
    let start = after_word(text, &["from", "on", "between"]).unwrap_or(text);
    let head = text.get(..text.len() - start.len())?;
    english_days(head, start.trim_start())
}

/// Reads `the 3rd`, `3rd to 6th`.
fn english_days<'a>(before: &str, text: &'a str) -> Option<([Option<i8>; 2], &'a str)> {
    let named = after_word(text, &["the"]).map(str::trim_start);
    let (first, rest) = ordinal(named.unwrap_or(text))?;
    // A number alone may count something.
    let is_bare = text.get(..text.len() - rest.len())?.ends_with(is_digit);
    if is_bare && named.is_none() {
        return None;
    }
    let last = to(before, rest).and_then(ordinal);
    Some(match last {
        Some((last, rest)) => ([Some(first), Some(last)], rest),
        None => ([Some(first), None], rest),
    })
}

/// Returns true if the words before a day make it the end of a period that begins later in its month.
fn ends_period(before: &str, last: i8) -> bool {
    let lead = tail(before).trim_end();
    let lead = before_word(lead, &["the"]).map_or(lead, str::trim_end);
    let lead = before_word(lead, &TO).map_or(lead, str::trim_end);
    let lead = lead.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let from = lead.trim_end_matches(is_digit);
    let first = lead.get(from.len()..).and_then(|first| first.parse().ok());
    let is_joined = before.trim_end().len() > lead.len();
    is_joined && first.is_some_and(|first: i8| (last..=31).contains(&first))
}

/// Returns the text behind the words between the first and the last day: ` to the `, and ` and the `
/// after `between`.
fn to<'a>(before: &str, rest: &'a str) -> Option<&'a str> {
    let lead = before.trim_end();
    let lead = before_word(lead, &["the"]).map_or(lead, str::trim_end);
    let between = before_word(lead, &["between"]).map(|_| "and");
    let rest = rest.trim_start();
    let joined = after_word(rest, &TO).or_else(|| after_word(rest, &[between?]))?;
    let rest = joined.trim_start();
    Some(rest.strip_prefix("the ").unwrap_or(rest))
}

/// The words between the first and the last day of a period.
const TO: [&str; 11] = [
    "到", "至", "-", "–", "~", "～", "to", "until", "till", "til", "through",
];
/// Those of them that say without a first day that a day is the last one.
const UNTIL: [&str; 4] = ["until", "till", "til", "直到"];

/// Returns true if words lead from what is written like a day to the next one: of "31 November to" none
/// was read, as there is none, and the next is no first day.
fn follows_no_day(lead: &str) -> bool {
    const TO: [&str; 5] = ["to", "through", "到", "至", "-"];
    let Some(day) = before_word(lead, &TO).map(str::trim_end) else {
        return false;
    };
    // "31 November" and "November 31".
    let digits = day.trim_end_matches(|c: char| c.is_ascii_digit());
    let named = digits.trim_end().rsplit(|c: char| !c.is_ascii_alphabetic());
    let month = named.into_iter().next().and_then(month);
    month.is_some_and(|(_, rest)| rest.is_empty()) || day.ends_with(['日', '号'])
}

/// Reads 至5日, `- 5`: a day of the month of the last day.
fn range_end<'a>(last: Date, gap: &str, here: &'a str) -> Option<(Date, &'a str)> {
    let rest = after_word(here, &TO)?.trim_start();
    let rest = after_word(rest, &["the"]).map_or(rest, str::trim_start);
    let (day, behind) = digits(rest, 2)?;
    let at_once = || {
        let (_, behind) = ordinal(rest).filter(|_| gap.trim().is_empty())?;
        // It may begin a date of its own.
        let begins =
            english(rest).is_some() || dotted("-", rest).is_some() || slashed("-", rest).is_some();
        (!begins).then_some(behind)
    };
    let behind = of_day(behind).or_else(at_once)?;
    let day = Date::new(last.year(), last.month(), day.try_into().ok()?).ok()?;
    Some((day, behind))
}

/// Reads 3天后, 两周前, `in 3 days`, `two weeks ago`, in days from now.
fn counted(here: &str) -> Option<(i64, &str)> {
    const LATER: [&str; 3] = ["后", "之后", "以后"];
    const EARLIER: [&str; 3] = ["前", "之前", "以前"];
    let ahead = here.strip_prefix("in ").map(str::trim_start);
    let text = ahead.unwrap_or(here);
    let article = || after_word(text, &["a"]).map(|rest| (1, rest));
    let (count, rest) = counting(text).or_else(article)?;
    let count = i64::from(i16::try_from(count).ok()?);
    let rest = rest.trim_start();
    let unit = |days: i64, names: &[&str]| Some((count * days, after_word(rest, names)?));
    let english = unit(1, &["days", "day"]).or_else(|| unit(7, &["weeks", "week"]));
    if let Some((days, rest)) = english {
        return match ahead {
            Some(_) => Some((days, rest)),
            None => Some((-days, after_word(rest.trim_start(), &["ago"])?)),
        };
    }
    let weeks = || unit(7, &["周", "星期", "礼拜", "个星期", "个礼拜"]);
    let (days, rest) = unit(1, &["天"])
        .or_else(weeks)
        .filter(|_| ahead.is_none())?;
    let later = after_word(rest, &LATER).map(|rest| (days, rest));
    later.or_else(|| Some((-days, after_word(rest, &EARLIER)?)))
}

/// Reads a number in digits, in Chinese or in one English word.
fn counting(text: &str) -> Option<(i64, &str)> {
    number(text).or_else(|| english_word(text))
}

/// Returns a duration in days, if there is exactly one, and the text without durations.
fn lasts(text: &str) -> (Option<i64>, String) {
    let lower = text.to_ascii_lowercase();
    let (mut rest, mut end, mut found) = (String::new(), 0, vec![]);
    for (at, _) in lower.char_indices() {
        let (Some((before, here)), true) = (lower.split_at_checked(at), at >= end) else {
            continue;
        };
        let within = before.ends_with(|c| is_digit(c) || "每第.".contains(c)) || is_inside(before);
        if within {
            continue;
        }
        let read = counting(here).and_then(|(count, rest)| {
            let rest = rest.trim_start();
            Some((count, after_word(rest, &["天", "days", "day"])?))
        });
        if let Some((count, behind)) = read {
            found.extend((1..=99).contains(&count).then_some(count));
            rest.push_str(text.get(end..at).unwrap_or_default());
            rest.push(' ');
            end = lower.len() - behind.len();
        }
    }
    rest.push_str(text.get(end..).unwrap_or_default());
    found.dedup();
    let lasts = match *found {
        [count] => Some(count),
        _ => None,
    };
    (lasts, rest)
}

#[cfg(test)]
mod tests;
