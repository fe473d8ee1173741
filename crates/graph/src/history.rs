mod event;

use std::{collections::BTreeMap, sync::Arc};

use fugato_state::{Interrupt, Millis, RunId, Seq, State, ThreadId, say};
use fugato_store::{Commit, Expect, Head, Record, Snapshot, StoreError, StoreErrorKind};
use futures::{
    StreamExt as _, TryStreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::Value;

pub use event::HistoryEvent;

use crate::{
    RunError, RunErrorKind, Runner, codec,
    machine::{Directive, Fact, TaskStatus, ThreadPhase},
    open::{OpenedThread, open, read_page},
    scope::DynScope,
    snapshot,
};

/// One record of a thread, decoded: [`event`](Self::event) says what it tells.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// The position.
    pub seq: Seq,
    /// The store's clock when it was written, in milliseconds since the Unix epoch.
    pub at: Millis,
    /// The run.
    pub run: RunId,
    /// The subgraph of the fact, by the address of its task; empty for the graph itself.
    pub scope: String,
    pub(crate) fact: Fact<String>,
}

impl HistoryEntry {
    /// Returns true if the state at this position can be shown and forked.
    pub fn is_checkpoint(&self) -> bool {
        self.scope.is_empty()
            && matches!(
                self.fact,
                Fact::Started { .. }
                    | Fact::Stepped { .. }
                    | Fact::Closed { .. }
                    | Fact::RunEnded { .. }
                    | Fact::Cancelled { .. }
                    | Fact::Amended { task: None, .. }
            )
    }
}

/// The number of records that are read at once.
const PAGE: usize = 500;

