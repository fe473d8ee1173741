//! The calendar that a person brings and takes away: over HTTP, and by the command line.
mod brought;

use std::{path::PathBuf, sync::Arc};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use fugato::axum::{ApiError, BadInput, JsonInput};
use fugato::{graph::BoxError, state::say};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{
    calendar::{Lang, language},
    clock,
    results::ResultFiles,
    schedule::{EventType, PlacementStatus, ScheduleState, ScheduleTask, Source},
    store::{Calendar, ScheduleStore, StoreReceipt, StoreWrite, carried_over},
};
use brought::{Brought, ReplacedState};

pub use brought::{SAMPLE, complete, is_sample};

/// One calendar, and the files from which it was made.
#[derive(derive_more::Debug, Clone)]
#[debug("Transfer {{ calendar: {calendar:?}, .. }}")]
pub struct Transfer {
    store: Arc<dyn ScheduleStore>,
    calendar: String,
    folder: PathBuf,
    lang: Lang,
    /// Files and calendar are replaced together.
    writing: Arc<Mutex<()>>,
}

/// The files of a person; a missing one stays as it is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransferInput {
    /// The fixed appointments, as iCalendar.
    pub courses: Option<String>,
    /// The tasks with their rules, as a class file.
    pub tasks: Option<String>,
    /// The same as a value, as `GET /calendar` shows it; it takes the place of `tasks`.
    pub classes: Option<Value>,
    /// True if the person agreed to replace what they had agreed to before.
    pub replace: bool,
    /// The version of the calendar that the person has seen, as `GET /calendar` or the question shows
    /// it: another one is not replaced. Without it, whatever is there is.
    pub version: Option<String>,
}

/// The result of an import of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportOutcome {
    /// Nothing was changed: the person agreed to places before, and has to agree to this.
    Asks {
        /// The number of items whose places stay.
        kept: usize,
        /// The names of the items that would lose their places.
        lost: Vec<String>,
        /// The version of the calendar that the question is about.
        version: String,
    },
    /// The files are in the place of those before.
    Done {
        /// The number of fixed appointments.
        courses: usize,
        /// The number of items to be placed.
        items: usize,
        /// Remarks on what was left out, and on items that lost their places.
        remarks: Vec<String>,
    },
}

