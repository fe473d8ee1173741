//! The cost of a store with many threads.
use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use fugato_commits::{CommitLog, CommitLogOptions};
use fugato_graph::{Context, END, Graph, Runner};
use fugato_postgres::PostgresLog;
use fugato_sqlite::{SqliteLog, SqliteOptions, Synchronous};
use fugato_state::{Millis, ThreadId};
use fugato_store::{
    Claim, Commit, Expect, LeaseOutcome, LeaseRequest, Record, Status, ThreadFilter,
    ThreadLog as _, ThreadStore,
};
use futures::{StreamExt, TryStreamExt, future, stream};
use servers::{Postgres, Server};

use crate::{
    BoxError, TrialResult,
    job::{FinishedJob, Job},
    long::resident,
};

/// One of so many threads can go on.
const DUE: u64 = 100;

/// Samples of each operation.
const SAMPLES: u64 = 200;

/// Threads that one claim asks for.
const CLAIMED: usize = 10;

/// Time to live of a lease, and the time that a thread is told to sleep, in milliseconds: longer than
/// a trial.
const LONG: Millis = 24 * 60 * 60 * 1000;

/// A time at which nobody measures any more: 1 January 2100.
const FAR: Millis = 4_102_444_800_000;

/// The bytes of a record.
const RECORD: &[u8] = &[b'x'; 200];

/// The stores that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// A file, each write on the disk before it is acknowledged.
    Sqlite,
    /// A server of its own, as it comes.
    Postgres,
    /// A folder of commits, each on the disk before it is acknowledged.
    Commits,
}

/// The costs of one operation, as medians in microseconds, and the memory of the process.
#[derive(Debug, Clone, PartialEq, derive_more::Display)]
#[display(
    "{threads:>9} threads, {due} due: claim of 10 {claim:.0} µs, wake {wake:.0} µs, timer {timer:.0} µs, \
     page of 100 names {page:.0} µs, {memory} KiB of memory"
)]
#[non_exhaustive]
pub struct Costs {
    /// The number of threads.
    pub threads: u64,
    /// The number of those that can go on.
    pub due: u64,
    /// A claim of ten threads that can go on.
    pub claim: f64,
    /// Making a waiting thread one that can go on: its lease, one commit, and giving it back.
    pub wake: f64,
    /// Letting a thread sleep until a time: the same.
    pub timer: f64,
    /// A page of the list of threads, somewhere within it.
    pub page: f64,
    /// The memory of the process, in KiB.
    pub memory: u64,
}

impl Costs {
    /// Returns how these costs are to those of fewer threads.
    pub fn against(&self, fewer: &Self) -> String {
        let ratio = |of: fn(&Self) -> f64| of(self) / of(fewer);
        format!(
            "          claim {:.2}, wake {:.2}, timer {:.2}, page {:.2} times those of {} threads",
            ratio(|costs| costs.claim),
            ratio(|costs| costs.wake),
            ratio(|costs| costs.timer),
            ratio(|costs| costs.page),
            fewer.threads
        )
    }
}

/// A store that grows.
#[derive(Debug)]
pub struct Growing {
    kind: Kind,
    folder: tempfile::TempDir,
    server: Option<Server>,
    threads: u64,
}

impl Growing {
    /// A store without threads; none if its server is not installed.
    pub fn new(kind: Kind) -> TrialResult<Option<Self>> {
        let server = match kind {
            Kind::Postgres => match Postgres::start() {
                None => return Ok(None),
                started => started,
            },
            _ => None,
        };
        let (folder, threads) = (tempfile::tempdir()?, 0);
        Ok(Some(Self {
            kind,
            folder,
            server,
            threads,
        }))
    }

    /// Adds threads until there are so many, and measures what each operation costs then.
    pub async fn grown_to(&mut self, threads: u64) -> TrialResult<Costs> {
        let quick = self.open(Synchronous::Normal).await?;
        let begun = (self.threads..threads).map(|number| begin(quick.as_ref(), number));
        let mut begun = stream::iter(begun).buffer_unordered(64);
        while begun.try_next().await?.is_some() {}
        drop(begun);
        drop(quick);
        self.threads = threads;
        measure(self.open(Synchronous::Full).await?.as_ref(), threads).await
    }

    async fn open(&self, synchronous: Synchronous) -> TrialResult<Arc<dyn ThreadStore>> {
        Ok(match (self.kind, &self.server) {
            (Kind::Sqlite, _) => {
                let options = SqliteOptions::default().synchronous(synchronous);
                Arc::new(SqliteLog::open_with(self.place("threads.db"), options)?)
            }
            (Kind::Postgres, Some(server)) => Arc::new(PostgresLog::connect(server.url()).await?),
            (Kind::Postgres, None) => return Err(BoxError::from("the server is not there")),
            (Kind::Commits, _) => {
                let options = CommitLogOptions::default();
                Arc::new(CommitLog::open_folder(self.place("commits"), options).await?)
            }
        })
    }

