//! Corpora of requests: what people type, what must come of it, and what must never.
use std::{collections::BTreeMap, fmt::Write as _};

use fugato_state::Lang;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{language::foreign, share};

/// A corpus of requests. `X` has the fields that only cases of this agent have.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct Corpus<X> {
    /// Words by which an answer says that it cannot, does not know or did not find.
    pub refusals: Vec<String>,
    /// The cases.
    #[serde(rename = "case")]
    pub cases: Vec<CorpusCase<X>>,
}

/// One conversation, and what must come of it. Texts are compared without regard to case, and to
/// commas and thin spaces between two digits.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct CorpusCase<X> {
    /// The id, which ends in the language, `en` or `zh`: nothing of another one is read, but for
    /// what was typed and for [data](CaseOutcome::data).
    pub id: String,
    /// The words, one after the other, and buttons such as `@yes`.
    pub turns: Vec<String>,
    /// The tool that waits at the end; empty for none.
    pub card: Option<String>,
    /// Arguments of the waiting card: numbers by value, and texts that they hold.
    #[serde(default)]
    pub has: Map<String, Value>,
    /// Arguments that the waiting card does not have.
    #[serde(default)]
    pub hasnt: Map<String, Value>,
    /// Arguments of the waiting card that are just this, but for a line end.
    #[serde(default)]
    pub is: Map<String, Value>,
    /// Texts that are read after the last turn.
    #[serde(default)]
    pub says: Vec<String>,
    /// Lists of which one text each is read after the last turn.
    #[serde(default)]
    pub says_any: Vec<Vec<String>>,
    /// Texts that are read in no turn.
    #[serde(default)]
    pub never: Vec<String>,
    /// True if the last answer must be one of the refusals.
    #[serde(default)]
    pub honest: bool,
    /// True if a refusal is as good as everything that may be excused.
    #[serde(default)]
    pub or_honest: bool,
    /// The fields of this agent.
    #[serde(flatten)]
    pub own: X,
}

/// The outcome of a case, as a person sees it and as it is stored.
#[derive(Debug, Clone, Default)]
pub struct CaseOutcome {
    /// The last answer of the agent.
    pub reply: String,
    /// The last answer and the card that waits, as they are read.
    pub last: String,
    /// Everything that was read, in all turns.
    pub read: String,
    /// Texts that may be read in any language, such as those of files.
    pub data: String,
    /// The tool of the waiting card, and its arguments.
    pub card: Option<(String, Value)>,
    /// Faults found by the agent's own checks, which an honest refusal excuses.
    pub excusable: Vec<String>,
    /// Faults found by the agent's own checks, such as of what is stored.
    pub faults: Vec<String>,
}

impl<X> Corpus<X> {
    /// Runs the [share](share()) of the cases that is tried, and asserts that those which fail are
    /// exactly the known ones: their ids, separated by white space. `run` returns none for a case
    /// that is passed over. What part of them is right is shown with `-- --nocapture`.
    ///
    /// # Panics
    /// If others fail, or one of the known holds.
    pub async fn assert_understood(
        &self,
        known: &str,
        run: impl AsyncFn(&CorpusCase<X>) -> Option<CaseOutcome>,
    ) {
        let (mut failed, mut all) = (BTreeMap::new(), 0);
        let mut passed_over = vec![];
        for (place, case) in self.cases.iter().enumerate() {
            let outcome = match place % share() {
                0 => run(case).await,
                _ => None,
            };
            let Some(outcome) = outcome else {
                passed_over.push(case.id.as_str());
                continue;
            };
            all += 1;
            let faults = case.faults(&self.refusals, &outcome);
            if !faults.is_empty() {
                failed.insert(case.id.as_str(), (faults, outcome.last));
            }
        }
        let mut report = format!("{} of {all} are right\n", all - failed.len());
        for (id, (faults, last)) in &failed {
            let faults = faults.join("\n  ");
            // Writing into a string cannot fail.
            let _ = writeln!(report, "{id}:\n  {faults}\n  it said {last:?}");
        }
        show(&report);
        let known = known.split_whitespace();
        let known: Vec<&str> = known.filter(|id| !passed_over.contains(id)).collect();
        let new = failed.keys().filter(|id| !known.contains(*id));
        let new: Vec<_> = new.collect();
        let mended = known.iter().filter(|id| !failed.contains_key(**id));
        let mended: Vec<_> = mended.collect();
        assert!(
            new.is_empty() && mended.is_empty(),
            "fail and are not listed: {new:?}\nare listed and hold: {mended:?}\n{report}"
        );
    }
}

