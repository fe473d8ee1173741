//! Words that are taken back in the same breath: "on Friday, no, on Saturday".
use std::{borrow::Cow, ops::Range};

use crate::{
    calendar::DAY_PARTS,
    day_reference::{DayReference, day_mentions},
    money::{currency, money},
    number::{digit, is_digit, number},
    time::{clock_time, wait_at},
    word::{after_word, before_word, is_inside, tail_within},
};

/// These take back what was said before them, if a pause follows.
const FIRM: [&str; 14] = [
    "no wait",
    "no sorry",
    "wait no",
    "oh no",
    "nope",
    "no",
    "不不",
    "不对",
    "不是",
    "哦不",
    "我说错了",
    "说错了",
    "错了",
    "不",
];
/// These take a day, a time or an amount back if nothing but another one follows.
const LOOSE: [&str; 18] = [
    "no wait",
    "scratch that",
    "i meant",
    "i mean",
    "or rather",
    "rather",
    "better",
    "sorry",
    "actually",
    "wait",
    "make that",
    "make it",
    "我是说",
    "应该是",
    "不对",
    "我说错了",
    "说错了",
    "等等",
];
/// A sentence that begins with one of these takes something back that the sentences before it say.
const OPENERS: [&str; 8] = [
    "actually",
    "make that",
    "scratch that",
    "no wait",
    "wait",
    "不对",
    "说错了",
    "我说错了",
];
/// The words around a day, a time or an amount that say nothing else.
const AROUND: [&str; 36] = [
    "it was",
    "was",
    "in the",
    "on the",
    "on",
    "at",
    "to",
    "by",
    "in",
    "the",
    "from",
    "until",
    "till",
    "for",
    "of",
    "it",
    "move it",
    "instead",
    "please",
    "then",
    "rather",
    "o'clock",
    "改到",
    "改成",
    "换到",
    "挪到",
    "排到",
    "应该是",
    "是",
    "到",
    "在",
    "才对",
    "吧",
    "请",
    "的",
    "号",
];
const PAUSES: [char; 6] = [',', '，', '、', '…', '—', '–'];
/// The signs between which sentences stand that tell something.
const FULL_STOPS: [char; 4] = ['.', '。', '!', '！'];
const STOPS: [char; 10] = ['.', '。', ';', '；', '!', '！', '?', '？', '\n', '~'];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Day,
    /// Days from one to another; it is not clear which of them a single day replaces.
    Span,
    Part,
    Clock,
    /// A waiting time: "in 10 minutes".
    Wait,
    /// An amount with its currency.
    Amount,
}

type Mention = (Kind, Range<usize>);

/// The kinds that words take back.
const KINDS: [Kind; 6] = [
    Kind::Day,
    Kind::Span,
    Kind::Part,
    Kind::Clock,
    Kind::Wait,
    Kind::Amount,
];

/// Returns a text in which the days, times, waits and amounts of money that it takes back are those that it
/// puts in their place.
///
/// # Errors
/// Returns the words that take something back if it is not clear what.
///
/// ```
/// use fugato_text::corrected;
///
/// let read = |text| corrected(text).map(|text| text.into_owned());
/// assert_eq!(read("Move it to Friday, no, on Saturday"), Ok("Move it to Saturday".into()));
/// assert_eq!(read("周五下午五点，不对，六点提醒我"), Err("不对，六点提醒我"));
/// assert_eq!(read("call her at 5 pm, no wait, at 6"), Ok("call her at 6 pm".into()));
/// assert_eq!(read("move it to Friday, no, the other one"), Err("no, the other one"));
/// assert_eq!(read("45 dollars for lunch, sorry, 54 dollars"), Ok("54 dollars for lunch".into()));
/// assert_eq!(read("Claim 20 euros. Actually, claim 30"), Err("Actually, claim 30"));
/// assert_eq!(read("on Friday, not on Saturday"), Ok("on Friday, not on Saturday".into()));
/// ```
pub fn corrected(text: &str) -> Result<Cow<'_, str>, &str> {
    let (mut said, mut from, mut first) = (Cow::Borrowed(text), 0, None);
    while let Some(turn) = taken_back(&said, from) {
        let words = turn.words.clone();
        let refused = first.get_or_insert(words).clone();
        let Some(replaced) = turn.replaced else {
            return Err(text.get(refused).unwrap_or_default());
        };
        // What stands before the words takes nothing else back than it did.
        from = replaced.len();
        said = (replaced + said.get(turn.words.end..).unwrap_or_default()).into();
    }
    Ok(said)
}

