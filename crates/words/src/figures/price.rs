use crate::text::before_word;

/// Which prices a word leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
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
const PRICES: [(Bound, &[&str]); 4] = [
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
const BETWEEN: [&str; 22] = [
    "$", "¥", "€", ":", "：", "=", "usdt", "usd", "is", "of", "price", "limit", "a", "the",
    "about", "around", "order", "是", "为", "大约", "约", "价格",
];

/// Whether a number is one of a price: the longest word before it says of which.
pub(super) fn bound(before: &str) -> Option<Bound> {
    let mut before = before.trim_end();
    loop {
        let words = PRICES
            .iter()
            .flat_map(|(bound, words)| words.iter().map(move |word| (*bound, *word)));
        let fitting = words.filter(|(_, word)| before_word(before, &[word]).is_some());
        if let Some((bound, _)) = fitting.max_by_key(|(_, word)| word.len()) {
            return Some(bound);
        }
        before = before_word(before, &BETWEEN)?.trim_end();
    }
}

/// Whether a word says that there is a price.
pub(super) fn is_named(lower: &str) -> bool {
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| word == "limit") || lower.contains("限价")
}
