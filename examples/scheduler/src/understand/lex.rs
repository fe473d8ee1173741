//! From a text to tokens, by the lexicon, the names of the schedule, days and times.
mod context;

use std::{collections::BTreeMap, sync::LazyLock};

use fugato::words::{
    ClockTime, DayReference, Lexicon, NameIndex, TokenKind, Tokenizer, WEEK_SIGNS, is_negated,
    number,
};
use serde::Deserialize;

use super::{
    Facts,
    names::{Ref, Thing, names},
    terms::{in_digits, lengths_in_digits},
    travel::TravelWord,
};

/// An action that a person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verb {
    Move,
    Place,
    Swap,
    Free,
    Busy,
    Cancel,
    Delete,
    Add,
    Done,
    Undone,
    Undo,
    /// To undo what took something from its place.
    PutBack,
    Spread,
    Earlier,
    Later,
    Rearrange,
    Deadline,
    Show,
    Keep,
    Study,
    Help,
    Greet,
    Thank,
    /// To let a time be used that was kept free.
    Reopen,
}

/// A question of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Query {
    What,
    When,
    Why,
    Count,
    Length,
    Free,
    Where,
    Who,
    Busiest,
    Calmest,
}

/// The relation of the words after it to those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Relation {
    Not,
    To,
    From,
    Before,
    After,
    On,
    With,
    Of,
    Or,
    Only,
    Except,
    If,
    Unless,
    Reason,
    Each,
    Then,
    But,
}

/// The things that a word names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Noun {
    All,
    Pending,
    Schedule,
    Item,
    Courses,
    Note,
    Reminder,
    Place,
    Study,
    It,
    Off,
    Day,
    Weeks,
    Hour,
    Minute,
    Section,
    Half,
    Date,
    List,
}

/// A part of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    Morning,
    Noon,
    Afternoon,
    Evening,
}

/// A word that points to what was spoken of before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Pointer {
    /// The day.
    Day,
    /// Two items.
    Both,
    /// The last of several items.
    Last,
    /// The one of two items that was not spoken of last.
    Other,
}

/// The meaning of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Meaning {
    Pointer(Pointer),
    Verb(Verb),
    Query(Query),
    Relation(Relation),
    Noun(Noun),
    Part(Part),
    Sections(u8, u8),
    Filler,
}

/// A time of day as it is said: the hour, the minute, and true if it is certain which half of the day
/// it is.
pub(super) type ClockWords = (i8, i8, bool);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Verb(Verb),
    Query(Query),
    Relation(Relation),
    Noun(Noun),
    Part(Part),
    /// Days, and true if they are meant again and again.
    Days(DayReference, bool),
    /// A time of day: the hour, the minute, and true if it is certain which half of the day it is.
    Clock(i8, i8, bool),
    /// From one time of day to another: "between 2 and 4 pm", `14:00-18:00`.
    Hours(ClockWords, ClockWords),
    /// Sections of a day, both included.
    Sections(u8, u8),
    Number(i64),
    /// A pointer, in the place of which the thing is put before clauses are read.
    Pointer(Pointer),
    Name(Ref),
    Quoted(String),
    /// A sign between sentences; true for a question mark.
    Stop(bool),
    /// A comma.
    Pause,
    Filler,
    Unknown,
}

/// Returns a time of day as it is said.
pub(super) fn clock(time: ClockTime) -> ClockWords {
    (time.hour, time.minute, time.is_certain)
}

impl From<Meaning> for Kind {
    fn from(meaning: Meaning) -> Self {
        match meaning {
            Meaning::Pointer(pointer) => Self::Pointer(pointer),
            Meaning::Verb(verb) => Self::Verb(verb),
            Meaning::Query(query) => Self::Query(query),
            Meaning::Relation(relation) => Self::Relation(relation),
            Meaning::Noun(noun) => Self::Noun(noun),
            Meaning::Part(part) => Self::Part(part),
            Meaning::Sections(first, last) => Self::Sections(first, last),
            Meaning::Filler => Self::Filler,
        }
    }
}

