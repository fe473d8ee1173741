//! Amounts of money.
use crate::{
    intent::ends_in_denial,
    number::{digit, number},
    numeral::{figured, numerals},
    word::{after_word, before_word, is_chinese, is_inside, tail},
};

/// The words and signs of currencies before or after an amount. The longer ones come first.
pub(crate) const CURRENCIES: [(&str, &str); 75] = [
    ("swiss francs", "CHF"),
    ("swiss franc", "CHF"),
    ("瑞士法郎", "CHF"),
    ("francs", "CHF"),
    ("瑞郎", "CHF"),
    ("quid", "GBP"),
    ("dollars", "USD"),
    ("dollar", "USD"),
    ("bucks", "USD"),
    ("pounds", "GBP"),
    ("pound", "GBP"),
    ("euros", "EUR"),
    ("euro", "EUR"),
    ("yuan", "CNY"),
    ("yen", "JPY"),
    ("rmb", "CNY"),
    ("cny", "CNY"),
    ("eur", "EUR"),
    ("usd", "USD"),
    ("gbp", "GBP"),
    ("jpy", "JPY"),
    ("hkd", "HKD"),
    ("chf", "CHF"),
    ("rupees", "INR"),
    ("kronor", "SEK"),
    ("inr", "INR"),
    ("krw", "KRW"),
    ("sgd", "SGD"),
    ("aud", "AUD"),
    ("cad", "CAD"),
    ("nzd", "NZD"),
    ("sek", "SEK"),
    ("nok", "NOK"),
    ("dkk", "DKK"),
    ("pln", "PLN"),
    ("czk", "CZK"),
    ("huf", "HUF"),
    ("thb", "THB"),
    ("twd", "TWD"),
    ("zar", "ZAR"),
    ("aed", "AED"),
    ("myr", "MYR"),
    ("vnd", "VND"),
    ("brl", "BRL"),
    ("mxn", "MXN"),
    ("php", "PHP"),
    ("卢比", "INR"),
    ("韩元", "KRW"),
    ("新加坡元", "SGD"),
    ("新币", "SGD"),
    ("澳元", "AUD"),
    ("加元", "CAD"),
    ("泰铢", "THB"),
    ("新台币", "TWD"),
    ("台币", "TWD"),
    ("人民币", "CNY"),
    ("美元", "USD"),
    ("美金", "USD"),
    ("欧元", "EUR"),
    ("英镑", "GBP"),
    ("日元", "JPY"),
    ("日圆", "JPY"),
    ("港元", "HKD"),
    ("港币", "HKD"),
    ("块钱", "CNY"),
    ("元整", "CNY"),
    ("元", "CNY"),
    ("块", "CNY"),
    ("圆", "CNY"),
    ("hk$", "HKD"),
    ("£", "GBP"),
    ("¥", "CNY"),
    ("￥", "CNY"),
    ("€", "EUR"),
    ("$", "USD"),
];

/// Returns the ISO code of the currency that a text is, or begins or ends with, such as `USD` for
/// `$12.5` and `12.5 dollars`.
///
/// ```
/// use fugato_text::currency;
///
/// assert_eq!([currency("$12"), currency("12 欧元"), currency("cny"), currency("12")], [Some("USD"), Some("EUR"), Some("CNY"), None]);
/// ```
pub fn currency(text: &str) -> Option<&'static str> {
    let text = text.trim().to_lowercase();
    let mut known = CURRENCIES.iter();
    // "Audit" begins like AUD, and is none.
    let ends = |word: &str| {
        let before = text.strip_suffix(word);
        before.is_some_and(|it| !word.is_ascii() || !it.ends_with(char::is_alphabetic))
    };
    let found = known.find(|(word, _)| after_word(&text, &[word]).is_some() || ends(word));
    found.map(|(_, code)| *code)
}

