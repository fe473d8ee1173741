//! The run loop: asks the machine what to do, does it, and tells the machine what came out.
use std::sync::{Arc, OnceLock};

use fugato_state::{Interrupt, Question, State};
use fugato_stream::EventKind;

use crate::{
    BoxError, Context, Graph, Note, Outcome, RunError, RunErrorKind,
    context::Shared,
    fold::{Fold, write_updates},
    graph::{Pause, Work},
    journal::Journal,
    machine::{Fact, Json, Machine, Path, Todo},
    route::{calm, route},
    snapshot::Snapshotter,
    tasks::{Attempt, Ready, Tasks, run_one},
};

/// One run of one thread, in this process.
pub(crate) struct Driver<S: State> {
    pub(crate) graph: Graph<S>,
    pub(crate) machine: Machine,
    pub(crate) fold: Fold<S>,
    pub(crate) shared: Arc<Shared>,
    /// None for a run without a log.
    pub(crate) journal: Option<Journal>,
    pub(crate) snapshots: Option<Snapshotter>,
    pub(crate) step_limit: u64,
    pub(crate) crash_limit: u32,
    tasks: Option<Tasks<S>>,
    /// The outcome of a step's only task, which becomes one record with its routes.
    solo: Option<(Option<Json>, Vec<EventKind>)>,
    error: Option<RunError>,
    /// Whether the log knows, and the readers were told, how the run came to rest.
    pub(crate) rested: bool,
}

impl<S: State> Driver<S> {
    pub(crate) fn new(
        graph: Graph<S>,
        machine: Machine,
        fold: Fold<S>,
        shared: Arc<Shared>,
        journal: Option<Journal>,
    ) -> Self {
        Self {
            graph,
            machine,
            fold,
            shared,
            journal,
            snapshots: None,
            step_limit: 10_000,
            crash_limit: 3,
            tasks: None,
            solo: None,
            error: None,
            rested: false,
        }
    }

    /// Goes on until the run ends, parks or fails.
    pub(crate) async fn drive(&mut self) -> Result<(), RunError> {
        loop {
            match self.machine.todo() {
                Todo::Run => self.run_ready().await?,
                Todo::Wait => self.collect().await?,
                Todo::Route => self.close_step(),
                Todo::End => self.end(),
                Todo::Fail => self.fail_run(),
                Todo::Park | Todo::Rest => return self.rest().await,
            }
        }
    }

    /// Starts what is ready: pauses ask, one node runs here, several run at the same time.
    async fn run_ready(&mut self) -> Result<(), RunError> {
        if self.pauses()? {
            return Ok(());
        }
        if self.machine.steps() >= self.step_limit {
            let limit = RunErrorKind::StepLimit {
                limit: self.step_limit,
            };
            self.fail(RunError::new(limit));
            return Ok(());
        }
        if self
            .journal
            .as_ref()
            .is_some_and(|journal| !journal.can_wait())
        {
            self.flush().await?;
        }
        if self.machine.steps() % STEPS_PER_YIELD == STEPS_PER_YIELD - 1 {
            tokio::task::yield_now().await;
        }
        if self.machine.frontier().len() == 1 {
            if let Some((position, node, cx)) = self.ready(0) {
                self.machine.begin(position);
                let attempt = run_one(&*node, cx).await;
                self.learn(position, attempt)?;
            }
            return Ok(());
        }
        let ready: Vec<_> = (0..self.machine.frontier().len())
            .filter_map(|at| self.ready(at))
            .collect();
        for (position, ..) in &ready {
            self.machine.begin(*position);
        }
        self.tasks = Some(Tasks::start(ready));
        Ok(())
    }

    /// Waits for outcomes. What was learned before is stored first; what ends meanwhile comes next.
    async fn collect(&mut self) -> Result<(), RunError> {
        self.flush().await?;
        let batch = match &mut self.tasks {
            Some(tasks) => tasks.next().await,
            None => vec![],
        };
        if batch.is_empty() {
            return self.lost();
        }
        batch
            .into_iter()
            .try_for_each(|(position, attempt)| self.learn(position, attempt))
    }

    /// Nothing will come any more: what still runs died outside of its future.
    fn lost(&mut self) -> Result<(), RunError> {
        for position in 0..self.machine.frontier().len() {
            let running = self.machine.task(position).map(|task| task.state);
            if running == Some(crate::machine::TaskState::Running) {
                self.learn(
                    position,
                    Attempt::Panicked("it never said how it ended".into()),
                )?;
            }
        }
        Ok(())
    }

