//! The parser of the opening tag: its end and its attributes.

use std::collections::BTreeMap;

/// The longest opening tag; a longer one is read as text, so that a stray `<` cannot withhold an
/// answer.
const MAX_BYTES: usize = 512;

/// The meaning of a `<`.
pub(super) enum Opening {
    /// Not the tag.
    Other,
    /// Perhaps the tag; more text is needed.
    Unclear,
    /// The tag, with its length and attributes.
    Tag {
        bytes: usize,
        attributes: BTreeMap<String, String>,
    },
}

/// Reads the text from a `<` on.
pub(super) fn read(text: &str, name: &str) -> Opening {
    let Some(rest) = text.strip_prefix('<') else {
        return Opening::Other;
    };
    let Some(rest) = rest.strip_prefix(name) else {
        return if name.starts_with(rest) {
            Opening::Unclear
        } else {
            Opening::Other
        };
    };
    match rest.chars().next() {
        None => return Opening::Unclear,
        Some(c) if c.is_whitespace() || c == '>' || c == '/' => {}
        Some(_) => return Opening::Other,
    }
    match end(rest) {
        Some(end) if end <= MAX_BYTES => Opening::Tag {
            bytes: text.len() - rest.len() + end + 1,
            attributes: attributes(rest.get(..end).unwrap_or_default()),
        },
        None if rest.len() <= MAX_BYTES => Opening::Unclear,
        _ => Opening::Other,
    }
}

/// Returns the place of the first `>` outside quotes.
fn end(text: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(at, c)| {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '>' => return Some(at),
            _ => {}
        }
        None
    })
}

fn attributes(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = text.trim_end_matches('/').trim_start();
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| c == '=' || c.is_whitespace())
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let (value, after) = match after.trim_start().strip_prefix('=') {
            Some(after) => value(after.trim_start()),
            None => ("true", after),
        };
        if !name.is_empty() {
            found.insert(name.to_owned(), value.to_owned());
        }
        rest = after.trim_start();
    }
    found
}

fn value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.split_once(quote).unwrap_or((inner, ""));
        }
    }
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}