impl Kind {
    /// Returns true for days, and for times of a day.
    pub(super) fn is_time(&self) -> bool {
        matches!(
            self,
            Self::Days(..) | Self::Part(_) | Self::Clock(..) | Self::Hours(..) | Self::Sections(..)
        )
    }
}

/// A token and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// The text as it was typed.
    pub(super) raw: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lists {
    questions: BTreeMap<Query, Vec<String>>,
    verbs: BTreeMap<Verb, Vec<String>>,
    pointers: BTreeMap<Pointer, Vec<String>>,
    parts: BTreeMap<Part, Vec<String>>,
    relations: BTreeMap<Relation, Vec<String>>,
    nouns: BTreeMap<Noun, Vec<String>>,
    filler: BTreeMap<String, Vec<String>>,
    pub(super) notes: NoteWords,
    pub(super) plans: PlanWords,
    pub(super) conditions: ConditionWords,
    pub(super) wishes: WishWords,
    pub(super) trouble: TroubleWords,
    travel: BTreeMap<TravelWord, Vec<String>>,
    terms: BTreeMap<TermWord, Vec<String>>,
}

/// The meaning of a word in a sentence about terms or preferences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TermWord {
    Takes,
    Took,
    TakesNot,
    Enough,
    Must,
    Done,
    By,
    NotBefore,
    After,
    Only,
    First,
    Then,
    Not,
    Never,
    Each,
    Important,
    Start,
    Put,
    Does,
    WantsNot,
    AtMost,
    Late,
    Lunch,
    Keep,
    Free,
    Quiet,
    Fine,
    Study,
    Hour,
    Minute,
    Half,
    Section,
    Morning,
    Afternoon,
    Evening,
    Preferences,
    Asks,
    HowLong,
    OnePiece,
    Split,
    Parts,
    InsteadOf,
    Other,
    Same,
    Touch,
    Rest,
    Due,
    Deadline,
    Later,
    Day,
    Week,
    Unfinished,
    Halfway,
    Left,
    Runs,
    Noon,
    Best,
    Except,
    TakeBack,
    But,
    /// The place in the order of a class; `第三次`.
    #[serde(skip)]
    Nth(u8),
    Filler,
}

/// The words around notes and reminders; the lexicon says what each is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoteWords {
    pub(super) note: Vec<String>,
    pub(super) task: Vec<String>,
    pub(super) remind: Vec<String>,
    pub(super) call: Vec<String>,
    pub(super) polite: Vec<String>,
    pub(super) about_notes: Vec<String>,
    pub(super) about_reminders: Vec<String>,
    pub(super) about_free: Vec<String>,
    pub(super) asks: Vec<String>,
    pub(super) asks_within: Vec<String>,
    pub(super) manners: Vec<String>,
    pub(super) removes: Vec<String>,
    pub(super) needs: Vec<String>,
    pub(super) everything: Vec<String>,
    pub(super) conditions: Vec<String>,
    pub(super) wakes: Vec<String>,
    pub(super) corrects: Vec<String>,
}

/// The words by which something is still to be done; the lexicon says what each is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanWords {
    pub(super) plans: Vec<String>,
    pub(super) signs: Vec<String>,
    pub(super) says: Vec<String>,
    pub(super) marks: Vec<String>,
    pub(super) needs_not: Vec<String>,
    pub(super) needs_not_be: Vec<String>,
}

/// The words around conditions; the lexicon says what each is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConditionWords {
    pub(super) ifs: Vec<String>,
    pub(super) unless: Vec<String>,
    pub(super) free: Vec<String>,
    pub(super) otherwise: Vec<String>,
    pub(super) leads: Vec<String>,
    pub(super) there: Vec<(String, String)>,
}

