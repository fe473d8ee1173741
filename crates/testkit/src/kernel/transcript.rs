//! The words of a transcript, which are the same on every store and in every run.
use std::collections::BTreeMap;

use fugato_graph::{Look, Preview, RunErrorKind};
use fugato_state::{Interrupt, InterruptId};
use fugato_store::{Commit, Record, Status};
use fugato_stream::{Event, EventKind};
use serde_json::{Map, Value};

use super::{
    fixture::{Calls, Page, whole},
    recording::entry,
};

/// The width of a line that several appends share.
const WIDTH: usize = 100;

/// The ids of questions. One that is bound to what it shows differs from run to run, and is written
/// as a letter after its task's part.
#[derive(Default)]
pub(super) struct Ids {
    bound: Vec<(InterruptId, String)>,
    digests: BTreeMap<InterruptId, String>,
}

impl Ids {
    pub(super) fn name_question(&mut self, asked: &Interrupt) {
        let id = asked.id.as_str();
        if let Some(digest) = &asked.question.digest {
            self.digests.insert(asked.id.clone(), digest.clone());
        }
        let (task, number) = id.rsplit_once('~').unwrap_or((id, ""));
        let plain = number.chars().all(|char| char.is_ascii_digit());
        if plain || self.bound.iter().any(|(known, _)| *known == asked.id) {
            return;
        }
        let letter = char::from(b'A' + u8::try_from(self.bound.len() % 26).unwrap_or(0));
        self.bound
            .push((asked.id.clone(), format!("{task}~{letter}")));
    }

    /// Returns the id that a script means.
    pub(super) fn whole(&self, written: &str) -> InterruptId {
        let mut bound = self.bound.iter();
        let found = bound.find(|(_, short)| short == written);
        found.map_or_else(|| written.into(), |(id, _)| id.clone())
    }

    /// Returns the digest of what a question shows.
    pub(super) fn digest(&self, id: &InterruptId) -> String {
        self.digests.get(id).cloned().unwrap_or_default()
    }

    /// Replaces what differs from run to run: bound ids, times of the store, and digests by their
    /// number in this text.
    pub(super) fn stable(&self, text: &str) -> String {
        let mut digests: Vec<&str> = vec![];
        let mut text = text.to_owned();
        for (id, short) in &self.bound {
            text = text.replace(id.as_str(), short);
        }
        let mut stable = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some(begin) = rest.find(|char: char| char.is_ascii_alphanumeric()) {
            let (before, from) = rest.split_at(begin);
            if let Some((_, after)) = from
                .split_at_checked(TIME.len())
                .filter(|(it, _)| is_time(it))
            {
                stable.push_str(before);
                stable.push_str("<time>");
                rest = after;
                continue;
            }
            let end = from.find(|char: char| !char.is_ascii_alphanumeric());
            let (word, after) = from.split_at(end.unwrap_or(from.len()));
            let number = word.chars().all(|char| char.is_ascii_digit());
            let hex = word.chars().all(|char| char.is_ascii_hexdigit());
            stable.push_str(before);
            let kind = match word.len() {
                13 if number => "<time>".to_owned(),
                16.. if hex => {
                    let known = digests.iter().position(|known| *known == word);
                    let number = known.unwrap_or(digests.len());
                    if known.is_none() {
                        digests.push(word);
                    }
                    format!("<digest {}>", number + 1)
                }
                _ => word.to_owned(),
            };
            stable.push_str(&kind);
            rest = after;
        }
        stable + rest
    }
}

/// The shape of a time in an error.
const TIME: &str = "0000-00-00T00:00:00.000Z";

fn is_time(text: &str) -> bool {
    let fits = |(char, shape): (u8, u8)| match shape {
        b'0' => char.is_ascii_digit(),
        _ => char == shape,
    };
    text.bytes().zip(TIME.bytes()).all(fits)
}

/// Returns a look as one line: its head, the lines of the state, and the tasks that have finished
/// before their step.
pub(super) fn look(look: &Look<Page>) -> String {
    let lines = look.state.lines.join(" | ");
    let mut line = format!("= at {} {lines}", look.head);
    for (task, updates) in &look.finished {
        line.extend(["; finished ", task, " ", &updates.to_string()]);
    }
    line
}