impl<S: State> Runner<S> {
    /// Returns every record of a thread that is left, the oldest first; none if it does not exist.
    /// A copy begins after the position at which it was made, and a compacted thread after its base.
    pub fn records<'a>(
        &'a self,
        thread: &'a ThreadId,
    ) -> BoxStream<'a, Result<HistoryEntry, RunError>> {
        let pages = stream::try_unfold(None, async move |from| {
            let from = match from {
                Some(from) => from,
                None => self
                    .inner
                    .log
                    .head(thread)
                    .await?
                    .map_or(1, |head| head.base + 1),
            };
            let page = self.history(thread, from, PAGE).await?;
            let next = page.last().map(|last| last.seq + 1);
            Ok::<_, RunError>(next.map(|next| (stream::iter(page).map(Ok), Some(next))))
        });
        pages.try_flatten().boxed()
    }

    /// Returns the records of a thread from a position on: at most `limit`. From one that was
    /// compacted away, or that lies before a copy, it is `Compacted`.
    pub async fn history(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>, RunError> {
        let records = read_page(&*self.inner.log, thread, from, limit).await?;
        let entry = |(seq, record)| {
            let codec::Entry {
                at,
                run,
                scope,
                fact,
            } = codec::read(&record)?;
            Ok(HistoryEntry {
                seq,
                at,
                run,
                scope: scope.into_owned(),
                fact: fact.map(&mut |path| Ok::<_, RunError>(path.0.into_owned()))?,
            })
        };
        records.into_iter().map(entry).collect()
    }

    /// Returns the state of a thread now; none if it does not exist.
    pub async fn state(&self, thread: &ThreadId) -> Result<Option<Arc<S>>, RunError> {
        match self.inner.log.head(thread).await? {
            Some(head) => self.state_at(thread, head.seq).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the state of a thread at a position. Between checkpoints it is that of the one
    /// before.
    pub async fn state_at(&self, thread: &ThreadId, seq: Seq) -> Result<Arc<S>, RunError> {
        self.must_exist(thread, seq).await?;
        let inner = &self.inner;
        let opened = open(
            &inner.graph,
            &*inner.log,
            inner.snapshots.as_deref(),
            thread,
            seq,
        )
        .await?;
        Ok(opened.scope.fold.state)
    }

    /// Returns the standing of a thread: its open questions, its next retry, or the end of its last
    /// run.
    pub async fn status(&self, thread: &ThreadId) -> Result<ThreadStatus, RunError> {
        let look = self.look(thread).await?;
        Ok(look.map_or(ThreadStatus::New, |look| look.standing))
    }

    /// Returns the status and the state of a thread at one position, from one reading of the log;
    /// none if it does not exist.
    pub async fn look(&self, thread: &ThreadId) -> Result<Option<Look<S>>, RunError> {
        let Some(opened) = self.opened(thread).await? else {
            return Ok(None);
        };
        let machine = &opened.scope.machine;
        let standing = match (machine.phase(), machine.directive()) {
            (ThreadPhase::Running, Directive::Park) => {
                ThreadStatus::Waiting(crate::answer::interrupts(&opened.scope))
            }
            (ThreadPhase::Running, Directive::Sleep(until)) => ThreadStatus::Sleeping { until },
            (ThreadPhase::Running, _) => ThreadStatus::Unfinished,
            (ThreadPhase::Failed { error }, _) => ThreadStatus::Failed {
                error: error.clone(),
            },
            _ => ThreadStatus::Idle,
        };
        let mut finished = BTreeMap::new();
        if *machine.phase() == ThreadPhase::Running {
            collect_finished(&opened.scope, &mut finished)?;
        }
        Ok(Some(Look {
            head: opened.head,
            standing,
            state: opened.scope.fold.state,
            finished,
        }))
    }

    /// Returns the open questions of a thread, also while other tasks of its run have work to do.
    pub async fn interrupts(&self, thread: &ThreadId) -> Result<Vec<Interrupt>, RunError> {
        let opened = self.opened(thread).await?;
        let running = opened.filter(|it| *it.scope.machine.phase() == ThreadPhase::Running);
        Ok(running.map_or(vec![], |it| crate::answer::interrupts(&it.scope)))
    }

    async fn opened(&self, thread: &ThreadId) -> Result<Option<OpenedThread<S>>, RunError> {
        let inner = &self.inner;
        let Some(head) = inner.log.head(thread).await? else {
            return Ok(None);
        };
        let snapshots = inner.snapshots.as_deref();
        let mut opened = open(&inner.graph, &*inner.log, snapshots, thread, head.seq).await?;
        opened.scope.place(None);
        DynScope::sync_states(&mut opened.scope);
        Ok(Some(opened))
    }

    /// Creates a thread as a copy of another, at one of its checkpoints. Open questions stay open
    /// in the copy; an approval is asked again there when it is answered, because its id belongs to
    /// the other thread.
    pub async fn fork(&self, thread: &ThreadId, seq: Seq, new: &ThreadId) -> Result<(), RunError> {
        let inner = &self.inner;
        let admin = inner
            .admin
            .as_ref()
            .ok_or(RunErrorKind::Unsupported("administration"));
        let admin = admin.map_err(RunError::new)?;
        inner.must_own(thread)?;
        inner.must_own(new)?;
        let base = self.must_exist(thread, seq).await?.base;
        // The base of a log is a checkpoint, or it would not have been compacted or forked there.
        if seq != base && !self.is_checkpoint(thread, seq).await? {
            let kind = StoreErrorKind::Invalid(say!(
                "position {seq} is no checkpoint: a thread is forked where a step has closed, which \
                 its history shows",
                "位置 {seq} 不是检查点：只能在一步结束的地方复制，历史里看得到"
            ));
            return Err(StoreError::new(kind, "fork").on(thread).into());
        }
        let snapshots = inner.snapshots.as_deref();
        let mut opened = open(&inner.graph, &*inner.log, snapshots, thread, seq).await?;
        // Tasks that this graph does not know would be lost.
        crate::admission::check(&opened.scope)?;
        DynScope::sync_states(&mut opened.scope);
        let run = opened.scope.machine.run();
        let body = snapshot::save(&opened.scope)?;
        let head = inner.log.head(thread).await?.map_or(0, |head| head.now);
        let fact = Fact::Forked {
            from: thread.to_string(),
            seq,
            incarnation: crate::journal::incarnation(),
        };
        let mut record = Record(vec![]);
        codec::encode(
            &mut record,
            (&fact, None),
            (head, run),
            "",
            &opened.scope.names,
        )?;
        let commit = Commit {
            expect: Expect {
                head: seq,
                fence: 0,
            },
            nonce: crate::journal::nonce(),
            records: vec![record],
            status: crate::driver::status(&opened.scope),
            base: None,
        };
        admin.fork(new, Snapshot { seq, body }, &commit).await?;
        Ok(())
    }

    /// Replaces all records up to a checkpoint by one fold. Later records keep their states and
    /// positions: history, [`state_at`](Self::state_at) and [`fork`](Self::fork) work from there
    /// on; before it they are `Compacted`.
    ///
    /// Returns the checkpoint: the last one at or before `upto`. A thread that an older version of
    /// the state wrote can only be compacted up to where this version took over, or later.
    pub async fn compact(&self, thread: &ThreadId, upto: Seq) -> Result<Seq, RunError> {
        let inner = &self.inner;
        let admin = inner.admin.as_ref();
        let admin = admin.ok_or(RunErrorKind::Unsupported("administration"));
        let admin = admin.map_err(RunError::new)?;
        self.must_exist(thread, upto).await?;
        let seq = self.checkpoint_before(thread, upto).await?;
        let snapshots = inner.snapshots.as_deref();
        let mut opened = open(&inner.graph, &*inner.log, snapshots, thread, seq).await?;
        if opened.scope.version != S::VERSION {
            let kind = StoreErrorKind::Invalid(format!(
                "position {seq} was written by version {} of the state; compact from where version \
                 {} took over, or later",
                opened.scope.version,
                S::VERSION
            ));
            return Err(StoreError::new(kind, "compact").on(thread).into());
        }
        // Tasks that this graph does not know would be lost.
        crate::admission::check(&opened.scope)?;
        DynScope::sync_states(&mut opened.scope);
        let body = snapshot::save(&opened.scope)?;
        admin.compact(thread, Snapshot { seq, body }).await?;
        Ok(seq)
    }

    async fn checkpoint_before(&self, thread: &ThreadId, upto: Seq) -> Result<Seq, RunError> {
        let base = self
            .inner
            .log
            .head(thread)
            .await?
            .map_or(0, |head| head.base);
        let mut seq = upto;
        while seq > base {
            if self.is_checkpoint(thread, seq).await? {
                return Ok(seq);
            }
            seq -= 1;
        }
        let kind = StoreErrorKind::Invalid(format!(
            "no checkpoint lies after {base}, where the log begins, and at or before {upto}"
        ));
        Err(StoreError::new(kind, "compact").on(thread).into())
    }

    async fn is_checkpoint(&self, thread: &ThreadId, seq: Seq) -> Result<bool, RunError> {
        let entry = self.history(thread, seq, 1).await?.into_iter().next();
        Ok(entry.is_some_and(|entry| entry.is_checkpoint()))
    }

    async fn must_exist(&self, thread: &ThreadId, seq: Seq) -> Result<Head, RunError> {
        match self.inner.log.head(thread).await? {
            Some(head) if (1..=head.seq).contains(&seq) => Ok(head),
            _ => Err(StoreError::new(StoreErrorKind::NotFound, "read")
                .on(thread)
                .into()),
        }
    }
}

/// Collects the finished tasks of a scope and of those under it.
fn collect_finished(
    scope: &dyn DynScope,
    found: &mut BTreeMap<String, Value>,
) -> Result<(), RunError> {
    for (position, task) in scope.machine().frontier().iter().enumerate() {
        if task.state == TaskStatus::Done {
            found.insert(scope.name_of(task.path), scope.staged(position)?);
        }
    }
    let mut children = scope.children();
    children.try_for_each(|(_, child)| collect_finished(child, found))
}

/// A thread at one position.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Look<S> {
    /// The position.
    pub head: Seq,
    /// The status at this position.
    pub standing: ThreadStatus,
    /// The state at this position. The updates of finished tasks are in it when their step has
    /// closed.
    pub state: Arc<S>,
    /// The tasks of the open steps that have finished while others still work, those of subgraphs
    /// too, with their updates in stored form, as an array: they apply to the state when the step
    /// closes. A task's address is `node#visit`, or `node#visit[index]` inside a scatter; inside a
    /// subgraph, after the address of the subgraph's task and a `/`. An eager schedule closes every
    /// task alone, so that its updates are in the state at once.
    pub finished: BTreeMap<String, Value>,
}

/// The standing of a thread.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ThreadStatus {
    /// It does not exist.
    New,
    /// It waits for answers.
    Waiting(Vec<Interrupt>),
    /// A failed task waits for its next try.
    Sleeping {
        /// The time of the next try, in milliseconds of the store's clock.
        until: Millis,
    },
    /// A run is under way, here or elsewhere, or was left unfinished by a crash.
    Unfinished,
    /// The last run failed and can be tried again.
    Failed {
        /// The error.
        error: String,
    },
    /// Nothing is left to do.
    Idle,
}
