//! Calendars in the tables of a database, in the SQL that databases share.
use async_trait::async_trait;
use fugato::{
    BoxError,
    cli::Tables,
    store::{Cell, KeyReusedError, QueryRows, Statement, WriteTable, row_changes},
};

use serde::Serialize;

use super::{
    Calendar, Conflict, ScheduleStore, ScheduleStoreError, StaleFact, StoreReceipt, StoreWrite,
    WriteResult,
    check::{carried_out, carried_over},
    rows::{self, NumberedRow, Rows, Table},
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
pub(crate) struct SqlStore(Tables);

impl SqlStore {
    /// Makes the tables that are not there yet.
    pub(crate) async fn over(database: Tables) -> Result<Self, BoxError> {
        let made = |_| Ok::<_, BoxError>((tables(), ()));
        database.write(lock(""), vec![], made).await??;
        let version = Statement::new("SELECT version FROM schedule_store WHERE id = 1", []);
        let checked = |found: Vec<QueryRows>| match found.first().map(Vec::as_slice) {
            Some([]) => {
                let sql = "INSERT INTO schedule_store (id, version) VALUES (1, ?)";
                Ok((vec![Statement::new(sql, [VERSION.into()])], ()))
            }
            Some([row]) if *row == [Cell::Int(VERSION)] => Ok((vec![], ())),
            found => Err(format!(
                "its tables have version {found:?}; {VERSION} is known"
            )),
        };
        database.write(lock(""), vec![version], checked).await??;
        Ok(Self(database))
    }
}

#[async_trait]
impl ScheduleStore for SqlStore {
    async fn read(&self, calendar: &str) -> Result<Option<Calendar>, ScheduleStoreError> {
        let found = self.0.read(selects(calendar).collect()).await;
        let mut found = found.map_err(failed("read a calendar"))?.into_iter();
        if found.next().is_none_or(|rows| rows.is_empty()) {
            return Ok(None);
        }
        let read = rows::calendar(&collected(found));
        read.map(Some).map_err(damaged(calendar))
    }

    async fn write(&self, calendar: &str, key: &str, write: &StoreWrite) -> WriteResult {
        let asked = PendingStatement {
            calendar: calendar.to_owned(),
            key: key.to_owned(),
            content: serde_json::to_string(write)
                .map_err(|error| failed("write a calendar")(error.into()))?,
            write: write.clone(),
        };
        let before = WRITES.select(&[text(calendar), text(key)]);
        let queries = [before].into_iter().chain(selects(calendar)).collect();
        let decide = move |found| asked.decide(found);
        let done = self.0.write(lock(calendar), queries, decide).await;
        done.map_err(failed("write a calendar"))?
    }

    async fn delete(&self, calendar: &str) -> Result<(), ScheduleStoreError> {
        let mut statements: Vec<_> = Table::ALL
            .iter()
            .map(|table| table.table().clear(&text(calendar)))
            .collect();
        let applied = Statement::new("DELETE FROM applied WHERE calendar = ?", [text(calendar)]);
        statements.push(applied);
        let last = Statement::new("DELETE FROM calendar WHERE name = ?", [text(calendar)]);
        statements.push(last);
        let decide = move |_| Ok((statements.clone(), ()));
        let done = self.0.write(lock(calendar), vec![], decide).await;
        done.map_err(failed("delete a calendar"))?
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
    fn decide(
        &self,
        found: Vec<QueryRows>,
    ) -> Result<(Vec<Statement>, StoreReceipt), ScheduleStoreError> {
        let mut found = found.into_iter();
        let before = WRITES.answered(&found.next().unwrap_or_default(), &self.content);
        if let Some(receipt) = before.map_err(|KeyReusedError| self.reused())? {
            return Ok((vec![], self.answered_before(&receipt)?));
        }
        let is_new = found.next().is_none_or(|rows| rows.is_empty());
        let stored = collected(found);
        let known = rows::calendar(&stored).map_err(damaged(&self.calendar))?;
        let (after, receipt) = match after(&stored, &known, &self.write) {
            Ok(written) => written,
            Err(refused) => return Ok((vec![], refused)),
        };
        let owner = text(&self.calendar);
        let mut statements = row_changes(&owner, &stored, &after, Table::table);
        let told = serde_json::to_string(&receipt)
            .map_err(|error| failed("write a calendar")(error.into()))?;
        let counted = if is_new {
            "INSERT INTO calendar (name, writes) VALUES (?, 1)"
        } else {
            "UPDATE calendar SET writes = writes + 1 WHERE name = ?"
        };
        statements.push(Statement::new(counted, [owner.clone()]));
        statements.push(WRITES.insert(&[owner, text(&self.key)], &self.content, &told));
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
}

/// Returns the rows after a write, and the answer to it; or the answer that refuses it.
fn after(
    stored: &Rows,
    known: &Calendar,
    write: &StoreWrite,
) -> Result<(Rows, StoreReceipt), StoreReceipt> {
    let schedule = &known.schedule;
    let refused = |issues| StoreReceipt::Refused { issues };
    let imported = |over: &ScheduleState, new: &ScheduleState| {
        imported(over, new).map_err(|issue| refused(vec![issue]))
    };
    let (mut rows, mut receipt) = (stored.clone(), StoreReceipt::Stored);
    let schedule = match write {
        StoreWrite::Import { schedule: new } => imported(schedule, new)?,
        StoreWrite::Replace {
            schedule: new,
            only_items,
        } => {
            let replaced = imported(&ScheduleState::default(), new)?;
            carried_over(schedule, &replaced, *only_items)
        }
        StoreWrite::Changes { changes } => {
            carried_out(schedule, changes).map_err(StoreReceipt::Conflict)?
        }
        StoreWrite::Class(class) => {
            let written = class.resolve(schedule).map_err(refused)?;
            let mut after = schedule.clone();
            after.put_class(&written);
            receipt = StoreReceipt::Class(Box::new(written));
            after
        }
        StoreWrite::Preferences { wishes } => ScheduleState {
            preferences: wishes.clone(),
            ..schedule.clone()
        },
        StoreWrite::Seen { version, wanted } => {
            return match wanted.acts_on(known) {
                Some((part, now)) if now != *version => {
                    let changed = vec![StaleFact::Part(part)];
                    Err(StoreReceipt::Conflict(Conflict { changed }))
                }
                _ => after(stored, known, wanted),
            };
        }
        kept => {
            keep(&mut rows, stored, kept);
            return Ok((rows, receipt));
        }
    };
    rows::put_schedule(&mut rows, &schedule);
    Ok((rows, receipt))
}

/// Carries out a write of notes and reminders.
fn keep(rows: &mut Rows, stored: &Rows, write: &StoreWrite) {
    match write {
        StoreWrite::Note(note) => append(rows, Table::Note, note),
        StoreWrite::Remind(reminder) => append(rows, Table::Reminder, reminder),
        StoreWrite::Correct { reminder, to } => {
            if let Some(key) = numbered(stored, Table::Reminder, &[*reminder]).next() {
                rows.remove(key);
                append(rows, Table::Reminder, to);
            }
        }
        StoreWrite::Told { reminders } => {
            for key in numbered(stored, Table::Reminder, reminders) {
                if let Some([_, told, _]) = rows.get_mut(key).map(Vec::as_mut_slice) {
                    *told = Cell::Int(1);
                }
            }
        }
        StoreWrite::Forget { notes, reminders } => {
            let notes = numbered(stored, Table::Note, notes);
            for key in notes.chain(numbered(stored, Table::Reminder, reminders)) {
                rows.remove(key);
            }
        }
        _ => {}
    }
}

/// Adds a value after the last row of a table.
fn append(rows: &mut Rows, table: Table, value: &impl Serialize) {
    let mut known = rows.keys().filter(|(of, _)| *of == table);
    let last = match known.next_back().map(|(_, key)| key.as_slice()) {
        Some([Cell::Int(last)]) => *last,
        _ => 0,
    };
    let id = last.saturating_add(1);
    rows::put(rows, table, &NumberedRow { id, value });
}

/// Returns the keys of these rows of a table, by their numbers from 0.
fn numbered<'a>(
    rows: &'a Rows,
    table: Table,
    numbers: &'a [usize],
) -> impl Iterator<Item = &'a (Table, Vec<Cell>)> {
    let keys: Vec<_> = rows.keys().filter(|(of, _)| *of == table).collect();
    numbers.iter().filter_map(move |n| keys.get(*n).copied())
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
    let mut rows = Rows::new();
    rows::put_schedule(&mut rows, &schedule);
    let again = rows::calendar(&rows)?.schedule;
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
            let row = key.split_off(table.table().keys.len().min(key.len()));
            ((table, key), row)
        })
    });
    rows.collect()
}