#[expect(clippy::print_stderr, reason = "the share is what one runs this for")]
fn show(report: &str) {
    eprintln!("{report}");
}

impl<X> CorpusCase<X> {
    /// Returns what is wrong with an outcome.
    pub fn faults(&self, refusals: &[String], outcome: &CaseOutcome) -> Vec<String> {
        let (reply, last) = (plain(&outcome.reply), plain(&outcome.last));
        let holds = |text: &str, part: &String| text.contains(&plain(part));
        let is_honest = refusals.iter().any(|refusal| holds(&reply, refusal));
        let mut faults = outcome.faults.clone();
        if self.honest && !is_honest {
            faults.push("the answer is no honest refusal".to_owned());
        }
        let read = plain(&outcome.read);
        let told = self.never.iter().filter(|never| holds(&read, never));
        faults.extend(told.map(|never| format!("it says {never:?}")));
        faults.extend(self.foreign(outcome));
        if self.or_honest && is_honest {
            return faults;
        }
        faults.extend(outcome.excusable.iter().cloned());
        self.card_faults(outcome.card.as_ref(), &mut faults);
        let unsaid = self.says.iter().filter(|says| !holds(&last, says));
        faults.extend(unsaid.map(|says| format!("nothing says {says:?}")));
        let any = |any: &&Vec<String>| !any.iter().any(|says| holds(&last, says));
        let unsaid = self.says_any.iter().filter(any);
        faults.extend(unsaid.map(|any| format!("nothing says any of {any:?}")));
        faults
    }

    /// Returns a fault if something is read that is not in the language of the case.
    fn foreign(&self, outcome: &CaseOutcome) -> Option<String> {
        let (_, name) = self.id.rsplit_once('-')?;
        let lang: Lang = name.parse().ok()?;
        let given = format!("{}\n{}", self.turns.join("\n"), outcome.data);
        let found = foreign(lang, &outcome.read, &given)?;
        Some(format!("it says {found:?}, which is not in {lang}"))
    }

    fn card_faults(&self, card: Option<&(String, Value)>, faults: &mut Vec<String>) {
        let none = (String::new(), Value::Null);
        let (name, arguments) = card.unwrap_or(&none);
        if let Some(card) = self.card.as_ref().filter(|card| *card != name) {
            faults.push(format!("the card is {name:?} and not {card:?}"));
        }
        let at = |key: &str| arguments.get(key).unwrap_or(&Value::Null);
        let found = |(key, value): &(&String, &Value)| has(at(key), value);
        let just = |(key, value): &(&String, &Value)| {
            text(at(key)).trim_end_matches('\n') == text(value).trim_end_matches('\n')
        };
        let differs = |(key, value): (&String, &Value)| format!("{key} is {}, {value}", at(key));
        let lacking = self.has.iter().filter(|one| !found(one));
        let other = self.is.iter().filter(|one| !just(one));
        let there = self.hasnt.iter().filter(found);
        faults.extend(lacking.chain(other).chain(there).map(differs));
    }
}

/// Returns true if an argument holds what is wanted.
fn has(found: &Value, wanted: &Value) -> bool {
    let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok());
    match (wanted.as_f64(), number(found)) {
        (Some(wanted), Some(found)) => (wanted - found).abs() < 1e-9,
        (Some(_), None) => false,
        (None, _) => plain(&text(found)).contains(&plain(&text(wanted))),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns a text in lower case, without the separators within numbers.
fn plain(text: &str) -> String {
    let lower: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let digit = |at: Option<usize>| {
        let c = at.and_then(|at| lower.get(at));
        c.is_some_and(char::is_ascii_digit)
    };
    let separates = |at: usize, c: char| {
        let is_separator = matches!(c, ',' | '\u{2009}' | '\u{202f}');
        is_separator && digit(at.checked_sub(1)) && digit(at.checked_add(1))
    };
    let kept = lower.iter().enumerate();
    let kept = kept.filter(|(at, c)| !separates(*at, **c));
    kept.map(|(_, c)| *c).collect()
}