/// Words that take something back.
struct Turn {
    /// The words, up to the end of what they put in its place.
    words: Range<usize>,
    /// The text before them, with that in its place; none if it is not clear what they mean.
    replaced: Option<String>,
}

/// Returns the first words behind a position that take something back.
fn taken_back(text: &str, from: usize) -> Option<Turn> {
    // Lower case by ASCII keeps the byte positions.
    let lower = text.to_ascii_lowercase();
    let signs = |c: char| PAUSES.contains(&c) || FULL_STOPS.contains(&c);
    let behind = lower.get(from..)?;
    behind.match_indices(signs).find_map(|(pause, sign)| {
        let pause = from + pause;
        let here = lower.get(pause + sign.len()..)?;
        let said = here.trim_start();
        let begins = sign.starts_with(FULL_STOPS);
        if begins && after_word(said, &OPENERS).is_none() {
            return None;
        }
        let (behind, is_firm) = marker(said)?;
        let from = lower.len() - said.len();
        let until = end(behind);
        let words = from..lower.len() - behind.len() + until;
        let is_bare = behind.get(..until)?.trim().is_empty();
        let replaced = || replaced(text, &lower, pause, &words);
        if begins {
            // It can mean nothing else.
            let replaced = replaced();
            return Some(Turn { words, replaced });
        }
        let replaced = replaced().filter(|_| !is_bare);
        let counts = !is_bare && (is_firm || replaced.is_some());
        counts.then_some(Turn { words, replaced })
    })
}

/// Returns what follows the words that take something back, and true if they can mean nothing else.
fn marker(said: &str) -> Option<(&str, bool)> {
    let is_gap = |c: char| c.is_whitespace() || PAUSES.contains(&c);
    let firm = FIRM.iter().find_map(|word| {
        let behind = after_word(said, &[word])?.trim_start();
        behind.starts_with(PAUSES).then_some(behind)
    });
    let behind = firm.or_else(|| after_word(said, &LOOSE))?;
    let behind = behind.trim_start_matches(is_gap);
    let further = marker(behind).map_or(behind, |(behind, _)| behind);
    Some((further, firm.is_some()))
}

/// Returns the length of the words up to the next pause or stop.
fn end(text: &str) -> usize {
    let is_end = |(at, c): &(usize, char)| {
        let next = text.get(at + c.len_utf8()..).unwrap_or_default();
        let within = ".,".contains(*c) && next.starts_with(is_digit);
        (PAUSES.contains(c) || STOPS.contains(c)) && !within
    };
    let end = text.char_indices().find(is_end);
    end.map_or(text.len(), |(at, _)| at)
}

/// Returns the text before a pause with its last days, times and amounts in the form of those in words
/// after it; `None` if they name anything else, or nothing of the kind stands in the sentence before
/// them.
fn replaced(text: &str, lower: &str, pause: usize, words: &Range<usize>) -> Option<String> {
    /// The most bytes before a pause in which something is taken back.
    const NEAR: usize = 240;
    let (behind, _) = marker(lower.get(words.clone())?)?;
    let from = words.end - behind.len();
    let near = tail_within(lower.get(..pause)?, NEAR);
    let sentence = near.get(sentence_start(near)..)?;
    let start = pause - sentence.len();
    let said = mentions(sentence);
    let mut times = said
        .iter()
        .filter(|(kind, _)| [Kind::Clock, Kind::Wait].contains(kind));
    let time = times.next_back();
    let time = time.and_then(|(kind, range)| Some((*kind, sentence.get(range.clone())?)));
    let new = mentions_alone(behind, time)?;
    let mut turns: Vec<(Range<usize>, Range<usize>)> = vec![];
    for kind in KINDS {
        let of = |all: &[Mention]| -> Vec<Range<usize>> {
            let own = all.iter().filter(|(other, _)| *other == kind);
            own.map(|(_, range)| range.clone()).collect()
        };
        let (old, new) = (of(&said), of(&new));
        let last = old.len().checked_sub(new.len())?;
        turns.extend(old.into_iter().skip(last).zip(new));
    }
    turns.sort_by_key(|(old, _)| old.start);
    let mut out = text.get(..pause)?.to_owned();
    // From the last to the first, so that the places before stay.
    for (old, new) in turns.into_iter().rev() {
        let old = start + old.start..start + old.end;
        let mut new = text.get(from + new.start..from + new.end)?.to_owned();
        let half = ["am", "pm", "a.m.", "p.m."].into_iter();
        let mut half =
            half.filter(|half| lower.get(old.clone()).is_some_and(|it| it.ends_with(half)));
        if let Some(half) = half.next().filter(|_| new.ends_with(is_digit)) {
            new = format!("{new} {half}");
        }
        if let Some(wait) = lower.get(old.clone()).and_then(|old| waiting(old, &new)) {
            new = wait;
        }
        out.replace_range(old, &new);
    }
    Some(out)
}

