//! The replay of a scope from its log, and its stored form.
use std::collections::BTreeMap;

use fugato_state::{Millis, State};
use fugato_store::Record;
use serde::{Deserialize, Serialize};

use super::{DynScope, Scope};
use crate::{
    Graph, RunError, RunErrorKind,
    codec::{self, PlainStep, StoredPath},
    engine::Engine,
    fold::{SavedFold, StateFold, write_updates},
    graph::NodeWork,
    machine::{
        BadPath, Fact, InvalidFact, Json, NextTask, Routes, SavedMachine, TaskPath, ThreadPhase,
    },
    open::newer,
};

/// The stored form of a scope, with the scopes under its tasks.
#[derive(Serialize, Deserialize)]
struct SavedScope<T, U> {
    machine: SavedMachine,
    fold: SavedFold<T, U>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    children: BTreeMap<String, Json>,
}

impl<S: State> Scope<S> {
    /// Applies a record of the log, and returns its time.
    pub(crate) fn follow_record(&mut self, record: &Record) -> Result<Millis, RunError> {
        if let Some(step) = codec::plain_step(record)
            && self.follow_plain(&step)?
        {
            return Ok(step.at);
        }
        let entry = codec::read(record)?;
        self.follow(&entry.scope, entry.fact)?;
        Ok(entry.at)
    }

    /// Applies a fact of the log, of this scope or of one under it.
    pub(crate) fn follow(
        &mut self,
        scope: &str,
        fact: Fact<StoredPath<'_>>,
    ) -> Result<(), RunError> {
        let (task, rest) = match scope.split_once('/') {
            Some((task, rest)) => (task, rest),
            None if scope.is_empty() => return self.live_through(fact),
            None => (scope, ""),
        };
        let path = self.names.path(task).map_err(unreadable)?;
        if rest.is_empty() && matches!(fact, Fact::Entered { .. }) {
            let wire = self.graph.0.nodes.get(path.node.at());
            let Some(NodeWork::Sub(sub)) = wire.map(|wire| &wire.work) else {
                self.lost.insert(path);
                return Ok(());
            };
            self.children.insert(path, sub.blank());
        }
        match self.children.get_mut(&path) {
            Some(child) => child.follow(rest, fact),
            // Facts of a subgraph that this graph no longer has are ignored.
            None => Ok(()),
        }
    }

    /// Applies a plain step of the graph itself, and returns true; false if it is to be read like any
    /// other record: because another version of the state wrote it, or to tell what is wrong with it.
    fn follow_plain(&mut self, step: &PlainStep<'_>) -> Result<bool, RunError> {
        if self.version != S::VERSION {
            return Ok(false);
        }
        let Ok(updates) = serde_json::from_str(step.updates) else {
            return Ok(false);
        };
        let (task, next) = (self.names.path(step.task), self.names.path(step.next));
        let (Ok(task), Ok(next)) = (task, next) else {
            return Ok(false);
        };
        let next = NextTask {
            task: next,
            items: None,
        };
        let fact = Fact::Stepped {
            task,
            attempt: 1,
            updates: None,
            notes: vec![],
            routes: Routes {
                next: vec![next],
                ..Routes::default()
            },
        };
        self.machine
            .check(&fact)
            .map_err(|unfit| self.unfit(unfit))?;
        self.fold.step(&task, updates, &self.machine);
        self.machine.evolve(&fact);
        self.bury(&fact);
        Ok(true)
    }

    fn live_through(&mut self, fact: Fact<StoredPath<'_>>) -> Result<(), RunError> {
        let fact = codec::addressed(fact, &mut self.names)?;
        match &fact {
            Fact::Created { version, .. } | Fact::Entered { version, .. } => {
                self.version = *version;
            }
            Fact::Started { under, .. } | Fact::Resumed { under, .. } => self.version = under.state,
            _ => {}
        }
        if self.version > S::VERSION {
            return Err(newer::<S>(self.version));
        }
        self.machine
            .check(&fact)
            .map_err(|unfit| self.unfit(unfit))?;
        self.fold.follow(&fact, &self.machine, self.version)?;
        self.machine.evolve(&fact);
        self.bury(&fact);
        if let Fact::Migrated { under } = &fact {
            self.version = under.state;
        }
        if self.version > S::VERSION {
            return Err(newer::<S>(self.version));
        }
        Ok(())
    }

    /// Returns the error of a fact that cannot have happened: the log was not written by this
    /// kernel, or was changed.
    fn unfit(&self, unfit: InvalidFact) -> RunError {
        let why = match unfit {
            InvalidFact::NotOpen(task) => format!(
                "the log tells of task {}, which is not open",
                self.full_name(task)
            ),
            InvalidFact::Open(task) => format!(
                "the log begins task {}, which is open already",
                self.full_name(task)
            ),
        };
        RunError::new(RunErrorKind::Format).because(why)
    }

