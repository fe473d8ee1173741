//! A text as words with a meaning, names of things, days, times and numbers.
use std::collections::BTreeSet;

use crate::{
    calendar::weekday_names,
    day_reference::{DayReference, day_reference},
    lexicon::Lexicon,
    name_index::NameIndex,
    normal::normalize,
    number::{is_digit, number},
    numeral::is_numeral,
    spelling::respell,
    time::{ClockTime, clock_time, hours},
    word::is_inside,
};

/// The meaning of a token, where `M` are the meanings of a lexicon and `T` the things that can be
/// named.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenKind<M, T> {
    /// A phrase of the lexicon.
    Word(M),
    /// The things that a name can mean, and true if the whole name was said.
    Name(Vec<T>, bool),
    /// Days, and true if they are meant again and again: "every Friday", "weekends".
    Days(DayReference, bool),
    /// A time of day.
    Clock(ClockTime),
    /// From one time of day to another, with the word that leads to it: "between 2 and 4 pm".
    Hours(ClockTime, ClockTime),
    /// A number.
    Number(i64),
    /// A text in quotation marks that is no name.
    Quoted(String),
    /// The end of a sentence; true if it is a question.
    Stop(bool),
    /// A comma, a colon or a bracket.
    Pause,
    /// A word without a meaning. A program that must understand a sentence wholly or not at all
    /// refuses it and names this word.
    Unknown,
}

/// A token, its text in the form of [`normalize`], and as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<M, T> {
    /// The meaning.
    pub kind: TokenKind<M, T>,
    /// The text that is compared.
    pub text: String,
    /// The text as it was typed.
    pub raw: String,
}

/// Reads the tokens of texts in Chinese and English.
///
/// Of several readings that begin at the same place the longest counts. If they are equally long a
/// whole name comes before days, days before a part of a name, and that before a time and a
/// phrase: "weekend" is no part of "Weekend at home" that a person means. Nothing is read within a
/// word, and nothing is skipped: a word without a meaning is a token, so that a program sees that
/// it did not understand everything.
///
/// ```
/// use fugato_text::{Lexicon, NameIndex, TokenKind, Tokenizer};
///
/// let verbs = Lexicon::new([("cancel", "cancel"), ("取消", "cancel")]);
/// let names = NameIndex::new([(7, "Piano lesson")]);
/// let tokenizer = Tokenizer::new(&verbs, &names);
/// let meanings = |text| tokenizer.tokens(text).into_iter().map(|token| match token.kind {
///     TokenKind::Word(verb) => verb.to_owned(),
///     TokenKind::Name(things, _) => format!("{things:?}"),
///     TokenKind::Days(..) => "days".into(),
///     TokenKind::Unknown => format!("{}?", token.raw),
///     _ => ".".into(),
/// }).collect::<Vec<_>>();
/// assert_eq!(meanings("Cancel piano lessons on Firday."), ["cancel", "[7]", "on?", "days", "."]);
/// assert_eq!(meanings("取消周五"), ["cancel", "days"]);
/// ```
#[derive(Debug)]
pub struct Tokenizer<'a, M, T> {
    lexicon: &'a Lexicon<M>,
    names: &'a NameIndex<T>,
    grammar: fn(&str) -> Option<(M, &str)>,
    is_noun: fn(&M) -> bool,
}

/// Words after which a phrase is a thing rather than something to do: "the plan".
const ARTICLES: [&str; 8] = ["the", "my", "our", "this", "your", "a", "whole", "entire"];

/// Ends of days that own what follows: "this week's plan", also without the sign.
const POSSESSIVES: [&str; 4] = ["'s", " weeks", "todays", "tomorrows"];

/// The most characters between quotation marks.
const LONGEST_QUOTE: usize = 500;

/// Words for days besides their names, which may be misspelled.
const DAY_WORDS: [&str; 9] = [
    "tomorrow",
    "today",
    "weekend",
    "weekends",
    "weekdays",
    "morning",
    "afternoon",
    "evening",
    "tonight",
];

impl<'a, M: Clone, T: Clone> Tokenizer<'a, M, T> {
    /// Returns a tokenizer for the phrases of a lexicon and the names of things.
    pub fn new(lexicon: &'a Lexicon<M>, names: &'a NameIndex<T>) -> Self {
        Self {
            lexicon,
            names,
            grammar: |_| None,
            is_noun: |_| false,
        }
    }

    /// Reads what is no fixed phrase, such as `sections 3-4`, with this function too. It returns
    /// the meaning and the rest of the text.
    #[must_use]
    pub fn grammar(mut self, grammar: fn(&str) -> Option<(M, &str)>) -> Self {
        self.grammar = grammar;
        self
    }

    /// Prefers the meanings that are nouns, of a phrase that has several, after "the" and "my".
    #[must_use]
    pub fn nouns(mut self, is_noun: fn(&M) -> bool) -> Self {
        self.is_noun = is_noun;
        self
    }