    /// A step closes only when its routing succeeded.
    fn close_step(&mut self) {
        self.tasks = None;
        self.fold.close();
        let routes = route(&self.graph, &self.machine, &self.fold.state);
        let solo = self
            .solo
            .take()
            .zip(self.machine.task(0).map(|task| (task.path, task.attempt)));
        match (routes, solo) {
            (Ok(routes), Some(((updates, notes), (task, attempt)))) => self.record(Fact::Stepped {
                task,
                attempt,
                updates,
                notes,
                routes,
            }),
            (Ok(routes), None) => self.record(Fact::Closed { routes }),
            (Err(error), solo) => {
                if let Some(((updates, notes), (task, attempt))) = solo {
                    self.record(Fact::Finished {
                        task,
                        attempt,
                        updates,
                        notes,
                    });
                }
                self.fail(error);
            }
        }
    }

    fn end(&mut self) {
        if let Some((join, arrived)) = self.machine.half_filled().first_key_value() {
            let (join, arrived) = (join.clone(), arrived.clone());
            return self.fail(RunError::new(RunErrorKind::HalfFilledJoin {
                join,
                arrived,
            }));
        }
        let output = self.graph.0.output.as_ref();
        match output
            .map(|output| calm(|| output(&self.fold.state)))
            .transpose()
        {
            Ok(output) => self.record(Fact::RunEnded { output }),
            Err(error) => {
                let node = "END".into();
                self.fail(RunError::new(RunErrorKind::Router { node }).because(error));
            }
        }
    }

    fn fail_run(&mut self) {
        // The failure of a task whose run was taken over is known from the log alone.
        let told = self.machine.failure().map(|(task, error)| {
            let kind = RunErrorKind::Node {
                task: self.shared.names.text(task),
            };
            let named = format!("{kind}: ");
            let cause = error.strip_prefix(&named).unwrap_or(error).to_owned();
            RunError::new(kind).because(cause)
        });
        let error = self.error.take().or(told);
        self.fail(error.unwrap_or_else(|| RunError::new(RunErrorKind::NothingToDo)));
    }

    pub(crate) fn fail(&mut self, error: RunError) {
        let text = explain(&error);
        self.error = Some(error);
        self.record(Fact::RunFailed { error: text });
    }

    async fn rest(&mut self) -> Result<(), RunError> {
        self.flush().await?;
        self.rested = true;
        if self.shared.hub.is_heard() && self.machine.todo() == Todo::Park {
            let interrupts = self.machine.interrupts().cloned().collect();
            let parked = self.shared.event(None, EventKind::RunParked { interrupts });
            self.shared.hub.send(parked);
        }
        self.error.take().map_or(Ok(()), Err)
    }