/// Returns a waiting time in the place of another one, whose words it may lack: of "in 10 minutes" and
/// "20" it is "in 20 minutes".
fn waiting(old: &str, new: &str) -> Option<String> {
    wait_at(old)?;
    let counted = old.trim_start_matches("in ");
    let lead = old.get(..old.len() - counted.len())?;
    let unit = number(counted).map_or("", |(_, unit)| unit);
    let whole = [
        new.to_owned(),
        format!("{lead}{new}"),
        format!("{lead}{new}{unit}"),
        format!("{new}后"),
    ];
    whole.into_iter().find(|it| wait_at(it) == Some(""))
}

/// Returns where the last sentence of a text begins. The point of a number ends none.
fn sentence_start(text: &str) -> usize {
    let mut stops = text.rmatch_indices(STOPS);
    let stop = stops.find_map(|(at, stop)| {
        let behind = text.get(at + stop.len()..)?;
        let within = stop == "." && behind.starts_with(is_digit);
        (!within).then_some(at + stop.len())
    });
    stop.unwrap_or(0)
}

/// Returns the days, times and amounts of words that say nothing else. A bare number is an hour or a
/// waiting time where it takes the place of this one.
fn mentions_alone(words: &str, time: Option<(Kind, &str)>) -> Option<Vec<Mention>> {
    let mut found = mentions(words);
    if let Some((kind, old)) = time.filter(|_| found.is_empty()) {
        let lead = if kind == Kind::Wait { "in " } else { "at " };
        let around = |c: char| c.is_whitespace() || "吧".contains(c);
        let bare = words.trim_matches(around).trim_start_matches(lead).trim();
        let bare = after_word(bare, &AROUND).unwrap_or(bare).trim();
        let is_hour = || bare.len() < 3 && bare.parse::<u8>().is_ok_and(|it| it < 24);
        if kind == Kind::Clock && is_hour() || waiting(old, bare).is_some() {
            let at = words.rfind(bare)?;
            found.push((kind, at..at + bare.len()));
        }
    }
    let mut rest = words.to_owned();
    for (_, range) in &found {
        rest.replace_range(range.clone(), &" ".repeat(range.len()));
    }
    let mut rest = rest.trim();
    while !rest.is_empty() {
        rest = after_word(rest, &AROUND)?.trim_start();
    }
    (!found.is_empty()).then_some(found)
}

/// Returns the days, parts of a day, times of day and amounts in a text in lower case.
fn mentions(text: &str) -> Vec<Mention> {
    let days = day_mentions(text).into_iter();
    let days = days.map(|day| match day.days {
        DayReference::Span(..) => (Kind::Span, day.range),
        _ => (Kind::Day, day.range),
    });
    let days: Vec<Mention> = days.collect();
    let (mut found, mut next_days) = (vec![], days.iter().peekable());
    let mut end = 0;
    for (at, _) in text.char_indices() {
        let Some((before, here)) = text.split_at_checked(at).filter(|_| at >= end) else {
            continue;
        };
        while next_days.next_if(|(_, day)| day.end <= at).is_some() {}
        let is_day = next_days.peek().is_some_and(|(_, day)| day.contains(&at));
        if is_inside(before) || is_day {
            continue;
        }
        let at_hour = || {
            let digits = here.len() - here.trim_start_matches(is_digit).len();
            let is_hour =
                (1..3).contains(&digits) && before_word(before.trim_end(), &["at"]).is_some();
            is_hour.then(|| here.get(digits..)).flatten()
        };
        let clock = clock_time(here).map(|(_, rest)| rest).or_else(at_hour);
        let part = || Some((Kind::Part, after_word(here, &DAY_PARTS)?));
        let clock = || clock.map(|rest| (Kind::Clock, rest));
        let amount = amount(here).map(|rest| (Kind::Amount, rest));
        let wait = || Some((Kind::Wait, wait_at(here)?));
        if let Some((kind, rest)) = amount.or_else(wait).or_else(clock).or_else(part) {
            end = text.len() - rest.len();
            found.push((kind, at..end));
        }
    }
    found.extend(days);
    found.sort_by_key(|(_, range)| range.start);
    found
}

