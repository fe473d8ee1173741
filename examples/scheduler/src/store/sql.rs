//! Calendars in the tables of a database.
use async_trait::async_trait;
use fugato::{
    BoxError,
    store::{Cell, KeyReusedError, QueryRows, Statement, WriteTable, row_changes},
};

use super::{
    Calendar, MemoryNote, Reminder, ScheduleStore, ScheduleStoreError, StoreReceipt, StoreWrite,
    check::{carried_out, carried_over},
    database::{Database, StoreDecision},
    rows::{self, Rows, Table},
};
use crate::schedule::{ScheduleState, Slot};

/// The version of the tables.
///
/// - 1: the first.
const VERSION: i64 = 1;

/// The column type of a name or key, short enough for an index of every database.
const NAME: &str = "VARCHAR(190) NOT NULL";

/// The table of the writes that were carried out.
const WRITES: WriteTable = WriteTable {
    name: "applied",
    keys: &["calendar", "idempotency_key"],
    content: "content",
    answer: "receipt",
};

/// A store of calendars in a database.
#[derive(Debug)]
pub(crate) struct SqlStore<D>(D);

impl<D: Database> SqlStore<D> {
    /// Makes the tables that are not there yet.
    pub(crate) async fn over(database: D) -> Result<Self, BoxError> {
        database.prepare(tables::<D>()).await?;
        let version = Statement::new("SELECT version FROM schedule_store WHERE id = 1", []);
        match database.read(vec![version]).await?.first() {
            Some(found) if *found == [[Cell::Int(VERSION)]] => Ok(Self(database)),
            found => Err(format!("its tables have version {found:?}; {VERSION} is known").into()),
        }
    }
}

#[async_trait]
impl<D: Database> ScheduleStore for SqlStore<D> {
    async fn read(&self, calendar: &str) -> Result<Option<Calendar>, ScheduleStoreError> {
        let known = Statement::new("SELECT name FROM calendar WHERE name = ?", [text(calendar)]);
        let queries = [known, notes(calendar), reminders(calendar)]
            .into_iter()
            .chain(selects(calendar));
        let found = self.0.read(queries.collect()).await;
        let found = found.map_err(failed("read a calendar"))?;
        let mut found = found.into_iter();
        let (known, notes, reminders) = (found.next(), found.next(), found.next());
        if known.is_none_or(|rows| rows.is_empty()) {
            return Ok(None);
        }
        let damaged = damaged(calendar);
        let schedule = rows::schedule(&collected(found)).map_err(&damaged)?;
        let notes = notes.unwrap_or_default();
        let notes: Result<_, _> = notes.iter().map(|row| note(row)).collect();
        let notes = notes.map_err(&damaged)?;
        let reminders = reminders.unwrap_or_default();
        let reminders: Result<_, _> = reminders.iter().map(|row| reminder(row)).collect();
        let reminders = reminders.map_err(damaged)?;
        Ok(Some(Calendar {
            schedule,
            notes,
            reminders,
        }))
    }

    async fn write(
        &self,
        calendar: &str,
        key: &str,
        write: &StoreWrite,
    ) -> Result<StoreReceipt, ScheduleStoreError> {
        let asked = PendingStatement {
            calendar: calendar.to_owned(),
            key: key.to_owned(),
            content: serde_json::to_string(write)
                .map_err(|error| failed("write a calendar")(error.into()))?,
            write: write.clone(),
        };
        let before = WRITES.select(&[text(calendar), text(key)]);
        let queries = [before, notes(calendar), reminders(calendar)]
            .into_iter()
            .chain(selects(calendar));
        let lock = lock::<D>(calendar);
        let done = self
            .0
            .write(lock, queries.collect(), move |found| asked.decide(found));
        done.await.map_err(failed("write a calendar"))?
    }

    async fn delete(&self, calendar: &str) -> Result<(), ScheduleStoreError> {
        let mut statements: Vec<_> = Table::ALL
            .iter()
            .map(|table| table.name())
            .chain(["note", "reminder", "applied"])
            .map(|table| {
                Statement::new(
                    format!("DELETE FROM {table} WHERE calendar = ?"),
                    [text(calendar)],
                )
            })
            .collect();
        let last = Statement::new("DELETE FROM calendar WHERE name = ?", [text(calendar)]);
        statements.push(last);
        let lock = lock::<D>(calendar);
        let done = self
            .0
            .write(lock, vec![], move |_| Ok((statements.clone(), ())));
        done.await.map_err(failed("delete a calendar"))?
    }
}

/// A write in progress.
struct PendingStatement {
    calendar: String,
    key: String,
    content: String,
    write: StoreWrite,
}

