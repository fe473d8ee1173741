//! The calendar over HTTP: a person uploads files, and downloads the schedule.
use std::{path::PathBuf, sync::Arc};

use axum::{
    Json, Router,
    body::Bytes,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};
use fugato::axum::BadInput;
use jiff::{Timestamp, tz::TimeZone};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use crate::{
    calendar::{
        Calendar, Classes, Export, Intake, Lang, export, import, language, read_file, write_file,
    },
    results::{COURSES, TASKS},
    schedule::{EventType, PlacementStatus, ScheduleState, ScheduleTask},
    store::{ScheduleStore, StoreReceipt, StoreWrite},
};

/// One calendar, and the files from which it was made.
#[derive(derive_more::Debug)]
#[debug("Transfer {{ calendar: {calendar:?}, .. }}")]
pub struct Transfer {
    store: Arc<dyn ScheduleStore>,
    calendar: String,
    folder: PathBuf,
    lang: Lang,
    /// Files and calendar are replaced together.
    writing: Mutex<()>,
}

/// The upload of a person; a missing part stays as it is.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TransferInput {
    /// The fixed appointments, as iCalendar.
    courses: Option<String>,
    /// The tasks with their rules, as a class file.
    tasks: Option<String>,
}

impl Transfer {
    /// Returns the calendar of this name, with its files in the folder.
    pub fn new(
        store: Arc<dyn ScheduleStore>,
        calendar: impl Into<String>,
        folder: impl Into<PathBuf>,
        lang: Lang,
    ) -> Self {
        Self {
            store,
            calendar: calendar.into(),
            folder: folder.into(),
            lang,
            writing: Mutex::new(()),
        }
    }

    /// Returns the routes `GET` and `PUT /calendar`, and `GET /calendar.ics`.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/calendar", get(show).put(replace))
            .route("/calendar.ics", get(take_away))
            .with_state(Arc::new(self))
    }

    /// Reads the current files, with the uploaded ones in their place, and checks that they fit
    /// each other.
    fn read(&self, brought: TransferInput) -> Result<(Intake, [Vec<u8>; 2]), BadInput> {
        let kept = |given: Option<String>, name: &str| match given {
            Some(text) => Ok(text.into_bytes()),
            None => read_file(&self.folder.join(name)).map_err(refused),
        };
        let courses = kept(brought.courses, COURSES)?;
        let tasks = kept(brought.tasks, TASKS)?;
        let calendar = Calendar::parse(COURSES, &courses).map_err(refused)?;
        let classes = Classes::parse(TASKS, &tasks).map_err(refused)?;
        let intake = import(
            &calendar,
            &classes,
            &TimeZone::system(),
            language(self.lang),
        );
        Ok((intake.map_err(refused)?, [courses, tasks]))
    }

    async fn stored(&self) -> Result<ScheduleState, BadInput> {
        let stored = self.store.read(&self.calendar).await.map_err(unreadable)?;
        Ok(stored.map(|stored| stored.schedule).unwrap_or_default())
    }

    /// Returns a remark for each item that had a place before and is pending now.
    fn lost(&self, before: &ScheduleState, after: &ScheduleState) -> Vec<String> {
        let had_place = |task: &&ScheduleTask| {
            let mut known = before.tasks.iter();
            known.any(|known| {
                (&known.source_id, &known.name) == (&task.source_id, &task.name)
                    && known.is_placed()
            })
        };
        let pending = after.tasks.iter().filter(|task| !task.is_placed());
        let lost = pending.filter(had_place).map(|ScheduleTask { name, .. }| {
            self.lang.pick(
                format!("“{name}” lost its place, which is no longer free."),
                format!("“{name}”原来的位置已不再空闲，需要重新安排。"),
            )
        });
        lost.collect()
    }

    fn keep(&self, [courses, tasks]: &[Vec<u8>; 2]) -> Result<(), BadInput> {
        write_file(&self.folder.join(COURSES), courses).map_err(refused)?;
        write_file(&self.folder.join(TASKS), tasks).map_err(refused)
    }
}

/// Serves `GET /calendar`: the schedule with its placed and pending tasks.
async fn show(State(this): State<Arc<Transfer>>) -> Result<Json<serde_json::Value>, BadInput> {
    let stored = this.store.read(&this.calendar).await.map_err(unreadable)?;
    let schedule = stored.map(|stored| stored.schedule);
    Ok(Json(json!({ "schedule": schedule })))
}

