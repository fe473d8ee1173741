//! One case: a thread is driven to its end by as many processes as needed.
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use fugato_graph::{
    Answers, BoxError, Graph, InDoubt, Run, RunError, RunResult, Runner, RunnerOptions,
};
use fugato_state::{Interrupt, State, ThreadId};
use fugato_stream::EventKind;
use futures::{StreamExt, stream::FuturesUnordered};
use serde_json::Value;

use super::{
    core::{Core, Observations, Process},
    fault::Plan,
    log::FaultLog,
    store::CrashStore,
    world::{World, outcome},
};
use crate::log::{Failure, OpenedLog, TestClock};

pub(super) type Build<S> = dyn Fn(&World) -> Result<Graph<S>, BoxError> + Send + Sync;
pub(super) type Input<U> = dyn Fn() -> Vec<U> + Send + Sync;
pub(super) type Answer = dyn Fn(&Interrupt) -> Option<Value> + Send + Sync;
pub(super) type View<S> = dyn Fn(&S) -> Value + Send + Sync;

/// The parts that all cases of a simulation share.
pub(super) struct Setup<S: State> {
    pub(super) build: Arc<Build<S>>,
    pub(super) inputs: Vec<Arc<Input<S::Update>>>,
    pub(super) answer: Arc<Answer>,
    /// True if questions are answered while their siblings work.
    pub(super) at_once: bool,
    pub(super) view: Arc<View<S>>,
    pub(super) store: Arc<dyn CrashStore>,
}

impl<S: State> Clone for Setup<S> {
    fn clone(&self) -> Self {
        let Self {
            build,
            inputs,
            answer,
            at_once,
            view,
            store,
        } = self;
        Self {
            build: build.clone(),
            inputs: inputs.clone(),
            answer: answer.clone(),
            at_once: *at_once,
            view: view.clone(),
            store: store.clone(),
        }
    }
}

/// The outcome of a case.
pub(super) struct Outcome {
    /// The part of the final state that is compared.
    pub(super) state: Result<Value, Failure>,
    pub(super) seen: Observations,
}

/// The time at which all cases begin; any time will do.
const BEGINS: i64 = 1_750_000_000_000;
/// The most time that a process may take to bring a thread to its end.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// The number of times that a client retries a failed request.
const TRIES: u32 = 100;
/// The most rounds of questions and answers in a process.
const ROUNDS: u32 = 10_000;
/// The most processes of a case.
const PROCESSES: u32 = 100;

/// Runs one case.
pub(super) fn run<S: State>(setup: &Setup<S>, options: &RunnerOptions, plan: Plan) -> Outcome {
    let clock = TestClock::at(BEGINS);
    let torn = setup.store.length().is_some();
    let core = Arc::new(Core::new(clock, plan, torn));
    let case = Case {
        setup: setup.clone(),
        options: options.clone(),
        core: core.clone(),
    };
    let state = case.live(true);
    let seen = std::mem::take(&mut *core.seen());
    Outcome { state, seen }
}

struct Case<S: State> {
    setup: Setup<S>,
    options: RunnerOptions,
    core: Arc<Core>,
}

impl<S: State> Case<S> {
    fn again(&self) -> Self {
        Self {
            setup: self.setup.clone(),
            options: self.options.clone(),
            core: self.core.clone(),
        }
    }

    /// Runs one process after the other, until one reaches the end.
    fn live(&self, fresh: bool) -> Result<Value, Failure> {
        for nth in 0..PROCESSES {
            if let Some(state) = self.process(fresh && nth == 0)? {
                return Ok(state);
            }
        }
        Err(Failure::new(format!("{PROCESSES} processes saw no end")))
    }

