//! References to items, classes and courses by name or by a part of it.
use std::collections::BTreeSet;

use super::lex::{LEXICON, normal};
use crate::schedule::{EventType, ScheduleState};

/// The things that a name can mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ref {
    /// Items and errands, by id.
    pub(super) items: BTreeSet<u32>,
    /// Classes, by id.
    pub(super) classes: BTreeSet<u32>,
    /// Courses, by id.
    pub(super) courses: BTreeSet<u32>,
    /// True if the whole name was said.
    pub(super) exact: bool,
}

impl Ref {
    fn is_empty(&self) -> bool {
        self.items.is_empty() && self.classes.is_empty() && self.courses.is_empty()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thing {
    Item(u32),
    Class(u32),
    Course(u32),
}

/// A name in the form that is compared.
struct Name {
    thing: Thing,
    text: String,
    /// The stems of its Latin words.
    stems: BTreeSet<String>,
}

/// The names of a schedule.
pub(super) struct Names<'a> {
    schedule: &'a ScheduleState,
    names: Vec<Name>,
}

/// Words that tell nothing about which thing is meant.
const STOP: [&str; 12] = [
    "the", "a", "an", "of", "and", "for", "to", "in", "on", "my", "with", "at",
];

impl<'a> Names<'a> {
    pub(super) fn of(schedule: &'a ScheduleState) -> Self {
        let classes = schedule
            .task_classes
            .iter()
            .map(|class| (Thing::Class(class.id), &class.name));
        let tasks = schedule.tasks.iter().map(|task| {
            let thing = match task.event_type {
                EventType::Course => Thing::Course(task.state_id),
                EventType::Task => Thing::Item(task.state_id),
            };
            (thing, &task.name)
        });
        let name = |(thing, name): (Thing, &String)| {
            let text = normal(name);
            let stems = words(&text)
                .map(stem)
                .filter(|word| !STOP.contains(&word.as_str()));
            Name {
                thing,
                stems: stems.collect(),
                text,
            }
        };
        Self {
            schedule,
            names: tasks.chain(classes).map(name).collect(),
        }
    }

    fn meaning<'n>(names: impl Iterator<Item = &'n Name>) -> Ref {
        let mut found = Ref::default();
        for name in names {
            match name.thing {
                Thing::Item(id) => found.items.insert(id),
                Thing::Class(id) => found.classes.insert(id),
                Thing::Course(id) => found.courses.insert(id),
            };
        }
        found
    }

    /// Returns the things of exactly this name.
    pub(super) fn exact(&self, text: &str) -> Option<Ref> {
        let named = self.names.iter().filter(|name| name.text == text);
        let found = Ref {
            exact: true,
            ..Self::meaning(named)
        };
        (!found.is_empty()).then_some(found)
    }

