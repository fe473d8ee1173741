//! Sentences about the terms of items ("it takes three hours", "never on Tuesday evenings") and
//! about what a person prefers ("at most four sections a day"), read before all other wishes.
//!
//! A clause is read wholly or not at all. What such a sentence says besides is named to the person
//! as left out; a condition, or a wish of another kind, leaves the whole text to the other rules.
mod likings;
mod sentence;

use std::{cell::LazyCell, collections::BTreeSet};

use fugato::words::NameIndex;
use jiff::civil::Time;

use self::sentence::{Sentence, TermToken, tokens};
pub(super) use self::sentence::{in_digits, lengths_in_digits};
use super::{
    Facts, Understanding,
    lex::{self, Kind, Part, Relation, TermWord, Verb},
    names::{Ref, Thing, names},
    plan, understand,
    wish::names_other_place,
    words::Words,
};
use crate::{
    calendar::{Lang, weekday},
    schedule::Level,
    tools::{PreferenceArgs, TermsEdit},
};

/// The meaning of a clause.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TermsWish {
    /// Terms of items or classes.
    Terms(Vec<Ref>, TermsEdit),
    /// A first thing, and what has to come after it.
    Order(Ref, Ref),
    /// The last day on which items may lie; none for no last day.
    Due(Ref, Option<BTreeSet<u16>>),
    /// A last date that is later by so many days.
    Later(Ref, i64),
    /// An item that was not finished, of these days: the minutes that are left, or half of it.
    Rest(Ref, BTreeSet<u16>, Option<u16>),
    /// A thing that took so many minutes; true if it is done.
    Took(Ref, u16, bool),
    /// The rest of an item is done in parts on these days.
    Parts(Ref, BTreeSet<u16>),
    /// An item of these days stays where it is.
    Stay(Ref, BTreeSet<u16>),
    /// Items go away from these days, or from a part of them.
    Away(Vec<Ref>, BTreeSet<u16>, Option<Part>),
    /// An item of these days ends at a time.
    Until(Ref, BTreeSet<u16>, Time),
    /// The person's preferences.
    Preferences(PreferenceArgs),
    /// Preferences, with everything that is pending placed by them.
    PreferredPlaces(PreferenceArgs),
    /// A remark about something that holds anyway, such as "the deadline stays".
    Aside,
}

/// The wishes of a text, and what else it says.
#[derive(Debug, Default)]
pub(super) struct TermsWishes {
    pub(super) wishes: Vec<TermsWish>,
    /// Remarks for the person.
    pub(super) remarks: Vec<String>,
    /// The clauses that no wish accounts for.
    pub(super) left: Vec<String>,
    /// True if one of these names a certain day: a time of the day beside it is one of that day.
    pub(super) dated: bool,
}

impl TermsWish {
    /// Returns true for a time that is liked or not on every day.
    fn is_of_every_day(&self) -> bool {
        let Self::Preferences(args) = self else {
            return false;
        };
        let mut times = args.times.iter();
        times.any(|time| time.days_of_week.is_empty() && time.time.is_some())
    }
}

/// The answer to a report of the time that something took.
pub(super) const NO_RECORD: (&str, &str) = (
    "I do not record how long something took, only how long it is to be.",
    "我没有记录实际用了多久，只知道计划用多久。",
);

/// Reads a sentence about terms or preferences; none for other sentences.
pub(super) fn read(text: &str, facts: &Facts<'_>) -> Option<Understanding> {
    if let Some(args) = preferred_and_placed(text, facts) {
        let said = TermsWishes {
            wishes: vec![TermsWish::PreferredPlaces(args)],
            ..TermsWishes::default()
        };
        return Some(plan::terms(&said, facts));
    }
    // What may be used again may have been kept free.
    if lex::reopens(text, facts) {
        return None;
    }
    let tokens = tokens(text, facts);
    let whole = Sentence::of(&tokens, facts);
    if let Some(answer) = whole.asked() {
        return Some(Understanding::Answer(answer));
    }
    let asks = whole.is_question || text.trim_end().ends_with(['吗', '么', '呢']);
    if asks && !is_polite(text) {
        return None;
    }
    if names_other_place(text, facts) {
        return None;
    }
    let said = wishes(&tokens, facts)?;
    if said.wishes.iter().all(|wish| *wish == TermsWish::Aside) {
        return None;
    }
    if said.dated && said.wishes.iter().any(TermsWish::is_of_every_day) {
        return None;
    }
    let is_whole = said.left.is_empty();
    (is_whole || !lex::tokens(text, facts).iter().any(is_condition))
        .then(|| plan::terms(&said, facts))
}

