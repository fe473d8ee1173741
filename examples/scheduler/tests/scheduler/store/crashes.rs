//! Agreed changes are stored once, wherever a process dies and whatever its log does.
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fugato::{Durability, EffectClass, graph::BoxError};
use fugato_testkit::{
    log::{Failure, OpenError, OpenedLog, TestClock},
    sim::{CrashSim, CrashStore, Fault, InMemory, World},
};
use scheduler::{
    agent::{AgentState, Request, Update},
    deps::Deps,
    graph::graph,
    schedule::{ScheduleState, ScheduleTask},
    store::{
        Calendar, Calendars, ScheduleStore, ScheduleStoreError, StoreWrite, WriteResult, open,
    },
};

use crate::store::scenarios::{NAME, Store, filled};

/// The logs of a simulation, each with a calendar whose final state is checked.
#[derive(Clone, Default)]
pub(crate) struct Shelf {
    logs: Arc<InMemory>,
    /// The schedule of a new calendar; the tidy week if none is given.
    first: Option<ScheduleState>,
    open: Arc<Mutex<Option<(Store, tempfile::TempDir)>>>,
    ends: Arc<Mutex<Vec<ScheduleState>>>,
}

impl Shelf {
    /// Returns logs whose calendars begin with this schedule.
    #[cfg(feature = "evening")]
    pub(crate) fn of(first: ScheduleState) -> Self {
        Self {
            first: Some(first),
            ..Self::default()
        }
    }

    /// Returns the different ends that calendars had.
    pub(crate) fn ends(&self) -> Vec<ScheduleState> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.clone()
    }

    pub(crate) fn store(&self) -> Option<Store> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().map(|(store, _)| store.clone())
    }

    pub(crate) async fn look(&self) -> Result<(), OpenError> {
        if let Some(store) = self.store() {
            let end = store.read(NAME).await?.ok_or("the calendar is gone")?;
            let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
            if !ends.contains(&end.schedule) {
                ends.push(end.schedule);
            }
        }
        Ok(())
    }
}

#[async_trait]
impl CrashStore for Shelf {
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        self.look().await?;
        let folder = fugato_testkit::tempdir()?;
        let path = folder.path().join("schedule.db");
        let store = open(&path.display().to_string()).await?;
        match self.first.clone() {
            None => {
                filled(&store).await;
            }
            Some(schedule) => {
                let write = StoreWrite::Import { schedule };
                store.write(NAME, "import", &write).await?;
            }
        }
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some((store, folder));
        self.logs.fresh(clock).await
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        self.logs.reopen(clock).await
    }
}

/// A store whose process may die before it writes, and after.
pub(crate) struct Mortal {
    pub(crate) store: Store,
    pub(crate) world: World,
}

impl Mortal {
    async fn passes(&self, moment: &str, key: &str) -> Result<(), ScheduleStoreError> {
        let passed = self.world.act_as(EffectClass::Keyed, moment, key).await;
        let failed = |source: BoxError| ScheduleStoreError::Unavailable {
            operation: "live",
            source,
        };
        passed.map(|_| ()).map_err(failed)
    }
}

#[async_trait]
impl ScheduleStore for Mortal {
    async fn read(&self, calendar: &str) -> Result<Option<Calendar>, ScheduleStoreError> {
        self.store.read(calendar).await
    }

    async fn write(&self, calendar: &str, key: &str, write: &StoreWrite) -> WriteResult {
        self.passes("before the commit", key).await?;
        let receipt = self.store.write(calendar, key, write).await?;
        self.passes("after the commit", key).await?;
        Ok(receipt)
    }

    async fn delete(&self, calendar: &str) -> Result<(), ScheduleStoreError> {
        self.store.delete(calendar).await
    }
}

fn simulation(shelf: &Shelf) -> CrashSim<AgentState> {
    let calendars = shelf.clone();
    CrashSim::new(move |world: &World| {
        let store = calendars.store().ok_or("no store was opened")?;
        let world = world.clone();
        let store = Arc::new(Mortal { store, world });
        let deps = Deps::new()?.calendars(Calendars::shared(store, NAME));
        Ok::<_, BoxError>(graph(&deps)?)
    })
    .store(shelf.clone())
    .input(|| vec![Update::Requested(Request::new("plan my week").classes([1]))])
    .input(|| vec![Update::Requested(Request::new("make a note: milk"))])
    .answer(crate::common::approves)
    .durability([Durability::Strict, Durability::AtPause])
    .random(4)
}

#[tokio::test]
async fn sch_w5_no_crash_loses_or_doubles_what_was_agreed_to() -> Result<(), Failure> {
    let shelf = Shelf::default();
    let report = simulation(&shelf).run().await?;
    assert!(report.faults.contains_key(&Fault::DiesAfter), "{report}");
    shelf.look().await.unwrap();
    let ends = shelf.ends();
    assert_eq!(ends.len(), 1, "every calendar ended alike: {ends:#?}");
    assert!(ends[0].tasks.iter().all(ScheduleTask::is_placed));
    let calendar = shelf.store().unwrap().read(NAME).await.unwrap().unwrap();
    assert_eq!(calendar.notes.len(), 1);
    Ok(())
}
