//! Scripts: a scenario is one snapshot, whose lines after `>` run on the log under test. Everything
//! that can be seen of them is written below them, and compared with the snapshot as a whole.
//!
//! | below a line | |
//! |---|---|
//! | `3 a#1 try 1 …` | an event of a run after `live`, or of `events`: its position, origin and kind |
//! | `? …` | a question is open: its id, prompt and schema |
//! | `! …` | the error with its causes, its kind, and how the thread stands now |
//! | `= …` | the run ended, with this output |
//! | `+ …` | lines that the state has gained |
//! | `ran …` | the tasks that ran, sorted |
//! | `did …` | the external actions that were done, sorted |
//! | `[…]` | one append: its records, and the status that it left unless that is "runnable" |
//!
//! `UPDATE_EXPECT=1` writes what was seen into the snapshots.
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use expect_test::Expect;
use fugato_graph::{
    Answers, BuildError, Graph, HistoryEntry, HistoryEvent, InDoubt, Next, Run, RunError,
    RunErrorKind, RunResult, Runner, RunnerOptions, StateEdit, ThreadStatus,
};
use fugato_state::{Interrupt, ThreadId};
use fugato_store::{Commit, ThreadAdmin};
use fugato_stream::{Event, EventKind};
use futures::StreamExt;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{
    AppendFault,
    fixture::{Change, Fixture, Page, line, thread, whole},
    transcript::{self, Appends, Ids},
    world::Stage,
};
use crate::log::{CheckResult, Failure, LogFactory, PlacingEngine};

/// A graph of pages, as its builder returns it.
pub(crate) type BuildResult = Result<Graph<Page>, BuildError>;

/// The graph of a script: a function of its stage, or the words of [`Stage::wire`].
pub(crate) trait Program: Send + Sync {
    /// Builds the graph, as the present program has it.
    fn build(&self, stage: &Stage) -> BuildResult;
}

impl<F: Fn(&Stage) -> BuildResult + Send + Sync> Program for F {
    fn build(&self, stage: &Stage) -> BuildResult {
        self(stage)
    }
}

impl Program for &str {
    fn build(&self, stage: &Stage) -> BuildResult {
        stage.wire(self)?.build()
    }
}

/// Runs the lines of a snapshot over a graph, which is built anew for each line, and compares what
/// is seen with the whole snapshot.
pub(crate) async fn check(
    factory: &dyn LogFactory,
    graph: impl Program,
    expected: Expect,
) -> CheckResult {
    check_with(factory, RunnerOptions::default(), graph, expected).await
}

/// [`check`] with these options.
pub(crate) async fn check_with(
    factory: &dyn LogFactory,
    options: RunnerOptions,
    graph: impl Program,
    expected: Expect,
) -> CheckResult {
    play(factory, &options, &graph, &expected).await
}

/// [`check_with`], which is compiled once for all programs.
async fn play(
    factory: &dyn LogFactory,
    options: &RunnerOptions,
    graph: &dyn Program,
    expected: &Expect,
) -> CheckResult {
    let text = dedent(expected.data());
    let lines = || text.lines().filter_map(|line| line.strip_prefix("> "));
    let played = Script::play(factory, None, options, graph, lines(), expected);
    let Some(seen) = played.await? else {
        return Ok(());
    };
    if let Some(engine) = factory.engine() {
        let played = Script::play(factory, Some(engine), options, graph, lines(), expected);
        return alike(expected, &seen, &played.await?.unwrap_or_default());
    }
    compare(expected, &seen)
}

/// Compares what is seen of a script without an engine, and with one. The engine is not told why a
/// run failed, and leaving a run to it is an append of its own.
fn alike(expected: &Expect, alone: &str, placed: &str) -> CheckResult {
    let mut lines = placed.lines();
    for told in alone.lines().filter(|line| !is_append(line)) {
        let seen = lines.find(|line| !is_append(line)).unwrap_or_default();
        let fails = seen == FAILED && told.starts_with("! ");
        if without_steps(told) != without_steps(seen) && !fails {
            return Err(Failure::new(format!(
                "{}: with an engine\n{seen}\nis seen, and without one\n{told}\nof\n{placed}",
                expected.position
            )));
        }
    }
    match lines.find(|line| !is_append(line)) {
        Some(more) => Err(Failure::new(format!(
            "with an engine\n{more}\nis seen, too"
        ))),
        None => Ok(()),
    }
}

