use std::collections::HashMap;

use fugato_state::{InterruptId, Millis, say};

use super::{AttemptStatus, AttemptTrace, RunStatus, RunTrace, TaskTrace, span};
use crate::{
    HistoryEntry,
    machine::{Fact, NextTask},
};

/// The traces of the records so far.
#[derive(Default)]
pub(super) struct TraceBuilder {
    pub(super) runs: Vec<RunTrace>,
    /// The positions of tasks that may still change: run and task, by scope and address.
    open: HashMap<(String, String), (usize, usize)>,
    /// The updates of tasks whose step has not closed, by scope.
    changed: HashMap<String, String>,
    /// The task that asks each open question, by scope and address.
    asked: HashMap<InterruptId, (String, String)>,
    since: HashMap<(String, String), Millis>,
}

/// The time and the scope of a record.
struct TracePoint {
    at: Millis,
    scope: String,
}

impl TraceBuilder {
    pub(super) fn push(&mut self, entry: HistoryEntry) {
        let HistoryEntry {
            seq,
            at,
            run,
            scope,
            fact,
        } = entry;
        if self.runs.last().is_none_or(|last| last.run != run) && !is_about_the_thread(&fact) {
            self.runs.push(RunTrace {
                run,
                seq,
                began: at,
                ended: None,
                end: None,
                tasks: vec![],
            });
        }
        self.take(&TracePoint { at, scope }, fact);
    }

    fn take(&mut self, place: &TracePoint, fact: Fact<String>) {
        match fact {
            Fact::Started { updates, next, .. } => {
                self.due(
                    place,
                    next,
                    updates.as_deref().map_or("", |json| json.get()),
                );
            }
            Fact::Entered { state, next, .. } => self.due(place, next, state.get()),
            Fact::Stepped {
                task,
                attempt,
                updates,
                notes,
                routes,
            } => {
                let output = updates.as_deref().map_or("", |json| json.get());
                let seen = self.ended(place, &task, attempt, AttemptStatus::Done, None);
                seen.output = cut(output);
                seen.notes = notes;
                self.due(place, routes.next, output);
            }
            Fact::Finished {
                task,
                attempt,
                updates,
                notes,
            } => {
                let output = updates.as_deref().map_or("", |json| json.get());
                let seen = self.ended(place, &task, attempt, AttemptStatus::Done, None);
                seen.output = cut(output);
                seen.notes = notes;
                let changed = self.changed.entry(place.scope.clone()).or_default();
                changed.push_str(output);
            }
            Fact::Closed { routes } => {
                let changed = self.changed.remove(&place.scope).unwrap_or_default();
                self.due(place, routes.next, &changed);
            }
            Fact::Failed {
                task,
                attempt,
                error,
                retry_at,
            } => {
                let seen = self.ended(place, &task, attempt, AttemptStatus::Failed, Some(error));
                if let Some(began) = retry_at {
                    seen.end = AttemptStatus::Open;
                    seen.attempts.push(begun(attempt.saturating_add(1), began));
                    self.reopen(place, &task);
                }
            }
            Fact::Resumed { tasks, .. } => self.resumed(place, tasks),
            Fact::Intended {
                task: Some(task),
                key,
                ..
            } => self.effect(place, &task, &key, false),
            Fact::Receipt {
                task: Some(task),
                key,
                ..
            } => self.effect(place, &task, &key, true),
            other => self.wait(place, other),
        }
    }

    fn wait(&mut self, place: &TracePoint, fact: Fact<String>) {
        match fact {
            Fact::Asked {
                task, questions, ..
            } => {
                self.seen(place, &task).end = AttemptStatus::Waiting;
                let address = (place.scope.clone(), task);
                let ids = questions.into_iter().map(|question| question.id);
                self.asked.extend(ids.map(|id| (id, address.clone())));
                self.since.entry(address).or_insert(place.at);
            }
            Fact::Answered { answers, .. } => {
                for (id, _) in answers {
                    self.answered(place, &id);
                }
            }
            Fact::Expired { id } | Fact::Withdrawn { id } => self.answered(place, &id),
            Fact::Amended {
                task: Some(task), ..
            } => {
                let number = self
                    .seen(place, &task)
                    .attempts
                    .last()
                    .map_or(1, |last| last.number);
                self.ended(place, &task, number, AttemptStatus::Done, None);
            }
            other => self.rest(place, other),
        }
    }

    fn rest(&mut self, place: &TracePoint, fact: Fact<String>) {
        let end = match fact {
            // A scope ends with its task.
            _ if !place.scope.is_empty() => return,
            Fact::RunEnded { .. } => RunStatus::Finished,
            Fact::RunFailed { error } => RunStatus::Failed { error },
            Fact::Cancelled { by, why, .. } => {
                for (run, task) in self.open.drain().map(|(_, at)| at) {
                    let run = self.runs.get_mut(run);
                    if let Some(task) = run.and_then(|run| run.tasks.get_mut(task)) {
                        task.end = AttemptStatus::Dropped;
                    }
                }
                RunStatus::Cancelled { by, why }
            }
            _ => return,
        };
        if let Some(run) = self.runs.last_mut() {
            run.ended = Some(place.at);
            run.end = Some(end);
        }
    }

    /// Adds tasks that are due from now on.
    fn due(&mut self, place: &TracePoint, next: Vec<NextTask<String>>, input: &str) {
        for NextTask { task, items } in next {
            match items {
                None => self.begin(place, &task, input),
                Some(items) => {
                    for (at, item) in items.iter().enumerate() {
                        self.begin(place, &format!("{task}[{at}]"), item.0.get());
                    }
                }
            }
        }
    }

