//! The loop that kills a process at random moments, starts it again, and answers its questions.
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::PathBuf,
    time::Duration,
};

use fastrand::Rng;
use fugato_graph::{Runner, ThreadStatus};
use fugato_state::{Interrupt, ThreadId};
use fugato_store::{Status, ThreadFilter, ThreadSummary};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    TrialResult,
    child::{Child, Start},
    evidence::Evidence,
    job::{self, Job},
    judge::{Judge, Verdict},
    serve::{Mode, Order, ServerLine},
    store::{Kind, Place, Store},
};

/// The plan of the kills.
#[derive(Debug, Clone)]
pub struct Plan {
    /// This crate's program.
    pub program: PathBuf,
    /// How many kills.
    pub kills: u32,
    /// The seed of the moments of the kills, which are the same again.
    pub seed: u64,
    /// The number of jobs that are open at once.
    pub open: usize,
    /// The longest life of a process that is ready, in milliseconds.
    pub longest: u64,
    /// When what happened is stored.
    pub durability: Mode,
}

impl Plan {
    /// So many kills. Where connecting takes its time, processes live longer.
    pub fn new(program: impl Into<PathBuf>, store: Kind, kills: u32, seed: u64) -> Self {
        Self {
            program: program.into(),
            kills,
            seed,
            open: 60,
            longest: if store == Kind::Sqlite { 400 } else { 800 },
            durability: Mode::Strict,
        }
    }
}

/// Carries the plan out, and judges. `tell` hears how it goes after each kill.
pub async fn kill(
    plan: &Plan,
    place: &Place,
    mut tell: impl FnMut(u32, &Verdict),
) -> TrialResult<Verdict> {
    let evidence = Evidence::in_folder(&place.folder.path().join("evidence"))?;
    let store = place.open().await?;
    let mut start = Start::new(&plan.program, &place.spec, &evidence);
    start.durability = plan.durability;
    let mut parent = Parent::new(store, evidence, (plan.durability, plan.open)).await?;
    let mut random = Rng::with_seed(plan.seed);
    for kill in 1..=plan.kills {
        parent
            .live_and_die(start.spawn()?, &mut random, plan.longest)
            .await?;
        parent.judge.verdict.kills = kill;
        tell(kill, &parent.judge.verdict);
    }
    parent.wanted = 0;
    parent.finish(start.spawn()?).await?;
    Ok(parent.judge.verdict)
}

/// Who submits jobs and answers questions: the world outside of the process.
pub(crate) struct Parent {
    runner: Runner<Job>,
    store: Store,
    evidence: Evidence,
    pub(crate) judge: Judge,
    /// How many jobs are to be open.
    pub(crate) wanted: usize,
    /// Jobs that have not ended.
    pub(crate) open: BTreeSet<String>,
    /// How many were begun.
    begun: usize,
    /// How many answers were given to the question whether to go on; each is another.
    tokens: u64,
    /// The answers that were acknowledged, by question.
    acknowledged: HashMap<String, Value>,
    /// The last answer to each question.
    sent: HashMap<String, Value>,
    /// What this process was asked already.
    asked: HashSet<String>,
    /// Jobs of which this process was told.
    told: HashSet<String>,
    /// True if a question gets the same answer again: another process may be at the first one.
    pub(crate) repeats: bool,
}

/// The interval at which the parent looks.
const LOOK: Duration = Duration::from_millis(15);

/// How long the last process may take without any job coming to its end.
const PATIENCE: Duration = Duration::from_mins(1);

impl Parent {
    pub(crate) async fn new(
        store: Store,
        evidence: Evidence,
        (durability, wanted): (Mode, usize),
    ) -> TrialResult<Self> {
        Ok(Self {
            runner: store.runner(job::graph(&evidence)?),
            judge: Judge::new(&evidence, durability).await?,
            wanted,
            evidence,
            store,
            open: BTreeSet::new(),
            begun: 0,
            tokens: 0,
            acknowledged: HashMap::new(),
            sent: HashMap::new(),
            asked: HashSet::new(),
            told: HashSet::new(),
            repeats: false,
        })
    }

    /// Forgets what a process was told that is gone.
    pub(crate) fn tell_again(&mut self) {
        self.asked.clear();
        self.told.clear();
    }

