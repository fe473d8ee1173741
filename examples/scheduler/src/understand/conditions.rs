//! Wishes under a condition that the calendar answers: "if Saturday is free, move it there, otherwise
//! to Sunday". Every other condition is left to the rules that refuse it.
use fugato::words::after_word;

use super::{
    Facts, Understanding,
    lex::{Kind, LISTS, Noun, Query, Relation, Token, Verb, tokens},
    plan::is_ahead,
    understand,
    when::When,
    wish::clauses_of,
    words::Words,
};

/// A time that is free or not.
struct Condition {
    when: When,
    /// The time as it was typed.
    said: String,
    /// True if it is to be free.
    is_free: bool,
}

/// The parts of a wish under a condition.
struct Conditional<'t> {
    condition: &'t str,
    /// True if the wish holds where the condition does not: "unless Sunday is busy".
    is_denied: bool,
    wish: &'t str,
    otherwise: Option<&'t str>,
}

/// Reads a wish under such a condition; none for other texts.
pub(super) fn read(text: &str, facts: &Facts<'_>) -> Option<Understanding> {
    let mut said = conditionals(text.trim()).into_iter();
    let (condition, said) = said.find_map(|it| Some((Condition::of(&it, facts)?, it)))?;
    let there = taken(&condition.when, facts);
    let holds = there.is_empty() == condition.is_free;
    let told = told(&condition.said, &there, facts);
    let chosen = match (holds, said.otherwise) {
        (true, _) => with_time(said.wish, &condition.said),
        (false, Some(no)) => match time_of(no, facts) {
            Some(time) => with_time(said.wish, &time),
            None => no.to_owned(),
        },
        (false, None) => {
            return Some(Understanding::Refusal(facts.lang.pick(
                format!("{told} Nothing was changed."),
                format!("{told}没有改动任何内容。"),
            )));
        }
    };
    Some(match understand(&chosen, facts) {
        Understanding::Calls { say, calls } => Understanding::Calls {
            say: format!("{told}\n{say}").trim_end().to_owned(),
            calls,
        },
        Understanding::Refusal(why) => Understanding::Refusal(format!("{told} {why}")),
        Understanding::Answer(answer) => Understanding::Answer(format!("{told} {answer}")),
        other => other,
    })
}

/// Returns the ways in which a text may have a condition.
fn conditionals(text: &str) -> Vec<Conditional<'_>> {
    // Lower case by ASCII keeps the positions of bytes.
    let lower = text.to_ascii_lowercase();
    let kinds = [
        (&LISTS.conditions.ifs, false),
        (&LISTS.conditions.unless, true),
    ];
    // "If Sunday is free, move it there".
    let led = kinds.into_iter().filter_map(|(words, is_denied)| {
        let behind = after_word(&lower, words)?;
        let behind = text.get(text.len() - behind.len()..)?;
        let parts = behind.split_once([',', '，']);
        let parts = parts.or_else(|| behind.split_once('就'))?;
        Some(Conditional::of(parts, is_denied))
    });
    // 周日有空的话，就挪过去, 周日有空就挪过去.
    let bare = text.split_once("的话").or_else(|| text.split_once('就'));
    let bare = bare.map(|parts| Conditional::of(parts, false));
    // "Move it to Sunday if Sunday is free, otherwise to Monday".
    let last = kinds.into_iter().flat_map(|(words, is_denied)| {
        let found = words.iter().filter_map(|word| {
            let at = lower.find(&format!(" {word} "))?;
            let behind = text.get(at + word.len() + 2..)?;
            let end = behind.find(',').unwrap_or(behind.len());
            let (condition, no) = behind.split_at_checked(end)?;
            let (more, otherwise) = parted(no);
            let wish = text.get(..at)?.trim_end_matches(ENDS);
            let wish = wish.strip_suffix(" but").unwrap_or(wish);
            more.trim_matches(ENDS).is_empty().then_some(Conditional {
                condition,
                is_denied,
                wish: wish.trim_end_matches(ENDS),
                otherwise,
            })
        });
        found.collect::<Vec<_>>()
    });
    led.chain(bare).chain(last).collect()
}

impl<'t> Conditional<'t> {
    fn of((condition, wish): (&'t str, &'t str), is_denied: bool) -> Self {
        let (wish, otherwise) = parted(plain(wish));
        Self {
            condition: condition.strip_suffix("的话").unwrap_or(condition),
            is_denied,
            wish,
            otherwise,
        }
    }
}

