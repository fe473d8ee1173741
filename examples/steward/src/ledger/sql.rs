//! The tables, in the SQL that both databases share.
use std::convert::Infallible;

use async_trait::async_trait;
use fugato::{
    BoxError,
    postgres::PostgresTables,
    sqlite::SqliteTables,
    store::{Cell, Found, Statement},
};
use serde_json::{Value, json};

use super::{
    Document, DocumentStatus, Documents, Ledger, LedgerError, Receipt, Write,
    decide::{Change, decide},
};
use crate::form::{Fields, FormKind, amount_value, cents};

/// Where the tables are.
#[derive(Debug)]
pub(super) enum Database {
    Sqlite(SqliteTables),
    Postgres(Box<PostgresTables>),
}

/// Writers of these tables wait for each other under this number.
const LOCK: i64 = 0x7374_6577_6172_6401;

impl Database {
    /// Reads, decides and writes in one transaction, one writer after the other.
    async fn transact<T: Send + 'static>(
        &self,
        queries: Vec<Statement>,
        decide: impl FnOnce(Vec<Found>) -> (Vec<Statement>, T) + Send + 'static,
    ) -> Result<T, BoxError> {
        let decide = |found| Ok::<_, Infallible>(decide(found));
        let lock = Statement::new("SELECT pg_advisory_xact_lock(?)", [LOCK.into()]);
        Ok(match self {
            Self::Sqlite(tables) => tables.write(vec![], queries, decide).await??,
            Self::Postgres(tables) => tables.write(vec![lock], queries, decide).await??,
        })
    }
}

/// The ledger in a database.
#[derive(Debug)]
pub(super) struct SqlLedger(Database);

/// The columns of each form beside number, employee and status.
const APPLICATION: [&str; 6] = [
    "reason",
    "start_date",
    "end_date",
    "destination",
    "transport",
    "estimated_amount",
];
const REIMBURSEMENT: [&str; 5] = [
    "application",
    "expense_date",
    "category",
    "amount",
    "reason",
];

impl SqlLedger {
    /// Makes the tables that are not there yet.
    pub(super) async fn over(database: Database) -> Result<Self, LedgerError> {
        let made = database.transact(vec![], |_| (tables(), ())).await;
        made.map_err(LedgerError::Unavailable)?;
        Ok(Self(database))
    }
}

#[async_trait]
impl Ledger for SqlLedger {
    async fn documents(&self, employee: &str) -> Result<Documents, LedgerError> {
        let read = self.0.transact(selects(employee).into(), |found| {
            (vec![], documents(&found))
        });
        read.await.map_err(LedgerError::Unavailable)
    }

    async fn write(&self, key: &str, write: &Write) -> Result<Receipt, LedgerError> {
        let unwritten = |error: serde_json::Error| LedgerError::Unavailable(error.into());
        let content = serde_json::to_string(write).map_err(unwritten)?;
        let before = Statement::new(
            "SELECT content, document FROM deeds WHERE deed_key = ?",
            [Cell::from(key)],
        );
        let numbers = ["applications", "reimbursements"].map(|table| {
            Statement::new(format!("SELECT COALESCE(MAX(number), 0) FROM {table}"), [])
        });
        let mut queries = vec![before];
        queries.extend(numbers);
        queries.extend(selects(write.employee()));
        let (key, write) = (key.to_owned(), write.clone());
        let done = self
            .0
            .transact(queries, move |found| {
                carried_out(&found, key, &content, &write)
            })
            .await;
        done.map_err(LedgerError::Unavailable)?
    }
}

type Done = (Vec<Statement>, Result<Receipt, LedgerError>);

fn carried_out(found: &[Found], key: String, content: &str, write: &Write) -> Done {
    let (before, rest) = found.split_at(found.len().min(1));
    if let Some([Cell::Text(known), Cell::Text(document)]) = before
        .first()
        .and_then(|rows| rows.first())
        .map(Vec::as_slice)
    {
        let receipt = Receipt::Written {
            document: document.clone(),
        };
        let same = known == content;
        return (
            vec![],
            if same {
                Ok(receipt)
            } else {
                Err(LedgerError::KeyReused { key })
            },
        );
    }
    let (numbers, rest) = rest.split_at(rest.len().min(2));
    let changes = match decide(&documents(rest), write) {
        Ok(changes) => changes,
        Err(why) => return (vec![], Ok(Receipt::Refused { why })),
    };
    let mut document = String::new();
    let mut statements = vec![];
    for change in changes {
        let (id, more) = statements_of(numbers, write.employee(), change);
        document = id;
        statements.extend(more);
    }
    let deed = "INSERT INTO deeds (deed_key, content, document) VALUES (?, ?, ?)";
    statements.push(Statement::new(
        deed,
        [
            Cell::Text(key.clone()),
            Cell::from(content),
            Cell::Text(document.clone()),
        ],
    ));
    (statements, Ok(Receipt::Written { document }))
}

/// The statements of a change, and the document that it is about.
fn statements_of(numbers: &[Found], employee: &str, change: Change) -> (String, Vec<Statement>) {
    match change {
        Change::Insert {
            form,
            status,
            fields,
        } => insert(numbers, employee, form, status, &fields),
        Change::Submit { id } => {
            let sql = "UPDATE applications SET status = 'submitted' WHERE number = ?";
            let update = Statement::new(sql, [Cell::Int(number(&id))]);
            (id, vec![update])
        }
        Change::Link { id, application } => {
            let sql = "UPDATE reimbursements SET application = ? WHERE number = ?";
            let update = Statement::new(sql, [Cell::Text(application), Cell::Int(number(&id))]);
            (id, vec![update])
        }
        Change::Attach { id, name } => {
            let update = attachment(number(&id), &name);
            (id, vec![update])
        }
    }
}