/// Reads a plain decimal number in its smallest unit, such as `12.5` in hundredths with two places;
/// `None` if it has a sign, a separator or more places.
pub fn decimal(text: &str, places: usize) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > places || !digits(whole) || !digits(part) {
        return None;
    }
    format!("{whole}{part:0<places$}").parse().ok()
}

/// Reads the whole text as an amount, in hundredths, such as `¥1,200.50` or `1.2万`. A comma must
/// come before three digits, and more than two decimals need a unit that makes whole hundredths of
/// them.
pub fn money(text: &str) -> Option<i64> {
    let text = numerals(text.trim()).to_lowercase();
    let with_part = CURRENCIES.iter().find_map(|(word, _)| {
        let (whole, rest) = text.split_once(word)?;
        let (part, rest) = smaller(word, rest)?;
        rest.trim().is_empty().then_some((whole, part))
    });
    if let Some((whole, part)) = with_part {
        return money(whole)?.checked_add(part);
    }
    let bare = |text: &'_ str| -> String {
        let before = CURRENCIES.iter().find_map(|(it, _)| text.strip_prefix(it));
        let text = before.unwrap_or(text);
        let after = CURRENCIES.iter().find_map(|(it, _)| text.strip_suffix(it));
        after.unwrap_or(text).trim().to_owned()
    };
    let text = bare(&text);
    let unit = text.chars().next_back().and_then(times);
    let digits = match unit {
        Some(_) => text.trim_end_matches(|c| times(c).is_some()),
        None => &text,
    };
    // Several units in a row are ambiguous.
    let one = text.chars().filter(|c| times(*c).is_some()).count() <= 1;
    let digits = ungrouped(digits.trim_end()).filter(|_| one && !text.ends_with('.'))?;
    let millionths = decimal(&digits, if unit.is_some() { 6 } else { 2 })?;
    match unit {
        None => Some(millionths),
        Some(times) => {
            let parts = millionths.checked_mul(times)?;
            (parts % 10_000 == 0).then_some(parts / 10_000)
        }
    }
}

/// Removes the separators between thousands; `None` if they are anywhere else.
pub(crate) fn ungrouped(digits: &str) -> Option<String> {
    const SIGNS: [char; 3] = [',', '\'', '_'];
    let (whole, places) = digits.split_once('.').unwrap_or((digits, ""));
    let mut groups = whole.split(SIGNS);
    let first = groups.next()?;
    // With a decimal comma, `0,500` is a half.
    let begins = (1..=3).contains(&first.len()) && !first.starts_with('0');
    let is_grouped = first.len() < whole.len();
    let right = !is_grouped || begins && groups.all(|group| group.len() == 3);
    (right && !places.contains(SIGNS)).then(|| digits.replace(SIGNS, ""))
}

/// The units of numbers, with their factors.
pub(crate) const UNITS: [(&str, i64); 6] = [
    ("thousand", 1_000),
    ("k", 1_000),
    ("百", 100),
    ("千", 1_000),
    ("万", 10_000),
    ("萬", 10_000),
];

/// Returns the factor of a unit that is a single character.
fn times(unit: char) -> Option<i64> {
    let mut units = UNITS.iter();
    let found = units.find(|(word, _)| word.chars().eq([unit]));
    found.map(|(_, times)| *times)
}

/// Returns the amount that a text names, in hundredths: the one next to a currency or after one of
/// these labels, which are in lower case, or else a number with two places that measures nothing
/// else. If several match, one that has both counts. One that is denied ("not 40 euros") counts for
/// none.
pub fn money_in(text: &str, labels: &[&str]) -> Option<i64> {
    priced_in(text, labels).map(|(hundredths, _)| hundredths)
}

