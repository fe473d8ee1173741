//! The parts of a clause about terms or preferences.
use std::collections::BTreeSet;

use fugato::words::{DayReference, Lexicon, Token, TokenKind, Tokenizer, number};
use jiff::civil::Time;

use crate::{
    schedule::Slot,
    understand::{
        Facts,
        lex::{ClockWords, Part, TERMS, TermWord, clock},
        names::{Ref, Thing, names},
        when,
    },
};

pub(super) type TermToken = Token<TermWord, Thing>;

/// The parts of a clause.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the words"
)]
pub(super) struct Sentence<'f> {
    pub(super) facts: &'f Facts<'f>,
    /// The words but fillers, in their order.
    pub(super) words: Vec<TermWord>,
    pub(super) names: Vec<Ref>,
    pub(super) days: Vec<(DayReference, bool, String)>,
    pub(super) clocks: Vec<ClockWords>,
    /// Times from one clock time to another.
    pub(super) ranges: Vec<(ClockWords, ClockWords)>,
    pub(super) numbers: Vec<i64>,
    /// Lengths in minutes.
    pub(super) lengths: Vec<u16>,
    pub(super) unknown: Vec<String>,
    pub(super) is_question: bool,
    /// True if a part of the day is meant again and again: "mornings".
    pub(super) again: bool,
    /// True if days are named before a word such as "except", which is then not about them.
    pub(super) excepts_of_days: bool,
    /// True if the person says what they do or want, rather than where something is put.
    pub(super) is_own: bool,
    /// The number of words before each pause.
    pub(super) pauses: Vec<usize>,
    /// True if the person says that they prefer something.
    pub(super) prefers: bool,
    /// True if a word points to something that was spoken of.
    pub(super) points: bool,
}

pub(super) fn tokens(text: &str, facts: &Facts<'_>) -> Vec<TermToken> {
    let names = names(facts.schedule);
    let lexicon: &Lexicon<TermWord> = &TERMS;
    let tokenizer = Tokenizer::new(lexicon, &names).grammar(ordinal);
    let mut tokens = tokenizer.tokens(&in_digits(text));
    for token in &mut tokens {
        // A number alone is no name, also where items are numbered.
        if let (TokenKind::Name(..), Ok(number)) = (&token.kind, token.text.parse()) {
            token.kind = TokenKind::Number(number);
        }
    }
    tokens
}

/// Reads `第三次`.
fn ordinal(text: &str) -> Option<(TermWord, &str)> {
    let (nth, rest) = number(text.strip_prefix('第')?)?;
    let rest = ["次", "个", "项"]
        .iter()
        .find_map(|unit| rest.strip_prefix(unit))?;
    Some((TermWord::Nth(u8::try_from(nth).ok()?), rest))
}

/// Separates tokens at pauses, and at words such as "but" and "and".
pub(super) fn clauses(tokens: &[TermToken]) -> Vec<Vec<TermToken>> {
    let is_end = |token: &TermToken| {
        let between = token.text == "-" || token.text == "/";
        matches!(token.kind, TokenKind::Stop(_)) || token.kind == TokenKind::Pause && !between
    };
    let mut clauses: Vec<Vec<TermToken>> = vec![vec![]];
    for token in tokens {
        let begins = token.kind == TokenKind::Word(TermWord::But) || token.text == "and";
        if begins {
            clauses.push(vec![]);
        }
        if let Some(last) = clauses.last_mut() {
            last.push(token.clone());
        }
        if is_end(token) {
            clauses.push(vec![]);
        }
    }
    clauses.retain(|clause| !clause.iter().all(is_end));
    clauses
}

/// Returns the text of a clause as it was typed.
pub(super) fn raw(clause: &[TermToken]) -> String {
    let mut text = String::new();
    for token in clause {
        let latin = |c: char| c.is_ascii_alphanumeric() || c == '\'';
        if text.ends_with(latin) && token.raw.starts_with(latin) {
            text.push(' ');
        }
        text.push_str(&token.raw);
    }
    let ends = |c: char| c.is_whitespace() || ",.;:!?，。；：！？、".contains(c);
    text.trim_matches(ends).to_owned()
}

