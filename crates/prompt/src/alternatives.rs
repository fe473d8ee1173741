//! Alternatives in words. Small models copy a value written as `a|b|c` literally, so no prompt
//! shows one.

use fugato_state::{Lang, say};

/// Returns the alternatives as part of a sentence: "one of `a`, `b` or `c`".
pub fn one_of<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> String {
    let values: Vec<_> = values
        .into_iter()
        .map(|value| format!("`{}`", value.as_ref()))
        .collect();
    match values.split_last() {
        None => say!("nothing", "无"),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => {
            let rest = rest.join(Lang::current().pick(", ", "、"));
            say!("one of {rest} or {last}", "{rest}或 {last} 之一")
        }
    }
}

/// Returns the alternatives as a list, each with its meaning.
pub fn bullets<V: AsRef<str>, M: AsRef<str>>(values: impl IntoIterator<Item = (V, M)>) -> String {
    let lines = values.into_iter().map(|(value, meaning)| {
        let (value, meaning) = (value.as_ref(), meaning.as_ref());
        if meaning.is_empty() {
            format!("- `{value}`")
        } else {
            format!("- `{value}`: {meaning}")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns every place in a text that shows alternatives as `a|b`, for tests of prompts. Rows of
/// Markdown tables, which begin with `|`, and `||` are ignored.
pub fn piped_alternatives(text: &str) -> Vec<&str> {
    let rows = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('|'));
    rows.flat_map(piped_in).collect()
}

fn piped_in(line: &str) -> Vec<&str> {
    let mut found = vec![];
    let mut from = 0;
    while let Some(at) = line
        .get(from..)
        .and_then(|rest| rest.find('|'))
        .map(|at| at + from)
    {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + 1..).unwrap_or_default();
        let left = before.chars().rev().find(|c| !is_between(*c));
        let right = after.chars().find(|c| !is_between(*c));
        if left.is_some_and(char::is_alphanumeric) && right.is_some_and(char::is_alphanumeric) {
            let start = word_start(before);
            let end = at + 1 + word_end(after);
            found.extend(line.get(start..end));
            from = end;
        } else {
            from = at + 1;
        }
    }
    found
}

/// Returns true if the character may be between a value and the bar: a space or a quote.
fn is_between(c: char) -> bool {
    matches!(c, ' ' | '"' | '\'' | '`' | '<' | '>')
}

fn is_inside(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

fn word_start(before: &str) -> usize {
    let word = before
        .trim_end_matches(is_between)
        .trim_end_matches(is_inside);
    word.len()
}

fn word_end(after: &str) -> usize {
    let word = after
        .trim_start_matches(is_between)
        .trim_start_matches(is_inside);
    let more = word.trim_start_matches(is_between);
    let end = after.len() - word.len();
    match more.strip_prefix('|') {
        Some(rest)
            if rest
                .chars()
                .find(|c| !is_between(*c))
                .is_some_and(char::is_alphanumeric) =>
        {
            after.len() - rest.len() + word_end(rest)
        }
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l6_alternatives_are_listed_in_words() {
        assert_eq!(
            one_of(["continue", "ask_user", "done"]),
            "one of `continue`, `ask_user` or `done`"
        );
        assert_eq!(one_of(["done"]), "`done`");
        assert_eq!(
            bullets([("continue", "go on"), ("done", "")]),
            "- `continue`: go on\n- `done`"
        );
    }

    #[test]
    fn l6_alternatives_with_bars_are_found() {
        for (text, found) in [
            (
                "action: continue|ask_user|done now",
                vec!["continue|ask_user|done"],
            ),
            ("\"strict\" | \"normal\"", vec!["strict\" | \"normal"]),
            ("状态 已排|未排", vec!["已排|未排"]),
            ("a|b and c|d", vec!["a|b", "c|d"]),
            ("| a | b |\n|---|---|", vec![]),
            ("a || b", vec![]),
            (&one_of(["a", "b"]), vec![]),
        ] {
            assert_eq!(piped_alternatives(text), found, "{text}");
        }
    }
}
