//! Latin words without their endings, and misspelled ones.
use std::collections::BTreeSet;

use crate::calendar::{weekday, weekday_names};

/// Returns a Latin word in lower case without its ending: "sorting" and "sorts" are "sort".
pub fn stem(word: &str) -> &str {
    let endings = ["ing", "ed", "es", "s"];
    let head = endings.into_iter().find_map(|ending| {
        let head = word.strip_suffix(ending)?;
        (head.len() >= 3 && !(ending == "s" && head.ends_with('s'))).then_some(head)
    });
    let word = head.unwrap_or(word);
    let head = word.strip_suffix('e').filter(|head| head.len() >= 3);
    head.unwrap_or(word)
}

/// Returns true if two Latin words in lower case are forms of one: "sorting" and "sorts" are, "not"
/// and "notes" are two words.
pub(crate) fn is_form(a: &str, b: &str) -> bool {
    let hisses = |word: &str| {
        ["s", "x", "z", "ch", "sh", "o"]
            .iter()
            .any(|end| word.ends_with(end))
    };
    // An "e" makes another word of one without an ending, unless the plural needs it: "boxes".
    let is_other = |a: &str, b: &str| match b.strip_prefix(a) {
        Some("e") => true,
        Some("es") => !hisses(a),
        _ => false,
    };
    stem(a) == stem(b) && !is_other(a, b) && !is_other(b, a)
}

/// Returns the number of letters by which two words differ. Two letters that changed places count
/// once.
///
/// ```
/// assert_eq!(fugato_text::edit_distance("wendesday", "wednesday"), 1);
/// ```
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let first: Vec<usize> = (0..=b.len()).collect();
    let (mut before, mut last) = (vec![], first);
    let mut previous = None;
    for (row, letter) in a.chars().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in b.iter().enumerate() {
            let at =
                |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX - 1);
            let left = at(&next, column) + 1;
            let mut best = left.min(at(&last, column + 1) + 1);
            best = best.min(at(&last, column) + usize::from(letter != *other));
            let swapped = column > 0
                && previous == Some(*other)
                && column.checked_sub(1).and_then(|at| b.get(at)) == Some(&letter);
            if swapped {
                best = best.min(at(&before, column - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut last, next);
        previous = Some(letter);
    }
    last.last().copied().unwrap_or(0)
}

/// Returns a text whose misspelled Latin words of five letters and more are those that must have
/// been meant: exactly one known word is that near.
///
/// ```
/// let known = ["wednesday", "move", "outline"].into();
/// let meant = fugato_text::respell("move it to wendesday", &known, |word| word == "to");
/// assert_eq!(meant, "move it to wednesday");
/// ```
pub fn respell(text: &str, known: &BTreeSet<&str>, is_known: impl Fn(&str) -> bool) -> String {
    let allowed = |word: &str, _: &str| if word.len() > 8 { 2 } else { 1 };
    respell_within(text, known, is_known, allowed)
}

/// Returns a text whose misspelled English words for days are those that must have been meant.
pub(crate) fn respell_days(text: &str) -> String {
    // These are near to a day, and mean something else.
    const OTHERS: [&str; 3] = ["sundae", "toddy", "toady"];
    let days = ["today", "tonight", "tomorrow", "yesterday"];
    let known = weekday_names().chain(days).collect();
    let is_known = |word: &str| OTHERS.contains(&word) || weekday(word).is_some();
    let allowed = |_: &str, day: &str| if day.len() > 7 { 2 } else { 1 };
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphabetic()) {
        let lower = word.to_ascii_lowercase();
        let spelled = respell_within(&lower, &known, is_known, allowed);
        out.push_str(if spelled == lower { word } else { &spelled });
    }
    out
}

/// Corrects words that differ from a known one by no more letters than are allowed of both.
fn respell_within(
    text: &str,
    known: &BTreeSet<&str>,
    is_known: impl Fn(&str) -> bool,
    allowed: impl Fn(&str, &str) -> usize,
) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_alphabetic());
        let (word, tail) = rest.split_at(end.unwrap_or(rest.len()));
        if word.is_empty() {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        rest = tail;
        // The head of a contraction, such as `doesn't`, is no word of its own.
        let contracted = tail.starts_with('\'');
        let right = contracted || word.len() < 5 || known.contains(word) || is_known(word);
        out.push_str(if right {
            word
        } else {
            meant(word, known, &allowed).unwrap_or(word)
        });
    }
    out
}

/// Returns the only known word that is near enough to a misspelled one.
fn meant<'k>(
    word: &str,
    known: &BTreeSet<&'k str>,
    allowed: impl Fn(&str, &str) -> usize,
) -> Option<&'k str> {
    let near = known.iter().filter(|other| {
        other.len() >= 5
            && other.len().abs_diff(word.len()) <= allowed(word, other)
            && other.chars().next() == word.chars().next()
    });
    let near = near.map(|other| (edit_distance(word, other), *other));
    let near: BTreeSet<(usize, &str)> = near
        .filter(|(far, other)| *far <= allowed(word, other))
        .collect();
    let mut near = near.into_iter();
    let (far, found) = near.next()?;
    near.next()
        .is_none_or(|(next, _)| next > far)
        .then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_by_their_stems_and_letters() {
        assert_eq!(stem("sorting"), stem("sort"));
        assert_eq!(stem("photos"), stem("photo"));
        assert_eq!(stem("cleaning"), stem("clean"));
        assert_eq!(stem("class"), "class");
        for (a, b, expected) in [
            ("sorting", "sorts", true),
            ("writing", "write", true),
            ("rides", "riding", true),
            ("box", "boxes", true),
            ("class", "classes", true),
            ("notes", "note", true),
            ("not", "notes", false),
            ("notes", "not", false),
            ("them", "theme", false),
            ("plan", "planes", false),
        ] {
            assert_eq!(is_form(a, b), expected, "{a} and {b}");
        }
        for (a, b, expected) in [
            ("wendesday", "wednesday", 1),
            ("tommorow", "tomorrow", 2),
            ("", "abc", 3),
            ("abc", "", 3),
            ("same", "same", 0),
            ("ab", "ba", 1),
        ] {
            assert_eq!(edit_distance(a, b), expected, "{a} and {b}");
        }
    }

    #[test]
    fn a_word_between_two_known_ones_stays() {
        let known = ["linked", "linker"].into();
        assert_eq!(respell("linkex 周三", &known, |_| false), "linkex 周三");
        assert_eq!(respell("Linkd", &known, |_| false), "Linkd");
    }
}
