//! Numbers in digits and in Chinese.

/// Reads the number at the beginning of a text, in digits, or in Chinese up to 99. Returns it, and
/// the rest.
pub fn number(text: &str) -> Option<(i64, &str)> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < text.len() {
        return Some((text.get(..text.len() - rest.len())?.parse().ok()?, rest));
    }
    let mut digits: Vec<i64> = text.chars().take(3).map_while(digit).collect();
    while !digits.is_empty() {
        if let Some(value) = value(&digits) {
            let bytes = text.chars().take(digits.len()).map(char::len_utf8).sum();
            return Some((value, text.get(bytes..)?));
        }
        digits.pop();
    }
    None
}

fn value(digits: &[i64]) -> Option<i64> {
    match *digits {
        [one] => Some(one),
        [ten @ (0 | 10), one] if one < 10 => Some(ten + one),
        [tens, 10] if (1..10).contains(&tens) => Some(tens * 10),
        [tens, 10, one] if (1..10).contains(&tens) && (1..10).contains(&one) => {
            Some(tens * 10 + one)
        }
        _ => None,
    }
}

/// Returns the value of a Chinese digit; 十 is ten.
pub fn digit(c: char) -> Option<i64> {
    const DIGITS: [(char, i64); 13] = [
        ('零', 0),
        ('〇', 0),
        ('一', 1),
        ('二', 2),
        ('两', 2),
        ('三', 3),
        ('四', 4),
        ('五', 5),
        ('六', 6),
        ('七', 7),
        ('八', 8),
        ('九', 9),
        ('十', 10),
    ];
    let found = DIGITS.iter().find(|(known, _)| *known == c);
    found.map(|(_, value)| *value)
}

/// Returns true if the character can continue a number.
pub(crate) fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || digit(c).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_digits_and_in_chinese() {
        for (text, value, rest) in [
            ("15天", 15, "天"),
            ("十五", 15, ""),
            ("二十", 20, ""),
            ("二十一天", 21, "天"),
            ("两天", 2, "天"),
            ("〇五分", 5, "分"),
            ("三五天", 3, "五天"),
            ("十十", 10, "十"),
            ("三十十", 30, "十"),
        ] {
            assert_eq!(number(text), Some((value, rest)), "{text}");
        }
        for text in ["", "天", "a1", "99999999999999999999"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
