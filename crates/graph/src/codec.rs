//! The stored form of a fact: one version byte, then JSON that a person can read.
//!
//! Version 2 adds the scope of a fact, effects, budgets and operators. Version 1 has none of them,
//! and is read as such.
use std::{borrow::Cow, sync::Arc};

use fugato_state::{Millis, RunId};
use fugato_store::Record;
use serde::{Deserialize, Serialize, Serializer};

use crate::{
    RunError, RunErrorKind,
    machine::{Fact, Names, NextTask, Routes, TaskPath},
};

/// The version that this program writes.
pub(crate) const VERSION: u8 = 2;

/// The size of a record without its updates, in bytes, if it has few routes and no notes.
const FRAME: usize = 160;

#[derive(Deserialize)]
pub(crate) struct Entry<'a> {
    pub(crate) at: Millis,
    pub(crate) run: RunId,
    /// The subgraph of the fact; empty for the graph itself.
    #[serde(borrow, default)]
    pub(crate) scope: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) fact: Fact<StoredPath<'a>>,
}

/// A path as text, in a record that is read.
#[derive(Deserialize)]
pub(crate) struct StoredPath<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// A path that is written as text.
struct PathText<'a>(TaskPath, &'a Names);

impl Serialize for PathText<'_> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        // Written in one piece: the serialiser searches each piece for characters to escape.
        serializer.serialize_str(&self.1.text(self.0))
    }
}

