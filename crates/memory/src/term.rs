//! What a text is found by.
//!
//! Words between spaces are terms, in lower case. Scripts that put no spaces between words, such as
//! Chinese, are cut into overlapping pairs of characters: whatever pair a person looks for is a
//! term of every text that holds it, with no dictionary that could cut elsewhere.

/// What a query looks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sought {
    /// Exactly this term.
    Term(String),
    /// Every term that begins with this character: how a query of one character finds the pairs
    /// that it begins, and every character begins a term.
    Beginning(char),
}

/// The terms of a text that is searched, in order and with repetitions.
pub fn terms(text: &str) -> Vec<String> {
    let mut found = vec![];
    each_run(text, |unspaced, run| {
        if unspaced {
            found.extend(pairs(run));
            found.extend(run.last().map(char::to_string));
        } else {
            found.push(run.iter().collect());
        }
    });
    found
}

/// What to look for to answer a query, each once.
pub fn sought(query: &str) -> Vec<Sought> {
    let mut found = vec![];
    each_run(query, |unspaced, run| match run {
        [one] if unspaced => found.push(Sought::Beginning(*one)),
        run if unspaced => found.extend(pairs(run).map(Sought::Term)),
        run => found.push(Sought::Term(run.iter().collect())),
    });
    found.sort();
    found.dedup();
    found
}

fn pairs(run: &[char]) -> impl Iterator<Item = String> {
    run.windows(2).map(|pair| pair.iter().collect())
}

fn each_run(text: &str, mut each: impl FnMut(bool, &[char])) {
    let mut run: Vec<char> = vec![];
    let mut kind = None;
    for c in text.chars().flat_map(|c| half_width(c).to_lowercase()) {
        let next = kind_of(c);
        if next != kind {
            if let Some(unspaced) = kind {
                each(unspaced, &run);
            }
            run.clear();
            kind = next;
        }
        run.push(c);
    }
    if let Some(unspaced) = kind {
        each(unspaced, &run);
    }
}

/// Whether a character is of a script without spaces; none for what is no part of a word.
fn kind_of(c: char) -> Option<bool> {
    if is_unspaced(c) {
        Some(true)
    } else {
        c.is_alphanumeric().then_some(false)
    }
}

/// Chinese, Japanese, Korean, and the scripts of South-East Asia.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E01}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1100}'..='\u{11FF}'
        | '\u{1780}'..='\u{17FF}' | '\u{2E80}'..='\u{2FDF}' | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{30FA}' | '\u{30FC}'..='\u{318F}' | '\u{31A0}'..='\u{31BF}'
        | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF66}'..='\u{FF9F}'
        | '\u{20000}'..='\u{323AF}')
}

/// Letters as wide as a Chinese character are the same letters.
fn half_width(c: char) -> char {
    match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_and_chinese_is_in_pairs() {
        assert_eq!(
            terms("Pay: 报销单 for ＡＢ-12"),
            ["pay", "报销", "销单", "单", "for", "ab", "12"]
        );
    }

    #[test]
    fn a_query_of_one_character_looks_for_what_it_begins() {
        assert_eq!(
            sought("复 复习 Exam exam"),
            [
                Sought::Term("exam".into()),
                Sought::Term("复习".into()),
                Sought::Beginning('复'),
            ]
        );
        assert_eq!(sought("… !"), []);
    }
}