    /// Returns the tokens of a text as it was typed.
    pub fn tokens(&self, text: &str) -> Vec<Token<M, T>> {
        let typed: Vec<char> = text.chars().collect();
        let plain = normalize(text);
        let text = self.respelled(&plain);
        let is_same = text == plain && plain.chars().count() == typed.len();
        let mut tokens: Vec<Token<M, T>> = vec![];
        let (mut rest, mut count) = (text.as_str(), 0);
        while !rest.is_empty() {
            let (before, here) = text.split_at(text.len() - rest.len());
            let (kind, tail) = self.next(here, before);
            let taken = here.get(..here.len() - tail.len()).unwrap_or(here);
            let chars = taken.chars().count();
            let raw: String = match typed.get(count..count + chars) {
                Some(raw) if is_same => raw.iter().collect(),
                _ => taken.to_owned(),
            };
            (rest, count) = (tail, count + chars);
            let Some(mut kind) = kind else { continue };
            if let TokenKind::Quoted(inner) = &mut kind {
                let mut typed = raw.chars();
                typed.next();
                typed.next_back();
                typed.as_str().trim().clone_into(inner);
            }
            let is_unknown = |kind: &TokenKind<M, T>| matches!(kind, TokenKind::Unknown);
            match tokens.last_mut() {
                // Unknown characters of a script without spaces are one run.
                Some(last)
                    if is_unknown(&kind)
                        && is_unknown(&last.kind)
                        && !taken.is_ascii()
                        && !last.text.is_ascii()
                        && !before.ends_with(' ') =>
                {
                    last.text.push_str(taken);
                    last.raw.push_str(&raw);
                }
                _ => tokens.push(Token {
                    kind,
                    text: taken.to_owned(),
                    raw,
                }),
            }
        }
        tokens
    }

    /// Corrects the words of a text that are nearly words of the lexicon, names, or days.
    fn respelled(&self, text: &str) -> String {
        let mut known: BTreeSet<&str> = self.lexicon.words().collect();
        known.extend(self.names.latin_words());
        for day in weekday_names().chain(DAY_WORDS) {
            known.insert(day);
        }
        respell(text, &known, |word| {
            let single = word.strip_suffix('s');
            let is_day = single.is_some_and(|word| weekday_names().any(|day| day == word));
            is_day || is_numeral(word) || self.names.has_stem(word)
        })
    }

    /// Returns the meaning with which a text begins, none for a space, and the rest of the text.
    fn next<'t>(&self, text: &'t str, before: &str) -> (Option<TokenKind<M, T>>, &'t str) {
        let Some(first) = text.chars().next() else {
            return (None, "");
        };
        let tail = text.get(first.len_utf8()..).unwrap_or_default();
        if first == '\n' {
            return (Some(TokenKind::Stop(false)), tail);
        }
        if first.is_whitespace() {
            return (None, tail);
        }
        if let Some((inner, rest)) = quoted(text) {
            let named = self.names.exact(&normalize(inner));
            let kind = if named.is_empty() {
                TokenKind::Quoted(inner.to_owned())
            } else {
                TokenKind::Name(named, true)
            };
            return (Some(kind), rest);
        }
        let letter = |c: char| c.is_ascii_alphabetic();
        match first {
            // "A 2-hour exam" takes 2 hours.
            '-' if before.ends_with(is_digit) && tail.starts_with(letter) => return (None, tail),
            '?' => return (Some(TokenKind::Stop(true)), tail),
            '.' | '!' | ';' => return (Some(TokenKind::Stop(false)), tail),
            ',' | ':' | '-' | '(' | ')' | '/' => return (Some(TokenKind::Pause), tail),
            _ => {}
        }
        let is_latin = |c: char| c.is_ascii_alphanumeric() || c == '\'';
        if !(is_inside(before) && first.is_ascii_alphanumeric())
            && let Some((kind, rest)) = self.longest(text, before)
        {
            return (Some(kind), rest);
        }
        let rest = if is_latin(first) {
            text.trim_start_matches(is_latin)
        } else {
            tail
        };
        (Some(TokenKind::Unknown), rest)
    }

    /// Returns the longest reading with which a text begins.
    fn longest<'t>(&self, text: &'t str, before: &str) -> Option<(TokenKind<M, T>, &'t str)> {
        let name = self.names.longest(text);
        let name = name.map(|name| (TokenKind::Name(name.things, name.is_whole), name.rest));
        let is_whole = matches!(name, Some((TokenKind::Name(_, true), _)));
        let days = day_reference(text, before).map(|(days, rest)| {
            let said = text.get(..text.len() - rest.len()).unwrap_or_default();
            let lead = before.trim_end();
            let again = said.ends_with("days")
                || said.ends_with("ends")
                || lead.ends_with('每')
                || lead.ends_with("every");
            (TokenKind::Days(days, again), rest)
        });
        let clock = clock_time(text).map(|(clock, rest)| (TokenKind::Clock(clock), rest));
        let hours = hours(text, before).map(|(from, to, rest)| (TokenKind::Hours(from, to), rest));
        let own = (self.grammar)(text).map(|(meaning, rest)| (TokenKind::Word(meaning), rest));
        let number = number(text).map(|(number, rest)| (TokenKind::Number(number), rest));
        let (whole, part) = if is_whole { (name, None) } else { (None, name) };
        let word = self.word(text, before);
        let all = [whole, days, part, hours, clock, own, word, number];
        let mut longest: Option<(TokenKind<M, T>, &str)> = None;
        for found in all.into_iter().flatten() {
            if longest
                .as_ref()
                .is_none_or(|(_, rest)| found.1.len() < rest.len())
            {
                longest = Some(found);
            }
        }
        longest
    }

    fn word<'t>(&self, text: &'t str, before: &str) -> Option<(TokenKind<M, T>, &'t str)> {
        let (meanings, rest) = self.lexicon.longest(text)?;
        let lead = before.trim_end();
        let follows_article = POSSESSIVES.iter().any(|end| lead.ends_with(end))
            || ARTICLES
                .iter()
                .any(|word| lead.strip_suffix(word).is_some_and(|head| !is_inside(head)));
        let noun = meanings
            .iter()
            .find(|meaning| follows_article && (self.is_noun)(meaning));
        let meaning = *noun.or(meanings.first())?;
        Some((TokenKind::Word(meaning.clone()), rest))
    }
}

