//! Numbers that are written in words.
use crate::{
    number::digit,
    word::{after_word, before_word},
};

/// The English words of numbers below a hundred, and their units.
const WORDS: [(&str, i64); 28] = [
    ("zero", 0),
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
];
const SCALES: [(&str, i64); 3] = [
    ("hundred", 100),
    ("thousand", 1_000),
    ("million", 1_000_000),
];
/// "That one" counts nothing.
const POINTS: [&str; 7] = ["that", "this", "the", "which", "any", "no", "each"];

/// The Chinese units of numbers.
const UNITS: [(char, i64); 5] = [
    ('十', 10),
    ('百', 100),
    ('千', 1_000),
    ('万', 10_000),
    ('亿', 100_000_000),
];
/// The most characters of a number in words, and of what is looked at before one.
const LONGEST: usize = 40;
/// 一下 and 一些 count nothing, and neither does 第一 or 统一.
const AFTER: &str = "下些起样直定般切律向旦半";
const BEFORE: &str = "第统唯万";

/// Reads the number that an English word at the beginning of a text is.
pub(crate) fn english_word(text: &str) -> Option<(i64, &str)> {
    let mut words = WORDS.into_iter();
    words.find_map(|(word, value)| Some((value, after_word(text, &[word])?)))
}

/// Writes the numbers of a text that are in words in digits: "twenty-one", 一百二十, 3万, 半个 and
/// 百分之五. What only looks like a number stays as it is.
///
/// ```
/// use fugato_text::numerals;
///
/// assert_eq!(numerals("one hundred and twenty minus forty-five"), "120 minus 45");
/// assert_eq!(numerals("零点零五个，八十的百分之十五，3万，一个半"), "0.05个，80的15%，30000，1.5个");
/// assert_eq!(numerals("看一下，千万别买，that one"), "看一下，千万别买，that one");
/// ```
pub fn numerals(text: &str) -> String {
    figured(text).0
}

/// Writes the numbers of a text in digits, and returns with it where those begin that were in
/// English words.
pub(crate) fn figured(text: &str) -> (String, Vec<usize>) {
    let (mut out, mut rest, mut english_ones) = (String::new(), text, vec![]);
    while let Some(first) = rest.chars().next() {
        let english = first
            .is_ascii_alphanumeric()
            .then(|| english(rest, &out))
            .flatten();
        english_ones.extend(english.is_some().then_some(out.len()));
        let chinese = || {
            let latin = first.is_ascii_alphabetic();
            (!latin).then(|| chinese(rest, &out)).flatten()
        };
        if let Some((number, tail)) = english.or_else(chinese) {
            out.push_str(&number);
            rest = tail;
            continue;
        }
        // A Latin word is read whole or not at all.
        let end = rest.find(|c: char| !c.is_ascii_alphabetic());
        let (word, tail) = match end.unwrap_or(rest.len()) {
            0 => rest.split_at(first.len_utf8()),
            end => rest.split_at(end),
        };
        out.push_str(word);
        rest = tail;
    }
    (out, english_ones)
}

/// Returns true for an English word that is a number.
pub(crate) fn is_numeral(word: &str) -> bool {
    known(&WORDS, word)
        .or_else(|| known(&SCALES, word))
        .is_some()
}

fn known(table: &[(&str, i64)], word: &str) -> Option<i64> {
    let mut table = table.iter();
    let found = table.find(|(known, _)| word.eq_ignore_ascii_case(known));
    found.map(|(_, value)| *value)
}

