//! Amounts as people write them. What could be meant in two ways is not read: it is asked for.

/// What can stand before or after an amount. The longer ones come first.
pub(crate) const CURRENCIES: [&str; 16] = [
    "euros", "euro", "dollars", "dollar", "yuan", "rmb", "cny", "eur", "usd", "块钱", "元整", "元",
    "块", "¥", "￥", "€",
];

/// Hundredths of an amount that stands alone, such as `¥1,200.50` or `1.2万`.
pub(crate) fn alone(text: &str) -> Option<i64> {
    let text = text.trim().to_lowercase();
    let before = CURRENCIES.iter().chain(&["$"]);
    let text = before
        .clone()
        .find_map(|currency| text.strip_prefix(currency))
        .unwrap_or(&text);
    let text = before
        .clone()
        .find_map(|currency| text.strip_suffix(currency))
        .unwrap_or(text)
        .trim();
    let unit = text.chars().next_back().filter(|c| times(*c).is_some());
    let digits = unit
        .and_then(|unit| text.strip_suffix(unit))
        .unwrap_or(text);
    amount(digits.trim_end(), unit)
}

/// Hundredths of a number with its unit. A comma stands before three digits, and more than two
/// decimals have a unit that makes a plain amount of them.
fn amount(digits: &str, unit: Option<char>) -> Option<i64> {
    let times = match unit {
        Some(unit) => times(unit)?,
        None => 1,
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(part) || part.len() > if unit.is_some() { 6 } else { 2 } {
        return None;
    }
    let mut groups = whole.split(',');
    let first = groups.next().filter(|first| plain(first))?;
    let is_grouped = whole.contains(',');
    if is_grouped && first.len() > 3 || groups.any(|group| group.len() != 3 || !plain(group)) {
        return None;
    }
    let whole: i64 = whole.replace(',', "").parse().ok()?;
    let millionths: i64 = format!("{part:0<6}").parse().ok()?;
    let parts = millionths.checked_mul(times)?;
    let cents = whole.checked_mul(times)?.checked_mul(100)?;
    (parts % 10_000 == 0).then(|| cents.checked_add(parts / 10_000))?
}

fn times(unit: char) -> Option<i64> {
    match unit {
        '百' => Some(100),
        '千' | 'k' | 'K' => Some(1_000),
        '万' => Some(10_000),
        _ => None,
    }
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
            ("1.000001千", None),
            ("1万2千", None),
            ("万", None),
            ("3千万", None),
            ("1.", None),
            ("", None),
        ];
        for (given, expected) in cases {
            assert_eq!(alone(given), expected, "{given:?}");
        }
        assert_eq!(amount(&"9".repeat(18), Some('万')), None);
    }
}