fn insert(
    numbers: &[Found],
    employee: &str,
    form: FormKind,
    status: DocumentStatus,
    fields: &Fields,
) -> (String, Vec<Statement>) {
    let is_application = form == FormKind::Application;
    let (table, letter, nth) = if is_application {
        ("applications", "A", 0)
    } else {
        ("reimbursements", "R", 1)
    };
    let columns: &[&str] = if is_application {
        &APPLICATION
    } else {
        &REIMBURSEMENT
    };
    let last = numbers
        .get(nth)
        .and_then(|rows| rows.first())
        .and_then(|row| row.first());
    let new = if let Some(Cell::Int(last)) = last {
        last + 1
    } else {
        1
    };
    let filled = columns
        .iter()
        .filter_map(|column| Some((*column, cell(column, fields.get(*column)?))));
    let (names, values): (Vec<_>, Vec<_>) = filled.unzip();
    let first = [
        Cell::Int(new),
        Cell::from(employee),
        Cell::from(status.word()),
    ];
    let sql = format!(
        "INSERT INTO {table} ({}) VALUES (?, ?, ?{})",
        [&["number", "employee", "status"][..], &names]
            .concat()
            .join(", "),
        ", ?".repeat(names.len()),
    );
    let mut statements = vec![Statement::new(sql, first.into_iter().chain(values))];
    let files = fields
        .get("attachments")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    statements.extend(
        files
            .filter_map(Value::as_str)
            .map(|name| attachment(new, name)),
    );
    (format!("{letter}-{new}"), statements)
}

fn attachment(reimbursement: i64, name: &str) -> Statement {
    let sql = "INSERT INTO attachments (reimbursement, name) VALUES (?, ?)";
    Statement::new(sql, [Cell::Int(reimbursement), Cell::from(name)])
}

fn number(id: &str) -> i64 {
    id.rsplit('-')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

fn cell(column: &str, value: &Value) -> Cell {
    if column.ends_with("amount") {
        return cents(value).map_or(Cell::Null, Cell::Int);
    }
    Cell::Text(value.as_str().unwrap_or_default().to_owned())
}

/// What `documents` reads.
fn selects(employee: &str) -> [Statement; 3] {
    let select = |table: &str, columns: &[&str]| {
        let columns = columns.join(", ");
        let sql = format!(
            "SELECT number, status, {columns} FROM {table} WHERE employee = ? ORDER BY number"
        );
        Statement::new(sql, [Cell::from(employee)])
    };
    let attachments = "SELECT a.reimbursement, a.name FROM attachments a \
        JOIN reimbursements r ON r.number = a.reimbursement WHERE r.employee = ? ORDER BY a.reimbursement, a.name";
    [
        select("applications", &APPLICATION),
        select("reimbursements", &REIMBURSEMENT),
        Statement::new(attachments, [Cell::from(employee)]),
    ]
}

fn documents(found: &[Found]) -> Documents {
    let rows = |nth: usize| found.get(nth).into_iter().flatten();
    let mut read = Documents {
        applications: rows(0)
            .filter_map(|row| document("A", &APPLICATION, row))
            .collect(),
        reimbursements: rows(1)
            .filter_map(|row| document("R", &REIMBURSEMENT, row))
            .collect(),
    };
    for row in rows(2) {
        let [Cell::Int(number), Cell::Text(name)] = row.as_slice() else {
            continue;
        };
        let id = format!("R-{number}");
        if let Some(claim) = read.reimbursements.iter_mut().find(|claim| claim.id == id) {
            let files = claim
                .fields
                .entry("attachments")
                .or_insert_with(|| json!([]));
            if let Some(files) = files.as_array_mut() {
                files.push(json!(name));
            }
        }
    }
    read
}

fn document(letter: &str, columns: &[&str], row: &[Cell]) -> Option<Document> {
    let [Cell::Int(number), Cell::Text(status), values @ ..] = row else {
        return None;
    };
    let fields = columns.iter().zip(values).filter_map(|(column, cell)| {
        let value = match cell {
            Cell::Null => return None,
            Cell::Text(text) => json!(text),
            Cell::Int(cents) => amount_value(*cents),
        };
        Some(((*column).to_owned(), value))
    });
    Some(Document {
        id: format!("{letter}-{number}"),
        status: if status == "submitted" {
            DocumentStatus::Submitted
        } else {
            DocumentStatus::Draft
        },
        fields: fields.collect(),
    })
}

impl DocumentStatus {
    fn word(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Submitted => "submitted",
        }
    }
}

/// Amounts are hundredths, days are texts that are ordered as days are.
fn tables() -> Vec<Statement> {
    [
        "CREATE TABLE IF NOT EXISTS applications (number BIGINT PRIMARY KEY, employee TEXT NOT NULL, \
         status TEXT NOT NULL, reason TEXT, start_date TEXT, end_date TEXT, destination TEXT, \
         transport TEXT, estimated_amount BIGINT)",
        "CREATE TABLE IF NOT EXISTS reimbursements (number BIGINT PRIMARY KEY, employee TEXT NOT NULL, \
         status TEXT NOT NULL, application TEXT, expense_date TEXT, category TEXT, amount BIGINT, reason TEXT)",
        "CREATE TABLE IF NOT EXISTS attachments (reimbursement BIGINT NOT NULL REFERENCES reimbursements(number), \
         name TEXT NOT NULL, PRIMARY KEY (reimbursement, name))",
        "CREATE TABLE IF NOT EXISTS deeds (deed_key TEXT PRIMARY KEY, content TEXT NOT NULL, document TEXT NOT NULL)",
    ]
    .map(|sql| Statement::new(sql, []))
    .into()
}