/// Serves `PUT /calendar` with `{courses?, tasks?}`: another timetable, other tasks, or both.
///
/// Agreed places stay: an item with the same name and number in its class keeps its place, if that
/// is still free; so does an entry of the calendar that was moved, if there is no new timetable.
/// The remarks name each item that lost its place. The files change only after everything is
/// stored.
async fn replace(
    State(this): State<Arc<Transfer>>,
    body: Bytes,
) -> Result<Json<serde_json::Value>, BadInput> {
    let brought: TransferInput = serde_json::from_slice(&body).map_err(|error| {
        BadInput::new(format!(
            "the files cannot be read: {error}; send {{\"courses\": \"BEGIN:VCALENDAR…\", \"tasks\": \"[window]…\"}}"
        ))
    })?;
    if brought.courses.is_none() && brought.tasks.is_none() {
        return Err(BadInput::new(
            "nothing was sent: choose an iCalendar file (.ics), a class file (.toml), or both",
        ));
    }
    let _alone = this.writing.lock().await;
    let only_items = brought.courses.is_none();
    let reading = this.clone();
    // A file can be large, and its dates many.
    let read = tokio::task::spawn_blocking(move || reading.read(brought)).await;
    let (intake, files) =
        read.map_err(|error| BadInput::new("the files cannot be read").because(error))??;
    let schedule = intake.state;
    let courses = schedule.tasks.iter();
    let courses = courses.filter(|task| task.event_type == EventType::Course);
    let courses = courses.count();
    // The same files may be uploaded again later, to replace the changed calendar.
    let key = format!("replace-{}", Timestamp::now().as_nanosecond());
    let write = StoreWrite::Replace {
        schedule,
        only_items,
    };
    let before = this.stored().await?;
    let written = this.store.write(&this.calendar, &key, &write).await;
    match written.map_err(unreadable)? {
        StoreReceipt::Stored => {}
        StoreReceipt::Refused { issues } => return Err(BadInput::new(issues.join("; "))),
        other => return Err(BadInput::new(format!("the store answered {other:?}"))),
    }
    let keeping = this.clone();
    let kept = tokio::task::spawn_blocking(move || keeping.keep(&files)).await;
    kept.map_err(|error| BadInput::new("the files cannot be kept").because(error))??;
    let remarks = intake
        .remarks
        .iter()
        .map(|remark| remark.say(language(this.lang)));
    let mut remarks: Vec<_> = remarks.collect();
    let after = this.stored().await?;
    remarks.extend(this.lost(&before, &after));
    let items = after.tasks.iter();
    let items = items.filter(|task| task.status == PlacementStatus::Pending);
    let items = items.count();
    Ok(Json(
        json!({ "courses": courses, "items": items, "remarks": remarks }),
    ))
}

/// Serves `GET /calendar.ics`: the placed items, for other calendar programs.
async fn take_away(State(this): State<Arc<Transfer>>) -> Result<Response, BadInput> {
    let stored = this.store.read(&this.calendar).await.map_err(unreadable)?;
    let stored = stored.ok_or_else(|| BadInput::new("there is no calendar yet: import one"))?;
    let reading = this.clone();
    let read = tokio::task::spawn_blocking(move || reading.read(TransferInput::default())).await;
    let (intake, _) =
        read.map_err(|error| BadInput::new("the files cannot be read").because(error))??;
    let options = Export {
        sections: &intake.sections,
        zone: &intake.zone,
        stamp: Timestamp::now(),
        schedule: &this.calendar,
        lang: language(this.lang),
    };
    let text = export(&stored.schedule, &options).map_err(refused)?;
    let headers = [
        (header::CONTENT_TYPE, "text/calendar; charset=utf-8"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"schedule.ics\"",
        ),
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, text).into_response())
}

/// Returns an error with its causes: the problem of a file, and the allowed values.
fn refused(error: impl std::error::Error + Send + Sync + 'static) -> BadInput {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    BadInput::new(text).because(error)
}

fn unreadable(error: crate::store::ScheduleStoreError) -> BadInput {
    BadInput::new("the calendar cannot be used now; try again later").because(error)
}