/// The words around wishes; the lexicon says what each is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WishWords {
    pub(super) amends: Vec<String>,
    pub(super) buts: Vec<String>,
    pub(super) polite: Vec<String>,
    pub(super) polite_ends: Vec<String>,
    pub(super) asks_for: Vec<String>,
    pub(super) denies: Vec<String>,
    pub(super) not_that: Vec<String>,
    pub(super) goes: Vec<String>,
    pub(super) forever: Vec<String>,
    pub(super) tells: Vec<String>,
    pub(super) articles: Vec<String>,
}

/// The words about trouble with a day; the lexicon says what each is for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TroubleWords {
    pub(super) missed: Vec<String>,
    pub(super) tired: Vec<String>,
    pub(super) asked: Vec<String>,
    pub(super) corrects: Vec<String>,
    pub(super) intensity: Vec<String>,
}

/// Read once: all that is made of it stays as long as the program runs.
pub(super) static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    toml::from_str(include_str!("lexicon.toml")).expect("the lexicon is part of the program")
});

/// Returns the phrases for an action, in the form of `normalize`.
fn phrases(verb: Verb) -> &'static [String] {
    LISTS.verbs.get(&verb).map_or(&[], Vec::as_slice)
}

/// Returns the words of sentences about terms and preferences that have a meaning.
fn terms(meaning: TermWord) -> &'static [String] {
    LISTS.terms.get(&meaning).map_or(&[], Vec::as_slice)
}

/// Returns the words for what one does not mind.
pub(super) fn permits() -> &'static [String] {
    terms(TermWord::Fine)
}

/// Returns the words for what has to be.
pub(super) fn obliges() -> &'static [String] {
    terms(TermWord::Must)
}

/// Returns true if a text denies that something is to be free: "I don't need Friday free".
pub(super) fn denies_free(text: &str) -> bool {
    is_negated(text, phrases(Verb::Free))
}

/// Returns true if a text says that a time may be used again.
pub(super) fn reopens(text: &str, facts: &Facts<'_>) -> bool {
    let reopens = |token: Token| token.kind == Kind::Verb(Verb::Reopen);
    tokens(text, facts).into_iter().any(reopens)
}

/// The words of a text that undoes changes, or makes them again, and says no more.
pub(super) static TRAVEL: LazyLock<Lexicon<TravelWord>> = LazyLock::new(|| {
    let words = LISTS
        .travel
        .iter()
        .map(|(meaning, words)| (*meaning, words.as_slice()));
    let verbs = [
        (TravelWord::Back, phrases(Verb::Undo)),
        (TravelWord::PutBack, phrases(Verb::PutBack)),
    ];
    let all = words.chain(verbs);
    Lexicon::new(all.flat_map(|(meaning, words)| words.iter().map(move |word| (word, meaning))))
});

static LEXICON: LazyLock<Lexicon<Meaning>> = LazyLock::new(|| {
    let mut all: Vec<(&str, Meaning)> = vec![];
    // Of the meanings of one phrase the first counts.
    let mut add = |words: &'static [String], meaning: &Meaning| {
        all.extend(words.iter().map(|word| (word.as_str(), meaning.clone())));
    };
    let pointers = LISTS.pointers.iter();
    pointers.for_each(|(pointer, words)| add(words, &Meaning::Pointer(*pointer)));
    let (queries, verbs) = (LISTS.questions.iter().rev(), LISTS.verbs.iter().rev());
    queries.for_each(|(query, words)| add(words, &Meaning::Query(*query)));
    verbs.for_each(|(verb, words)| add(words, &Meaning::Verb(*verb)));
    let (parts, relations) = (LISTS.parts.iter().rev(), LISTS.relations.iter().rev());
    parts.for_each(|(part, words)| add(words, &Meaning::Part(*part)));
    relations.for_each(|(relation, words)| add(words, &Meaning::Relation(*relation)));
    let nouns = LISTS.nouns.iter().rev();
    nouns.for_each(|(noun, words)| add(words, &Meaning::Noun(*noun)));
    let fillers = LISTS.filler.values();
    fillers.for_each(|words| add(words, &Meaning::Filler));
    Lexicon::new(all)
});

