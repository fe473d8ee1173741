//! The quantity and the price of an order. Ambiguous numbers are not read, because a lost price
//! would turn a limit order into one at any price.
mod price;

use crate::{
    Amount,
    money::{CURRENCIES, UNITS, ungrouped},
    word::{after_word, before_word},
};
use price::{PriceBound, bound};

/// The terms of an order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderTerms {
    /// The quantity.
    pub quantity: Option<Amount>,
    /// The price.
    pub price: Option<Amount>,
    /// True if a number, or a word for a price, is ambiguous.
    pub is_unclear: bool,
    /// True if a word announces a price that was not read: only a price makes that clear.
    pub lacks_price: bool,
    /// The amount of money that is to be spent, or that what is sold is to be worth, in place of a
    /// quantity. The terms are unclear then, until a quantity is named.
    pub value: Option<Amount>,
}

/// The meaning of a price limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The most that a buyer pays.
    Most,
    /// The least that a seller accepts.
    Least,
}

impl OrderTerms {
    /// Reads the quantity and the price of an order.
    pub fn of(text: &str, limit: Limit) -> Self {
        let lower: String = text.to_lowercase().chars().map(narrow).collect();
        let numbers = numbers(&lower);
        let unclear = Self {
            is_unclear: true,
            lacks_price: price::is_named(&lower),
            ..Self::default()
        };
        let (mut found, mut counts) = (Self::default(), false);
        if let [number] = &*numbers
            && number.is_value(&lower)
        {
            let value = number.value;
            return Self { value, ..unclear };
        }
        for number in &numbers {
            let bound =
                bound(number.before).or_else(|| number.is_offer().then_some(PriceBound::This));
            let place = match bound {
                Some(PriceBound::Least) if limit == Limit::Most => return unclear,
                Some(PriceBound::Most) if limit == Limit::Least => return unclear,
                Some(_) if number.is_grouped => return unclear,
                Some(_) => &mut found.price,
                None if number.is_money() => return unclear,
                None => &mut found.quantity,
            };
            let (Some(value), None) = (number.value, *place) else {
                return unclear;
            };
            *place = Some(value);
            counts |=
                bound.is_some_and(|bound| bound != PriceBound::This) && number.counts_things();
        }
        let is_lost = found.price.is_none() && price::is_named(&lower);
        let is_quantity = found.quantity.is_none() && counts;
        if is_lost || is_quantity || counts_in_words(&lower, &numbers) {
            return unclear;
        }
        found
    }

    /// Combines these terms with later ones, which take precedence.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        if later.is_unclear {
            return later;
        }
        let lacks_price = self.lacks_price && later.price.is_none();
        Self {
            quantity: later.quantity.or(self.quantity),
            price: later.price.or(self.price),
            is_unclear: lacks_price
                || self.is_unclear
                    && later.quantity.is_none()
                    && !(self.lacks_price && self.quantity.is_some()),
            lacks_price,
            value: self.value.filter(|_| later.quantity.is_none()),
        }
    }
}

/// A number, with the text before and after it.
struct Number<'a> {
    before: &'a str,
    /// The value; `None` if it is no number, or ambiguous.
    value: Option<Amount>,
    /// True if a full stop in it may separate thousands: `64.000`.
    is_grouped: bool,
    after: &'a str,
}

impl Number<'_> {
    fn is_money(&self) -> bool {
        self.after_money().is_some() || self.before.trim_end().ends_with(['$', '¥', '€', '£'])
    }

    /// Returns true if it is the only number of an order, and the worth of it: "$300 of bitcoin",
    /// "for 500 dollars", "spend 200 on ETH", 花1000块.
    fn is_value(&self, text: &str) -> bool {
        const SPEND: [&str; 9] = [
            "worth", "spend", "invest", "spending", "花", "花掉", "投", "投入", "花了",
        ];
        const MONEY: [&str; 4] = ["用", "拿", "with", "for"];
        let (before, after) = (self.before, self.after_money().unwrap_or(self.after));
        let before = before.trim_end().trim_end_matches(['$', '¥', '€', '£']);
        let before = before_word(before, &price::ABOUT)
            .unwrap_or(before)
            .trim_end();
        let is_worth = after_word(
            after.trim_start().trim_start_matches('\''),
            &["worth", "of worth"],
        )
        .is_some();
        let has_money = self.is_money();
        let of = after_word(after.trim_start(), &["of", "的", "in", "on"]).is_some();
        let spends = before_word(before, &SPEND).is_some();
        let pays = has_money && before_word(before, &MONEY).is_some();
        is_worth
            || spends
            || pays
            || has_money
                && of
                && bound(self.before).is_none()
                && !self.is_offer()
                && !text.contains("价")
    }

    /// Returns the text after the currency behind it, if there is one.
    fn after_money(&self) -> Option<&str> {
        const COINS: [&str; 4] = ["刀", "usdt", "u", "bucks"];
        let next = self.after.trim_start();
        let currency = CURRENCIES
            .iter()
            .find_map(|(word, _)| after_word(next, &[word]));
        currency.or_else(|| after_word(next, &COINS))
    }

    /// Returns true if words after it say that it is a price: 3000块挂单.
    fn is_offer(&self) -> bool {
        let after = self.after_money().unwrap_or(self.after).trim_start();
        ["挂", "的价", "限价"]
            .iter()
            .any(|word| after.starts_with(word))
    }

    /// Returns true if a thing follows: "at least 0.5 BTC" is a quantity.
    fn counts_things(&self) -> bool {
        let next = self.after.trim_start();
        next.starts_with(|c: char| is_letter(c) || "个個枚".contains(c)) && !self.is_money()
    }
}

