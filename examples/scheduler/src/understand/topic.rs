//! The items and wishes that were spoken of before, for words that point to them.
use std::collections::BTreeSet;

use fugato::{
    state::{Message, Role, say},
    words::{DayReference, Phrases, ShortAnswer, after_word, corrected},
};

use super::{
    Facts,
    conditions::joined,
    lex::{Kind, LISTS, Noun, Pointer, Query, Relation, Token, Verb, tokens},
    names::Ref,
    travel::is_undo,
    wish::{Clause, Role as Part, clauses_of},
};

/// The earlier messages in which a name is looked for.
const MOST_MESSAGES: usize = 6;

/// Returns the last wish as words change it: "yes, but on Sunday", "I meant Sunday", "not Friday, Sunday",
/// "not that one, the essay"; none for other words.
pub(super) fn amended(text: &str, facts: &Facts<'_>) -> Option<String> {
    amends(text, facts.earlier, facts)
}

fn amends(text: &str, earlier: &[Message], facts: &Facts<'_>) -> Option<String> {
    let phrases = Phrases::default();
    let mut buts = LISTS.wishes.buts.iter().filter_map(|but| {
        let (yes, change) = text.split_once(but.as_str())?;
        let yes = yes.trim_end_matches(|c: char| !c.is_alphanumeric());
        (phrases.consent(yes) == Some(true)).then_some(change.trim())
    });
    let agrees = buts.next();
    let lower = text.trim().to_ascii_lowercase();
    let (change, denied) = match agrees {
        Some(change) => (change, None),
        None => change(text.trim(), &lower)?,
    };
    let at = earlier.iter().rposition(|said| said.role == Role::User)?;
    let last = earlier.get(at)?.content.trim();
    // What was corrected before is corrected once more.
    let before = earlier.get(..at).unwrap_or_default();
    let before = before.get(before.len().saturating_sub(MOST_MESSAGES)..);
    let last = amends(last, before.unwrap_or_default(), facts).unwrap_or_else(|| last.to_owned());
    let last = last.trim_end_matches(|c: char| ".!?。！？".contains(c));
    if !denied.is_none_or(|denied| denies_part(denied, last, facts)) {
        return None;
    }
    if let Some(wish) = put_in(last, change, facts) {
        return Some(wish);
    }
    let of_last = format!("{last}{}{change}", say!(", no, ", "，不，"));
    let wish = corrected(&of_last).ok()?;
    (wish != of_last).then(|| wish.into_owned())
}

/// Returns the last wish with these times, or this name, in the place of its own; none if words say
/// anything else. A time of the day alone leaves the day as it was.
fn put_in(last: &str, change: &str, facts: &Facts<'_>) -> Option<String> {
    let bare = Facts {
        earlier: &[],
        ..*facts
    };
    let mut said = tokens(change, &bare);
    said.retain(|token| !leads(token));
    let was = tokens(last, &bare);
    let is_name = |token: &&Token| matches!(token.kind, Kind::Name(_));
    let is_time = |token: &&Token| token.kind.is_time();
    if let [name] = said.as_slice()
        && is_name(&name)
    {
        let mut names = was.iter().filter(is_name);
        let name_before = names.next().filter(|_| names.next().is_none())?;
        return Some(last.replacen(&name_before.raw, &name.raw, 1));
    }
    if said.is_empty() || !said.iter().all(|token| token.kind.is_time()) {
        return None;
    }
    let end = was.iter().rposition(|token| token.kind.is_time())? + 1;
    let run = was.get(..end)?.iter().rev().take_while(is_time).count();
    let run = was.get(end - run..end)?;
    let old = joined(run);
    let is_day = |token: &Token| matches!(token.kind, Kind::Days(..));
    if !said.iter().any(is_day) {
        let days = run.iter().filter(|token| is_day(token)).cloned();
        said.splice(0..0, days);
    }
    // "If Tuesday is free, move it to Tuesday": the condition is about the same day.
    let again = was.windows(run.len()).filter(|tokens| {
        let kinds = |tokens: &[Token]| tokens.iter().map(|it| it.kind.clone()).collect::<Vec<_>>();
        kinds(tokens) == kinds(run)
    });
    if again.count() == last.matches(&old).count() {
        return Some(last.replace(&old, &joined(&said)));
    }
    let start = last.rfind(old.as_str());
    let start = start.or_else(|| last.rfind(&run.first()?.raw))?;
    let (before, rest) = last.split_at_checked(start)?;
    let until = run
        .last()
        .and_then(|time| Some(rest.find(&time.raw)? + time.raw.len()))?;
    Some(format!("{before}{}{}", joined(&said), rest.get(until..)?))
}

/// Returns what is wanted in place of what is taken back: "forget it, move the essay to Friday", 不对，改回去.
pub(super) fn after_withdrawal(text: &str) -> &str {
    let meant = change(text, &text.to_ascii_lowercase());
    if let Some((meant, None)) = meant.filter(|(meant, _)| is_undo(meant)) {
        return meant;
    }
    let behind = text
        .split_once([',', '，'])
        .map(|(_, behind)| behind.trim());
    let behind = behind.filter(|_| ShortAnswer::leading(text) == Some(ShortAnswer::Cancel));
    let Some(behind) = behind.filter(|behind| !behind.is_empty()) else {
        return text;
    };
    let meant = change(behind, &behind.to_ascii_lowercase());
    meant.map_or(behind, |(meant, _)| meant)
}

