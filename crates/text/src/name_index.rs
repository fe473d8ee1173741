//! Things that a text names, by their whole names or by parts of them.
use std::collections::BTreeSet;

use crate::{
    normal::normalize,
    spelling::{is_form, stem},
    word::after_word,
};

/// Words that tell nothing about which thing is meant.
const STOP: [&str; 12] = [
    "the", "a", "an", "of", "and", "for", "to", "in", "on", "my", "with", "at",
];
/// Words that alone name nothing.
const VAGUE: [&str; 9] = [
    "first", "last", "next", "new", "old", "one", "two", "find", "part",
];
/// The number of words of a name that are compared.
const MOST_WORDS: usize = 6;

/// The names of things, in which those are found that a person mentions.
///
/// A person says "the linkage chapter", "sorting the photos" or 模拟卷, and rarely a whole name. Latin
/// names are compared by the stems of their words in any order, Chinese ones by two characters and
/// more.
///
/// ```
/// use fugato_text::NameIndex;
///
/// let names = NameIndex::new([(1, "Sort the photos"), (2, "Linkage chapter"), (3, "Gene maps chapter")]);
/// let named = names.longest("sorting photos on saturday").unwrap();
/// assert_eq!((named.things, named.is_whole, named.rest), (vec![1], true, " on saturday"));
/// assert_eq!(names.longest("the photos"), None); // "the" names nothing
/// assert_eq!(names.longest("chapter").unwrap().things, [2, 3]); // which one?
/// ```
#[derive(Debug, Clone)]
pub struct NameIndex<T> {
    names: Vec<Name<T>>,
}

#[derive(Debug, Clone)]
struct Name<T> {
    thing: T,
    text: String,
    stems: BTreeSet<String>,
}

/// The things that a text can mean where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameMatch<'t, T> {
    /// The things, in the order of the index; never empty.
    pub things: Vec<T>,
    /// True if a whole name was said, and not only a part of it.
    pub is_whole: bool,
    /// The text after the name.
    pub rest: &'t str,
}

impl<T> Name<T> {
    /// Returns true if a Latin word is a form of a word of the name.
    fn has_form(&self, word: &str) -> bool {
        self.stems.contains(stem(word)) && latin_words(&self.text).any(|own| is_form(word, own))
    }
}

impl<T: Clone> NameIndex<T> {
    /// Makes an index of names as they are written.
    pub fn new<N: AsRef<str>>(names: impl IntoIterator<Item = (T, N)>) -> Self {
        let name = |(thing, name): (T, N)| {
            let text = normalize(name.as_ref());
            let stems = latin_words(&text).map(stem);
            let stems = stems.filter(|word| !STOP.contains(word));
            Name {
                thing,
                stems: stems.map(str::to_owned).collect(),
                text,
            }
        };
        Self {
            names: names.into_iter().map(name).collect(),
        }
    }

    /// Returns the things with exactly this name, in the form of [`normalize`].
    pub fn exact(&self, name: &str) -> Vec<T> {
        self.things(|known| known.text == name)
    }

