//! Words in texts of two languages.
use std::borrow::Cow;

/// Returns true if a text contains a Chinese character.
pub fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

/// Returns a text with a space in the place of each control character; ends of lines and tabs stay. A
/// person sees none of them, and writes none.
///
/// ```
/// use fugato_text::without_controls;
///
/// assert_eq!(without_controls("call Ada\u{0}\u{1b}[2J\n"), "call Ada  [2J\n");
/// ```
pub fn without_controls(text: &str) -> Cow<'_, str> {
    let is_unseen = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.contains(is_unseen) {
        Cow::Owned(text.replace(is_unseen, " "))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns a text without control characters, with one space between words, and without empty
/// lines.
///
/// ```
/// assert_eq!(fugato_text::normalize_whitespace(" to\u{0}  Oslo \n\n by\ttrain"), "to Oslo\nby train");
/// ```
pub fn normalize_whitespace(text: &str) -> String {
    let seen = without_controls(text);
    let lines = seen.lines().map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        words.join(" ")
    });
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// Returns true if a text contains a word; a Latin word must not be within another one. Endings
/// such as a plural are allowed. The comparison is case-sensitive.
pub fn has_word(text: &str, word: &str) -> bool {
    word_positions(text, word).next().is_some()
}

/// Returns the positions at which a text contains a word, in the sense of [`has_word`].
pub(crate) fn word_positions<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let latin = |c: char| c.is_ascii_alphanumeric();
    let positions = text.match_indices(word).map(|(at, _)| at);
    positions.filter(move |at| {
        let before = text
            .get(..*at)
            .and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).unwrap_or_default();
        // One letter more than the longest ending tells that it is none.
        let ending: String = after.chars().take(5).take_while(|c| latin(*c)).collect();
        !word.chars().next().is_some_and(latin)
            || !before.is_some_and(latin)
                && matches!(ending.as_str(), "" | "s" | "d" | "ed" | "ment" | "ing")
    })
}

/// Returns true if a text contains one of these words, which are in lower case; the case of the
/// text does not matter.
///
/// ```
/// use fugato_text::has_any_word;
///
/// assert!(has_any_word("My Orders", &["trade", "order"]) && !has_any_word("at the border", &["order"]));
/// ```
pub fn has_any_word<W: AsRef<str>>(text: &str, words: &[W]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| has_word(&text, word.as_ref()))
}

/// Returns the rest of a text after the first of these phrases that it begins with, regardless of
/// ASCII case.
pub fn strip_phrase<'t>(text: &'t str, phrases: &[&str]) -> Option<&'t str> {
    phrases.iter().find_map(|phrase| {
        let (head, rest) = text.split_at_checked(phrase.len())?;
        head.eq_ignore_ascii_case(phrase).then_some(rest)
    })
}

/// Returns the rest of a text after the first of these phrases that it contains.
pub fn after_phrase<'t>(text: &'t str, phrases: &[&str]) -> Option<&'t str> {
    phrases.iter().find_map(|phrase| {
        let mut places = text.char_indices().filter_map(|(at, _)| text.get(at..));
        places.find_map(|here| strip_phrase(here, std::slice::from_ref(phrase)))
    })
}

/// Returns the rest of a text after the first of these words that it begins with. A Latin word has
/// to end there.
pub fn after_word<'a, W: AsRef<str>>(text: &'a str, words: &[W]) -> Option<&'a str> {
    words.iter().map(AsRef::as_ref).find_map(|word| {
        let rest = text.strip_prefix(word)?;
        let latin = word.ends_with(|c: char| c.is_ascii_alphabetic());
        let goes_on = latin && rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        (!goes_on).then_some(rest)
    })
}

/// Returns the text before the first of these words that it ends with. A Latin word has to begin
/// there: "what" does not end in "at".
pub fn before_word<'a, W: AsRef<str>>(text: &'a str, words: &[W]) -> Option<&'a str> {
    words.iter().map(AsRef::as_ref).find_map(|word| {
        let rest = text.strip_suffix(word)?;
        let latin = word.starts_with(|c: char| c.is_ascii_alphabetic());
        (!latin || !is_inside(rest)).then_some(rest)
    })
}

/// Returns the end of a text, as far as the few words before a place go: whoever looks at each place
/// of a long text looks at no more.
pub(crate) fn tail(text: &str) -> &str {
    tail_within(text, 40)
}

/// Returns the end of a text of at most so many bytes.
pub(crate) fn tail_within(text: &str, bytes: usize) -> &str {
    let mut ends = text.len().saturating_sub(bytes)..=text.len();
    let from = ends.find(|at| text.is_char_boundary(*at));
    text.get(from.unwrap_or(0)..).unwrap_or_default()
}

/// Returns true if a text ends within a Latin word or a number, so that no other can begin after
/// it.
pub(crate) fn is_inside(before: &str) -> bool {
    before.ends_with(|c: char| c.is_ascii_alphanumeric())
}