/// Returns the amount that a text names, as [`money_in`] reads it, with the ISO code of the
/// currency next to it.
///
/// ```
/// use fugato_text::priced_in;
///
/// assert_eq!(priced_in("the euro tour, budget $1500", &["budget"]), Some((150_000, Some("USD"))));
/// ```
pub fn priced_in(text: &str, labels: &[&str]) -> Option<(i64, Option<&'static str>)> {
    let (figures, spelled) = figured(&text.to_ascii_lowercase());
    let found = written(&figures, &spelled);
    let of = |is: &dyn Fn(&WrittenRun<'_>) -> bool| {
        let all = found.iter().filter(|it| is(it)).map(WrittenRun::priced);
        all.collect::<Vec<_>>()
    };
    let tiers = [
        of(&|it| it.has_currency() && it.has_label(labels)),
        of(&|it| it.has_currency()),
        of(&|it| it.has_label(labels)),
        of(&|it| it.is_price()),
    ];
    let mut best = tiers.into_iter().find(|values| !values.is_empty())?;
    best.dedup();
    match *best {
        [(value, currency)] => {
            let value = value.filter(|hundredths| *hundredths > 0)?;
            Some((value, currency))
        }
        _ => None,
    }
}

/// Returns the amounts that a text names next to a currency, in hundredths, with the ISO code of the
/// currency. Of several numbers before one currency each is an amount of it. One that is denied, or
/// that can be meant in two ways, is left out.
///
/// ```
/// use fugato_text::amounts;
///
/// assert_eq!(amounts("30 and 4 euros for a taxi and a bus"), [(3_000, "EUR"), (400, "EUR")]);
/// assert_eq!(amounts("54 euros, not 45 euros"), [(5_400, "EUR")]);
/// ```
pub fn amounts(text: &str) -> Vec<(i64, &'static str)> {
    let (figures, spelled) = figured(&text.to_ascii_lowercase());
    let found = written(&figures, &spelled).into_iter();
    found
        .filter_map(|it| Some((it.value()?, it.currency()?)))
        .collect()
}

/// Reads what follows a whole amount in its smaller units, in hundredths: 五角 and 五 after 12块,
/// `and 50 cents` after 12 dollars. Numbers are in digits.
fn smaller<'a>(currency: &str, text: &'a str) -> Option<(i64, &'a str)> {
    let digit = |text: &'a str| {
        let (value, rest) =
            number(text).filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?;
        Some((value, rest)).filter(|_| text.len() - rest.len() == 1)
    };
    if ["元", "块", "圆"].contains(&currency) {
        let (tenths, rest) = digit(text)?;
        if let Some(rest) = rest.strip_prefix(['角', '毛']) {
            let parts =
                digit(rest).and_then(|(parts, rest)| Some((parts, rest.strip_prefix('分')?)));
            let (parts, rest) = parts.unwrap_or((0, rest));
            return Some((tenths * 10 + parts, rest));
        }
        // 12块5 ends there: 12块5个人 does not.
        let ends =
            rest.is_empty() || rest.starts_with(|c: char| c == '钱' || c == '的' || is_pause(c));
        return Some((tenths * 10, rest)).filter(|_| currency == "块" && ends);
    }
    let rest = text.trim_start();
    let rest = rest.strip_prefix("and ").unwrap_or(rest);
    let (cents, rest) = number(rest).filter(|(value, _)| (1..100).contains(value))?;
    let behind = rest.trim_start();
    // "12 euros 50" ends there: "12 euros 50 people" does not.
    let ends =
        behind.is_empty() || behind.starts_with(is_pause) || after_word(behind, &ENDS).is_some();
    let is_short = cents >= 10 && ends && text.starts_with(' ');
    after_word(behind, &["cents", "cent", "pence"])
        .or_else(|| is_short.then_some(rest))
        .map(|rest| (cents, rest))
}

fn is_pause(c: char) -> bool {
    c.is_whitespace() || ",.;，。；、!！)）".contains(c)
}

/// A group of characters that belong together, be it one amount or not.
struct WrittenRun<'a> {
    before: &'a str,
    number: &'a str,
    after: &'a str,
    /// True if it was in English words.
    is_spelled: bool,
    /// Its smaller units, in hundredths.
    part: i64,
    /// The currency behind the next number, which is that of both.
    shared: Option<&'static str>,
}