/// Returns a preview as one line: the head that it saw, the result of opening, and what that looks
/// at.
pub(super) fn preview(preview: Option<&Preview>) -> String {
    let Some(preview) = preview else {
        return "= no such thread".into();
    };
    let result = match &preview.error {
        None if preview.migrated.is_empty() => "goes on".into(),
        None => format!("migrates {}", preview.migrated.join(", ")),
        Some(error) => match &error.kind {
            RunErrorKind::GraphChanged { gone } => format!("refused without {}", gone.join(", ")),
            _ => format!("unreadable: {}", whole(error)),
        },
    };
    let mut line = format!("= at {} {result}", preview.head);
    let ids = |ids: &[InterruptId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let open: Vec<_> = preview
        .interrupts
        .iter()
        .map(|asked| asked.id.clone())
        .collect();
    for (what, which) in [
        ("open", ids(&open)),
        ("asked anew", ids(&preview.asked_anew)),
        ("with another schema", ids(&preview.changed)),
        ("in doubt", preview.in_doubt.clone()),
    ] {
        if !which.is_empty() {
            line.extend(["; ", what, " ", &which.join(", ")]);
        }
    }
    line
}

/// Returns a question as one line.
pub(super) fn question(asked: &Interrupt) -> String {
    let question = &asked.question;
    let key = match question.key.as_str() {
        "answer" => String::new(),
        key => format!(" {key}:"),
    };
    let mut text = format!(
        "{}{key} {} {}",
        asked.id,
        prompt(&question.prompt),
        schema(&Value::from(question.schema.clone()))
    );
    if question.digest.is_some() {
        text += ", to approve";
    }
    if question.expires_at.is_some() {
        text += ", expires";
    }
    text
}

/// Returns a prompt without the fields that differ from run to run, or say nothing.
fn prompt(prompt: &Value) -> Value {
    let mut prompt = prompt.clone();
    if let Some(fields) = prompt.as_object_mut() {
        fields.retain(|name, value| name != "not_after" && !value.is_null());
    }
    prompt
}

/// Returns a schema in short: its format or type, or its fields.
fn schema(schema: &Value) -> String {
    let text = |name| schema.get(name).and_then(Value::as_str).map(str::to_owned);
    if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &String| {
            required.is_some_and(|required| required.contains(&Value::from(name.as_str())))
        };
        let fields = fields.keys();
        let fields = fields.map(|name| {
            let mark = if is_required(name) { "" } else { "?" };
            format!("{name}{mark}")
        });
        return format!("{{{}}}", fields.collect::<Vec<_>>().join(", "));
    }
    if let Some(types) = schema.get("type").and_then(Value::as_array) {
        let types = types.iter().filter_map(Value::as_str);
        return types.collect::<Vec<_>>().join("|");
    }
    let short = text("format")
        .or_else(|| text("type"))
        .or_else(|| text("title"));
    short.unwrap_or_else(|| schema.to_string())
}

/// Returns the names of an error's variants, such as `Answer(Unknown`.
pub(super) fn kind(kind: &RunErrorKind) -> String {
    let text = format!("{kind:?}");
    let end = text.find(|char: char| !char.is_ascii_alphanumeric() && char != '(');
    let name = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    name.trim_end_matches('(').replace('(', " ")
}

/// Returns what a page has gained, or the whole page if it is no continuation.
pub(super) fn gained(before: &Page, now: &Page) -> Vec<String> {
    let mut parts = match now.lines.strip_prefix(before.lines.as_slice()) {
        Some([]) => vec![],
        Some(new) => vec![format!("+ {}", new.join(" | "))],
        None => vec![format!("the lines are {}", now.lines.join(" | "))],
    };
    if now.count != before.count {
        parts.push(format!("count {}", now.count));
    }
    if now.route != before.route {
        parts.push(format!("route {}", now.route));
    }
    parts
}

/// Returns the notes that were made meanwhile. An idempotency key is written without its thread
/// and incarnation.
pub(super) fn notes(what: &str, notes: &Calls) -> String {
    let notes = notes.take();
    let action = |note: &String| match note.split_once('/') {
        Some((thread, action)) if thread.contains('@') => action.to_owned(),
        None if note.is_empty() => "unkeyed".into(),
        _ => note.clone(),
    };
    let notes: Vec<_> = notes.iter().map(action).collect();
    match notes.as_slice() {
        [] => String::new(),
        notes => format!("{what} {}", notes.join(" ")),
    }
}

/// The way in which appends are written down.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Appends {
    /// Each in its brackets.
    Each,
    /// All in braces, with the records sorted that tasks of one step may write in any order.
    InAnyOrder,
    /// Each in its brackets, as JSON.
    Json,
    /// Not at all.
    Hidden,
}

