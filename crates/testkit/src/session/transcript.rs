//! The text of a conversation, which is the same in every run.
use fugato_state::Interrupt;
use fugato_stream::{CardText, Event, EventKind};
use serde_json::Value;

use super::{Turn, TurnEnd};

/// The longest line of an event of the agent's own.
const LONGEST: usize = 100;

/// The lines of a conversation.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    lines: Vec<String>,
    /// The cards so far, whose ids and codes differ from run to run.
    cards: Vec<Interrupt>,
}

impl Transcript {
    pub(super) fn push(&mut self, mark: &str, text: &str) {
        let text = self.stable(text.trim_end());
        let pad = " ".repeat(mark.chars().count() + 1);
        let text = text.replace('\n', &format!("\n{pad}"));
        self.lines.push(format!("{mark} {text}"));
    }

    /// Adds to the last line if it is an event that begins with this, or else a line.
    fn extend(&mut self, begins: &str, more: &str, otherwise: &str) {
        let more = self.stable(more.trim_end());
        match self.lines.last_mut() {
            Some(last) if last.trim_start().starts_with(begins) => *last += &more,
            _ => self.push(" ", otherwise),
        }
    }

    /// Gives cards a number, by which their ids and codes are replaced.
    pub(super) fn number(&mut self, cards: &[Interrupt]) {
        for card in cards {
            if self.cards.iter().all(|known| known.id != card.id) {
                self.cards.push(card.clone());
            }
        }
    }

    /// Adds the lines of a turn, with these of its events.
    pub(super) fn turn<'e, S>(&mut self, turn: &Turn<S>, events: impl Iterator<Item = &'e Event>) {
        let asked = turn.map(|kind| match kind {
            EventKind::InterruptRaised(card) => Some(card.clone()),
            _ => None,
        });
        self.number(&asked);
        for event in events {
            match &event.kind {
                EventKind::Custom { name, data } => {
                    self.push(" ", &format!("{name} {}", clipped(&timeless(data))));
                }
                EventKind::Status { code, .. } => {
                    self.extend("status ", &format!(", {code}"), &format!("status {code}"));
                }
                EventKind::ToolStarted { name, preview, .. } => {
                    self.push(" ", &format!("tool {name}: {preview}"));
                }
                EventKind::ToolFinished {
                    name,
                    status,
                    summary,
                    ..
                } => {
                    let status = serde_json::to_value(status).unwrap_or_default();
                    let told = format!("{}: {summary}", status.as_str().unwrap_or_default());
                    let (more, alone) = (format!(" → {told}"), format!("tool {name} {told}"));
                    self.extend(&format!("tool {name}:"), &more, &alone);
                }
                EventKind::Card { card, data } => {
                    self.push(" ", &format!("card {card} {}", clipped(&timeless(data))));
                }
                EventKind::Correction { message } => {
                    self.push(" ", &format!("correction {message}"));
                }
                EventKind::NodeFailed { error, .. } => self.push(" ", &format!("failed {error}")),
                EventKind::InterruptRaised(card) => self.push("?", &question(card)),
                _ => {}
            }
        }
        match &turn.end {
            TurnEnd::Run(Err(_)) => self.push("!", &turn.error()),
            TurnEnd::Killed => self.push("!", "the process died"),
            TurnEnd::Told(_) | TurnEnd::Run(Ok(_)) => {
                let answer = turn.answer();
                if !answer.is_empty() {
                    self.push("=", &answer);
                }
            }
        }
    }

    pub(super) fn text(&self) -> String {
        let lines = self.lines.iter();
        lines
            .map(|line| line.trim_end().to_owned() + "\n")
            .collect()
    }

    /// Replaces the ids and codes of cards by their number, and what looks like an id or a time by
    /// a word.
    fn stable(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (n, card) in self.cards.iter().enumerate() {
            text = text.replace(card.id.as_str(), &format!("<card {}>", n + 1));
            if card.question.digest.is_some() {
                text = text.replace(&card.id.code(), &format!("<code {}>", n + 1));
            }
        }
        let mut stable = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some(begin) = rest.find(|char: char| char.is_ascii_hexdigit()) {
            let (before, from) = rest.split_at(begin);
            let end = from.find(|char: char| !char.is_ascii_alphanumeric());
            let (word, after) = from.split_at(end.unwrap_or(from.len()));
            let is_part = before.ends_with(|char: char| char.is_ascii_alphanumeric());
            stable.push_str(before);
            stable.push_str(if is_part { word } else { replaced(word) });
            rest = after;
        }
        stable + rest
    }
}

/// Returns a word that is the same in every run: milliseconds since the epoch and long hexadecimal
/// numbers are not.
fn replaced(word: &str) -> &str {
    let is_number = word.chars().all(|char| char.is_ascii_digit());
    let is_hex = word.chars().all(|char| char.is_ascii_hexdigit());
    match word.len() {
        13 if is_number => "<time>",
        16.. if is_hex && !is_number => "<id>",
        _ => word,
    }
}

/// Returns a card as one line for each part: the heading, everything that is asked about, and the
/// choices.
fn question(card: &Interrupt) -> String {
    let text = CardText::of(card);
    let schema = Value::from(card.question.schema.clone());
    let is_yes_or_no = schema.get("type").and_then(Value::as_str) == Some("boolean");
    let choices = match schema.get("enum").and_then(Value::as_array) {
        Some(choices) => choices.iter().map(plain).collect(),
        None if is_yes_or_no => vec!["yes".to_owned(), "no".to_owned()],
        None => vec![],
    };
    let choices = Some(choices).filter(|choices| !choices.is_empty());
    let parts = [
        text.heading(),
        text.body(),
        choices.map_or(String::new(), |choices| choices.join(" / ")),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// Returns a value as text; a string without its quotes.
pub(super) fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns JSON as text, without the durations of model calls, which differ from run to run.
fn timeless(value: &Value) -> String {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.remove("took");
                object.values_mut().for_each(strip);
            }
            Value::Array(parts) => parts.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = value.clone();
    strip(&mut value);
    value.to_string()
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}