fn is_append(line: &str) -> bool {
    line.starts_with(['[', '{', ' '])
}

/// Returns an error without the number of steps before it, which the run alone knows.
fn without_steps(line: &str) -> String {
    let after = line.strip_prefix("! after ");
    let rest = after.and_then(|after| after.split_once(" steps: "));
    rest.map_or_else(|| line.to_owned(), |(_, rest)| format!("! {rest}"))
}

/// The failure of a run, as the log alone tells it.
const FAILED: &str = "! it failed";

fn needs_admin(line: &str) -> bool {
    let mut verbs = line
        .split(" then ")
        .filter_map(|line| line.split(' ').next());
    verbs.any(|verb| ["fork", "compact", "remove"].contains(&verb))
}

/// Compares a text with a snapshot, or writes it there.
pub(crate) fn compare(expected: &Expect, got: &str) -> CheckResult {
    static WRITTEN: Mutex<BTreeSet<(&str, u32)>> = Mutex::new(BTreeSet::new());
    let text = dedent(expected.data());
    if text == got {
        return Ok(());
    }
    let at = &expected.position;
    // A path that is relative belongs to this workspace, and not to somebody's dependency.
    if std::env::var_os("UPDATE_EXPECT").is_some() && Path::new(at.file).is_relative() {
        let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
        if written.insert((at.file, at.line)) {
            expected.assert_eq(got);
        }
        return Ok(());
    }
    let pairs = text.lines().zip(got.lines());
    let same = pairs.take_while(|(old, new)| old == new).count();
    let rest = |of: &str| {
        of.lines()
            .skip(same)
            .take(12)
            .collect::<Vec<_>>()
            .join("\n")
    };
    Err(Failure::new(format!(
        "{at}: line {} of the transcript: expected\n{}\ngot\n{}\nafter\n{}",
        same + 1,
        rest(&text),
        rest(got),
        got.lines().take(same).collect::<Vec<_>>().join("\n"),
    )))
}

/// Returns a snapshot without the line break at its begin and the indent of its lines.
fn dedent(text: &str) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let lines = || text.split_inclusive('\n');
    let indent = |line: &str| line.len() - line.trim_start().len();
    let full = lines().filter(|line| !line.trim().is_empty());
    let least = full.map(indent).min().unwrap_or_default();
    let cut = lines().map(|line| line.get(least..).unwrap_or(line.trim_start_matches(' ')));
    cut.collect()
}

type PageResult = Result<RunResult<Page>, RunError>;

/// A script that is under way.
struct Script<'a> {
    /// The engine that goes on with what the script begins or recovers.
    engine: Option<&'a dyn PlacingEngine>,
    /// True if a line names a record by its position, which is another one where a run is left to an
    /// engine.
    positions: bool,
    /// True if a line names an append by its number, for which the same holds.
    cuts: bool,
    stage: Stage,
    options: RunnerOptions,
    graph: &'a dyn Program,
    /// The run that was begun, and goes on beside the script.
    pending: Option<JoinHandle<PageResult>>,
    /// The runner of the run that was begun.
    process: Option<Runner<Page>>,
    /// The requests that were made to it meanwhile, and joined it.
    joined: Vec<JoinHandle<PageResult>>,
    /// The last state of each thread, and its head.
    known: BTreeMap<ThreadId, (Page, u64)>,
    ids: Ids,
    appends: Appends,
    /// The end of the last run.
    end: String,
    seen: String,
}

