//! Writers of a program's own tables: only the rows that differ are written, and a write that is
//! repeated under its key gets the answer of the first time.
use std::collections::{BTreeMap, BTreeSet};

use crate::{Cell, QueryRows, Statement};

/// A table whose rows belong to something that is read and written as a whole, such as the days of a
/// calendar. It knows the statements that read and change its rows.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use fugato_store::{Cell, RowTable, row_changes};
///
/// const DAYS: RowTable = RowTable {
///     name: "day",
///     owner: "calendar",
///     keys: &["day"],
///     columns: &["date"],
/// };
///
/// let row = |day: i64, date: &str| ((DAYS, vec![day.into()]), vec![date.into()]);
/// let before = BTreeMap::from([row(1, "Monday"), row(2, "Tuesday")]);
/// let after = BTreeMap::from([row(1, "Monday"), row(2, "2026-03-03"), row(3, "Wednesday")]);
///
/// let changes = row_changes(&"home".into(), &before, &after, |table| table);
/// let sql: Vec<_> = changes.iter().map(|change| &*change.sql).collect();
/// assert_eq!(sql, [
///     "UPDATE day SET date = ? WHERE calendar = ? AND day = ?",
///     "INSERT INTO day (calendar, day, date) VALUES (?, ?, ?)",
/// ]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowTable {
    /// The name of the table.
    pub name: &'static str,
    /// The column that says whose row it is.
    pub owner: &'static str,
    /// The columns that identify a row of one owner; at least one.
    pub keys: &'static [&'static str],
    /// The other columns; at least one.
    pub columns: &'static [&'static str],
}

impl RowTable {
    /// Returns the query for all rows of an owner: the keys, then the other columns, ordered by the
    /// keys.
    pub fn select(&self, owner: &Cell) -> Statement {
        let (name, keys) = (self.name, self.keys.join(", "));
        let (columns, of) = (self.columns.join(", "), self.owner);
        let sql = format!("SELECT {keys}, {columns} FROM {name} WHERE {of} = ? ORDER BY {keys}");
        Statement::new(sql, [owner.clone()])
    }

    /// Returns the statement that removes all rows of an owner.
    pub fn clear(&self, owner: &Cell) -> Statement {
        let sql = format!("DELETE FROM {} WHERE {} = ?", self.name, self.owner);
        Statement::new(sql, [owner.clone()])
    }

    /// Returns the statement that brings a row from one form into another, where none stands for no
    /// row; nothing if there is no difference.
    pub fn change(
        &self,
        owner: &Cell,
        key: &[Cell],
        before: Option<&Vec<Cell>>,
        after: Option<&Vec<Cell>>,
    ) -> Option<Statement> {
        let (name, of, owner) = (self.name, self.owner, owner.clone());
        let this = format!("{of} = ? AND {} = ?", self.keys.join(" = ? AND "));
        let key = key.iter().cloned();
        Some(match (before, after) {
            (before, after) if before == after => return None,
            (_, None) => {
                let sql = format!("DELETE FROM {name} WHERE {this}");
                Statement::new(sql, [owner].into_iter().chain(key))
            }
            (Some(_), Some(row)) => {
                let columns = self.columns.join(" = ?, ");
                let sql = format!("UPDATE {name} SET {columns} = ? WHERE {this}");
                Statement::new(sql, row.iter().cloned().chain([owner]).chain(key))
            }
            (None, Some(row)) => {
                let all = [self.keys, self.columns].concat();
                let marks = vec!["?"; all.len() + 1].join(", ");
                let all = all.join(", ");
                let sql = format!("INSERT INTO {name} ({of}, {all}) VALUES ({marks})");
                let row = row.iter().cloned();
                Statement::new(sql, [owner].into_iter().chain(key).chain(row))
            }
        })
    }
}

/// Returns the statements that turn the rows of an owner into others, in the order of tables and
/// keys. Equal rows are not touched, so what is written is what differs.
pub fn row_changes<T: Ord + Copy>(
    owner: &Cell,
    before: &BTreeMap<(T, Vec<Cell>), Vec<Cell>>,
    after: &BTreeMap<(T, Vec<Cell>), Vec<Cell>>,
    table: impl Fn(T) -> RowTable,
) -> Vec<Statement> {
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let changes = keys.into_iter().filter_map(|at| {
        let (of, key) = at;
        table(*of).change(owner, key, before.get(at), after.get(at))
    });
    changes.collect()
}

/// A table of the writes that were carried out, with the answer of each, by key.
///
/// The row of a write is written in its transaction, so a repeat, after a lost answer or a crash,
/// finds it, and writes nothing. It is what an effect of the class *Keyed* needs of its other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteTable {
    /// The name of the table.
    pub name: &'static str,
    /// The columns that identify a write, the key among them.
    pub keys: &'static [&'static str],
    /// The column of the content, which tells two writes apart that have one key.
    pub content: &'static str,
    /// The column of the answer.
    pub answer: &'static str,
}

