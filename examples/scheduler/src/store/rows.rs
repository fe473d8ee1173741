//! A calendar as rows of tables, and back.
//!
//! | table | a row is |
//! |---|---|
//! | `day` | a day of the calendar |
//! | `task_class` | a class |
//! | `task_item` | an item of a class |
//! | `event` | an entry of the calendar: a course, an errand, or an item with a place of its own |
//! | `task_terms` | the terms of a person for the place of a task |
//! | `class_terms` | those for all items of a class |
//! | `section` | the times of a section, if the calendar has a table of its own |
//! | `task_mark` | the marks of a person on a task: done, and the last date |
//! | `preference` | the wishes of the person for the times of items |
//! | `event_section` | a section that an entry takes, and the guest inside it there |
//! | `note` | a note or to-do of the person |
//! | `reminder` | a reminder of the person |
use std::collections::BTreeMap;

use fugato::store::{Cell, RowTable};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::Calendar;
use crate::schedule::{Marks, ScheduleState, ScheduleTask, Sections, Slot, Source, Terms};

/// The tables of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Table {
    Day,
    Class,
    Item,
    Event,
    Section,
    Mark,
    Preferences,
    Terms,
    ClassTerms,
    Times,
    Note,
    Reminder,
}

/// The form of a column.
#[derive(Debug, Clone, Copy)]
enum Form {
    Number,
    MaybeNumber,
    Truth,
    Word,
    MaybeWord,
    /// A list as JSON.
    List,
}

impl Form {
    /// Returns its type in every database.
    const fn sql(self) -> &'static str {
        match self {
            Self::Number | Self::Truth => "BIGINT NOT NULL",
            Self::MaybeNumber => "BIGINT",
            Self::Word | Self::List => "TEXT NOT NULL",
            Self::MaybeWord => "TEXT",
        }
    }
}

/// A table with the forms of its columns, those of the key first.
#[derive(Clone, Copy)]
struct TableSpec {
    table: RowTable,
    forms: &'static [Form],
}

macro_rules! table {
    ($name:literal [$($key:ident)+] $($column:ident $form:ident)+) => {
        TableSpec {
            table: RowTable {
                name: $name,
                owner: "calendar",
                keys: &[$(stringify!($key)),+],
                columns: &[$(stringify!($column)),+],
            },
            forms: &[$(table!($key)),+, $(Form::$form),+],
        }
    };
    ($key:ident) => { Form::Number };
}

const ITEM: TableSpec = table!("task_item" [id]
    source Word source_id Word name Word category Word status Word locked Truth duration Number
    class MaybeNumber class_order Number can_embed Truth kind Word);

impl Table {
    pub(crate) const ALL: [Self; 12] = [
        Self::Day,
        Self::Class,
        Self::Item,
        Self::Event,
        Self::Section,
        Self::Mark,
        Self::Preferences,
        Self::Terms,
        Self::ClassTerms,
        Self::Times,
        Self::Note,
        Self::Reminder,
    ];

    const fn spec(self) -> TableSpec {
        match self {
            Self::Day => table!("day" [day] week Number day_of_week Number date Word),
            Self::Class => table!("task_class" [id]
                name Word strategy Word total_slots Number allow_filler_course Truth
                excluded_slots List excluded_days_of_week List start_date MaybeWord
                end_date MaybeWord subject_type MaybeWord difficulty_level MaybeWord
                cognitive_intensity MaybeWord),
            Self::Item => ITEM,
            Self::Event => TableSpec {
                table: RowTable {
                    name: "event",
                    ..ITEM.table
                },
                ..ITEM
            },
            Self::Section => table!("event_section" [event day section] guest MaybeNumber),
            Self::Mark => table!("task_mark" [id] done Truth deadline MaybeWord),
            Self::Preferences => table!("preference" [id] wishes Word),
            Self::Terms => table!("task_terms" [id] terms Word),
            Self::ClassTerms => table!("class_terms" [id] terms Word),
            Self::Times => table!("section" [id] times Word),
            Self::Note => table!("note" [position] kind Word text Word),
            Self::Reminder => table!("reminder" [position] due MaybeWord told Truth text Word),
        }
    }

    /// Returns the table with the columns of a row of a calendar.
    pub(crate) const fn table(self) -> RowTable {
        self.spec().table
    }

    /// Returns the columns in SQL, those after the owner of a row.
    pub(crate) fn columns(self) -> String {
        let columns = self.named_forms();
        let columns = columns.map(|(name, form)| format!("{name} {}, ", form.sql()));
        let keys = self.table().keys.join(", ");
        format!(
            "{}PRIMARY KEY (calendar, {keys})",
            columns.collect::<String>()
        )
    }

    fn named_forms(self) -> impl Iterator<Item = (&'static str, Form)> {
        let TableSpec { table, forms } = self.spec();
        let names = table.keys.iter().chain(table.columns);
        names.copied().zip(forms.iter().copied())
    }