    /// Returns the longest name, or part of one, at the beginning of a text, with its length.
    pub(super) fn longest(&self, rest: &str) -> Option<(Ref, usize)> {
        let whole = self.names.iter().filter(|name| {
            let tail = rest.strip_prefix(name.text.as_str());
            let latin = name.text.ends_with(|c: char| c.is_ascii_alphanumeric());
            tail.is_some_and(|tail| {
                !(latin && tail.starts_with(|c: char| c.is_ascii_alphanumeric()))
            })
        });
        let length = whole.clone().map(|name| name.text.len()).max();
        let whole = length.map(|length| {
            let named = whole.filter(|name| name.text.len() == length);
            (
                Ref {
                    exact: true,
                    ..Self::meaning(named)
                },
                length,
            )
        });
        let part = if rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            self.words(rest)
        } else {
            self.characters(rest)
        };
        // A part that goes on beyond a whole name names more.
        match (whole, part) {
            (Some(whole), Some(part)) => Some(if part.1 > whole.1 { part } else { whole }),
            (whole, part) => whole.or(part),
        }
    }

    /// Returns the things whose names have the longest run of words at the beginning of a text.
    fn words(&self, rest: &str) -> Option<(Ref, usize)> {
        let mut said: BTreeSet<String> = BTreeSet::new();
        let (mut best, mut at) = (None, 0);
        for _ in 0..6 {
            let here = rest.get(at..)?;
            let gap = here.len() - here.trim_start_matches([' ', ',']).len();
            let word: String = here
                .get(gap..)?
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            if word.is_empty() || (at > 0 && gap == 0) {
                break;
            }
            at += gap + word.len();
            let stemmed = stem(&word);
            if STOP.contains(&word.as_str()) {
                if said.is_empty() {
                    return None;
                }
                continue;
            }
            said.insert(stemmed);
            let named = self.names.iter().filter(|name| said.is_subset(&name.stems));
            let mut found = Self::meaning(named);
            if found.is_empty() {
                break;
            }
            // All words of one name, in any order, are that name.
            let all = self.names.iter().filter(|name| name.stems == said);
            let all = Self::meaning(all);
            if !all.is_empty() {
                found = Ref { exact: true, ..all };
            }
            best = Some((found, at));
        }
        // "First" alone names nothing.
        let vague = [
            "first", "last", "next", "new", "old", "one", "two", "find", "part",
        ];
        best.filter(|_| said.len() > 1 || said.iter().all(|word| !vague.contains(&word.as_str())))
    }

    /// Returns the things whose names have the longest run of at least two characters at the
    /// beginning of a text.
    fn characters(&self, rest: &str) -> Option<(Ref, usize)> {
        let mut best = None;
        let mut ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
        ends.next()?;
        for end in ends {
            let part = rest.get(..end)?;
            if part.ends_with(|c: char| c.is_whitespace() || ",.?!".contains(c)) {
                break;
            }
            let named = self.names.iter().filter(|name| name.text.contains(part));
            let found = Self::meaning(named);
            if found.is_empty() {
                break;
            }
            best = Some((found, end));
        }
        best
    }

    /// Returns a text whose misspelled Latin words are those that must have been meant.
    pub(super) fn spelled(&self, text: &str) -> String {
        const DAYS: [&str; 16] = [
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "saturday",
            "sunday",
            "tomorrow",
            "today",
            "weekend",
            "weekends",
            "morning",
            "afternoon",
            "evening",
            "tonight",
            "weekdays",
        ];
        let stems: BTreeSet<&String> = self.names.iter().flat_map(|name| &name.stems).collect();
        let known = |word: &str| {
            LEXICON.words.contains(word)
                || DAYS
                    .iter()
                    .any(|day| *day == word || word.strip_suffix('s') == Some(day))
                || stems.contains(&stem(word))
        };
        let mut out = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let end = rest
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            if word.is_empty() {
                out.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
                continue;
            }
            rest = tail;
            if word.len() < 5 || known(word) {
                out.push_str(word);
                continue;
            }
            let allowed = if word.len() > 8 { 2 } else { 1 };
            let all = LEXICON.words.iter().map(String::as_str).chain(DAYS);
            let all = all.chain(self.names.iter().flat_map(|name| words(&name.text)));
            let near: BTreeSet<(usize, &str)> = all
                .filter(|other| other.len() >= 5 && other.len().abs_diff(word.len()) <= allowed)
                .filter(|other| other.chars().next() == word.chars().next())
                .map(|other| (distance(word, other), other))
                .filter(|(far, _)| *far <= allowed)
                .collect();
            let mut near = near.into_iter();
            match (near.next(), near.next()) {
                (Some((far, meant)), other) if other.is_none_or(|(next, _)| next > far) => {
                    out.push_str(meant);
                }
                _ => out.push_str(word),
            }
        }
        out
    }

    /// Returns the ids of the items of a class.
    pub(super) fn items_of(&self, class: u32) -> impl Iterator<Item = u32> {
        let tasks = self.schedule.tasks.iter();
        let of = tasks.filter(move |task| {
            task.task_class_id == Some(class) && task.event_type == EventType::Task
        });
        of.map(|task| task.state_id)
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty())
}

/// Returns a Latin word without its ending, so that "sorting" and "sort" are the same.
fn stem(word: &str) -> String {
    let mut word = word;
    for ending in ["ing", "ed", "es", "s"] {
        if let Some(head) = word.strip_suffix(ending)
            && head.len() >= 3
            && !(ending == "s" && head.ends_with('s'))
        {
            word = head;
            break;
        }
    }
    let head = word
        .strip_suffix('e')
        .filter(|head| head.len() >= 3)
        .unwrap_or(word);
    head.to_owned()
}

/// Returns the number of letters that differ, where two that changed places count once.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<u8>, Vec<u8>) = (a.bytes().collect(), b.bytes().collect());
    let (rows, columns) = (a.len() + 1, b.len() + 1);
    let mut table = vec![vec![0_usize; columns]; rows];
    let get = |table: &Vec<Vec<usize>>, i: usize, j: usize| {
        table
            .get(i)
            .and_then(|row| row.get(j))
            .copied()
            .unwrap_or(usize::MAX / 2)
    };
    for i in 0..rows {
        for j in 0..columns {
            let value = if i == 0 {
                j
            } else if j == 0 {
                i
            } else {
                let same = a.get(i - 1) == b.get(j - 1);
                let mut best = (get(&table, i - 1, j) + 1).min(get(&table, i, j - 1) + 1);
                best = best.min(get(&table, i - 1, j - 1) + usize::from(!same));
                if i > 1 && j > 1 && a.get(i - 1) == b.get(j - 2) && a.get(i - 2) == b.get(j - 1) {
                    best = best.min(get(&table, i - 2, j - 2) + 1);
                }
                best
            };
            if let Some(cell) = table.get_mut(i).and_then(|row| row.get_mut(j)) {
                *cell = value;
            }
        }
    }
    get(&table, rows - 1, columns - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_by_their_stems_and_letters() {
        assert_eq!(stem("sorting"), stem("sort"));
        assert_eq!(stem("photos"), stem("photo"));
        assert_eq!(stem("cleaning"), stem("clean"));
        assert_eq!(distance("wendesday", "wednesday"), 1);
        assert_eq!(distance("tommorow", "tomorrow"), 2);
    }
}
