use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, File},
    io::{self, BufReader},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use fugato_graph::Runner;
use fugato_memory::{Archive, ArchiveError, ArchiveWriter};
use fugato_state::{State, ThreadId};
use fugato_store::{
    Intercept, InterceptedLog, StoreCall, StoreError, ThreadAdminExt as _, ThreadFilter,
};
use fugato_stream::Event;
use futures::{StreamExt as _, TryStreamExt as _};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::folder::{Folder, IntactPart};

/// The pause before it returns to a thread whose run was still live.
const SOON: Duration = Duration::from_millis(200);
/// The pause before it retries a failed write, for example on a full disk.
const LATER: Duration = Duration::from_secs(5);
/// The most attempts to write a file that another process writes at the same time.
const TRIES: usize = 3;
/// The time to wait for another process that writes archives of the same folder.
const PATIENCE: Duration = Duration::from_secs(2);
/// The pause between two attempts to lock the folder.
const MOMENT: Duration = Duration::from_millis(10);

/// The archives of all threads. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Archives {
    folder: Folder,
    /// The position up to which each archive is valid, as long as its file has this many bytes:
    /// other processes may write and delete it, too.
    whole: Arc<tokio::sync::Mutex<HashMap<ThreadId, IntactPart>>>,
    due: Arc<Mutex<BTreeSet<ThreadId>>>,
    changed: Arc<Notify>,
}

/// The reason why archives are not up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ArchiveLag {
    /// All archives are up to date.
    None,
    /// A run is still live.
    Live,
    /// A write failed.
    Failed,
}