    fn place(&self, name: &str) -> PathBuf {
        Path::join(self.folder.path(), name)
    }
}

fn name(number: u64) -> TrialResult<ThreadId> {
    Ok(ThreadId::new(format!("thread-{number:07}"))?)
}

fn is_due(number: u64) -> bool {
    number % DUE == 1
}

/// Begins a thread: one of a hundred can go on, half of the others wait, half sleep.
async fn begin(log: &dyn ThreadStore, number: u64) -> TrialResult<()> {
    let status = match number {
        due if is_due(due) => Status::Runnable,
        even if even % 2 == 0 => Status::Waiting { expires: None },
        _ => Status::Sleeping { until: FAR },
    };
    let commit = commit(Expect { head: 0, fence: 0 }, status);
    log.append(&name(number)?, &commit).await?;
    Ok(())
}

fn commit(expect: Expect, status: Status) -> Commit {
    Commit {
        expect,
        nonce: u128::from(fastrand::u64(..)),
        records: vec![Record(RECORD.to_vec())],
        status,
        base: None,
    }
}

async fn measure(log: &dyn ThreadStore, threads: u64) -> TrialResult<Costs> {
    let (mut claim, mut wake, mut timer, mut page) = (vec![], vec![], vec![], vec![]);
    let stride = (threads / SAMPLES).max(2) / 2 * 2;
    for sample in 0..SAMPLES {
        let begin = Instant::now();
        let leases = granted(log, claims()).await?;
        claim.push(begin.elapsed());
        if leases.len() < CLAIMED.min(usize::try_from(threads / DUE)?) {
            return Err(format!("a claim found {} of the due threads", leases.len()).into());
        }
        for (thread, expect) in leases {
            release(log, thread, expect).await?;
        }
        // An even number waits.
        let waits = name(sample * stride % threads)?;
        let begin = Instant::now();
        let now = settle(log, &waits, Status::Runnable).await?;
        wake.push(begin.elapsed());
        let begin = Instant::now();
        settle(log, &waits, Status::Sleeping { until: now + LONG }).await?;
        timer.push(begin.elapsed());
        settle(log, &waits, Status::Waiting { expires: None }).await?;
        let mut filter = ThreadFilter::default();
        (filter.after, filter.limit) = (Some(waits), 100);
        let begin = Instant::now();
        log.list(filter).await?;
        page.push(begin.elapsed());
    }
    Ok(Costs {
        threads,
        due: (0..threads).filter(|number| is_due(*number)).count() as u64,
        claim: median(claim),
        wake: median(wake),
        timer: median(timer),
        page: median(page),
        memory: resident()?,
    })
}

/// The median, in microseconds.
pub(crate) fn median(mut took: Vec<Duration>) -> f64 {
    took.sort();
    let middle = took.get(took.len() / 2).copied().unwrap_or_default();
    middle.as_secs_f64() * 1e6
}

fn claims() -> LeaseRequest {
    LeaseRequest::Claim(Claim {
        prefix: "thread-".into(),
        n: CLAIMED,
        owner: "scale".into(),
        ttl: LONG,
        ..Claim::default()
    })
}

async fn granted(
    log: &dyn ThreadStore,
    request: LeaseRequest,
) -> TrialResult<Vec<(ThreadId, Expect)>> {
    let LeaseOutcome::Granted(leases) = log.lease(request).await? else {
        return Err(BoxError::from("another answer than leases"));
    };
    let expected = leases.into_iter().map(|lease| {
        let expect = Expect {
            head: lease.head,
            fence: lease.fence,
        };
        (lease.thread, expect)
    });
    Ok(expected.collect())
}

async fn release(log: &dyn ThreadStore, thread: ThreadId, expect: Expect) -> TrialResult<()> {
    let fence = expect.fence;
    log.lease(LeaseRequest::Release { thread, fence }).await?;
    Ok(())
}

/// Gives a thread another status, as whoever works on it does. Returns the store's time.
async fn settle(log: &dyn ThreadStore, thread: &ThreadId, status: Status) -> TrialResult<Millis> {
    let acquire = LeaseRequest::Acquire {
        thread: thread.clone(),
        owner: "scale".into(),
        ttl: LONG,
    };
    let leases = granted(log, acquire).await?;
    let (_, expect) = leases.into_iter().next().ok_or("no lease")?;
    let appended = log.append(thread, &commit(expect, status)).await?;
    release(log, thread.clone(), expect).await?;
    Ok(appended.now)
}

/// The number of callers that want a run at the same time.
const CALLERS: u64 = 16;

