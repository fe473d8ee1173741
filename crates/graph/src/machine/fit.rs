//! The check that a fact of a log can have happened.
use std::collections::HashSet;

use super::{Fact, Machine, NextTask, TaskPath};

/// A fact that cannot have happened at its position in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InvalidFact {
    /// Its task is not open.
    NotOpen(TaskPath),
    /// It opens a task that is open already.
    Open(TaskPath),
}

impl Machine {
    /// Checks that a fact can come next. Live, facts follow from the machine; a log may hold
    /// anything, and two open tasks of one address would wait for each other's outcome for ever.
    pub(crate) fn check(&self, fact: &Fact<TaskPath>) -> Result<(), InvalidFact> {
        match fact {
            Fact::Started { next, .. } | Fact::Entered { next, .. } => distinct(next),
            Fact::Closed { routes } => distinct(&routes.next),
            Fact::Stepped { task, routes, .. } => {
                self.is_open(task)?;
                let mut next = routes.next.iter().map(|next| next.task);
                match next.find(|next| self.position(next).is_some()) {
                    Some(open) => Err(InvalidFact::Open(open)),
                    None => distinct(&routes.next),
                }
            }
            Fact::Finished { task, .. }
            | Fact::Failed { task, .. }
            | Fact::Asked { task, .. }
            | Fact::Amended {
                task: Some(task), ..
            } => self.is_open(task),
            _ => Ok(()),
        }
    }

    fn is_open(&self, path: &TaskPath) -> Result<(), InvalidFact> {
        let open = self.position(path);
        open.map(|_| ()).ok_or(InvalidFact::NotOpen(*path))
    }
}

/// Checks that no two tasks have one address.
fn distinct(next: &[NextTask<TaskPath>]) -> Result<(), InvalidFact> {
    if next.len() < 2 {
        return Ok(());
    }
    let mut seen = HashSet::with_capacity(next.len());
    match next.iter().find(|next| !seen.insert(next.task)) {
        Some(twice) => Err(InvalidFact::Open(twice.task)),
        None => Ok(()),
    }
}
