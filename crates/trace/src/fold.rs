use std::collections::HashMap;

use fugato_graph::{HistoryEntry, HistoryEvent};
use fugato_state::{InterruptId, Millis, say};
use fugato_stream::EventKind;

use crate::run::{AttemptStatus, AttemptTrace, RunStatus, RunTrace, TaskTrace, span};

/// The traces of the records so far.
#[derive(Default)]
pub(crate) struct TraceBuilder {
    pub(crate) runs: Vec<RunTrace>,
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
    pub(crate) fn push(&mut self, entry: &HistoryEntry) {
        let (run, event) = (entry.run, entry.event());
        if self.runs.last().is_none_or(|last| last.run != run) && !is_about_the_thread(event) {
            self.runs.push(RunTrace {
                run,
                seq: entry.seq,
                began: entry.at,
                ended: None,
                end: None,
                tasks: vec![],
            });
        }
        let place = TracePoint {
            at: entry.at,
            scope: entry.scope.clone(),
        };
        let input = self.take(&place, event);
        for (task, item) in entry.due() {
            self.begin(&place, &task, item.unwrap_or(&input));
        }
    }

    /// Takes an event in, and returns the input of the tasks that are due after it.
    fn take(&mut self, place: &TracePoint, event: HistoryEvent<'_>) -> String {
        match event {
            HistoryEvent::Started { updates } => return updates.unwrap_or_default().to_owned(),
            HistoryEvent::Entered { state } => return state.to_owned(),
            HistoryEvent::Stepped {
                task,
                attempt,
                updates,
                notes,
            } => {
                let output = updates.unwrap_or_default();
                self.done(place, (task, attempt), output, notes);
                return output.to_owned();
            }
            HistoryEvent::Finished {
                task,
                attempt,
                updates,
                notes,
            } => {
                let output = updates.unwrap_or_default();
                self.done(place, (task, attempt), output, notes);
                let changed = self.changed.entry(place.scope.clone()).or_default();
                changed.push_str(output);
            }
            HistoryEvent::Closed => return self.changed.remove(&place.scope).unwrap_or_default(),
            HistoryEvent::Failed {
                task,
                attempt,
                error,
                retry_at,
            } => {
                let error = Some(error.to_owned());
                let seen = self.ended(place, task, attempt, AttemptStatus::Failed, error);
                if let Some(began) = retry_at {
                    seen.end = AttemptStatus::Open;
                    seen.attempts.push(begun(attempt.saturating_add(1), began));
                    self.reopen(place, task);
                }
            }
            HistoryEvent::Resumed { tasks, .. } => self.resumed(place, tasks),
            HistoryEvent::Intended {
                task: Some(task),
                key,
                ..
            } => self.effect(place, task, key, false),
            HistoryEvent::Receipt {
                task: Some(task),
                key,
            } => self.effect(place, task, key, true),
            other => self.wait(place, other),
        }
        String::new()
    }

    fn wait(&mut self, place: &TracePoint, event: HistoryEvent<'_>) {
        match event {
            HistoryEvent::Asked { task, questions } => {
                self.seen(place, task).end = AttemptStatus::Waiting;
                let address = (place.scope.clone(), task.to_owned());
                let ids = questions.iter().map(|question| question.id.clone());
                self.asked.extend(ids.map(|id| (id, address.clone())));
                self.since.entry(address).or_insert(place.at);
            }
            HistoryEvent::Answered { answers, .. } => {
                for (id, _) in answers {
                    self.answered(place, id);
                }
            }
            HistoryEvent::Expired { id } | HistoryEvent::Withdrawn { id } => {
                self.answered(place, id);
            }
            HistoryEvent::Amended {
                task: Some(task), ..
            } => {
                let attempts = &self.seen(place, task).attempts;
                let number = attempts.last().map_or(1, |last| last.number);
                self.ended(place, task, number, AttemptStatus::Done, None);
            }
            other => self.rest(place, other),
        }
    }

    fn rest(&mut self, place: &TracePoint, event: HistoryEvent<'_>) {
        let end = match event {
            // A scope ends with its task.
            _ if !place.scope.is_empty() => return,
            HistoryEvent::RunEnded { .. } => RunStatus::Finished,
            HistoryEvent::RunFailed { error } => RunStatus::Failed {
                error: error.to_owned(),
            },
            HistoryEvent::Cancelled { by, why, .. } => {
                for (run, task) in self.open.drain().map(|(_, at)| at) {
                    let run = self.runs.get_mut(run);
                    if let Some(task) = run.and_then(|run| run.tasks.get_mut(task)) {
                        task.end = AttemptStatus::Dropped;
                    }
                }
                let (by, why) = (by.to_owned(), why.to_owned());
                RunStatus::Cancelled { by, why }
            }
            _ => return,
        };
        if let Some(run) = self.runs.last_mut() {
            run.ended = Some(place.at);
            run.end = Some(end);
        }
    }

    fn done(
        &mut self,
        place: &TracePoint,
        (task, attempt): (&str, u32),
        output: &str,
        notes: &[EventKind],
    ) {
        let seen = self.ended(place, task, attempt, AttemptStatus::Done, None);
        seen.output = cut(output);
        seen.notes = notes.to_vec();
    }

    /// Adds a task that is due from now on.
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
    fn resumed(&mut self, place: &TracePoint, tasks: &[(String, u32)]) {
        for (task, number) in tasks {
            let number = *number;
            self.reopen(place, task);
            let seen = self.seen(place, task);
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
fn is_about_the_thread(event: HistoryEvent<'_>) -> bool {
    matches!(
        event,
        HistoryEvent::Created
            | HistoryEvent::Forked { .. }
            | HistoryEvent::Migrated
            | HistoryEvent::Amended { task: None, .. }
            | HistoryEvent::HandedOver
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