impl<'f> Sentence<'f> {
    pub(super) fn of(tokens: &[TermToken], facts: &'f Facts<'f>) -> Self {
        use TermWord::{Afternoon, Each, Evening, Morning, Noon, Put, Study};
        let mut found = Self {
            facts,
            words: vec![],
            names: vec![],
            days: vec![],
            clocks: vec![],
            ranges: vec![],
            numbers: vec![],
            lengths: vec![],
            unknown: vec![],
            is_question: false,
            again: false,
            excepts_of_days: false,
            is_own: false,
            pauses: vec![],
            prefers: false,
            points: false,
        };
        let (mut at, mut beside) = (0, false);
        while let Some(token) = tokens.get(at) {
            let rest = tokens.get(at..).unwrap_or_default();
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            at += found.take(token, rest, before, &mut beside);
        }
        // "I prefer to keep Fridays free" has another liking.
        let times = [Each, Put, Study, Morning, Noon, Afternoon, Evening];
        if found.prefers && !found.points && found.names.is_empty() && found.says(&[], &times) {
            found.words.push(TermWord::Best);
        }
        found
    }

    /// Takes the next tokens, and returns their number. `beside` is true while names follow each
    /// other.
    fn take(
        &mut self,
        token: &TermToken,
        rest: &[TermToken],
        before: Option<&TermToken>,
        beside: &mut bool,
    ) -> usize {
        if let Some((minutes, taken)) = length(rest) {
            self.lengths.push(minutes);
            return taken;
        }
        let was_beside = std::mem::take(beside);
        match &token.kind {
            TokenKind::Word(TermWord::Best) if PREFERS.contains(&token.text.as_str()) => {
                self.prefers = true;
            }
            TokenKind::Word(TermWord::Filler | TermWord::But) | TokenKind::Pause => {
                self.points |= ["it", "that", "this"].contains(&token.text.as_str());
                *beside = was_beside;
                let is_pause = token.kind == TokenKind::Pause;
                self.pauses.extend(is_pause.then_some(self.words.len()));
            }
            TokenKind::Word(TermWord::Nth(nth)) => {
                let named = self.names.last_mut().and_then(|name| {
                    let found = name.nth(*nth, self.facts.schedule)?;
                    *name = found;
                    Some(())
                });
                if named.is_none() {
                    self.unknown.push(token.raw.clone());
                }
            }
            TokenKind::Word(word) => {
                if ["tonight", "今晚", "今早"].contains(&token.text.as_str()) {
                    let today = DayReference::FromToday(0);
                    self.days.push((today, false, token.text.clone()));
                }
                // 以后周五下午不要排 begins with "from now on"; 九点以后 is a time.
                let from_now_on = self.is_empty() && token.text == "以后";
                let part = [TermWord::Morning, TermWord::Afternoon, TermWord::Evening];
                self.excepts_of_days |= *word == TermWord::Except && !self.days.is_empty();
                self.again |= part.contains(word) && token.text.ends_with('s');
                self.is_own |= matches!(word, TermWord::Does | TermWord::WantsNot);
                self.words.push(match word {
                    _ if from_now_on => TermWord::Each,
                    TermWord::Does => TermWord::Put,
                    TermWord::WantsNot => TermWord::Not,
                    word => *word,
                });
            }
            TokenKind::Name(things, exact) => {
                let name = Ref::of(things.iter().copied(), *exact).or_longer(self.facts.schedule);
                self.name(name, was_beside);
                *beside = true;
            }
            TokenKind::Days(days, again) => {
                self.days.push((days.clone(), *again, token.text.clone()));
            }
            TokenKind::Clock(time) => self.clocks.push(clock(*time)),
            TokenKind::Hours(from, to) => self.ranges.push((clock(*from), clock(*to))),
            TokenKind::Number(number) => {
                let at = before.is_some_and(|before| TIME_LEADS.contains(&before.text.as_str()));
                match i8::try_from(*number)
                    .ok()
                    .filter(|hour| at && (1..24).contains(hour))
                {
                    Some(hour) => self.clocks.push((hour, 0, false)),
                    None => self.numbers.push(*number),
                }
            }
            TokenKind::Stop(asks) => self.is_question |= asks,
            _ => self.unknown.push(token.raw.clone()),
        }
        1
    }

