//! Words whose meaning the words around them decide.
use fugato::words::DayReference;
use jiff::civil::Date;

use super::{Kind, Noun, Part, Pointer, Query, Relation, Token, Verb};
use crate::understand::{
    Facts,
    names::Ref,
    topic::{day_spoken_of, pointed_to},
};

/// Gives words the meaning that they have among the others.
pub(super) fn read(tokens: &mut Vec<Token>, facts: &Facts<'_>) {
    too(tokens);
    works(tokens);
    hesitations(tokens);
    with_days_of_things(tokens, facts);
    with_what_is_pointed_to(tokens, facts);
    with_days_ahead(tokens);
}

/// Takes "I have to work on Saturday" for being busy then; "I have to work on the essay" is no such.
fn works(tokens: &mut [Token]) {
    const LEADS: [&str; 6] = ["have", "got", "has", "得", "必须", "要"];
    let names = |token: &Token| matches!(token.kind, Kind::Name(_));
    if tokens.iter().any(names) || !tokens.iter().any(|token| token.kind.is_time()) {
        return;
    }
    let is_lead = |token: &Token| LEADS.contains(&token.text.as_str());
    for at in 1..tokens.len() {
        let (before, behind) = tokens.split_at_mut(at);
        let Some(work) = behind.first_mut() else {
            continue;
        };
        if !["work", "工作", "上班"].contains(&work.text.as_str()) {
            continue;
        }
        let lead = match before {
            [.., lead, to] if to.text == "to" && is_lead(lead) => {
                to.kind = Kind::Filler;
                lead
            }
            [.., lead] if !lead.text.is_ascii() && is_lead(lead) || lead.text == "must" => lead,
            _ => continue,
        };
        (lead.kind, work.kind) = (Kind::Filler, Kind::Verb(Verb::Busy));
    }
}

/// Takes 等等 for a wait where it begins a text; behind a name it stands for others, which nobody knows.
fn hesitations(tokens: &mut [Token]) {
    let manners = |token: &Token| matches!(token.kind, Kind::Filler | Kind::Stop(_) | Kind::Pause);
    let begin = tokens.iter().take_while(|token| manners(token)).count();
    for token in tokens.iter_mut().skip(begin).filter(|it| it.text == "等等") {
        token.kind = Kind::Unknown;
    }
}

/// Takes "the day of the exam" and 考试那天 for the next day on which that lies.
fn with_days_of_things(tokens: &mut Vec<Token>, facts: &Facts<'_>) {
    let mut at = 0;
    while at < tokens.len() {
        let found = tokens.get(at..).and_then(|rest| {
            let texts: Vec<&str> = rest.iter().take(5).map(|it| it.text.as_str()).collect();
            let (name, count) = match texts.as_slice() {
                ["day", "of", "the" | "my", ..] => (rest.get(3)?, 4),
                ["day", "of", ..] => (rest.get(2)?, 3),
                [_, "的", "那天" | "当天", ..] => (rest.first()?, 3),
                [_, "那天" | "当天", ..] => (rest.first()?, 2),
                _ => return None,
            };
            let Kind::Name(named) = &name.kind else {
                return None;
            };
            Some((day_of(named, facts)?, name.raw.clone(), count))
        });
        if let Some((day, raw, count)) = found {
            let token = Token {
                kind: Kind::Days(day, false),
                text: raw.clone(),
                raw,
            };
            tokens.splice(at..at + count, [token]);
        }
        at += 1;
    }
}

