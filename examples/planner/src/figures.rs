//! How much, and at which price: the numbers of a message. What can be read in two ways is not
//! read but asked for, since a price that is lost makes a limit order one at any price.
use serde::{Deserialize, Serialize};

use crate::{amount::Amount, desk::Side};

/// What the numbers of a message are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// How much.
    pub quantity: Option<Amount>,
    /// At which price.
    pub price: Option<Amount>,
    /// Whether there is a number, or a word for a price, that can be read in more than one way.
    pub is_unclear: bool,
}

/// Which prices a word leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// Just this one, or what is better.
    This,
    /// It might also say how much.
    For,
    /// This and higher ones: no buyer means that by a limit.
    Least,
    /// This and lower ones: no seller means that by a limit.
    Most,
}

/// The words before a price. Of two that fit, the longer one counts.
const PRICES: &[(Bound, &[&str])] = &[
    (
        Bound::This,
        &[
            "at", "@", "limit", "price", "priced", "价格", "限价", "价", "以", "按", "价位",
        ],
    ),
    (Bound::For, &["for"]),
    (
        Bound::Least,
        &[
            "above",
            "over",
            "at least",
            "not below",
            "no less than",
            "not less than",
            "minimum",
            "不低于",
            "不少于",
            "高于",
            "至少",
            "最低",
            "超过",
        ],
    ),
    (
        Bound::Most,
        &[
            "below",
            "under",
            "at most",
            "up to",
            "not above",
            "no more than",
            "not more than",
            "maximum",
            "不高于",
            "不超过",
            "低于",
            "至多",
            "最多",
            "最高",
        ],
    ),
];

/// What may stand between such a word and its number.
const BETWEEN: &[&str] = &[
    "$", "¥", "€", ":", "：", "=", "usdt", "usd", "is", "of", "price", "limit", "a", "the",
    "about", "around", "order", "是", "为", "大约", "约", "价格",
];

/// What a number is counted in.
const UNITS: &[(&str, u32)] = &[("k", 3), ("thousand", 3), ("千", 3), ("万", 4), ("萬", 4)];

/// A number, and the text up to it and after it.
struct Number<'a> {
    before: &'a str,
    value: Option<Amount>,
    is_grouped: bool,
    after: &'a str,
}

/// How much, and at which price, somebody says who buys or sells.
pub fn figures(message: &str, side: Side) -> Figures {
    let lower: String = message.to_lowercase().chars().map(narrow).collect();
    let numbers = numbers(&lower);
    let unclear = Figures {
        is_unclear: true,
        ..Figures::default()
    };
    let (mut found, mut counts) = (Figures::default(), false);
    for number in &numbers {
        let role = role(number.before);
        let place = match role {
            Some(Bound::Least) if side == Side::Buy => return unclear,
            Some(Bound::Most) if side == Side::Sell => return unclear,
            Some(_) if number.is_grouped => return unclear,
            Some(_) => &mut found.price,
            None if is_money(number) => return unclear,
            None => &mut found.quantity,
        };
        let (Some(value), None) = (number.value, *place) else {
            return unclear;
        };
        *place = Some(value);
        counts |= role.is_some_and(|role| role != Bound::This) && counts_things(number);
    }
    let is_lost = found.price.is_none() && names_a_price(&lower);
    let is_quantity = found.quantity.is_none() && counts;
    if is_lost || is_quantity || counts_in_words(&lower, &numbers) {
        return unclear;
    }
    found
}

impl Figures {
    /// These, and what was said after them: the later word counts.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        if later.is_unclear {
            return later;
        }
        Self {
            quantity: later.quantity.or(self.quantity),
            price: later.price.or(self.price),
            is_unclear: self.is_unclear && later.quantity.is_none(),
        }
    }
}

/// Wide digits and signs as narrow ones; a wide comma is none between digits.
fn narrow(c: char) -> char {
    match c {
        '，' => c,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '’' => '\'',
        _ => c,
    }
}

/// The numbers of a text, except those that are part of a name such as `grid-2`.
fn numbers(text: &str) -> Vec<Number<'_>> {
    let (mut found, mut at) = (vec![], 0);
    while let Some(from) = text.get(at..).and_then(|rest| rest.find(is_digit)) {
        let (before, rest) = text.split_at(at + from);
        let (written, after) = rest.split_at(length(rest));
        let (zeros, after) = unit(after);
        at = text.len() - after.len();
        let value = read(written, zeros);
        let value = value.filter(|_| begins(before) && ends(after));
        let is_grouped = zeros == 0 && looks_grouped(written);
        if !is_in_name(before) {
            found.push(Number {
                before,
                value,
                is_grouped,
                after,
            });
        }
    }
    found
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic()
}

