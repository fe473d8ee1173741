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
use std::collections::BTreeMap;

use fugato::store::{Cell, RowTable};
use serde::{Serialize, de::DeserializeOwned};

use crate::schedule::{
    DayMapping, Marks, ScheduleState, ScheduleTask, Sections, Slot, Source, TaskClass, Terms,
    Window,
};

/// The tables of a schedule.
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
}

impl Table {
    pub(crate) const ALL: [Self; 10] = [
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
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Class => "task_class",
            Self::Item => "task_item",
            Self::Event => "event",
            Self::Section => "event_section",
            Self::Mark => "task_mark",
            Self::Preferences => "preference",
            Self::Terms => "task_terms",
            Self::ClassTerms => "class_terms",
            Self::Times => "section",
        }
    }

    /// Returns the table with the columns of a row of a calendar.
    pub(crate) const fn table(self) -> RowTable {
        RowTable {
            name: self.name(),
            owner: "calendar",
            keys: self.keys(),
            columns: self.columns(),
        }
    }

    /// Returns the columns that identify a row within its calendar.
    pub(crate) const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Day => &["day"],
            Self::Class
            | Self::Item
            | Self::Event
            | Self::Mark
            | Self::Preferences
            | Self::Terms
            | Self::ClassTerms
            | Self::Times => &["id"],
            Self::Section => &["event", "day", "section"],
        }
    }

    /// Returns the other columns of a row.
    pub(crate) const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Day => &["week", "day_of_week", "date"],
            Self::Class => &[
                "name",
                "strategy",
                "total_slots",
                "allow_filler_course",
                "excluded_slots",
                "excluded_days_of_week",
                "start_date",
                "end_date",
                "subject_type",
                "difficulty_level",
                "cognitive_intensity",
            ],
            Self::Item | Self::Event => &[
                "source",
                "source_id",
                "name",
                "category",
                "status",
                "locked",
                "duration",
                "class",
                "class_order",
                "can_embed",
                "kind",
            ],
            Self::Section => &["guest"],
            Self::Mark => &["done", "deadline"],
            Self::Preferences => &["wishes"],
            Self::Terms | Self::ClassTerms => &["terms"],
            Self::Times => &["times"],
        }
    }
}

/// The rows by table and key.
pub(crate) type Rows = BTreeMap<(Table, Vec<Cell>), Vec<Cell>>;

/// Converts a schedule into rows.
pub(crate) fn rows(state: &ScheduleState) -> Rows {
    let mut rows = Rows::new();
    for day in &state.window.days {
        let row = vec![
            int(day.week),
            int(day.day_of_week),
            Cell::Text(day.date.clone()),
        ];
        rows.insert((Table::Day, vec![int(day.day_index)]), row);
    }
    if let Some(preferences) = &state.preferences {
        rows.insert((Table::Preferences, vec![int(1)]), vec![json(preferences)]);
    }
    if !state.window.sections.is_default() {
        let times = Vec::<String>::from(state.window.sections.clone());
        rows.extend(
            (1_i64..).zip(times).map(|(section, times)| {
                ((Table::Times, vec![int(section)]), vec![Cell::Text(times)])
            }),
        );
    }
    for class in &state.task_classes {
        rows.insert((Table::Class, vec![int(class.id)]), class_row(class));
        if !class.terms.is_none() {
            let row = vec![json(&class.terms)];
            rows.insert((Table::ClassTerms, vec![int(class.id)]), row);
        }
    }
    for task in &state.tasks {
        if !task.marks.is_none() {
            let row = vec![int(task.marks.done), text(task.marks.deadline.as_deref())];
            rows.insert((Table::Mark, vec![int(task.state_id)]), row);
        }
        if !task.terms.is_none() {
            let row = vec![json(&task.terms)];
            rows.insert((Table::Terms, vec![int(task.state_id)]), row);
        }
        let row = task_row(task);
        if task.source == Source::TaskItem {
            rows.insert((Table::Item, vec![int(task.state_id)]), row.clone());
        }
        // An item gets an entry when it has a place of its own.
        let stands_alone = task.is_placed() && task.embed_host.is_none();
        if task.source == Source::Event || stands_alone {
            rows.insert((Table::Event, vec![int(task.state_id)]), row);
        }
    }
    // Hosts first: the rows of a guest are those of its host.
    let (guests, alone): (Vec<_>, Vec<_>) = state
        .tasks
        .iter()
        .partition(|task| task.embed_host.is_some());
    for task in alone.into_iter().chain(guests) {
        let (entry, guest) = match task.embed_host {
            Some(host) => (int(host), int(task.state_id)),
            None => (int(task.state_id), Cell::Null),
        };
        for slot in &task.slots {
            for section in slot.slot_start..=slot.slot_end {
                let key = vec![entry.clone(), int(slot.day), int(section)];
                rows.insert((Table::Section, key), vec![guest.clone()]);
            }
        }
    }
    rows
}