/// Reads `twenty-one`, `a hundred and five`, `two point five`, `2 million`.
fn english<'t>(text: &'t str, before: &str) -> Option<(String, &'t str)> {
    let next = |text: &'t str| first_word(text.trim_start_matches([' ', '-']));
    let (mut total, mut part, mut rest, mut any) = (0_i64, 0_i64, text, false);
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        if goes_before(before) {
            return None;
        }
        let (number, tail) = figures(text)?;
        let (word, behind) = next(tail);
        let scale = known(&SCALES, word).filter(|_| tail.starts_with(' '))?;
        if number.contains('.') {
            return Some((scaled(&number, scale)?, behind));
        }
        (part, rest, any) = (number.parse().ok()?, tail, true);
    } else if known(&SCALES, next(text).0).is_some() && is_vague(before) {
        return None;
    }
    loop {
        let from = rest.trim_start_matches([' ', '-']);
        let joined = from.strip_prefix("and ").filter(|_| any && rest != from);
        let (word, tail) = first_word(joined.unwrap_or(from));
        match (known(&WORDS, word), known(&SCALES, word)) {
            // "Two three" are two numbers.
            (Some(value), _) if fits(part % 100, value) => part += value,
            (_, Some(100)) => part = part.max(1).checked_mul(100)?,
            (_, Some(scale)) => {
                total = total.checked_add(part.max(1).checked_mul(scale)?)?;
                part = 0;
            }
            _ => break,
        }
        (rest, any) = (tail, true);
    }
    let said = text.get(..text.len() - rest.len()).unwrap_or_default();
    let lead = end_of(before).trim_end().to_ascii_lowercase();
    let points = POINTS.iter().any(|word| lead.ends_with(word));
    let is_read = any && !(said.eq_ignore_ascii_case("one") && points);
    let number = is_read.then(|| total.checked_add(part)).flatten()?;
    let Some((places, behind)) = places(rest) else {
        return Some((number.to_string(), rest));
    };
    let number = format!("{number}.{places}");
    let (word, tail) = next(behind);
    Some(match known(&SCALES, word) {
        Some(scale) => (scaled(&number, scale)?, tail),
        None => (number, behind),
    })
}

/// Reads the digits after a point: ` point two five`.
fn places(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix(" point")?;
    let mut places = String::new();
    while let Some(from) = rest.strip_prefix(' ') {
        let (word, tail) = first_word(from);
        match known(&WORDS, word) {
            Some(digit) if digit < 10 => places.push_str(&digit.to_string()),
            _ => break,
        }
        rest = tail;
    }
    (!places.is_empty()).then_some((places, rest))
}

/// Returns true if what comes before a hundred tells that it is not one, as in "a few hundred" and
/// "half a million".
fn is_vague(before: &str) -> bool {
    const VAGUE: [&str; 7] = [
        "few", "several", "couple", "many", "some", "half", "quarter",
    ];
    let lead = end_of(before).trim_end_matches([' ', '-']);
    let lead = lead.to_ascii_lowercase();
    let before = |lead: &str, word| before_word(lead, &[word]).map(|it| it.trim_end().to_owned());
    let lead = before(&lead, "a").unwrap_or(lead);
    let lead = before(&lead, "of").unwrap_or(lead);
    goes_before(&lead) || before_word(&lead, &VAGUE).is_some()
}

/// Returns the last characters of a text, in which the word before a number is.
fn end_of(text: &str) -> &str {
    let from = text.char_indices().rev().take(LONGEST).last();
    from.and_then(|(from, _)| text.get(from..))
        .unwrap_or_default()
}

/// Returns true if a number goes on where a text ends.
fn goes_before(before: &str) -> bool {
    before.ends_with(|c: char| c.is_ascii_digit() || ".,'".contains(c))
}

/// Returns true if a word can follow the tens: "twenty one", and not "ten one".
fn fits(tens: i64, value: i64) -> bool {
    tens == 0 || (tens >= 20 && tens % 10 == 0 && (1..10).contains(&value))
}

fn first_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphabetic());
    text.split_at(end.unwrap_or(text.len()))
}

