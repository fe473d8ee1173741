//! The facts that change a machine.
use std::cmp::Ordering;

use fugato_state::{Interrupt, InterruptId, Millis, Question, RunId};
use serde_json::Value;

use super::{
    Counts, EffectRecord, EffectStage, Fact, KeyedRequest, Machine, NextTask, ProgramVersion,
    RequestKey, RequestStatus, Routes, Task, TaskPath, TaskStatus, ThreadPhase,
};

/// The reason why a question is closed.
#[derive(Clone, Copy)]
enum QuestionEnd<'a> {
    Answered(&'a Value),
    Expired,
    Withdrawn,
}

impl Machine {
    /// Applies a fact. The same facts give the same machine.
    pub(crate) fn evolve(&mut self, fact: &Fact<TaskPath>) {
        self.left = matches!(fact, Fact::HandedOver {});
        match fact {
            Fact::Created { incarnation, .. } | Fact::Forked { incarnation, .. } => {
                self.incarnation = *incarnation;
            }
            Fact::HandedOver {} | Fact::Amended { task: None, .. } => {}
            Fact::Started {
                run,
                under,
                key,
                next,
                ..
            } => self.start(*run, under, key.as_ref(), next),
            Fact::Entered { next, .. } => {
                self.phase = ThreadPhase::Running;
                self.open(next);
            }
            Fact::Stepped { task, routes, .. } => self.step(task, routes),
            Fact::Closed { routes } => self.close(routes),
            Fact::Finished { task, .. }
            | Fact::Amended {
                task: Some(task), ..
            } => self.finish(task),
            Fact::Failed {
                task,
                error,
                retry_at,
                ..
            } => self.fail(task, error, *retry_at),
            Fact::Asked {
                task,
                memo,
                questions,
                ..
            } => self.ask(task, memo.as_ref(), questions),
            Fact::Intended { .. } | Fact::Receipt { .. } | Fact::Undone { .. } => self.act(fact),
            Fact::Spent { amounts } => {
                for (meter, amount) in amounts {
                    let spent = self.spent.entry(*meter).or_default();
                    *spent = spent.saturating_add(*amount);
                }
            }
            Fact::Answered { answers, by } => {
                if let Some(key) = by.as_ref().and_then(|by| by.key.as_ref()) {
                    self.keep_key(key, self.run);
                }
                for (id, value) in answers {
                    self.close_question(id, QuestionEnd::Answered(value));
                }
            }
            Fact::Expired { id } => self.close_question(id, QuestionEnd::Expired),
            Fact::Withdrawn { id } => self.close_question(id, QuestionEnd::Withdrawn),
            Fact::Resumed { under, tasks } => self.go_on(under, tasks),
            Fact::Migrated { under } => self.under = Some(under.clone()),
            Fact::RunEnded { .. } | Fact::RunFailed { .. } | Fact::Cancelled { .. } => {
                self.end(fact);
            }
        }
    }

    pub(crate) fn start(
        &mut self,
        run: RunId,
        under: &ProgramVersion,
        key: Option<&RequestKey>,
        next: &[NextTask<TaskPath>],
    ) {
        if let Some(key) = key {
            self.keep_key(key, run.0);
        }
        // Clearing an empty map costs more than looking.
        if !self.spent.is_empty() {
            self.spent.clear();
        }
        if !self.joins.is_empty() {
            self.joins.clear();
        }
        self.left = false;
        self.run = run.0;
        self.steps = 0;
        self.phase = ThreadPhase::Running;
        self.under = Some(under.clone());
        self.output = None;
        self.open(next);
    }

    /// Returns the names of the requests of the present run.
    pub(crate) fn open_keys(&self) -> impl Iterator<Item = &str> {
        let own = self.keys.iter().filter(|(_, known)| known.run == self.run);
        own.map(|(key, _)| key.as_str())
    }

    /// Stores a request that its caller named, and removes the expired ones.
    fn keep_key(&mut self, request: &RequestKey, run: u64) {
        self.keys.retain(|_, known| known.until > request.at);
        let keyed = KeyedRequest {
            digest: request.digest.clone(),
            run,
            until: request.until,
            end: None,
        };
        self.keys.insert(request.key.clone(), keyed);
    }

