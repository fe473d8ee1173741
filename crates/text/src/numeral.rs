//! Numbers that are written in words.
use crate::number::digit;

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
/// 一下 and 一些 count nothing, and neither does 第一 or 统一.
const AFTER: &str = "下些起样直定般切律向旦半";
const BEFORE: &str = "第统唯万";

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
    let (mut out, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let read = if first.is_ascii_alphabetic() {
            english(rest, &out)
        } else {
            chinese(rest, &out)
        };
        if let Some((number, tail)) = read {
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
    out
}

fn english<'t>(text: &'t str, before: &str) -> Option<(String, &'t str)> {
    let (mut total, mut part, mut rest, mut any) = (0_i64, 0_i64, text, false);
    loop {
        let from = rest.trim_start_matches([' ', '-']);
        let joined = from.strip_prefix("and ").filter(|_| any && rest != from);
        let (word, tail) = first_word(joined.unwrap_or(from));
        let lower = word.to_ascii_lowercase();
        let known = |table: &[(&str, i64)]| {
            let found = table.iter().find(|(known, _)| *known == lower);
            found.map(|(_, value)| *value)
        };
        match (known(&WORDS), known(&SCALES)) {
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
    let lead = before.trim_end().to_ascii_lowercase();
    let points = POINTS.iter().any(|word| lead.ends_with(word));
    let is_read = any && !(said.eq_ignore_ascii_case("one") && points);
    is_read.then(|| ((total + part).to_string(), rest))
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
    if before.ends_with(|c: char| c.is_ascii_digit() || ".,'".contains(c)) {
        return None;
    }
    let follows = |rest: &str| rest.starts_with(|c: char| digit(c).is_some());
    if let Some((number, rest)) = figures(text) {
        let unit = |c: char| UNITS.iter().find(|(known, _)| *known == c);
        let (times, tail) = match rest.chars().next().and_then(unit) {
            Some((sign, times)) => (*times, rest.strip_prefix(*sign)?),
            None => (1, rest),
        };
        let is_plain = !follows(tail) && figures(tail).is_none();
        let scaled = (times > 1 && is_plain).then(|| scaled(&number, times))?;
        return Some((scaled?, tail));
    }
    let (number, rest) = run(text)?;
    let said = text.get(..text.len() - rest.len())?;
    let is_one = said.chars().count() == 1;
    let counts_nothing = rest.starts_with(|c| AFTER.contains(c)) || rest.starts_with('点');
    let lead = before.trim_end_matches('万');
    let is_counted = lead.len() < before.len() && lead.ends_with(|c: char| c.is_ascii_digit());
    let is_ordinal = before.ends_with(|c| BEFORE.contains(c)) && !is_counted;
    if is_one && (counts_nothing || is_ordinal) || figures(rest).is_some() {
        return None;
    }
    let half = ["个半", "個半"].iter().find_map(|it| rest.strip_prefix(it));
    Some(match half {
        Some(rest) => (format!("{number}.5个"), rest),
        None => (number, rest),
    })
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

/// Returns the Chinese number with which a text begins; a unit alone is none, but for 十.
fn run(text: &str) -> Option<(String, &str)> {
    let unit = |c: char| UNITS.iter().find(|(sign, _)| *sign == c).map(|(_, n)| *n);
    let end = text.find(|c| digit(c).is_none() && unit(c).is_none());
    let (said, mut rest) = text.split_at(end.unwrap_or(text.len()));
    let plain = |c: char| digit(c).filter(|value| *value < 10);
    let counts = said.chars().any(|c| plain(c).is_some()) || said.starts_with('十');
    if !counts {
        return None;
    }
    let digits = |said: &str| -> String {
        let digits = said.chars().filter_map(plain);
        digits.map(|digit| digit.to_string()).collect()
    };
    let mut number = if said.chars().all(|c| plain(c).is_some()) {
        digits(said)
    } else {
        let (mut total, mut section, mut last) = (0_i64, 0_i64, 0_i64);
        for c in said.chars() {
            match (plain(c), unit(c)) {
                (Some(value), _) => last = value,
                (_, Some(times @ (10 | 100 | 1_000))) => {
                    section += last.max(1) * times;
                    last = 0;
                }
                (_, Some(times)) if section + last > 0 || total == 0 => {
                    let part = (section + last).max(1).checked_mul(times)?;
                    total = total.checked_add(part)?;
                    (section, last) = (0, 0);
                }
                _ => return None,
            }
        }
        (total + section + last).to_string()
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
            ("3千5", "3千5"),
            ("6万五", "6万5"),
            ("两个以太坊", "2个以太坊"),
            ("一点比特币", "一点比特币"),
            ("卖一半", "卖一半"),
            ("三点五", "3.5"),
            ("半个比特币", "0.5个比特币"),
            ("百分之12", "12%"),
            ("九亿亿亿亿", "九亿亿亿亿"),
        ] {
            assert_eq!(numerals(text), expected, "{text}");
        }
    }
}