/// A failure to bring an archive up to date.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveBehind {
    /// The file cannot be read or written.
    #[error("the file of the archive cannot be read or written")]
    File(#[from] io::Error),
    /// An event cannot be written.
    #[error("an event cannot be written to the archive")]
    Event(#[from] ArchiveError),
    /// Another process writes the archive at the same time.
    #[error("somebody else writes the archive at the same time")]
    Contended,
    /// The log cannot be read.
    #[error("the log cannot be read")]
    Store(#[from] StoreError),
}

/// A store whose archives follow every thread that is written.
pub type WatchedStore<T> = InterceptedLog<T, Archives>;

impl Intercept for Archives {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let done = act.await;
        if let StoreCall::Append(thread, _) | StoreCall::Fork(thread) = asked {
            // Also after an error: the commit may have been written without an acknowledgement.
            self.follow(thread);
        }
        done
    }
}

impl Archives {
    /// Creates the archives in a folder, which is created with the first of them.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Folder(folder.into()),
            whole: Arc::default(),
            due: Arc::default(),
            changed: Arc::default(),
        }
    }

    /// Wraps a store, so that these archives follow every thread that is written.
    pub fn watching<T>(&self, store: T) -> WatchedStore<T> {
        InterceptedLog::new(store, self.clone())
    }

    /// Returns the path of the archive of a thread.
    pub fn path(&self, thread: &ThreadId) -> PathBuf {
        self.folder.path(thread)
    }

    /// Reads the archive of a thread.
    pub fn read(&self, thread: &ThreadId) -> Result<Archive, ArchiveError> {
        Archive::read(BufReader::new(File::open(self.path(thread))?))
    }

    /// Copies the archive of a thread to a file, if there is one.
    pub fn copy(&self, thread: &ThreadId, to: &Path) -> io::Result<()> {
        self.if_there(fs::copy(self.path(thread), to).map(drop))
    }

    /// Deletes the archive of a thread, if there is one.
    pub fn delete(&self, thread: &ThreadId) -> io::Result<()> {
        self.if_there(fs::remove_file(self.path(thread)))
    }

    #[expect(clippy::unused_self, reason = "it reads as what it is about")]
    fn if_there(&self, done: io::Result<()>) -> io::Result<()> {
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Marks a thread as written, so that its archive will be brought up to date.
    pub fn follow(&self, thread: &ThreadId) {
        self.due().insert(thread.clone());
        self.changed.notify_one();
    }

    /// Follows the marked threads until `stop` is ready or the runner is closed. Archives that an
    /// earlier process left behind are brought up to date first.
    pub async fn run_until<S: State>(&self, runner: &Runner<S>, stop: impl Future<Output = ()>) {
        let closed = runner.closed();
        let stop = async {
            tokio::select! {
                () = stop => {}
                () = closed => {}
            }
        };
        tokio::pin!(stop);
        let begun = async {
            if let Err(error) = self.bring_up_all(runner).await {
                tracing::warn!(%error, "archive is behind");
            }
        };
        tokio::select! {
            () = &mut stop => return,
            () = begun => {}
        }
        loop {
            let next = async {
                match self.bring_up_all_due(runner).await {
                    ArchiveLag::None => self.changed.notified().await,
                    ArchiveLag::Live => sleep(SOON).await,
                    ArchiveLag::Failed => sleep(LATER).await,
                }
            };
            tokio::select! {
                () = &mut stop => break,
                () = next => {}
            }
        }
        // Runs that have just ended are not left to the next process.
        self.bring_up_due(runner).await;
    }

    /// Writes the events of a thread that are missing in its archive, and returns their number.
    pub async fn bring_up<S: State>(
        &self,
        runner: &Runner<S>,
        thread: &ThreadId,
    ) -> Result<usize, ArchiveBehind> {
        let mut known = self.whole.lock().await;
        let _held = timeout(PATIENCE, self.locked())
            .await
            .map_err(|_| ArchiveBehind::Contended)??;
        let head = runner.log().head(thread).await?;
        let base = head.map_or(0, |head| head.base);
        for _ in 0..TRIES {
            // If a later step fails, the cached position is not used again.
            let whole = match known.remove(thread) {
                Some(whole) if self.folder.bytes(thread)? == Some(whole.bytes) => whole,
                _ => self.folder.whole(thread, base)?,
            };
            let events = runner.events(thread, whole.seq.max(base));
            let events: Vec<Event> = events
                .filter(|event| std::future::ready(event.seq.is_some()))
                .collect()
                .await;
            let (count, mut seq) = (events.len(), whole.seq);
            let mut writer = ArchiveWriter::new(vec![]);
            for event in events {
                seq = event.seq.unwrap_or(seq);
                writer.event(event)?;
            }
            let lines = writer.into_inner();
            if lines.is_empty() {
                // Lines are only cut off if the log has events to replace them.
                known.extend((whole.seq > 0).then(|| (thread.clone(), whole)));
                return Ok(0);
            }
            self.folder.write(thread, whole, &lines)?;
            let bytes = whole.bytes + lines.len() as u64;
            if self.folder.bytes(thread)? == Some(bytes) {
                known.insert(thread.clone(), IntactPart { seq, bytes });
                return Ok(count);
            }
        }
        Err(ArchiveBehind::Contended)
    }

    async fn locked(&self) -> io::Result<File> {
        loop {
            match self.folder.lock()? {
                Some(held) => return Ok(held),
                None => sleep(MOMENT).await,
            }
        }
    }

    /// Brings the archives of all threads up to date, if the store can list them. A failure of one
    /// does not stop the others.
    pub async fn bring_up_all<S: State>(&self, runner: &Runner<S>) -> Result<(), ArchiveBehind> {
        let Some(admin) = runner.admin() else {
            return Ok(());
        };
        let mut all = admin.all(ThreadFilter::default());
        while let Some(entry) = all.try_next().await? {
            self.try_to_bring_up(runner, entry.thread).await;
        }
        Ok(())
    }

    /// Brings the archives of marked threads without a live run up to date. Returns false if some
    /// are not.
    pub async fn bring_up_due<S: State>(&self, runner: &Runner<S>) -> bool {
        self.bring_up_all_due(runner).await == ArchiveLag::None
    }

    async fn bring_up_all_due<S: State>(&self, runner: &Runner<S>) -> ArchiveLag {
        let due = std::mem::take(&mut *self.due());
        let mut behind = ArchiveLag::None;
        for thread in due {
            behind = behind.max(self.try_to_bring_up(runner, thread).await);
        }
        behind
    }

    /// Brings up a thread without a live run; otherwise, or if that fails, it is marked again.
    async fn try_to_bring_up<S: State>(&self, runner: &Runner<S>, thread: ThreadId) -> ArchiveLag {
        let behind = if runner.is_live(&thread) {
            ArchiveLag::Live
        } else if let Err(error) = self.bring_up(runner, &thread).await {
            tracing::warn!(%thread, %error, "archive is behind");
            ArchiveLag::Failed
        } else {
            ArchiveLag::None
        };
        if behind != ArchiveLag::None {
            self.due().insert(thread);
        }
        behind
    }

    fn due(&self) -> MutexGuard<'_, BTreeSet<ThreadId>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
