//! Tests K31: a store whose commits are shipped, and what its copy is good for.
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fugato_commits::{CommitLog, Home, RestorePoint, ShippingLog};
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, MemoryLog, Record, StoreError,
    StoreErrorKind, ThreadLog,
};
use fugato_testkit::{
    log::{Abilities, Failure, LogFactory, OpenError, OpenedLog, TestClock},
    sim::{CrashStore, letter},
};

use crate::common::Objects;

/// A log in memory that ships into objects.
pub(crate) struct Shipping {
    objects: Objects,
    last: Mutex<Option<(MemoryLog, Home)>>,
}

impl Shipping {
    fn into(objects: Objects) -> Self {
        let last = Mutex::default();
        Self { objects, last }
    }
}

#[async_trait]
impl LogFactory for Shipping {
    fn abilities(&self) -> Abilities {
        Abilities::all()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let now = clock.clone();
        let local = MemoryLog::with_clock(move || now.now());
        let home = Home::random().map_err(|kind| format!("{kind:?}"))?;
        let copy = self.objects.fresh_log(clock).await?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((local.clone(), home));
        Ok(OpenedLog::whole(ShippingLog::new(local, copy, home)))
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let copy = self.objects.reopened_log(clock).await?;
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (local, home) = last.clone().ok_or("nothing was opened")?;
        Ok(OpenedLog::whole(ShippingLog::new(local, copy, home)))
    }
}

mod in_memory {
    use super::*;

    fugato_testkit::thread_log_suite!(Shipping::into(Objects::in_memory()));
}

mod in_a_folder {
    use super::*;

    fugato_testkit::thread_log_suite!(Shipping::into(Objects::in_a_folder()));
}

/// Each process finds what the last one wrote, on its disk and in the copy.
#[async_trait]
impl CrashStore for Shipping {
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        LogFactory::fresh(self, clock).await
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        LogFactory::reopen(self, clock).await
    }
}

/// Machines that are lost with their disks: each process has a new one, on which everything is
/// restored. The one before may be alive after all.
struct LostDisks {
    objects: Objects,
    /// True if commits are acknowledged before they are shipped.
    lags: bool,
    newest: Newest,
}

/// The machine on which everything was restored last.
type Newest = Arc<Mutex<Option<Disk>>>;

type Disk = (MemoryLog, Arc<ShippingLog<MemoryLog>>);

impl LostDisks {
    fn of(objects: Objects, lags: bool) -> Self {
        let newest = Newest::default();
        Self {
            objects,
            lags,
            newest,
        }
    }

    async fn opened(&self, copy: CommitLog, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let now = clock.clone();
        let local = MemoryLog::with_clock(move || now.now());
        let home = Home::random().map_err(|kind| format!("{kind:?}"))?;
        for thread in copy.copies().await? {
            let newest = RestorePoint::Newest;
            let restored = copy.restore(&thread, &local, home, newest).await?;
            assert_eq!(restored.left_behind, 0);
        }
        let own = (local.clone(), Arc::new(ShippingLog::new(local, copy, home)));
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        *newest = Some(own.clone());
        let (newest, lags) = (self.newest.clone(), self.lags);
        Ok(OpenedLog {
            log: Arc::new(Machine { own, newest, lags }),
            snapshots: None,
            admin: None,
        })
    }
}

#[async_trait]
impl CrashStore for LostDisks {
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let copy = self.objects.fresh_log(clock).await?;
        self.opened(copy, clock).await
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let copy = self.objects.reopened_log(clock).await?;
        self.opened(copy, clock).await
    }
}

/// The store of a process: it writes to the disk with which it began, and learns by the refusal
/// that its threads live on another.
struct Machine {
    own: Disk,
    newest: Newest,
    lags: bool,
}

impl Machine {
    fn newest(&self) -> Arc<ShippingLog<MemoryLog>> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.as_ref().unwrap_or(&self.own).1.clone()
    }
}

#[async_trait]
impl ThreadLog for Machine {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let (disk, shipped) = &self.own;
        let appended = if self.lags {
            // It acknowledges a commit first, and ships it before the next.
            match shipped.catch_up(thread).await {
                Ok(_) => disk.append(thread, commit).await,
                Err(error) => Err(error),
            }
        } else {
            shipped.append(thread, commit).await
        };
        appended.map_err(|error| match error.kind {
            StoreErrorKind::Invalid(_) => {
                let (head, fence) = (0, 0);
                StoreError::new(StoreErrorKind::Conflict { head, fence }, "append")
            }
            _ => error,
        })
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.newest().read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.newest().head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        self.newest().lease(request).await
    }
}

async fn survives(store: impl CrashStore + 'static, random: u32) -> Result<(), Failure> {
    let report = letter().store(store).random(random).run().await?;
    assert!(report.doubts > 0, "{report}");
    Ok(())
}

#[tokio::test]
async fn k31_a_program_that_ships_survives_a_crash_at_any_point() -> Result<(), Failure> {
    survives(Shipping::into(Objects::in_memory()), 32).await?;
    survives(Shipping::into(Objects::in_a_folder()), 8).await
}

#[tokio::test]
async fn k31_a_program_survives_the_loss_of_its_disk_at_any_point() -> Result<(), Failure> {
    for (objects, random) in [(Objects::in_memory(), 32), (Objects::in_a_folder(), 8)] {
        survives(LostDisks::of(objects, false), random).await?;
    }
    Ok(())
}

#[tokio::test]
async fn k31_a_lag_before_the_acknowledgement_is_named() {
    let lost = survives(LostDisks::of(Objects::in_memory(), true), 0).await;
    let why = lost.err().map(|failure| failure.to_string());
    let why = why.unwrap_or_default();
    assert!(why.contains("acknowledged"), "{why}");
}
