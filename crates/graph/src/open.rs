//! The opening of a thread: the fold of its log.
use fugato_state::{Millis, Seq, State, ThreadId};
use fugato_store::{Record, Snapshots, StoreError, ThreadLog, check_page};

use crate::{Graph, RunError, RunErrorKind, scope::Scope, snapshot};

/// A thread as read from its log.
pub(crate) struct OpenedThread<S: State> {
    pub(crate) scope: Scope<S>,
    /// The last position that was read; 0 if the thread does not exist.
    pub(crate) head: Seq,
    /// The latest time that was read. The clock of a run continues from the store's, which may have
    /// been set back since.
    pub(crate) last: Millis,
    /// Bytes read after the snapshot.
    pub(crate) tail: usize,
    /// Bytes of the snapshot.
    pub(crate) snapshot: usize,
}

const PAGE: usize = 1024;

/// Reads a thread up to and including a position.
pub(crate) async fn open<S: State>(
    graph: &Graph<S>,
    log: &dyn ThreadLog,
    snapshots: Option<&dyn Snapshots>,
    thread: &ThreadId,
    upto: Seq,
) -> Result<OpenedThread<S>, RunError> {
    if upto == 0 {
        return Ok(OpenedThread::new(Scope::new(graph)));
    }
    let opened = from_snapshot(graph, snapshots, thread, upto).await?;
    follow(opened, log, thread, upto).await
}

/// Applies the records after a fold.
async fn follow<S: State>(
    mut opened: OpenedThread<S>,
    log: &dyn ThreadLog,
    thread: &ThreadId,
    upto: Seq,
) -> Result<OpenedThread<S>, RunError> {
    loop {
        let page = read_page(log, thread, opened.head + 1, PAGE).await?;
        let read = page.len();
        for (seq, record) in page {
            if seq > upto {
                return Ok(opened);
            }
            let at = opened.scope.follow_record(&record)?;
            opened.tail += record.0.len();
            opened.last = opened.last.max(at);
            opened.head = seq;
        }
        if read < PAGE {
            return Ok(opened);
        }
    }
}

/// Reads records, and takes them from no store that leaves one out or gives one twice.
pub(crate) async fn read_page(
    log: &dyn ThreadLog,
    thread: &ThreadId,
    from: Seq,
    limit: usize,
) -> Result<Vec<(Seq, Record)>, StoreError> {
    let page = log.read(thread, from, limit).await?;
    let checked = check_page(from, &page);
    checked.map_err(|kind| StoreError::new(kind, "read").on(thread))?;
    Ok(page)
}

/// Returns the newest readable fold, or an empty one. An unreadable snapshot only costs time.
async fn from_snapshot<S: State>(
    graph: &Graph<S>,
    snapshots: Option<&dyn Snapshots>,
    thread: &ThreadId,
    upto: Seq,
) -> Result<OpenedThread<S>, RunError> {
    let latest = match snapshots {
        Some(snapshots) => snapshots.latest_at(thread, upto).await?,
        None => None,
    };
    if let Some(latest) = latest {
        match snapshot::load(&latest.body, graph) {
            Ok(scope) => {
                let (head, snapshot) = (latest.seq, latest.body.len());
                return Ok(OpenedThread {
                    head,
                    snapshot,
                    ..OpenedThread::new(scope)
                });
            }
            Err(error) => {
                tracing::warn!(%thread, seq = latest.seq, %error, "snapshot cannot be read");
            }
        }
    }
    Ok(OpenedThread::new(Scope::new(graph)))
}

impl<S: State> OpenedThread<S> {
    /// Creates a thread of which no record was read.
    pub(crate) fn new(scope: Scope<S>) -> Self {
        Self {
            scope,
            head: 0,
            last: 0,
            tail: 0,
            snapshot: 0,
        }
    }
}

/// Returns the error of a thread that a newer version of the state wrote.
pub(crate) fn newer<S: State>(found: u32) -> RunError {
    let why = format!(
        "the thread was written by state version {found}; this program knows versions up to {}",
        S::VERSION
    );
    RunError::new(RunErrorKind::Migrate).because(why)
}
