//! Whether the evidence, the log and the state of a job agree.
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use fugato_graph::{Answers, HistoryEntry, Runner, Standing, machine::Fact};
use fugato_state::ThreadId;
use fugato_store::MemoryLog;
use serde_json::Value;

use crate::{
    Tried,
    evidence::{Evidence, Line, What},
    job::{self, APPROVED, Job, ONCE, ORDER},
};

/// What came out of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// How often the process was killed.
    pub kills: u32,
    /// Jobs that came to their end.
    pub jobs: u64,
    /// Records in their logs.
    pub records: u64,
    /// Tasks that were begun again because a process had died.
    pub again: u64,
    /// Actions that must not be done twice, and were done.
    pub once: u64,
    /// Those of them that were done twice.
    pub doubled: u64,
    /// Those of them that were not done although the job ended.
    pub missing: u64,
    /// Times at which a process died between the intent and the receipt of one of them.
    pub doubtful: u64,
    /// Those of them that a person was asked about.
    pub asked: u64,
    /// Those of them that the evidence was asked about.
    pub looked: u64,
    /// Other actions that were done again.
    pub repeated: u64,
    /// Answers whose acknowledgement arrived.
    pub acknowledged: u64,
    /// Orders that were refused, because somebody else was at it.
    pub refused: u64,
    /// What must not be.
    pub problems: Vec<String>,
}

impl Verdict {
    /// Something is wrong.
    pub fn wrong(&mut self, what: String) {
        self.problems.push(what);
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kills,
            jobs,
            records,
            again,
            once,
            doubled,
            missing,
            doubtful,
            asked,
            looked,
            repeated,
            acknowledged,
            refused,
            problems,
        } = self;
        write!(
            f,
            "{kills} kills, {jobs} jobs, {records} records, {again} tasks begun again; \
             {once} actions done once, {doubled} twice, {missing} missing; \
             {doubtful} in doubt: {asked} asked, {looked} looked after; \
             {repeated} others repeated; {acknowledged} answers acknowledged, {refused} orders \
             refused; {} problems",
            problems.len()
        )
    }
}

/// Who compares.
#[derive(Debug)]
pub struct Judge {
    evidence: Evidence,
    /// The state of a job that nobody disturbed.
    expected: Vec<String>,
    /// What was found so far.
    pub verdict: Verdict,
}

impl Judge {
    /// Does a job in peace first, to know how it ends.
    pub async fn new(evidence: &Evidence) -> Tried<Self> {
        let folder = tempfile::tempdir()?;
        let apart = Evidence::in_folder(folder.path())?;
        let runner = Runner::new(job::graph(&apart)?, MemoryLog::default().into());
        let thread = ThreadId::new("peace")?;
        runner.start(&thread, ()).await?;
        let ended = runner.resume(&thread, Answers::only(0)?).await?;
        Ok(Self {
            evidence: evidence.clone(),
            expected: ended.state().lines.clone(),
            verdict: Verdict::default(),
        })
    }

    /// Judges a job that has come to its end.
    pub async fn job(
        &mut self,
        runner: &Runner<Job>,
        thread: &ThreadId,
        acknowledged: &HashMap<String, Value>,
    ) -> Tried<()> {
        let name = thread.as_str();
        let standing = runner.standing(thread).await?;
        if standing != Standing::Idle {
            self.verdict.wrong(format!("{name} ended as {standing:?}"));
        }
        let state = runner.state(thread).await?;
        let lines = state.map(|state| state.lines.clone()).unwrap_or_default();
        if in_peace(&lines) != in_peace(&self.expected) {
            self.verdict
                .wrong(format!("{name} has another state: {lines:?}"));
        }
        let history = runner.history(thread, 1, usize::from(u16::MAX)).await?;
        let seen = self.evidence.lines(name)?;
        self.verdict.jobs += 1;
        self.verdict.records += history.len() as u64;
        self.order(name, &seen);
        self.actions(name, &seen);
        self.doubts(name, &history, &seen);
        self.answers(thread, &history, acknowledged);
        Ok(())
    }

    /// No step that was stored is taken again, and none is lost.
    fn order(&mut self, name: &str, seen: &[Line]) {
        let began = seen
            .iter()
            .filter(|line| matches!(line.what, What::Began { .. }));
        let place = |line: &Line| {
            let task = line.task.rsplit('/').next().unwrap_or_default();
            let node = task.split('#').next().unwrap_or_default();
            ORDER.iter().position(|known| *known == node)
        };
        let places: Vec<_> = began.map(place).collect();
        let backwards = places.windows(2).any(|pair| pair.first() > pair.last());
        if backwards {
            self.verdict
                .wrong(format!("{name} lost a step: its nodes ran as {places:?}"));
        }
        let missed = (0..ORDER.len()).find(|place| !places.contains(&Some(*place)));
        if let Some(missed) = missed.and_then(|place| ORDER.get(place)) {
            self.verdict.wrong(format!("{name} ended without {missed}"));
        }
    }