/// Reads the text in quotation marks with which a text begins, and returns the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    const MARKS: [(char, char); 6] = [
        ('"', '"'),
        ('“', '”'),
        ('‘', '\''), // the form of `normalize`
        ('「', '」'),
        ('《', '》'),
        ('『', '』'),
    ];
    let (open, close) = MARKS
        .into_iter()
        .find(|(open, _)| text.starts_with(*open))?;
    let inner = text.strip_prefix(open)?;
    let (end, _) = inner
        .char_indices()
        .take(LONGEST_QUOTE)
        .find(|(_, c)| *c == close)?;
    Some((
        inner.get(..end)?.trim(),
        inner.get(end + close.len_utf8()..)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    enum Meaning {
        Plan,
        Calendar,
        Page(i64),
    }

    fn page(text: &str) -> Option<(Meaning, &str)> {
        let (page, rest) = number(text.strip_prefix("page ")?)?;
        Some((Meaning::Page(page), rest))
    }

    fn kinds(text: &str) -> Vec<(TokenKind<Meaning, u8>, String)> {
        let lexicon = Lexicon::new([("plan", Meaning::Plan), ("plan", Meaning::Calendar)]);
        let names = [(1, "Sort the photos"), (2, "矩阵运算"), (3, "周末回家")];
        let names = NameIndex::new(names);
        let tokenizer = Tokenizer::new(&lexicon, &names)
            .grammar(page)
            .nouns(|meaning| *meaning == Meaning::Calendar);
        let tokens = tokenizer.tokens(text).into_iter();
        tokens.map(|token| (token.kind, token.raw)).collect()
    }

    #[test]
    fn a_text_is_read_whole() {
        use TokenKind::{Days, Name, Number, Pause, Quoted, Stop, Unknown, Word};
        let friday = || Days(DayReference::Weekdays([5].into()), false);
        assert_eq!(
            kinds("Plan Sorting the photos, «x» Friday?"),
            [
                (Word(Meaning::Plan), "Plan".into()),
                (Name(vec![1], true), "Sorting the photos".into()),
                (Pause, ",".into()),
                (Unknown, "«".into()),
                (Unknown, "x".into()),
                (Unknown, "»".into()),
                (friday(), "Friday".into()),
                (Stop(true), "?".into()),
            ]
        );
        assert_eq!(kinds("three"), [(Unknown, "three".into())]);
        let parts = [(Number(2), "2".into()), (Unknown, "hour".into())];
        assert_eq!(kinds("2-hour"), parts);
        assert_eq!(
            kinds("my plan page 3 “A b” 7"),
            [
                (Unknown, "my".into()),
                (Word(Meaning::Calendar), "plan".into()),
                (Word(Meaning::Page(3)), "page 3".into()),
                (Quoted("A b".into()), "“A b”".into()),
                (Number(7), "7".into()),
            ]
        );
    }

    #[test]
    fn days_are_no_part_of_a_name_that_begins_with_them() {
        let [(days, _), (other, _)] = &kinds("周末学习")[..] else {
            panic!("days and a word")
        };
        assert!(matches!(days, TokenKind::Days(..)), "{days:?}");
        assert_eq!(*other, TokenKind::Unknown);
        let whole = [(TokenKind::Name(vec![3], true), "周末回家".into())];
        assert_eq!(kinds("周末回家"), whole);
    }

    #[test]
    fn what_has_no_meaning_is_a_token_of_its_own() {
        use TokenKind::{Name, Unknown};
        assert_eq!(
            kinds("随便矩阵运算 planet"),
            [
                (Unknown, "随便".into()),
                (Name(vec![2], true), "矩阵运算".into()),
                (Unknown, "planet".into()),
            ]
        );
    }
}