fn written<'a>(text: &'a str, spelled: &[usize]) -> Vec<WrittenRun<'a>> {
    let mut found = vec![];
    let mut seen = 0;
    for (at, c) in text.char_indices() {
        let Some((before, here)) = text.split_at_checked(at) else {
            continue;
        };
        if at < seen || !c.is_ascii_digit() {
            continue;
        }
        let bytes = here.len() - together(here).len();
        seen = at + bytes;
        if let Some((number, after)) = here.split_at_checked(bytes) {
            let part = CURRENCIES
                .iter()
                .find_map(|(word, _)| smaller(word, after.trim_start().strip_prefix(word)?));
            let (part, rest) = part.unwrap_or((0, after));
            seen = text.len() - rest.len();
            found.push(WrittenRun {
                before,
                number,
                after,
                is_spelled: spelled.binary_search(&at).is_ok(),
                part,
                shared: None,
            });
        }
    }
    share_currencies(&mut found);
    found.retain(|it| !ends_in_denial(tail(it.before).trim_end()));
    found
}

/// Gives each number without a currency that of the next number where that is joined to it: the
/// euros in "30 and 4 euros", 打车30和公交4块.
fn share_currencies(found: &mut [WrittenRun<'_>]) {
    for at in (1..found.len()).rev() {
        let (before, rest) = found.split_at_mut(at);
        let (Some(this), Some(next)) = (before.last_mut(), rest.first()) else {
            continue;
        };
        let used = this.before.len() + this.number.len();
        let between = next.before.len().checked_sub(used);
        let between = between.and_then(|length| this.after.get(..length));
        // In "320 euros and $4" each has its own.
        if this.currency().is_none() && between.is_some_and(|it| joins(it, next.shared.is_some())) {
            this.shared = next.currency();
        }
    }
}

/// The words between two amounts of which each is meant.
const JOINS: [&str; 10] = [
    "and", "plus", "&", "+", "、", "和", "以及", "及", "与", "加",
];

/// Returns true if the words between two numbers join them: "and", or "and the bus" where each is of
/// something else. Of three numbers a comma joins the first two.
fn joins(between: &str, is_list: bool) -> bool {
    /// The most words, or Chinese characters, of the thing that the next amount is for.
    const THING: usize = 3;
    let between = between.trim();
    if is_list && [",", "，"].contains(&between) {
        return true;
    }
    let Some(thing) = after_word(between, &JOINS).map(str::trim_start) else {
        return false;
    };
    let length = if is_chinese(thing) {
        thing.chars().count()
    } else {
        thing.split_whitespace().count()
    };
    length <= THING && !thing.contains(|c: char| is_pause(c) && !c.is_whitespace())
}

/// Returns the rest of a text after the numbers, units and joining signs at its beginning.
fn together(text: &str) -> &str {
    const JOINS: [&str; 8] = ["-", "–", "—", "~", "～", "至", "到", "to "];
    let is_digit = |c: char| c.is_ascii_digit();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(is_digit);
        if let Some(more) = rest
            .strip_prefix(['.', ','])
            .filter(|it| it.starts_with(is_digit))
        {
            rest = more;
            continue;
        }
        let unit = rest.trim_start().strip_prefix(|c| times(c).is_some());
        rest = unit.unwrap_or(rest);
        let next = rest.trim_start();
        let joined = JOINS.iter().find_map(|join| next.strip_prefix(join));
        match joined.map_or(rest, str::trim_start) {
            more if more.starts_with(is_digit) => rest = more,
            _ => return rest,
        }
    }
}

/// The words that may follow an amount without a currency: "about two weeks" is none.
const ENDS: [&str; 14] = [
    "by",
    "for",
    "from",
    "on",
    "to",
    "in",
    "and",
    "with",
    "at",
    "including",
    "total",
    "or",
    "please",
    "because",
];

