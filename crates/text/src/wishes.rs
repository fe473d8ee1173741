//! Messages that wish for several things.
use crate::word::after_word;

/// The words that lead from one wish to the next.
const LEADS: [&str; 26] = [
    "and",
    "then",
    "also",
    "but",
    "plus",
    "next",
    "afterwards",
    "after that",
    "finally",
    "please",
    "然后",
    "接着",
    "还有",
    "并且",
    "而且",
    "另外",
    "顺便",
    "最后",
    "同时",
    "随后",
    "之后",
    "再",
    "并",
    "也",
    "还",
    "但",
];
/// The words that lead on without a mark before them; the others follow one.
const INLINE: [&str; 9] = [
    "and", "then", "然后", "接着", "还有", "并且", "顺便", "再", "并",
];
const MARKS: [char; 12] = [
    ',', ';', '.', '!', '?', '\n', '，', '；', '。', '！', '？', '、',
];
/// The quotation marks: the text between them is said by somebody, and wishes for nothing.
const QUOTES: [(char, char); 4] = [('"', '"'), ('“', '”'), ('「', '」'), ('《', '》')];
/// The maximum number of places at which a message is looked at: a longer one is one wish.
const MOST: usize = 64;

/// Splits a message where another wish begins: "write a.txt: one, then list files".
///
/// A wish begins behind a mark, or a word such as "and", "then" and 再, if `begins` says so of the
/// text before it and of its own. What begins no wish belongs to the one before it.
///
/// ```
/// use fugato_text::wishes;
///
/// let split = |text| {
///     wishes(text, |before, wish| {
///         wish.starts_with("list") || wish.starts_with('列') || before.ends_with("then ") && wish.starts_with('1')
///     })
/// };
/// assert_eq!(split("write milk, bread and eggs, and then list files"), ["write milk, bread and eggs", "list files"]);
/// assert_eq!(split("写入牛奶再列出文件。"), ["写入牛奶", "列出文件。"]);
/// assert_eq!(split("How are you? list files, 1+1, then 1+2"), ["How are you?", "list files, 1+1", "1+2"]);
/// assert_eq!(split("write \"milk and list\""), ["write \"milk and list\""]);
/// ```
pub fn wishes(text: &str, mut begins: impl FnMut(&str, &str) -> bool) -> Vec<&str> {
    let (mut parts, mut end) = (vec![], text.len());
    let links = links(text);
    let links = if links.len() > MOST { vec![] } else { links };
    for (from, to) in links.into_iter().rev() {
        let (Some(before), Some(part)) = (text.get(..to), text.get(to..end)) else {
            continue;
        };
        let part = part.trim();
        if !part.is_empty() && begins(before, part) {
            parts.push(part);
            // A question keeps its mark.
            let mark = before.get(from..).and_then(|lead| lead.chars().next());
            let mark = mark.filter(|c| "?？!！".contains(*c));
            end = from + mark.map_or(0, char::len_utf8);
        }
    }
    parts.push(text.get(..end).unwrap_or(text).trim());
    parts.retain(|part| !part.is_empty());
    parts.reverse();
    parts
}

/// Returns the places between which nothing but marks and leading words stand.
fn links(text: &str) -> Vec<(usize, usize)> {
    let (mut links, mut quoted, mut done) = (vec![], None, 0);
    for (at, c) in text.char_indices() {
        if quoted == Some(c) {
            quoted = None;
            continue;
        }
        let opened = QUOTES.iter().find(|(open, _)| *open == c);
        if quoted.is_none()
            && let Some((open, close)) = opened
            && text
                .get(at + open.len_utf8()..)
                .is_some_and(|rest| rest.contains(*close))
        {
            quoted = Some(*close);
        }
        if quoted.is_some() || at < done {
            continue;
        }
        let here = text.get(at..).unwrap_or_default();
        if let Some(length) = link(here) {
            done = at + length;
            links.push((at, done));
        }
    }
    links
}

/// Returns the length of the marks and leading words at the beginning of a text.
fn link(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let marked = MARKS.contains(&first) && {
        let next = text.get(first.len_utf8()..)?.chars().next();
        // "3.5", "a.txt" and "1,000" go on.
        !first.is_ascii() || next.is_none_or(|next| !next.is_ascii_alphanumeric())
    };
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || MARKS.contains(&c));
    if !marked {
        if first.is_ascii() && !first.is_whitespace() {
            return None;
        }
        rest = lead(text.trim_start(), &INLINE)?;
    }
    loop {
        let plain = rest.trim_start_matches(|c: char| c.is_whitespace() || MARKS.contains(&c));
        match lead(plain, &LEADS) {
            Some(behind) => rest = behind,
            None => return Some(text.len() - plain.len()),
        }
    }
}

fn lead<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    let behind = words.iter().find_map(|word| {
        let head = text.get(..word.len())?;
        let rest = text.get(word.len()..)?;
        head.eq_ignore_ascii_case(word)
            .then(|| after_word(text, &[head]).map(|_| rest))?
    })?;
    // In 再见 and 也许 the word is no lead.
    let other = behind.starts_with(['见', '许', '会']);
    (!other).then_some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_begins_only_where_the_program_knows_one() {
        let known = |_: &str, wish: &str| {
            ["buy", "show", "买", "查"]
                .iter()
                .any(|verb| wish.starts_with(verb))
        };
        for (text, expected) in [
            ("buy 1 ETH and 0.1 BTC", &["buy 1 ETH and 0.1 BTC"][..]),
            (
                "buy 1 ETH and then, please, show it",
                &["buy 1 ETH", "show it"],
            ),
            ("buy 1,000 of it; show it", &["buy 1,000 of it", "show it"]),
            ("买1个再买2个，顺便查余额", &["买1个", "买2个", "查余额"]),
            ("hi. buy 1", &["hi", "buy 1"]),
            ("buy", &["buy"]),
            (", and", &[", and"]),
            ("", &[]),
        ] {
            assert_eq!(wishes(text, known), expected, "{text}");
        }
        let long = ", buy".repeat(MOST + 1);
        assert_eq!(wishes(&long, known), [long.as_str()]);
    }
}