impl Condition {
    /// Reads "Saturday is free" and 周六没空; none for anything else. "Then" is the time of the wish.
    fn of(read: &Conditional<'_>, facts: &Facts<'_>) -> Option<Self> {
        let said = tokens(read.condition, facts);
        let is_free = |token: &Token| {
            let free = matches!(
                token.kind,
                Kind::Query(Query::Free) | Kind::Verb(Verb::Free) | Kind::Noun(Noun::Off)
            );
            free || LISTS.conditions.free.contains(&token.text)
        };
        let is_busy = |token: &Token| {
            let something = matches!(
                token.kind,
                Kind::Query(Query::What) | Kind::Noun(Noun::Item)
            );
            token.kind == Kind::Verb(Verb::Busy) || something
        };
        let denies = |token: &Token| token.kind == Kind::Relation(Relation::Not);
        let leads = |token: &Token| {
            let leads = Kind::Relation(Relation::Then) == token.kind
                || matches!(
                    token.kind,
                    Kind::Filler | Kind::Relation(Relation::On) | Kind::Noun(Noun::All)
                );
            leads && !is_free(token)
        };
        let (mut times, others): (Vec<Token>, Vec<Token>) =
            said.into_iter().partition(|token| token.kind.is_time());
        let then = |token: &Token| token.kind == Kind::Relation(Relation::Then);
        if times.is_empty() && others.iter().any(then) {
            times = tokens(read.wish, facts);
            times.retain(|token| token.kind.is_time());
        }
        let known =
            |token: &Token| is_free(token) || is_busy(token) || denies(token) || leads(token);
        let states = others
            .iter()
            .filter(|token| is_free(token) || is_busy(token));
        let denials = others.iter().filter(|token| denies(token)).count();
        // "Nothing is there on Sunday" names no state but the denial.
        let states = states.count();
        let is_told = states == 1 || states == 0 && denials == 1;
        if times.is_empty() || !others.iter().all(known) || !is_told {
            return None;
        }
        let free = others.iter().any(is_free);
        let mut clauses = clauses_of(&times, facts).into_iter();
        let (when, _) = clauses.next()?.whens.into_iter().next()?;
        when.days.as_ref().filter(|days| !days.is_empty())?;
        Some(Self {
            when,
            said: joined(&times),
            is_free: (free != (denials % 2 == 1)) != read.is_denied,
        })
    }
}

/// Returns the text of tokens as it was typed.
pub(super) fn joined(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        if text.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            text.push(' ');
        }
        text.push_str(&token.raw);
    }
    text
}

/// The signs around the parts of a text.
const ENDS: [char; 9] = [' ', '\t', ',', '，', ';', '；', '.', '。', '\n'];

/// Separates a wish from what is wanted otherwise.
fn parted(wish: &str) -> (&str, Option<&str>) {
    let lower = wish.to_ascii_lowercase();
    let mut words = LISTS.conditions.otherwise.iter();
    let at = words.find_map(|word| Some((lower.find(word)?, word.len())));
    let Some((at, length)) = at else {
        return (wish, None);
    };
    let (yes, no) = (wish.get(..at), wish.get(at + length..));
    let [yes, no] = [yes, no].map(|part| part.unwrap_or_default().trim_matches(ENDS));
    (yes, Some(no))
}

/// Returns a wish without the words that lead to it.
fn plain(wish: &str) -> &str {
    let wish = wish.trim_matches(ENDS);
    let mut leads = LISTS.conditions.leads.iter();
    match leads.find_map(|lead| wish.strip_prefix(lead.as_str())) {
        Some(rest) => plain(rest),
        None => wish,
    }
}

/// Returns a wish with a time in the place of "there".
fn with_time(wish: &str, time: &str) -> String {
    let lower = wish.to_ascii_lowercase();
    let found = LISTS.conditions.there.iter().find_map(|(word, lead)| {
        let at = lower.find(word)?;
        let is_word = |c: Option<char>| !c.is_some_and(|c| c.is_ascii_alphanumeric());
        let (before, behind) = (lower.get(..at)?, lower.get(at + word.len()..)?);
        let whole = is_word(before.chars().next_back()) && is_word(behind.chars().next());
        whole.then_some((at, word.len(), lead))
    });
    let Some((at, length, lead)) = found else {
        return wish.to_owned();
    };
    let (before, behind) = (wish.get(..at), wish.get(at + length..));
    let (before, behind) = (before.unwrap_or_default(), behind.unwrap_or_default());
    format!("{before}{lead}{time}{behind}")
}

/// Returns the time of what is wanted otherwise, if it says nothing but where the same thing goes.
fn time_of(no: &str, facts: &Facts<'_>) -> Option<String> {
    let said = tokens(no, facts);
    let goes = |token: &Token| {
        token.kind.is_time()
            || matches!(
                token.kind,
                Kind::Filler
                    | Kind::Stop(false)
                    | Kind::Noun(Noun::It)
                    | Kind::Relation(Relation::To | Relation::On)
                    | Kind::Verb(Verb::Move | Verb::Place)
            )
    };
    let times: Vec<Token> = said
        .iter()
        .filter(|it| it.kind.is_time())
        .cloned()
        .collect();
    (said.iter().all(goes) && !times.is_empty()).then(|| joined(&times))
}

/// Returns the names of what lies in some days and times.
fn taken(when: &When, facts: &Facts<'_>) -> String {
    let there = facts.schedule.tasks.iter().filter(|task| {
        let mut slots = task.slots.iter();
        slots.any(|slot| when.meets(slot) && is_ahead(slot, facts))
    });
    Words::of(facts).names(there.map(|task| task.state_id))
}

fn told(time: &str, there: &str, facts: &Facts<'_>) -> String {
    if there.is_empty() {
        return facts.lang.pick(
            format!("{time}: nothing lies there."),
            format!("{time}没有安排。"),
        );
    }
    facts.lang.pick(
        format!("{time}: {there} lies there."),
        format!("{time}有{there}。"),
    )
}
