use crate::word::before_word;

/// The range of prices that a word allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PriceBound {
    /// This price, or a better one.
    This,
    /// This price, unless the number is a quantity.
    For,
    /// This price and higher ones: only a seller's limit.
    Least,
    /// This price and lower ones: only a buyer's limit.
    Most,
}

/// The words before a price. If two match, the longer one counts.
const PRICES: [(PriceBound, &[&str]); 4] = [
    (
        PriceBound::This,
        &[
            "at", "@", "limit", "price", "priced", "价格", "限价", "价", "以", "按", "价位", "挂单",
        ],
    ),
    (PriceBound::For, &["for"]),
    (
        PriceBound::Least,
        &[
            "above",
            "over",
            "at least",
            "not below",
            "no less than",
            "not less than",
            "minimum",
            "no lower than",
            "not lower than",
            "不低于",
            "不要低于",
            "别低于",
            "不能低于",
            "不少于",
            "高于",
            "至少",
            "最低",
            "超过",
        ],
    ),
    (
        PriceBound::Most,
        &[
            "below",
            "under",
            "at most",
            "up to",
            "not above",
            "no more than",
            "not more than",
            "maximum",
            "no higher than",
            "not higher than",
            "不要超过",
            "别超过",
            "不能超过",
            "不要高于",
            "别高于",
            "不能高于",
            "不高于",
            "不超过",
            "低于",
            "至多",
            "最多",
            "最高",
        ],
    ),
];

/// The words before a number that is not exact.
pub(super) const ABOUT: [&str; 6] = ["about", "around", "up to", "大约", "大概", "约"];

/// The words allowed between such a word and its number.
const BETWEEN: [&str; 22] = [
    "$", "¥", "€", ":", "：", "=", "usdt", "usd", "is", "of", "price", "limit", "a", "the",
    "about", "around", "order", "是", "为", "大约", "约", "价格",
];

/// Returns the range of the longest price word before a number; `None` if it is no price.
pub(super) fn bound(before: &str) -> Option<PriceBound> {
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

/// Returns true if a word announces a price.
pub(super) fn is_named(lower: &str) -> bool {
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| word == "limit")
        || ["限价", "挂单", "挂卖", "挂买"]
            .iter()
            .any(|word| lower.contains(word))
}
