//! The use that a person makes of a program, within their limits.
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use fugato_axum::{ApiError, Caller, CallerQuota};
use fugato_state::say;
use fugato_store::{
    DocKey, DocStore, DocStoreExt as _, Namespace, Precondition, StoreError, StoreErrorKind,
};
use serde::{Deserialize, Serialize};

use super::PersonLimits;

/// The time for which tokens and runs count, in hours: a day, and the hour in which it begins.
const COUNTED: u64 = 25;
const HOUR: u64 = 3_600;
/// The times that a count is stored again which another process has changed.
const TRIES: usize = 8;

/// The use of a person, and its limits.
#[derive(Debug, Clone)]
pub(crate) struct PersonUsage {
    pub(crate) limits: PersonLimits,
    folder: PathBuf,
    pub(crate) tokens: DayCounts,
    runs: DayCounts,
}

impl PersonUsage {
    /// The use of the person whose data are in this folder and in these documents.
    pub(crate) fn new(limits: PersonLimits, folder: PathBuf, docs: Arc<dyn DocStore>) -> Self {
        Self {
            limits,
            folder,
            tokens: DayCounts::new("tokens", docs.clone()),
            runs: DayCounts::new("runs", docs),
        }
    }

    /// Returns what is used up of the tokens, and the time until some come back; none while there
    /// are any.
    pub(crate) async fn used_up(&self) -> Result<Option<(String, Duration)>, StoreError> {
        let Some(most) = self.limits.tokens_a_day else {
            return Ok(None);
        };
        let (used, wait) = self.tokens.used().await?;
        let message = || {
            say!(
                "{most} tokens may be used within 24 hours, and {used} were",
                "24 小时内最多用 {most} 个 token，已用 {used}"
            )
        };
        Ok((used >= most).then(|| (message(), wait)))
    }
}

#[async_trait]
impl CallerQuota for PersonUsage {
    async fn admit(&self, _: &Caller) -> Result<(), ApiError> {
        if let Some((message, wait)) = self.used_up().await? {
            return Err(ApiError::too_many("tokens_per_day", message, Some(wait)));
        }
        let Some(most) = self.limits.megabytes else {
            return Ok(());
        };
        let folder = self.folder.clone();
        let bytes = tokio::task::spawn_blocking(move || stored(&folder)).await;
        let bytes = bytes.unwrap_or(0);
        if bytes <= most.saturating_mul(1 << 20) {
            return Ok(());
        }
        let message = say!(
            "{most} MB may be stored, and {} are; remove conversations that are no longer needed",
            "最多保存 {most} MB，现有 {}；请删除不再需要的对话",
            bytes.div_ceil(1 << 20)
        );
        Err(ApiError::too_many("storage", message, None))
    }

    async fn count(&self, _: &Caller) -> Result<(), ApiError> {
        let Some(most) = self.limits.runs_a_day else {
            return Ok(());
        };
        let Some(wait) = self.runs.take_one(most).await? else {
            return Ok(());
        };
        let message = say!(
            "{most} runs may begin in 24 hours",
            "24 小时内最多开始 {most} 次运行"
        );
        Err(ApiError::too_many("runs_per_day", message, Some(wait)))
    }
}

/// Returns the bytes of all files in a folder. Those that cannot be read, or are gone by then, do not
/// count, nor do journals of databases, which are emptied by themselves.
fn stored(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| {
        let (path, about) = (entry.path(), entry.metadata().ok()?);
        let is_journal =
            ["-wal", "-shm"].map(|end| path.as_os_str().to_string_lossy().ends_with(end));
        Some(match about.file_type() {
            kind if kind.is_dir() => stored(&path),
            kind if kind.is_file() && !is_journal.contains(&true) => {
                about.len().saturating_sub(unused(&path).unwrap_or(0))
            }
            _ => 0,
        })
    };
    entries.filter_map(size).sum()
}

/// Returns the bytes of a database of SQLite that are free for new rows: a file does not get smaller
/// when something is removed from it.
fn unused(path: &Path) -> io::Result<u64> {
    let mut head = [0; 40];
    File::open(path)?.read_exact(&mut head)?;
    let number = |range: std::ops::Range<usize>| {
        let bytes = head.get(range).unwrap_or_default();
        bytes
            .iter()
            .fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
    };
    let page = match number(16..18) {
        1 => 1 << 16,
        page => page,
    };
    let is_database = head.starts_with(b"SQLite format 3\0");
    Ok(if is_database {
        page * number(36..40)
    } else {
        0
    })
}

/// The tokens that a person has used, or the runs that they began, by the hour, in a document that
/// outlives the process.
#[derive(derive_more::Debug, Clone)]
#[debug("DayCounts")]
pub(crate) struct DayCounts {
    /// The key of the document.
    what: &'static str,
    docs: Arc<dyn DocStore>,
    /// The part that is not stored yet.
    unsaved: Arc<Mutex<Hours>>,
    /// Held while it is stored, so that whoever reads finds it.
    saving: Arc<tokio::sync::Mutex<()>>,
}

/// The stored counts.
///
/// - 1: the first.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredCounts {
    v: u32,
    hours: Hours,
}

/// Tokens or runs by the hour since the Unix epoch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Hours(BTreeMap<u64, u64>);