fn is_number(c: char) -> bool {
    digit(c).is_some() || "百千万亿".contains(c)
}

impl WrittenRun<'_> {
    fn has_currency(&self) -> bool {
        self.currency().is_some()
    }

    fn priced(&self) -> (Option<i64>, Option<&'static str>) {
        (self.value(), self.currency())
    }

    fn currency(&self) -> Option<&'static str> {
        let (before, after) = (self.before.trim_end(), self.after.trim_start());
        let word = |it: &str| it.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_next = |(it, _): &&(&str, &str)| {
            let head = before.strip_suffix(it);
            // In "320 euros two" the euros are those of the first number.
            let is_free = |head: &str| {
                let taken = head.trim_end().ends_with(|c: char| c.is_ascii_digit());
                !(word(it) && (taken || is_inside(head)))
            };
            head.is_some_and(is_free) || after_word(after, &[it]).is_some()
        };
        let own = CURRENCIES.iter().find(is_next).map(|(_, code)| *code);
        own.or(self.shared)
    }

    /// Returns true if one of the labels comes shortly before it, with no other fact in between, or
    /// before a number to which it is joined: "paid 500 and 300".
    fn has_label(&self, labels: &[&str]) -> bool {
        let first = || {
            let first = before_word(self.before.trim_end(), &JOINS)?.trim_end();
            let before = first.trim_end_matches(|c: char| c.is_ascii_digit() || ".,".contains(c));
            (before.len() < first.len() && self.ends_here()).then_some(before)
        };
        is_labelled(self.before, labels) || first().is_some_and(|it| is_labelled(it, labels))
    }

    /// Returns true if it has two places, and neither a unit nor the place of a time of day.
    fn is_price(&self) -> bool {
        const TIMES: [&str; 8] = [
            "at", "by", "until", "till", "from", "before", "after", "version",
        ];
        let places = self.number.split_once('.').map(|(_, places)| places.len());
        let is_timed = before_word(self.before.trim_end(), &TIMES).is_some();
        places == Some(2) && !is_timed && self.ends_here()
    }

    /// Returns true if what follows does not say what it counts.
    fn ends_here(&self) -> bool {
        let rest = self.after.trim_start();
        rest.is_empty()
            || rest.starts_with(is_pause)
            || rest.starts_with('的')
            || after_word(rest, &ENDS).is_some()
    }

    /// Returns the amount, if it is unambiguous.
    fn value(&self) -> Option<i64> {
        let before = self.before.trim_end();
        let is_part = self
            .before
            .ends_with(|c| "-−.,几数负十百千万亿".contains(c));
        // "Several hundred and five" goes on with it.
        let lead = before_word(before, &["and"]).map_or(before, str::trim_end);
        let changes_it = before_word(before, &["minus", "negative"]).is_some()
            || before_word(lead, &["hundred", "thousand", "million"]).is_some();
        if is_part || changes_it || self.goes_on() {
            return None;
        }
        money(self.number)?.checked_add(self.part)
    }

    /// Returns true if the following text changes the number, or makes it count something else.
    fn goes_on(&self) -> bool {
        const COUNTED: &str = "多余几半人天次张个位份晚间件瓶杯顿盒箱小角毛分月日号年点%％";
        const WORDS: [&str; 9] = [
            "thousand", "million", "hundred", "grand", "people", "hours", "cent", "pence", "point",
        ];
        let rest = self.after.trim_start();
        if CURRENCIES.iter().any(|(word, _)| rest.starts_with(word)) {
            return false;
        }
        let is_more = |c: char| c.is_ascii_alphabetic() || is_number(c) || COUNTED.contains(c);
        let counts = self.is_spelled
            && rest.starts_with(|c: char| c.is_ascii_alphanumeric())
            && after_word(rest, &ENDS).is_none();
        counts || self.after.starts_with(is_more) || WORDS.iter().any(|word| rest.starts_with(word))
    }
}

