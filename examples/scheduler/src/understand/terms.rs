//! Sentences about the terms of items ("it takes three hours", "never on Tuesday evenings") and
//! about what a person prefers ("at most four sections a day"), read before all other wishes.
//!
//! A sentence is read wholly or not at all: what has a word besides is left to the other rules,
//! which name the word that they do not understand.
use std::collections::BTreeSet;

use fugato::words::{DayReference, Lexicon, Token, TokenKind, Tokenizer};
use jiff::civil::Time;

use super::{
    Facts, Understanding,
    lex::{Part, TERMS, TermWord},
    names::{Ref, Thing, names},
    plan, understand, when,
    words::Words,
};
use crate::tools::{Liking, PreferenceArgs, TermsEdit};

/// The meaning of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TermsWish {
    /// Terms of items or classes.
    Terms(Vec<Ref>, TermsEdit),
    /// A first thing, and what has to come after it.
    Order(Ref, Ref),
    /// The last day on which items may lie.
    Due(Ref, BTreeSet<u16>),
    /// The person's preferences.
    Preferences(PreferenceArgs),
    /// Preferences, with everything that is pending placed by them.
    PreferredPlaces(PreferenceArgs),
}

/// Reads a sentence about terms or preferences; none for other sentences.
pub(super) fn read(text: &str, facts: &Facts<'_>) -> Option<Understanding> {
    if let Some(args) = preferred_and_placed(text, facts) {
        return Some(plan::terms(&TermsWish::PreferredPlaces(args), facts));
    }
    let sentence = Sentence::of(text, facts)?;
    if sentence.asks_preferences() {
        let lines = Words::of(facts).preferences(facts.schedule.preferences.as_ref());
        let head = facts.lang.pick("What you prefer:", "你的偏好：");
        return Some(Understanding::Answer(format!(
            "{head}\n- {}",
            lines.join("\n- ")
        )));
    }
    if sentence.is_question {
        return None;
    }
    let wish = sentence.preference().map(TermsWish::Preferences);
    let wish = wish.or_else(|| sentence.terms())?;
    Some(plan::terms(&wish, facts))
}

/// Returns what is preferred while everything is placed: "weekends off, and place everything".
fn preferred_and_placed(text: &str, facts: &Facts<'_>) -> Option<PreferenceArgs> {
    let (first, second) = text.split_once([',', '，', '.', '。', ';', '；'])?;
    let preferred = |part| {
        let sentence = Sentence::of(part, facts).filter(|it| !it.is_question);
        sentence?.preference()
    };
    let (args, rest) = match (preferred(first), preferred(second)) {
        (Some(args), None) => (args, second.trim()),
        (None, Some(args)) => (args, first.trim()),
        _ => return None,
    };
    let rest = rest.strip_prefix("and ").unwrap_or(rest);
    (understand(rest, facts) == Understanding::PlaceAll).then_some(args)
}

/// The parts of a sentence.
#[derive(Debug)]
struct Sentence<'f> {
    facts: &'f Facts<'f>,
    /// The words but fillers, in their order.
    words: Vec<TermWord>,
    names: Vec<Ref>,
    days: Vec<(DayReference, bool, String)>,
    clocks: Vec<(i8, i8, bool)>,
    numbers: Vec<i64>,
    /// Lengths in minutes.
    lengths: Vec<u16>,
    is_question: bool,
}