/// Returns what was meant, behind the words that say so, and what was not meant, if that is said.
fn change<'t>(text: &'t str, lower: &str) -> Option<(&'t str, Option<&'t str>)> {
    let pause = [',', '，'];
    let rest = |behind: &str| text.get(text.len() - behind.len()..).unwrap_or_default();
    if let Some(behind) = after_word(lower, &LISTS.wishes.not_that)
        && let Some((denied, meant)) = rest(behind).split_once(pause)
        && !denied.trim().is_empty()
    {
        return Some((meant.trim(), Some(denied.trim())));
    }
    let denies =
        |text| after_word(text, &LISTS.wishes.denies).filter(|rest| rest.starts_with(pause));
    let ends = |c: char| c.is_whitespace() || pause.contains(&c);
    let mut behind = lower;
    while let Some(more) = after_word(behind, &LISTS.wishes.amends).or_else(|| denies(behind)) {
        behind = more.trim_start_matches(ends);
    }
    (behind.len() < lower.len()).then(|| (rest(behind), None))
}

/// Returns true for a word that only leads to what was meant.
fn leads(token: &Token) -> bool {
    let relations = [Relation::On, Relation::To, Relation::Of, Relation::But];
    let relation = matches!(token.kind, Kind::Relation(known) if relations.contains(&known));
    let puts = matches!(token.kind, Kind::Verb(Verb::Place | Verb::Move));
    let it = matches!(token.kind, Kind::Noun(Noun::It) | Kind::Stop(false));
    token.kind == Kind::Filler || relation || puts || it
}

/// Returns true if words name nothing but a part of the last wish, or point to it.
fn denies_part(denied: &str, last: &str, facts: &Facts<'_>) -> bool {
    let bare = Facts {
        earlier: &[],
        ..*facts
    };
    let known = tokens(last, &bare);
    let is_of_last = |token: &Token| {
        let said = token.kind.is_time() || matches!(token.kind, Kind::Name(_));
        leads(token) || said && known.iter().any(|it| it.kind == token.kind)
    };
    tokens(denied, &bare).iter().all(is_of_last)
}

/// Lets the "it" of wishes be what was spoken of last. An "it" that is not said is what the same text
/// names before: 昨天的报告没做，放到明天.
pub(super) fn with_topic(mut wishes: Vec<Clause>, facts: &Facts<'_>) -> Vec<Clause> {
    if wishes.iter().any(|wish| !wish.names.is_empty()) {
        for at in 1..wishes.len() {
            let (before, behind) = wishes.split_at_mut(at);
            if let (Some([named]), Some(wish)) = (
                before.last().map(|it| it.names.as_slice()),
                behind.first_mut(),
            ) && implies_it(wish, &[Verb::Move, Verb::Place])
            {
                wish.names.push((named.0.clone(), Part::At));
            }
        }
        return wishes;
    }
    for wish in wishes.iter_mut().filter(|wish| wants_it(wish)) {
        point(wish, facts);
    }
    wishes
}

/// Lets the "it" of a question be what was spoken of last, and a bare "why?" be about that.
pub(super) fn asked_topic(mut question: Clause, facts: &Facts<'_>) -> Clause {
    if asks_of_it(&question) {
        point(&mut question, facts);
    }
    question
}

/// Returns true if a wish wants something done with "it", and names nothing else.
fn wants_it(wish: &Clause) -> bool {
    const DONE_WITH_IT: [Verb; 9] = [
        Verb::Move,
        Verb::Place,
        Verb::Earlier,
        Verb::Later,
        Verb::Done,
        Verb::Undone,
        Verb::Delete,
        Verb::Cancel,
        Verb::Deadline,
    ];
    let others = [
        Noun::All,
        Noun::Pending,
        Noun::Item,
        Noun::Schedule,
        Noun::Note,
        Noun::Reminder,
    ];
    let acts = |(verb, _): &(Verb, bool)| DONE_WITH_IT.contains(verb);
    (wish.nouns.contains(&Noun::It) || implies_it(wish, &[Verb::Move]))
        && !wish.verbs.is_empty()
        && wish.verbs.iter().all(acts)
        && !others.iter().any(|noun| wish.nouns.contains(noun))
        && !wish.text.contains("it all")
}

/// Returns true if a wish says where something goes, and not what: 挪到周六 needs no 它.
fn implies_it(wish: &Clause, verbs: &[Verb]) -> bool {
    let goes = |(verb, not): &(Verb, bool)| !not && verbs.contains(verb);
    let to = wish.when(Part::To).is_some() && wish.whens.len() == 1 && !wish.text.is_ascii();
    let plain = wish.nouns.is_empty() && wish.names.is_empty() && wish.unknown.is_empty();
    to && plain && !wish.verbs.is_empty() && wish.verbs.iter().all(goes)
}