/// The key of a write was used for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key was used for another write")]
pub struct KeyReusedError;

impl WriteTable {
    /// Returns the query for an earlier write of this key.
    pub fn select(&self, key: &[Cell]) -> Statement {
        let (name, this) = (self.name, self.keys.join(" = ? AND "));
        let (content, answer) = (self.content, self.answer);
        let sql = format!("SELECT {content}, {answer} FROM {name} WHERE {this} = ?");
        Statement::new(sql, key.iter().cloned())
    }

    /// Returns the answer to an earlier write with this content; none if there was no write.
    ///
    /// # Errors
    /// Fails if the key was used for another content.
    pub fn answered(
        &self,
        found: &QueryRows,
        content: &str,
    ) -> Result<Option<String>, KeyReusedError> {
        match found.first().map(Vec::as_slice) {
            None => Ok(None),
            Some([Cell::Text(known), Cell::Text(answer)]) if known == content => {
                Ok(Some(answer.clone()))
            }
            Some(_) => Err(KeyReusedError),
        }
    }

    /// Returns the statement that stores a write with its answer.
    pub fn insert(&self, key: &[Cell], content: &str, answer: &str) -> Statement {
        let columns = [self.keys, &[self.content, self.answer]].concat();
        let (name, marks) = (self.name, vec!["?"; columns.len()].join(", "));
        let sql = format!(
            "INSERT INTO {name} ({}) VALUES ({marks})",
            columns.join(", ")
        );
        let values = [content, answer].map(Cell::from);
        Statement::new(sql, key.iter().cloned().chain(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: RowTable = RowTable {
        name: "note",
        owner: "book",
        keys: &["page", "line"],
        columns: &["text", "mark"],
    };
    const DONE: WriteTable = WriteTable {
        name: "done",
        keys: &["book", "write_key"],
        content: "content",
        answer: "answer",
    };

    #[test]
    fn sch_129_only_rows_that_differ_are_written() {
        let key = |line: i64| (NOTES, vec![1.into(), line.into()]);
        let row = |text: &str| vec![Cell::from(text), Cell::Null];
        let before = BTreeMap::from([(key(1), row("a")), (key(2), row("b")), (key(3), row("c"))]);
        let after = BTreeMap::from([(key(1), row("a")), (key(3), row("C")), (key(4), row("d"))]);
        let [book, one, null] = ["b".into(), Cell::Int(1), Cell::Null];
        let changes = row_changes(&book, &before, &after, |table| table);
        let expected = [
            Statement::new(
                "DELETE FROM note WHERE book = ? AND page = ? AND line = ?",
                [book.clone(), one.clone(), 2.into()],
            ),
            Statement::new(
                "UPDATE note SET text = ?, mark = ? WHERE book = ? AND page = ? AND line = ?",
                [
                    "C".into(),
                    null.clone(),
                    book.clone(),
                    one.clone(),
                    3.into(),
                ],
            ),
            Statement::new(
                "INSERT INTO note (book, page, line, text, mark) VALUES (?, ?, ?, ?, ?)",
                [book.clone(), one, 4.into(), "d".into(), null],
            ),
        ];
        assert_eq!(changes, expected);
        assert_eq!(row_changes(&book, &after, &after, |table| table), []);
        let select = "SELECT page, line, text, mark FROM note WHERE book = ? ORDER BY page, line";
        assert_eq!(NOTES.select(&book), Statement::new(select, [book.clone()]));
        let clear = Statement::new("DELETE FROM note WHERE book = ?", [book.clone()]);
        assert_eq!(NOTES.clear(&book), clear);
    }

    #[test]
    fn sch_129_a_repeated_write_gets_the_first_answer() {
        let key = ["b".into(), "k".into()];
        let insert = DONE.insert(&key, "x", "yes");
        let sql = "INSERT INTO done (book, write_key, content, answer) VALUES (?, ?, ?, ?)";
        assert_eq!(
            insert,
            Statement::new(sql, ["b", "k", "x", "yes"].map(Cell::from))
        );
        let select = "SELECT content, answer FROM done WHERE book = ? AND write_key = ?";
        assert_eq!(DONE.select(&key), Statement::new(select, key));
        let found = vec![vec![Cell::from("x"), Cell::from("yes")]];
        assert_eq!(DONE.answered(&found, "x"), Ok(Some("yes".to_owned())));
        assert_eq!(DONE.answered(&found, "y"), Err(KeyReusedError));
        assert_eq!(DONE.answered(&vec![], "x"), Ok(None));
    }
}
