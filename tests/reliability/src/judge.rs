//! Whether the evidence, the log and the state of a job agree.
use std::collections::{BTreeMap, HashMap};

use fugato_graph::{Answers, HistoryEntry, HistoryEvent, Runner, ThreadStatus};
use fugato_state::ThreadId;
use fugato_store::MemoryLog;
use serde_json::Value;

use crate::{
    TrialResult,
    evidence::{Evidence, EvidenceKind, Line},
    job::{self, APPROVED, Job, ONCE, ORDER, in_doubt},
    serve::Mode,
};

/// What came out of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, derive_more::Display)]
#[display(
    "{kills} kills, {jobs} jobs, {records} records, {again} tasks begun again; \
     {once} actions done once, {doubled} twice, {missing} missing; \
     {doubtful} in doubt: {asked} asked, {looked} looked after; \
     {repeated} others repeated; {acknowledged} answers acknowledged, {refused} orders \
     refused; {} problems",
    problems.len()
)]
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
    /// Times at which a process died between the intent and the receipt of one of them, or at
    /// which one took longer than it may, and a person was asked.
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

/// Who compares.
#[derive(Debug)]
pub struct Judge {
    evidence: Evidence,
    durability: Mode,
    /// The state of a job that nobody disturbed.
    expected: Vec<String>,
    /// What was found so far.
    pub verdict: Verdict,
}