impl ImportOutcome {
    /// Returns the question to the person; none if nothing is asked.
    pub fn question(&self, lang: Lang) -> Option<String> {
        let Self::Asks { kept, lost, .. } = self else {
            return None;
        };
        let names = lost.join(lang.pick(", ", "、"));
        let loses = match lost.len() {
            0 => String::new(),
            n => lang.pick(
                format!(" {n} lose their places, which are no longer free: {names}."),
                format!("有 {n} 项原来的位置已不再空闲，需要重新安排：{names}。"),
            ),
        };
        Some(lang.pick(
            format!("This replaces a calendar that you agreed to. {kept} items keep their places.{loses} It can be undone. Replace it?"),
            format!("这会替换你已同意的日程。{kept} 项保留原来的位置。{loses}之后可以撤销。要替换吗？"),
        ))
    }
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
            writing: Arc::default(),
        }
    }

    /// Returns the routes `GET` and `PUT /calendar`, `POST /calendar/undo`, `GET /calendar.ics` and
    /// `GET /notes`.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/calendar", get(show).put(replace))
            .route("/calendar/undo", post(take_back))
            .route("/calendar.ics", get(take_away))
            .route("/notes", get(notes))
            // The routes of the agent read the body before, within a limit of their own.
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::new(self))
    }

    /// Puts files in the place of those before: another timetable, other tasks, or both.
    ///
    /// Agreed places stay: an item with the same name and number in its class keeps its place, if
    /// that is still free; so does an entry of the calendar that was moved, if there is no new
    /// timetable. If there are agreed places, nothing changes until the person agrees. What others have
    /// changed since the [version](TransferInput::version) that the person saw stays. The files change
    /// only after everything is stored.
    pub async fn bring(&self, mut input: TransferInput) -> Result<ImportOutcome, BadInput> {
        if let Some(classes) = input.classes.take() {
            input.tasks = Some(brought::class_file(&classes)?);
        }
        if input.courses.is_none() && input.tasks.is_none() {
            return Err(BadInput::new(say!(
                "nothing was sent: choose an iCalendar file (.ics), a class file (.toml), or both",
                "没有收到文件：请选择 iCalendar 文件（.ics）、类别文件（.toml）或两者"
            )));
        }
        let _alone = self.writing.lock().await;
        let (agreed, only_items) = (input.replace, input.courses.is_none());
        let seen = input.version.take();
        // A file can be large, and its dates many.
        let brought = self.blocking(move |folder, lang| Brought::read(folder, input, lang));
        let brought = brought.await?;
        let (replaced, lost) = loop {
            let stored = self.kept().await?.unwrap_or_default();
            let version = stored.version();
            if seen.as_ref().is_some_and(|seen| *seen != version) {
                return Err(changed());
            }
            let before = &stored.schedule;
            let after = carried_over(before, &brought.intake.state, only_items);
            let lost = lost(before, &after);
            if !agreed && placed(before).next().is_some() {
                let kept = placed(&after).count();
                return Ok(ImportOutcome::Asks {
                    kept,
                    lost,
                    version,
                });
            }
            let replaced = self.replaced(before).await?;
            let schedule = brought.intake.state.clone();
            if self.write(&stored, schedule, only_items).await? {
                break (replaced, lost);
            }
        };
        let remarks = brought.intake.remarks.iter();
        let mut remarks: Vec<_> = remarks.map(|it| it.say(language(self.lang))).collect();
        self.blocking(move |folder, _| {
            replaced.keep(folder)?;
            brought.keep(folder)
        })
        .await?;
        let after = self.stored().await?;
        remarks.extend(lost.iter().map(|name| {
            self.lang.pick(
                format!("“{name}” lost its place, which is no longer free."),
                format!("“{name}”原来的位置已不再空闲，需要重新安排。"),
            )
        }));
        self.follow(after.clone()).await?;
        let tasks = || after.tasks.iter();
        Ok(ImportOutcome::Done {
            courses: tasks()
                .filter(|it| it.event_type == EventType::Course)
                .count(),
            items: tasks()
                .filter(|it| it.status == PlacementStatus::Pending)
                .count(),
            remarks,
        })
    }

    /// Takes the last import back: the calendar and the files from before it. What was placed since
    /// keeps its place where that is free. Doing it twice brings the import back.
    pub async fn undo(&self) -> Result<(), BadInput> {
        let _alone = self.writing.lock().await;
        let before = self
            .blocking(|folder, _| ReplacedState::read(folder))
            .await?;
        let Some(before) = before else {
            return Err(BadInput::new(say!(
                "there is no import to take back",
                "没有可以撤销的导入"
            ))
            .code("nothing_to_undo"));
        };
        let now = loop {
            let stored = self.kept().await?.unwrap_or_default();
            let now = self.replaced(&stored.schedule).await?;
            let schedule = before.schedule.clone();
            if self.write(&stored, schedule, false).await? {
                break now;
            }
        };
        self.blocking(move |folder, _| {
            now.keep(folder)?;
            before.restore(folder)
        })
        .await?;
        let after = self.stored().await?;
        self.follow(after).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&std::path::Path, Lang) -> Result<T, BadInput> + Send + 'static,
    ) -> Result<T, BadInput> {
        let (folder, lang) = (self.folder.clone(), self.lang);
        let spoken = Lang::current();
        let work = move || spoken.scope(|| work(&folder, lang));
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| {
            BadInput::new(say!("the files cannot be used", "文件无法使用")).because(error)
        })?
    }

    /// Returns the stored calendar with its notes and reminders; none if there is none yet.
    pub async fn kept(&self) -> Result<Option<Calendar>, BadInput> {
        self.store.read(&self.calendar).await.map_err(unusable)
    }

    async fn stored(&self) -> Result<ScheduleState, BadInput> {
        let stored = self.kept().await?;
        Ok(stored.map(|stored| stored.schedule).unwrap_or_default())
    }

    /// Returns what an import replaces, so that it can be taken back.
    async fn replaced(&self, before: &ScheduleState) -> Result<ReplacedState, BadInput> {
        let schedule = before.clone();
        self.blocking(move |folder, _| ReplacedState::of(folder, schedule))
            .await
    }

    /// Replaces the schedule of a calendar as it was read; false if it is another by now.
    async fn write(
        &self,
        seen: &Calendar,
        schedule: ScheduleState,
        only_items: bool,
    ) -> Result<bool, BadInput> {
        // The same files may be brought again later, to replace the changed calendar.
        let key = format!("replace-{}", clock::now().as_nanosecond());
        let write = StoreWrite::Replace {
            schedule,
            only_items,
        };
        let write = write.over(seen);
        let written = self.store.write(&self.calendar, &key, &write).await;
        match written.map_err(unusable)? {
            StoreReceipt::Stored => Ok(true),
            StoreReceipt::Conflict(_) => Ok(false),
            StoreReceipt::Refused { issues } => Err(BadInput::new(issues.join("; "))),
            other => Err(BadInput::new(say!(
                "the store answered {other:?}",
                "存储的回答是 {other:?}"
            ))),
        }
    }

    /// Writes the results anew, if the person has some.
    async fn follow(&self, after: ScheduleState) -> Result<(), BadInput> {
        let name = self.calendar.clone();
        self.blocking(move |folder, lang| {
            let files = ResultFiles::new(folder, name, lang);
            if files.paths().iter().any(|path| path.exists()) {
                let written = files.write(&after, &after);
                written.map_err(unusable)?;
            }
            Ok(())
        })
        .await
    }
}