/// Writes a fact in place of an old record. `at` is the store's clock, for people; `updates` are those
/// of a done task, in their stored form, unless the fact has them.
///
/// The records of done tasks, which most are, are written by hand: the serialiser would write the
/// same, but it searches each name of a field for characters to escape.
pub(crate) fn encode(
    Record(body): &mut Record,
    (fact, updates): (&Fact<TaskPath>, Option<&[u8]>),
    (at, run): (Millis, RunId),
    scope: &str,
    names: &Names,
) -> Result<(), RunError> {
    let own = match fact {
        Fact::Stepped { updates, .. } | Fact::Finished { updates, .. } => updates.as_ref(),
        _ => None,
    };
    let updates = updates.or(own.map(|own| own.get().as_bytes()));
    body.clear();
    body.reserve(FRAME + updates.map_or(0, <[u8]>::len));
    body.push(VERSION);
    let mut number = itoa::Buffer::new();
    body.extend_from_slice(br#"{"at":"#);
    body.extend_from_slice(number.format(at).as_bytes());
    body.extend_from_slice(br#","run":"#);
    body.extend_from_slice(number.format(run.0).as_bytes());
    if !scope.is_empty() {
        write_field(body, br#","scope":"#, scope)?;
    }
    body.extend_from_slice(br#","fact":"#);
    match fact {
        Fact::Stepped { routes, .. } => {
            body.extend_from_slice(br#"{"stepped":"#);
            write_outcome(body, fact, updates, names)?;
            write_routes(body, routes, names)?;
            body.extend_from_slice(b"}}");
        }
        Fact::Finished { .. } => {
            body.extend_from_slice(br#"{"finished":"#);
            write_outcome(body, fact, updates, names)?;
            body.extend_from_slice(b"}}");
        }
        _ => {
            let text = &mut |path| Ok::<_, serde_json::Error>(PathText(path, names));
            let fact = fact.clone().map(text)?;
            serde_json::to_writer(&mut *body, &fact)?;
        }
    }
    body.push(b'}');
    Ok(())
}

/// Writes what a task that is done left, without the end of the object.
fn write_outcome(
    body: &mut Vec<u8>,
    fact: &Fact<TaskPath>,
    updates: Option<&[u8]>,
    names: &Names,
) -> serde_json::Result<()> {
    let (Fact::Stepped {
        task,
        attempt,
        notes,
        ..
    }
    | Fact::Finished {
        task,
        attempt,
        notes,
        ..
    }) = fact
    else {
        return Ok(());
    };
    body.extend_from_slice(br#"{"task":"#);
    write_path(body, *task, names)?;
    if *attempt != 1 {
        write_field(body, br#","attempt":"#, attempt)?;
    }
    if let Some(updates) = updates {
        body.extend_from_slice(br#","updates":"#);
        body.extend_from_slice(updates);
    }
    if !notes.is_empty() {
        write_field(body, br#","notes":"#, notes)?;
    }
    Ok(())
}

fn write_routes(
    body: &mut Vec<u8>,
    routes: &Routes<TaskPath>,
    names: &Names,
) -> serde_json::Result<()> {
    let Routes {
        next,
        arrived,
        joined,
    } = routes;
    if routes.is_empty() {
        return Ok(());
    }
    // Each part is followed by a comma, and what ends a list takes the place of the last one.
    body.extend_from_slice(br#","routes":{"#);
    if !next.is_empty() {
        body.extend_from_slice(br#""next":["#);
        for NextTask { task, items } in next {
            body.extend_from_slice(br#"{"task":"#);
            write_path(body, *task, names)?;
            if let Some(items) = items {
                write_field(body, br#","items":"#, items)?;
            }
            body.extend_from_slice(b"},");
        }
        body.pop();
        body.extend_from_slice(b"],");
    }
    if !arrived.is_empty() {
        write_field(body, br#""arrived":"#, arrived)?;
        body.push(b',');
    }
    if !joined.is_empty() {
        write_field(body, br#""joined":"#, joined)?;
        body.push(b',');
    }
    body.pop();
    body.push(b'}');
    Ok(())
}

/// Writes the path of a task, as text.
fn write_path(body: &mut Vec<u8>, path: TaskPath, names: &Names) -> serde_json::Result<()> {
    // The numbers come before the quote that ends the name.
    serde_json::to_writer(&mut *body, names.get(path.node))?;
    body.pop();
    let mut number = itoa::Buffer::new();
    body.push(b'#');
    body.extend_from_slice(number.format(path.visit).as_bytes());
    if let Some(index) = path.index {
        body.push(b'[');
        body.extend_from_slice(number.format(index).as_bytes());
        body.push(b']');
    }
    body.push(b'"');
    Ok(())
}

fn write_field(
    body: &mut Vec<u8>,
    name: &[u8],
    value: &(impl Serialize + ?Sized),
) -> serde_json::Result<()> {
    body.extend_from_slice(name);
    serde_json::to_writer(body, value)
}

/// The fact of most records: a task of the graph itself is done at its first attempt, without notes,
/// and leads to one other.
#[derive(Debug, PartialEq)]
pub(crate) struct PlainStep<'a> {
    pub(crate) at: Millis,
    pub(crate) task: &'a str,
    /// The text at the place of the updates. It is JSON, or the record is none.
    pub(crate) updates: &'a str,
    pub(crate) next: &'a str,
}

/// Reads a record of a plain step by the places of its parts: nothing of it is parsed twice. Returns
/// none for every other record.
///
/// If `updates` is one JSON value, the record is JSON, and has no other meaning.
pub(crate) fn plain_step(Record(body): &Record) -> Option<PlainStep<'_>> {
    let (version, body) = body.split_first()?;
    let text = std::str::from_utf8(body)
        .ok()
        .filter(|_| *version == VERSION)?;
    let (at, text) = number(text.strip_prefix(r#"{"at":"#)?)?;
    let (_, text) = number(text.strip_prefix(r#","run":"#)?)?;
    let (task, text) = plain(text.strip_prefix(r#","fact":{"stepped":{"task":""#)?)?;
    let text = text.strip_prefix(r#","updates":"#)?;
    let text = text.strip_suffix(r#""}]}}}}"#)?;
    let (next, _) = plain(text.get(text.rfind('"')? + 1..)?)?;
    let updates = text.strip_suffix(next)?;
    let updates = updates.strip_suffix(r#","routes":{"next":[{"task":""#)?;
    Some(PlainStep {
        at: at.parse().ok()?,
        task,
        updates,
        next,
    })
}

/// Splits a number without a sign off a text.
fn number(text: &str) -> Option<(&str, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(digits).filter(|_| digits > 0)
}

/// Splits what comes before a quote off a text, unless it has escaped characters.
fn plain(text: &str) -> Option<(&str, &str)> {
    let end = text
        .bytes()
        .position(|byte| byte == b'"')
        .unwrap_or(text.len());
    let (plain, rest) = text.split_at_checked(end)?;
    let is_plain = plain.bytes().all(|byte| byte >= b' ' && byte != b'\\');
    is_plain.then_some((plain, rest.strip_prefix('"').unwrap_or(rest)))
}

/// Reads a stored fact.
pub(crate) fn read(record: &Record) -> Result<Entry<'_>, RunError> {
    match record.0.split_first() {
        Some((1..=VERSION, body)) => {
            // Checked in one piece: the parser would check each text for itself.
            let body = std::str::from_utf8(body).map_err(|error| unreadable(&error.to_string()))?;
            Ok(serde_json::from_str(body)?)
        }
        Some((other, _)) => Err(unreadable(&format!(
            "the record has format version {other}; this program reads versions up to {VERSION}"
        ))),
        None => Err(unreadable("the record is empty")),
    }
}

/// Returns the fact with the addresses that the machine uses.
pub(crate) fn addressed(
    fact: Fact<StoredPath<'_>>,
    names: &mut Arc<Names>,
) -> Result<Fact<TaskPath>, RunError> {
    let mut fact = fact
        .map(&mut |text| names.path(&text.0))
        .map_err(|error| RunError::new(RunErrorKind::Format).because(error))?;
    if let Fact::Stepped { routes, .. } | Fact::Closed { routes } = &mut fact {
        for (join, from) in &mut routes.arrived {
            names.renew(join);
            names.renew(from);
        }
        for join in &mut routes.joined {
            names.renew(join);
        }
    }
    Ok(fact)
}

fn unreadable(why: &str) -> RunError {
    RunError::new(RunErrorKind::Format).because(why)
}

#[cfg(test)]
mod tests {
    use fugato_stream::EventKind;
    use serde::de::IgnoredAny;
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::machine::ScatterItem;

    /// Writes a fact as the serialiser does.
    fn serialised(fact: Fact<TaskPath>, scope: &str, names: &Names) -> String {
        #[derive(Serialize)]
        struct Writing<'a> {
            at: Millis,
            run: RunId,
            #[serde(skip_serializing_if = "str::is_empty")]
            scope: &'a str,
            fact: Fact<PathText<'a>>,
        }
        let fact = fact.map(&mut |path| Ok::<_, ()>(PathText(path, names)));
        let (at, run, fact) = (17, RunId(2), fact.unwrap());
        serde_json::to_string(&Writing {
            at,
            run,
            scope,
            fact,
        })
        .unwrap()
    }

    #[test]
    fn what_is_written_by_hand_is_what_the_serialiser_writes() {
        let mut names = Arc::new(Names::default());
        let [plain, odd] = ["think#3", "a \"b\"\\\n想#12[4]"].map(|text| names.path(text).unwrap());
        let item = || ScatterItem(to_raw_value("x").unwrap().into());
        let next = [
            vec![],
            vec![NextTask {
                task: plain,
                items: None,
            }],
            vec![
                NextTask {
                    task: odd,
                    items: Some(vec![item(), item()]),
                },
                NextTask {
                    task: plain,
                    items: None,
                },
            ],
        ];
        let joins = [vec![], vec![("join".to_owned(), "from".to_owned())]];
        let updates = [None, Some(to_raw_value(&["\"1\"", "2"]).unwrap())];
        let notes = [
            vec![],
            vec![EventKind::NodeStarted, EventKind::NodeFinished],
        ];
        let (mut compared, mut plain_steps) = (0, 0);
        let mut same = |fact: &Fact<TaskPath>, scope| {
            let wanted = serialised(fact.clone(), scope, &names);
            let mut bare = fact.clone();
            let (Fact::Stepped { updates, .. } | Fact::Finished { updates, .. }) = &mut bare else {
                unreachable!("a task is done");
            };
            // The updates are in the fact or beside it.
            let beside = updates.take();
            let beside = beside.as_ref().map(|updates| updates.get().as_bytes());
            for written in [(fact, None), (&bare, beside)] {
                let mut record = Record(b"an old record".to_vec());
                encode(&mut record, written, (17, RunId(2)), scope, &names).unwrap();
                let (version, json) = record.0.split_first().unwrap();
                assert_eq!(*version, VERSION);
                assert_eq!(String::from_utf8_lossy(json), wanted);
                plain_steps += usize::from(is_plain(&record));
            }
            compared += 1;
        };
        for (bits, next) in (0..32).flat_map(|bits| next.iter().map(move |next| (bits, next))) {
            let of = |bit: usize| usize::from(bits & (1 << bit) != 0);
            let (task, attempt) = ([plain, odd][of(0)], [1, 7][of(0)]);
            let scope = ["", "outer \"1\"#1"][of(1)];
            let (updates, notes) = (updates[of(2)].clone(), notes[of(3)].clone());
            let arrived = joins[of(4)].clone();
            let joined = arrived.iter().map(|(to, _)| to.clone()).collect();
            let routes = Routes {
                next: next.clone(),
                arrived,
                joined,
            };
            let finished = Fact::Finished {
                task,
                attempt,
                updates: updates.clone(),
                notes: notes.clone(),
            };
            let stepped = Fact::Stepped {
                task,
                attempt,
                updates,
                notes,
                routes,
            };
            same(&finished, scope);
            same(&stepped, scope);
        }
        // One of them, with its updates in the fact and beside it.
        assert_eq!((compared, plain_steps), (192, 2));
    }

    /// Returns true if a record is read as a plain step, and checks that it is what the parser reads.
    fn is_plain(record: &Record) -> bool {
        let Some(plain) = plain_step(record) else {
            return false;
        };
        if serde_json::from_str::<IgnoredAny>(plain.updates).is_err() {
            return false;
        }
        let Entry {
            at, scope, fact, ..
        } = read(record).unwrap();
        let Fact::Stepped {
            task,
            attempt,
            updates,
            notes,
            routes,
        } = fact
        else {
            panic!("another fact")
        };
        let [NextTask { task: next, items }] = &routes.next[..] else {
            panic!("another next step")
        };
        assert_eq!((at, &*task.0, &*next.0), (plain.at, plain.task, plain.next));
        assert_eq!(updates.unwrap().get(), plain.updates);
        assert!(scope.is_empty() && attempt == 1 && notes.is_empty() && items.is_none());
        assert!(routes.arrived.is_empty() && routes.joined.is_empty());
        true
    }

    #[test]
    fn a_plain_step_is_read_as_the_parser_reads_it() {
        let end = r#","routes":{"next":[{"task":"b#2"}]}}}}"#;
        let step = |rest: &str| {
            let record = r#"{"at":17,"run":2,"fact":{"stepped":{"task":"a#1","#.to_owned();
            let body = record + rest;
            Record([&[VERSION], body.as_bytes()].concat())
        };
        let nested = r#"{"x":1,"routes":{"next":[{"task":"b#2"}]}}"#;
        let text = serde_json::to_string(end).unwrap();
        for (rest, plain) in [
            (format!(r#""updates":[1]{end}"#), true),
            (format!(r#""updates":[{nested},{text}]{end}"#), true),
            (format!(r#""updates":[{text}]}}}}}}"#), false),
            (format!(r#""updates":[{nested}]}}}}}}"#), false),
            (format!(r#""updates":[1],"notes":[]{end}"#), false),
            (format!(r#""attempt":2,"updates":[1]{end}"#), false),
            (format!(r#""updates":[1],"routes":{{}}{end}"#), false),
            (end.trim_start_matches(',').to_owned(), false),
        ] {
            assert_eq!(is_plain(&step(&rest)), plain, "{rest}");
        }
        for cut in 0..step(end).0.len() {
            is_plain(&Record(step(end).0[..cut].to_vec()));
        }
    }
}