/// Puts what was spoken of before in the place of "that day" and "the other one". A day of the same text
/// needs no other word, and "why is it on that day?" means its own. What nobody spoke of is not understood.
fn with_what_is_pointed_to(tokens: &mut [Token], facts: &Facts<'_>) {
    for at in 0..tokens.len() {
        let (before, behind) = tokens.split_at_mut(at);
        let Some(token) = behind.first_mut() else {
            continue;
        };
        // "Put it there", and not "is there a place to put it".
        let puts = |it: &Token| matches!(it.kind, Kind::Verb(Verb::Place | Verb::Move));
        let pointer = match token.kind {
            Kind::Pointer(pointer) => pointer,
            _ if token.text == "there" && before.iter().any(puts) => Pointer::Day,
            _ => continue,
        };
        let says_which =
            |token: &Token| matches!(token.kind, Kind::Days(..) | Kind::Query(Query::Why));
        token.kind = match pointer {
            Pointer::Day if before.iter().any(says_which) => Kind::Filler,
            Pointer::Day => {
                day_spoken_of(facts).map_or(Kind::Unknown, |day| Kind::Days(day, false))
            }
            items => pointed_to(items, facts).map_or(Kind::Unknown, Kind::Name),
        };
    }
}

/// Takes "in 3 days" and 3天后 for the day that is so far ahead.
fn with_days_ahead(tokens: &mut Vec<Token>) {
    let ahead = |number: &Token, unit: &Token| {
        let Kind::Number(number) = number.kind else {
            return None;
        };
        let days = match unit.kind {
            Kind::Noun(Noun::Day) => number,
            Kind::Noun(Noun::Weeks) => number.checked_mul(7)?,
            _ => return None,
        };
        i32::try_from(days).ok()
    };
    let mut at = 0;
    while at + 2 < tokens.len() {
        let days = match tokens.get(at..at + 3) {
            Some([lead, number, unit]) if lead.text == "in" => ahead(number, unit),
            Some([number, unit, after])
                if after.kind == Kind::Relation(Relation::After) && !after.text.is_ascii() =>
            {
                ahead(number, unit)
            }
            _ => None,
        };
        if let Some(days) = days {
            let said: Vec<String> = tokens.drain(at..at + 3).map(|token| token.raw).collect();
            let text = said.join(if said.concat().is_ascii() { " " } else { "" });
            let token = Token {
                kind: Kind::Days(DayReference::FromToday(days), false),
                raw: text.clone(),
                text,
            };
            tokens.insert(at, token);
        }
        at += 1;
    }
}

/// Returns the next day on which the only thing lies that a name means.
fn day_of(name: &Ref, facts: &Facts<'_>) -> Option<DayReference> {
    let is_one = name.is_course() || name.items.len() == 1 && name.classes.is_empty();
    let things = name.items.iter().chain(&name.courses).filter(|_| is_one);
    let tasks = things.filter_map(|id| facts.schedule.task(*id));
    let days = tasks.flat_map(|task| task.slots.iter().map(|slot| slot.day));
    let next = days.filter(|day| i32::from(*day) >= facts.today).min()?;
    let date: Date = facts.schedule.day(next)?.date.parse().ok()?;
    Some(DayReference::Date(Some(date.month()), date.day()))
}

/// Takes "too early" for later and "too late" for earlier, unless another word says where to; "not too
/// early" names a part of the day.
fn too(tokens: &mut [Token]) {
    const TOO: [(&[&str], Verb, Part); 2] = [
        (
            &["太早", "太早了", "too early", "too soon"],
            Verb::Later,
            Part::Morning,
        ),
        (
            &["太晚", "太晚了", "too late"],
            Verb::Earlier,
            Part::Evening,
        ),
    ];
    let of = |token: &Token| {
        let mut too = TOO.iter();
        too.find(|(words, ..)| words.contains(&token.text.as_str()))
    };
    let goes = |token: &Token| {
        let moves = matches!(
            token.kind,
            Kind::Verb(Verb::Later | Verb::Earlier | Verb::Move | Verb::Swap)
        );
        of(token).is_none() && moves
    };
    let told = tokens.iter().any(goes);
    let mut denied = false;
    for token in tokens {
        denied |= token.kind == Kind::Relation(Relation::Not);
        if let Some((_, verb, part)) = of(token) {
            token.kind = match (denied, told) {
                (true, _) => Kind::Part(*part),
                (false, true) => Kind::Filler,
                (false, false) => Kind::Verb(*verb),
            };
        }
    }
}