fn asks_of_it(question: &Clause) -> bool {
    let plain = question.names.is_empty() && question.quoted.is_empty();
    let mut nouns = question.nouns.iter();
    let points = nouns.all(|noun| matches!(noun, Noun::It | Noun::Place));
    let asks = |query: Query| question.queries.contains(&query);
    let about_it = [Query::When, Query::Where, Query::Length]
        .into_iter()
        .any(asks)
        || question.has(Verb::Done)
        || question.has(Verb::Deadline);
    let it = question.nouns.contains(&Noun::It) && about_it;
    plain && points && question.whens.is_empty() && (it || asks(Query::Why))
}

/// Puts what was spoken of last in the place of "it", if that is one thing.
fn point(clause: &mut Clause, facts: &Facts<'_>) {
    if !facts.on_card.is_empty() {
        let items = facts.on_card.iter().copied().collect();
        let all = Ref {
            items,
            exact: true,
            ..Ref::default()
        };
        clause.names.push((all, Part::At));
    } else if let [only] = spoken_of(facts).as_slice() {
        clause.names.push((only.clone(), Part::At));
    } else {
        return;
    }
    clause.nouns.remove(&Noun::It);
}

/// Returns what the last message of the person names that names anything.
fn spoken_of(facts: &Facts<'_>) -> Vec<Ref> {
    let said = facts.earlier.iter().rev();
    let said = said.filter(|said| said.role == Role::User);
    let mut named = said.take(MOST_MESSAGES).map(|said| named_in(said, facts));
    named.find(|named| !named.is_empty()).unwrap_or_default()
}

/// Returns the tokens of an earlier message, in which nothing points further back.
fn tokens_of(said: &Message, facts: &Facts<'_>) -> Vec<Token> {
    let facts = Facts {
        earlier: &[],
        ..*facts
    };
    tokens(&said.content, &facts)
}

/// Returns what a message names, but for courses.
fn named_in(said: &Message, facts: &Facts<'_>) -> Vec<Ref> {
    let mut named: Vec<Ref> = vec![];
    for clause in clauses_of(&tokens_of(said, facts), facts) {
        let names = clause.names.into_iter().map(|(name, _)| name);
        for name in names.filter(|name| !name.is_course()) {
            if !named.contains(&name) {
                named.push(name);
            }
        }
    }
    named
}

/// Returns the items that "both" and "the last one" can mean, of the last message that the person sent and
/// its answer; "the other one" may be one of those before, since the first was spoken of meanwhile.
pub(super) fn pointed_to(pointer: Pointer, facts: &Facts<'_>) -> Option<Ref> {
    let mut turns = if pointer == Pointer::Other { 2 } else { 1 };
    let said = facts.earlier.iter().rev().take_while(|said| {
        let is_near = turns > 0;
        turns -= usize::from(is_near && said.role == Role::User);
        is_near
    });
    let said: Vec<&Message> = said.filter(|said| is_spoken(said)).collect();
    // What the person named comes before what the answer to it named.
    let asked = said.iter().filter(|said| said.role == Role::User);
    let answered = said.iter().filter(|said| said.role != Role::User);
    let items = |said: &&Message| {
        let named = named_in(said, facts).into_iter();
        let items: Vec<u32> = named.filter_map(|name| name.only_item()).collect();
        (items.len() > 1).then_some(items)
    };
    let items = asked.chain(answered).find_map(items)?;
    let chosen: BTreeSet<u32> = match (pointer, items.as_slice()) {
        (Pointer::Both, [_, _]) => items.into_iter().collect(),
        (Pointer::Last, [.., last]) => BTreeSet::from([*last]),
        (Pointer::Other, [one, other]) => match spoken_of(facts).as_slice() {
            [said] if said.only_item() == Some(*one) => BTreeSet::from([*other]),
            [said] if said.only_item() == Some(*other) => BTreeSet::from([*one]),
            _ => return None,
        },
        _ => return None,
    };
    Some(Ref {
        items: chosen,
        exact: true,
        ..Ref::default()
    })
}

/// Returns the last day that the person named, or the only date of an answer since then.
pub(super) fn day_spoken_of(facts: &Facts<'_>) -> Option<DayReference> {
    let day = |said: &Message| {
        let days = tokens_of(said, facts).into_iter();
        let mut days = days.filter_map(|token| match token.kind {
            Kind::Days(day, _) => Some(day),
            _ => None,
        });
        if said.role == Role::User {
            return days.next_back();
        }
        let mut dates = days.filter(|day| matches!(day, DayReference::Date(..)));
        let first = dates.next()?;
        dates.all(|day| day == first).then_some(first)
    };
    recent(facts).find_map(day)
}

/// Returns the last messages of both sides, the last one first.
fn recent<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Message> {
    let said = facts.earlier.iter().rev();
    said.filter(|said| is_spoken(said)).take(2 * MOST_MESSAGES)
}

/// Returns true for the words of the person and of the agent.
fn is_spoken(said: &Message) -> bool {
    matches!(said.role, Role::User | Role::Assistant)
}