/// The words of sentences about terms and preferences.
pub(super) static TERMS: LazyLock<Lexicon<TermWord>> = LazyLock::new(|| {
    let words = LISTS.terms.iter().map(|(meaning, words)| (*meaning, words));
    let fillers = LISTS.filler.values();
    let fillers = fillers.map(|words| (TermWord::Filler, words));
    // Of the meanings of one phrase the first counts.
    let all = words.chain(fillers);
    Lexicon::new(all.flat_map(|(meaning, words)| words.iter().map(move |word| (word, meaning))))
});

/// Returns true for the word before what is moved, which is part of another name as well: "shift the
/// essay" is no "Shift at the library".
fn is_move(tokens: &[Token], at: usize) -> bool {
    let (before, rest) = tokens.split_at(at);
    let [token, rest @ ..] = rest else {
        return false;
    };
    let is_part = matches!(&token.kind, Kind::Name(name) if !name.exact);
    let means_move = || {
        let (meanings, rest) = LEXICON.longest(&token.text)?;
        let mut meanings = meanings.into_iter();
        (rest.is_empty() && meanings.any(|it| *it == Meaning::Verb(Verb::Move))).then_some(())
    };
    let ends = |it: &&Token| matches!(it.kind, Kind::Stop(_) | Kind::Pause);
    let mut lead = before.iter().rev().take_while(|it| !ends(it));
    let what = rest.iter().find(|it| it.kind != Kind::Filler);
    is_part
        && means_move().is_some()
        && lead.all(|it| it.kind == Kind::Filler)
        && what.is_some_and(|it| {
            matches!(it.kind, Kind::Name(_)) || ["everything", "all"].contains(&it.text.as_str())
        })
}

/// Takes "take … out" for "take out": a verb of two words, of which the first means nothing alone, may
/// have its object between them.
fn with_parted_verbs(tokens: &mut [Token]) {
    let verb = |phrase: &str| {
        let (meanings, _) = LEXICON
            .longest(phrase)
            .filter(|(_, rest)| rest.is_empty())?;
        let mut meanings = meanings.into_iter();
        meanings.find_map(|meaning| match meaning {
            Meaning::Verb(verb) => Some(*verb),
            _ => None,
        })
    };
    for at in 0..tokens.len() {
        let (before, behind) = tokens.split_at_mut(at);
        let ends = |token: &Token| matches!(token.kind, Kind::Stop(_) | Kind::Pause);
        let Some(end) = behind.first_mut() else {
            continue;
        };
        let word = end.text.split(' ').next().unwrap_or_default();
        let mut starts = before.iter_mut().rev().take_while(|token| !ends(token));
        let start = starts.find(|token| token.kind == Kind::Unknown && token.text.is_ascii());
        let Some((start, verb)) = start.and_then(|start| {
            let verb = verb(&format!("{} {word}", start.text))?;
            Some((start, verb))
        }) else {
            continue;
        };
        start.kind = Kind::Verb(verb);
        if word == end.text {
            end.kind = Kind::Filler;
        }
    }
}

/// Takes parts of names for what they mean here.
fn no_names(tokens: &mut [Token]) {
    // "By 1 day" is no "Middlemarch, book 1".
    for at in 1..tokens.len() {
        let (before, behind) = tokens.split_at_mut(at);
        let (Some(token), Some(next)) = (before.last_mut(), behind.first()) else {
            continue;
        };
        let counts = matches!(
            next.kind,
            Kind::Noun(Noun::Day | Noun::Weeks | Noun::Hour | Noun::Minute | Noun::Section)
        );
        if let (true, Ok(number)) = (counts, token.text.parse()) {
            token.kind = Kind::Number(number);
        }
    }
    for at in 0..tokens.len() {
        let moves = is_move(tokens, at);
        if let Some(token) = tokens.get_mut(at).filter(|_| moves) {
            token.kind = Kind::Verb(Verb::Move);
        }
    }
}

pub(super) fn tokens(text: &str, facts: &Facts<'_>) -> Vec<Token> {
    tokens_among(&names(facts.schedule), text, facts)
}