    /// Takes a name; one right after another one narrows it: "the draft of the essay".
    fn name(&mut self, name: Ref, is_beside: bool) {
        if let (true, Some(last)) = (is_beside, self.names.last_mut())
            && let Some(both) = last.narrowed(&name, self.facts)
        {
            *last = both;
            return;
        }
        self.names.push(name);
    }

    pub(super) fn has(&self, word: TermWord) -> bool {
        self.words.contains(&word)
    }

    /// Returns true if the sentence has all words of the first list, and others only of the second.
    pub(super) fn says(&self, all: &[TermWord], also: &[TermWord]) -> bool {
        let is_known = |word: &TermWord| all.contains(word) || also.contains(word);
        all.iter().all(|word| self.has(*word)) && self.words.iter().all(is_known)
    }

    /// Returns true if the words are a "not" and what it denies, in one breath: "move it, not on Friday"
    /// denies the day.
    pub(super) fn denies(&self, what: TermWord) -> bool {
        self.words == [TermWord::Not, what] && !self.pauses.contains(&1)
    }

    /// Returns true if the sentence has a word just once.
    pub(super) fn has_once(&self, word: TermWord) -> bool {
        self.words.iter().filter(|said| **said == word).count() == 1
    }

    /// Returns true if a clause only names what the next one is about.
    pub(super) fn is_topic(&self) -> bool {
        self.words.is_empty() && !self.names.is_empty() && self.days.is_empty() && self.is_plain()
    }

    /// Returns true if a clause has only fillers.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.names.is_empty() && self.days.is_empty() && self.is_plain()
    }

    fn is_plain(&self) -> bool {
        self.bare() && self.unknown.is_empty()
    }

    /// Returns true if there is no time, number or length.
    pub(super) fn bare(&self) -> bool {
        self.bare_but_numbers() && self.numbers.is_empty()
    }

    pub(super) fn bare_but_ranges(&self) -> bool {
        self.clocks.is_empty() && self.lengths.is_empty() && self.numbers.is_empty()
    }

    pub(super) fn bare_but_numbers(&self) -> bool {
        self.clocks.is_empty() && self.ranges.is_empty() && self.lengths.is_empty()
    }

    /// Returns the named days of the week, if they are meant again and again; none if a certain day
    /// is meant.
    pub(super) fn habitual(&self, any: bool) -> Option<BTreeSet<u8>> {
        use TermWord::{Each, Never};
        let mut habit = any || self.again || self.has(Never) || self.has(Each);
        let mut days = BTreeSet::new();
        for (reference, again, text) in &self.days {
            let DayReference::Weekdays(named) = reference else {
                return None;
            };
            let is_certain = ["这", "本", "下", "上"]
                .iter()
                .any(|word| text.starts_with(word));
            if is_certain {
                return None;
            }
            habit |= *again || text == "周末";
            days.extend(named.iter().copied());
        }
        (habit || days.is_empty()).then_some(days)
    }

    pub(super) fn names_certain_day(&self) -> bool {
        !self.days.is_empty() && self.habitual(false).is_none()
    }

    /// Returns true if nothing but 周末 tells that each weekend is meant.
    pub(super) fn may_mean_one_weekend(&self) -> bool {
        use TermWord::{Each, Never};
        let is_plain = |(_, again, text): &(DayReference, bool, String)| !again && text == "周末";
        let says_habit = self.again || self.has(Never) || self.has(Each);
        !says_habit && !self.days.is_empty() && self.days.iter().all(is_plain)
    }

    pub(super) fn part(&self) -> Option<Part> {
        self.parts_of_day().first().copied()
    }

    /// Returns the parts of a day that are named, each once.
    pub(super) fn parts_of_day(&self) -> Vec<Part> {
        let named = self.words.iter().filter_map(|word| match word {
            TermWord::Morning => Some(Part::Morning),
            TermWord::Noon => Some(Part::Noon),
            TermWord::Afternoon => Some(Part::Afternoon),
            TermWord::Evening | TermWord::Late => Some(Part::Evening),
            _ => None,
        });
        let mut parts = vec![];
        for part in named {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    }

    pub(super) fn clock(&self, (hour, minute, certain): ClockWords) -> Option<Time> {
        when::time(hour, minute, certain, self.part(), self.facts)
    }

    /// Returns the times of a range.
    pub(super) fn range(&self, (from, to): (ClockWords, ClockWords)) -> Option<(Time, Time)> {
        when::hours(from, to, self.part(), self.facts)
    }

    /// Returns the beginning and the end of a part of the day, by the sections.
    pub(super) fn span_of(&self, part: Part) -> Option<(Time, Time)> {
        let sections = when::part(part, self.facts);
        let (first, last) = (*sections.first()?, *sections.last()?);
        self.facts.sections.times(&Slot::new(1, first, last))
    }

    /// Returns the day that is meant: one, or the last of several that are named together.
    pub(super) fn one_day(&self) -> Option<BTreeSet<u16>> {
        let days = self.all_days();
        (days.len() == 1).then_some(days)
    }

    /// Returns the days that are named.
    pub(super) fn all_days(&self) -> BTreeSet<u16> {
        let references: Vec<_> = self.days.iter().map(|(days, ..)| days.clone()).collect();
        when::days(&references, false, self.facts)
    }
}

