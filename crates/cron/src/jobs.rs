use std::sync::Arc;

use fugato_graph::{BoxError, digest};
use fugato_state::{Millis, ThreadId, say};
use fugato_store::{
    DocEntry, DocFilter, DocKey, DocStore, DocStoreExt as _, DocWrite, Namespace, Precondition,
    StoreError, StoreErrorKind, Version,
};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{Mutex, Notify};

use crate::{BadSchedule, CatchUp, CronSchedule, Job, JobClock, JobSpec};

/// All jobs of a store. Cheap to clone.
#[derive(derive_more::Debug, Clone)]
#[debug("Jobs {{ clock: {clock:?}, .. }}")]
pub struct Jobs {
    docs: Arc<dyn DocStore>,
    clock: JobClock,
    changed: Arc<Notify>,
    most: usize,
    /// Held while a job is created, so that two at a time do not exceed the limit.
    creating: Arc<Mutex<()>>,
}

/// An error of creating, reading or changing a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The schedule cannot be used.
    #[error(transparent)]
    Schedule(#[from] BadSchedule),
    /// The schedule never comes due again.
    #[error("{}", say!("{_0:?} is never due again", "{_0:?} 不会再到期"))]
    Never(String),
    /// The task is empty.
    #[error("{}", say!(
        "the job has nothing to do; say what in \"task\"",
        "任务没有要做的事；请写在 \"task\" 里"
    ))]
    Nothing,
    /// The task is too long.
    #[error("{}", say!(
        "a task has at most {} bytes",
        "一个任务最多 {} 字节",
        Jobs::MAX_TASK_BYTES
    ))]
    TooLong,
    /// The owner has as many jobs as they may have.
    #[error("{}", say!(
        "{most} jobs may be kept at a time; cancel one that is no longer needed",
        "同时最多保留 {most} 个任务；请取消一个不再需要的"
    ))]
    TooMany {
        /// The number that is allowed.
        most: usize,
    },
    /// The name of its thread would be too long.
    #[error("{}", say!(
        "no job can be done beside {thread:?}: names of threads have at most {} bytes",
        "{thread:?} 旁边不能安排任务：线程名最多 {} 字节",
        ThreadId::MAX_BYTES
    ))]
    Place {
        /// The conversation.
        thread: String,
    },
    /// Another job was created under this key.
    #[error("{}", say!(
        "under the key {key:?} another job was made: {id}",
        "键 {key:?} 下已有另一个任务：{id}"
    ))]
    KeyTaken {
        /// The key.
        key: String,
        /// The other job.
        id: String,
    },
    /// The store failed.
    #[error("{}", say!("the jobs cannot be stored", "无法保存任务"))]
    Store(#[from] StoreError),
    /// A stored job cannot be read.
    #[error("{}", say!("the job {id} cannot be read", "无法读取任务 {id}"))]
    Unreadable {
        /// The id of the job.
        id: String,
        /// The cause.
        source: BoxError,
    },
}

/// The version of a stored job.
///
/// - 1: the first.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct StoredJob {
    v: u32,
    #[serde(flatten)]
    job: Job,
}

/// The result of a job's due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DueJob {
    /// The time that is done; `None` if all passed times are skipped.
    pub(crate) time: Option<Millis>,
    /// The next time that it is due; `None` if there is none.
    pub(crate) next: Option<Millis>,
}

impl Jobs {
    /// The longest task, in bytes.
    pub const MAX_TASK_BYTES: usize = 16 << 10;

    /// Opens the jobs of a store, with a clock.
    pub fn new(docs: Arc<dyn DocStore>, clock: JobClock) -> Self {
        Self {
            docs,
            clock,
            changed: Arc::default(),
            most: 1_000,
            creating: Arc::default(),
        }
    }

    fugato_state::setters! {
        /// Sets the number of jobs that the conversations of one owner may have at a time: 1,000 by
        /// default.
        pub fn at_most(jobs: usize) { most = jobs }
    }

    /// Returns the clock of the jobs.
    pub fn clock(&self) -> &JobClock {
        &self.clock
    }