    /// Removes the scopes of tasks that are done.
    fn bury(&mut self, fact: &Fact<TaskPath>) {
        if self.children.is_empty() && self.lost.is_empty() {
            return;
        }
        match fact {
            Fact::Stepped { task, .. }
            | Fact::Finished { task, .. }
            | Fact::Amended {
                task: Some(task), ..
            } => {
                self.children.remove(task);
                self.lost.remove(task);
            }
            Fact::Closed { .. } | Fact::Started { .. } | Fact::Cancelled { .. } => {
                self.children.clear();
                self.lost.clear();
            }
            _ => {}
        }
    }

    /// Returns the scope in its stored form.
    pub(crate) fn save(&self) -> Result<Json, RunError> {
        let child =
            |(path, child): (TaskPath, &dyn DynScope)| Ok((self.names.text(path), child.save()?));
        Ok(serde_json::value::to_raw_value(&SavedScope {
            machine: SavedMachine::of(&self.machine, &self.names),
            fold: self.fold.rest(),
            children: DynScope::children(self)
                .map(child)
                .collect::<Result<_, RunError>>()?,
        })?)
    }

    /// Returns true while the outcome of a task is folded, here or in a subgraph, and not recorded.
    pub(crate) fn is_midway(&self) -> bool {
        self.solo.is_some() || DynScope::children(self).any(|(_, child)| child.is_midway())
    }

    /// Restores a scope from its stored form.
    pub(crate) fn from_saved(graph: &Graph<S>, saved: &str) -> Result<Self, RunError> {
        // A state may have megabytes: one of this version is parsed where it stands.
        let own = serde_json::from_str::<SavedScope<S, Vec<S::Update>>>(saved);
        let (machine, version, fold, children) = match own {
            Ok(own) if own.fold.version == S::VERSION => (
                own.machine,
                S::VERSION,
                StateFold::of_own(own.fold),
                own.children,
            ),
            _ => {
                let saved: SavedScope<Json, Json> = serde_json::from_str(saved)?;
                let version = saved.fold.version;
                (saved.machine, version, saved.fold.wake()?, saved.children)
            }
        };
        let mut names = graph.0.names.clone();
        let machine = machine.wake(&mut names);
        let machine =
            machine.map_err(|error| RunError::new(RunErrorKind::Format).because(error))?;
        let mut scope = Self::woken(graph, machine, fold);
        (scope.names, scope.version) = (names, version);
        for (task, saved) in children {
            let path = scope.names.path(&task).map_err(unreadable)?;
            match graph.0.nodes.get(path.node.at()).map(|wire| &wire.work) {
                Some(NodeWork::Sub(sub)) => {
                    let mut child = sub.blank();
                    child.wake(saved.get())?;
                    scope.children.insert(path, child);
                }
                _ => {
                    scope.lost.insert(path);
                }
            }
        }
        Ok(scope)
    }

    /// Collects the nodes, subgraphs and joins that the thread refers to and the graph no longer
    /// has.
    pub(crate) fn check(&self, gone: &mut Vec<String>) {
        if !matches!(
            self.machine.phase(),
            ThreadPhase::Running | ThreadPhase::Failed { .. }
        ) {
            return;
        }
        for task in self.machine.frontier() {
            let wire = self.graph.0.nodes.get(task.path.node.at());
            match wire.map(|wire| &wire.work) {
                None => {
                    let node = &*self.names.name(task.path.node);
                    gone.push(format!("node {node:?}{}", self.inside()));
                }
                Some(_) if self.lost.contains(&task.path) => {
                    let node = &*self.names.name(task.path.node);
                    gone.push(format!("the subgraph of node {node:?}{}", self.inside()));
                }
                Some(_) => {}
            }
        }
        self.check_joins(gone);
        self.children.values().for_each(|child| child.check(gone));
    }

    fn check_joins(&self, gone: &mut Vec<String>) {
        let names = &self.graph.0.names;
        for (join, arrived) in self.machine.half_filled() {
            let mut joins = self.graph.0.joins.iter();
            let known = joins.find(|known| *names.name(known.to) == **join);
            let from = |name: &String| {
                known.is_some_and(|known| {
                    let mut from = known.from.iter();
                    from.any(|from| *names.name(*from) == **name)
                })
            };
            if !arrived.iter().all(from) {
                let from = arrived.join(", ");
                gone.push(format!(
                    "the join into {join:?} from {from}{}",
                    self.inside()
                ));
            }
        }
    }

    fn inside(&self) -> String {
        let place = self.at.as_ref();
        place.map_or_else(String::new, |place| format!(" in {}", place.text))
    }

    /// Changes the state as an operator, and finishes an open task if one is given.
    pub(crate) fn amend(
        &mut self,
        updates: Vec<S::Update>,
        task: Option<TaskPath>,
        by: String,
        why: String,
        engine: &mut Engine,
    ) -> Result<(), RunError> {
        let written = write_updates(&updates)?;
        match task {
            None => self.fold.apply(updates),
            Some(path) => {
                if let Some(position) = self.machine.position(&path) {
                    self.fold.stage(position, updates);
                    self.children.remove(&path);
                }
            }
        }
        let amended = Fact::Amended {
            updates: written,
            task,
            by,
            why,
        };
        self.record(amended, engine);
        Ok(())
    }
}

fn unreadable(error: BadPath) -> RunError {
    RunError::new(RunErrorKind::Format).because(error)
}
