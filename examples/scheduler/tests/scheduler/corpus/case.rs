//! The corpus as its files have it.
use std::{collections::BTreeMap, path::PathBuf};

use jiff::civil::{Date, DateTime};
use scheduler::{calendar::Lang, schedule::Level};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};

/// A request, and what it must and must not do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) given: InitialState,
    #[serde(default)]
    pub(super) turns: Vec<String>,
    /// The cards of `turns` are left open.
    #[serde(default)]
    pub(super) unanswered: bool,
    #[serde(default)]
    pub(super) agree: bool,
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) must: Vec<Check>,
    #[serde(default)]
    pub(super) must_not: Vec<Check>,
    #[serde(default)]
    pub(super) accept: Vec<Vec<Check>>,
    #[serde(default, rename = "why")]
    _why: String,
    /// The folder of its world; that of its language if there is none.
    #[serde(skip)]
    pub(super) world: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) enum InitialState {
    #[default]
    #[serde(rename = "placed")]
    Placed,
    #[serde(rename = "nothing placed")]
    NothingPlaced,
    #[serde(rename = "card")]
    Card,
}

/// One or several of something.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Any<T> {
    One(T),
    Several(Vec<T>),
}

impl<T: PartialEq> Any<T> {
    pub(super) fn all(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }

    pub(super) fn has(&self, value: &T) -> bool {
        self.all().contains(value)
    }
}

/// A choice of items as they were before the request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Selector {
    pub(super) item: Option<Any<String>>,
    pub(super) class: Option<Any<String>>,
    pub(super) on: Option<Any<Date>>,
    pub(super) from: Option<Date>,
    pub(super) to: Option<Date>,
    pub(super) part: Option<Any<String>>,
    pub(super) state: Option<Any<String>>,
    pub(super) except: Option<Box<Selector>>,
}

/// A condition on places.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Places {
    pub(super) of: Selector,
    pub(super) on: Option<Any<Date>>,
    pub(super) from: Option<Date>,
    pub(super) to: Option<Date>,
    pub(super) part: Option<Any<String>>,
    pub(super) at: Option<String>,
    pub(super) after: Option<String>,
    pub(super) before: Option<String>,
    pub(super) earlier: bool,
    pub(super) later: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Check {
    Unchanged(bool),
    Restored(bool),
    Same(Selector),
    Only(Selector),
    Lies(Places),
    Free(Places),
    Status {
        of: Selector,
        is: String,
    },
    Exists {
        item: String,
        class: Option<String>,
        minutes: Option<u32>,
    },
    Gone(String),
    PlacedAll(bool),
    Order([String; 2]),
    Swapped([String; 2]),
    Deadline {
        class: Option<String>,
        item: Option<String>,
        date: Date,
    },
    Note {
        contains: Option<String>,
        equals: Option<String>,
    },
    Reminder {
        contains: String,
        at: Option<DateTime>,
    },
    Says(Vec<String>),
    Asks(bool),
    SaysNotUnderstood(bool),
    Kept(bool),
    Card(String),
    Terms(TermsCheck),
    /// A section of a day of the week, by a time in it or before it, costs more than before.
    Costlier(u8, String),
    Cheaper(u8, String),
    /// Items take at most so many sections of a day at no cost.
    Limit(u8),
    /// Items take at most so many sections in a row at no cost.
    Run(u8),
    /// Each chosen item takes as many sections as its length asks for.
    Fits(Selector),
    /// The section at this time of a date is kept free, or costs more than before the first turn.
    Shut(Date, String),
    /// It is neither.
    Open(Date, String),
    /// The section at the first time of a date costs more than that at the second.
    Dearer(Date, String, String),
    /// The class has no last date.
    NoDeadline(String),
    /// Each open item of the first class is more important than each of the second.
    Above([String; 2]),
    /// From now on no day has more sections of items.
    Daily(u8),
    /// The item is done in parts on these dates.
    Parts {
        item: String,
        on: Vec<Date>,
    },
}

/// The terms that an item or a class has afterwards.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TermsCheck {
    /// Items for which the terms count, whether they are their own or those of their class.
    pub(super) of: Option<Selector>,
    pub(super) item: Option<String>,
    pub(super) class: Option<String>,
    pub(super) minutes: Option<u16>,
    pub(super) earliest: Option<String>,
    pub(super) priority: Option<Level>,
    /// The name of a predecessor.
    pub(super) after: Option<String>,
    /// A day of the week and a time that are closed.
    pub(super) closed: Option<(u8, String)>,
    /// True if it may be done in parts.
    pub(super) split: Option<bool>,
    /// The only time at which it may begin.
    pub(super) at: Option<String>,
}

/// The places that items have before the requests.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PlacementCorpus {
    #[serde(deserialize_with = "written")]
    pub(super) now: DateTime,
    pub(super) refusals: Vec<String>,
    /// True if the person has no preferences so far.
    #[serde(default)]
    pub(super) no_preferences: bool,
    /// The classes whose items may be done in parts, or must not.
    #[serde(default)]
    pub(super) split: BTreeMap<String, bool>,
    pub(super) placed: Vec<PlacedItem>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct PlacedItem {
    pub(super) item: String,
    #[serde(deserialize_with = "written")]
    pub(super) date: Date,
    pub(super) start: String,
    #[serde(default)]
    pub(super) done: bool,
}

/// Reads a date or a time that TOML has a type for.
fn written<'de, T, D>(reader: D) -> Result<T, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
    D: Deserializer<'de>,
{
    let found = toml::value::Datetime::deserialize(reader)?;
    found.to_string().parse().map_err(D::Error::custom)
}

pub(super) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

pub(super) fn read<T: DeserializeOwned>(name: &str) -> T {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[derive(Deserialize)]
struct Corpus {
    #[serde(default)]
    world: Option<String>,
    case: Vec<Case>,
}

/// Returns the cases of all files of a language.
pub(super) fn corpus(lang: Lang) -> Vec<Case> {
    let mut cases = vec![];
    for more in ["", "-2", "-3", "-4", "-5", "-6"] {
        let Corpus { world, case } = read(&format!("{lang}{more}.toml"));
        cases.extend(case.into_iter().map(|case| Case {
            world: world.clone(),
            ..case
        }));
    }
    cases
}

/// Returns the cases that are known to fail, each with the reason.
pub(super) fn known(lang: Lang) -> BTreeMap<String, String> {
    let mut known: BTreeMap<String, BTreeMap<String, String>> = read("known.toml");
    known.remove(&lang.to_string()).unwrap_or_default()
}