/// Returns the tokens of one of several texts about the same names.
pub(super) fn tokens_among(names: &NameIndex<Thing>, text: &str, facts: &Facts<'_>) -> Vec<Token> {
    let tokenizer = Tokenizer::new(&LEXICON, names)
        .grammar(sections)
        .nouns(|meaning| matches!(meaning, Meaning::Noun(_)));
    let tokens = tokenizer.tokens(text).into_iter();
    let token = |token: fugato::words::Token<Meaning, Thing>| Token {
        kind: match token.kind {
            TokenKind::Word(meaning) => meaning.into(),
            // "A day" is no "Day trip".
            TokenKind::Name(_, false) if ["day", "days"].contains(&token.text.as_str()) => {
                Kind::Noun(Noun::Day)
            }
            TokenKind::Name(_, false) if ["week", "weeks"].contains(&token.text.as_str()) => {
                Kind::Noun(Noun::Weeks)
            }
            TokenKind::Name(things, exact) => {
                Kind::Name(Ref::of(things, exact).or_longer(facts.schedule))
            }
            TokenKind::Days(days, again) => Kind::Days(days, again),
            TokenKind::Clock(time) => Kind::Clock(time.hour, time.minute, time.is_certain),
            TokenKind::Hours(from, until) => Kind::Hours(clock(from), clock(until)),
            TokenKind::Number(number) => Kind::Number(number),
            TokenKind::Quoted(text) => Kind::Quoted(text),
            TokenKind::Stop(asks) => Kind::Stop(asks),
            TokenKind::Pause => Kind::Pause,
            _ => Kind::Unknown,
        },
        text: token.text,
        raw: token.raw,
    };
    let mut tokens: Vec<Token> = tokens.map(token).collect();
    no_names(&mut tokens);
    with_parted_verbs(&mut tokens);
    // 晚一个小时 is later, and no evening.
    let later = |tokens: &[Token]| {
        let unit = |it: &Token| {
            matches!(
                it.kind,
                Kind::Noun(Noun::Hour | Noun::Minute | Noun::Section | Noun::Day | Noun::Weeks)
            )
        };
        let amount = |it: &Token| {
            matches!(it.kind, Kind::Number(_) | Kind::Noun(Noun::Half)) || it.text == "一个"
        };
        let mut rest = tokens.iter().skip(1);
        let counts = rest.by_ref().take_while(|it| amount(it)).count();
        counts > 0 && tokens.get(counts + 1).is_some_and(unit)
    };
    for at in 0..tokens.len() {
        let later = tokens.get(at..).is_some_and(later);
        let Some(token) = tokens.get_mut(at).filter(|_| later) else {
            continue;
        };
        match token.text.as_str() {
            "晚" => token.kind = Kind::Verb(Verb::Later),
            "早" => token.kind = Kind::Verb(Verb::Earlier),
            _ => {}
        }
    }
    context::read(&mut tokens, facts);
    // 上周四 is over.
    for at in (1..tokens.len()).rev() {
        let days = tokens
            .get(at)
            .filter(|it| matches!(it.kind, Kind::Days(..)));
        let days = days.filter(|it| WEEK_SIGNS.iter().any(|sign| it.text.starts_with(sign)));
        let Some(raw) = days.map(|it| it.raw.clone()) else {
            continue;
        };
        if let Some(last) = tokens.get_mut(at - 1).filter(|it| it.text == "上") {
            (last.kind, last.text, last.raw) =
                (Kind::Unknown, format!("上{raw}"), format!("上{raw}"));
            tokens.remove(at);
        }
    }
    // 能等到周五吗 asks about a day, and is no condition.
    let waits = |tokens: &[Token]| {
        let mut rest = tokens.iter().skip(1);
        let until = rest
            .next()
            .is_some_and(|it| it.kind == Kind::Relation(Relation::To));
        let mut rest = rest.skip_while(|it| it.kind.is_time());
        let ends = |it: &Token| matches!(it.kind, Kind::Filler | Kind::Stop(_) | Kind::Pause);
        until && tokens.get(2).is_some_and(|it| it.kind.is_time()) && rest.all(ends)
    };
    for at in 0..tokens.len() {
        let waits = tokens.get(at..).is_some_and(waits);
        if let Some(token) = tokens.get_mut(at).filter(|it| it.text == "等" && waits) {
            token.kind = Kind::Filler;
        }
    }
    // 这周的安排 is a thing, 把这周的安排到下周 something to do.
    for at in 1..tokens.len() {
        let ends = tokens
            .get(at + 1)
            .is_none_or(|next| matches!(next.kind, Kind::Filler | Kind::Stop(_) | Kind::Pause));
        let owned = tokens.get(at - 1).is_some_and(|before| before.text == "的");
        if let Some(token) = tokens.get_mut(at).filter(|_| ends && owned)
            && token.kind == Kind::Verb(Verb::Place)
        {
            token.kind = Kind::Noun(Noun::Schedule);
        }
    }
    tokens
}

