//! Texts that fit into boxes.
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Escapes a text for XML. Control characters, which XML cannot contain, are left out.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Estimates the width of a text in pixels at a font size.
pub(super) fn pixels(text: &str, size: u32) -> u32 {
    u32::try_from(text.width())
        .unwrap_or(u32::MAX)
        .saturating_mul(size * 11)
        / 20
}

/// Breaks a text into at most `most` lines of at most `columns`, at spaces where there are any; a
/// cut text ends in an ellipsis.
pub(super) fn wrapped(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        let fits = |line: &String| line.width() + word.trim_end().width() <= columns;
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) => line.push_str(&word),
            None => broken(&mut lines, &word, columns),
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while last.width() + 1 > columns && last.pop().is_some() {}
            last.push('…');
        }
    }
    lines
}

/// Splits a text into words with the space after them; each wide character is a word of its own.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in text.chars() {
        let wide = c.width() == Some(2);
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
        if wide || c.is_whitespace() {
            words.push(String::new());
        }
    }
    words
}

/// Starts a new line; a word that is longer than a line is broken anywhere.
fn broken(lines: &mut Vec<String>, word: &str, columns: usize) {
    lines.push(String::new());
    for c in word.chars() {
        let full = |line: &String| line.width() + c.width().unwrap_or(0) > columns.max(2);
        if !c.is_whitespace() && lines.last().is_none_or(full) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_wrapped_at_spaces_and_between_han() {
        assert_eq!(
            wrapped("Organic Chemistry", 14, 3),
            ["Organic", "Chemistry"]
        );
        assert_eq!(wrapped("中国近现代史纲要", 14, 3), ["中国近现代史纲", "要"]);
        assert_eq!(
            wrapped("Differentiation of functions", 12, 2),
            ["Differentiat", "ion of…"]
        );
        assert_eq!(wrapped("Continuity", 14, 1), ["Continuity"]);
        assert_eq!(wrapped("Uniform continuity", 10, 1), ["Uniform…"]);
        assert_eq!(wrapped("", 14, 3), [""]);
    }

    #[test]
    fn texts_cannot_leave_their_place() {
        assert_eq!(
            escaped("<b a='1' & \"2\">\u{7}"),
            "&lt;b a=&#39;1&#39; &amp; &quot;2&quot;&gt; "
        );
    }
}