impl PendingStatement {
    fn decide(&self, found: Vec<QueryRows>) -> StoreDecision<StoreReceipt> {
        let mut found = found.into_iter();
        let before = WRITES.answered(&found.next().unwrap_or_default(), &self.content);
        if let Some(receipt) = before.map_err(|KeyReusedError| self.reused())? {
            return Ok((vec![], self.answered_before(&receipt)?));
        }
        let notes = found.next().unwrap_or_default();
        let reminders = found.next().unwrap_or_default();
        let stored = collected(found);
        let schedule = rows::schedule(&stored).map_err(damaged(&self.calendar))?;
        let (mut statements, receipt) = match &self.write {
            StoreWrite::Note(note) => (
                vec![self.insert_note(next(&notes), note)],
                StoreReceipt::Stored,
            ),
            StoreWrite::Remind(new) => (
                vec![self.insert_reminder(next(&reminders), new)],
                StoreReceipt::Stored,
            ),
            StoreWrite::Told { reminders: told } => {
                let sql = "UPDATE reminder SET told = 1 WHERE calendar = ? AND position = ?";
                (self.each(sql, &reminders, told), StoreReceipt::Stored)
            }
            StoreWrite::Forget {
                notes: gone,
                reminders: off,
            } => {
                let sql = "DELETE FROM note WHERE calendar = ? AND position = ?";
                let mut statements = self.each(sql, &notes, gone);
                let sql = "DELETE FROM reminder WHERE calendar = ? AND position = ?";
                statements.extend(self.each(sql, &reminders, off));
                (statements, StoreReceipt::Stored)
            }
            write => match after(&schedule, write) {
                Ok((after, receipt)) => {
                    let (calendar, after) = (text(&self.calendar), rows::rows(&after));
                    let changes = row_changes(&calendar, &stored, &after, Table::table);
                    (changes, receipt)
                }
                Err(refused) => return Ok((vec![], *refused)),
            },
        };
        let told = serde_json::to_string(&receipt)
            .map_err(|error| failed("write a calendar")(error.into()))?;
        let key = [text(&self.calendar), text(&self.key)];
        statements.push(WRITES.insert(&key, &self.content, &told));
        Ok((statements, receipt))
    }

    fn reused(&self) -> ScheduleStoreError {
        ScheduleStoreError::KeyReused {
            calendar: self.calendar.clone(),
            key: self.key.clone(),
        }
    }

    fn answered_before(&self, receipt: &str) -> Result<StoreReceipt, ScheduleStoreError> {
        let unreadable = |error: serde_json::Error| damaged(&self.calendar)(error.to_string());
        serde_json::from_str(receipt).map_err(unreadable)
    }

    /// Returns a statement for each of these rows, by their numbers from 0.
    fn each(&self, sql: &str, rows: &QueryRows, numbers: &[usize]) -> Vec<Statement> {
        let rows = numbers.iter().filter_map(|n| rows.get(*n)?.last());
        let statement =
            |position: &Cell| Statement::new(sql, [text(&self.calendar), position.clone()]);
        rows.map(statement).collect()
    }

    fn insert_reminder(&self, position: i64, new: &Reminder) -> Statement {
        let due = new
            .due
            .map_or(Cell::Null, |due| Cell::Text(due.to_string()));
        Statement::new(
            "INSERT INTO reminder (calendar, position, due, told, text) VALUES (?, ?, ?, ?, ?)",
            [
                text(&self.calendar),
                Cell::Int(position),
                due,
                Cell::Int(new.told.into()),
                text(&new.text),
            ],
        )
    }

    fn insert_note(&self, position: i64, note: &MemoryNote) -> Statement {
        let kind = serde_json::to_value(note.kind).ok();
        let kind = kind.and_then(|kind| kind.as_str().map(str::to_owned));
        Statement::new(
            "INSERT INTO note (calendar, position, kind, text) VALUES (?, ?, ?, ?)",
            [
                text(&self.calendar),
                Cell::Int(position),
                kind.map_or(Cell::Null, Cell::Text),
                text(&note.text),
            ],
        )
    }
}

