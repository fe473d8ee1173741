//! The continuation of runs that another process began.
use fugato_state::State;

use super::{DynScope, Scope};
use crate::{
    engine::Engine,
    machine::{Directive, Fact, ProgramVersion, TaskPath, TaskStatus},
};

impl<S: State> Scope<S> {
    /// Sets the state of each task that is a subgraph from its scope, after a log was read.
    pub(super) fn sync_children(&mut self) {
        for (path, child) in &mut self.children {
            child.sync_states();
            let Some(position) = self.machine.position(path) else {
                continue;
            };
            let known = self.machine.task(position).map(|task| task.state);
            if matches!(known, Some(TaskStatus::Done | TaskStatus::Failed) | None) {
                continue;
            }
            let (state, until) = match child.machine().directive() {
                Directive::Park => (TaskStatus::Asking, None),
                Directive::Sleep(until) => (TaskStatus::Sleeping, Some(until)),
                _ => (TaskStatus::Ready, None),
            };
            self.machine.mirror(position, state, until);
        }
    }

    /// Counts an attempt for each unfinished task, and records a change of the program. Returns a
    /// task that reached its crash limit, if there is one.
    ///
    /// A run that was handed over between two steps had begun nothing.
    pub(super) fn take_over(
        &mut self,
        under: &ProgramVersion,
        begun: bool,
        engine: &mut Engine,
    ) -> Option<(String, u32)> {
        let (limit, now) = (engine.options.crash_limit, engine.shared.now());
        let (mut tasks, mut crashed): (Vec<(TaskPath, u32)>, _) = (vec![], None);
        for task in self.machine.frontier() {
            match task.state {
                TaskStatus::Sleeping => {
                    let until = task.until.unwrap_or(0);
                    engine.wake_at(until, &self.at);
                    // A try that was due may have begun or not. It is recorded, so that the next
                    // crash counts.
                    if until <= now && !self.children.contains_key(&task.path) {
                        tasks.push((task.path, task.attempt));
                    }
                }
                TaskStatus::Ready if begun && !self.children.contains_key(&task.path) => {
                    tasks.push((task.path, task.attempt.saturating_add(1)));
                    if task.crashes.saturating_add(1) >= limit && crashed.is_none() {
                        crashed = Some((self.full_name(task.path), task.attempt));
                    }
                }
                _ => {}
            }
        }
        let under = Self::under(under);
        let same = match self.at {
            None => begun && self.machine.under() == Some(&under),
            Some(_) => self.version == under.state,
        };
        if !(tasks.is_empty() && same) {
            let under = under.clone();
            self.record(Fact::Resumed { under, tasks }, engine);
        }
        for child in self.children.values_mut() {
            let inside = child.take_over(&under, begun, engine);
            crashed = crashed.or(inside);
        }
        crashed
    }

    /// Retries the failed tasks, and nothing else.
    pub(super) fn retry(&mut self, under: &ProgramVersion, engine: &mut Engine) {
        let again = |state| matches!(state, TaskStatus::Failed | TaskStatus::Ready);
        let tasks = self.machine.frontier().iter();
        let tasks = tasks
            .filter(|task| again(task.state))
            .map(|task| (task.path, 1))
            .collect();
        let under = Self::under(under);
        self.record(
            Fact::Resumed {
                under: under.clone(),
                tasks,
            },
            engine,
        );
        for child in self.children.values_mut() {
            child.retry(&under, engine);
        }
    }

    fn under(root: &ProgramVersion) -> ProgramVersion {
        ProgramVersion {
            graph: root.graph.clone(),
            state: S::VERSION,
        }
    }
}

/// Returns the scope that asks a question.
pub(crate) fn asker(scope: &dyn DynScope, id: &fugato_state::InterruptId) -> Option<Vec<TaskPath>> {
    if scope.machine().asker(id).is_some() {
        return Some(super::trail(scope.at()).to_vec());
    }
    let mut children = scope.children();
    children.find_map(|(_, child)| asker(child, id))
}

/// Returns the scope and path of an open task.
pub(crate) fn find(scope: &dyn DynScope, name: &str) -> Option<(Vec<TaskPath>, TaskPath)> {
    let mut frontier = scope.machine().frontier().iter();
    let open = |task: &&crate::machine::Task<TaskPath>| {
        task.state != TaskStatus::Done && scope.name_of(task.path) == name
    };
    if let Some(task) = frontier.find(open) {
        return Some((super::trail(scope.at()).to_vec(), task.path));
    }
    let mut children = scope.children();
    children.find_map(|(_, child)| find(child, name))
}