fn is_in_name(before: &str) -> bool {
    let name = before.trim_end_matches(['-', '_']);
    name.len() < before.len() && name.ends_with(is_letter)
}

/// Whether a number may begin after this: "-5", ".5" and "x5" are none.
fn begins(before: &str) -> bool {
    let comma = before.strip_suffix(',');
    let is_list = comma.is_some_and(|before| !before.ends_with(is_digit));
    is_list || !(before.ends_with(is_letter) || before.ends_with(['.', ',', '-', '+', '/']))
}

/// Whether a number may end before this: "50 %", "64 000", "1e3" and "2m" are none.
fn ends(after: &str) -> bool {
    const OTHER: [char; 8] = ['%', '/', '-', '~', '百', '十', '亿', '多'];
    let next = after.trim_start();
    let word = word(after);
    let is_power = word.starts_with('e') && word.ends_with(is_digit);
    let is_other = matches!(word, "e" | "m" | "mm" | "mio" | "b" | "bn" | "x");
    !(next.starts_with(OTHER) || next.starts_with(is_digit) || is_power || is_other)
}

/// Whether a full stop may stand between thousands: `64.000`.
fn looks_grouped(written: &str) -> bool {
    let parts = written.split_once('.');
    parts.is_some_and(|(whole, places)| {
        (1..=3).contains(&whole.len()) && !whole.starts_with('0') && places.len() == 3
    })
}

/// How long the digits are, with the signs between them.
fn length(text: &str) -> usize {
    let mut last = 0;
    for (at, c) in text.char_indices() {
        match c {
            '0'..='9' => last = at + 1,
            '.' | ',' | '\'' | '_' if last == at => {}
            _ => break,
        }
    }
    last
}

fn unit(after: &str) -> (u32, &str) {
    let next = after.trim_start_matches(' ');
    let fits = |(word, zeros): &(&str, u32)| {
        let rest = next.strip_prefix(word)?;
        let goes_on = word.is_ascii() && rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        (!goes_on).then_some((*zeros, rest))
    };
    UNITS.iter().find_map(fits).unwrap_or((0, after))
}

/// The word that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric());
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// What is written with so many zeros more: none if it is no number, or one in two ways.
fn read(written: &str, zeros: u32) -> Option<Amount> {
    let (whole, places) = written.split_once('.').unwrap_or((written, ""));
    let mut groups = whole.split([',', '\'', '_']);
    let first = groups.next().unwrap_or_default();
    let is_grouped = groups.clone().next().is_some();
    let is_even = groups.all(|group| group.len() == 3);
    if is_grouped && (!is_even || first.len() > 3 || first.starts_with('0')) {
        return None;
    }
    let digits: String = whole.chars().filter(|c| is_digit(*c)).collect();
    let amount: Amount = if places.is_empty() {
        digits.parse().ok()?
    } else {
        format!("{digits}.{places}").parse().ok()?
    };
    let millionths = amount
        .millionths()
        .checked_mul(10_i64.checked_pow(zeros)?)?;
    Some(Amount::from_millionths(millionths))
}

/// Whether a number is one of a price: the longest word before it says of which.
fn role(before: &str) -> Option<Bound> {
    let mut before = before.trim_end();
    loop {
        let words = PRICES
            .iter()
            .flat_map(|(bound, words)| words.iter().map(move |word| (*bound, *word)));
        let fitting = words.filter(|(_, word)| ends_in(before, word).is_some());
        if let Some((bound, _)) = fitting.max_by_key(|(_, word)| word.len()) {
            return Some(bound);
        }
        let rest = BETWEEN.iter().find_map(|word| ends_in(before, word))?;
        before = rest.trim_end();
    }
}

/// What comes before a word at the end of a text: "what" does not end in "at".
pub(crate) fn ends_in<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_suffix(word)?;
    let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic());
    let goes_on = is_word && rest.ends_with(|c: char| c.is_ascii_alphanumeric());
    (!goes_on).then_some(rest)
}

fn is_money(number: &Number<'_>) -> bool {
    let next = number.after.trim_start();
    let word = word(next).trim_end_matches('s');
    let sign = ["$", "美元", "美金", "刀"];
    number.before.trim_end().ends_with(['$', '¥', '€'])
        || sign.iter().any(|sign| next.starts_with(sign))
        || matches!(word, "usdt" | "usd" | "dollar" | "u")
}

/// Whether a thing follows: "at least 0.5 BTC" says how much.
fn counts_things(number: &Number<'_>) -> bool {
    let next = number.after.trim_start();
    next.starts_with(|c: char| is_letter(c) || "个個枚".contains(c)) && !is_money(number)
}