    async fn live_and_die(
        &mut self,
        mut child: Child,
        random: &mut Rng,
        longest: u64,
    ) -> TrialResult<()> {
        self.tell_again();
        // Some die while they start.
        let life = if random.u8(0..10) == 0 {
            Duration::from_millis(random.u64(0..30))
        } else {
            child.ready().await?;
            Duration::from_millis(random.u64(0..longest))
        };
        let end = Instant::now() + life;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            // It dies on time, whatever the parent is at.
            if timeout(left, self.look(&mut child)).await.is_err() {
                break;
            }
            sleep(LOOK.min(end.saturating_duration_since(Instant::now()))).await;
        }
        for said in child.kill9().await? {
            self.receive(said);
        }
        Ok(())
    }

    async fn finish(&mut self, mut child: Child) -> TrialResult<()> {
        self.tell_again();
        child.ready().await?;
        let mut since = Instant::now();
        while !self.open.is_empty() {
            let before = self.open.len();
            self.look(&mut child).await?;
            if self.open.len() < before {
                since = Instant::now();
            }
            if since.elapsed() > PATIENCE {
                let names: Vec<_> = self.open.iter().take(5).cloned().collect();
                let known = self.threads().await?;
                let known: Vec<_> = known.iter().take(5).collect();
                let what = format!("{before} do not end: {names:?}, of them exist {known:?}");
                self.judge.verdict.wrong(what);
                break;
            }
            sleep(LOOK).await;
        }
        for said in child.terminate().await? {
            self.receive(said);
        }
        Ok(())
    }

    /// Hears what the process says, answers, and begins jobs.
    pub(crate) async fn look(&mut self, child: &mut Child) -> TrialResult<()> {
        for said in child.heard() {
            self.receive(said);
        }
        let known = self.threads().await?;
        for summary in &known {
            match summary.status {
                Status::Idle => self.close(&summary.thread).await?,
                Status::Waiting { .. } => self.answer(&summary.thread, child).await?,
                _ => {}
            }
        }
        while self.open.len() < self.wanted {
            self.begun += 1;
            self.open.insert(format!("job-{:06}", self.begun));
        }
        let known: HashSet<&str> = known.iter().map(|known| known.thread.as_str()).collect();
        let missing = self
            .open
            .iter()
            .filter(|name| !known.contains(name.as_str()));
        for name in missing {
            if self.told.insert(name.clone()) {
                let (thread, steps) = (name.clone(), 0);
                child.order(&Order::Submit { thread, steps }).await?;
            }
        }
        Ok(())
    }

    /// The threads of the jobs that have not ended, as far as they exist.
    async fn threads(&self) -> TrialResult<Vec<ThreadSummary>> {
        let Some(first) = self.open.first() else {
            return Ok(vec![]);
        };
        // The list begins after a name; this is just before the first.
        let before = first
            .strip_prefix("job-")
            .and_then(|n| n.parse::<usize>().ok());
        let before = before.unwrap_or(1).saturating_sub(1);
        let mut filter = ThreadFilter::default();
        "job-".clone_into(&mut filter.prefix);
        filter.after = Some(ThreadId::new(format!("job-{before:06}"))?);
        let all = self.store.admin().list(filter).await?;
        Ok(all
            .into_iter()
            .filter(|known| self.open.contains(known.thread.as_str()))
            .collect())
    }

    async fn close(&mut self, thread: &ThreadId) -> TrialResult<()> {
        self.judge
            .job(&self.runner, thread, &self.acknowledged)
            .await?;
        self.open.remove(thread.as_str());
        Ok(())
    }

    async fn answer(&mut self, thread: &ThreadId, child: &mut Child) -> TrialResult<()> {
        // What is acknowledged later may be open when it is looked for.
        let acknowledged: HashSet<String> = self.acknowledged.keys().cloned().collect();
        let ThreadStatus::Waiting(open) = self.runner.status(thread).await? else {
            return Ok(());
        };
        for interrupt in open {
            let id = question_id(thread, &interrupt);
            if acknowledged.contains(&id) {
                let what = format!("{id}: an acknowledged answer was lost");
                self.judge.verdict.wrong(what);
            }
            if self.asked.insert(id.clone()) {
                let answer = self.think(thread, &interrupt)?;
                self.sent.insert(id, answer.clone());
                let (thread, id) = (thread.to_string(), interrupt.id.to_string());
                let resume = Order::Resume { thread, id, answer };
                child.order(&resume).await?;
            }
        }
        Ok(())
    }

    /// A person who knows the evidence.
    fn think(&mut self, thread: &ThreadId, interrupt: &Interrupt) -> TrialResult<Value> {
        if let Some(told) = job::told(&self.evidence, thread.as_str(), interrupt)? {
            return Ok(told);
        }
        let before = self.sent.get(&question_id(thread, interrupt));
        if let Some(before) = before.filter(|_| self.repeats) {
            return Ok(before.clone());
        }
        self.tokens += 1;
        Ok(self.tokens.into())
    }

    pub(crate) fn receive(&mut self, said: ServerLine) {
        match said {
            ServerLine::Acknowledged(id) => {
                if let Some(answer) = self.sent.get(&id) {
                    self.acknowledged.insert(id, answer.clone());
                    self.judge.verdict.acknowledged += 1;
                }
            }
            ServerLine::Refused { order, .. } => {
                self.judge.verdict.refused += 1;
                // The lease of a dead process may keep everybody out for a while.
                match order {
                    Order::Submit { thread, .. } => self.told.remove(&thread),
                    Order::Resume { thread, id, .. } => {
                        self.asked.remove(&format!("{thread} {id}"))
                    }
                    Order::Recover { .. } => false,
                };
            }
            _ => {}
        }
    }
}

/// Questions of several threads may have the same id.
fn question_id(thread: &ThreadId, interrupt: &Interrupt) -> String {
    format!("{thread} {}", interrupt.id)
}