/// Returns what is preferred while everything is placed: "weekends off, and place everything".
fn preferred_and_placed(text: &str, facts: &Facts<'_>) -> Option<PreferenceArgs> {
    let (first, second) = text.split_once([',', '，', '.', '。', ';', '；'])?;
    let preferred = |part| {
        let sentence = Sentence::of(&tokens(part, facts), facts);
        sentence.preference().filter(|_| !sentence.is_question)
    };
    let (args, rest) = match (preferred(first), preferred(second)) {
        (Some(args), None) => (args, second.trim()),
        (None, Some(args)) => (args, first.trim()),
        _ => return None,
    };
    let rest = rest.strip_prefix("and ").unwrap_or(rest);
    (understand(rest, facts) == Understanding::PlaceAll).then_some(args)
}

/// Returns true if a text is no more than a length, and the name of what it is of if that is allowed.
pub(super) fn is_length(text: &str, of_name: bool, facts: &Facts<'_>) -> bool {
    let said = Sentence::of(&tokens(text, facts), facts);
    let plain = said.words.is_empty() && said.days.is_empty() && said.unknown.is_empty();
    plain && !said.lengths.is_empty() && (of_name || said.names.is_empty())
}

fn is_condition(token: &lex::Token) -> bool {
    matches!(
        token.kind,
        Kind::Relation(Relation::If | Relation::Unless | Relation::Except)
    )
}

/// Returns true if a question asks for something to be done.
fn is_polite(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut asks = lex::LISTS.wishes.asks_for.iter();
    asks.any(|word| text.contains(word))
}

/// The clauses that one wish is read from. A list has one for each day or item; a long message is
/// not read anew from each of its clauses to its end.
const MOST_CLAUSES: usize = 16;

/// Reads the wishes of the clauses, each run of clauses as far as it makes one; none if a clause
/// wants something else.
fn wishes(tokens: &[TermToken], facts: &Facts<'_>) -> Option<TermsWishes> {
    let clauses = sentence::clauses(tokens);
    let index = LazyCell::new(|| names(facts.schedule));
    let mut said = TermsWishes::default();
    let mut topic: Vec<Ref> = vec![];
    let mut at = 0;
    while at < clauses.len() {
        let last = clauses.len().min(at + MOST_CLAUSES);
        let run = (at + 1..=last).rev().find_map(|end| {
            let run = clauses.get(at..end)?;
            let sentence = Sentence::of(&run.concat(), facts);
            Some((end, sentence.wish(&topic)?, sentence))
        });
        let Some((end, wish, sentence)) = run else {
            let clause = clauses.get(at)?;
            let sentence = Sentence::of(clause, facts);
            if sentence.is_topic() {
                topic = sentence.names;
            } else if !sentence.is_empty() {
                let text = sentence::raw(clause);
                if wants_more(&text, &index, facts) {
                    return None;
                }
                said.left.push(text);
                said.dated |= sentence.names_certain_day();
            }
            at += 1;
            continue;
        };
        // "Plan everything" has only words of asides, and is a wish of its own.
        if wish == TermsWish::Aside && end - at < clauses.len() {
            let text = sentence::raw(&clauses.get(at..end)?.concat());
            if understand(&text, facts) == Understanding::PlaceAll {
                return None;
            }
        }
        said.remarks.extend(sentence.remark());
        said.wishes.push(wish);
        if !sentence.names.is_empty() {
            topic = sentence.names;
        }
        at = end;
    }
    Some(said)
}

