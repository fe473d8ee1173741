use std::{any::Any, sync::Arc};

use fugato_state::{InterruptId, Millis, State};
use futures::future::BoxFuture;
use serde_json::Value;

use super::{Scope, ScopeAddress, place};
use crate::{
    BoxError, RunError,
    codec::StoredPath,
    engine::Engine,
    machine::{Directive, EffectRecord, Fact, Json, Machine, Names, ProgramVersion, TaskPath},
    tasks::Attempt,
};

/// A scope with an erased state type.
pub(crate) trait DynScope: Send {
    fn machine(&self) -> &Machine;
    fn machine_mut(&mut self) -> &mut Machine;
    fn at(&self) -> &ScopeAddress;
    /// Returns the state, for the mapping that knows its type.
    fn state(&self) -> &dyn Any;
    fn advance(&mut self, engine: &mut Engine) -> Result<Directive, RunError>;
    fn record(&mut self, fact: Fact<TaskPath>, engine: &mut Engine);
    fn name_of(&self, path: TaskPath) -> String;
    /// Returns the updates of a finished task whose step is open, as an array.
    fn staged(&self, position: usize) -> Result<Value, serde_json::Error>;
    /// Returns the attempt of a ready task as a future.
    fn future(&self, position: usize, engine: &Engine) -> Option<BoxFuture<'static, AttemptEnd>>;
    /// Handles the end of an attempt, unless it is no longer wanted.
    fn complete(&mut self, done: AttemptEnd, engine: &mut Engine) -> Result<(), RunError>;
    /// Lets a task ask a person about an action in doubt.
    fn ask_person(
        &mut self,
        path: TaskPath,
        key: &str,
        whole_thread: Option<EffectRecord>,
        problem: Option<String>,
        engine: &mut Engine,
    );
    /// Tries out an answer before it is accepted.
    fn try_out(&self, id: &InterruptId, answer: &Value) -> Result<(), RunError>;
    fn is_outgrown(&self, id: &InterruptId, answer: &Value) -> bool;
    /// Returns the questions of this scope that pauses ask with another schema today.
    fn changed_questions(&self) -> Vec<InterruptId>;
    /// Returns the void approvals of this scope.
    fn void_approvals(&self, amended: bool, incarnation: u64, now: Millis) -> Vec<InterruptId>;
    /// Finishes a task on an operator's word.
    fn finish(
        &mut self,
        path: TaskPath,
        updates: Vec<Value>,
        by: (String, String),
        engine: &mut Engine,
    ) -> Result<(), RunError>;
    /// Returns the scope under these tasks.
    fn scope(&self, trail: &[TaskPath]) -> Option<&dyn DynScope>;
    /// Returns the scope under these tasks, and marks each child on the way as to be advanced.
    fn scope_mut(&mut self, trail: &[TaskPath]) -> Option<&mut dyn DynScope>;
    fn children(&self) -> Box<dyn Iterator<Item = (TaskPath, &dyn DynScope)> + '_>;
    fn children_mut(&mut self)
    -> Box<dyn Iterator<Item = (TaskPath, &mut Box<dyn DynScope>)> + '_>;
    /// Marks every child as to be advanced.
    fn mark_dirty(&mut self);
    fn place(&mut self, at: ScopeAddress);
    fn follow(&mut self, scope: &str, fact: Fact<StoredPath<'_>>) -> Result<(), RunError>;
    fn save(&self) -> Result<Json, RunError>;
    fn is_midway(&self) -> bool;
    fn wake(&mut self, saved: &str) -> Result<(), RunError>;
    fn names(&self) -> Arc<Names>;
    /// Begins the subgraph with its given state.
    fn enter(&mut self, engine: &mut Engine) -> Result<(), RunError>;
    /// Collects the nodes, subgraphs and joins that the thread refers to and the graph no longer
    /// has.
    fn check(&self, gone: &mut Vec<String>);
    /// Returns the version of the state that wrote last, and that of this program.
    fn versions(&self) -> (u32, u32);
    /// Sets the state of each task that is a subgraph from its scope.
    fn sync_states(&mut self);
    fn take_over(
        &mut self,
        under: &ProgramVersion,
        begun: bool,
        engine: &mut Engine,
    ) -> Option<(String, u32)>;
    fn retry(&mut self, under: &ProgramVersion, engine: &mut Engine);
    /// Handles a task that died outside of its future.
    fn fail_lost(
        &mut self,
        path: TaskPath,
        attempt: u32,
        engine: &mut Engine,
    ) -> Result<(), RunError>;
    /// Applies the staged updates of finished tasks, although their step never closes.
    fn keep_finished(&mut self);
}

/// The end of an attempt of a task.
pub(crate) struct AttemptEnd {
    pub(crate) at: ScopeAddress,
    pub(crate) path: TaskPath,
    pub(crate) attempt: u32,
    /// An [`Attempt`] of the scope's updates.
    pub(crate) result: Box<dyn Any + Send>,
}

impl<S: State> DynScope for Scope<S> {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    fn at(&self) -> &ScopeAddress {
        &self.at
    }