/// Returns the rest of a text after the amount with a currency that it begins with.
fn amount(text: &str) -> Option<&str> {
    /// The most characters of an amount.
    const MOST: usize = 24;
    let begins = |c: char| is_digit(c) || digit(c).is_some() || "百$€£¥￥".contains(c);
    if !text.starts_with(begins) {
        return None;
    }
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let is_whole = |end: &usize| {
        text.split_at_checked(*end).is_some_and(|(said, rest)| {
            let goes_on = is_inside(said) && rest.starts_with(|c: char| c.is_ascii_alphanumeric());
            !goes_on && !said.ends_with(' ') && currency(said).is_some() && money(said).is_some()
        })
    };
    text.get(ends.take(MOST).filter(is_whole).last()?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corrected_day_or_time_is_taken() {
        for (text, expected) in [
            (
                "the deadline is on Friday, no, on Saturday",
                "the deadline is on Saturday",
            ),
            (
                "move book 2 to Friday, no, Wednesday, please",
                "move book 2 to Wednesday, please",
            ),
            (
                "call mum on Friday at 5 pm, no wait, at 6 pm",
                "call mum on Friday at 6 pm",
            ),
            (
                "on Monday at 9, sorry, I meant Tuesday at 10",
                "on Tuesday at 10",
            ),
            (
                "tomorrow morning, or rather in the evening",
                "tomorrow evening",
            ),
            ("on Friday, no, Monday, no, Tuesday", "on Tuesday"),
            (
                "Move it to Friday. Actually, on Saturday",
                "Move it to Saturday",
            ),
            ("改到周五。说错了，周六", "改到周六"),
            (
                "lunch for 45 dollars, no, 54 dollars, yesterday",
                "lunch for 54 dollars, yesterday",
            ),
            (
                "a taxi for $31.50 and lunch for $12, sorry, $15",
                "a taxi for $31.50 and lunch for $15",
            ),
            (
                "remind me in 10 minutes to call Bob, no, in 20",
                "remind me in 20 minutes to call Bob",
            ),
            (
                "call Bob in 10 minutes, no, in half an hour",
                "call Bob in half an hour",
            ),
            (
                "十分钟后提醒我打电话，不，二十分钟后",
                "二十分钟后提醒我打电话",
            ),
            ("打车四十五块，不对，五十四块", "打车五十四块"),
            ("把截止日期改到周五，不，周六", "把截止日期改到周六"),
            (
                "周五下午五点提醒我打电话，不对，六点",
                "周五下午六点提醒我打电话",
            ),
            ("把精读挪到周五，我是说周三，谢谢", "把精读挪到周三，谢谢"),
        ] {
            assert_eq!(corrected(text), Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_put_in_its_place_is_named() {
        for (text, words) in [
            ("move book 2 to Friday, no, book 3", "no, book 3"),
            ("from Monday to Wednesday, no, Thursday", "no, Thursday"),
            ("move book 2, no, to Friday", "no, to Friday"),
            (
                "I was ill on Monday. Move book 2, no, Tuesday",
                "no, Tuesday",
            ),
            ("把精读挪到周五，不，撰写报告", "不，撰写报告"),
            ("Claim 20 for a taxi. Actually 30.", "Actually 30"),
            ("buy 1 ETH! wait", "wait"),
            ("move book 2, no, 5 dollars", "no, 5 dollars"),
            (
                "lunch 45 dollars, no, 54 dollars for dinner",
                "no, 54 dollars for dinner",
            ),
            ("报销打车20元。不对", "不对"),
        ] {
            assert_eq!(corrected(text), Err(words), "{text}");
        }
    }

    #[test]
    fn what_takes_nothing_back_stays() {
        for text in [
            "on Friday, not on Saturday",
            "no, on Friday",
            "move it to Friday, no rush",
            "I am ill on Monday, sorry, can you free it",
            "on Friday, actually on Saturday too",
            "改到周六，不是周五",
            "",
        ] {
            assert_eq!(corrected(text), Ok(text.into()), "{text}");
        }
    }
}