impl<'f> Sentence<'f> {
    fn of(text: &str, facts: &'f Facts<'f>) -> Option<Self> {
        let names = names(facts.schedule);
        let lexicon: &Lexicon<TermWord> = &TERMS;
        let mut tokens = Tokenizer::new(lexicon, &names).tokens(&in_digits(text));
        for token in &mut tokens {
            // A number alone is no name, also where items are numbered.
            if let (TokenKind::Name(..), Ok(number)) = (&token.kind, token.text.parse()) {
                token.kind = TokenKind::Number(number);
            }
        }
        let mut found = Self {
            facts,
            words: vec![],
            names: vec![],
            days: vec![],
            clocks: vec![],
            numbers: vec![],
            lengths: vec![],
            is_question: false,
        };
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let rest = tokens.get(at..).unwrap_or_default();
            if let Some((minutes, taken)) = length(rest) {
                found.lengths.push(minutes);
                at += taken;
                continue;
            }
            match &token.kind {
                TokenKind::Word(TermWord::Filler) | TokenKind::Pause => {}
                TokenKind::Word(word) => found.words.push(*word),
                TokenKind::Name(things, exact) => {
                    found.names.push(Ref::of(things.iter().copied(), *exact));
                }
                TokenKind::Days(days, again) => {
                    found.days.push((days.clone(), *again, token.text.clone()));
                }
                TokenKind::Clock(time) => {
                    found.clocks.push((time.hour, time.minute, time.is_certain));
                }
                TokenKind::Number(number) => found.numbers.push(*number),
                TokenKind::Stop(asks) => found.is_question |= asks,
                _ => return None,
            }
            at += 1;
        }
        Some(found)
    }

    fn has(&self, word: TermWord) -> bool {
        self.words.contains(&word)
    }

    /// Returns true if the sentence has all words of the first list, and others only of the second.
    fn says(&self, all: &[TermWord], also: &[TermWord]) -> bool {
        let is_known = |word: &TermWord| all.contains(word) || also.contains(word);
        all.iter().all(|word| self.has(*word)) && self.words.iter().all(is_known)
    }

    fn asks_preferences(&self) -> bool {
        use TermWord::{Asks, Preferences};
        let bare = self.names.is_empty() && self.days.is_empty() && self.lengths.is_empty();
        bare && self.says(&[Preferences], &[Asks])
    }

    /// Returns true if only fillers and these words are left besides the words.
    fn bare(&self) -> bool {
        self.clocks.is_empty() && self.numbers.is_empty() && self.lengths.is_empty()
    }

    fn preference(&self) -> Option<PreferenceArgs> {
        if !self.names.is_empty() {
            return None;
        }
        self.limit()
            .or_else(|| self.lunch())
            .or_else(|| self.weekend())
            .or_else(|| self.quiet())
            .or_else(|| self.evening())
    }

    /// "At most four sections a day".
    fn limit(&self) -> Option<PreferenceArgs> {
        use TermWord::{AtMost, Each, Put, Section, Study};
        if !self.days.is_empty() || !self.clocks.is_empty() || !self.has(Each) {
            return None;
        }
        let limit = match (self.numbers.as_slice(), self.lengths.as_slice()) {
            ([sections], []) if self.says(&[AtMost, Section], &[Each, Put, Study]) => {
                u8::try_from(*sections).ok()?
            }
            ([], [minutes]) if self.says(&[AtMost], &[Each, Put, Study]) => {
                let slot = crate::schedule::Slot::new(1, 1, 1);
                let (begin, end) = self.facts.sections.times(&slot)?;
                let section = begin.duration_until(end).as_mins().max(1);
                u8::try_from(i64::from(*minutes) / section).ok()?.max(1)
            }
            _ => return None,
        };
        Some(PreferenceArgs {
            daily_limit: Some(limit).filter(|limit| *limit > 0),
            ..PreferenceArgs::default()
        })
        .filter(|args| args.daily_limit.is_some())
    }

    fn lunch(&self) -> Option<PreferenceArgs> {
        use TermWord::{Each, Fine, Free, Keep, Lunch, Never, Not, Put, Study};
        if !self.bare() || !self.days.is_empty() || !self.has(Lunch) {
            return None;
        }
        let liking = if self.says(&[Lunch, Fine], &[Each, Put, Study]) {
            Liking::Fine
        } else if self
            .words
            .iter()
            .any(|word| matches!(word, Free | Not | Never))
            && self.says(&[Lunch], &[Free, Keep, Not, Never, Each, Put, Study])
        {
            Liking::Avoid
        } else {
            return None;
        };
        Some(PreferenceArgs {
            lunch: Some(liking),
            ..PreferenceArgs::default()
        })
    }

    /// "Weekends off"; a certain weekend is a time to keep free.
    fn weekend(&self) -> Option<PreferenceArgs> {
        use TermWord::{Each, Fine, Free, Keep, Never, Not, Put, Study};
        let [(DayReference::Weekdays(days), again, text)] = self.days.as_slice() else {
            return None;
        };
        let habit = *again || text == "周末" || self.has(Each) || self.has(Never);
        if !self.bare() || *days != BTreeSet::from([6, 7]) || !habit {
            return None;
        }
        let liking = if self.says(&[Fine], &[Each, Put, Study]) {
            Liking::Fine
        } else if self.says(&[Free], &[Each, Keep])
            || self.says(&[Study], &[Not, Never, Each, Put]) && (self.has(Not) || self.has(Never))
        {
            Liking::Avoid
        } else {
            return None;
        };
        Some(PreferenceArgs {
            weekend: Some(liking),
            ..PreferenceArgs::default()
        })
    }

    /// "Quiet Wednesdays".
    fn quiet(&self) -> Option<PreferenceArgs> {
        use TermWord::{Each, Keep, Quiet};
        if !self.bare() || !self.says(&[Quiet], &[Each, Keep]) {
            return None;
        }
        let wishes = self.facts.schedule.preferences.as_ref();
        let known = wishes.map(|wishes| wishes.quiet_days.clone());
        let mut days: BTreeSet<u8> = known.into_iter().flatten().collect();
        for (reference, again, _) in &self.days {
            let DayReference::Weekdays(named) = reference else {
                return None;
            };
            let habit = *again || self.has(Each) || !self.facts.lang.pick(true, false);
            days.extend(named.iter().filter(|_| habit));
        }
        (!self.days.is_empty() && !days.is_empty()).then(|| PreferenceArgs {
            quiet_days: Some(days.into_iter().collect()),
            ..PreferenceArgs::default()
        })
    }

    /// "No studying after nine", "no late evenings", "I can work late".
    fn evening(&self) -> Option<PreferenceArgs> {
        use TermWord::{After, Each, Evening, Fine, Free, Keep, Late, Never, Not, Put, Study};
        if !self.days.is_empty() || !self.numbers.is_empty() || !self.lengths.is_empty() {
            return None;
        }
        let rest = [Each, Put, Study, Evening, Late, After, Keep];
        let liking = if self.says(&[Fine], &rest) {
            Liking::Fine
        } else if self
            .words
            .iter()
            .any(|word| matches!(word, Not | Never | Free))
            && self.says(&[], &[rest.as_slice(), &[Not, Never, Free]].concat())
        {
            Liking::Avoid
        } else {
            return None;
        };
        let mut args = PreferenceArgs::default();
        match self.clocks.as_slice() {
            [clock]
                if self.has(After) && (self.has(Study) || self.has(Each) || self.has(Never)) =>
            {
                let time = self.clock(*clock)?;
                let from = Some(time.strftime("%H:%M").to_string());
                if time.hour() < 15 {
                    return None;
                }
                if time.hour() < 20 {
                    (args.evening, args.evening_from) = (Some(liking), from);
                } else {
                    (args.late, args.late_from) = (Some(liking), from);
                }
            }
            [] if self.has(Late) => args.late = Some(liking),
            [] if self.has(Evening) && (self.has(Each) || self.has(Study) || self.has(Never)) => {
                args.evening = Some(liking);
            }
            _ => return None,
        }
        Some(args)
    }

    fn part(&self) -> Option<Part> {
        self.words.iter().find_map(|word| match word {
            TermWord::Morning => Some(Part::Morning),
            TermWord::Afternoon => Some(Part::Afternoon),
            TermWord::Evening => Some(Part::Evening),
            _ => None,
        })
    }

    fn clock(&self, (hour, minute, certain): (i8, i8, bool)) -> Option<Time> {
        when::time(hour, minute, certain, self.part(), self.facts)
    }

    fn terms(&self) -> Option<TermsWish> {
        if self.names.is_empty() || self.names.iter().any(|name| !name.courses.is_empty()) {
            return None;
        }
        self.order()
            .or_else(|| self.length())
            .or_else(|| self.due())
            .or_else(|| self.earliest())
            .or_else(|| self.importance())
            .or_else(|| self.closed())
            .or_else(|| self.fixed())
    }

    /// "Do A only after B", "first A, then B", "写完 A 才能做 B".
    fn order(&self) -> Option<TermsWish> {
        use TermWord::{After, Done, Each, First, Must, Only, Put, Start, Then};
        let ([a, b], true, true) = (self.names.as_slice(), self.bare(), self.days.is_empty())
        else {
            return None;
        };
        let polite = [Put, Start, Must, Done, Each];
        if self.says(&[First, Then], &polite)
            || self.says(&[Done, Only], &polite)
            || self.says(&[Done, Then], &[Put])
        {
            return Some(TermsWish::Order(a.clone(), b.clone()));
        }
        let later = self.says(&[After, Only], &polite) || self.says(&[After, Must], &polite);
        later.then(|| TermsWish::Order(b.clone(), a.clone()))
    }

    /// "It takes three hours"; "it does not take three hours, one is enough".
    fn length(&self) -> Option<TermsWish> {
        use TermWord::{Each, Enough, Must, Takes, TakesNot};
        let free = self.days.is_empty() && self.clocks.is_empty() && self.numbers.is_empty();
        let minutes = match self.lengths.as_slice() {
            [minutes] if free && self.says(&[Takes], &[Must, Each]) => *minutes,
            [minutes] if free && self.says(&[Must], &[Each]) => *minutes,
            [minutes] if free && self.says(&[Enough], &[]) => *minutes,
            [_, minutes] if free && self.says(&[TakesNot, Enough], &[]) => *minutes,
            _ => return None,
        };
        Some(self.edit(TermsEdit {
            minutes: Some(minutes),
            ..TermsEdit::default()
        }))
    }

    /// "It must be done by Friday".
    fn due(&self) -> Option<TermsWish> {
        use TermWord::{By, Done, Must, Takes};
        let must = self.has(Must) || self.facts.lang == crate::calendar::Lang::Zh;
        let ([name], true, true) = (self.names.as_slice(), self.bare(), must) else {
            return None;
        };
        if !self.says(&[Done, By], &[Must, Takes]) {
            return None;
        }
        let days = self.one_day()?;
        Some(TermsWish::Due(name.clone(), days))
    }

    /// "Not before Wednesday".
    fn earliest(&self) -> Option<TermsWish> {
        use TermWord::{By, Must, Never, Not, NotBefore, Put, Start};
        let says = self.says(&[NotBefore], &[Start, Put, Must])
            || self.says(&[By], &[Not, Never, Start, Put]) && (self.has(Not) || self.has(Never));
        if !says || !self.bare() {
            return None;
        }
        let day = self.one_day()?.first().copied()?;
        let date = self.facts.schedule.day(day)?.date.clone();
        if date.is_empty() {
            return None;
        }
        Some(self.edit(TermsEdit {
            earliest: Some(date),
            ..TermsEdit::default()
        }))
    }

    fn importance(&self) -> Option<TermsWish> {
        use TermWord::{Important, Not};
        if !self.bare() || !self.days.is_empty() || !self.says(&[Important], &[Not]) {
            return None;
        }
        let low = self.has(Not);
        Some(self.edit(TermsEdit {
            priority: Some(if low {
                crate::schedule::Level::Low
            } else {
                crate::schedule::Level::High
            }),
            ..TermsEdit::default()
        }))
    }

    /// "Never on Tuesday evenings"; a certain Tuesday is no term.
    fn closed(&self) -> Option<TermsWish> {
        use TermWord::{Afternoon, Each, Evening, Morning, Must, Never, Not, Put};
        let also = [Put, Each, Not, Never, Morning, Afternoon, Evening, Must];
        let denies = self.has(Not) || self.has(Never);
        if !self.bare() || !denies || !self.says(&[], &also) {
            return None;
        }
        let mut days = BTreeSet::new();
        let mut habit = self.has(Never) || self.has(Each);
        let zh = self.facts.lang == crate::calendar::Lang::Zh;
        for (reference, again, text) in &self.days {
            let DayReference::Weekdays(named) = reference else {
                return None;
            };
            // In Chinese a day without "this" or "next" is any of its name.
            let is_certain = ["这", "本", "下", "上"]
                .iter()
                .any(|word| text.starts_with(word));
            habit |= *again || zh && !is_certain && self.has(Put);
            days.extend(named.iter().copied());
        }
        if !habit || days.is_empty() && self.part().is_none() {
            return None;
        }
        let part = match self.part() {
            Some(Part::Morning) => "morning",
            Some(Part::Afternoon) => "afternoon",
            Some(_) => "evening",
            None => "",
        };
        let names = super::words::WEEKDAYS.0;
        let on = days
            .iter()
            .filter_map(|day| names.get(usize::from(*day).checked_sub(1)?));
        let mut not: Vec<String> = on
            .map(|day| format!("{day} {part}").trim().to_owned())
            .collect();
        if not.is_empty() {
            not.push(part.to_owned());
        }
        Some(self.edit(TermsEdit {
            not: Some(not),
            ..TermsEdit::default()
        }))
    }

    /// "Only on Wednesday at four".
    fn fixed(&self) -> Option<TermsWish> {
        use TermWord::{Afternoon, Evening, Morning, Must, Only, Put};
        let ([clock], []) = (self.clocks.as_slice(), self.lengths.as_slice()) else {
            return None;
        };
        if !self.says(&[Only], &[Put, Must, Morning, Afternoon, Evening]) {
            return None;
        }
        let time = self.clock(*clock)?.strftime("%H:%M");
        let day = if self.days.is_empty() {
            String::new()
        } else {
            let day = self.one_day()?.first().copied()?;
            self.facts.schedule.day(day)?.date.clone()
        };
        Some(self.edit(TermsEdit {
            at: Some(format!("{day} {time}").trim().to_owned()),
            ..TermsEdit::default()
        }))
    }

    fn edit(&self, edit: TermsEdit) -> TermsWish {
        TermsWish::Terms(self.names.clone(), edit)
    }

    /// Returns the day that is meant: one, or the last of several that are named together.
    fn one_day(&self) -> Option<BTreeSet<u16>> {
        let references: Vec<_> = self.days.iter().map(|(days, ..)| days.clone()).collect();
        let days = when::days(&references, false, self.facts);
        (days.len() == 1).then_some(days)
    }
}

/// Writes the number words of a text before units in digits.
fn in_digits(text: &str) -> String {
    const NUMBERS: [&str; 12] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    const UNITS: [&str; 5] = ["hour", "minute", "section", "period", "lesson"];
    let words: Vec<&str> = text.split(' ').collect();
    let mut written = vec![];
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", |next| next);
        let number = NUMBERS.iter().position(|it| it.eq_ignore_ascii_case(word));
        let number = number.filter(|_| UNITS.iter().any(|unit| next.starts_with(unit)));
        written.push(number.map_or((*word).to_owned(), |at| (at + 1).to_string()));
    }
    written.join(" ")
}

/// Reads a length such as `one hour and a half`, `90 minutes`, `两个半小时`; returns the minutes and
/// the number of tokens.
fn length(tokens: &[Token<TermWord, Thing>]) -> Option<(u16, usize)> {
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