/// Returns true if a clause wants something that other rules read.
fn wants_more(text: &str, index: &NameIndex<Thing>, facts: &Facts<'_>) -> bool {
    const ACTS: [Verb; 11] = [
        Verb::Done,
        Verb::Place,
        Verb::Move,
        Verb::Swap,
        Verb::Cancel,
        Verb::Delete,
        Verb::Add,
        Verb::Undo,
        Verb::PutBack,
        Verb::Rearrange,
        Verb::Spread,
    ];
    let tokens = lex::tokens_among(index, text, facts);
    let denies = |token: &lex::Token| token.kind == Kind::Relation(Relation::Not);
    let unknown = |token: &lex::Token| token.kind == Kind::Unknown;
    let remarks = tokens.iter().any(|token| denies(token) || unknown(token));
    let mut verbs = tokens.iter().filter_map(|token| match token.kind {
        Kind::Verb(verb) => Some(verb),
        _ => None,
    });
    verbs.any(|verb| ACTS.contains(&verb) && !(remarks && verb == Verb::Place))
}

impl Sentence<'_> {
    /// Answers a question about preferences, or about the terms of something.
    fn asked(&self) -> Option<String> {
        use TermWord::{
            Asks, Each, Fine, HowLong, Must, OnePiece, Preferences, Put, Split, Study, Takes, Took,
        };
        let (lang, words) = (self.facts.lang, Words::of(self.facts));
        let bare = self.names.is_empty() && self.days.is_empty() && self.bare();
        if bare && self.unknown.is_empty() && self.says(&[Preferences], &[Asks, Each]) {
            let mut lines = vec![words.hours()];
            lines.extend(words.preferences(self.facts.schedule.preferences.as_ref()));
            let head = lang.pick("What you prefer:", "你的偏好：");
            return Some(format!("{head}\n- {}", lines.join("\n- ")));
        }
        let about = [HowLong, Split, OnePiece];
        let asks = self.is_question || self.has(HowLong);
        let known = self.unknown.is_empty() && about.iter().any(|word| self.has(*word));
        let also = [Each, Fine, Takes, Took, Must, Put, Study];
        if !asks || !known || !self.says(&[], &[&about[..], &also].concat()) {
            return None;
        }
        let [name] = self.names.as_slice() else {
            return None;
        };
        let mut lines = words.terms_of(name, self.facts);
        if self.has(Took) {
            lines.insert(0, lang.pick(NO_RECORD.0, NO_RECORD.1).to_owned());
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Returns the wish of a clause, whose topic is that of the clause before if it names nothing.
    fn wish(&self, topic: &[Ref]) -> Option<TermsWish> {
        if let Some(args) = self.preference() {
            return Some(TermsWish::Preferences(args));
        }
        if !self.unknown.is_empty() {
            return None;
        }
        if self.is_aside() {
            return Some(TermsWish::Aside);
        }
        if !self.names.is_empty() {
            return self.terms();
        }
        let of_topic = Self {
            names: topic.to_vec(),
            ..self.clone()
        };
        of_topic.terms()
    }

    /// Returns true if a clause says only what holds anyway.
    fn is_aside(&self) -> bool {
        use TermWord::{
            AtMost, Deadline, Each, Evening, Fine, Lunch, Morning, Other, Parts, Put, Same, Split,
            Touch,
        };
        let parts = matches!(self.numbers.as_slice(), [most] if *most >= 2)
            && self.says(&[AtMost, Parts], &[Split, Each]);
        let same = self.says(&[Same], &[Deadline, Each, Touch]) && self.bare();
        let others = self.says(&[Other, Fine], &[Evening, Morning, Touch]) && self.bare();
        let vague = self.says(&[Put], &[]) && self.days.is_empty() && self.bare();
        let mild = self.says(&[Lunch, Fine], &[Each]) && !self.days.is_empty() && self.bare();
        parts || same || others || vague || mild
    }

    /// Returns what a wish cannot hold of a clause.
    fn remark(&self) -> Option<String> {
        use TermWord::{AtMost, Parts, Rest};
        let lang = self.facts.lang;
        if self.has(AtMost) && self.has(Parts) {
            return Some(
                lang.pick(
                    "An item that may be split is done in two parts at most.",
                    "可以拆开的事项最多分两部分做。",
                )
                .into(),
            );
        }
        if let (true, [_, rest]) = (self.has(Rest), self.lengths.as_slice()) {
            return Some(lang.pick(
                format!("I cannot set how long a break is: {rest} minutes are left out, a break is a free section."),
                format!("休息的长短记不下：没有采纳 {rest} 分钟，休息就是空出一节。"),
            ));
        }
        if self.preference().is_some() && self.may_mean_one_weekend() {
            return Some("“周末”我理解为每个周末；如果只是这个周末，请说“这个周末”。".into());
        }
        if let Some((sections, of_one)) = self.items_a_day() {
            return Some(lang.pick(
                format!("An item takes {of_one} sections, so that is {sections} sections a day."),
                format!("每项占 {of_one} 节，所以一天最多 {sections} 节。"),
            ));
        }
        if let Some((hours, sections, minutes)) = self.hours_a_day() {
            return Some(lang.pick(
                format!("A section takes {minutes} minutes, so {hours} are {sections} sections."),
                format!("一节 {minutes} 分钟，所以{hours}算 {sections} 节。"),
            ));
        }
        let (true, [clock]) = (self.is_due(), self.clocks.as_slice()) else {
            return None;
        };
        let at = self.clock(*clock)?.strftime("%H:%M");
        Some(lang.pick(
            format!("A last date has no time of the day here: {at} is left out."),
            format!("这里的截止日期不带时刻：没有采纳 {at}。"),
        ))
    }

    fn terms(&self) -> Option<TermsWish> {
        if self.names.is_empty() || self.names.iter().any(Ref::is_course) {
            return None;
        }
        self.order()
            .or_else(|| self.unfinished())
            .or_else(|| self.parts())
            .or_else(|| self.took())
            .or_else(|| self.length())
            .or_else(|| self.until())
            .or_else(|| self.split())
            .or_else(|| self.later())
            .or_else(|| self.due())
            .or_else(|| self.earliest())
            .or_else(|| self.importance())
            .or_else(|| self.stay())
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

    /// "I did not finish it, an hour is left".
    fn unfinished(&self) -> Option<TermsWish> {
        use TermWord::{Half, Halfway, Left, Only, Unfinished};
        let ([name], true) = (self.names.as_slice(), self.clocks.is_empty()) else {
            return None;
        };
        if !self.says(&[Unfinished], &[Left, Half, Halfway, Only]) {
            return None;
        }
        let left = match self.lengths.as_slice() {
            [minutes] if self.has(Left) => Some(*minutes),
            [] if self.has(Halfway) || self.has(Half) => None,
            _ => return None,
        };
        Some(TermsWish::Rest(name.clone(), self.all_days(), left))
    }

    /// "The rest of it on Thursday and Friday".
    fn parts(&self) -> Option<TermsWish> {
        use TermWord::{Day, Left, Put, Split};
        let ([name], true) = (self.names.as_slice(), self.bare_but_numbers()) else {
            return None;
        };
        let days = self.all_days();
        let says = self.says(&[Split], &[Left, Put, Day]);
        (says && days.len() == 2).then(|| TermsWish::Parts(name.clone(), days))
    }

    /// "It took three hours", "花了三个小时才做完".
    fn took(&self) -> Option<TermsWish> {
        use TermWord::{Done, Only, Put, Took};
        let ([name], [minutes]) = (self.names.as_slice(), self.lengths.as_slice()) else {
            return None;
        };
        let says = self.says(&[Took], &[Done, Only, Put]) && self.numbers.is_empty();
        says.then(|| TermsWish::Took(name.clone(), *minutes, self.has(Done)))
    }

    /// "It takes three hours"; "it does not take three hours, one is enough".
    fn length(&self) -> Option<TermsWish> {
        use TermWord::{Each, Enough, InsteadOf, Must, Put, Takes, TakesNot};
        let free = self.days.is_empty() && self.clocks.is_empty() && self.numbers.is_empty();
        let minutes = match self.lengths.as_slice() {
            _ if !free => return None,
            [minutes] if self.says(&[Takes], &[Must, Each]) => *minutes,
            [minutes] if self.says(&[Must], &[Each]) => *minutes,
            [minutes] if self.words.is_empty() => *minutes,
            [minutes] if self.says(&[Enough], &[]) => *minutes,
            [minutes, _] if self.says(&[InsteadOf], &[Takes, Must, Each, Put]) => *minutes,
            [_, minutes] if self.says(&[TakesNot, Enough], &[]) => *minutes,
            _ => return None,
        };
        Some(self.edit(TermsEdit {
            minutes: Some(minutes),
            ..TermsEdit::default()
        }))
    }

    /// "It runs till nine tonight".
    fn until(&self) -> Option<TermsWish> {
        use TermWord::{By, Evening, Runs};
        let ([name], [clock]) = (self.names.as_slice(), self.clocks.as_slice()) else {
            return None;
        };
        if !self.says(&[Runs, By], &[Evening]) || !self.lengths.is_empty() {
            return None;
        }
        let end = self.clock(*clock)?;
        Some(TermsWish::Until(name.clone(), self.all_days(), end))
    }

    /// "In one piece", "it may be split".
    fn split(&self) -> Option<TermsWish> {
        use TermWord::{Done, Each, Fine, Must, Never, Not, OnePiece, Put, Split, TakesNot};
        if !self.bare() || !self.days.is_empty() {
            return None;
        }
        let denies = [Not, Never, TakesNot].iter().any(|word| self.has(*word));
        let also = [Not, Never, TakesNot, Must, Fine, Each, Put, Done];
        let split = if self.says(&[Split], &also) {
            !denies
        } else if self.says(&[OnePiece], &also) {
            denies
        } else {
            return None;
        };
        Some(self.edit(TermsEdit {
            split: Some(split),
            ..TermsEdit::default()
        }))
    }

    /// "Two days later", of a last date.
    fn later(&self) -> Option<TermsWish> {
        use TermWord::{Day, Deadline, Done, Due, Fine, Later, Week};
        let ([name], [number]) = (self.names.as_slice(), self.numbers.as_slice()) else {
            return None;
        };
        let ends = [Due, Done, Deadline].iter().any(|word| self.has(*word));
        let unit = if self.has(Week) { 7 } else { 1 };
        let says = self.says(&[Later], &[Day, Week, Due, Done, Deadline, Fine]);
        let free = self.days.is_empty() && self.clocks.is_empty() && self.lengths.is_empty();
        (says && free && ends && (self.has(Day) || self.has(Week)))
            .then(|| TermsWish::Later(name.clone(), number * unit))
    }

    fn is_due(&self) -> bool {
        use TermWord::{By, Deadline, Done, Due, Evening, Morning, Must, Noon, Takes};
        let also = [By, Must, Takes, Done, Deadline, Morning, Noon, Evening];
        let must = self.has(Must) || self.facts.lang == Lang::Zh;
        self.says(&[Due], &also) || must && self.says(&[Done, By], &[Must, Takes])
    }

    /// "It must be done by Friday", "it has no deadline any more".
    fn due(&self) -> Option<TermsWish> {
        use TermWord::{Deadline, Due, Not, Put};
        let [name] = self.names.as_slice() else {
            return None;
        };
        let free = self.lengths.is_empty() && self.numbers.is_empty();
        let none = self.says(&[Deadline, Not], &[Put])
            || self.says(&[Due, Not], &[]) && self.has_once(Due);
        if none && self.bare() {
            return Some(TermsWish::Due(name.clone(), None));
        }
        if !free || !self.is_due() || !self.clocks.is_empty() && !self.has(Due) {
            return None;
        }
        let days = self.one_day()?;
        Some(TermsWish::Due(name.clone(), Some(days)))
    }

    /// "Not before Wednesday".
    fn earliest(&self) -> Option<TermsWish> {
        use TermWord::{By, Each, Must, Never, Not, NotBefore, Put, Start};
        let says = self.says(&[NotBefore], &[Start, Put, Must])
            || self.says(&[By], &[Not, Never, Start, Put, Each])
                && (self.has(Not) || self.has(Never));
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
        if !self.bare()
            || !self.days.is_empty()
            || !self.says(&[Important], &[Not])
            || !self.has_once(Important)
        {
            return None;
        }
        let low = self.has(Not);
        Some(self.edit(TermsEdit {
            priority: Some(if low { Level::Low } else { Level::High }),
            ..TermsEdit::default()
        }))
    }

    /// "Do not touch the Thursday slot of it".
    fn stay(&self) -> Option<TermsWish> {
        let ([name], true) = (self.names.as_slice(), self.bare()) else {
            return None;
        };
        let days = self.all_days();
        let says = self.denies(TermWord::Touch) && !days.is_empty();
        says.then(|| TermsWish::Stay(name.clone(), days))
    }

    /// "Never on Tuesday evenings"; a certain Tuesday is no term, and what the person does not do on it
    /// goes elsewhere.
    fn closed(&self) -> Option<TermsWish> {
        use TermWord::{Afternoon, Each, Evening, Morning, Must, Never, Not, Put};
        let also = [Put, Each, Not, Never, Morning, Afternoon, Evening, Must];
        // What does not have to be there may be.
        let needs_not = self.words.windows(2).any(|pair| pair == [Not, Must]);
        let denies = (self.has(Not) || self.has(Never)) && !needs_not;
        if !self.bare() || !denies || !self.says(&[], &also) {
            return None;
        }
        // 不放周五放周六 denies one of them.
        let count = |words: &[TermWord]| self.words.iter().filter(|it| words.contains(it)).count();
        if count(&[Put]) > count(&[Not, Never]) {
            return None;
        }
        let (zh, part) = (self.facts.lang == Lang::Zh, self.part());
        // In Chinese a day without "this" or "next" to which nothing is put is any of its name; one
        // on which the person does not do something is the next.
        let Some(days) = self.habitual(zh && self.has(Put) && !self.is_own) else {
            let (days, once) = (self.all_days(), !self.has(Each) && !self.has(Never));
            let goes = self.is_own && once && !days.is_empty();
            return goes.then(|| TermsWish::Away(self.names.clone(), days, part));
        };
        if days.is_empty() && part.is_none() {
            return None;
        }
        let part = match part {
            Some(Part::Morning) => "morning",
            Some(Part::Afternoon) => "afternoon",
            Some(_) => "evening",
            None => "",
        };
        let on = days.iter().map(|day| weekday(Lang::En, *day));
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

    /// "Only on Wednesday at four", "固定在周六九点到十一点".
    fn fixed(&self) -> Option<TermsWish> {
        use TermWord::{Afternoon, Evening, Morning, Must, Only, Put};
        if !self.lengths.is_empty()
            || !self.says(&[Only], &[Put, Must, Morning, Afternoon, Evening])
        {
            return None;
        }
        let (begin, minutes) = match (self.clocks.as_slice(), self.ranges.as_slice()) {
            ([clock], []) => (self.clock(*clock)?, None),
            ([], [range]) => {
                let (begin, end) = self.range(*range)?;
                let minutes = begin.duration_until(end).as_mins();
                (begin, u16::try_from(minutes).ok())
            }
            _ => return None,
        };
        let time = begin.strftime("%H:%M");
        let day = if self.days.is_empty() {
            String::new()
        } else {
            let day = self.one_day()?.first().copied()?;
            self.facts.schedule.day(day)?.date.clone()
        };
        Some(self.edit(TermsEdit {
            at: Some(format!("{day} {time}").trim().to_owned()),
            minutes,
            ..TermsEdit::default()
        }))
    }

    fn edit(&self, edit: TermsEdit) -> TermsWish {
        TermsWish::Terms(self.names.clone(), edit)
    }
}