/// Returns the refusal to replace a calendar that is another than the person has seen.
fn changed() -> BadInput {
    BadInput::new(say!(
        "the calendar was changed since you saw it, so nothing was replaced: look at it, and try again",
        "你看过之后日历有变动，所以没有替换：请看一下，再试一次"
    ))
    .code("changed")
}

/// Returns the items that have a place.
fn placed(schedule: &ScheduleState) -> impl Iterator<Item = &ScheduleTask> {
    let tasks = schedule.tasks.iter();
    tasks.filter(|task| task.source == Source::TaskItem && task.is_placed())
}

/// Returns the names of the items that had a place before and have none now.
fn lost(before: &ScheduleState, after: &ScheduleState) -> Vec<String> {
    let had_place = |task: &&ScheduleTask| {
        let mut known = before.tasks.iter();
        known.any(|known| {
            (&known.source_id, &known.name) == (&task.source_id, &task.name) && known.is_placed()
        })
    };
    let pending = after.tasks.iter().filter(|task| !task.is_placed());
    pending
        .filter(had_place)
        .map(|task| task.name.clone())
        .collect()
}

/// Serves `GET /calendar`: the schedule with its placed and pending tasks, the class file as a
/// value, the times of the sections of a day, its version, whether it is the sample, and whether an
/// import can be taken back.
async fn show(State(this): State<Arc<Transfer>>) -> Result<Json<Value>, BadInput> {
    let stored = this.kept().await?;
    let version = stored.as_ref().map(Calendar::version);
    let schedule = stored.map(|stored| stored.schedule);
    let known = this.blocking(|folder, _| {
        let (classes, times) = brought::shown_classes(folder)?;
        let (sample, undo) = (is_sample(folder), ReplacedState::is_there(folder));
        Ok(json!({ "classes": classes, "times": times, "sample": sample, "undo": undo }))
    });
    let mut known = known.await?;
    if let Value::Object(known) = &mut known {
        known.insert("schedule".to_owned(), json!(schedule));
        known.insert("version".to_owned(), json!(version));
    }
    Ok(Json(known))
}

/// Serves `PUT /calendar` with `{courses?, tasks?, classes?, replace?, version?}`; see
/// [`Transfer::bring`]. If the person has to agree, the answer is 409 `would_replace` with the `version`
/// that they agree to replace, and the same with that and `replace` carries it out.
async fn replace(
    State(this): State<Arc<Transfer>>,
    JsonInput(input): JsonInput<TransferInput>,
) -> Response {
    let outcome = this.bring(input).await;
    let question = outcome.as_ref().ok().and_then(|it| it.question(this.lang));
    match outcome {
        Err(refused) => refused.into_response(),
        Ok(ImportOutcome::Done {
            courses,
            items,
            remarks,
        }) => {
            let told = json!({ "courses": courses, "items": items, "remarks": remarks });
            Json(told).into_response()
        }
        Ok(ImportOutcome::Asks {
            kept,
            lost,
            version,
        }) => {
            let question = question.unwrap_or_default();
            let refused = ApiError::new(StatusCode::CONFLICT, "would_replace", question);
            refused
                .with("kept", kept)
                .with("lost", lost)
                .with("version", version)
                .into_response()
        }
    }
}

/// Serves `POST /calendar/undo`; see [`Transfer::undo`].
async fn take_back(State(this): State<Arc<Transfer>>) -> Result<Json<Value>, BadInput> {
    this.undo().await?;
    Ok(Json(json!({})))
}

/// Serves `GET /calendar.ics`: the placed items, for other calendar programs.
async fn take_away(State(this): State<Arc<Transfer>>) -> Result<Response, BadInput> {
    let stored = this.kept().await?;
    let stored = stored.ok_or_else(|| {
        BadInput::new(say!(
            "there is no calendar yet: import one",
            "还没有日历：请先导入"
        ))
    })?;
    let name = this.calendar.clone();
    let text = this.blocking(move |folder, lang| {
        let text = ResultFiles::new(folder, name, lang).calendar(&stored.schedule);
        text.map_err(unusable)
    });
    let headers = [
        (header::CONTENT_TYPE, "text/calendar; charset=utf-8"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"schedule.ics\"",
        ),
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, text.await?).into_response())
}

/// Serves `GET /notes`: the notes and to-dos `[{kind, text}]`, and the reminders
/// `[{due?, text, told}]`, whose times are those of the person's clock.
async fn notes(State(this): State<Arc<Transfer>>) -> Result<Json<Value>, BadInput> {
    let kept = this.kept().await?.unwrap_or_default();
    Ok(Json(
        json!({ "notes": kept.notes, "reminders": kept.reminders }),
    ))
}

/// Returns the refusal for a failure of the store or of the program's own files, whose places are the
/// operator's.
fn unusable(error: impl Into<BoxError>) -> BadInput {
    BadInput::new(say!(
        "the calendar cannot be used now; try again later",
        "现在无法使用日历；请稍后再试"
    ))
    .because(error)
}