    fn state(&self) -> &dyn Any {
        &*self.fold.state
    }

    fn advance(&mut self, engine: &mut Engine) -> Result<Directive, RunError> {
        Self::advance(self, engine)
    }

    fn record(&mut self, fact: Fact<TaskPath>, engine: &mut Engine) {
        Self::record(self, fact, engine);
    }

    fn name_of(&self, path: TaskPath) -> String {
        self.full_name(path)
    }

    fn staged(&self, position: usize) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self.fold.staged(position))
    }

    fn future(&self, position: usize, engine: &Engine) -> Option<BoxFuture<'static, AttemptEnd>> {
        self.attempt_of(position, engine)
    }

    fn complete(&mut self, done: AttemptEnd, engine: &mut Engine) -> Result<(), RunError> {
        let Some(position) = self.wanted(done.path, done.attempt) else {
            return Ok(());
        };
        match done.result.downcast::<Attempt<S::Update>>() {
            Ok(attempt) => self.take_in(position, *attempt, engine),
            Err(_) => Ok(()),
        }
    }

    fn ask_person(
        &mut self,
        path: TaskPath,
        key: &str,
        whole_thread: Option<EffectRecord>,
        problem: Option<String>,
        engine: &mut Engine,
    ) {
        let known = whole_thread.or_else(|| self.machine.effect(Some(&path), key).cloned());
        if let Some(known) = known {
            Self::ask_person(self, path, &known, problem.as_deref(), engine);
        }
    }

    fn try_out(&self, id: &InterruptId, answer: &Value) -> Result<(), RunError> {
        Self::try_out(self, id, answer)
    }

    fn is_outgrown(&self, id: &InterruptId, answer: &Value) -> bool {
        Self::is_outgrown(self, id, answer)
    }

    fn changed_questions(&self) -> Vec<InterruptId> {
        Self::changed_questions(self)
    }

    fn void_approvals(&self, amended: bool, incarnation: u64, now: Millis) -> Vec<InterruptId> {
        Self::void_approvals(self, amended, incarnation, now)
    }

    fn finish(
        &mut self,
        path: TaskPath,
        updates: Vec<Value>,
        (by, why): (String, String),
        engine: &mut Engine,
    ) -> Result<(), RunError> {
        let read = updates.iter().cloned().map(serde_json::from_value);
        let typed = read.collect::<Result<Vec<S::Update>, _>>()?;
        self.amend(typed, Some(path), by, why, engine)
    }

    fn scope(&self, trail: &[TaskPath]) -> Option<&dyn DynScope> {
        match trail.split_first() {
            None => Some(self),
            Some((path, rest)) => self.children.get(path)?.scope(rest),
        }
    }

    fn scope_mut(&mut self, trail: &[TaskPath]) -> Option<&mut dyn DynScope> {
        match trail.split_first() {
            None => Some(self),
            Some((path, rest)) => {
                let child = self.children.get_mut(path)?;
                self.stirred.push(*path);
                child.scope_mut(rest)
            }
        }
    }

    fn children(&self) -> Box<dyn Iterator<Item = (TaskPath, &dyn DynScope)> + '_> {
        let children = self.children.iter();
        Box::new(children.map(|(path, child)| (*path, &**child)))
    }

    fn children_mut(
        &mut self,
    ) -> Box<dyn Iterator<Item = (TaskPath, &mut Box<dyn DynScope>)> + '_> {
        let children = self.children.iter_mut();
        Box::new(children.map(|(path, child)| (*path, child)))
    }

    fn mark_dirty(&mut self) {
        self.stirred.extend(self.children.keys());
        self.children
            .values_mut()
            .for_each(|child| child.mark_dirty());
    }

    fn place(&mut self, at: ScopeAddress) {
        self.at = at;
        for (path, child) in &mut self.children {
            let names = child.names();
            child.place(Some(place::under(&self.at, &self.names, *path, names)));
        }
    }

    fn follow(&mut self, scope: &str, fact: Fact<StoredPath<'_>>) -> Result<(), RunError> {
        Self::follow(self, scope, fact)
    }

    fn save(&self) -> Result<Json, RunError> {
        Self::save(self)
    }

    fn is_midway(&self) -> bool {
        Self::is_midway(self)
    }

    fn wake(&mut self, saved: &str) -> Result<(), RunError> {
        *self = Self::from_saved(&self.graph, saved)?;
        Ok(())
    }

    fn names(&self) -> Arc<Names> {
        self.names.clone()
    }

    fn enter(&mut self, engine: &mut Engine) -> Result<(), RunError> {
        let state = serde_json::value::to_raw_value(&*self.fold.state)?;
        let next = vec![crate::route::entry(&self.graph, &self.machine)];
        let entered = Fact::Entered {
            version: S::VERSION,
            state,
            next,
        };
        Self::record(self, entered, engine);
        Ok(())
    }

    fn check(&self, gone: &mut Vec<String>) {
        Self::check(self, gone);
    }

    fn versions(&self) -> (u32, u32) {
        (self.version, S::VERSION)
    }

    fn sync_states(&mut self) {
        Self::sync_children(self);
    }

    fn take_over(
        &mut self,
        under: &ProgramVersion,
        begun: bool,
        engine: &mut Engine,
    ) -> Option<(String, u32)> {
        Self::take_over(self, under, begun, engine)
    }

    fn retry(&mut self, under: &ProgramVersion, engine: &mut Engine) {
        Self::retry(self, under, engine);
    }

    fn fail_lost(
        &mut self,
        path: TaskPath,
        attempt: u32,
        engine: &mut Engine,
    ) -> Result<(), RunError> {
        let lost = Attempt::Panicked("it never said how it ended".into());
        match self.wanted(path, attempt) {
            Some(position) => self.take_in(position, lost, engine),
            None => Ok(()),
        }
    }

    fn keep_finished(&mut self) {
        self.fold.close();
        self.children.clear();
    }
}

/// A subgraph as a node: the mapping into and out of its state.
pub(crate) trait Subgraph<S: State>: Send + Sync {
    /// Returns a scope whose state is not known yet.
    fn blank(&self) -> Box<dyn DynScope>;
    /// Returns a scope whose state is made from the state around it.
    fn enter(&self, entering: crate::SubgraphInput<'_, S>) -> Result<Box<dyn DynScope>, BoxError>;
    /// Returns the updates of the state around it that its end makes.
    fn leave(&self, state: &S, child: &dyn DynScope) -> Result<Vec<S::Update>, BoxError>;
    /// Returns the fingerprint of the graph inside.
    fn picture(&self) -> String;
}