fn chinese<'t>(text: &'t str, before: &str) -> Option<(String, &'t str)> {
    if let Some(part) = text.strip_prefix("百分之") {
        let (number, rest) = figures(part).or_else(|| run(part))?;
        return Some((format!("{number}%"), rest));
    }
    if text.starts_with('半') && text.chars().nth(1).is_some_and(|c| "个個枚".contains(c)) {
        return Some(("0.5".to_owned(), text.strip_prefix('半')?));
    }
    if goes_before(before) {
        return None;
    }
    if let Some((said, rest)) = formal(text, before) {
        return Some((run(&said)?.0, rest));
    }
    if let Some(mixed) = mixed(text) {
        return Some(mixed);
    }
    let follows = |rest: &str| rest.starts_with(|c: char| digit(c).is_some());
    if let Some((number, rest)) = figures(text) {
        let times = rest.chars().next().and_then(unit);
        let tail = rest.strip_prefix(|c| unit(c).is_some()).unwrap_or(rest);
        let times = times.unwrap_or(1);
        let is_plain = !follows(tail) && figures(tail).is_none();
        let scaled = (times > 1 && is_plain).then(|| scaled(&number, times))?;
        return Some((scaled?, tail));
    }
    let (number, rest) = run(text).or_else(|| unread(text))?;
    let said = text.get(..text.len() - rest.len())?;
    let is_one = said.chars().count() == 1;
    let counts_nothing = rest.starts_with(|c| AFTER.contains(c)) || rest.starts_with('点');
    let lead = before.trim_end_matches('万');
    let is_counted = lead.len() < before.len() && lead.ends_with(|c: char| c.is_ascii_digit());
    let is_ordinal = before.ends_with(|c| BEFORE.contains(c)) && !is_counted;
    if is_one && (counts_nothing || is_ordinal) || figures(rest).is_some() {
        return None;
    }
    // With 一块吃饭 two eat together.
    let mut behind = rest.chars().skip_while(|c| *c == '块');
    let together = said == "一" && rest.starts_with('块');
    if together
        && behind
            .next()
            .is_some_and(|c| is_han(c) && c != '钱' && digit(c).is_none())
    {
        return None;
    }
    let half = ["个半", "個半"].iter().find_map(|it| rest.strip_prefix(it));
    Some(match half {
        Some(rest) => (format!("{number}.5个"), rest),
        None => (number, rest),
    })
}

fn is_han(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

/// Returns the figures with which a text begins, if they stand for themselves.
fn figures(text: &str) -> Option<(String, &str)> {
    let is_figure = |c: char| c.is_ascii_digit() || c == '.';
    let rest = text.trim_start_matches(is_figure);
    let number = text.get(..text.len() - rest.len())?;
    let is_number = number.starts_with(|c: char| c.is_ascii_digit()) && !number.ends_with('.');
    is_number.then(|| (number.to_owned(), rest))
}

/// Multiplies a decimal number by a power of ten.
fn scaled(number: &str, times: i64) -> Option<String> {
    let (whole, places) = number.split_once('.').unwrap_or((number, ""));
    let zeros = usize::try_from(times.ilog10()).ok()?;
    let digits = format!("{places:0<zeros$}");
    let (more, rest) = digits.split_at_checked(zeros)?;
    let whole = format!("{whole}{more}");
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    Some(if rest.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{rest}")
    })
}

/// Returns the value of a Chinese digit below ten.
fn plain(c: char) -> Option<i64> {
    digit(c).filter(|value| *value < 10)
}

fn unit(c: char) -> Option<i64> {
    let mut units = UNITS.iter();
    let found = units.find(|(sign, _)| *sign == c);
    found.map(|(_, times)| *times)
}

/// Splits a text after the Chinese digits and units at its beginning.
fn split_run(text: &str) -> (&str, &str) {
    let end = text.find(|c| digit(c).is_none() && unit(c).is_none());
    text.split_at(end.unwrap_or(text.len()))
}

