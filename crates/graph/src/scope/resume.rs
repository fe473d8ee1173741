//! Going on with what somebody else began.
use fugato_state::State;

use super::{Scope, Sub};
use crate::{
    engine::Engine,
    machine::{Fact, Path, TaskState, Todo, Under},
};

impl<S: State> Scope<S> {
    /// After a log was read: each task that is a subgraph stands as what is inside it.
    pub(super) fn reflect(&mut self) {
        for (path, child) in &mut self.children {
            child.reflect();
            let Some(position) = self.machine.position(path) else {
                continue;
            };
            let known = self.machine.task(position).map(|task| task.state);
            if matches!(known, Some(TaskState::Done | TaskState::Failed) | None) {
                continue;
            }
            let (state, until) = match child.machine().todo() {
                Todo::Park => (TaskState::Asking, None),
                Todo::Sleep(until) => (TaskState::Sleeping, Some(until)),
                _ => (TaskState::Ready, None),
            };
            self.machine.mirror(position, state, until);
        }
    }

    /// Counts an attempt for each unfinished task, and says that the program has changed, if it
    /// has. Returns the task that crashed once too often, if one did.
    pub(super) fn take_over(
        &mut self,
        under: &Under,
        engine: &mut Engine,
    ) -> Option<(String, u32)> {
        for task in self.machine.frontier() {
            if let Some(until) = task.until.filter(|_| task.state == TaskState::Sleeping) {
                engine.wake_at(until, &self.at);
            }
        }
        let unfinished = self.machine.frontier().iter().filter(|task| {
            task.state == TaskState::Ready && !self.children.contains_key(&task.path)
        });
        let tasks: Vec<(Path, u32)> = unfinished
            .map(|task| (task.path, task.attempt + 1))
            .collect();
        let limit = engine.options.crash_limit;
        let crashed = self.machine.frontier().iter().find(|task| {
            tasks.iter().any(|(path, _)| *path == task.path) && task.crashes + 1 >= limit
        });
        let mut crashed = crashed.map(|task| (self.full_name(task.path), task.attempt));
        let under = self.under(under);
        let same = match self.at {
            None => self.machine.under() == Some(&under),
            Some(_) => self.version == under.state,
        };
        if !(tasks.is_empty() && same) {
            self.record(
                Fact::Resumed {
                    under: under.clone(),
                    tasks,
                },
                engine,
            );
        }
        for child in self.children.values_mut() {
            let inside = child.take_over(&under, engine);
            crashed = crashed.or(inside);
        }
        crashed
    }

    /// Tries again what failed, and nothing else.
    pub(super) fn retry(&mut self, under: &Under, engine: &mut Engine) {
        let again = |state| matches!(state, TaskState::Failed | TaskState::Ready);
        let tasks = self.machine.frontier().iter();
        let tasks = tasks
            .filter(|task| again(task.state))
            .map(|task| (task.path, 1))
            .collect();
        let under = self.under(under);
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

    fn under(&self, root: &Under) -> Under {
        Under {
            graph: root.graph.clone(),
            state: S::VERSION,
        }
    }
}

/// The scope that asks a question.
pub(crate) fn asker(scope: &dyn Sub, id: &fugato_state::InterruptId) -> Option<Vec<Path>> {
    if scope.machine().asker(id).is_some() {
        return Some(super::trail(scope.at()).to_vec());
    }
    let mut children = scope.children();
    children.find_map(|(_, child)| asker(child, id))
}

/// The scope and path of an open task.
pub(crate) fn find(scope: &dyn Sub, name: &str) -> Option<(Vec<Path>, Path)> {
    let mut frontier = scope.machine().frontier().iter();
    if let Some(task) = frontier.find(|task| scope.name_of(task.path) == name) {
        return Some((super::trail(scope.at()).to_vec(), task.path));
    }
    let mut children = scope.children();
    children.find_map(|(_, child)| find(child, name))
}