    /// Records the end of the run, also for repeats of its request.
    fn end(&mut self, fact: &Fact<TaskPath>) {
        let end = match fact {
            Fact::RunEnded { output } => {
                self.output.clone_from(output);
                self.phase = ThreadPhase::Ended;
                let output = output.clone();
                RequestStatus::Finished { output }
            }
            Fact::RunFailed { error } => {
                let error = error.clone();
                self.phase = ThreadPhase::Failed {
                    error: error.clone(),
                };
                RequestStatus::Failed { error }
            }
            Fact::Cancelled { by, why, .. } => {
                self.phase = ThreadPhase::Cancelled;
                self.joins.clear();
                self.open(&[]);
                RequestStatus::Cancelled {
                    by: by.clone(),
                    why: why.clone(),
                }
            }
            _ => return,
        };
        let run = self.run;
        for keyed in self.keys.values_mut().filter(|keyed| keyed.run == run) {
            keyed.end = Some(end.clone());
        }
    }

    /// Closes a task that is done and routed. If it was the only one, its routes are the whole
    /// frontier.
    pub(crate) fn step(&mut self, task: &TaskPath, routes: &Routes<TaskPath>) {
        self.left = false;
        if self.frontier.len() <= 1 {
            return self.close(routes);
        }
        self.arrive(routes);
        if let Some(position) = self.position(task) {
            let task = self.frontier.swap_remove(position);
            *self.counts.of(task.state) -= 1;
            self.positions.remove(&task.path);
            if let Some(moved) = self.frontier.get(position) {
                self.positions.insert(moved.path, position);
            }
        }
        self.extend(&routes.next);
    }

    fn close(&mut self, routes: &Routes<TaskPath>) {
        self.arrive(routes);
        self.open(&routes.next);
    }

    #[inline]
    fn arrive(&mut self, routes: &Routes<TaskPath>) {
        self.steps = self.steps.saturating_add(1);
        for (join, from) in &routes.arrived {
            let arrived = self.joins.entry(join.clone()).or_default();
            if !arrived.contains(from) {
                arrived.push(from.clone());
            }
        }
        for join in &routes.joined {
            self.joins.remove(join);
        }
    }

    fn open(&mut self, next: &[NextTask<TaskPath>]) {
        self.failures.clear();
        self.positions.clear();
        self.counts = Counts::default();
        // Most steps have one task, which takes the place of the last one.
        if let ([last], [NextTask { task, items: None }]) = (self.frontier.as_mut_slice(), next) {
            last.renew(*task);
            self.counts.ready = 1;
            self.visit(*task);
        } else {
            self.frontier.clear();
            self.extend(next);
        }
    }

    fn visit(&mut self, task: TaskPath) {
        if self.visits.len() <= task.node.at() {
            self.visits.resize(task.node.at() + 1, 0);
        }
        if let Some(visit) = self.visits.get_mut(task.node.at()) {
            *visit = task.visit;
        }
    }

    fn extend(&mut self, next: &[NextTask<TaskPath>]) {
        let known = self.frontier.len();
        if self.frontier.capacity() == 0 {
            // A task is large, and most steps have one: no room for others.
            self.frontier.reserve_exact(next.len());
        }
        for NextTask { task, items } in next {
            self.visit(*task);
            match items {
                None => self.frontier.push(Task::new(*task, None)),
                Some(items) => self.frontier.extend(items.iter().zip(0..).map(|(item, n)| {
                    Task::new(
                        TaskPath {
                            index: Some(n),
                            ..*task
                        },
                        Some(item.clone()),
                    )
                })),
            }
        }
        self.counts.ready += self.frontier.len() - known;
        // One task is found without an index; the index is made when there are more.
        let unlisted = self.positions.len();
        if self.frontier.len() > 1 {
            let paths = self.frontier.iter().zip(0..).skip(unlisted.min(known));
            self.positions
                .extend(paths.map(|(task, at)| (task.path, at)));
        }
    }

    fn finish(&mut self, path: &TaskPath) {
        self.failures.retain(|(failed, _)| failed != path);
        if let Some(task) = self.task_mut(path) {
            task.until = None;
            task.ask = None;
        }
        self.set_at(path, TaskStatus::Done);
    }