impl Hours {
    fn add(&mut self, more: &Self) {
        for (hour, count) in &more.0 {
            let sum = self.0.entry(*hour).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Returns what counts at a time, in seconds, and the time until some of it does not any more.
    fn count(&mut self, now: u64) -> (u64, Duration) {
        self.0.retain(|hour, _| hour + COUNTED > now / HOUR);
        let first = self
            .0
            .keys()
            .next()
            .map_or(now, |hour| (hour + COUNTED) * HOUR);
        let sum = self
            .0
            .values()
            .fold(0, |sum: u64, count| sum.saturating_add(*count));
        (sum, Duration::from_secs(first.saturating_sub(now)))
    }
}

impl DayCounts {
    fn new(what: &'static str, docs: Arc<dyn DocStore>) -> Self {
        Self {
            what,
            docs,
            unsaved: Arc::default(),
            saving: Arc::default(),
        }
    }

    /// Counts one more, unless there are as many as allowed; then it returns the time until some do
    /// not count any more.
    async fn take_one(&self, most: usize) -> Result<Option<Duration>, StoreError> {
        let _saving = self.saving.lock().await;
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let one = Hours([(now() / HOUR, 1)].into());
        self.store(&one, most).await
    }

    /// Counts tokens at once, and stores the count by and by.
    pub(crate) fn add(&self, tokens: u64) {
        self.unsaved().add(&Hours([(now() / HOUR, tokens)].into()));
        // Without a runtime, the process ends; what it used last is lost.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let counts = self.clone();
            runtime.spawn(async move {
                if let Err(error) = counts.save().await {
                    tracing::warn!(%error, what = counts.what, "use cannot be stored");
                }
            });
        }
    }

    /// Returns the sum of the last day, and the time until some of them do not count any more.
    async fn used(&self) -> Result<(u64, Duration), StoreError> {
        self.save().await?;
        let (mut hours, _) = self.read().await?;
        Ok(hours.count(now()))
    }

    async fn save(&self) -> Result<(), StoreError> {
        let _saving = self.saving.lock().await;
        let more = std::mem::take(&mut *self.unsaved());
        if more == Hours::default() {
            return Ok(());
        }
        let stored = self.store(&more, u64::MAX).await;
        if stored.is_err() {
            self.unsaved().add(&more);
        }
        stored.map(drop)
    }

    /// Adds to the stored counts, unless so much counts already; then it returns the time until
    /// some of it does not any more.
    async fn store(&self, more: &Hours, most: u64) -> Result<Option<Duration>, StoreError> {
        let mut tries = 0;
        loop {
            let (mut hours, expected) = self.read().await?;
            let (count, wait) = hours.count(now());
            if count >= most {
                return Ok(Some(wait));
            }
            hours.add(more);
            let (space, key) = self.place();
            let counts = StoredCounts { v: 1, hours };
            let stored = self.docs.put_if(&space, &key, counts, expected).await;
            tries += 1;
            match stored {
                Err(error)
                    if tries < TRIES && matches!(error.kind, StoreErrorKind::Changed { .. }) => {}
                stored => return stored.map(|_| None),
            }
        }
    }

    /// Returns the stored counts, and what must be so for them to be replaced.
    async fn read(&self) -> Result<(Hours, Precondition), StoreError> {
        let (space, key) = self.place();
        let Some(doc) = self.docs.get(&space, &key).await? else {
            return Ok((Hours::default(), Precondition::Absent));
        };
        let counts = serde_json::from_value(doc.value).map(|counts: StoredCounts| counts.hours);
        let hours = counts.unwrap_or_else(|error| {
            tracing::warn!(%error, what = self.what, "use cannot be read, and is counted anew");
            Hours::default()
        });
        Ok((hours, Precondition::Version(doc.version)))
    }

    fn place(&self) -> (Namespace, DocKey) {
        let space = Namespace::new(["limits"]).expect("a short word is a name");
        (
            space,
            DocKey::new(self.what).expect("a short word is a key"),
        )
    }

    fn unsaved(&self) -> MutexGuard<'_, Hours> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the seconds since the Unix epoch.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use fugato_store::MemoryDocs;

    use super::*;

    #[test]
    fn tokens_count_for_a_day() {
        let mut hours = Hours([(100, 5), (101, 7)].into());
        assert_eq!(
            hours.count(101 * HOUR),
            (12, Duration::from_secs(24 * HOUR))
        );
        assert_eq!(
            hours.count(124 * HOUR + 1),
            (12, Duration::from_secs(HOUR - 1))
        );
        assert_eq!(hours.count(125 * HOUR).0, 7);
        assert_eq!(hours.count(126 * HOUR), (0, Duration::ZERO));
    }

    #[tokio::test]
    async fn two_processes_count_together_and_a_restart_forgets_nothing() {
        let docs: Arc<dyn DocStore> = Arc::new(MemoryDocs::default());
        let counts =
            || PersonUsage::new(PersonLimits::default(), PathBuf::new(), docs.clone()).tokens;
        let (one, other) = (counts(), counts());
        one.add(3);
        assert_eq!(one.used().await.unwrap().0, 3);
        other.add(4);
        assert_eq!(other.used().await.unwrap().0, 7);
        assert_eq!(counts().used().await.unwrap().0, 7);
    }

    #[test]
    fn what_was_removed_from_a_database_is_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("note", &[0; 100]);
        write("a.db-wal", &[0; 5_000]);
        let mut database = vec![0; 8_192];
        database[..16].copy_from_slice(b"SQLite format 3\0");
        database[16..18].copy_from_slice(&4_096_u16.to_be_bytes());
        database[36..40].copy_from_slice(&1_u32.to_be_bytes());
        write("a.db", &database);
        assert_eq!(stored(folder.path()), 100 + 4_096);
    }
}