/// Returns the Chinese number with which a text begins; a unit alone is none, but for 十.
fn run(text: &str) -> Option<(String, &str)> {
    let (said, mut rest) = split_run(text);
    let counts = said.chars().any(|c| plain(c).is_some()) || said.starts_with('十');
    if !counts {
        return None;
    }
    let digits = |said: &str| -> String {
        let digits = said.chars().filter_map(plain);
        digits.map(|digit| digit.to_string()).collect()
    };
    let mut number = if said.chars().all(|c| plain(c).is_some()) {
        // 两三 is two or three.
        let values: Vec<_> = said.chars().filter_map(plain).collect();
        if matches!(*values, [(1..), (1..)]) {
            return None;
        }
        digits(said)
    } else {
        let said: Option<Vec<_>> = said.chars().map(Part::of).collect();
        value(&said?)?.to_string()
    };
    if let Some(places) = rest.strip_prefix('点') {
        let tail = places.trim_start_matches(|c| plain(c).is_some());
        let said = places.get(..places.len() - tail.len())?;
        if !said.is_empty() {
            number = format!("{number}.{}", digits(said));
            rest = tail;
        }
    }
    Some((number, rest))
}

/// A part of a number with units.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Value(i64),
    Unit(i64),
}

impl Part {
    fn of(c: char) -> Option<Self> {
        plain(c)
            .map(Self::Value)
            .or_else(|| unit(c).map(Self::Unit))
    }
}

/// Returns the value of a number with units. 两三百 is no number, and neither is 百八十.
fn value(parts: &[Part]) -> Option<i64> {
    let (mut total, mut section, mut last) = (0_i64, 0_i64, 0_i64);
    let mut below = i64::MAX;
    let mut before = None;
    for part in parts {
        match *part {
            Part::Value(value) => {
                if matches!(before, Some(Part::Value(1..))) {
                    return None;
                }
                last = value;
            }
            Part::Unit(times @ (10 | 100 | 1_000)) if times < below => {
                // Ten needs no one before it.
                let counted = last > 0 || times == 10;
                section += last.max(1).checked_mul(times).filter(|_| counted)?;
                (last, below) = (0, times);
            }
            Part::Unit(times) if times >= 10_000 && section + last > 0 => {
                let part = (section + last).checked_mul(times)?;
                total = total.checked_add(part)?;
                (section, last, below) = (0, 0, i64::MAX);
            }
            Part::Unit(_) => return None,
        }
        before = Some(*part);
    }
    // 二百五 is two hundred and fifty.
    let short = match parts {
        [.., Part::Unit(times @ 100..), Part::Value(_)] => times / 10,
        _ => 1,
    };
    total
        .checked_add(section)?
        .checked_add(last.checked_mul(short)?)
}

/// Reads a number of figures and units: 1万2千, 3千五百; or 1万2 and 3千5, in which the last digit
/// counts the next smaller unit.
fn mixed(text: &str) -> Option<(String, &str)> {
    let (mut parts, mut rest, mut has_figures) = (vec![], text, false);
    while let Some(c) = rest.chars().next() {
        if parts.len() > LONGEST {
            return None;
        }
        if c.is_ascii_digit() {
            let tail = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            let figures = rest.get(..rest.len() - tail.len())?;
            parts.push(Part::Value(figures.parse().ok()?));
            (rest, has_figures) = (tail, true);
        } else if let Some(part) = Part::of(c) {
            parts.push(part);
            rest = rest.strip_prefix(c)?;
        } else {
            break;
        }
    }
    let units = parts.iter().filter(|part| matches!(part, Part::Unit(_)));
    let is_whole = match *parts {
        [.., Part::Unit(_)] => units.count() > 1,
        [.., Part::Value(1..), Part::Unit(100..), Part::Value(1..10)] => ends_a_number(rest),
        _ => false,
    };
    let value = (has_figures && is_whole).then(|| value(&parts)).flatten()?;
    Some((value.to_string(), rest))
}

/// Returns true if the last digit of 3千5 belongs to the number: it is no day, time or place of what
/// follows.
fn ends_a_number(rest: &str) -> bool {
    !rest.starts_with(|c: char| {
        c.is_ascii_alphanumeric() || ".:-/月日号點点时分年周期天晚人".contains(c)
    })
}