    /// Runs one process with its own runtime, which drops all its tasks when it dies. Returns none
    /// if it died.
    fn process(&self, fresh: bool) -> Result<Option<Value>, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        let runtime = runtime.map_err(|error| Failure::new(format!("no runtime: {error}")))?;
        let clock = &self.core.clock;
        let ended = runtime.block_on(async {
            clock.follow();
            let ended = self.lifetime(fresh).await;
            clock.leave();
            ended
        });
        let died = matches!(ended, Ok(None));
        let alone = self.core.seen().stalled == 0;
        if died && alone {
            let torn = self.core.seen().torn.take();
            self.setup.store.die(torn)?;
        }
        drop(runtime);
        ended
    }

    async fn lifetime(&self, fresh: bool) -> Result<Option<Value>, Failure> {
        let (store, clock) = (&self.setup.store, &self.core.clock);
        let opened = if fresh {
            store.fresh(clock).await?
        } else {
            store.reopen(clock).await?
        };
        let process = Arc::new(Process::default());
        let world = World::new(self.core.clone(), process.clone());
        let graph = (self.setup.build)(&world);
        let graph = graph.map_err(|error| Failure::new(format!("no graph: {error}")))?;
        let log = Arc::new(self.log(opened, &process));
        let runner = Runner::new(graph, log).options(self.options.clone());
        tokio::select! {
            biased;
            () = process.died() => Ok(None),
            state = self.drive(&runner) => state.map(Some),
            () = tokio::time::sleep(LONGEST) => Err(Failure::new("the thread comes to no end")),
        }
    }

    fn log(&self, inner: OpenedLog, process: &Arc<Process>) -> FaultLog {
        let others = self.again();
        FaultLog {
            core: self.core.clone(),
            process: process.clone(),
            inner,
            store: self.setup.store.clone(),
            others: Box::new(move || {
                let others = others.again();
                let lived = std::thread::spawn(move || {
                    if let Err(failure) = others.live(false) {
                        others.core.broke(format!("another process: {failure}"));
                    }
                });
                // The panic hook prints a panic; here it shows as a missing end.
                let _ = lived.join();
            }),
        }
    }

    /// Drives the thread as a client does: repeats each request until it has ended.
    async fn drive(&self, runner: &Runner<S>) -> Result<Value, Failure> {
        let thread = thread()?;
        let mut last = None;
        for (n, input) in self.setup.inputs.iter().enumerate() {
            let start = || {
                let run = runner.start_keyed(&thread, format!("input {n}"), input());
                self.attend(runner, run)
            };
            let mut tries = 0;
            let mut known = self.core.seen().answered.clone();
            let mut end = start().await;
            for round in 0.. {
                let before = std::mem::replace(&mut known, self.core.seen().answered.clone());
                end = match end {
                    Ok(RunResult::Finished { state, .. }) => {
                        last = Some(state);
                        break;
                    }
                    _ if round > ROUNDS => {
                        return Err(Failure::new("the questions come to no end"));
                    }
                    Ok(RunResult::Interrupted { interrupts, .. }) => {
                        let answers = self.answers(&interrupts, &before)?;
                        self.attend(runner, runner.resume(&thread, answers)).await
                    }
                    Ok(_) => {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        self.attend(runner, runner.recover(&thread)).await
                    }
                    Err(error) => {
                        tries += 1;
                        if tries > TRIES {
                            return Err(stuck(&error));
                        }
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        start().await
                    }
                };
            }
        }
        let state = last.ok_or_else(|| Failure::new("a simulation needs an input"))?;
        Ok((self.setup.view)(&state))
    }

    /// Waits for the end of a run, and answers its questions meanwhile if that is wanted.
    async fn attend(&self, runner: &Runner<S>, run: Run<S>) -> Result<RunResult<S>, RunError> {
        if !self.setup.at_once {
            return run.await;
        }
        let (mut events, mut end) = run.split();
        let mut answering = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                ended = &mut end => return ended,
                Some(event) = events.next() => {
                    let answers = match &event.kind {
                        EventKind::InterruptRaised(asked) => self.answers(std::slice::from_ref(asked), &BTreeSet::new()),
                        _ => continue,
                    };
                    if let Ok(answers) = answers {
                        let run = runner.resume(&event.thread, answers);
                        answering.push(IntoFuture::into_future(run));
                    }
                }
                // An answer that failed is given again when the thread waits for it.
                Some(_) = answering.next() => {}
            }
        }
    }

    fn answers(&self, open: &[Interrupt], known: &BTreeSet<String>) -> Result<Answers, Failure> {
        let mut answers = Answers::none();
        for interrupt in open {
            let id = &interrupt.id;
            if known.contains(id.as_str()) {
                let lost = format!("the answer to {id} was acknowledged, and is asked for again");
                return Err(Failure::new(lost));
            }
            let given = (self.setup.answer)(interrupt);
            let looked_up = self.look_up(interrupt);
            let answer = given.map(Ok).or(looked_up);
            let answer = answer.ok_or_else(|| {
                let key = &interrupt.question.key;
                Failure::new(format!("no answer to {key:?} of {}", interrupt.task))
            })??;
            answers = match &interrupt.question.digest {
                Some(digest) => answers.approving(id.clone(), answer, digest.clone())?,
                None => answers.and(id.clone(), answer)?,
            };
        }
        Ok(answers)
    }

    /// Answers the question whether an effect in doubt happened, from the actions on the world.
    fn look_up(&self, interrupt: &Interrupt) -> Option<Result<Value, Failure>> {
        let prompt = &interrupt.question.prompt;
        let key = prompt.get("in_doubt")?.as_str()?;
        let task = prompt.get("task")?.as_str()?;
        let whole_thread = format!("//{key}");
        let addresses = [format!("/{task}/{key}"), whole_thread];
        let mut seen = self.core.seen();
        let done = seen
            .actions
            .keys()
            .find(|(_, address)| addresses.contains(address));
        let doubt = match done {
            Some((name, address)) => InDoubt::Happened(outcome(name, address)),
            None => InDoubt::DidNotHappen,
        };
        seen.doubts.extend(addresses);
        Some(serde_json::to_value(doubt).map_err(Failure::from))
    }
}

fn thread() -> Result<ThreadId, Failure> {
    ThreadId::new("sim").map_err(|error| Failure::new(error.to_string()))
}

fn stuck(error: &RunError) -> Failure {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    Failure::new(format!("the thread cannot go on: {text}"))
}
