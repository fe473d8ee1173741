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
use fugato_store::{StoreError, ThreadAdminExt as _, ThreadFilter};
use fugato_stream::Event;
use futures::{StreamExt as _, TryStreamExt as _};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::{
    Watching,
    folder::{Folder, Whole},
    log_key,
};

/// How soon it looks again at a thread that was not at rest.
const SOON: Duration = Duration::from_millis(200);
/// How soon it tries again to write what could not be written, such as where the disk is full.
const LATER: Duration = Duration::from_secs(5);
/// How often a file is written anew that somebody else writes at the same time.
const TRIES: usize = 3;
/// How long it waits for others who write archives of the same folder.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it asks whether they have ended.
const MOMENT: Duration = Duration::from_millis(10);

/// The archives of all threads. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Archives {
    folder: Folder,
    /// Up to where each archive is surely whole, as long as its file has this many bytes: others
    /// may write and delete it, too.
    whole: Arc<tokio::sync::Mutex<HashMap<ThreadId, Whole>>>,
    due: Arc<Mutex<BTreeSet<ThreadId>>>,
    changed: Arc<Notify>,
}

/// What keeps archives from being up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Behind {
    /// Nothing.
    None,
    /// A run that goes on.
    Live,
    /// What could not be written.
    Failed,
}

/// An archive could not be brought up to date.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveBehind {
    /// Its file.
    #[error("the file of the archive cannot be read or written")]
    File(#[from] io::Error),
    /// An event.
    #[error("an event cannot be written to the archive")]
    Event(#[from] ArchiveError),
    /// Somebody else writes it.
    #[error("somebody else writes the archive at the same time")]
    Contended,
    /// The store.
    #[error("the log cannot be read")]
    Store(#[from] StoreError),
}

impl Archives {
    /// The archives in a folder, which is made with the first.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Folder(folder.into()),
            whole: Arc::default(),
            due: Arc::default(),
            changed: Arc::default(),
        }
    }

    /// A store that tells these archives of every thread that is written.
    pub fn watching<T>(&self, store: T) -> Watching<T> {
        Watching::new(store, self.clone())
    }

    /// The file of a thread.
    pub fn path(&self, thread: &ThreadId) -> PathBuf {
        self.folder.path(thread)
    }

    /// What the archive of a thread holds.
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

    /// Something was written to a thread: its archive is to follow.
    pub fn follow(&self, thread: &ThreadId) {
        self.due().insert(thread.clone());
        self.changed.notify_one();
    }

    /// Follows until `stop` is ready. Archives that a process before has left behind are brought up
    /// to date first.
    pub async fn run_until<S: State>(&self, runner: &Runner<S>, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        let begun = async {
            if let Err(error) = self.bring_up_all(runner).await {
                tracing::warn!(%error, "{}", log_key::AN_ARCHIVE_IS_BEHIND);
            }
        };
        tokio::select! {
            () = &mut stop => return,
            () = begun => {}
        }
        loop {
            let next = async {
                match self.bring_up_all_due(runner).await {
                    Behind::None => self.changed.notified().await,
                    Behind::Live => sleep(SOON).await,
                    Behind::Failed => sleep(LATER).await,
                }
            };
            tokio::select! {
                () = &mut stop => break,
                () = next => {}
            }
        }
        // What has just come to rest is not left to the next process.
        self.bring_up_due(runner).await;
    }

    /// Writes what happened in a thread and is not in its archive. Returns how many events that
    /// were.
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
            // What fails on the way leaves nothing that is trusted.
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
                // Nothing is cut off for which the log has nothing to put in its place.
                known.extend((whole.seq > 0).then(|| (thread.clone(), whole)));
                return Ok(0);
            }
            self.folder.write(thread, whole, &lines)?;
            let bytes = whole.bytes + lines.len() as u64;
            if self.folder.bytes(thread)? == Some(bytes) {
                known.insert(thread.clone(), Whole { seq, bytes });
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

    /// The same for all threads of the store, if it can list them. One that cannot be written keeps
    /// no other from being written.
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

    /// The same for those that are to follow and are at rest. False if some are not.
    pub async fn bring_up_due<S: State>(&self, runner: &Runner<S>) -> bool {
        self.bring_up_all_due(runner).await == Behind::None
    }

    async fn bring_up_all_due<S: State>(&self, runner: &Runner<S>) -> Behind {
        let due = std::mem::take(&mut *self.due());
        let mut behind = Behind::None;
        for thread in due {
            behind = behind.max(self.try_to_bring_up(runner, thread).await);
        }
        behind
    }

    /// Brings up a thread if it is at rest; else, and if that fails, it is due again.
    async fn try_to_bring_up<S: State>(&self, runner: &Runner<S>, thread: ThreadId) -> Behind {
        let behind = if runner.is_live(&thread) {
            Behind::Live
        } else if let Err(error) = self.bring_up(runner, &thread).await {
            tracing::warn!(%thread, %error, "{}", log_key::AN_ARCHIVE_IS_BEHIND);
            Behind::Failed
        } else {
            Behind::None
        };
        if behind != Behind::None {
            self.due().insert(thread);
        }
        behind
    }

    fn due(&self) -> MutexGuard<'_, BTreeSet<ThreadId>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
