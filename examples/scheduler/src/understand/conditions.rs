//! Wishes under a condition that the calendar answers: "if Saturday is free, move it there, otherwise
//! to Sunday". Every other condition is left to the rules that refuse it.
use fugato::words::after_word;

use super::{
    Facts, Understanding,
    lex::{Kind, Noun, Query, Relation, Token, Verb, tokens},
    plan::is_ahead,
    understand,
    when::When,
    wish::clauses_of,
    words::Words,
};

const IFS: [&str; 5] = ["if", "only if", "如果", "要是", "假如"];
const OTHERWISE: [&str; 7] = [
    "otherwise",
    "or else",
    "if not",
    "要不然",
    "否则",
    "不然",
    "不行就",
];
/// The words for the time of the condition, each with what leads to a time in its place.
const THERE: [(&str, &str); 8] = [
    ("to there", "to "),
    ("there", "to "),
    ("then", "on "),
    ("到那天", "到"),
    ("那个时候", ""),
    ("那时候", ""),
    ("那天", ""),
    ("那时", ""),
];

/// A time that is free or not.
struct Condition {
    when: When,
    /// The time as it was typed.
    said: String,
    /// True if it is to be free.
    is_free: bool,
}

/// Reads a wish under such a condition; none for other texts.
pub(super) fn read(text: &str, facts: &Facts<'_>) -> Option<Understanding> {
    let text = text.trim();
    // Lower case by ASCII keeps the positions of bytes.
    let lower = text.to_ascii_lowercase();
    let behind = after_word(&lower, &IFS)?;
    let behind = text.get(text.len() - behind.len()..)?;
    let (condition, wish) = behind
        .split_once([',', '，'])
        .or_else(|| behind.split_once('就'))?;
    let condition = Condition::of(condition, facts)?;
    let (yes, no) = parted(wish);
    let there = taken(&condition.when, facts);
    let holds = there.is_empty() == condition.is_free;
    let told = told(&condition.said, &there, facts);
    let chosen = match (holds, no) {
        (true, _) => with_time(yes, &condition.said),
        (false, Some(no)) => match time_of(no, facts) {
            Some(time) => with_time(yes, &time),
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
        other => other,
    })
}

impl Condition {
    /// Reads "Saturday is free" and 周六没空; none for anything else.
    fn of(text: &str, facts: &Facts<'_>) -> Option<Self> {
        let said = tokens(text, facts);
        let is_free = |token: &Token| {
            matches!(
                token.kind,
                Kind::Query(Query::Free) | Kind::Verb(Verb::Free) | Kind::Noun(Noun::Off)
            )
        };
        let is_busy = |token: &Token| token.kind == Kind::Verb(Verb::Busy);
        let denies = |token: &Token| token.kind == Kind::Relation(Relation::Not);
        let leads =
            |token: &Token| matches!(token.kind, Kind::Filler | Kind::Relation(Relation::On));
        let (times, others): (Vec<Token>, Vec<Token>) =
            said.into_iter().partition(|token| token.kind.is_time());
        let known =
            |token: &Token| is_free(token) || is_busy(token) || denies(token) || leads(token);
        let states = others
            .iter()
            .filter(|token| is_free(token) || is_busy(token));
        if times.is_empty() || !others.iter().all(known) || states.count() != 1 {
            return None;
        }
        let free = others.iter().any(is_free);
        let denied = others.iter().filter(|token| denies(token)).count() % 2 == 1;
        let mut clauses = clauses_of(&times, facts).into_iter();
        let (when, _) = clauses.next()?.whens.into_iter().next()?;
        when.days.as_ref().filter(|days| !days.is_empty())?;
        Some(Self {
            when,
            said: joined(&times),
            is_free: free != denied,
        })
    }
}

/// Returns the text of tokens as it was typed.
fn joined(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        if text.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            text.push(' ');
        }
        text.push_str(&token.raw);
    }
    text
}

/// Separates a wish from what is wanted otherwise.
fn parted(wish: &str) -> (&str, Option<&str>) {
    let ends = |c: char| c.is_whitespace() || ",，;；.。".contains(c);
    let lower = wish.to_ascii_lowercase();
    let at = OTHERWISE
        .iter()
        .find_map(|word| Some((lower.find(word)?, word.len())));
    let Some((at, length)) = at else {
        return (plain(wish), None);
    };
    let no = wish
        .get(at + length..)
        .unwrap_or_default()
        .trim_matches(ends);
    let yes = wish.get(..at).unwrap_or_default().trim_matches(ends);
    (plain(yes), Some(no))
}

/// Returns a wish without the word that leads to it.
fn plain(wish: &str) -> &str {
    let wish = wish.trim();
    let lead = ["then ", "就", "请"]
        .iter()
        .find_map(|lead| wish.strip_prefix(lead));
    lead.unwrap_or(wish).trim()
}

/// Returns a wish with a time in the place of "there".
fn with_time(wish: &str, time: &str) -> String {
    let lower = wish.to_ascii_lowercase();
    let found = THERE.iter().find_map(|(word, lead)| {
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