/// Returns the schedule after a write, and the answer to it; or the answer that refuses it.
fn after(
    stored: &ScheduleState,
    write: &StoreWrite,
) -> Result<(ScheduleState, StoreReceipt), Box<StoreReceipt>> {
    let refused = |issues| Box::new(StoreReceipt::Refused { issues });
    match write {
        StoreWrite::Import { schedule } => {
            let imported = imported(stored, schedule).map_err(|issue| refused(vec![issue]))?;
            Ok((imported, StoreReceipt::Stored))
        }
        StoreWrite::Replace {
            schedule,
            only_items,
        } => {
            let nothing = ScheduleState::default();
            let replaced = imported(&nothing, schedule).map_err(|issue| refused(vec![issue]))?;
            let kept = carried_over(stored, &replaced, *only_items);
            Ok((kept, StoreReceipt::Stored))
        }
        StoreWrite::Changes { changes } => {
            let after = carried_out(stored, changes);
            let after = after.map_err(|conflict| Box::new(StoreReceipt::Conflict(conflict)))?;
            Ok((after, StoreReceipt::Stored))
        }
        StoreWrite::Class(class) => {
            let written = class.resolve(stored).map_err(refused)?;
            let mut after = stored.clone();
            after.put_class(&written);
            Ok((after, StoreReceipt::Class(Box::new(written))))
        }
        StoreWrite::Note(_)
        | StoreWrite::Remind(_)
        | StoreWrite::Told { .. }
        | StoreWrite::Forget { .. } => Ok((stored.clone(), StoreReceipt::Stored)),
    }
}

/// Returns a schedule in the form in which it will be read again; an error if it could not be.
fn imported(stored: &ScheduleState, schedule: &ScheduleState) -> Result<ScheduleState, String> {
    if *stored != ScheduleState::default() {
        return Err("the calendar has a schedule already".into());
    }
    let mut schedule = schedule.clone();
    schedule.tasks.sort_by_key(|task| task.state_id);
    schedule.task_classes.sort_by_key(|class| class.id);
    for task in &mut schedule.tasks {
        task.slots = Slot::compress(std::mem::take(&mut task.slots));
    }
    let again = rows::schedule(&rows::rows(&schedule))?;
    if again == schedule {
        return Ok(schedule);
    }
    let mut pairs = schedule.tasks.iter().zip(&again.tasks);
    let wrong = pairs.find(|(wanted, found)| wanted != found);
    Err(match wrong {
        Some((task, _)) => format!(
            "task {} \"{}\" cannot be stored: ids are used once, guests lie inside their hosts",
            task.state_id, task.name
        ),
        None => "the ids of tasks, classes and days are used once".into(),
    })
}

fn collected(found: impl Iterator<Item = QueryRows>) -> Rows {
    let tables = Table::ALL.into_iter().zip(found);
    let rows = tables.flat_map(|(table, found)| {
        found.into_iter().map(move |mut key| {
            let row = key.split_off(table.keys().len().min(key.len()));
            ((table, key), row)
        })
    });
    rows.collect()
}

fn selects(calendar: &str) -> impl Iterator<Item = Statement> {
    let tables = Table::ALL.into_iter();
    tables.map(move |table| table.table().select(&text(calendar)))
}

fn notes(calendar: &str) -> Statement {
    let sql = "SELECT kind, text, position FROM note WHERE calendar = ? ORDER BY position";
    Statement::new(sql, [text(calendar)])
}

fn reminders(calendar: &str) -> Statement {
    let sql = "SELECT due, told, text, position FROM reminder WHERE calendar = ? ORDER BY position";
    Statement::new(sql, [text(calendar)])
}

/// Returns the position after that of the last row.
fn next(rows: &QueryRows) -> i64 {
    let position = |row: &Vec<Cell>| match row.last() {
        Some(Cell::Int(position)) => Some(*position),
        _ => None,
    };
    let last = rows.iter().filter_map(position).max();
    last.unwrap_or(0).saturating_add(1)
}

fn reminder(row: &[Cell]) -> Result<Reminder, String> {
    let [due, Cell::Int(told), Cell::Text(text), _] = row else {
        return Err(format!("reminder is {row:?}"));
    };
    let due = match due {
        Cell::Text(due) => Some(
            due.parse()
                .map_err(|_| format!("reminder.due is {due:?}"))?,
        ),
        _ => None,
    };
    Ok(Reminder {
        due,
        text: text.clone(),
        told: *told != 0,
    })
}