    /// Returns the field of a value that a column holds.
    fn field(self, column: &'static str) -> &'static str {
        match (self, column) {
            (Self::Day, "day") => "day_index",
            (Self::Item | Self::Event, "id") => "state_id",
            (Self::Item | Self::Event, "class") => "task_class_id",
            (Self::Item | Self::Event, "class_order") => "task_order",
            (Self::Item | Self::Event, "kind") => "event_type",
            (Self::Note | Self::Reminder, "position") => "id",
            _ => column,
        }
    }

    /// Returns the row of a value: its key, and its other cells.
    fn row(self, value: &impl Serialize) -> (Vec<Cell>, Vec<Cell>) {
        let value = serde_json::to_value(value).unwrap_or_default();
        let cell = |name: &&'static str| cell(value.get(self.field(name)));
        let RowTable { keys, columns, .. } = self.table();
        let (keys, columns) = (keys.iter().map(cell), columns.iter().map(cell));
        (keys.collect(), columns.collect())
    }

    /// Reads a value from its row.
    fn read<T: DeserializeOwned>(self, key: &[Cell], row: &[Cell]) -> Result<T, String> {
        let mut fields = Map::new();
        for ((column, form), cell) in self.named_forms().zip(key.iter().chain(row)) {
            let value = match (form, cell) {
                (_, Cell::Null) => Value::Null,
                (Form::Truth, Cell::Int(truth)) => Value::Bool(*truth != 0),
                (_, Cell::Int(number)) => Value::from(*number),
                (Form::List, Cell::Text(list)) => {
                    serde_json::from_str(list).map_err(|error| self.wrong(&error))?
                }
                (_, Cell::Text(text)) => Value::from(text.as_str()),
            };
            fields.insert(self.field(column).to_owned(), value);
        }
        serde_json::from_value(fields.into()).map_err(|error| self.wrong(&error))
    }

    fn wrong(self, error: &serde_json::Error) -> String {
        format!("a row of {} is wrong: {error}", self.table().name)
    }
}

fn cell(value: Option<&Value>) -> Cell {
    match value {
        None | Some(Value::Null) => Cell::Null,
        Some(Value::Bool(truth)) => Cell::Int((*truth).into()),
        Some(Value::Number(number)) => number.as_i64().map_or(Cell::Null, Cell::Int),
        Some(Value::String(text)) => Cell::Text(text.clone()),
        Some(list) => Cell::Text(list.to_string()),
    }
}

/// The rows by table and key.
pub(crate) type Rows = BTreeMap<(Table, Vec<Cell>), Vec<Cell>>;

/// Puts the row of a value in the place of that with its key.
pub(crate) fn put(rows: &mut Rows, table: Table, value: &impl Serialize) {
    let (key, row) = table.row(value);
    rows.insert((table, key), row);
}

/// A value beside the number of its row.
#[derive(Serialize, Deserialize)]
pub(crate) struct NumberedRow<T> {
    pub(crate) id: i64,
    #[serde(flatten)]
    pub(crate) value: T,
}

/// The only text of a row.
#[derive(Deserialize)]
struct OnlyText {
    #[serde(alias = "terms", alias = "wishes", alias = "times")]
    text: String,
}

/// A section that an entry takes.
#[derive(Serialize, Deserialize)]
struct TakenSection {
    event: u32,
    day: u16,
    section: u8,
    guest: Option<u32>,
}

/// Puts a schedule in the place of that in the rows.
pub(crate) fn put_schedule(rows: &mut Rows, state: &ScheduleState) {
    rows.retain(|(table, _), _| matches!(table, Table::Note | Table::Reminder));
    for day in &state.window.days {
        put(rows, Table::Day, day);
    }
    if let Some(preferences) = &state.preferences {
        let row = json!({ "id": 1, "wishes": text(preferences) });
        put(rows, Table::Preferences, &row);
    }
    if !state.window.sections.is_default() {
        let times = Vec::<String>::from(state.window.sections.clone());
        for (id, times) in (1..).zip(times) {
            put(rows, Table::Times, &json!({ "id": id, "times": times }));
        }
    }
    for class in &state.task_classes {
        put(rows, Table::Class, class);
        if !class.terms.is_none() {
            let row = json!({ "id": class.id, "terms": text(&class.terms) });
            put(rows, Table::ClassTerms, &row);
        }
    }
    for task in &state.tasks {
        let id = i64::from(task.state_id);
        if !task.marks.is_none() {
            let value = &task.marks;
            put(rows, Table::Mark, &NumberedRow { id, value });
        }
        if !task.terms.is_none() {
            let row = json!({ "id": id, "terms": text(&task.terms) });
            put(rows, Table::Terms, &row);
        }
        if task.source == Source::TaskItem {
            put(rows, Table::Item, task);
        }
        // An item gets an entry when it has a place of its own.
        let stands_alone = task.is_placed() && task.embed_host.is_none();
        if task.source == Source::Event || stands_alone {
            put(rows, Table::Event, task);
        }
    }
    // Hosts first: the rows of a guest are those of its host.
    let (guests, alone): (Vec<_>, Vec<_>) = state
        .tasks
        .iter()
        .partition(|task| task.embed_host.is_some());
    for task in alone.into_iter().chain(guests) {
        let guest = task.embed_host.map(|_| task.state_id);
        let event = task.embed_host.unwrap_or(task.state_id);
        for slot in &task.slots {
            let day = slot.day;
            for section in slot.slot_start..=slot.slot_end {
                let taken = TakenSection {
                    event,
                    day,
                    section,
                    guest,
                };
                put(rows, Table::Section, &taken);
            }
        }
    }
}

/// Reads a calendar from its rows; otherwise returns the error in them.
pub(crate) fn calendar(rows: &Rows) -> Result<Calendar, String> {
    let (mut notes, mut reminders) = (vec![], vec![]);
    let mut state = ScheduleState::default();
    let mut places = Places::default();
    let mut marks = BTreeMap::<i64, Marks>::new();
    let (mut terms, mut class_terms) = (BTreeMap::new(), BTreeMap::new());
    let mut times = Vec::<String>::new();
    for ((table, key), row) in rows {
        let only_text = || table.read::<NumberedRow<OnlyText>>(key, row);
        match table {
            Table::Day => state.window.days.push(table.read(key, row)?),
            Table::Class => state.task_classes.push(table.read(key, row)?),
            Table::Item => state.tasks.push(table.read(key, row)?),
            Table::Event => {
                let entry: ScheduleTask = table.read(key, row)?;
                state
                    .tasks
                    .extend((entry.source == Source::Event).then_some(entry));
            }
            Table::Section => places.add(&table.read(key, row)?)?,
            Table::Preferences => state.preferences = Some(parsed(*table, &only_text()?)?),
            Table::Mark => {
                let NumberedRow { id, value } = table.read(key, row)?;
                marks.insert(id, value);
            }
            Table::Terms => {
                let found = only_text()?;
                terms.insert(found.id, parsed::<Terms>(*table, &found)?);
            }
            Table::ClassTerms => {
                let found = only_text()?;
                class_terms.insert(found.id, parsed::<Terms>(*table, &found)?);
            }
            Table::Times => times.push(only_text()?.value.text),
            Table::Note => notes.push(table.read(key, row)?),
            Table::Reminder => reminders.push(table.read(key, row)?),
        }
    }
    state.tasks.sort_by_key(|task| task.state_id);
    for task in &mut state.tasks {
        let slots = places.slots.remove(&task.state_id).unwrap_or_default();
        task.slots = Slot::compress(slots);
        task.embed_host = places.host_of.get(&task.state_id).copied();
        task.embedded_by = places.guest_of.get(&task.state_id).copied();
        task.marks = marks.remove(&task.state_id.into()).unwrap_or_default();
        task.terms = terms.remove(&task.state_id.into()).unwrap_or_default();
    }
    for class in &mut state.task_classes {
        class.terms = class_terms.remove(&class.id.into()).unwrap_or_default();
    }
    if !times.is_empty() {
        let sections = Sections::parse(&times);
        state.window.sections = sections.map_err(|error| error.to_string())?;
    }
    match places.slots.keys().next() {
        Some(stray) => Err(format!("{stray} has sections, and is no task")),
        None => Ok(Calendar {
            schedule: state,
            notes,
            reminders,
        }),
    }
}

/// The places according to the rows of sections.
#[derive(Default)]
struct Places {
    slots: BTreeMap<u32, Vec<Slot>>,
    host_of: BTreeMap<u32, u32>,
    guest_of: BTreeMap<u32, u32>,
}

impl Places {
    fn add(&mut self, taken: &TakenSection) -> Result<(), String> {
        let entry = taken.event;
        let slot = Slot::new(taken.day, taken.section, taken.section);
        for task in [Some(entry), taken.guest].into_iter().flatten() {
            self.slots.entry(task).or_default().push(slot);
        }
        if let Some(guest) = taken.guest {
            let hosts = self.host_of.insert(guest, entry);
            let guests = self.guest_of.insert(entry, guest);
            if hosts.is_some_and(|host| host != entry) || guests.is_some_and(|other| other != guest)
            {
                return Err(format!(
                    "{entry} and {guest} lie in and around more than one"
                ));
            }
        }
        Ok(())
    }
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn parsed<T: DeserializeOwned>(table: Table, found: &NumberedRow<OnlyText>) -> Result<T, String> {
    serde_json::from_str(&found.value.text).map_err(|error| table.wrong(&error))
}