    fn begin(&mut self, place: &TracePoint, task: &str, input: &str) {
        self.seen(place, task).input = cut(input);
    }

    /// Returns the trace of a task, which is added if it is new.
    fn seen(&mut self, place: &TracePoint, task: &str) -> &mut TaskTrace {
        let address = (place.scope.clone(), task.to_owned());
        let last = self.runs.len().saturating_sub(1);
        let known = self.open.get(&address).copied();
        let (run, at) = known.unwrap_or_else(|| {
            let tasks = self.runs.get(last).map_or(0, |run| run.tasks.len());
            (last, tasks)
        });
        let tasks = &mut self
            .runs
            .get_mut(run)
            .expect("a record of a task is one of a run")
            .tasks;
        if known.is_none() {
            self.open.insert(address, (run, at));
            tasks.push(new(place, task));
        }
        tasks.get_mut(at).expect("it was pushed or known")
    }

    fn ended(
        &mut self,
        place: &TracePoint,
        task: &str,
        number: u32,
        end: AttemptStatus,
        error: Option<String>,
    ) -> &mut TaskTrace {
        let address = (place.scope.clone(), task.to_owned());
        self.asked.retain(|_, asking| *asking != address);
        let waited = self.since.remove(&address);
        let seen = self.seen(place, task);
        if let Some(since) = waited {
            seen.waited += span(since, place.at);
        }
        seen.end = end;
        if let Some(last) = seen.attempts.last_mut() {
            last.number = number;
            last.ended = Some(place.at);
            last.error = error;
        }
        let (run, at) = self.open.remove(&address).unwrap_or_default();
        let run = self.runs.get_mut(run).expect("it was seen there");
        run.tasks.get_mut(at).expect("it was seen there")
    }

    fn reopen(&mut self, place: &TracePoint, task: &str) {
        let found = self.runs.iter().enumerate().rev().find_map(|(run, trace)| {
            let mut tasks = trace.tasks.iter();
            let at = tasks.rposition(|known| known.scope == place.scope && known.task == task)?;
            Some((run, at))
        });
        if let Some(at) = found {
            self.open.insert((place.scope.clone(), task.to_owned()), at);
        }
    }

    /// Records that attempts under way were lost, and that failed tasks are tried again.
    fn resumed(&mut self, place: &TracePoint, tasks: Vec<(String, u32)>) {
        for (task, number) in tasks {
            self.reopen(place, &task);
            let seen = self.seen(place, &task);
            seen.end = AttemptStatus::Open;
            match seen.attempts.last_mut() {
                // It slept until its next try, which begins now.
                Some(last) if last.number == number && last.ended.is_none() => {
                    *last = begun(number, place.at);
                }
                Some(last) => {
                    if last.ended.is_none() {
                        last.ended = Some(place.at);
                        last.error = Some(lost());
                    }
                    seen.attempts.push(begun(number, place.at));
                }
                None => seen.attempts.push(begun(number, place.at)),
            }
        }
        if let Some(run) = self.runs.last_mut() {
            run.ended = None;
            run.end = None;
        }
    }

    fn answered(&mut self, place: &TracePoint, id: &InterruptId) {
        let Some(address) = self.asked.remove(id) else {
            return;
        };
        if self.asked.values().any(|other| *other == address) {
            return;
        }
        let since = self.since.remove(&address);
        let there = TracePoint {
            at: place.at,
            scope: address.0,
        };
        let seen = self.seen(&there, &address.1);
        seen.end = AttemptStatus::Open;
        if let Some(since) = since {
            seen.waited += span(since, place.at);
        }
    }

    fn effect(&mut self, place: &TracePoint, task: &str, key: &str, done: bool) {
        let effects = &mut self.seen(place, task).effects;
        match effects.iter_mut().find(|(known, _)| known == key) {
            Some((_, receipt)) => *receipt |= done,
            None => effects.push((key.to_owned(), done)),
        }
    }
}

/// Returns the error of an attempt that has no end of its own.
fn lost() -> String {
    say!(
        "the process that ran it went away",
        "运行它的进程已经不在了"
    )
}

/// Returns true if a record belongs to no run in particular, or to an earlier one.
fn is_about_the_thread(fact: &Fact<String>) -> bool {
    matches!(
        fact,
        Fact::Created { .. }
            | Fact::Forked { .. }
            | Fact::Migrated { .. }
            | Fact::Amended { task: None, .. }
            | Fact::HandedOver {}
    )
}

fn new(place: &TracePoint, task: &str) -> TaskTrace {
    TaskTrace {
        scope: place.scope.clone(),
        task: task.to_owned(),
        label: None,
        end: AttemptStatus::Open,
        attempts: vec![begun(1, place.at)],
        waited: std::time::Duration::ZERO,
        input: String::new(),
        output: String::new(),
        notes: vec![],
        effects: vec![],
    }
}

fn begun(number: u32, began: Millis) -> AttemptTrace {
    AttemptTrace {
        number,
        began,
        ended: None,
        error: None,
    }
}

/// Cuts a text between characters, with a sign that it was cut.
fn cut(text: &str) -> String {
    match text.char_indices().nth(TaskTrace::MOST_CHARACTERS - 1) {
        Some((at, last)) if at + last.len_utf8() < text.len() => {
            format!("{}…", text.get(..at).unwrap_or_default())
        }
        _ => text.to_owned(),
    }
}