/// Words for what the person likes more.
const PREFERS: [&str; 5] = ["prefer", "i prefer", "更喜欢", "喜欢", "偏爱"];

/// Words after which a number is a time.
const TIME_LEADS: [&str; 8] = [
    "at", "by", "after", "before", "till", "until", "past", "from",
];

/// Writes the number words of a text before units of time of a day in digits.
pub(in super::super) fn lengths_in_digits(text: &str) -> String {
    digits_before(text, &["hour", "minute"])
}

/// Writes the number words of a text before units in digits.
pub(in super::super) fn in_digits(text: &str) -> String {
    const UNITS: [&str; 11] = [
        "hour", "minute", "section", "period", "lesson", "part", "day", "week", "task", "item",
        "thing",
    ];
    digits_before(text, &UNITS)
}

fn digits_before(text: &str, units: &[&str]) -> String {
    const NUMBERS: [&str; 12] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let words: Vec<&str> = text.split(' ').collect();
    let mut written: Vec<String> = vec![];
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", |next| next);
        let end = word
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(word.len());
        let (head, tail) = word.split_at(end);
        let number = NUMBERS.iter().position(|it| it.eq_ignore_ascii_case(head));
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        let timed = before.is_some_and(|before| TIME_LEADS.contains(before));
        let counts = tail.is_empty() && units.iter().any(|unit| next.starts_with(unit)) || timed;
        let number = number.filter(|_| counts);
        written.push(number.map_or((*word).to_owned(), |at| format!("{}{tail}", at + 1)));
    }
    written.join(" ")
}

/// Reads a length such as `one hour and a half`, `90 minutes`, `两个半小时`; returns the minutes and
/// the number of tokens.
fn length(tokens: &[TermToken]) -> Option<(u16, usize)> {
    let (mut number, mut half, mut minutes) = (None, false, None::<i64>);
    let mut taken = 0;
    for (token, at) in tokens.iter().zip(1..) {
        match &token.kind {
            TokenKind::Number(n) => number = Some(*n),
            TokenKind::Word(TermWord::Half) => {
                half = true;
                if let (Some(known), None) = (minutes, number) {
                    // An hour and a half.
                    (minutes, taken, half) = (Some(known + 30), at, false);
                }
            }
            TokenKind::Word(TermWord::Hour) => {
                let whole = number.take().unwrap_or(i64::from(!half));
                let part = if std::mem::take(&mut half) { 30 } else { 0 };
                minutes = Some(minutes.unwrap_or(0) + whole * 60 + part);
                taken = at;
            }
            TokenKind::Word(TermWord::Minute) => {
                minutes = Some(minutes.unwrap_or(0) + number.take()?);
                taken = at;
            }
            TokenKind::Word(TermWord::Filler) if token.text == "一个" => number = Some(1),
            TokenKind::Word(TermWord::Filler)
                if ["a", "an", "and", "of", "个", "about", "大概", "差不多"]
                    .contains(&token.text.as_str()) => {}
            _ => break,
        }
    }
    let minutes = u16::try_from(minutes?)
        .ok()
        .filter(|minutes| *minutes > 0)?;
    Some((minutes, taken))
}
