//! The flat model of a schedule that every tool reads and writes.
use jiff::ToSpan;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlacementPreferences, Sections, Terms};

/// The number of sections in a day without a table of its own.
pub const SECTIONS: u8 = 12;

/// A schedule: days, tasks with their places, and the classes that pending items belong to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScheduleState {
    /// The days that can be planned.
    pub window: Window,
    /// All placed and pending tasks, in the order of `state_id`.
    pub tasks: Vec<ScheduleTask>,
    /// The classes of task items.
    pub task_classes: Vec<TaskClass>,
    /// The wishes of the person for the times of items; none to let every time be as good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferences: Option<PlacementPreferences>,
}

/// The days that can be planned, numbered from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Day 1 to the last day, in order.
    pub days: Vec<DayMapping>,
    /// The times of the sections of a day.
    #[serde(default, skip_serializing_if = "Sections::is_default")]
    pub sections: Sections,
}

impl Window {
    /// Returns `days` days from `first` on; weeks begin on Mondays, and the first day is in week 1.
    pub fn starting(first: Date, days: u16) -> Self {
        let before = u16::from(first.weekday().to_monday_zero_offset().unsigned_abs());
        let day = |(day_index, date): (u16, Date)| DayMapping {
            day_index,
            week: (day_index - 1 + before) / 7 + 1,
            day_of_week: date.weekday().to_monday_one_offset().unsigned_abs(),
            date: date.to_string(),
        };
        Self {
            days: (1..=days).zip(first.series(1.day())).map(day).collect(),
            sections: Sections::default(),
        }
    }
}

/// The date and week of a day number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayMapping {
    /// The number of the day, from 1.
    pub day_index: u16,
    /// The week, from 1.
    pub week: u16,
    /// Monday is 1, Sunday 7.
    pub day_of_week: u8,
    /// The calendar date, `YYYY-MM-DD`; empty if the window is not tied to a calendar.
    #[serde(default)]
    pub date: String,
}

/// A task that has a place in the schedule or is to get one. By default it is a pending item of two
/// sections.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleTask {
    /// The only id that a model sees.
    pub state_id: u32,
    /// The source.
    pub source: Source,
    /// Its id at the source.
    pub source_id: String,
    /// Its name.
    pub name: String,
    /// The subject or kind, such as "Algebra".
    pub category: String,
    /// The status: existing, suggested or pending.
    pub status: PlacementStatus,
    /// True if it must keep its place: a course that nothing can be embedded into.
    pub locked: bool,
    /// The place; empty if pending. Adjacent sections are one range.
    #[serde(default)]
    pub slots: Vec<Slot>,
    /// The number of sections that it needs or takes.
    #[default(2)]
    pub duration: u8,
    /// The class of a task item.
    #[serde(default)]
    pub task_class_id: Option<u32>,
    /// The place in the order of its class, from 1; 0 for no order.
    #[serde(default)]
    pub task_order: u32,
    /// True if a task item may be inside it.
    #[serde(default)]
    pub can_embed: bool,
    /// The guest inside it.
    #[serde(default)]
    pub embedded_by: Option<u32>,
    /// The host that contains it.
    #[serde(default)]
    pub embed_host: Option<u32>,
    /// The kind of event.
    pub event_type: EventType,
    /// The person's marks on it.
    #[serde(default, skip_serializing_if = "Marks::is_none")]
    pub marks: Marks,
    /// The person's terms for its place.
    #[serde(default, skip_serializing_if = "Terms::is_none")]
    pub terms: Terms,
}

/// The marks of a person on a task; they say nothing about its place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Marks {
    /// True if it is done. A done item keeps its place, and needs none if it has none.
    pub done: bool,
    /// The last date on which it may lie, `YYYY-MM-DD`, besides that of its class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
}

impl Marks {
    /// Returns true if there is no mark.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The sources of tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// An entry of the calendar.
    Event,
    /// An item of a task class.
    #[default]
    TaskItem,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TaskStatus")]
pub enum PlacementStatus {
    /// It was in the calendar before, or was confirmed.
    Existing,
    /// It has a place that nobody has confirmed yet.
    Suggested,
    /// It wants a place.
    #[default]
    Pending,
}

/// The kinds of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventType {
    /// A course or another fixed appointment.
    Course,
    /// Something to do.
    #[default]
    Task,
}

/// Consecutive sections of a day, both ends included.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Slot {
    /// The day, from 1.
    pub day: u16,
    /// The first section, from 1.
    pub slot_start: u8,
    /// The last section.
    pub slot_end: u8,
}

/// A class of items that belong together, with the rules for placing them. By default it allows no
/// place inside courses, and all others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskClass {
    /// Unique among classes, from 1.
    pub id: u32,
    /// Its name, also the category of its items.
    pub name: String,
    /// The way in which its items are spread.
    pub strategy: Strategy,
    /// The number of sections that all its items take together.
    pub total_slots: u32,
    /// True if its items may be inside courses that allow it.
    pub allow_filler_course: bool,
    /// Two-section blocks that are never used: 1 is sections 1 and 2, 6 is 11 and 12.
    #[serde(default)]
    pub excluded_slots: Vec<u8>,
    /// Days that are never used: Monday is 1.
    #[serde(default)]
    pub excluded_days_of_week: Vec<u8>,
    /// The first allowed date, `YYYY-MM-DD`.
    #[serde(default)]
    pub start_date: Option<String>,
    /// The last allowed date, `YYYY-MM-DD`.
    #[serde(default)]
    pub end_date: Option<String>,
    /// The kind of work; none if unknown.
    #[serde(default)]
    pub subject_type: Option<SubjectType>,
    /// The difficulty; none if unknown.
    #[serde(default)]
    pub difficulty_level: Option<Level>,
    /// The mental demand; none if unknown.
    #[serde(default)]
    pub cognitive_intensity: Option<Level>,
    /// The terms of all its items; an item with a length or priority of its own has that.
    #[serde(default, skip_serializing_if = "Terms::is_none")]
    pub terms: Terms,
}

/// How the items of a class are spread over the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Evenly.
    #[default]
    Steady,
    /// As early as possible.
    Rapid,
}

/// What kind of work a class is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubjectType {
    /// Calculating.
    Quantitative,
    /// Learning by heart.
    Memory,
    /// Reading.
    Reading,
    /// Several of these.
    Mixed,
}

/// How much of something.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}
