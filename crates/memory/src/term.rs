//! The terms of texts.
//!
//! Words between spaces are terms, in lower case. Scripts without spaces between words, such as
//! Chinese, are split into overlapping pairs of characters: any pair of a query is a term of every
//! text that contains it, and no dictionary is needed.

/// A term of a query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueryTerm {
    /// Exactly this term.
    Term(String),
    /// Every term that begins with this character. A query of one character thereby finds every
    /// text with it, because every character begins a term.
    Beginning(char),
}

/// Returns the terms of a text that is searched, in order and with repetitions.
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

/// The words of questions, which every text may hold that answers another one.
const QUESTION_WORDS: &str = "a about an and any anything are at can could did do does for had have how i in is it me my of \
    on or our s t tell the there to was were what whats when where which who whose why will with you your \
    什么 多少 怎么 怎样 哪里 哪个 哪些 是谁 为什 我的 你的 是什 么时 时候 是多 是哪 叫什";

/// Returns the terms of a query, sorted and without repetitions. The words of a question are left out,
/// unless there are no others: "when is my lunch?" looks for lunch.
pub fn sought(query: &str) -> Vec<QueryTerm> {
    let mut found = vec![];
    each_run(query, |unspaced, run| match run {
        [one] if unspaced => found.push(QueryTerm::Beginning(*one)),
        run if unspaced => found.extend(pairs(run).map(QueryTerm::Term)),
        run => found.push(QueryTerm::Term(run.iter().collect())),
    });
    found.sort();
    found.dedup();
    let asks = |term: &QueryTerm| match term {
        QueryTerm::Term(term) => QUESTION_WORDS.split_whitespace().any(|word| word == term),
        QueryTerm::Beginning(_) => false,
    };
    if !found.iter().all(asks) {
        found.retain(|term| !asks(term));
    }
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

/// Returns true for a character of a script without spaces, false for another word character, and
/// `None` for what is not part of a word.
fn kind_of(c: char) -> Option<bool> {
    if is_unspaced(c) {
        Some(true)
    } else {
        c.is_alphanumeric().then_some(false)
    }
}

/// Returns true for Chinese, Japanese, Korean, and the scripts of South-East Asia.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E01}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1100}'..='\u{11FF}'
        | '\u{1780}'..='\u{17FF}' | '\u{2E80}'..='\u{2FDF}' | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{30FA}' | '\u{30FC}'..='\u{318F}' | '\u{31A0}'..='\u{31BF}'
        | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF66}'..='\u{FF9F}'
        | '\u{20000}'..='\u{323AF}')
}

/// Returns the half-width form of a full-width letter; other characters unchanged.
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
                QueryTerm::Term("exam".into()),
                QueryTerm::Term("复习".into()),
                QueryTerm::Beginning('复'),
            ]
        );
        assert_eq!(sought("… !"), []);
    }

    #[test]
    fn the_words_of_a_question_are_not_looked_for() {
        let term = |text: &str| QueryTerm::Term(text.into());
        assert_eq!(
            sought("When is my sister's birthday?"),
            [term("birthday"), term("sister")]
        );
        assert_eq!(sought("房租是什么"), [term("房租"), term("租是")]);
        // Where there is nothing else, they are what is looked for.
        assert_eq!(sought("the who"), [term("the"), term("who")]);
    }
}
