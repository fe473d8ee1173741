//! The files in which a person finds the schedule: a calendar for other programs, and a picture.
use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use fugato::graph::BoxError;
use jiff::tz::TimeZone;
use tokio::sync::Mutex;

use crate::{
    calendar::{Export, Intake, Lang, Picture, export, language, open, write_file},
    clock,
    schedule::ScheduleState,
    store::{Calendar, ScheduleStore, ScheduleStoreError, StoreReceipt, StoreWrite, WriteResult},
};

/// The name of the stored calendar file, regardless of the name that the person uses.
pub const COURSES: &str = "courses.ics";
/// The name of the stored class file.
pub const TASKS: &str = "tasks.toml";
const CALENDAR: &str = "schedule.ics";
const PICTURE: &str = "schedule.svg";

/// The files of one schedule, in the folder that also has its input.
#[derive(Debug, Clone)]
pub struct ResultFiles {
    folder: PathBuf,
    name: String,
    lang: Lang,
}

impl ResultFiles {
    /// Creates the files of the schedule of this name in a folder.
    pub fn new(folder: impl Into<PathBuf>, name: impl Into<String>, lang: Lang) -> Self {
        let (folder, name) = (folder.into(), name.into());
        Self { folder, name, lang }
    }

    /// Returns the paths of the files.
    pub fn paths(&self) -> Vec<PathBuf> {
        vec![self.folder.join(CALENDAR), self.folder.join(PICTURE)]
    }

    fn intake(&self) -> Result<Intake, BoxError> {
        let (courses, tasks) = (self.folder.join(COURSES), self.folder.join(TASKS));
        let lang = language(self.lang);
        Ok(open(&courses, &tasks, &TimeZone::system(), lang)?)
    }

    /// Returns the schedule as an iCalendar file.
    pub fn calendar(&self, schedule: &ScheduleState) -> Result<String, BoxError> {
        let intake = self.intake()?;
        let options = Export {
            sections: &intake.sections,
            zone: &intake.zone,
            stamp: clock::now(),
            schedule: &self.name,
            lang: language(self.lang),
        };
        Ok(export(schedule, &options)?)
    }

    /// Writes both files: the schedule, and the picture of the weeks.
    pub fn write(&self, before: &ScheduleState, after: &ScheduleState) -> Result<(), BoxError> {
        let calendar = self.calendar(after)?;
        write_file(&self.folder.join(CALENDAR), calendar.as_bytes())?;
        let picture = Picture {
            title: self.lang.pick("The weeks", "各周安排"),
            sections: &self.intake()?.sections,
            lang: language(self.lang),
        };
        let picture = picture.draw(before, after);
        Ok(write_file(&self.folder.join(PICTURE), picture.as_bytes())?)
    }
}

/// A store that writes the [files](ResultFiles) of a calendar after every stored change of it, so
/// that they follow whichever way the person agreed.
///
/// A file that cannot be written fails the write, although the change is stored: the same write
/// under the same key is recognised, and writes the files then.
#[derive(derive_more::Debug, Clone)]
#[debug("MirroredStore {{ files: {files:?}, .. }}")]
pub struct MirroredStore {
    store: Arc<dyn ScheduleStore>,
    files: ResultFiles,
    /// Held from reading the calendar until its files are written, so that they are never those of a
    /// calendar from before another conversation changed it.
    writing: Arc<Mutex<()>>,
}

impl MirroredStore {
    /// Creates a store over this one.
    pub fn new(store: Arc<dyn ScheduleStore>, files: ResultFiles) -> Self {
        let writing = Arc::default();
        Self {
            store,
            files,
            writing,
        }
    }

    async fn schedule(&self, calendar: &str) -> Result<ScheduleState, ScheduleStoreError> {
        let stored = self.store.read(calendar).await?;
        Ok(stored.map(|stored| stored.schedule).unwrap_or_default())
    }
}

#[async_trait]
impl ScheduleStore for MirroredStore {
    async fn read(&self, calendar: &str) -> Result<Option<Calendar>, ScheduleStoreError> {
        self.store.read(calendar).await
    }

    async fn write(&self, calendar: &str, key: &str, write: &StoreWrite) -> WriteResult {
        if !matches!(write, StoreWrite::Changes { .. }) {
            return self.store.write(calendar, key, write).await;
        }
        let before = self.schedule(calendar).await?;
        let receipt = self.store.write(calendar, key, write).await?;
        if receipt != StoreReceipt::Stored {
            return Ok(receipt);
        }
        let _writing = self.writing.lock().await;
        let (after, files) = (self.schedule(calendar).await?, self.files.clone());
        let written = tokio::task::spawn_blocking(move || files.write(&before, &after)).await;
        let failed = |source| ScheduleStoreError::Unavailable {
            operation: "write the files of the calendar, which is stored",
            source,
        };
        written
            .map_err(|error| failed(error.into()))?
            .map_err(failed)?;
        Ok(receipt)
    }

    async fn delete(&self, calendar: &str) -> Result<(), ScheduleStoreError> {
        self.store.delete(calendar).await
    }
}
