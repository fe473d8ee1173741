//! Archives: a file of JSON lines for each conversation, with everything durable that happened in
//! it. They are derived from the log, and can be made anew from it.
use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use fugato::{
    BoxError,
    graph::Runner,
    memory::{Archive, ArchiveError, ArchiveWriter},
    state::{Seq, State, ThreadId},
    store::ThreadFilter,
    stream::Event,
};
use futures::StreamExt as _;
use tokio::sync::Notify;

/// The archives of all conversations. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Archives {
    folder: PathBuf,
    /// Up to where each archive is surely whole, as long as its file has this many bytes: others
    /// may write and delete it, too.
    whole: Arc<tokio::sync::Mutex<HashMap<ThreadId, (Seq, u64)>>>,
    due: Arc<Mutex<BTreeSet<ThreadId>>>,
    changed: Arc<Notify>,
}

impl Archives {
    /// The archives in a folder, which is made with the first.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            whole: Arc::default(),
            due: Arc::default(),
            changed: Arc::default(),
        }
    }

    /// The file of a conversation.
    pub fn path(&self, thread: &ThreadId) -> PathBuf {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let mut name = String::new();
        for c in thread.as_str().chars() {
            if plain(c) {
                name.push(c);
            } else {
                let mut bytes = [0; 4];
                let escaped = c
                    .encode_utf8(&mut bytes)
                    .bytes()
                    .map(|byte| format!("%{byte:02x}"));
                name.extend(escaped);
            }
        }
        self.folder.join(format!("{name}.jsonl"))
    }

    /// What the archive of a conversation holds.
    pub fn read(&self, thread: &ThreadId) -> Result<Archive, ArchiveError> {
        Archive::read(BufReader::new(File::open(self.path(thread))?))
    }

    /// Something happens in a conversation: its archive is to follow.
    pub fn follow(&self, thread: &ThreadId) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.insert(thread.clone());
        self.changed.notify_one();
    }

    /// Ready when an archive is to follow.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Writes what happened in a conversation and is not in its archive. Returns how many events
    /// that were.
    pub async fn bring_up<S: State>(
        &self,
        runner: &Runner<S>,
        thread: &ThreadId,
    ) -> Result<usize, BoxError> {
        let mut whole = self.whole.lock().await;
        // What fails on the way leaves nothing that is trusted.
        let (after, bytes) = match whole.remove(thread) {
            Some(known) if self.bytes(thread)? == Some(known.1) => known,
            _ => self.mended(thread)?,
        };
        let events = runner.events(thread, after);
        let events: Vec<Event> = events
            .filter(|event| std::future::ready(event.seq.is_some()))
            .collect()
            .await;
        let (count, mut last) = (events.len(), after);
        let mut writer = ArchiveWriter::new(vec![]);
        for event in events {
            last = event.seq.unwrap_or(last);
            writer.event(event)?;
        }
        let lines = writer.into_inner();
        fs::create_dir_all(&self.folder)?;
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.path(thread))?;
        file.write_all(&lines)?;
        whole.insert(thread.clone(), (last, bytes + lines.len() as u64));
        Ok(count)
    }

    /// How long the file of a conversation is; none if there is no file.
    fn bytes(&self, thread: &ThreadId) -> io::Result<Option<u64>> {
        match fs::metadata(self.path(thread)) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same for all conversations of the store, if it can list them.
    pub async fn bring_up_all<S: State>(&self, runner: &Runner<S>) -> Result<(), BoxError> {
        let Some(admin) = runner.admin() else {
            return Ok(());
        };
        let mut filter = ThreadFilter::default();
        loop {
            let page = admin.list(filter.clone()).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            filter.after = Some(last.thread.clone());
            for entry in page {
                if !runner.is_live(&entry.thread) {
                    self.bring_up(runner, &entry.thread).await?;
                }
            }
        }
    }

    /// The same for those that are to follow and are at rest. False if some are not.
    pub(crate) async fn bring_up_due<S: State>(&self, runner: &Runner<S>) -> bool {
        let due = std::mem::take(&mut *self.due.lock().unwrap_or_else(PoisonError::into_inner));
        let mut all = true;
        for thread in due {
            let done = !runner.is_live(&thread)
                && match self.bring_up(runner, &thread).await {
                    Ok(_) => true,
                    Err(error) => {
                        tracing::warn!(%thread, error, "{}", crate::log_key::AN_ARCHIVE_IS_BEHIND);
                        false
                    }
                };
            if !done {
                self.due
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(thread);
                all = false;
            }
        }
        all
    }

    /// Cuts off the last position of an archive, of which whoever died may have left out events or
    /// half of a line, and what two who wrote at once left behind it. Says up to where it is whole,
    /// and how long it is then.
    fn mended(&self, thread: &ThreadId) -> io::Result<(Seq, u64)> {
        let file = match OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.path(thread))
        {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((0, 0)),
            Err(error) => return Err(error),
        };
        // Where each position begins; the last one is not trusted.
        let (mut begins, mut at, mut line): (Vec<(Seq, u64)>, u64, Vec<u8>) = (vec![], 0, vec![]);
        let mut reader = BufReader::new(&file);
        while reader.read_until(b'\n', &mut line)? > 0 {
            let seq = serde_json::from_slice::<serde_json::Value>(&line).ok();
            let seq = seq.and_then(|line| line.pointer("/event/seq")?.as_u64());
            match seq {
                Some(seq) if begins.last().is_none_or(|(last, _)| *last < seq) => {
                    begins.push((seq, at));
                }
                Some(seq) if begins.last().is_some_and(|(last, _)| *last == seq) => {}
                _ => break,
            }
            at += line.len() as u64;
            line.clear();
        }
        let cut = begins.pop().map_or(0, |(_, at)| at);
        file.set_len(cut)?;
        Ok((begins.last().map_or(0, |(seq, _)| *seq), cut))
    }
}
