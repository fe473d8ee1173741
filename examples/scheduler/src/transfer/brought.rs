//! The files that a person brings, and those that they take the place of.
use std::path::Path;

use fugato::axum::BadInput;
use fugato::state::say;
use jiff::{civil::Date, tz::TimeZone};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{TransferInput, unusable};
use crate::{
    calendar::{Classes, IcsCalendar, Intake, Lang, import, language, read_file, write_file},
    clock,
    results::{COURSES, TASKS},
    schedule::{ScheduleState, Slot},
};

/// The beginning of the sample's class file.
pub const SAMPLE: &str = "# Sample";

/// The state before the last import, for taking it back.
const BEFORE: &str = "before-import.json";

/// The largest file, the same as on the command line.
const LARGEST: usize = 16 * 1024 * 1024;

/// A calendar without an entry, for whoever has only items to place.
const EMPTY: &str =
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//scheduler//EN\r\nEND:VCALENDAR\r\n";

/// Returns a class file without a class, for whoever has only a timetable.
fn no_classes(today: Date) -> String {
    format!(
        "# Made because only a timetable was given. Add [[classes]], or say what you want to do.\n\
         [window]\nstart = {today}\nweeks = 8\n"
    )
}

/// Files that fit each other, and the schedule that they make.
pub(super) struct Brought {
    pub(super) intake: Intake,
    files: [Vec<u8>; 2],
}

impl Brought {
    /// Reads the current files, with the brought ones in their place.
    pub(super) fn read(folder: &Path, input: TransferInput, lang: Lang) -> Result<Self, BadInput> {
        let file = |given: Option<String>, name: &str, instead: String| {
            let path = folder.join(name);
            match given {
                Some(text) if text.len() > LARGEST => Err(BadInput::new(say!(
                    "{name} has {} bytes; at most {LARGEST} are read",
                    "{name} 有 {} 字节；最多读取 {LARGEST}",
                    text.len()
                ))),
                Some(text) => Ok(text.into_bytes()),
                None if path.exists() => read_file(&path).map_err(unusable),
                None => Ok(instead.into_bytes()),
            }
        };
        let courses = file(input.courses, COURSES, EMPTY.to_owned())?;
        let tasks = file(input.tasks, TASKS, no_classes(clock::today()))?;
        let calendar = IcsCalendar::parse(COURSES, &courses).map_err(refused)?;
        let classes = Classes::parse(TASKS, &tasks).map_err(refused)?;
        let intake = import(&calendar, &classes, &TimeZone::system(), language(lang));
        Ok(Self {
            intake,
            files: [courses, tasks],
        })
    }

    /// Puts the files into the folder.
    pub(super) fn keep(&self, folder: &Path) -> Result<(), BadInput> {
        let [courses, tasks] = &self.files;
        write_file(&folder.join(COURSES), courses).map_err(unusable)?;
        write_file(&folder.join(TASKS), tasks).map_err(unusable)
    }
}

/// Completes the input of a new conversation: whoever has only a timetable has no class yet, and
/// whoever has only items has no timetable.
pub fn complete(courses: Option<Vec<u8>>, tasks: Option<Vec<u8>>) -> [Vec<u8>; 2] {
    [
        courses.unwrap_or_else(|| EMPTY.into()),
        tasks.unwrap_or_else(|| no_classes(clock::today()).into_bytes()),
    ]
}

/// Returns the class file of a folder as a value, and the times at which the sections of a day begin
/// and end. Dates are texts.
pub(super) fn shown_classes(folder: &Path) -> Result<(Value, Vec<[String; 2]>), BadInput> {
    let path = folder.join(TASKS);
    let bytes = if path.exists() {
        read_file(&path).map_err(unusable)?
    } else {
        no_classes(clock::today()).into_bytes()
    };
    let classes = Classes::parse(TASKS, &bytes).map_err(refused)?;
    let times = (1..=u8::MAX).map_while(|section| {
        let slot = Slot {
            day: 1,
            slot_start: section,
            slot_end: section,
        };
        let (begin, end) = classes.sections.times(&slot)?;
        Some([begin, end].map(|time| time.strftime("%H:%M").to_string()))
    });
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => plain(toml::from_str(text).map_err(refused)?),
    };
    Ok((value, times.collect()))
}

/// Returns a value of TOML without a type that JSON does not have.
fn plain(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(flag) => Value::from(flag),
        toml::Value::Datetime(date) => Value::from(date.to_string()),
        toml::Value::Array(list) => list.into_iter().map(plain).collect(),
        toml::Value::Table(table) => {
            let named = table.into_iter().map(|(name, value)| (name, plain(value)));
            Value::Object(named.collect())
        }
    }
}

/// Returns the class file that a value describes.
pub(super) fn class_file(classes: &Value) -> Result<String, BadInput> {
    toml::to_string(classes).map_err(|error| {
        BadInput::new(say!(
            "classes is no class file: {error}; send it as GET /calendar shows it",
            "classes 不是类别文件：{error}；请按 GET /calendar 的样子发送"
        ))
    })
}

/// Returns true if the folder has the sample.
pub fn is_sample(folder: &Path) -> bool {
    let tasks = std::fs::read(folder.join(TASKS)).unwrap_or_default();
    tasks.starts_with(SAMPLE.as_bytes())
}

/// The state before an import.
#[derive(Serialize, Deserialize)]
pub(super) struct ReplacedState {
    pub(super) schedule: ScheduleState,
    courses: Option<String>,
    tasks: Option<String>,
}

impl ReplacedState {
    /// Returns the current state of the folder, with the schedule that is stored.
    pub(super) fn of(folder: &Path, schedule: ScheduleState) -> Result<Self, BadInput> {
        let text = |name: &str| {
            let path = folder.join(name);
            if !path.exists() {
                return Ok(None);
            }
            let bytes = read_file(&path).map_err(unusable)?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        };
        Ok(Self {
            schedule,
            courses: text(COURSES)?,
            tasks: text(TASKS)?,
        })
    }

    /// Returns the state before the last import; none if there was none.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, BadInput> {
        if !Self::is_there(folder) {
            return Ok(None);
        }
        let bytes = std::fs::read(folder.join(BEFORE)).map_err(unusable)?;
        Ok(Some(serde_json::from_slice(&bytes).map_err(refused)?))
    }

    pub(super) fn is_there(folder: &Path) -> bool {
        folder.join(BEFORE).exists()
    }

    /// Keeps the state, so that the import can be taken back.
    pub(super) fn keep(&self, folder: &Path) -> Result<(), BadInput> {
        let bytes = serde_json::to_vec(self).map_err(refused)?;
        write_file(&folder.join(BEFORE), &bytes).map_err(unusable)
    }

    /// Puts the files back.
    pub(super) fn restore(&self, folder: &Path) -> Result<(), BadInput> {
        for (name, text) in [(COURSES, &self.courses), (TASKS, &self.tasks)] {
            if let Some(text) = text {
                write_file(&folder.join(name), text.as_bytes()).map_err(unusable)?;
            }
        }
        Ok(())
    }
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