impl Judge {
    /// Does a job in peace first, to know how it ends.
    pub async fn new(evidence: &Evidence, durability: Mode) -> TrialResult<Self> {
        let folder = tempfile::tempdir()?;
        let apart = Evidence::in_folder(folder.path())?;
        let runner = Runner::new(job::graph(&apart)?, MemoryLog::default().into());
        let thread = ThreadId::new("peace")?;
        runner.start(&thread, ()).await?;
        let ended = runner.resume(&thread, Answers::only(0)?).await?;
        Ok(Self {
            evidence: evidence.clone(),
            durability,
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
    ) -> TrialResult<()> {
        let name = thread.as_str();
        let standing = runner.status(thread).await?;
        if standing != ThreadStatus::Idle {
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

    /// No step is left out, and none that was stored is taken again: with `Strict`, that is every
    /// step behind which another has begun.
    fn order(&mut self, name: &str, seen: &[Line]) {
        let began = seen
            .iter()
            .filter(|line| matches!(line.what, EvidenceKind::Began { .. }));
        let place = |line: &Line| {
            let task = line.task.rsplit('/').next().unwrap_or_default();
            let node = task.split('#').next().unwrap_or_default();
            ORDER.iter().position(|known| *known == node)
        };
        let places: Vec<_> = began.map(place).collect();
        let backwards = places.windows(2).any(|pair| pair.first() > pair.last());
        if backwards && self.durability == Mode::Strict {
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
            if let EvidenceKind::Did { key, idempotency } = &line.what {
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
        let mut open = BTreeMap::<Action, DoubtState>::new();
        for entry in history {
            match entry.event() {
                HistoryEvent::Intended { task, key, .. } => {
                    open.insert(action(entry, task, key), DoubtState::No);
                }
                HistoryEvent::Resumed { tasks, .. } => {
                    self.verdict.again += tasks.len() as u64;
                    let under_way = open
                        .values_mut()
                        .filter(|doubted| **doubted == DoubtState::No);
                    for doubted in under_way {
                        *doubted = DoubtState::Yes;
                        self.verdict.doubtful += 1;
                    }
                }
                HistoryEvent::Asked {
                    task, questions, ..
                } => {
                    for key in questions
                        .iter()
                        .filter_map(|asked| in_doubt(&asked.question))
                    {
                        if let Some(doubted) = open.get_mut(&action(entry, Some(task), key)) {
                            // On a disk that stalls, its time ends in a process that lives.
                            self.verdict.doubtful += u64::from(*doubted == DoubtState::No);
                            self.verdict.asked += u64::from(*doubted != DoubtState::Reported);
                            *doubted = DoubtState::Reported;
                        }
                    }
                }
                HistoryEvent::Receipt { task, key, .. }
                | HistoryEvent::Undone { task, key, .. } => {
                    let action = action(entry, task, key);
                    if open.remove(&action) == Some(DoubtState::Yes) {
                        self.looked_after(name, &action, seen);
                    }
                }
                _ => {}
            }
        }
        for action in open.into_keys() {
            self.verdict.wrong(format!("{name} left {action:?} open"));
        }
    }

    fn looked_after(&mut self, name: &str, (task, key): &Action, seen: &[Line]) {
        let looked = seen.iter().any(|line| {
            line.task == *task
                && matches!(&line.what, EvidenceKind::Looked { key: own, .. } if own == key)
        });
        if looked {
            self.verdict.looked += 1;
        } else {
            let what = format!("{name}: nobody was told that {key} of {task} is in doubt");
            self.verdict.wrong(what);
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
            if let HistoryEvent::Answered { answers, .. } = entry.event() {
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

/// A task with its scope, and the key of its action.
type Action = (String, String);

fn action(entry: &HistoryEntry, task: Option<&str>, key: &str) -> Action {
    let task = task.unwrap_or_default();
    let full = match entry.scope.as_str() {
        "" => task.to_owned(),
        scope => format!("{scope}/{task}"),
    };
    (full, key.to_owned())
}

/// Whether an open intent is known to be in doubt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DoubtState {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A job that was done in peace, and what is done to its evidence afterwards.
    async fn judged(
        disturb: impl FnOnce(&Evidence, &str) -> TrialResult<()>,
    ) -> TrialResult<Verdict> {
        let folder = tempfile::tempdir()?;
        let evidence = Evidence::in_folder(folder.path())?;
        let runner = Runner::new(job::graph(&evidence)?, MemoryLog::default().into());
        let thread = ThreadId::new("job")?;
        let parked = runner.start(&thread, ()).await?;
        let question = parked.interrupts().first().map(|asked| asked.id.clone());
        runner.resume(&thread, Answers::only(7)?).await?;
        disturb(&evidence, "job")?;
        let mut judge = Judge::new(&evidence, Mode::Strict).await?;
        let id = format!("job {}", question.ok_or("it asks")?);
        let acknowledged = HashMap::from([(id, 7.into())]);
        judge.job(&runner, &thread, &acknowledged).await?;
        Ok(judge.verdict)
    }

    fn did(task: &str, key: &str, idempotency: &str) -> (String, EvidenceKind) {
        let (key, idempotency) = (key.to_owned(), idempotency.to_owned());
        (task.to_owned(), EvidenceKind::Did { key, idempotency })
    }

    #[tokio::test]
    async fn a_job_in_peace_is_found_right() -> TrialResult<()> {
        let verdict = judged(|_, _| Ok(())).await?;
        assert_eq!(verdict.problems, [""; 0]);
        assert_eq!((verdict.jobs, verdict.once, verdict.doubtful), (1, 6, 0));
        Ok(())
    }

    #[tokio::test]
    async fn what_was_done_twice_is_found() -> TrialResult<()> {
        let verdict = judged(|evidence, job| {
            let (task, what) = did("mail#1", "send", "k");
            Ok(evidence.add(job, &task, what)?)
        });
        let verdict = verdict.await?;
        assert_eq!(verdict.problems, [r#"job did ("mail#1", "send") 2 times"#]);
        assert_eq!((verdict.once, verdict.doubled), (5, 1));
        Ok(())
    }

    #[tokio::test]
    async fn another_idempotency_key_is_found() -> TrialResult<()> {
        let verdict = judged(|evidence, job| {
            let (task, what) = did("work#1[1]", "charge", "another");
            Ok(evidence.add(job, &task, what)?)
        });
        let verdict = verdict.await?;
        assert_eq!(
            (verdict.problems.len(), verdict.repeated),
            (1, 1),
            "{verdict:?}"
        );
        Ok(())
    }

    #[tokio::test]
    async fn a_step_that_is_taken_again_is_found() -> TrialResult<()> {
        let verdict = judged(|evidence, job| {
            Ok(evidence.add(job, "gather#1", EvidenceKind::Began { attempt: 2 })?)
        });
        let problems = verdict.await?.problems;
        assert!(
            problems.len() == 1 && problems[0].starts_with("job lost a step"),
            "{problems:?}"
        );
        Ok(())
    }

    #[tokio::test]
    async fn evidence_that_is_missing_is_found() -> TrialResult<()> {
        let verdict = judged(|evidence, job| {
            let file = evidence.folder().join(format!("{job}.jsonl"));
            let text = std::fs::read_to_string(&file)?;
            let kept = text.lines().filter(|line| !line.contains("ship#1"));
            let kept: Vec<_> = kept.collect();
            Ok(std::fs::write(file, kept.join("\n"))?)
        });
        let verdict = verdict.await?;
        let expected = [
            "job ended without ship",
            r#"job ended without ("deliver#1/ship#1", "send")"#,
        ];
        assert_eq!(
            (verdict.missing, verdict.problems),
            (1, expected.map(str::to_owned).to_vec())
        );
        Ok(())
    }
}