/// Returns the tokens of a wish, in which "three days" are a number of days. Of a new item only its
/// length is one.
pub(super) fn counted(text: &str, facts: &Facts<'_>) -> Vec<Token> {
    let said = tokens(text, facts);
    let adds = |token: &Token| token.kind == Kind::Verb(Verb::Add);
    let digits = if said.iter().any(adds) {
        lengths_in_digits(text)
    } else {
        in_digits(text)
    };
    if digits == text {
        said
    } else {
        tokens(&digits, facts)
    }
}

/// Takes 忙不忙 for 忙 and the sign of a question. What is a phrase of its own stays one: 有没有.
pub(super) fn with_questions(mut tokens: Vec<Token>) -> Vec<Token> {
    let asks = |three: &[Token]| match three {
        [word, not, again] => {
            let denies = ["不", "没"].contains(&not.text.as_str());
            denies && word.text == again.text && !word.text.is_ascii()
        }
        _ => false,
    };
    while let Some(at) = tokens.windows(3).position(asks) {
        tokens.drain(at + 1..at + 3);
        let rest = tokens.get(at..).unwrap_or_default();
        let ends = |token: &Token| matches!(token.kind, Kind::Stop(_));
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        let asks = Token {
            kind: Kind::Stop(true),
            text: "?".into(),
            raw: "?".into(),
        };
        tokens.insert(at + end, asks);
    }
    tokens
}

/// Reads `sections 3-4`, `section 3`, `第3节`, `第三到四节`, `第二大节`.
fn sections(text: &str) -> Option<(Meaning, &str)> {
    const TO: [&str; 7] = ["-", "到", "至", "to", "~", "、", "and"];
    let section = |number: i64| u8::try_from(number).ok().filter(|n| (1..=48).contains(n));
    let range = |tail: &'_ str| {
        let (first, rest) = number(tail)?;
        let joined = rest.trim_start();
        let second = TO.iter().find_map(|word| joined.strip_prefix(word));
        let second = second.map(|tail| tail.trim_start().trim_start_matches('第'));
        let (last, rest) = second.and_then(number).unwrap_or((first, rest));
        Some((section(first)?, section(last)?, rest.len()))
    };
    let rest = |length: usize| text.get(text.len() - length..).unwrap_or_default();
    let english = ["sections ", "section ", "periods ", "period "];
    if let Some(tail) = english.iter().find_map(|word| text.strip_prefix(word)) {
        let (first, last, length) = range(tail)?;
        return Some((Meaning::Sections(first, last), rest(length)));
    }
    let (first, last, length) = range(text.strip_prefix('第')?)?;
    let tail = rest(length);
    if let Some(tail) = tail.strip_prefix("大节") {
        let (first, last) = (first * 2 - 1, last * 2);
        return Some((Meaning::Sections(first.min(11), last.min(12)), tail));
    }
    Some((Meaning::Sections(first, last), tail.strip_prefix('节')?))
}