    fn actions(&mut self, name: &str, seen: &[Line]) {
        let mut done = BTreeMap::<(&str, &str), Vec<&str>>::new();
        for line in seen {
            if let What::Did { key, idempotency } = &line.what {
                done.entry((&line.task, key)).or_default().push(idempotency);
            }
        }
        for once in ONCE {
            match done.remove(&once).map_or(0, |done| done.len()) {
                1 => self.verdict.once += 1,
                0 => {
                    self.verdict.missing += 1;
                    self.verdict.wrong(format!("{name} ended without {once:?}"));
                }
                times => {
                    self.verdict.doubled += 1;
                    self.verdict
                        .wrong(format!("{name} did {once:?} {times} times"));
                }
            }
        }
        for (action, mut keys) in done {
            self.verdict.repeated += keys.len() as u64 - 1;
            keys.dedup();
            if keys.len() > 1 {
                self.verdict
                    .wrong(format!("{name} did {action:?} under the keys {keys:?}"));
            }
        }
    }

    /// Whoever takes over finds open intents in doubt, and says so before anything follows.
    fn doubts(&mut self, name: &str, history: &[HistoryEntry], seen: &[Line]) {
        let mut open = BTreeMap::<(String, String), Doubted>::new();
        for entry in history {
            let full = |task: &Option<String>| {
                let task = task.as_deref().unwrap_or_default();
                match entry.scope.as_str() {
                    "" => task.to_owned(),
                    scope => format!("{scope}/{task}"),
                }
            };
            match &entry.fact {
                Fact::Intended { task, key, .. } => {
                    open.insert((full(task), key.clone()), Doubted::No);
                }
                Fact::Resumed { tasks, .. } => {
                    self.verdict.again += tasks.len() as u64;
                    for doubted in open.values_mut().filter(|doubted| **doubted == Doubted::No) {
                        *doubted = Doubted::Yes;
                        self.verdict.doubtful += 1;
                    }
                }
                Fact::Asked {
                    task, questions, ..
                } => {
                    let task = full(&Some(task.clone()));
                    for question in questions {
                        let key = question.question.prompt["in_doubt"].as_str();
                        let key = (task.clone(), key.unwrap_or_default().to_owned());
                        if let Some(doubted) = open.get_mut(&key) {
                            *doubted = Doubted::Reported;
                            self.verdict.asked += 1;
                        }
                    }
                }
                Fact::Receipt { task, key, .. } | Fact::Undone { task, key, .. } => {
                    let action = (full(task), key.clone());
                    let doubted = open.remove(&action);
                    let looked = seen.iter().any(|line| {
                        let key = |what: &What| matches!(what, What::Looked { key, .. } if *key == action.1);
                        line.task == action.0 && key(&line.what)
                    });
                    match doubted {
                        Some(Doubted::Yes) if looked => self.verdict.looked += 1,
                        Some(Doubted::Yes) => self.verdict.wrong(format!(
                            "{name}: nobody was told that {action:?} is in doubt"
                        )),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        for action in open.into_keys() {
            self.verdict.wrong(format!("{name} left {action:?} open"));
        }
    }

    /// Every question is answered once, and with what was acknowledged.
    fn answers(
        &mut self,
        thread: &ThreadId,
        history: &[HistoryEntry],
        acknowledged: &HashMap<String, Value>,
    ) {
        let mut given = HashMap::<String, Vec<&Value>>::new();
        for entry in history {
            if let Fact::Answered { answers } = &entry.fact {
                for (id, answer) in answers {
                    given
                        .entry(format!("{thread} {id}"))
                        .or_default()
                        .push(answer);
                }
            }
        }
        for (id, answers) in given {
            if answers.len() != 1 {
                self.verdict
                    .wrong(format!("{id} was answered with {answers:?}"));
            }
            if acknowledged.get(&id).is_some_and(|sent| answers != [sent]) {
                let sent = &acknowledged.get(&id);
                self.verdict.wrong(format!(
                    "{id}: {sent:?} was acknowledged, stored is {answers:?}"
                ));
            }
        }
    }
}

/// Whether an open intent is known to be in doubt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubted {
    No,
    Yes,
    Reported,
}

/// The lines without what differs from try to try: which answer was the one that got through.
fn in_peace(lines: &[String]) -> Vec<&str> {
    let calm = |line: &str| line.starts_with(APPROVED);
    lines
        .iter()
        .map(|line| if calm(line) { APPROVED } else { line })
        .collect()
}
