use std::sync::Arc;

use fugato_state::{MigrateError, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    RunError,
    machine::{Fact, Json, Machine, TaskPath},
};

/// The state of a thread, and the outcomes that wait for their step to close.
pub(crate) struct StateFold<S: State> {
    pub(crate) state: Arc<S>,
    /// The updates of finished tasks, by position in the frontier.
    staged: Vec<Option<Vec<S::Update>>>,
}

impl<S: State> StateFold<S> {
    pub(crate) fn new(state: S) -> Self {
        Self {
            state: Arc::new(state),
            staged: vec![],
        }
    }

    /// Applies updates at once, in place unless a snapshot of the state is still held.
    pub(crate) fn apply(&mut self, updates: Vec<S::Update>) {
        if !updates.is_empty() {
            let state = Arc::make_mut(&mut self.state);
            for update in updates {
                state.apply(update);
            }
        }
    }

    /// Stages the updates of a task until its step closes.
    pub(crate) fn stage(&mut self, position: usize, updates: Vec<S::Update>) {
        if self.staged.len() <= position {
            self.staged.resize_with(position + 1, || None);
        }
        if let Some(place) = self.staged.get_mut(position) {
            *place = Some(updates);
        }
    }

    /// Removes and returns the staged updates of a task that leaves a frontier of `tasks` tasks.
    /// The last task of the frontier takes its position.
    pub(crate) fn leave(&mut self, position: usize, tasks: usize) -> Vec<S::Update> {
        if self.staged.is_empty() {
            return vec![];
        }
        self.staged.resize_with(tasks, || None);
        if position >= tasks {
            return vec![];
        }
        self.staged.swap_remove(position).unwrap_or_default()
    }

    /// Returns the staged updates of a task; none without any.
    pub(crate) fn staged(&self, position: usize) -> &[S::Update] {
        let staged = self.staged.get(position).and_then(Option::as_ref);
        staged.map_or(&[], Vec::as_slice)
    }

    /// Discards the staged updates, because their step will never close.
    pub(crate) fn discard(&mut self) {
        self.staged.clear();
    }

    /// Applies the staged updates, in the order of the frontier.
    #[inline]
    pub(crate) fn close(&mut self) {
        if !self.staged.is_empty() {
            self.apply_staged();
        }
    }

    fn apply_staged(&mut self) {
        let mut staged = std::mem::take(&mut self.staged);
        for updates in staged.drain(..).flatten() {
            self.apply(updates);
        }
        self.staged = staged;
    }

    /// Applies a fact of the log, before the machine does. `from` is the version of the state that
    /// wrote it.
    pub(crate) fn follow(
        &mut self,
        fact: &Fact<TaskPath>,
        machine: &Machine,
        from: u32,
    ) -> Result<(), RunError> {
        match fact {
            Fact::Created { state, .. } | Fact::Entered { state, .. } => {
                self.state = Arc::new(read_state(state, from)?);
            }
            Fact::Started { updates, .. } => {
                self.staged.clear();
                self.apply(read_updates::<S>(updates.as_ref(), from)?);
            }
            Fact::Stepped { task, updates, .. } => {
                let updates = read_updates::<S>(updates.as_ref(), from)?;
                self.step(task, updates, machine);
            }
            Fact::Amended {
                updates,
                task: None,
                ..
            } => self.apply(read_updates::<S>(updates.as_ref(), from)?),
            Fact::Finished { task, updates, .. }
            | Fact::Amended {
                task: Some(task),
                updates,
                ..
            } => {
                if let Some(position) = machine.position(task) {
                    self.stage(position, read_updates::<S>(updates.as_ref(), from)?);
                }
            }
            // The updates of tasks that finished in a cancelled step are kept.
            Fact::Closed { .. } | Fact::Cancelled { .. } => self.close(),
            _ => {}
        }
        Ok(())
    }

    /// Applies the updates of a task that is done and leaves the frontier, before the machine takes it
    /// out.
    pub(crate) fn step(&mut self, task: &TaskPath, updates: Vec<S::Update>, machine: &Machine) {
        if let Some(position) = machine.position(task) {
            let staged = self.leave(position, machine.frontier().len());
            self.apply(staged);
        }
        self.apply(updates);
    }

    /// Restores a fold that this version of the state wrote.
    pub(crate) fn of_own(saved: SavedFold<S, Vec<S::Update>>) -> Self {
        Self {
            state: Arc::new(saved.state),
            staged: saved.staged,
        }
    }

    /// Returns the stored form of the fold, without the machine.
    pub(crate) fn rest(&self) -> SavedFold<&S, &[S::Update]> {
        let staged = self.staged.iter();
        SavedFold {
            version: S::VERSION,
            state: &*self.state,
            staged: staged.map(|updates| updates.as_deref()).collect(),
        }
    }
}

/// The stored form of a fold.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedFold<T, U> {
    pub(crate) version: u32,
    state: T,
    #[serde(default = "Vec::new")]
    staged: Vec<Option<U>>,
}

impl SavedFold<Json, Json> {
    /// Restores a fold that any version of the state wrote.
    pub(crate) fn wake<S: State>(self) -> Result<StateFold<S>, RunError> {
        let from = self.version;
        let state = read_state(&self.state, from)?;
        let staged = self.staged.iter().map(|updates| match updates {
            Some(updates) => read_updates::<S>(Some(updates), from).map(Some),
            None => Ok(None),
        });
        Ok(StateFold {
            state: Arc::new(state),
            staged: staged.collect::<Result<_, _>>()?,
        })
    }
}

/// Returns updates in their stored form; none if there are none.
pub(crate) fn write_updates<U: Serialize>(updates: &[U]) -> Result<Option<Json>, RunError> {
    if updates.is_empty() {
        return Ok(None);
    }
    Ok(Some(serde_json::value::to_raw_value(updates)?))
}

/// The room of updates that are not large, in bytes.
const FEW: usize = 128;

/// Writes updates in their stored form into a room; none if there are none.
pub(crate) fn write_into<U: Serialize>(
    room: &mut Vec<u8>,
    updates: &[U],
) -> Result<Option<Vec<u8>>, RunError> {
    if updates.is_empty() {
        return Ok(None);
    }
    let mut written = std::mem::take(room);
    written.reserve(FEW);
    serde_json::to_writer(&mut written, updates)?;
    Ok(Some(written))
}

/// Reads a state that version `from` wrote. A state of this version is not migrated.
fn read_state<S: State>(state: &Json, from: u32) -> Result<S, RunError> {
    if from == S::VERSION {
        return Ok(serde_json::from_str(state.get()).map_err(|error| unreadable::<S>(error))?);
    }
    Ok(S::migrate_state(from, serde_json::from_str(state.get())?)?)
}

fn unreadable<S: State>(source: serde_json::Error) -> MigrateError {
    let (from, to) = (S::VERSION, S::VERSION);
    MigrateError { from, to, source }
}

fn read_updates<S: State>(updates: Option<&Json>, from: u32) -> Result<Vec<S::Update>, RunError> {
    let Some(updates) = updates else {
        return Ok(vec![]);
    };
    if from == S::VERSION {
        return Ok(serde_json::from_str(updates.get()).map_err(|error| unreadable::<S>(error))?);
    }
    let mut migrated = vec![];
    for old in serde_json::from_str::<Vec<Value>>(updates.get())? {
        migrated.extend(S::migrate_update(from, old)?);
    }
    Ok(migrated)
}