    /// Waits until a job is created or cancelled by this value or a clone.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Creates a job of a conversation. A repetition with the same key returns the same job.
    pub async fn create(&self, key: &str, thread: &str, wish: JobSpec) -> Result<Job, JobError> {
        if wish.task.trim().is_empty() {
            return Err(JobError::Nothing);
        }
        if wish.task.len() > Self::MAX_TASK_BYTES {
            return Err(JobError::TooLong);
        }
        let due = CronSchedule::parse(&wish.schedule, self.clock.zone())?.next(self.clock.now());
        let due = due.ok_or_else(|| JobError::Never(wish.schedule.clone()))?;
        let job = Job {
            id: id(key),
            thread: thread.to_owned(),
            wish,
            zone: self.clock.zone_name().to_owned(),
            due,
            fired: 0,
        };
        if ThreadId::new(job.place()).is_err() {
            let thread = thread.to_owned();
            return Err(JobError::Place { thread });
        }
        let (space, name) = (space()?, name(&job.id)?);
        let value = value(&job)?;
        let _creating = self.creating.lock().await;
        let others = self.readable().await?;
        let is_other = |other: &&Job| other.id != job.id && owner(&other.thread) == owner(thread);
        if others.iter().filter(is_other).count() >= self.most {
            return Err(JobError::TooMany { most: self.most });
        }
        match self
            .docs
            .put_if(&space, &name, value, Precondition::Absent)
            .await
        {
            Ok(_) => {
                self.changed.notify_one();
                Ok(job)
            }
            Err(error) if matches!(error.kind, StoreErrorKind::Changed { .. }) => {
                let there = self.docs.get(&space, &name).await?;
                let Some(there) = there else { return Ok(job) };
                let there = read(&job.id, there.value)?;
                if (&there.thread, &there.wish) == (&job.thread, &job.wish) {
                    return Ok(there);
                }
                let (key, id) = (key.to_owned(), there.id);
                Err(JobError::KeyTaken { key, id })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the job that was created with this key, by the owner of this conversation.
    pub(crate) async fn created(&self, key: &str, thread: &str) -> Result<Option<Job>, JobError> {
        let mut jobs = self.list(thread).await?.into_iter();
        Ok(jobs.find(|job| job.id == id(key)))
    }

    /// Lists the jobs of the owner of this conversation, the next due first.
    pub async fn list(&self, thread: &str) -> Result<Vec<Job>, JobError> {
        let mut jobs = self.all().await?;
        jobs.retain(|job| owner(&job.thread) == owner(thread));
        Ok(jobs)
    }

    /// Cancels a job of the owner of this conversation. Returns false if there is none of this id.
    pub async fn cancel(&self, thread: &str, id: &str) -> Result<bool, JobError> {
        let there = self.list(thread).await?.iter().any(|job| job.id == id);
        if there {
            self.docs.delete(&space()?, &name(id)?).await?;
            self.changed.notify_one();
        }
        Ok(there)
    }

    /// Cancels the jobs that were created in a conversation, when it is deleted.
    pub async fn delete_of(&self, thread: &str) -> Result<(), JobError> {
        for job in self.all().await? {
            if job.thread == thread {
                self.docs.delete(&space()?, &name(&job.id)?).await?;
                self.changed.notify_one();
            }
        }
        Ok(())
    }

    /// Lists all jobs, the next due first. Fails if one cannot be read.
    pub async fn all(&self) -> Result<Vec<Job>, JobError> {
        let jobs: Result<Vec<Job>, JobError> = self.entries().await?.into_iter().collect();
        Ok(in_order(jobs?))
    }

    /// Lists the readable jobs, the next due first: an unreadable one does not stop the others.
    pub(crate) async fn readable(&self) -> Result<Vec<Job>, JobError> {
        let told = |job: Result<Job, JobError>| match job {
            Ok(job) => Some(job),
            Err(error) => {
                tracing::warn!(%error, "jobs cannot be read");
                None
            }
        };
        Ok(in_order(
            self.entries().await?.into_iter().filter_map(told).collect(),
        ))
    }

    async fn entries(&self) -> Result<Vec<Result<Job, JobError>>, JobError> {
        let mut jobs = vec![];
        let mut filter = DocFilter::default().values();
        loop {
            let page: Vec<DocEntry> = self.docs.list(&space()?, filter.clone()).await?;
            let Some(last) = page.last().map(|entry| entry.key.clone()) else {
                return Ok(jobs);
            };
            let read = page
                .into_iter()
                .map(|entry| read(entry.key.as_str(), entry.value.unwrap_or_default()));
            jobs.extend(read);
            filter = filter.after(last);
        }
    }

    /// Returns true if the stored job is unchanged: not cancelled and not done meanwhile.
    pub(crate) async fn stands(&self, job: &Job) -> Result<bool, JobError> {
        Ok(self.found(job).await?.is_some())
    }

    /// Returns the version of the stored job if it is unchanged.
    async fn found(&self, job: &Job) -> Result<Option<Version>, JobError> {
        let there = self.docs.get(&space()?, &name(&job.id)?).await?;
        let same = there.filter(|doc| {
            let there = Job::deserialize(&doc.value);
            there.is_ok_and(|there| there == *job)
        });
        Ok(same.map(|doc| doc.version))
    }

    fn zone(&self, job: &Job) -> TimeZone {
        let zone = match job.zone.as_str() {
            "" => None,
            name => TimeZone::get(name).ok(),
        };
        zone.unwrap_or_else(|| self.clock.zone().clone())
    }

    /// Returns the turn of a job that has come due.
    pub(crate) fn turn(&self, job: &Job) -> Result<DueJob, BadSchedule> {
        let schedule = CronSchedule::parse(&job.wish.schedule, &self.zone(job))?;
        let now = self.clock.now().max(job.due);
        let last = || schedule.last(now).unwrap_or(job.due).max(job.due);
        let (time, after) = match job.wish.catch_up {
            CatchUp::Once => (Some(job.due), now),
            CatchUp::Each { .. } if job.wish.once => (Some(job.due), now),
            CatchUp::Each { most } => {
                let earlier = |time: &Millis| schedule.last(time - 1).filter(|at| *at >= job.due);
                let newest =
                    std::iter::successors(Some(last()), earlier).take(most.max(1) as usize);
                let oldest = newest.last().unwrap_or(job.due);
                (Some(oldest), oldest)
            }
            CatchUp::Within { seconds } => {
                let time = if job.wish.once { job.due } else { last() };
                let is_near = now - time <= Millis::from(seconds) * 1000;
                (is_near.then_some(time), now)
            }
        };
        let next = schedule.next(after).filter(|_| !job.wish.once);
        Ok(DueJob { time, next })
    }

    /// Returns a new turn for a job that waits for times which the clock has already passed by more
    /// than a day: the clock was wrong then, or is now. Times after a smaller step back are not
    /// repeated.
    pub(crate) fn set_back(&self, job: &Job, now: Millis) -> Option<DueJob> {
        const DAY: Millis = 24 * 60 * 60 * 1000;
        let schedule = CronSchedule::parse(&job.wish.schedule, &self.zone(job)).ok()?;
        schedule.last(job.due - 1).filter(|last| last - now > DAY)?;
        let next = schedule.next(now).filter(|_| !job.wish.once)?;
        Some(DueJob {
            time: None,
            next: Some(next),
        })
    }

    /// Stores the next due time of a job, or deletes it. A concurrent change or cancellation wins.
    pub(crate) async fn moved(&self, job: &Job, turn: DueJob) -> Result<(), JobError> {
        let key = name(&job.id)?;
        let Some(version) = self.found(job).await? else {
            return Ok(());
        };
        let write = match turn.next {
            None => DocWrite::delete(&space()?, &key),
            Some(due) => {
                let fired = job.fired + u64::from(turn.time.is_some());
                let next = Job {
                    due,
                    fired,
                    ..job.clone()
                };
                DocWrite::put(&space()?, &key, value(&next)?)
            }
        };
        let write = write.only_if(Precondition::Version(version));
        match self.docs.write_one(write).await {
            Err(error) if !matches!(error.kind, StoreErrorKind::Changed { .. }) => {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }
}

fn in_order(mut jobs: Vec<Job>) -> Vec<Job> {
    jobs.sort_by(|a, b| (a.due, &a.id).cmp(&(b.due, &b.id)));
    jobs
}

fn value(job: &Job) -> Result<Value, JobError> {
    let (v, job) = (VERSION, job.clone());
    let id = job.id.clone();
    serde_json::to_value(StoredJob { v, job }).map_err(|error| unreadable(&id, error))
}

fn read(id: &str, value: Value) -> Result<Job, JobError> {
    let stored: StoredJob = serde_json::from_value(value).map_err(|error| unreadable(id, error))?;
    if stored.v == VERSION {
        return Ok(stored.job);
    }
    let why = say!(
        "its version is {}, and {VERSION} is known",
        "它的版本是 {}，而这里认识的是 {VERSION}",
        stored.v
    );
    Err(unreadable(id, why))
}

fn unreadable(id: &str, why: impl Into<BoxError>) -> JobError {
    JobError::Unreadable {
        id: id.to_owned(),
        source: why.into(),
    }
}

fn space() -> Result<Namespace, JobError> {
    Namespace::new(["jobs"]).map_err(|error| unreadable("", error))
}

/// Returns the id of the job that is created with a key.
fn id(key: &str) -> String {
    let letters = digest(key.as_bytes());
    let letters = letters.chars().filter(char::is_ascii_alphanumeric);
    format!("job-{}", letters.take(8).collect::<String>())
}

fn name(id: &str) -> Result<DocKey, JobError> {
    DocKey::new(id).map_err(|error| unreadable(id, error))
}

/// Returns the owner of a conversation: the part before its first slash.
fn owner(thread: &str) -> &str {
    thread.split_once('/').map_or("", |(owner, _)| owner)
}
