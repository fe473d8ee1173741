use std::{
    cmp::Ordering,
    collections::HashMap,
    hash::{Hash, Hasher},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

/// The position of a node's name in a [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct NodeIx(pub u32);

impl NodeIx {
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// The address of one task: `node#visit`, or `node#visit[index]` inside a scatter.
///
/// At rest it is text, so that a record is readable and survives a change of the graph. In memory
/// it is three numbers, which are cheap to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskPath {
    /// The node.
    pub node: NodeIx,
    /// The number of times the node was entered, this time included: from 1, over all runs of the
    /// thread.
    pub visit: u32,
    /// The position among the tasks of a scatter, from 0.
    pub index: Option<u32>,
}

impl TaskPath {
    /// Returns one number that orders paths by node, visit and position, those without a position
    /// first. Maps with thousands of subgraphs compare little else.
    #[inline]
    fn number(self) -> u128 {
        let index = self.index.map_or(0, |index| u128::from(index) + 1);
        u128::from(self.node.0) << 96 | u128::from(self.visit) << 64 | index
    }
}

impl Ord for TaskPath {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.number().cmp(&other.number())
    }
}

impl PartialOrd for TaskPath {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for TaskPath {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.number());
    }
}

/// The capacity for the numbers of a path as text, unless they are large.
const NUMBERS: usize = 16;

/// The names of nodes: those of the graph first, in their order, then those that a log mentions
/// and the graph no longer has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    list: Vec<Arc<str>>,
    index: HashMap<Arc<str>, NodeIx>,
}

impl Names {
    pub(crate) fn with_capacity(names: usize) -> Self {
        Self {
            list: Vec::with_capacity(names),
            index: HashMap::with_capacity(names),
        }
    }

    /// Returns the names in the order of their positions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.list.iter()
    }

    /// Returns the position of a name, which is added if it is new.
    pub(crate) fn intern(&mut self, name: &str) -> NodeIx {
        if let Some(ix) = self.index.get(name) {
            return *ix;
        }
        let ix = NodeIx(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
        let name: Arc<str> = name.into();
        self.list.push(name.clone());
        self.index.insert(name, ix);
        ix
    }

    /// Makes an old name an alias of a known one.
    pub(crate) fn alias(&mut self, old: &str, new: &str) {
        if let Some(ix) = self.find(new) {
            self.index.insert(old.into(), ix);
        }
    }

    /// Returns the position of a name that is known.
    pub(crate) fn find(&self, name: &str) -> Option<NodeIx> {
        self.index.get(name).copied()
    }

    /// Replaces the old name of a renamed node by its current one.
    pub(crate) fn renew(&self, name: &mut String) {
        if let Some(today) = self.find(name).map(|ix| self.name(ix))
            && *today != **name
        {
            *name = today.to_string();
        }
    }

    /// Returns the name at a position; `?` if there is none.
    pub(crate) fn name(&self, ix: NodeIx) -> Arc<str> {
        self.list
            .get(ix.at())
            .cloned()
            .unwrap_or_else(|| "?".into())
    }

    /// Returns the name at a position, to look at; `?` if there is none.
    pub(crate) fn get(&self, ix: NodeIx) -> &str {
        self.list.get(ix.at()).map_or("?", |name| name)
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns a path as text.
    pub(crate) fn text(&self, path: TaskPath) -> String {
        let name = self.get(path.node);
        let mut text = String::with_capacity(name.len() + NUMBERS);
        let mut number = itoa::Buffer::new();
        text.push_str(name);
        text.push('#');
        text.push_str(number.format(path.visit));
        if let Some(index) = path.index {
            text.push('[');
            text.push_str(number.format(index));
            text.push(']');
        }
        text
    }

    /// Reads a path. A name that is new is added, to a copy if the names are shared.
    pub(crate) fn path(self: &mut Arc<Self>, text: &str) -> Result<TaskPath, BadPath> {
        let bad = || BadPath(text.to_owned());
        let at = text.bytes().position(|byte| matches!(byte, b'#' | b'/'));
        let (name, rest) = text.split_at(at.filter(|at| *at > 0).ok_or_else(bad)?);
        let rest = rest.strip_prefix('#').ok_or_else(bad)?;
        let (visit, index) = match rest.strip_suffix(']') {
            Some(rest) => rest
                .split_once('[')
                .map(|(visit, index)| (visit, Some(index)))
                .ok_or_else(bad)?,
            None => (rest, None),
        };
        let visit = visit.parse().map_err(|_| bad())?;
        let index = index.map(str::parse).transpose().map_err(|_| bad())?;
        let node = match self.find(name) {
            Some(node) => node,
            None => Arc::make_mut(self).intern(name),
        };
        Ok(TaskPath { node, visit, index })
    }
}

/// The error of a text that is not the path of a task.
#[derive(thiserror::Error, Debug, Clone, PartialEq, Eq)]
#[error("{0:?} is not the path of a task: `node#visit` or `node#visit[index]` is")]
pub(crate) struct BadPath(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_ordered_by_node_visit_and_position() {
        let numbers = [0, 1, u32::MAX];
        let positions = [None, Some(0), Some(1), Some(u32::MAX)];
        let mut paths = vec![];
        for (node, visit) in numbers.into_iter().flat_map(|n| numbers.map(|v| (n, v))) {
            paths.extend(positions.map(|index| TaskPath {
                node: NodeIx(node),
                visit,
                index,
            }));
        }
        assert!(paths.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn a_path_survives_text() {
        let mut names = Arc::new(Names::default());
        for text in ["think#1", "worker#12[345]"] {
            let path = names.path(text).unwrap();
            assert_eq!(names.text(path), text);
        }
        for bad in ["", "think", "#1", "a#x", "a#1[2", "outer#1/inner#1"] {
            assert_eq!(names.path(bad), Err(BadPath(bad.into())));
        }
    }
}