/// Returns the half-width form of a digit or sign; a full-width comma never belongs to a number.
fn narrow(c: char) -> char {
    match c {
        '，' => c,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '’' => '\'',
        _ => c,
    }
}

/// Returns the numbers of a text, except those that are part of a name such as `grid-2`.
fn numbers(text: &str) -> Vec<Number<'_>> {
    let (mut found, mut at) = (vec![], 0);
    while let Some(from) = text.get(at..).and_then(|rest| rest.find(is_digit)) {
        let (before, rest) = text.split_at(at + from);
        let (written, after) = rest.split_at(length(rest));
        let (times, after) = unit(after);
        at = text.len() - after.len();
        let is_grouped = times == 1 && looks_grouped(written);
        if !is_in_name(before) {
            let is_whole = begins(before) && ends(after);
            found.push(Number {
                before,
                value: read(written, times).filter(|_| is_whole),
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

/// Returns true if a number may begin after this: not in "-5", ".5" and "x5".
fn begins(before: &str) -> bool {
    let comma = before.strip_suffix(',');
    let is_list = comma.is_some_and(|before| !before.ends_with(is_digit));
    is_list || !(before.ends_with(is_letter) || before.ends_with(['.', ',', '-', '+', '/']))
}

/// Returns true if a number may end before this: not in "50 %", "64 000", "1e3", "2m" and "2 tenths".
fn ends(after: &str) -> bool {
    const OTHER: [char; 8] = ['%', '/', '-', '~', '百', '十', '亿', '多'];
    const PARTS: [&str; 11] = [
        "half",
        "halve",
        "third",
        "quarter",
        "fourth",
        "fifth",
        "eighth",
        "tenth",
        "hundredth",
        "thousandth",
        "millionth",
    ];
    let next = after.trim_start();
    let word = word(after);
    let is_power = word.starts_with('e') && word.ends_with(is_digit);
    let is_other = matches!(word, "e" | "m" | "mm" | "mio" | "b" | "bn" | "x");
    let is_part = PARTS.contains(&self::word(next).trim_end_matches('s'));
    !(next.starts_with(OTHER) || next.starts_with(is_digit) || is_power || is_other || is_part)
}

fn looks_grouped(written: &str) -> bool {
    let parts = written.split_once('.');
    parts.is_some_and(|(whole, places)| {
        (1..=3).contains(&whole.len()) && !whole.starts_with('0') && places.len() == 3
    })
}

/// Returns the length in bytes of the digits, with the separators between them.
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

/// Returns the factor of the unit after a number, and the rest of the text.
fn unit(after: &str) -> (i64, &str) {
    let next = after.trim_start_matches(' ');
    let mut units = UNITS.iter();
    let found = units.find_map(|(word, times)| Some((*times, after_word(next, &[word])?)));
    found.unwrap_or((1, after))
}

/// Returns the first word of a text.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric());
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

fn read(written: &str, times: i64) -> Option<Amount> {
    let amount: Amount = ungrouped(written)?.parse().ok()?;
    let millionths = amount.millionths().checked_mul(times)?;
    Some(Amount::from_millionths(millionths))
}

/// Returns true if an amount is written in words: "seventy thousand".
fn counts_in_words(lower: &str, numbers: &[Number<'_>]) -> bool {
    const WORDS: [&str; 3] = ["thousand", "hundred", "million"];
    const SIGNS: [char; 6] = ['十', '百', '千', '万', '萬', '亿'];
    // Units were read together with their numbers.
    let mut gaps: Vec<&str> = vec![];
    let mut at = 0;
    for number in numbers {
        gaps.extend(lower.get(at..number.before.len()));
        at = lower.len() - number.after.len();
    }
    gaps.extend(lower.get(at..));
    gaps.iter().any(|gap| {
        let mut words = gap.split(|c: char| !is_letter(c));
        gap.contains(SIGNS) || words.any(|word| WORDS.contains(&word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(text: &str, limit: Limit) -> Option<(Option<String>, Option<String>)> {
        let OrderTerms {
            quantity,
            price,
            is_unclear,
            ..
        } = OrderTerms::of(text, limit);
        let written = |amount: Option<Amount>| amount.map(|amount| amount.to_string());
        (!is_unclear).then(|| (written(quantity), written(price)))
    }

    #[test]
    fn no_price_is_lost_or_cut() {
        for text in [
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
            "以 700百 卖 0.5 BTC",
            "卖 0.5 BTC，限价：７００００",
            "70000块挂单卖 0.5 BTC",
        ] {
            let expected = Some((Some("0.5".into()), Some("70000".into())));
            assert_eq!(read_as(text, Limit::Least), expected, "{text}");
        }
        for text in ["buy 0.5 BTC below 70000", "买 0.5 BTC，不超过 7万"] {
            let expected = Some((Some("0.5".into()), Some("70000".into())));
            assert_eq!(read_as(text, Limit::Most), expected, "{text}");
        }
        for text in ["sell 1,500 ETH", "sell 1.5k ETH now", "what 1500"] {
            let expected = Some((Some("1500".into()), None));
            assert_eq!(read_as(text, Limit::Least), expected, "{text}");
        }
        let expected = Some((Some("0.1".into()), None));
        assert_eq!(read_as("0.1 at market", Limit::Least), expected);
        assert_eq!(read_as("sell 0.1 with grid-2", Limit::Least), expected);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_not_read() {
        for text in [
            "sell 0,5 BTC",
            "sell 0,500 BTC",
            "sell 0.5 BTC 70000",
            "sell 0.5 BTC at 64 000",
            "sell 0.5 BTC at 64.000",
            "sell 0.5 BTC at 64,00",
            "sell 0.5 BTC at 64，000",
            "sell 0.5 BTC between 60000-70000",
            "sell 0.5 BTC at 60000 or at 70000",
            "sell 0.5 BTC at 1e5",
            "sell 0.5 BTC at 1234567890123",
            "sell 0.5 BTC at seventy thousand",
            "sell 0.5 BTC with a limit",
            "sell 0.5 BTC below 60000",
            "sell at least 0.5 BTC",
            "sell 50% of my BTC",
            "sell 2 hundredths of a BTC",
            "sell 1 tenth BTC",
            "sell $500 of BTC",
            "sell 500 USDT of BTC",
            "sell 500 euros of BTC",
            "卖1000块的比特币",
            "挂单卖2个以太坊",
            "sell -5 BTC",
            "sell .5 BTC",
            "以 6万5 卖 0.5 BTC",
            "以七万卖 0.5 BTC",
        ] {
            assert_eq!(read_as(text, Limit::Least), None, "{text}");
        }
        assert_eq!(read_as("buy 0.5 BTC above 70000", Limit::Most), None);
    }

    #[test]
    fn money_is_no_quantity() {
        for (text, value) in [
            ("buy 2k worth of ETH", "2000"),
            ("buy 5 dollars worth of ETH", "5"),
            ("buy ETH worth about 300 USDT", "300"),
            ("spend 200 on ETH", "200"),
            ("spend about $1,500 on bitcoin", "1500"),
            ("buy bitcoin for 500 dollars", "500"),
            ("buy $300 of bitcoin", "300"),
            ("sell 500 USDT of BTC", "500"),
            ("花1000块买以太坊", "1000"),
            ("用200刀买比特币", "200"),
            ("卖1000块的比特币", "1000"),
        ] {
            let terms = OrderTerms::of(text, Limit::Most);
            let found = terms.value.map(|it| it.to_string());
            assert_eq!(found.as_deref(), Some(value), "{text}");
            assert!(terms.is_unclear, "{text}");
            let then = terms.then(OrderTerms::of("0.1", Limit::Most));
            assert!(!then.is_unclear && then.value.is_none(), "{text}");
        }
        for text in [
            "buy 0.5 BTC for 500 dollars",
            "buy 2 ETH",
            "buy ETH at $3000",
            "3000块挂单买",
        ] {
            assert_eq!(OrderTerms::of(text, Limit::Most).value, None, "{text}");
        }
    }

    #[test]
    fn the_later_word_counts() {
        let said = |text: &str| OrderTerms::of(text, Limit::Least);
        let both = said("0.1 at 60000");
        assert_eq!(said("sell BTC").then(both), both);
        assert_eq!(said("sell BTC at 60000").then(said("0.1")), both);
        assert_eq!(said("sell 0,1 BTC").then(both), both);
        assert!(both.then(said("0,1")).is_unclear);
        let half = said("sell 0,1 BTC").then(said("at 60000"));
        assert!(half.is_unclear && half.then(said("0.1")) == both);
        let lost = said("挂单卖2个以太坊").then(said("1"));
        assert!(lost.is_unclear, "a price was announced");
        assert_eq!(lost.then(said("at 60000")).price, both.price);
        assert!(!lost.then(said("at 60000")).is_unclear);
    }
}