/// Reads a schedule from its rows; otherwise returns the error in them.
pub(crate) fn schedule(rows: &Rows) -> Result<ScheduleState, String> {
    let mut state = ScheduleState {
        window: Window::default(),
        ..ScheduleState::default()
    };
    let mut places = Places::default();
    let mut marks = BTreeMap::<u32, Marks>::new();
    let (mut terms, mut class_terms) = (BTreeMap::new(), BTreeMap::new());
    let mut times = Vec::<String>::new();
    for ((table, key), row) in rows {
        let mut cells = Cells::new(*table, key, row);
        match table {
            Table::Day => state.window.days.push(DayMapping {
                day_index: cells.number()?,
                week: cells.number()?,
                day_of_week: cells.number()?,
                date: cells.text()?,
            }),
            Table::Class => state.task_classes.push(class(&mut cells)?),
            Table::Item => state.tasks.push(task(&mut cells)?),
            Table::Event => {
                let entry = task(&mut cells)?;
                if entry.source == Source::Event {
                    state.tasks.push(entry);
                }
            }
            Table::Section => places.add(&mut cells)?,
            Table::Preferences => {
                let _: i64 = cells.number()?;
                state.preferences = Some(cells.json()?);
            }
            Table::Mark => {
                let (task, done) = (cells.number()?, cells.truth()?);
                let deadline = cells.maybe_text()?;
                marks.insert(task, Marks { done, deadline });
            }
            Table::Terms => {
                terms.insert(cells.number::<u32>()?, cells.json::<Terms>()?);
            }
            Table::ClassTerms => {
                class_terms.insert(cells.number::<u32>()?, cells.json::<Terms>()?);
            }
            Table::Times => {
                cells.number::<i64>()?;
                times.push(cells.text()?);
            }
        }
    }
    state.tasks.sort_by_key(|task| task.state_id);
    for task in &mut state.tasks {
        let slots = places.slots.remove(&task.state_id).unwrap_or_default();
        task.slots = Slot::compress(slots);
        task.embed_host = places.host_of.get(&task.state_id).copied();
        task.embedded_by = places.guest_of.get(&task.state_id).copied();
        task.marks = marks.remove(&task.state_id).unwrap_or_default();
        task.terms = terms.remove(&task.state_id).unwrap_or_default();
    }
    for class in &mut state.task_classes {
        class.terms = class_terms.remove(&class.id).unwrap_or_default();
    }
    if !times.is_empty() {
        let sections = Sections::parse(&times);
        state.window.sections = sections.map_err(|error| error.to_string())?;
    }
    match places.slots.keys().next() {
        Some(stray) => Err(format!("{stray} has sections, and is no task")),
        None => Ok(state),
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
    fn add(&mut self, cells: &mut Cells<'_>) -> Result<(), String> {
        let (entry, day, section) = (cells.number()?, cells.number()?, cells.number()?);
        let guest: Option<u32> = cells.maybe()?;
        let slot = Slot::new(day, section, section);
        for task in [Some(entry), guest].into_iter().flatten() {
            self.slots.entry(task).or_default().push(slot);
        }
        if let Some(guest) = guest {
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

fn class_row(class: &TaskClass) -> Vec<Cell> {
    vec![
        Cell::Text(class.name.clone()),
        word(&class.strategy),
        int(class.total_slots),
        int(class.allow_filler_course),
        json(&class.excluded_slots),
        json(&class.excluded_days_of_week),
        text(class.start_date.as_deref()),
        text(class.end_date.as_deref()),
        word(&class.subject_type),
        word(&class.difficulty_level),
        word(&class.cognitive_intensity),
    ]
}

fn class(cells: &mut Cells<'_>) -> Result<TaskClass, String> {
    Ok(TaskClass {
        id: cells.number()?,
        name: cells.text()?,
        strategy: cells.word()?,
        total_slots: cells.number()?,
        allow_filler_course: cells.truth()?,
        excluded_slots: cells.list()?,
        excluded_days_of_week: cells.list()?,
        start_date: cells.maybe_text()?,
        end_date: cells.maybe_text()?,
        subject_type: cells.word()?,
        difficulty_level: cells.word()?,
        cognitive_intensity: cells.word()?,
        terms: Terms::default(),
    })
}

fn task_row(task: &ScheduleTask) -> Vec<Cell> {
    vec![
        word(&task.source),
        Cell::Text(task.source_id.clone()),
        Cell::Text(task.name.clone()),
        Cell::Text(task.category.clone()),
        word(&task.status),
        int(task.locked),
        int(task.duration),
        task.task_class_id.map_or(Cell::Null, int),
        int(task.task_order),
        int(task.can_embed),
        word(&task.event_type),
    ]
}

/// Reads a task without its place, which is in other rows.
fn task(cells: &mut Cells<'_>) -> Result<ScheduleTask, String> {
    Ok(ScheduleTask {
        state_id: cells.number()?,
        source: cells.word()?,
        source_id: cells.text()?,
        name: cells.text()?,
        category: cells.text()?,
        status: cells.word()?,
        locked: cells.truth()?,
        duration: cells.number()?,
        task_class_id: cells.maybe()?,
        task_order: cells.number()?,
        can_embed: cells.truth()?,
        event_type: cells.word()?,
        slots: vec![],
        embedded_by: None,
        embed_host: None,
        marks: Marks::default(),
        terms: Terms::default(),
    })
}

fn int(number: impl Into<i64>) -> Cell {
    Cell::Int(number.into())
}

fn text(text: Option<&str>) -> Cell {
    text.map_or(Cell::Null, |text| Cell::Text(text.to_owned()))
}

fn json(value: &impl Serialize) -> Cell {
    serde_json::to_string(value).map_or(Cell::Null, Cell::Text)
}

/// Returns the word that represents a variant without fields.
fn word(value: &impl Serialize) -> Cell {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Cell::Text(word),
        _ => Cell::Null,
    }
}

/// A reader of the cells of a row, one after another.
struct Cells<'a> {
    table: Table,
    row: Vec<&'a Cell>,
    at: usize,
}

impl<'a> Cells<'a> {
    fn new(table: Table, key: &'a [Cell], row: &'a [Cell]) -> Self {
        Self {
            table,
            row: key.iter().chain(row).collect(),
            at: 0,
        }
    }

    fn next(&mut self) -> &'a Cell {
        self.at += 1;
        self.row.get(self.at - 1).copied().unwrap_or(&Cell::Null)
    }

    fn wrong(&self, found: &Cell) -> String {
        let columns = self.table.keys().iter().chain(self.table.columns());
        let column = columns.copied().nth(self.at - 1).unwrap_or_default();
        format!("{}.{column} is {found:?}", self.table.name())
    }

    fn number<N: TryFrom<i64>>(&mut self) -> Result<N, String> {
        self.maybe()?.ok_or_else(|| self.wrong(&Cell::Null))
    }

    fn maybe<N: TryFrom<i64>>(&mut self) -> Result<Option<N>, String> {
        match self.next() {
            Cell::Null => Ok(None),
            Cell::Int(number) => {
                let fits = N::try_from(*number);
                fits.map(Some).map_err(|_| self.wrong(&Cell::Int(*number)))
            }
            found @ Cell::Text(_) => Err(self.wrong(found)),
        }
    }

    fn truth(&mut self) -> Result<bool, String> {
        Ok(self.number::<i64>()? != 0)
    }

    fn text(&mut self) -> Result<String, String> {
        self.maybe_text()?.ok_or_else(|| self.wrong(&Cell::Null))
    }

    fn maybe_text(&mut self) -> Result<Option<String>, String> {
        match self.next() {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text.clone())),
            found @ Cell::Int(_) => Err(self.wrong(found)),
        }
    }

    fn word<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let found = self.next();
        let value = match found {
            Cell::Text(word) => serde_json::Value::String(word.clone()),
            _ => serde_json::Value::Null,
        };
        serde_json::from_value(value).map_err(|_| self.wrong(found))
    }

    fn list<T: DeserializeOwned>(&mut self) -> Result<Vec<T>, String> {
        self.json()
    }

    fn json<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let text = self.text()?;
        let value = serde_json::from_str(&text);
        value.map_err(|_| self.wrong(&Cell::Text(text.clone())))
    }
}