fn note(row: &[Cell]) -> Result<MemoryNote, String> {
    let [Cell::Text(kind), Cell::Text(text), _] = row else {
        return Err(format!("note is {row:?}"));
    };
    let kind = serde_json::from_value(kind.as_str().into());
    Ok(MemoryNote {
        kind: kind.map_err(|_| format!("note.kind is {row:?}"))?,
        text: text.clone(),
    })
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn failed(operation: &'static str) -> impl Fn(BoxError) -> ScheduleStoreError {
    move |source| ScheduleStoreError::Unavailable { operation, source }
}

fn damaged(calendar: &str) -> impl Fn(String) -> ScheduleStoreError {
    let calendar = calendar.to_owned();
    move |what| ScheduleStoreError::Damaged {
        calendar: calendar.clone(),
        what,
    }
}

/// Creates the calendar, if it is missing, and waits until no other transaction writes it.
fn lock<D: Database>(calendar: &str) -> Vec<Statement> {
    let make = format!("{} calendar (name) VALUES (?)", D::INSERT_NEW);
    // An update that changes nothing holds the row in every database.
    let hold = "UPDATE calendar SET writes = writes + 1 WHERE name = ?";
    vec![
        Statement::new(make, [text(calendar)]),
        Statement::new(hold, [text(calendar)]),
    ]
}

fn tables<D: Database>() -> Vec<Statement> {
    let task = format!(
        "calendar {NAME}, id BIGINT NOT NULL, source TEXT NOT NULL, source_id TEXT NOT NULL, \
         name TEXT NOT NULL, category TEXT NOT NULL, status TEXT NOT NULL, locked BIGINT NOT NULL, \
         duration BIGINT NOT NULL, class BIGINT, class_order BIGINT NOT NULL, \
         can_embed BIGINT NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (calendar, id)"
    );
    let terms = format!(
        "calendar {NAME}, id BIGINT NOT NULL, terms TEXT NOT NULL, PRIMARY KEY (calendar, id)"
    );
    let tables = [
        (
            "schedule_store",
            "id BIGINT PRIMARY KEY, version BIGINT NOT NULL".to_owned(),
        ),
        (
            "calendar",
            format!("name {NAME}, writes BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (name)"),
        ),
        (
            "day",
            format!(
                "calendar {NAME}, day BIGINT NOT NULL, week BIGINT NOT NULL, \
                 day_of_week BIGINT NOT NULL, date TEXT NOT NULL, PRIMARY KEY (calendar, day)"
            ),
        ),
        (
            "task_class",
            format!(
                "calendar {NAME}, id BIGINT NOT NULL, name TEXT NOT NULL, strategy TEXT NOT NULL, \
                 total_slots BIGINT NOT NULL, allow_filler_course BIGINT NOT NULL, \
                 excluded_slots TEXT NOT NULL, excluded_days_of_week TEXT NOT NULL, \
                 start_date TEXT, end_date TEXT, subject_type TEXT, difficulty_level TEXT, \
                 cognitive_intensity TEXT, PRIMARY KEY (calendar, id)"
            ),
        ),
        ("task_item", task.clone()),
        ("event", task),
        (
            "event_section",
            format!(
                "calendar {NAME}, event BIGINT NOT NULL, day BIGINT NOT NULL, \
                 section BIGINT NOT NULL, guest BIGINT, PRIMARY KEY (calendar, event, day, section)"
            ),
        ),
        (
            "task_mark",
            format!(
                "calendar {NAME}, id BIGINT NOT NULL, done BIGINT NOT NULL, deadline TEXT, \
                 PRIMARY KEY (calendar, id)"
            ),
        ),
        ("task_terms", terms.clone()),
        ("class_terms", terms),
        (
            "section",
            format!(
                "calendar {NAME}, id BIGINT NOT NULL, times TEXT NOT NULL, \
                 PRIMARY KEY (calendar, id)"
            ),
        ),
        (
            "preference",
            format!(
                "calendar {NAME}, id BIGINT NOT NULL, wishes TEXT NOT NULL, \
                 PRIMARY KEY (calendar, id)"
            ),
        ),
        (
            "reminder",
            format!(
                "calendar {NAME}, position BIGINT NOT NULL, due TEXT, told BIGINT NOT NULL, \
                 text MEDIUMTEXT NOT NULL, PRIMARY KEY (calendar, position)"
            ),
        ),
        (
            "note",
            format!(
                "calendar {NAME}, position BIGINT NOT NULL, kind TEXT NOT NULL, \
                 text MEDIUMTEXT NOT NULL, PRIMARY KEY (calendar, position)"
            ),
        ),
        (
            "applied",
            format!(
                "calendar {NAME}, idempotency_key {NAME}, content LONGTEXT NOT NULL, \
                 receipt LONGTEXT NOT NULL, PRIMARY KEY (calendar, idempotency_key)"
            ),
        ),
    ];
    let make = tables.iter().map(|(name, columns)| {
        let options = D::TABLE_OPTIONS;
        let sql = format!("CREATE TABLE IF NOT EXISTS {name} ({columns}) {options}");
        Statement::new(sql, [])
    });
    let version = format!(
        "{} schedule_store (id, version) VALUES (1, ?)",
        D::INSERT_NEW
    );
    make.chain([Statement::new(version, [Cell::Int(VERSION)])])
        .collect()
}