impl<'a> Script<'a> {
    /// Runs the lines, and returns what is seen; none if the log cannot do what they need.
    async fn play(
        factory: &dyn LogFactory,
        engine: Option<&'a dyn PlacingEngine>,
        options: &RunnerOptions,
        graph: &'a dyn Program,
        lines: impl Iterator<Item = &str> + Clone,
        expected: &Expect,
    ) -> Result<Option<String>, Failure> {
        let has = |verbs: &[&str]| {
            let mut lines = lines.clone();
            lines.any(|line| verbs.iter().any(|verb| line.contains(verb)))
        };
        let mut script = Self {
            engine,
            positions: has(&["compact ", "fork ", "preview", "look", "events"]),
            cuts: has(&["die ", "full ", "lose "]),
            stage: Stage::of(Fixture::of(factory).await?, ""),
            options: options.clone(),
            graph,
            pending: None,
            process: None,
            joined: vec![],
            known: BTreeMap::new(),
            ids: Ids::default(),
            appends: Appends::Each,
            end: String::new(),
            seen: String::new(),
        };
        for line in lines {
            if needs_admin(line) && script.stage.desk.opened.admin.is_none() {
                return Ok(None);
            }
            script.say(&format!("> {line}"));
            let mut ran = Ok(());
            for line in line.split(" then ") {
                ran = ran.and(script.step(factory, line).await);
            }
            ran.map_err(|why| Failure::new(format!("{}: > {line}: {why}", expected.position)))?;
        }
        Ok(Some(script.seen))
    }

    /// Leaves to the engine what a line begins or recovers. Returns true if it could.
    async fn place(&mut self, line: &str) -> Result<bool, Failure> {
        let Some(engine) = self.engine.filter(|_| self.pending.is_none()) else {
            return Ok(false);
        };
        let (runner, name) = (self.runner()?, self.stage.desk.thread.clone());
        let now = self.stage.desk.clock.now();
        let goes_on = match self.reader()?.status(&name).await {
            Ok(ThreadStatus::Unfinished | ThreadStatus::Sleeping { .. }) => true,
            Ok(ThreadStatus::Waiting(open)) => {
                let mut ends = open.iter().filter_map(|asked| asked.question.expires_at);
                ends.any(|end| end <= now)
            }
            _ => false,
        };
        let counts = self.positions || self.cuts;
        match line.split_once(' ').unwrap_or((line, "")) {
            ("start", rest) if !counts => {
                if let Err(error) = runner.submit(&name, input(rest)).await {
                    self.fails(&error).await?;
                    self.aftermath().await?;
                    return Ok(true);
                }
            }
            ("recover" | "resume", "") if goes_on && !self.positions => {}
            ("request" | "answer" | "resume" | "retry", _) if !counts => {
                let Some(run) = self.run_by(&runner, line)? else {
                    return Ok(false);
                };
                match left(&runner, run).await {
                    Err(error) if error.kind == RunErrorKind::HandedOver => {}
                    ended => {
                        self.ended(ended).await?;
                        return Ok(true);
                    }
                }
            }
            _ => return Ok(false),
        }
        let next = match engine.place(Arc::new(runner), &name).await {
            Ok(next) => next,
            Err(error) => {
                self.fails(&error).await?;
                self.aftermath().await?;
                return Ok(true);
            }
        };
        let reader = self.reader()?;
        let status = reader.status(&name).await?;
        let told = match (&status, next) {
            (ThreadStatus::Idle, Next::Done) => {
                let head = self.stage.desk.head().await?;
                let last = reader.history(&name, head, 1).await?.pop();
                self.end = match last.as_ref().map(HistoryEntry::event) {
                    Some(HistoryEvent::RunEnded { output: Some(json) }) => format!("= {json}"),
                    Some(HistoryEvent::RunEnded { output: None }) => "=".to_owned(),
                    _ => {
                        self.say(FAILED);
                        String::new()
                    }
                };
                true
            }
            // Another process may have it, of which a request would be told so.
            (ThreadStatus::Failed { .. }, Next::Done) | (_, Next::Retry { .. }) => {
                self.say(FAILED);
                true
            }
            (ThreadStatus::Waiting(open), Next::WaitForAnswer | Next::WakeAt { .. }) => {
                self.asks(open);
                let ends = open.iter().any(|asked| asked.question.expires_at.is_some());
                ends == matches!(next, Next::WakeAt { .. })
            }
            (ThreadStatus::Sleeping { .. }, Next::WakeAt { .. }) => {
                self.end = "= sleeps".into();
                true
            }
            _ => false,
        };
        if !told {
            self.say(&format!("but the engine was told {next:?} of {status:?}"));
        }
        self.aftermath().await?;
        Ok(true)
    }