    /// Returns the longest name, or the longest part of one, with which a text in the form of
    /// [`normalize`] begins.
    pub fn longest<'t>(&self, text: &'t str) -> Option<NameMatch<'t, T>> {
        let whole = self.whole(text).or_else(|| self.misspelled(text));
        let part = if text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            self.words(text)
        } else {
            self.characters(text)
        };
        // A part that goes on beyond a whole name names more.
        match (whole, part) {
            (Some(whole), Some(part)) if part.rest.len() < whole.rest.len() => Some(part),
            (whole, part) => whole.or(part),
        }
    }

    /// Returns the Latin words of all names.
    pub fn latin_words(&self) -> impl Iterator<Item = &str> {
        self.names.iter().flat_map(|name| latin_words(&name.text))
    }

    /// Returns true if a Latin word has the stem of a word of a name.
    pub fn has_stem(&self, word: &str) -> bool {
        self.names.iter().any(|name| name.has_form(word))
    }

    fn things(&self, is_meant: impl Fn(&Name<T>) -> bool) -> Vec<T> {
        let meant = self.names.iter().filter(|name| is_meant(name));
        meant.map(|name| name.thing.clone()).collect()
    }

    fn whole<'t>(&self, text: &'t str) -> Option<NameMatch<'t, T>> {
        let rest = |name: &Name<T>| after_word(text, &[&name.text]);
        self.leaving_least(rest)
    }

    /// Returns the things whose names leave the least of a text.
    fn leaving_least<'t>(
        &self,
        rest: impl Fn(&Name<T>) -> Option<&'t str>,
    ) -> Option<NameMatch<'t, T>> {
        let shortest = self
            .names
            .iter()
            .filter_map(&rest)
            .min_by_key(|rest| rest.len())?;
        Some(NameMatch {
            things: self.things(|name| rest(name) == Some(shortest)),
            is_whole: true,
            rest: shortest,
        })
    }

    /// Returns the things whose names have the longest run of words with which a text begins.
    fn words<'t>(&self, text: &'t str) -> Option<NameMatch<'t, T>> {
        let (mut said, mut typed) = (BTreeSet::new(), vec![]);
        let (mut best, mut rest) = (None, text);
        for _ in 0..MOST_WORDS {
            let here = rest.trim_start_matches([' ', ',']);
            let end = here.find(|c: char| !c.is_ascii_alphanumeric());
            let (word, tail) = here.split_at(end.unwrap_or(here.len()));
            if word.is_empty() || (rest.len() < text.len() && here.len() == rest.len()) {
                break;
            }
            rest = tail;
            if STOP.contains(&word) {
                if said.is_empty() {
                    return None;
                }
                continue;
            }
            said.insert(stem(word).to_owned());
            typed.push(word);
            let things = self.things(|name| typed.iter().all(|word| name.has_form(word)));
            if things.is_empty() {
                break;
            }
            // "First" alone names nothing.
            if said.len() == 1 && VAGUE.contains(&word) {
                continue;
            }
            // All words of one name, in any order, are that name.
            let all = self
                .things(|name| name.stems == said && typed.iter().all(|word| name.has_form(word)));
            let is_whole = !all.is_empty();
            let things = if is_whole { all } else { things };
            best = Some(NameMatch {
                things,
                is_whole,
                rest,
            });
        }
        best
    }

    /// Returns the things whose names have the longest run of at least two characters with which a
    /// text begins.
    fn characters<'t>(&self, text: &'t str) -> Option<NameMatch<'t, T>> {
        let mut best = None;
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        for (part, rest) in ends.skip(1).map(|end| text.split_at(end)) {
            if part.ends_with(|c: char| c.is_whitespace() || ",.?!".contains(c)) {
                break;
            }
            let things = self.things(|name| name.text.contains(part));
            if things.is_empty() {
                break;
            }
            best = Some(NameMatch {
                things,
                is_whole: false,
                rest,
            });
        }
        best
    }

    /// Returns the things whose whole names have four Chinese characters and more, of which one is
    /// another one where a text begins: 数学复系 for 数学复习. Numerals tell things apart.
    fn misspelled<'t>(&self, text: &'t str) -> Option<NameMatch<'t, T>> {
        const NUMERALS: &str = "零一二三四五六七八九十上中下";
        let is_told = |c: char| !c.is_ascii() && !NUMERALS.contains(c);
        let rest = |name: &Name<T>| {
            let last = name
                .text
                .chars()
                .count()
                .checked_sub(1)
                .filter(|last| *last >= 3)?;
            let mut ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
            let (said, rest) = text.split_at(ends.nth(last)?);
            let differ = name.text.chars().zip(said.chars());
            let mut differ = differ.filter(|(known, said)| known != said);
            let (known, said) = differ.next()?;
            (differ.next().is_none() && is_told(known) && is_told(said)).then_some(rest)
        };
        self.leaving_least(rest)
    }
}

fn latin_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(text: &str) -> Option<(Vec<u8>, bool, &str)> {
        let names = NameIndex::new([
            (1, "矩阵运算"),
            (2, "矩阵"),
            (3, "Mock exam, Algebra"),
            (4, "First draft"),
            (5, "Algebra"),
        ]);
        let found = names.longest(text)?;
        Some((found.things, found.is_whole, found.rest))
    }

    #[test]
    fn a_thing_is_named_by_its_name_or_a_part_of_it() {
        assert_eq!(
            longest("矩阵运算挪到周五"),
            Some((vec![1], true, "挪到周五"))
        );
        assert_eq!(longest("矩阵挪到周五"), Some((vec![2], true, "挪到周五")));
        assert_eq!(longest("运算一下"), Some((vec![1], false, "一下")));
        assert_eq!(
            longest("algebra mock exam now"),
            Some((vec![3], true, " now"))
        );
        assert_eq!(longest("algebra now"), Some((vec![5], true, " now")));
        assert_eq!(longest("algebraic"), None);
    }

    #[test]
    fn a_word_that_tells_nothing_names_nothing() {
        let names = NameIndex::new([(1, "Notes for the essay")]);
        assert_eq!(names.longest("not on friday"), None);
        assert_eq!(names.longest("note on friday").unwrap().things, [1]);
        assert_eq!(longest("first of all"), None);
        assert_eq!(longest("the algebra"), None);
        assert_eq!(longest("first drafts"), Some((vec![4], true, "")));
        assert_eq!(longest("运"), None);
        assert_eq!(longest(""), None);
    }
}
