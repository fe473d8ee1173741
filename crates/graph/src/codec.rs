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
        let mut compared = 0;
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
        assert_eq!(compared, 192);
    }
}