    fn fail(&mut self, path: &TaskPath, error: &str, retry_at: Option<Millis>) {
        let Some(until) = retry_at else {
            self.failures.push((*path, error.to_owned()));
            return self.set_at(path, TaskStatus::Failed);
        };
        if let Some(task) = self.task_mut(path) {
            task.attempt = task.attempt.saturating_add(1);
            task.until = Some(until);
        }
        self.set_at(path, TaskStatus::Sleeping);
    }

    /// Records an intent, a receipt, or an action that did not happen.
    fn act(&mut self, fact: &Fact<TaskPath>) {
        let (Fact::Intended { task, key, .. }
        | Fact::Receipt { task, key, .. }
        | Fact::Undone { task, key, .. }) = fact
        else {
            return;
        };
        let known = match task {
            None => Some(&mut self.effects),
            Some(path) => self.task_mut(path).map(|task| &mut task.effects),
        };
        let Some(known) = known else { return };
        let (digest, stage) = match fact {
            Fact::Intended {
                digest,
                input,
                not_after,
                ..
            } => {
                let (input, not_after) = (input.clone(), *not_after);
                (digest.clone(), EffectStage::Intended { input, not_after })
            }
            Fact::Receipt { digest, value, .. } => {
                let value = value.clone();
                (digest.clone(), EffectStage::Receipted { value })
            }
            _ => ("".into(), EffectStage::Undone),
        };
        let intended = u32::from(matches!(stage, EffectStage::Intended { .. }));
        if let Some(effect) = known.iter_mut().find(|effect| effect.key == *key) {
            effect.intents = effect.intents.saturating_add(intended);
            effect.digest = digest;
            effect.stage = stage;
            return;
        }
        if known.is_empty() {
            // Most tasks have one.
            known.reserve_exact(1);
        }
        known.push(EffectRecord {
            key: key.clone(),
            digest,
            intents: intended,
            stage,
        });
    }

    fn ask(&mut self, task: &TaskPath, memo: Option<&Value>, questions: &[Interrupt]) {
        self.asked = self.asked.saturating_add(questions.len() as u64);
        if let Some(task) = self.task_mut(task) {
            let ask = task.ask.get_or_insert_default();
            ask.memo = memo.cloned();
            ask.open = questions.to_vec();
            ask.expired = false;
        }
        self.set_at(task, TaskStatus::Asking);
    }

    /// Closes a question: answered, expired or withdrawn.
    fn close_question(&mut self, id: &InterruptId, end: QuestionEnd<'_>) {
        let Some(position) = self.asker(id) else {
            return;
        };
        let Some(ask) = self.frontier.get_mut(position).and_then(|t| t.ask.as_mut()) else {
            return;
        };
        if let Some(at) = ask.open.iter().position(|interrupt| interrupt.id == *id) {
            let Question { key, digest, .. } = ask.open.remove(at).question;
            match end {
                QuestionEnd::Answered(value) => {
                    if let Some(digest) = digest {
                        ask.digests.insert(key.clone(), digest);
                    }
                    ask.answers.push((key, value.clone()));
                }
                QuestionEnd::Expired => ask.expired = true,
                QuestionEnd::Withdrawn => {}
            }
        }
        if ask.open.is_empty() {
            self.set(position, TaskStatus::Ready);
        }
    }

    fn go_on(&mut self, under: &ProgramVersion, tasks: &[(TaskPath, u32)]) {
        self.under = Some(under.clone());
        self.phase = ThreadPhase::Running;
        for (path, attempt) in tasks {
            self.failures.retain(|(failed, _)| failed != path);
            if let Some(task) = self.task_mut(path) {
                task.crashes = match attempt.cmp(&task.attempt) {
                    Ordering::Greater => task.crashes.saturating_add(1),
                    // Its retry came due while no process ran the thread.
                    Ordering::Equal if task.state == TaskStatus::Sleeping => task.crashes,
                    _ => 0,
                };
                task.attempt = *attempt;
                task.until = None;
            }
            self.set_at(path, TaskStatus::Ready);
        }
    }
}