/// Returns true if one of the labels ends a text but for a few characters, or says of what the number
/// behind it is.
fn is_labelled(before: &str, labels: &[&str]) -> bool {
    const FAR: usize = 8;
    const SAID: usize = 60;
    let between = |gap: &str| {
        let other = |c: char| c.is_ascii_digit() || "，,。;；".contains(c);
        gap.chars().count() <= FAR && !gap.contains(other)
    };
    let is_near = |label: &&str| {
        let most = label.chars().count() + FAR;
        let from = before.char_indices().rev().take(most).last();
        let near = from.and_then(|(from, _)| before.get(from..));
        let found = near.and_then(|near| near.get(near.rfind(*label)? + label.len()..));
        found.is_some_and(between)
    };
    // "The budget for Oslo is 600" says of what it is, within so many characters.
    let from = before.char_indices().rev().take(SAID).last();
    let lead = from.and_then(|(from, _)| before.get(from..));
    let clause = lead
        .unwrap_or_default()
        .trim_end()
        .rsplit([',', '，', '.', '。', ';', '；', '!', '\n'])
        .next();
    let of_label = clause
        .and_then(|clause| before_word(clause, &["is", "was", "are", "of", "是", "为"]))
        .is_some_and(|said| {
            let plain = !said.contains(|c: char| c.is_ascii_digit());
            plain && labels.iter().any(|label| said.contains(label))
        });
    of_label || labels.iter().any(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_whole_or_not_at_all() {
        let cases = [
            ("1200", Some(120_000)),
            ("¥1,200", Some(120_000)),
            ("1,234,567.5", Some(123_456_750)),
            ("12.5 yuan", Some(1_250)),
            ("1.2万", Some(1_200_000)),
            ("1.234万元", Some(1_234_000)),
            ("3千元", Some(300_000)),
            ("5百", Some(50_000)),
            ("3k", Some(300_000)),
            ("$3K", Some(300_000)),
            ("-300", None),
            ("86,50", None),
            ("86,50 EUR", None),
            ("300-500", None),
            ("1.200,50", None),
            ("1.200", None),
            ("1234,567", None),
            ("1,2345", None),
            (",123", None),
            ("0,500", None),
            ("1'200", Some(120_000)),
            ("3萬", Some(3_000_000)),
            ("1.000001千", None),
            ("1万2千", Some(1_200_000)),
            ("万", None),
            ("3千万", Some(3_000_000_000)),
            ("四百二十块", Some(42_000)),
            ("一千二百元五角", Some(120_050)),
            ("12块5", Some(1_250)),
            ("三块八毛五分", Some(385)),
            ("叁佰贰拾元整", Some(32_000)),
            ("twenty-three dollars", Some(2_300)),
            ("twenty-three dollars and fifty cents", Some(2_350)),
            ("105 euros 7 cents", Some(10_507)),
            ("twenty-five euros fifty", Some(2_550)),
            ("12 euros 5", None),
            ("一两百块", None),
            ("1.", None),
            ("", None),
        ];
        for (given, expected) in cases {
            assert_eq!(money(given), expected, "{given:?}");
        }
        assert_eq!(money(&format!("{}万", "9".repeat(18))), None);
    }

    #[test]
    fn an_amount_in_a_text_that_can_be_meant_in_two_ways_is_not_read() {
        let labels = ["预算", "费用", "budget", "about", "paid"];
        let cases = [
            ("预算1200元", Some(120_000)),
            ("打车费86.5元", Some(8_650)),
            ("预算3千元", Some(300_000)),
            ("预算5百元", Some(50_000)),
            ("预算1.2万", Some(1_200_000)),
            ("预算两万元", Some(2_000_000)),
            ("三千元", Some(300_000)),
            ("1.234万元", Some(1_234_000)),
            ("Budget 3k", Some(300_000)),
            ("budget 3k EUR", Some(300_000)),
            ("€1,200.50 by train", Some(120_050)),
            ("budget 1200, by train", Some(120_000)),
            ("预算1200 天津", Some(120_000)),
            ("the budget for Beijing is 6k", Some(600_000)),
            ("the budget for 3 people is 6k", None),
            ("预算1200元，定金300元", Some(120_000)),
            ("酒店500元，打车500元", Some(50_000)),
            ("酒店500元，打车300元", None),
            ("86,50 EUR", None),
            ("€1.200,50", None),
            ("预算300-500", None),
            ("300到500元", None),
            ("-300元", None),
            ("1万2千元", Some(1_200_000)),
            ("三千5百元", Some(350_000)),
            ("预算3千五百元", Some(350_000)),
            ("budget 3m", None),
            ("budget 2 million", Some(200_000_000)),
            ("打车四百二十块", Some(42_000)),
            ("住宿一千二百元五角，发票", Some(120_050)),
            ("打车12块5，午饭", Some(1_250)),
            ("打车12块5个人", None),
            ("和客户一块吃饭", None),
            ("和客户一块吃饭，200元", Some(20_000)),
            ("早点一块五", Some(150)),
            ("预算两万", Some(2_000_000)),
            ("周三200元", Some(20_000)),
            ("星期一午饭八十六块五", Some(8_650)),
            ("taxi twenty-three dollars", Some(2_300)),
            ("a hundred and five euro for lunch", Some(10_500)),
            ("paid 23 dollars and 50 cents", Some(2_350)),
            ("budget two thousand by train", Some(200_000)),
            ("Budget: One Thousand Five Hundred yuan", Some(150_000)),
            ("about two weeks in Oslo, 300 yuan", Some(30_000)),
            ("about two weeks in Oslo", None),
            ("a few hundred dollars", None),
            ("a few hundred and five dollars", None),
            ("a dinner of a hundred and five euro", Some(10_500)),
            ("half a million euro", None),
            ("someone paid often, weighty tension", None),
            ("两三百元", None),
            ("几百块", None),
            ("一百多块", None),
            ("预算1000多元", None),
            ("负三百元", None),
            ("minus twenty euros", None),
            ("three to five hundred euro", None),
            ("paid 50 cents", None),
            ("费用报销3张发票", None),
            ("预算0元", None),
            ("1200", None),
            ("hotel 320 euros two nights", Some(32_000)),
            ("30 and 4 euros for a taxi and a bus", None),
            ("it was 30 euros, not 40 euros", Some(3_000)),
            ("it was not 40 euros", None),
            ("No, 40 euros", Some(4_000)),
            ("paid 500 and 300, taxi and dinner", None),
            ("费用500和300，打车和吃饭", None),
            ("budget 1200 and 2 nights", Some(120_000)),
            ("taxi 30 and the bus 4 euros", None),
            ("10, 20 and 30 euros", None),
            ("酒店和机票，分别1390和1210元", None),
            ("打车30和公交4块", None),
            ("lunch for 2 at the hotel and 30 euros", Some(3_000)),
            ("claim 86.50 for a taxi", Some(8_650)),
            ("taxi 1,286.50", Some(128_650)),
            ("报销86.50的打车费", Some(8_650)),
            ("打车86.50，午饭", Some(8_650)),
            ("打车86.50，午饭30.20", None),
            ("claim 86.5 for a taxi", None),
            ("dinner at 18.30", None),
            ("drove 45.50 km", None),
            ("45.50公里", None),
            ("3.50%", None),
            ("version 25.10", None),
        ];
        for (text, expected) in cases {
            assert_eq!(money_in(text, &labels), expected, "{text}");
        }
    }

    #[test]
    fn a_decimal_number_is_one_of_its_smallest_unit() {
        assert_eq!(decimal("12.5", 2), Some(1_250));
        assert_eq!(decimal("0.25", 6), Some(250_000));
        for bad in ["", ".5", "-1", "1e3", "0.125", "1,5", "1.2.3"] {
            assert_eq!(decimal(bad, 2), None, "{bad}");
        }
    }
}
