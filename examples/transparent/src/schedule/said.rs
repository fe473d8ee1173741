//! Times as people say them. What is understood only in part is not understood: a person is asked
//! rather than reminded at another time.
mod clock;
mod days;

pub(super) use clock::Time;

/// What is said of a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// In so many seconds.
    In(i64),
    /// At this time, on the day that is so many days away if one is named.
    Once(Option<i64>, Time),
    /// At this time, on the days that the last three fields of a cron expression name.
    Again(String, Time),
}

/// Reads what is said in lower case.
pub(super) fn read(text: &str) -> Option<Said> {
    let (wait, clock) = (clock::wait(text), clock::find(text));
    if let Some((at, seconds)) = wait {
        let first = clock.is_none_or(|(clock, _)| at < clock);
        return first.then_some(Said::In(seconds));
    }
    let (at, time) = clock?;
    Some(match days::read(text, at)? {
        days::Days::Once(day) => Said::Once(day, time),
        days::Days::Again(days) => Said::Again(days, time),
    })
}

/// The number with which a text begins, and what comes after it: in digits, or in Chinese up to 99.
fn number(text: &str) -> Option<(i64, &str)> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < text.len() {
        return Some((text.get(..text.len() - rest.len())?.parse().ok()?, rest));
    }
    let mut chars = text.chars();
    let mut digits: Vec<i64> = chars.by_ref().take(3).map_while(digit).collect();
    while !digits.is_empty() {
        let value = match *digits.as_slice() {
            [one] => Some(one),
            [ten @ (0 | 10), one] if one < 10 => Some(ten + one),
            [tens, 10] if (1..10).contains(&tens) => Some(tens * 10),
            [tens, 10, one] if (1..10).contains(&tens) && one < 10 => Some(tens * 10 + one),
            _ => None,
        };
        if let Some(value) = value {
            let bytes = text.chars().take(digits.len()).map(char::len_utf8).sum();
            return Some((value, text.get(bytes..)?));
        }
        digits.pop();
    }
    None
}

/// What a Chinese digit means.
fn digit(c: char) -> Option<i64> {
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

/// What comes after the first of these words with which a text begins.
fn after<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| text.strip_prefix(word))
}
