//! The fields that come beside an answer to a card, in words or by a button: they are part of the answer,
//! or are refused by their names. Nothing of them may be lost, because the person believes that it was
//! read.
use fugato_state::{Interrupt, say};
use fugato_stream::{QuestionAnswer, ReplyForm};
use serde_json::{Map, Value};

use crate::BadInput;

/// The object of an answer that holds what came beside it.
const BESIDE: &str = "beside";
/// The language in which a client is answered. It comes with every message of a page, and decides
/// nothing.
const LANG: &str = "lang";
/// The most schemas within each other in which names are looked for.
const DEEPEST: usize = 8;

/// Returns true if fields came that say something.
pub(crate) fn brings_something(extra: &Map<String, Value>) -> bool {
    named(extra).next().is_some()
}

/// Refuses the fields of `content` that a card does not take beside an answer.
pub(crate) fn check(
    asked: &Interrupt,
    extra: &Map<String, Value>,
    content: &[&str],
) -> Result<(), BadInput> {
    AllowedFields::of(asked).check(extra, content)
}

/// Refuses the fields of `content` beside answers to several cards: nothing says to which they belong.
pub(crate) fn check_several(extra: &Map<String, Value>, content: &[&str]) -> Result<(), BadInput> {
    AllowedFields(Some(vec![])).check(extra, content)
}

/// Puts what came beside an answer into it, in the form that a button sends too. Refuses the fields of
/// `content` that the card does not take.
pub(crate) fn add(
    answered: &mut QuestionAnswer,
    asked: &Interrupt,
    extra: &Map<String, Value>,
    content: &[&str],
) -> Result<(), BadInput> {
    let fields = AllowedFields::of(asked);
    fields.check(extra, content)?;
    if !named(extra).any(|name| fields.takes(name)) {
        return Ok(());
    }
    let action = |name: &str, text: Option<&str>| {
        let text = text.map(|text| ("text".to_owned(), text.into()));
        let action = ("action".to_owned(), name.into());
        [action].into_iter().chain(text).collect()
    };
    let mut reply: Map<_, _> = match &answered.reply {
        ReplyForm::Value(Value::Object(given)) => given.clone(),
        ReplyForm::Value(Value::String(words)) => action("say", Some(words)),
        ReplyForm::Approve | ReplyForm::Value(Value::Bool(true)) => action("approve", None),
        // Without an answer, too, nobody agrees.
        _ => action("reject", answered.reason.as_deref()),
    };
    let taken = extra.iter().filter(|(name, _)| fields.takes(name));
    let mut beside: Map<_, _> = taken
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    // What the answer itself has stands.
    if let Some(Value::Object(own)) = reply.remove(BESIDE) {
        beside.extend(own);
    }
    reply.insert(BESIDE.to_owned(), beside.into());
    answered.reply = ReplyForm::Value(reply.into());
    Ok(())
}

/// The fields that a card takes beside an answer; none if it takes any.
struct AllowedFields<'s>(Option<Vec<&'s str>>);

impl<'s> AllowedFields<'s> {
    fn of(asked: &'s Interrupt) -> Self {
        let schema = asked.question.schema.as_value();
        let mut allowed = vec![];
        let Some(beside) = property(schema, schema, BESIDE, 0) else {
            return Self(Some(allowed));
        };
        names(schema, beside, &mut allowed, 0);
        // An object without names takes any.
        Self((!allowed.is_empty()).then_some(allowed))
    }

    fn takes(&self, name: &str) -> bool {
        self.0
            .as_ref()
            .is_none_or(|allowed| allowed.contains(&name))
    }

    fn check(&self, extra: &Map<String, Value>, content: &[&str]) -> Result<(), BadInput> {
        let is_lost = |name: &&String| content.contains(&name.as_str()) && !self.takes(name);
        let lost: Vec<_> = named(extra).filter(is_lost).map(quoted).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let and = say!(" and ", "和");
        let lost = listed(&lost, &and);
        let allowed: Vec<_> = self.0.iter().flatten().map(quoted).collect();
        let takes = match allowed.as_slice() {
            [] => say!("nothing", "没有别的"),
            allowed => listed(allowed, &and),
        };
        Err(BadInput::new(say!(
            "{lost} cannot come with an answer to this card: beside the answer it takes {takes}; \
             the card waits",
            "{lost} 不能随对这张卡片的回答一起发来：除了回答，它接受的有 {takes}；卡片还在等待"
        )))
    }
}

/// Returns the names of fields that say something about a card.
fn named(extra: &Map<String, Value>) -> impl Iterator<Item = &String> {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(all) => !all.is_empty(),
        Value::Object(all) => !all.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    let fields = extra.iter();
    let fields = fields.filter(move |(name, value)| *name != LANG && says(value));
    fields.map(|(name, _)| name)
}

/// Returns the schemas that hold for a value as well: the one that a reference names, and those among
/// which it may choose.
fn parts<'s>(root: &'s Value, schema: &'s Value) -> impl Iterator<Item = &'s Value> {
    let path = schema.get("$ref").and_then(Value::as_str);
    let inner = path.and_then(|path| root.pointer(path.strip_prefix('#')?));
    let lists = ["anyOf", "oneOf", "allOf"].map(|name| schema.get(name)?.as_array());
    inner
        .into_iter()
        .chain(lists.into_iter().flatten().flatten())
}

fn property<'s>(root: &'s Value, schema: &'s Value, name: &str, depth: usize) -> Option<&'s Value> {
    let own = schema.get("properties").and_then(|all| all.get(name));
    let within = || {
        let mut parts = parts(root, schema).filter(|_| depth < DEEPEST);
        parts.find_map(|part| property(root, part, name, depth + 1))
    };
    own.or_else(within)
}

fn names<'s>(root: &'s Value, schema: &'s Value, found: &mut Vec<&'s str>, depth: usize) {
    let own = schema.get("properties").and_then(Value::as_object);
    found.extend(own.into_iter().flat_map(Map::keys).map(String::as_str));
    for part in parts(root, schema).filter(|_| depth < DEEPEST) {
        names(root, part, found, depth + 1);
    }
}

fn quoted(name: impl AsRef<str>) -> String {
    format!("{:?}", name.as_ref())
}

fn listed(names: &[String], last: &str) -> String {
    match names {
        [before @ .., end] if !before.is_empty() => format!("{}{last}{end}", before.join(", ")),
        names => names.concat(),
    }
}