    fn say(&mut self, text: &str) {
        for line in text.lines() {
            self.seen += line.trim_end();
            self.seen.push('\n');
        }
    }

    fn runner(&self) -> Result<Runner<Page>, Failure> {
        let graph = self.graph.build(&self.stage)?;
        Ok(self.stage.desk.runner_with(&graph, self.options.clone()))
    }

    /// Returns a runner over the log itself, which no crash of the script's process affects.
    fn reader(&self) -> Result<Runner<Page>, Failure> {
        let log = super::RecordingLog::over(self.stage.desk.opened.clone());
        let graph = self.graph.build(&self.stage)?;
        Ok(Runner::new(graph, Arc::new(log)))
    }

    async fn step(&mut self, factory: &dyn LogFactory, line: &str) -> CheckResult {
        if self.place(line).await? {
            return Ok(());
        }
        if let Some(run) = self.run(line)? {
            let ended = run.await;
            return self.ended(ended).await;
        }
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let stage = &mut self.stage;
        match (verb, rest) {
            ("fresh", name) => {
                self.stage = Stage::of(Fixture::of(factory).await?, name);
                self.known.clear();
                self.ids = Ids::default();
            }
            ("program", name) => name.clone_into(&mut stage.program),
            ("thread", name) => stage.desk.thread = thread(name),
            ("another", "process") => stage.desk.another_process(),
            ("in", "any order") => self.appends = Appends::InAnyOrder,
            ("as", "json") => self.appends = Appends::Json,
            ("without", "appends") => self.appends = Appends::Hidden,
            ("mend", "") => stage.broken.turn_off(),
            ("break", "") => stage.broken.turn_on(),
            ("open", "") => stage.door.open(),
            ("reached", "") => stage.door.reached().await,
            ("wait", ms) => stage.desk.clock.advance(number(ms)?),
            ("noted", n) => {
                let n: usize = number(n)?;
                while stage.calls.count() < n {
                    tokio::task::yield_now().await;
                }
            }
            ("running", "") => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                let ended = self.pending.as_ref().is_none_or(JoinHandle::is_finished);
                self.say(if ended { "= ended" } else { "= running" });
            }
            ("written", n) => {
                let n: usize = number(n)?;
                let records =
                    |commits: Vec<Commit>| commits.iter().map(|it| it.records.len()).sum::<usize>();
                while records(stage.desk.log.commits()) < n {
                    tokio::task::yield_now().await;
                }
            }
            ("die" | "full" | "lose", _) => self.cut(line)?,
            ("live", run) => {
                let run = self.run(run)?;
                let mut run = run.ok_or_else(|| Failure::new("no such run"))?;
                while let Some(event) = run.next().await {
                    self.push_event(&event);
                }
                let ended = run.await;
                self.ended(ended).await?;
            }
            ("events", cursor) => {
                let cursor = number(cursor)?;
                let mut events = self.runner()?.events(&self.stage.desk.thread, cursor);
                while let Some(event) = events.next().await {
                    self.push_event(&event);
                }
            }
            ("begin", run) => {
                let runner = self.runner()?;
                let run = self.run_by(&runner, run)?;
                let run = run.ok_or_else(|| Failure::new("no such run"))?;
                self.process = Some(runner);
                self.pending = Some(tokio::spawn(async { run.await }));
            }
            ("beside", run) => self.beside(run).await?,
            ("questions", "") => {
                let (runner, name) = (self.reader()?, self.stage.desk.thread.clone());
                let mut open = runner.interrupts(&name).await?;
                while open.is_empty() {
                    tokio::task::yield_now().await;
                    open = runner.interrupts(&name).await?;
                }
                self.asks(&open);
            }
            ("end", "") => {
                let run = self.pending.take();
                let run = run.ok_or_else(|| Failure::new("no run was begun"))?;
                let ended = run.await;
                let ended = ended.map_err(|error| Failure::new(error.to_string()))?;
                for joined in std::mem::take(&mut self.joined) {
                    let joined = joined.await;
                    let joined = joined.map_err(|error| Failure::new(error.to_string()))?;
                    if format!("{joined:?}") != format!("{ended:?}") {
                        self.say(&format!("but a request beside it ended with {joined:?}"));
                    }
                }
                self.ended(ended).await?;
            }
            _ => self.administer(verb, rest).await?,
        }
        Ok(())
    }

    /// Makes a request in the process of the run that was begun, and waits until it is taken: the
    /// event of an answer comes when it is stored. A repeat is taken without one.
    async fn beside(&mut self, line: &str) -> CheckResult {
        let runner = self.process.clone();
        let runner = runner.ok_or_else(|| Failure::new("no run was begun"))?;
        let run = self.run_by(&runner, line)?;
        let mut run = run.ok_or_else(|| Failure::new("no such run"))?;
        let mut taken = None;
        while let Some(event) = run.next().await {
            taken = match event.kind {
                EventKind::RunStarted { .. } if line.contains(" repeated") => {
                    Some("= taken before")
                }
                EventKind::InterruptAnswered { .. } => Some("= taken"),
                EventKind::InterruptExpired { .. } => Some("= asked anew"),
                _ => continue,
            };
            break;
        }
        if let Some(taken) = taken {
            self.say(taken);
            self.joined.push(tokio::spawn(async { run.await }));
            return Ok(());
        }
        match run.await {
            Ok(_) => self.say("= over"),
            Err(error) => self.fails(&error).await?,
        }
        Ok(())
    }

    fn push_event(&mut self, event: &Event) {
        if matches!(event.kind, EventKind::NodeStarted) {
            return;
        }
        let text = self.ids.stable(&transcript::event(event));
        self.say(&text);
        if event.thread != self.stage.desk.thread {
            self.say(&format!("but of thread {:?}", event.thread));
        }
    }

    /// Makes a later append fail: `die before 2`, `die after 2`, `full 2` or `lose 2`.
    fn cut(&self, line: &str) -> CheckResult {
        let (fault, nth) = line.rsplit_once(' ').unwrap_or((line, ""));
        let fault = match fault {
            "die before" => AppendFault::DiesBefore,
            "die after" => AppendFault::DiesAfter,
            "full" => AppendFault::Full,
            "lose" => AppendFault::LosesAnswer,
            _ => return Err(Failure::new("no such fault")),
        };
        self.stage.desk.log.cut(number(nth)?, fault);
        Ok(())
    }

    /// Requests that are no runs.
    async fn administer(&mut self, verb: &str, rest: &str) -> CheckResult {
        let name = self.stage.desk.thread.clone();
        let runner = self.runner()?;
        let done = match (verb, rest) {
            ("cancel", "") => runner
                .cancel(&name, "Ada", "enough")
                .await
                .map(|()| String::new()),
            ("status", "") => {
                let status = runner.status(&name).await;
                status.map(|status| format!("= {}", standing(&status)))
            }
            ("look", "") => {
                let look = runner.look(&name).await;
                look.map(|look| look.as_ref().map_or("= new".into(), transcript::look))
            }
            ("preview", "") => {
                let preview = runner.preview(&name).await;
                preview.map(|preview| transcript::preview(preview.as_ref()))
            }
            ("remove", "") => {
                ThreadAdmin::remove(&self.stage.desk.log, &name).await?;
                self.known.remove(&name);
                return Ok(());
            }
            ("compact", seq) => {
                let base = runner.compact(&name, number(seq)?).await;
                base.map(|base| format!("= at {base}"))
            }
            ("fork", rest) => {
                let (seq, copy) = rest.split_once(' ').unwrap_or((rest, "copy"));
                let (seq, copy) = (number(seq)?, thread(copy));
                let forked = runner.fork(&name, seq, &copy).await;
                // A copy begins with the record of the fork.
                self.known.insert(copy, (Page::default(), seq + 1));
                forked.map(|()| String::new())
            }
            _ => return Err(Failure::new("no such line")),
        };
        match done {
            Ok(text) => {
                let text = self.ids.stable(&text);
                self.say(&text);
            }
            Err(error) => self.fails(&error).await?,
        }
        self.aftermath().await
    }

    /// Returns the run that a line asks for, if it asks for one.
    fn run(&self, line: &str) -> Result<Option<Run<Page>>, Failure> {
        self.run_by(&self.runner()?, line)
    }

    fn run_by(&self, runner: &Runner<Page>, line: &str) -> Result<Option<Run<Page>>, Failure> {
        let line = line.strip_suffix(" repeated").unwrap_or(line);
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let name = &self.stage.desk.thread;
        Ok(Some(match verb {
            "start" => runner.start(name, input(rest)),
            "request" => {
                let (key, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                runner.start_keyed(name, key, input(rest))
            }
            "answer" => runner.resume(name, self.answers(rest)?),
            "resume" if rest.is_empty() => runner.resume(name, Answers::none()),
            "recover" if rest.is_empty() => runner.recover(name),
            "retry" if rest.is_empty() => runner.retry(name),
            "amend" => runner.amend(name, by_hand(rest)),
            "finish" => {
                let (task, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                runner.amend(name, by_hand(rest).finishing(task))
            }
            "settle" => {
                let (key, doubt) = rest.split_once(' ').unwrap_or((rest, ""));
                let doubt: InDoubt = serde_json::from_str(doubt)?;
                runner.amend(name, by_hand("").settling(key, doubt))
            }
            _ => return Ok(None),
        }))
    }

    /// Reads answers: one as JSON; or several as `id=json`, each with `@digest` if it approves that,
    /// and `as key/what` if the request has a name, `again key/what` if it may only be a repeat.
    fn answers(&self, text: &str) -> Result<Answers, Failure> {
        if let Ok(only) = serde_json::from_str::<Value>(text) {
            return Ok(Answers::only(only)?);
        }
        let (text, named) = match text.split_once(" as ") {
            Some((text, named)) => (text, Some((named, false))),
            None => match text.split_once(" again ") {
                Some((text, named)) => (text, Some((named, true))),
                None => (text, None),
            },
        };
        let mut answers = Answers::none();
        for answer in text.split("; ") {
            let (id, answer) = answer.split_once('=').unwrap_or((answer, "null"));
            let (answer, digest) = answer.split_once(" @").unwrap_or((answer, ""));
            let (id, answer) = (self.ids.whole(id), serde_json::from_str::<Value>(answer)?);
            answers = match digest {
                "" => answers.and(id, answer)?,
                "shown" => answers.approving(id.clone(), answer, self.ids.digest(&id))?,
                digest => answers.approving(id, answer, digest)?,
            };
        }
        let Some((named, only_again)) = named else {
            return Ok(answers);
        };
        let (key, what) = named.split_once('/').unwrap_or((named, ""));
        Ok(if only_again {
            answers.repeating(key, &what)?
        } else {
            answers.keyed(key, &what)?
        })
    }

    /// Writes down how a run ended, and what it left.
    async fn ended(&mut self, ended: PageResult) -> CheckResult {
        let status = self.reader()?.status(&self.stage.desk.thread).await;
        match &ended {
            Ok(RunResult::Finished { output: None, .. }) => self.end = "=".into(),
            Ok(RunResult::Finished { output, .. }) => {
                self.end = format!("= {}", output.clone().unwrap_or_default());
            }
            Ok(RunResult::Interrupted { interrupts, .. }) => {
                self.asks(interrupts);
                let waits =
                    matches!(&status, Ok(ThreadStatus::Waiting(open)) if open == interrupts);
                if !waits {
                    self.say(&format!("but it stands at {status:?}"));
                }
            }
            Ok(RunResult::Scheduled { .. }) => self.end = "= sleeps".into(),
            Ok(_) => self.end = "= amended".into(),
            Err(error) => self.fails(error).await?,
        }
        self.aftermath().await?;
        if let Ok(ended) = &ended {
            let stored = self.known.get(&self.stage.desk.thread);
            let stored = stored.map(|(page, _)| page);
            // A thread that goes on beside this run may have more.
            if self.pending.is_none() && stored.is_some_and(|page| page != ended.state()) {
                self.say(&format!("but the run ended at {:?}", ended.state()));
            }
        }
        Ok(())
    }

    fn asks(&mut self, interrupts: &[Interrupt]) {
        for interrupt in interrupts {
            self.ids.name_question(interrupt);
            let text = format!("? {}", transcript::question(interrupt));
            let text = self.ids.stable(&text);
            self.say(&text);
        }
    }

    async fn fails(&mut self, error: &RunError) -> CheckResult {
        let status = self.reader()?.status(&self.stage.desk.thread).await;
        let standing = status.as_ref().map_or("unreadable", standing);
        let name = self.stage.desk.thread.as_str();
        // Each store has words of its own for what it was doing.
        let text = match &error.kind {
            RunErrorKind::Store(_) => error.to_string(),
            _ => whole(error),
        };
        let text = text.replace(&format!("thread {name:?}, after "), "after ");
        let text = text.replace("after 0 steps: ", "");
        let commits = self.stage.desk.log.commits();
        let text = match transcript::failures(&commits) {
            2.. if self.appends != Appends::Each => "one of several tasks failed".to_owned(),
            _ => text,
        };
        let kind = transcript::kind(&error.kind);
        let text = self.ids.stable(&format!("! {text} ({kind}; {standing})"));
        self.say(&text);
        Ok(())
    }

    /// Writes down what the last line has changed, unless a run is still under way.
    async fn aftermath(&mut self) -> CheckResult {
        if self.pending.is_some() {
            return Ok(());
        }
        let name = self.stage.desk.thread.clone();
        let (mut page, mut head) = self.known.remove(&name).unwrap_or_default();
        let mut parts = vec![std::mem::take(&mut self.end)];
        match self.reader()?.state(&name).await {
            Ok(Some(now)) => {
                parts.extend(transcript::gained(&page, &now));
                page = (*now).clone();
            }
            Ok(None) => {}
            Err(error) => {
                let text = format!("unreadable: {}", whole(&error));
                parts.push(self.ids.stable(&text));
            }
        }
        parts.push(transcript::notes("ran", &self.stage.calls));
        parts.push(transcript::notes("did", &self.stage.world));
        parts.retain(|part| !part.is_empty());
        self.say(&parts.join("; ").replacen("=; ", "= ", 1));
        let commits = self.stage.desk.log.commits();
        let wrote = match self.appends {
            Appends::Json => self.stage.desk.log.brackets(),
            Appends::Hidden => String::new(),
            how => transcript::appends(&commits, how),
        };
        self.stage.desk.log.forget();
        let wrote = self.ids.stable(&wrote);
        self.say(&wrote);
        // Nothing was written but what was recorded, and that once.
        head += commits
            .iter()
            .map(|commit| commit.records.len() as u64)
            .sum::<u64>();
        let now = self.stage.desk.opened.log.head(&name).await?;
        let now = now.map_or(0, |head| head.seq);
        if now != head {
            self.say(&format!("the head is at {now}, and not at {head}"));
        }
        self.known.insert(name, (page, now));
        Ok(())
    }
}

/// Leaves a run to others when its request is stored.
async fn left(runner: &Runner<Page>, run: Run<Page>) -> PageResult {
    let end = async { run.await };
    tokio::pin!(end);
    loop {
        tokio::select! {
            ended = &mut end => return ended,
            // It may not have begun.
            _ = runner.hand_over(Duration::MAX) => tokio::task::yield_now().await,
        }
    }
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, Failure> {
    let number = text.parse();
    number.map_err(|_| Failure::new(format!("{text:?} is no number")))
}

/// Reads an input: a line, or a route after `@`.
fn input(text: &str) -> Vec<Change> {
    match text.strip_prefix('@') {
        Some(route) => vec![Change::Route(route.into())],
        None => lines(text),
    }
}

fn lines(text: &str) -> Vec<Change> {
    let lines = text.split(" | ").filter(|text| !text.is_empty());
    lines.map(line).collect()
}

fn by_hand(text: &str) -> StateEdit<Change> {
    StateEdit::new(lines(text), "Ada", "by hand")
}

/// Returns a word for how a thread stands.
fn standing(status: &ThreadStatus) -> &'static str {
    match status {
        ThreadStatus::New => "new",
        ThreadStatus::Waiting(_) => "waiting",
        ThreadStatus::Sleeping { .. } => "sleeping",
        ThreadStatus::Unfinished => "unfinished",
        ThreadStatus::Failed { .. } => "failed",
        ThreadStatus::Idle => "idle",
        _ => "unknown",
    }
}
