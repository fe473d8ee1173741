//! Jobs: what is to be done later, once or again and again. They outlive the process.
use std::sync::Arc;

use fugato::{
    BoxError, StoreError,
    graph::digest,
    state::Millis,
    store::{
        DocFilter, DocKey, DocStore, DocStoreExt as _, DocWrite, Namespace, Precondition,
        StoreErrorKind, Version,
    },
};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::{
    agent::Lang,
    schedule::{self, BadSchedule},
};

/// The time, in milliseconds since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its name.
    pub id: String,
    /// The conversation in which it was made.
    pub thread: String,
    /// The language of that conversation.
    pub lang: Lang,
    /// What is to be done.
    pub wish: Wish,
    /// When it is due next, in milliseconds since the Unix epoch.
    pub due: Millis,
    /// How often it was done.
    pub fired: u64,
}

/// What is wanted of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// A cron expression.
    pub schedule: String,
    /// What is to be done.
    pub task: String,
    /// Whether only once.
    #[serde(default)]
    pub once: bool,
}

/// A job cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoJob {
    /// Its schedule cannot be used.
    #[error(transparent)]
    Schedule(#[from] BadSchedule),
    /// Its time never comes.
    #[error("{0:?} is never due again")]
    Never(String),
    /// There is nothing to do.
    #[error("the job has nothing to do; say what in \"task\"")]
    Nothing,
    /// The store.
    #[error("the jobs cannot be stored")]
    Store(#[from] StoreError),
    /// What was stored cannot be read.
    #[error("the jobs cannot be read")]
    Unreadable(#[source] BoxError),
}

/// All jobs. Cheap to clone.
#[derive(Clone)]
pub struct Jobs {
    docs: Arc<dyn DocStore>,
    zone: TimeZone,
    clock: Clock,
    changed: Arc<Notify>,
}

impl Jobs {
    /// The jobs of this store, in the time of this zone.
    pub fn new(docs: Arc<dyn DocStore>, zone: TimeZone, clock: Clock) -> Self {
        Self {
            docs,
            zone,
            clock,
            changed: Arc::default(),
        }
    }

    /// The name of the zone in which schedules are meant; empty if it has none.
    pub fn zone(&self) -> String {
        self.zone.iana_name().unwrap_or_default().to_owned()
    }

    /// The time.
    pub fn now(&self) -> Millis {
        (self.clock)()
    }

    /// Ready when a job was made or cancelled.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// A time as the person's clock shows it.
    pub fn shown(&self, time: Millis) -> String {
        let time = jiff::Timestamp::from_millisecond(time).unwrap_or_default();
        time.to_zoned(self.zone.clone())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string()
    }

    /// Makes a job. Under the same key it is made once.
    pub async fn create(
        &self,
        key: &str,
        thread: &str,
        lang: Lang,
        wish: Wish,
    ) -> Result<Job, NoJob> {
        if wish.task.trim().is_empty() {
            return Err(NoJob::Nothing);
        }
        let due = schedule::next(&wish.schedule, self.now(), &self.zone)?;
        let due = due.ok_or_else(|| NoJob::Never(wish.schedule.clone()))?;
        let hash: String = digest(key.as_bytes())
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(8)
            .collect();
        let job = Job {
            id: format!("job-{hash}"),
            thread: thread.to_owned(),
            lang,
            wish,
            due,
            fired: 0,
        };
        let put = self
            .docs
            .put_if(&space()?, &name(&job.id)?, &job, Precondition::Absent)
            .await;
        match put {
            Ok(_) => {
                self.changed.notify_one();
                Ok(job)
            }
            Err(error) if matches!(error.kind, StoreErrorKind::Changed { .. }) => {
                let there = self.docs.get_as(&space()?, &name(&job.id)?).await?;
                Ok(there.unwrap_or(job))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The jobs of whoever owns this conversation, the next one first.
    pub async fn list(&self, thread: &str) -> Result<Vec<Job>, NoJob> {
        let mut jobs = self.all().await?;
        jobs.retain(|job| owner(&job.thread) == owner(thread));
        Ok(jobs)
    }

    /// Cancels a job of whoever owns this conversation. False if there is none of this name.
    pub async fn cancel(&self, thread: &str, id: &str) -> Result<bool, NoJob> {
        let there = self.list(thread).await?.iter().any(|job| job.id == id);
        if there {
            self.docs.delete(&space()?, &name(id)?).await?;
            self.changed.notify_one();
        }
        Ok(there)
    }

    /// All jobs, the next one first.
    pub async fn all(&self) -> Result<Vec<Job>, NoJob> {
        let mut jobs = vec![];
        let mut filter = DocFilter::default().values();
        loop {
            let page = self.docs.list(&space()?, filter.clone()).await?;
            let Some(last) = page.last().map(|entry| entry.key.clone()) else {
                break;
            };
            for entry in page {
                let value = entry.value.unwrap_or_default();
                jobs.push(
                    Job::deserialize(value).map_err(|error| NoJob::Unreadable(error.into()))?,
                );
            }
            filter = filter.after(last);
        }
        jobs.sort_by(|a: &Job, b| (a.due, &a.id).cmp(&(b.due, &b.id)));
        Ok(jobs)
    }

    /// Removes the jobs that were made in this conversation.
    pub async fn delete_of(&self, thread: &str) -> Result<(), NoJob> {
        for job in self.all().await? {
            if job.thread == thread {
                self.docs.delete(&space()?, &name(&job.id)?).await?;
                self.changed.notify_one();
            }
        }
        Ok(())
    }

    /// Whether a job is there as it was read: nobody has cancelled or done it meanwhile.
    pub async fn stands(&self, job: &Job) -> Result<bool, NoJob> {
        Ok(self.found(job).await?.is_some())
    }

    /// The version of a job that is there as it was read.
    async fn found(&self, job: &Job) -> Result<Option<Version>, NoJob> {
        let there = self.docs.get(&space()?, &name(&job.id)?).await?;
        let same = there.filter(|doc| Job::deserialize(&doc.value).ok().as_ref() == Some(job));
        Ok(same.map(|doc| doc.version))
    }

    /// A job was done: it is due the next time after now, or gone. What somebody else has changed
    /// or cancelled meanwhile stays so.
    pub async fn fired(&self, job: &Job) -> Result<(), NoJob> {
        let key = name(&job.id)?;
        let Some(version) = self.found(job).await? else {
            return Ok(());
        };
        let now = self.now().max(job.due);
        let due = schedule::next(&job.wish.schedule, now, &self.zone)?.filter(|_| !job.wish.once);
        let write = match due {
            None => DocWrite::delete(&space()?, &key),
            Some(due) => {
                let next = Job {
                    due,
                    fired: job.fired + 1,
                    ..job.clone()
                };
                let value =
                    serde_json::to_value(next).map_err(|error| NoJob::Unreadable(error.into()))?;
                DocWrite::put(&space()?, &key, value)
            }
        };
        match self
            .docs
            .write_one(write.only_if(Precondition::Version(version)))
            .await
        {
            Err(error) if !matches!(error.kind, StoreErrorKind::Changed { .. }) => {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }
}

fn space() -> Result<Namespace, NoJob> {
    Namespace::new(["jobs"]).map_err(|error| NoJob::Unreadable(error.into()))
}

fn name(id: &str) -> Result<DocKey, NoJob> {
    DocKey::new(id).map_err(|error| NoJob::Unreadable(error.into()))
}

/// Whose a conversation is: what stands before its first slash.
fn owner(thread: &str) -> &str {
    thread.split_once('/').map_or("", |(owner, _)| owner)
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs")
            .field("zone", &self.zone)
            .finish_non_exhaustive()
    }
}