/// Returns appends, several on a line where there is room.
pub(super) fn appends(commits: &[Commit], how: Appends) -> String {
    let status = |commit: &Commit| match commit.status {
        Status::Runnable => String::new(),
        Status::Waiting { expires: None } => " waiting".into(),
        Status::Waiting { .. } => " waiting for a time".into(),
        Status::Sleeping { .. } => " sleeping".into(),
        Status::Idle => " idle".into(),
    };
    let text = |record: &Record| fact(record).unwrap_or_else(|| "unreadable".into());
    let mut lines = vec![];
    if how == Appends::Each {
        for commit in commits {
            let facts: Vec<_> = commit.records.iter().map(text).collect();
            add(&mut lines, ['[', ']'], &facts, &status(commit));
        }
    } else if let Some(last) = commits.last() {
        let records = commits.iter().flat_map(|commit| &commit.records);
        let facts = settled(records.map(text));
        add(&mut lines, ['{', '}'], &facts, &status(last));
    }
    lines.join("\n")
}

/// Sorts the records that tasks of one step may write in any order.
fn settled(records: impl Iterator<Item = String>) -> Vec<String> {
    const FREE: [&str; 7] = [
        "finished", "failed", "asked", "intended", "receipt", "undone", "spent",
    ];
    let (mut facts, mut sorted) = (vec![], 0);
    for record in records {
        let name = record.split(' ').next().unwrap_or_default();
        let is_free = FREE.contains(&name) || name.contains('@');
        facts.push(record);
        if !is_free {
            let last = facts.len() - 1;
            let step = facts.get_mut(sorted..last).into_iter();
            step.for_each(<[String]>::sort);
            sorted = facts.len();
        }
    }
    let rest = facts.get_mut(sorted..).into_iter();
    rest.for_each(<[String]>::sort);
    facts
}

/// Adds an append to the last line if there is room, and else in lines of its own.
fn add(lines: &mut Vec<String>, [open, close]: [char; 2], facts: &[String], status: &str) {
    let whole = format!("{open}{}{close}{status}", facts.join(", "));
    match lines.last_mut() {
        Some(line) if line.len() + whole.len() < WIDTH => {
            line.push(' ');
            line.push_str(&whole);
            return;
        }
        _ => {}
    }
    let mut line = open.to_string();
    for (n, fact) in facts.iter().enumerate() {
        if n > 0 && line.len() + fact.len() > WIDTH {
            lines.push(std::mem::replace(&mut line, " ".into()));
        } else if n > 0 {
            line.push(' ');
        }
        line.push_str(fact);
        line.push_str(if n + 1 < facts.len() { "," } else { "" });
    }
    lines.push(format!("{line}{close}{status}"));
}

/// Returns an event as one line: its position, its origin and its kind.
pub(super) fn event(event: &Event) -> String {
    let seq = event.seq.map_or("-".to_owned(), |seq| seq.to_string());
    let origin = event.origin.as_ref().map(|origin| {
        let scope = match &*origin.scope {
            "" => String::new(),
            scope => format!("{scope}/"),
        };
        format!(
            " {scope}{}#{} try {}",
            origin.node, origin.visit, origin.attempt
        )
    });
    let kind = match &event.kind {
        EventKind::RunStarted { resumed } => format!("started, resumed {resumed}"),
        EventKind::RunFailed { .. } => "failed".into(),
        EventKind::RunFinished { .. } => "finished".into(),
        EventKind::RunParked { .. } => "parked".into(),
        EventKind::NodeFinished => "done".into(),
        EventKind::InterruptRaised(interrupt) => format!("asks {}", interrupt.id),
        EventKind::InterruptAnswered { id, .. } => format!("answered {id}"),
        EventKind::Card { card, .. } => format!("card {card}"),
        EventKind::TextDelta { text, .. } => format!("text {text:?}"),
        other => format!("{other:?}"),
    };
    let run = match event.run.0 {
        1 => String::new(),
        run => format!(" of run {run}"),
    };
    format!("{seq}{} {kind}{run}", origin.unwrap_or_default())
}

/// Returns the number of tasks that failed for good: the run fails with the first of them.
pub(super) fn failures(commits: &[Commit]) -> usize {
    let records = commits.iter().flat_map(|commit| &commit.records);
    let facts = records.filter_map(fact);
    let failed = facts.filter(|fact| fact.starts_with("failed ") && !fact.ends_with("again later"));
    failed.count()
}