/// Returns the queries for the name of a calendar and for its rows.
fn selects(calendar: &str) -> impl Iterator<Item = Statement> {
    let known = Statement::new("SELECT name FROM calendar WHERE name = ?", [text(calendar)]);
    let tables = Table::ALL.into_iter();
    let rows = tables.map(move |table| table.table().select(&text(calendar)));
    [known].into_iter().chain(rows)
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

/// Returns the number of the lock under which writers of a calendar wait for each other.
fn lock(calendar: &str) -> i64 {
    let add = |lock: i64, byte| (lock ^ i64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    calendar.bytes().fold(0x7363_6865_6475_6c65, add)
}

fn tables() -> Vec<Statement> {
    let own = [
        (
            "schedule_store",
            "id BIGINT PRIMARY KEY, version BIGINT NOT NULL".to_owned(),
        ),
        (
            "calendar",
            format!("name {NAME}, writes BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (name)"),
        ),
        (
            "applied",
            format!(
                "calendar {NAME}, idempotency_key {NAME}, content TEXT NOT NULL, \
                 receipt TEXT NOT NULL, PRIMARY KEY (calendar, idempotency_key)"
            ),
        ),
    ];
    let rows = Table::ALL.map(|table| {
        let columns = format!("calendar {NAME}, {}", table.columns());
        (table.table().name, columns)
    });
    let all = own.into_iter().chain(rows).map(|(name, columns)| {
        let sql = format!("CREATE TABLE IF NOT EXISTS {name} ({columns})");
        Statement::new(sql, [])
    });
    all.collect()
}