/// Returns the plain form of a number in the characters of receipts, 叁佰贰拾, with the rest.
fn formal<'t>(text: &'t str, before: &str) -> Option<(String, &'t str)> {
    const FORMAL: &str = "壹一贰二叁三肆四伍五陆六柒七捌八玖九拾十佰百仟千零零";
    let simple = |c: char| {
        let mut pairs = FORMAL.chars();
        while let (Some(formal), Some(plain)) = (pairs.next(), pairs.next()) {
            if formal == c {
                return Some(plain);
            }
        }
        "万亿".contains(c).then_some(c)
    };
    let said: String = text.chars().take(LONGEST).map_while(simple).collect();
    let count = said.chars().count();
    let (head, rest) = match text.char_indices().nth(count) {
        Some((end, _)) => text.split_at(end),
        None => (text, ""),
    };
    // 大陆 and 队伍 are words.
    let is_formal = count > 1 && head.contains(['拾', '佰', '仟'])
        || count == 1 && rest.starts_with(['元', '圆', '角'])
        || count == 1 && rest.starts_with('分') && before.ends_with('角');
    is_formal.then_some((said, rest))
}

/// Returns the Chinese digits and units at the beginning of a text as they are, if they are no
/// number, so that none is read in the midst of them.
fn unread(text: &str) -> Option<(String, &str)> {
    let (said, rest) = split_run(text);
    let digits = said.chars().filter(|c| plain(*c).is_some());
    let several = digits.count() > 0 && said.chars().count() > 1;
    several.then(|| (said.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words_are_written_in_digits() {
        for (text, expected) in [
            ("Buy two ether", "Buy 2 ether"),
            ("seven plus five", "7 plus 5"),
            ("two thousand three hundred and four", "2304"),
            ("two three", "2 3"),
            ("seventy thousand", "70000"),
            ("ninety nine bones", "99 bones"),
            ("someone, tension", "someone, tension"),
            ("2的64次方", "2的64次方"),
            ("一百二十三乘以四", "123乘以4"),
            ("十万个", "100000个"),
            ("二〇二六年", "2026年"),
            ("1.25万", "12500"),
            ("3千5", "3500"),
            ("6万五", "65000"),
            (
                "预算1万2，6千5到7千，3百5块",
                "预算12000，6500到7000，350块",
            ),
            (
                "3千5号出发，2千8.5，1万23，3千5点半",
                "3千5号出发，2千8.5，1万23，3千5点半",
            ),
            ("两个以太坊", "2个以太坊"),
            ("一点比特币", "一点比特币"),
            ("卖一半", "卖一半"),
            ("三点五", "3.5"),
            ("半个比特币", "0.5个比特币"),
            ("百分之12", "12%"),
            ("九亿亿亿亿", "九亿亿亿亿"),
            ("a hundred and five", "a 105"),
            ("two point five million", "2500000"),
            ("1.5 million or 3 hundred and five", "1500000 or 305"),
            (
                "a few hundred, half a million",
                "a few hundred, half a million",
            ),
            ("several thousand", "several thousand"),
            (
                "a dinner of a hundred, a couple of hundred",
                "a dinner of a 100, a couple of hundred",
            ),
            ("二百五，三万五，一千零二", "250，35000，1002"),
            ("1万2千，3千五百，三千5百", "12000，3500，3500"),
            ("两三块，三五天", "两三块，三五天"),
            ("叁佰元伍角叁分", "300元5角3分"),
            ("两三百，百八十，万一", "两三百，百八十，万一"),
            ("五百三千", "五百三千"),
            ("叁佰贰拾元，伍仟零柒元", "320元，5007元"),
            ("队伍去大陆", "队伍去大陆"),
            ("十五，一百一十二", "15，112"),
        ] {
            assert_eq!(numerals(text), expected, "{text}");
        }
    }
}
