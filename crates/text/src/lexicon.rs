//! Phrases that mean something, found where a text begins with one.
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use crate::word::after_word;

/// The phrases that a program understands, each with a meaning.
///
/// A phrase is found as a whole word: "order" is not in "border", and "plan" is not in "planet".
/// Phrases are data of the program, usually of a TOML file with one list for each meaning.
///
/// ```
/// use fugato_text::Lexicon;
///
/// #[derive(Debug, PartialEq)]
/// enum Verb { Move, Keep }
/// let verbs = Lexicon::new([("move", Verb::Move), ("leave", Verb::Keep), ("移到", Verb::Move)]);
///
/// let (meanings, rest) = verbs.longest("move it").unwrap();
/// assert_eq!((meanings, rest), (vec![&Verb::Move], " it"));
/// assert!(verbs.longest("movement").is_none());
/// ```
#[derive(Debug, Clone)]
pub struct Lexicon<M> {
    /// The phrases by their first character, the longest first.
    by_first: BTreeMap<char, Vec<(String, M)>>,
    words: BTreeSet<String>,
}

impl<M> Lexicon<M> {
    /// Makes a lexicon of phrases in the form that [`normalize`](crate::normalize) returns.
    pub fn new<P: Into<String>>(phrases: impl IntoIterator<Item = (P, M)>) -> Self {
        let (mut by_first, mut words) =
            (BTreeMap::<char, Vec<(String, M)>>::new(), BTreeSet::new());
        for (phrase, meaning) in phrases {
            let phrase: String = phrase.into();
            let latin = phrase.split([' ', '-']).filter(|word| word.is_ascii());
            words.extend(latin.map(str::to_owned));
            if let Some(first) = phrase.chars().next() {
                by_first.entry(first).or_default().push((phrase, meaning));
            }
        }
        for phrases in by_first.values_mut() {
            // Stable, so that the meanings of one phrase keep their order.
            phrases.sort_by_key(|(phrase, _)| Reverse(phrase.len()));
        }
        Self { by_first, words }
    }

    /// Returns the meanings of the longest phrase with which a text begins, in the order in which
    /// they were given, and the rest of the text.
    pub fn longest<'t>(&self, text: &'t str) -> Option<(Vec<&M>, &'t str)> {
        let phrases = self.by_first.get(&text.chars().next()?)?;
        let (phrase, rest) = phrases
            .iter()
            .find_map(|(phrase, _)| Some((phrase, after_word(text, &[phrase])?)))?;
        let same = phrases.iter().filter(|(other, _)| other == phrase);
        Some((same.map(|(_, meaning)| meaning).collect(), rest))
    }

    /// Returns the Latin words of all phrases, by which misspelled ones are recognised.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Returns true if a Latin word is part of a phrase.
    pub fn has_word(&self, word: &str) -> bool {
        self.words.contains(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_phrase_counts_as_a_whole_word() {
        let lexicon = Lexicon::new([
            ("take", 1),
            ("take out", 2),
            ("take", 3),
            ("不要", 4),
            ("不", 5),
        ]);
        assert_eq!(
            lexicon.longest("take outside"),
            Some((vec![&1, &3], " outside"))
        );
        assert_eq!(
            lexicon.longest("take out the bin"),
            Some((vec![&2], " the bin"))
        );
        assert_eq!(lexicon.longest("不要动"), Some((vec![&4], "动")));
        assert_eq!(lexicon.longest("taken"), None);
        assert_eq!(lexicon.longest(""), None);
        assert!(lexicon.has_word("out") && !lexicon.has_word("不"));
    }
}
