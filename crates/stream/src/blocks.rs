//! The open blocks of a protocol that requires pairs of begin and end events.
use std::{collections::HashMap, sync::Arc};

use crate::{Event, Origin, Text};

/// The kinds of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Text,
    Reasoning,
}

/// A block that is open on the wire.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) holds: BlockKind,
    origin: Option<Arc<Origin>>,
    name: Text,
    /// The id in the protocol, unique among the blocks.
    pub(crate) id: String,
}

/// The blocks that are open on a wire, each under an id that is never used again.
///
/// Tasks name their blocks themselves, so that two may use one name, at the same time or after one
/// another. Memory grows with the number of blocks, and is released by [`forget`](Self::forget).
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    open: Vec<Block>,
    used: Names,
}

impl Blocks {
    /// Returns the id of a block, if it is open.
    pub(crate) fn find(&self, holds: BlockKind, event: &Event, name: &str) -> Option<&str> {
        let found = self.position(holds, event, name)?;
        self.open.get(found).map(|block| block.id.as_str())
    }

    /// Opens a block that is not open.
    pub(crate) fn open(&mut self, holds: BlockKind, event: &Event, name: &Text) -> &str {
        let place = event.origin.as_ref().map(|origin| match origin.attempt {
            0 | 1 => origin.task(),
            attempt => format!("{}@{attempt}", origin.task()),
        });
        let id = format!("{}/{}/{name}", event.run, place.unwrap_or_default());
        self.open.push(Block {
            holds,
            origin: event.origin.clone(),
            name: name.clone(),
            id: self.used.fresh(&id),
        });
        self.open.last().map_or("", |block| block.id.as_str())
    }

    /// Closes a block, if it is open.
    pub(crate) fn close(&mut self, holds: BlockKind, event: &Event, name: &str) -> Option<Block> {
        let found = self.position(holds, event, name)?;
        Some(self.open.remove(found))
    }

    /// Closes the blocks that the task of the event has left open.
    pub(crate) fn close_task(&mut self, event: &Event) -> Vec<Block> {
        let Some(task) = &event.origin else {
            return vec![];
        };
        let of_task = |block: &mut Block| {
            let origin = block.origin.as_ref();
            origin.is_some_and(|origin| origin.is_same_task(task))
        };
        self.open.extract_if(.., of_task).collect()
    }

    /// Closes everything.
    pub(crate) fn close_all(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.open)
    }

    /// Lets ids be used again.
    pub(crate) fn forget(&mut self) {
        self.used = Names::default();
    }

    fn position(&self, holds: BlockKind, event: &Event, name: &str) -> Option<usize> {
        self.open.iter().rposition(|block| {
            block.holds == holds && block.name == *name && block.origin == event.origin
        })
    }
}

/// Names that are given once.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<String, u32>);

impl Names {
    /// Returns the name itself the first time, and then with a number that makes it unique.
    pub(crate) fn fresh(&mut self, name: &str) -> String {
        loop {
            let Some(times) = self.0.get_mut(name) else {
                self.0.insert(name.to_owned(), 1);
                return name.to_owned();
            };
            *times += 1;
            let other = format!("{name}~{times}");
            if !self.0.contains_key(&other) {
                self.0.insert(other.clone(), 1);
                return other;
            }
        }
    }

    /// Returns the last result of [`fresh`](Self::fresh) for a name, if there is one.
    pub(crate) fn last(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            1 => Some(name.to_owned()),
            times => Some(format!("{name}~{times}")),
        }
    }

    /// Lets names be given again.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once() {
        let mut names = Names::default();
        assert_eq!(names.last("c"), None);
        let given: Vec<_> = ["c", "c~2", "c", "c", "d"]
            .map(|name| names.fresh(name))
            .into();
        assert_eq!(given, ["c", "c~2", "c~3", "c~4", "d"]);
        assert_eq!(names.last("c").as_deref(), Some("c~4"));
    }
}