/// Runs that each caller wants.
const RUNS: u64 = 20;

/// Runs of one step that callers want at the same time, in microseconds a run.
#[derive(Debug, Clone, PartialEq, derive_more::Display)]
#[display(
    "{CALLERS} callers at once: a run on one thread {hot:.0} µs, on threads of their own {apart:.0} µs"
)]
#[non_exhaustive]
pub struct HotCost {
    /// All of them on one thread, whose runs come one after the other.
    pub hot: f64,
    /// Each on a thread of its own.
    pub apart: f64,
}

impl Growing {
    /// Lets callers run one thread, and then threads of their own.
    pub async fn hot(&self) -> TrialResult<HotCost> {
        let store = self.open(Synchronous::Full).await?;
        let step = async |_: Context<Job>| FinishedJob("step".into());
        let graph = Graph::<Job>::starting_at("step");
        let graph = graph.node("step", step).edge("step", END).build()?;
        let runner = Runner::on_log(graph, store);
        let cost = async |prefix: &str, threads: u64| -> TrialResult<f64> {
            let begin = Instant::now();
            let callers = (0..CALLERS).map(|caller| {
                let (runner, thread) = (&runner, format!("{prefix}-{}", caller % threads));
                async move {
                    let thread = ThreadId::new(thread)?;
                    for run in 0..RUNS {
                        // A named request waits for the run before it.
                        runner
                            .start_keyed(&thread, format!("{caller}/{run}"), ())
                            .await?;
                    }
                    Ok::<_, BoxError>(())
                }
            });
            future::try_join_all(callers).await?;
            Ok(begin.elapsed().as_secs_f64() * 1e6 / f64::from(u32::try_from(CALLERS * RUNS)?))
        };
        Ok(HotCost {
            hot: cost("hot", 1).await?,
            apart: cost("apart", CALLERS).await?,
        })
    }
}

/// A commit on a folder, and what the disk takes for it alone, as medians in microseconds.
#[derive(Debug, Clone, PartialEq, derive_more::Display)]
#[display(
    "a commit of {bytes} bytes on a folder {commit:.0} µs; its {files} synced files by hand \
     {by_hand:.0} µs: {ratio:.2} times",
    ratio = commit / by_hand
)]
#[non_exhaustive]
pub struct FolderCost {
    /// The bytes of its record.
    pub bytes: usize,
    /// The files that a commit leaves.
    pub files: usize,
    /// A commit.
    pub commit: f64,
    /// The same files, each written beside its place, synced, linked there, and synced with its
    /// folder.
    pub by_hand: f64,
}

/// Commits to a thread in a folder, and makes the same files by hand, in turn.
pub async fn on_a_folder(commits: u64) -> TrialResult<FolderCost> {
    let folder = tempfile::tempdir()?;
    let (log, hand) = (folder.path().join("log"), folder.path().join("hand"));
    fs::create_dir(&hand)?;
    let options = CommitLogOptions::default();
    let store = CommitLog::open_folder(&log, options).await?;
    let thread = name(0)?;
    begin(&store, 0).await?;
    let acquire = LeaseRequest::Acquire {
        thread: thread.clone(),
        owner: "scale".into(),
        ttl: LONG,
    };
    let leases = granted(&store, acquire).await?;
    let (_, mut expect) = leases.into_iter().next().ok_or("no lease")?;
    let mut commit_of = async || -> TrialResult<Duration> {
        let begin = Instant::now();
        let appended = store
            .append(&thread, &commit(expect, Status::Runnable))
            .await?;
        expect.head = appended.head;
        Ok(begin.elapsed())
    };
    commit_of().await?;
    let before = files(&log)?;
    commit_of().await?;
    let made: Vec<_> = files(&log)?
        .into_iter()
        .filter(|file| !before.contains(file))
        .collect();
    let content: Vec<_> = made.iter().map(fs::read).collect::<Result<_, _>>()?;
    let (mut took, mut by_hand) = (vec![], vec![]);
    for number in 0..commits {
        took.push(commit_of().await?);
        let begin = Instant::now();
        for (nth, content) in content.iter().enumerate() {
            let (aside, place) = (hand.join("aside"), hand.join(format!("{number}-{nth}")));
            let mut file = fs::File::create(&aside)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::hard_link(&aside, &place)?;
            fs::remove_file(&aside)?;
            fs::File::open(&hand)?.sync_all()?;
        }
        by_hand.push(begin.elapsed());
    }
    Ok(FolderCost {
        bytes: RECORD.len(),
        files: made.len(),
        commit: median(took),
        by_hand: median(by_hand),
    })
}

/// All files below a folder.
fn files(folder: &Path) -> TrialResult<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.insert(path);
        }
    }
    Ok(found)
}
