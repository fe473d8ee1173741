//! Words that must not be in the project.
use crate::tree::TextFile;

// Each is put together here, so that this file does not hold what it looks for.
const FORBIDDEN: [(&str, &str); 9] = [
    (concat!("/wo", "rk/"), "a folder of one machine"),
    (concat!("/ro", "ot/"), "a folder of one machine"),
    (concat!("/ho", "me/"), "a folder of one machine"),
    (concat!("TO", "DO"), "something unfinished"),
    (concat!("FIX", "ME"), "something unfinished"),
    (concat!("XX", "X"), "something unfinished"),
    (concat!("py", "pi.org"), "the host of a registry"),
    (concat!("npm", "js.org"), "the host of a registry"),
    (concat!("index.crates", ".io"), "the host of a registry"),
];

/// Every place at which a file holds a forbidden word, as `path:line: what it is`.
pub fn forbidden(file: &TextFile) -> Vec<String> {
    let mut found = vec![];
    for (n, line) in file.text.lines().enumerate() {
        for (word, what) in FORBIDDEN {
            if holds(line, word) {
                found.push(format!("{}:{}: {word:?} is {what}", file.path, n + 1));
            }
        }
    }
    found
}

/// Whether a line holds a word, not as a part of a longer one.
fn holds(line: &str, word: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let whole = word.starts_with(in_word);
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = line.split_at(at);
        let after = after.get(word.len()..).unwrap_or_default();
        !whole || !(before.ends_with(in_word) || after.starts_with(in_word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_word_is_found_with_its_line() {
        let text = format!("fine\n// {}: later\nASTODOX", FORBIDDEN[3].0);
        let file = TextFile::new("a.rs", text);
        let expected = format!("a.rs:2: {:?} is something unfinished", FORBIDDEN[3].0);
        assert_eq!(forbidden(&file), [expected]);
    }
}