/// Whether a word says that there is a price.
fn names_a_price(lower: &str) -> bool {
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| word == "limit") || lower.contains("限价")
}

/// Whether something is counted in words: "seventy thousand".
fn counts_in_words(lower: &str, numbers: &[Number<'_>]) -> bool {
    const WORDS: [&str; 3] = ["thousand", "hundred", "million"];
    const SIGNS: [char; 6] = ['十', '百', '千', '万', '萬', '亿'];
    // What counts a number was taken with it.
    let mut gaps: Vec<&str> = vec![];
    let mut at = 0;
    for number in numbers {
        gaps.extend(lower.get(at..number.before.len()));
        at = lower.len() - number.after.len();
    }
    gaps.extend(lower.get(at..));
    gaps.iter().any(|gap| {
        let mut words = gap.split(|c: char| !c.is_ascii_alphabetic());
        gap.contains(SIGNS) || words.any(|word| WORDS.contains(&word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(message: &str, side: Side) -> Option<(Option<String>, Option<String>)> {
        let Figures {
            quantity,
            price,
            is_unclear,
        } = figures(message, side);
        let text = |amount: Option<Amount>| amount.map(|amount| amount.to_string());
        (!is_unclear).then(|| (text(quantity), text(price)))
    }

    #[test]
    fn no_price_is_lost_or_cut() {
        for message in [
            "sell 0.5 BTC for 70000",
            "sell 0.5 BTC above 70000",
            "sell 0.5 BTC at $70000",
            "sell 0.5 BTC at least 70000",
            "sell 0.5 BTC, limit: 70000",
            "sell 0.5 BTC at a limit price of 70,000 USDT.",
            "Sell 0.5 BTC at 70k",
            "sell 0.5 BTC at 70 thousand",
            "sell 0.5BTC @70'000.00",
            "not below 70000, sell 0.5 BTC",
            "卖 0.5 BTC，不低于 70000",
            "卖 0.5 BTC，价格是 70000",
            "以 7万 卖 0.5 BTC",
            "卖 0.5 BTC，限价：７００００",
        ] {
            let expected = Some((Some("0.5".into()), Some("70000".into())));
            assert_eq!(read_as(message, Side::Sell), expected, "{message}");
        }
        for message in ["buy 0.5 BTC below 70000", "买 0.5 BTC，不超过 7万"] {
            let expected = Some((Some("0.5".into()), Some("70000".into())));
            assert_eq!(read_as(message, Side::Buy), expected, "{message}");
        }
        for message in ["sell 1,500 ETH", "sell 1.5k ETH now", "what 1500"] {
            let expected = Some((Some("1500".into()), None));
            assert_eq!(read_as(message, Side::Sell), expected, "{message}");
        }
        let expected = Some((Some("0.1".into()), None));
        assert_eq!(read_as("0.1 at market", Side::Sell), expected);
        assert_eq!(read_as("sell 0.1 with grid-2", Side::Sell), expected);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_not_read() {
        for message in [
            "sell 0,5 BTC",
            "sell 0.5 BTC 70000",
            "sell 0.5 BTC at 64 000",
            "sell 0.5 BTC at 64.000",
            "sell 0.5 BTC at 64,00",
            "sell 0.5 BTC between 60000-70000",
            "sell 0.5 BTC at 60000 or at 70000",
            "sell 0.5 BTC at 1e5",
            "sell 0.5 BTC at 1234567890123",
            "sell 0.5 BTC at seventy thousand",
            "sell 0.5 BTC with a limit",
            "sell 0.5 BTC below 60000",
            "sell at least 0.5 BTC",
            "sell 50% of my BTC",
            "sell $500 of BTC",
            "sell 500 USDT of BTC",
            "sell -5 BTC",
            "sell .5 BTC",
            "以 6万5 卖 0.5 BTC",
            "以七万卖 0.5 BTC",
        ] {
            assert_eq!(read_as(message, Side::Sell), None, "{message}");
        }
        assert_eq!(read_as("buy 0.5 BTC above 70000", Side::Buy), None);
    }

    #[test]
    fn the_later_word_counts() {
        let said = |text: &str| figures(text, Side::Sell);
        let both = said("0.1 at 60000");
        assert_eq!(said("sell BTC").then(both), both);
        assert_eq!(said("sell BTC at 60000").then(said("0.1")), both);
        assert_eq!(said("sell 0,1 BTC").then(both), both);
        assert!(both.then(said("0,1")).is_unclear);
        let half = said("sell 0,1 BTC").then(said("at 60000"));
        assert!(half.is_unclear && half.then(said("0.1")) == both);
    }
}