/// Returns a record in short: its name, `@` its scope, its task, and its contents.
fn fact(record: &Record) -> Option<String> {
    let (fact, scope) = entry(record).ok()?;
    let (name, fields) = fact.as_object()?.iter().next()?;
    let empty = Map::new();
    let fields = fields.as_object().unwrap_or(&empty);
    let mut words = vec![match &*scope {
        "" => name.clone(),
        scope => format!("{name}@{scope}"),
    }];
    let first = ["task", "id", "key", "tasks"];
    let order = first.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields
        .iter()
        .filter(|(name, _)| !first.contains(&name.as_str()));
    for (part, value) in order.chain(others) {
        match (&**name, part.as_str()) {
            // An id begins with its task, and the result of the run tells its error.
            ("asked", "task") | ("run_failed", "error") => {}
            ("failed", "error") => {
                let error = plain(value);
                let task = fields.get("task").map(plain).unwrap_or_default();
                let short = error.strip_prefix(&format!("task {task} failed: "));
                words.push(format!("({})", short.unwrap_or(&error)));
            }
            _ => field(part, value, &mut words),
        }
    }
    Some(words.join(" "))
}

/// Returns a value as text; a string without its quotes.
fn plain(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Adds the words of a field, without what differs from run to run.
fn field(name: &str, value: &Value, words: &mut Vec<String>) {
    match name {
        "under" | "birth" | "digest" | "version" | "run" | "not_after" => {}
        "attempt" if value == 1 => {}
        "attempt" => words.push(format!("try {value}")),
        "task" | "id" => words.push(plain(value)),
        "key" => words.push(plain(value.get("key").unwrap_or(value))),
        "tasks" => words.extend(list(value).iter().map(|task| match list(task) {
            [task, attempt] => format!("{} try {attempt}", plain(task)),
            _ => task.to_string(),
        })),
        "retry_at" => words.push("again later".into()),
        "state" => {
            let lines = list(value.get("lines").unwrap_or(&Value::Null));
            let lines: Vec<_> = lines.iter().map(plain).collect();
            words.extend((!lines.is_empty()).then(|| format!("of {}", lines.join("+"))));
        }
        "by" if value.is_object() => {
            let key = value.pointer("/key/key").map(plain);
            let caller = value.get("caller").map(plain);
            let caller = caller.filter(|caller| !caller.is_empty());
            words.extend(caller.map(|caller| format!("by {caller}")));
            words.extend(key.map(|key| format!("as {key}")));
        }
        "by" => words.push(format!("by {}", plain(value))),
        "why" => words.push(format!("because {}", plain(value))),
        "dropped" => {
            let mut dropped: Vec<_> = list(value).iter().map(plain).collect();
            dropped.sort();
            words.push(format!("dropped {}", dropped.join(" ")));
        }
        _ => parts(name, value, words),
    }
}

/// Adds the words of a field of several parts: updates, tasks, routes, questions or answers.
fn parts(name: &str, value: &Value, words: &mut Vec<String>) {
    match name {
        "updates" => words.extend(list(value).iter().map(|update| match update.get("line") {
            Some(line) => format!("+{}", plain(line)),
            None => update.to_string(),
        })),
        "next" => {
            words.push("->".into());
            words.extend(list(value).iter().map(|next| {
                let task = next.get("task").map(plain).unwrap_or_default();
                let items = next.get("items").map(Value::to_string);
                task + &items.unwrap_or_default()
            }));
        }
        "routes" => {
            for (name, value) in value.as_object().into_iter().flatten() {
                parts(name, value, words);
            }
        }
        "arrived" => words.extend(list(value).iter().map(|pair| {
            let pair: Vec<_> = list(pair).iter().map(plain).collect();
            pair.join("<")
        })),
        "joined" => {
            words.extend(
                list(value)
                    .iter()
                    .map(|join| format!("joined {}", plain(join))),
            );
        }
        "questions" => {
            let ids = list(value).iter().filter_map(|asked| asked.get("id"));
            words.extend(ids.map(plain));
        }
        "answers" => words.extend(list(value).iter().map(|pair| match list(pair) {
            [id, answer] => format!("{}={answer}", plain(id)),
            _ => pair.to_string(),
        })),
        _ => words.push(format!("{name}={value}")),
    }
}