    async fn flush(&mut self) -> Result<(), RunError> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        journal.flush(&self.machine, &self.shared).await?;
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.consider(journal, &self.machine, &self.fold, &self.shared.names)?;
        }
        Ok(())
    }

    /// The machine learns a fact, and the journal keeps it.
    pub(crate) fn record(&mut self, fact: Fact<Path>) {
        self.machine.evolve(&fact);
        match &mut self.journal {
            Some(journal) => journal.push(fact),
            None if self.shared.hub.is_heard() => {
                let Shared {
                    thread,
                    run,
                    names,
                    hub,
                    ..
                } = &*self.shared;
                hub.send_all(crate::sight::events(&fact, names, thread, *run, None));
            }
            None => {}
        }
    }

    fn ready(&self, position: usize) -> Option<Ready<S>> {
        let task = self.machine.task(position)?;
        let Work::Node(node) = &self.graph.0.nodes.get(task.path.node.at())?.work else {
            return None;
        };
        if task.state != crate::machine::TaskState::Ready {
            return None;
        }
        let cx = Context {
            state: self.fold.state.clone(),
            shared: self.shared.clone(),
            path: task.path,
            attempt: task.attempt,
            item: task.item.clone(),
            ask: task.ask.clone(),
            origin: OnceLock::new(),
        };
        if self.shared.hub.is_heard() {
            let origin = self.shared.origin(task.path, task.attempt);
            self.shared.hub.send(
                self.shared
                    .event(Some(Arc::new(origin)), EventKind::NodeStarted),
            );
        }
        Some((position, node.clone(), cx))
    }

    fn learn(&mut self, position: usize, attempt: Attempt<S::Update>) -> Result<(), RunError> {
        match attempt {
            Attempt::Outcome(Outcome::Done { updates, notes }) => {
                return self.done(position, updates, notes);
            }
            Attempt::Outcome(Outcome::Ask { memo, questions }) => {
                self.asked(position, memo, questions);
            }
            Attempt::Failed(error) => {
                let task = self.name(position);
                self.failed(position, RunErrorKind::Node { task }, error);
            }
            Attempt::Panicked(error) => {
                let task = self.name(position);
                self.failed(position, RunErrorKind::Panicked { task }, error);
            }
        }
        Ok(())
    }

    fn done(
        &mut self,
        position: usize,
        updates: Vec<S::Update>,
        notes: Vec<Note>,
    ) -> Result<(), RunError> {
        let at = self.machine.task(position);
        let Some((task, attempt)) = at.map(|task| (task.path, task.attempt)) else {
            return Ok(());
        };
        let stored = match self.journal {
            Some(_) => write_updates(&updates)?,
            None => None,
        };
        self.fold.stage(position, updates);
        let notes = notes.into_iter().map(|note| note.0).collect();
        if self.machine.frontier().len() == 1 {
            self.machine.settle(position);
            self.solo = Some((stored, notes));
            return Ok(());
        }
        self.record(Fact::Finished {
            task,
            attempt,
            updates: stored,
            notes,
        });
        Ok(())
    }

    fn asked(
        &mut self,
        position: usize,
        memo: Option<serde_json::Value>,
        questions: Vec<Question>,
    ) {
        let name = self.name(position);
        let at = self.machine.task(position);
        let Some((task, attempt)) = at.map(|task| (task.path, task.attempt)) else {
            return;
        };
        if let Some(problem) = crate::answer::problem(&questions) {
            let kind = RunErrorKind::Question {
                task: name,
                problem: problem.clone(),
            };
            return self.failed(position, kind, problem.into());
        }
        let interrupt = |(question, ahead)| Interrupt {
            id: self.machine.interrupt_id(&name, ahead),
            task: name.clone(),
            question,
        };
        let questions = questions.into_iter().zip(0..).map(interrupt).collect();
        self.record(Fact::Asked {
            task,
            attempt,
            memo,
            questions,
        });
    }

    fn failed(&mut self, position: usize, kind: RunErrorKind, source: BoxError) {
        let Some((task, attempt)) = self
            .machine
            .task(position)
            .map(|task| (task.path, task.attempt))
        else {
            return;
        };
        let error = RunError::new(kind).because(source);
        let text = explain(&error);
        self.error.get_or_insert(error);
        self.record(Fact::Failed {
            task,
            attempt,
            error: text,
            retry_at: None,
        });
    }

    /// Lets the pauses among the ready tasks ask, or go on with their answers.
    fn pauses(&mut self) -> Result<bool, RunError> {
        if !self.graph.0.has_pauses {
            return Ok(false);
        }
        let graph = self.graph.clone();
        let mut any = false;
        for position in 0..self.machine.frontier().len() {
            let Some(task) = self.machine.task(position) else {
                continue;
            };
            let wire = graph.0.nodes.get(task.path.node.at());
            let Some(Work::Pause(pause)) = wire.map(|wire| &wire.work) else {
                continue;
            };
            if task.state == crate::machine::TaskState::Ready {
                any = true;
                self.pause(position, &**pause)?;
            }
        }
        Ok(any)
    }

    fn pause(&mut self, position: usize, pause: &dyn Pause<S>) -> Result<(), RunError> {
        let state = self.fold.state.clone();
        let ask = self
            .machine
            .task(position)
            .and_then(|task| task.ask.as_deref());
        let answer = ask.and_then(|ask| ask.answer(ANSWER)).cloned();
        let expired = ask.is_some_and(|ask| ask.expired);
        let node = self.name(position);
        let outcome = match answer {
            Some(answer) => calm(|| pause.answer(&state, &answer)).map(Some),
            None if expired => calm(|| Ok(pause.expired(&state))),
            None => Ok(None),
        };
        drop(state);
        match outcome {
            Ok(Some(updates)) => return self.done(position, updates, vec![]),
            Ok(None) => {}
            Err(error) => {
                self.failed(position, RunErrorKind::Router { node }, error);
                return Ok(());
            }
        }
        let now = self.shared.now();
        match calm(|| pause.question(ANSWER, &self.fold.state, now)) {
            Ok(question) => self.asked(position, None, vec![question]),
            Err(error) => self.failed(position, RunErrorKind::Router { node }, error),
        }
        Ok(())
    }

    fn name(&self, position: usize) -> String {
        self.machine
            .task(position)
            .map_or_else(String::new, |t| self.shared.names.text(t.path))
    }
}

/// After so many steps the driver lets other tasks of its thread run. Nodes that wait do so anyway;
/// for those that do not, this is well under a millisecond.
const STEPS_PER_YIELD: u64 = 512;

/// The key of a pause's only question.
pub(crate) const ANSWER: &str = "answer";

/// An error with its causes, in one line.
pub(crate) fn explain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
