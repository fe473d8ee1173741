//! The tables, in the SQL that databases share.
use async_trait::async_trait;
use fugato::{
    cli::{Lang, Tables},
    form::{amount_value, cents, strings},
    store::{Cell, KeyReusedError, QueryRows, Statement, WriteTable},
};
use serde_json::{Value, json};

use super::{
    Document, DocumentStatus, Documents, KeptFile, Ledger, LedgerError, LedgerWrite, Receipt,
    decide::{Change, decide},
};

/// The ledger in a database.
#[derive(Debug)]
pub(super) struct SqlLedger(Tables);

/// The number of the lock under which writers of these tables wait for each other.
const LOCK: i64 = 0x7374_6577_6172_6401;

/// The number of a document. Those of older versions were numbered through all people.
const COUNTED: &str = "COALESCE(counted, number)";

/// The table of the writes that were carried out.
const DEEDS: WriteTable = WriteTable {
    name: "deeds",
    keys: &["deed_key"],
    content: "content",
    answer: "document",
};

/// The documents of a form. Amounts are stored in hundredths, and days as texts that are ordered as
/// days are. Rows of all people have a number of their own, which nobody sees; that of a document
/// counts those of its employee, so that it tells nothing of others.
struct Table {
    name: &'static str,
    /// The letter with which the numbers of its documents begin.
    letter: &'static str,
    /// The columns besides the two numbers, employee and status.
    columns: &'static [&'static str],
}

const APPLICATIONS: Table = Table {
    name: "applications",
    letter: "A",
    columns: &[
        "reason",
        "start_date",
        "end_date",
        "destination",
        "transport",
        "estimated_amount",
        "currency",
    ],
};
const CLAIMS: Table = Table {
    name: "reimbursements",
    letter: "R",
    columns: &[
        "application",
        "expense_date",
        "category",
        "amount",
        "reason",
        "currency",
    ],
};

impl SqlLedger {
    /// Makes the tables that are not there yet.
    pub(super) async fn over(tables: Tables) -> Result<Self, LedgerError> {
        let all = [
            APPLICATIONS.created(),
            CLAIMS.created(),
            "CREATE TABLE IF NOT EXISTS attachments (reimbursement BIGINT NOT NULL \
             REFERENCES reimbursements(number), name VARCHAR(700) NOT NULL, PRIMARY KEY (reimbursement, name))"
                .to_owned(),
            "CREATE TABLE IF NOT EXISTS deeds (deed_key VARCHAR(190) PRIMARY KEY, content TEXT NOT NULL, \
             document TEXT NOT NULL)"
                .to_owned(),
        ];
        let all = all.map(|sql| Statement::new(sql, []));
        let made = move |_| Ok::<_, LedgerError>((all.to_vec(), ()));
        let made = tables.write(LOCK, vec![], made);
        made.await.map_err(LedgerError::Unavailable)??;
        // The columns that tables of older versions lack. Amounts without a currency are in yuan,
        // attachments without a digest are names of files that were never uploaded, and documents
        // that are not counted have the number of their row.
        for (table, column, kind) in [
            (APPLICATIONS.name, "counted", "BIGINT"),
            (CLAIMS.name, "counted", "BIGINT"),
            (APPLICATIONS.name, "currency", "TEXT"),
            (CLAIMS.name, "currency", "TEXT"),
            ("attachments", "digest", "TEXT"),
            ("attachments", "size", "BIGINT"),
        ] {
            add_column(&tables, table, column, kind).await?;
        }
        Ok(Self(tables))
    }
}

/// Adds a column to a table that is older than it.
async fn add_column(
    tables: &Tables,
    table: &str,
    column: &str,
    kind: &str,
) -> Result<(), LedgerError> {
    let look = || {
        let sql = format!("SELECT {column} FROM {table} WHERE 1 = 0");
        tables.read(vec![Statement::new(sql, [])])
    };
    if look().await.is_ok() {
        return Ok(());
    }
    let sql = format!("ALTER TABLE {table} ADD COLUMN {column} {kind}");
    let added = Statement::new(sql, []);
    let added = move |_| Ok::<_, LedgerError>((vec![added.clone()], ()));
    let added = tables.write(LOCK, vec![], added);
    match added.await {
        Ok(added) => added,
        // Another process was first.
        Err(_) if look().await.is_ok() => Ok(()),
        Err(error) => Err(LedgerError::Unavailable(error)),
    }
}

#[async_trait]
impl Ledger for SqlLedger {
    async fn documents(&self, employee: &str) -> Result<Documents, LedgerError> {
        let read = self.0.read(selects(employee).into()).await;
        Ok(documents(&read.map_err(LedgerError::Unavailable)?))
    }

    async fn write(&self, key: &str, write: &LedgerWrite) -> Result<Receipt, LedgerError> {
        let unwritten = |error: serde_json::Error| LedgerError::Unavailable(error.into());
        let content = serde_json::to_string(write).map_err(unwritten)?;
        let mut queries = vec![
            DEEDS.select(&[key.into()]),
            APPLICATIONS.last(),
            CLAIMS.last(),
        ];
        queries.extend(selects(&write.employee));
        let (key, write) = (key.to_owned(), write.clone());
        let done = self.0.write(LOCK, queries, move |found| {
            carried_out(&found, &key, &content, &write)
        });
        done.await.map_err(LedgerError::Unavailable)?
    }
}

/// Returns the statements that carry a write out, and its receipt. The key of a completed write
/// gets the same receipt again, and no statements.
fn carried_out(
    found: &[QueryRows],
    key: &str,
    content: &str,
    write: &LedgerWrite,
) -> Result<(Vec<Statement>, Receipt), LedgerError> {
    let [before, applications, claims, there @ ..] = found else {
        return Err(LedgerError::Unavailable(
            "the tables said too little".into(),
        ));
    };
    let reused = |KeyReusedError| LedgerError::KeyReused { key: key.into() };
    if let Some(document) = DEEDS.answered(before, content).map_err(reused)? {
        return Ok((vec![], Receipt::Written { document }));
    }
    let change = match decide(&documents(there), write, Lang::En) {
        Ok(change) => change,
        Err(why) => return Ok((vec![], Receipt::Refused { why })),
    };
    let [own, own_claims, ..] = there else {
        return Err(LedgerError::Unavailable(
            "the tables said too little".into(),
        ));
    };
    let table_of = |id: &str| {
        if id.starts_with('R') {
            (CLAIMS, own_claims)
        } else {
            (APPLICATIONS, own)
        }
    };
    let (document, mut statements) = match change {
        Change::Apply { status } => APPLICATIONS.insert([applications, own], status, write),
        Change::Claim => CLAIMS.insert([claims, own_claims], DocumentStatus::Draft, write),
        Change::Submit { id } => {
            let status = Cell::from(DocumentStatus::Submitted.word());
            let submitted = APPLICATIONS.update("status", status, row(own, &id));
            (id, vec![submitted])
        }
        Change::Link { id, application } => {
            let to = Cell::Text(application);
            let linked = CLAIMS.update("application", to, row(own_claims, &id));
            (id, vec![linked])
        }
        Change::Status { id, status } => {
            let (table, rows) = table_of(&id);
            let changed = table.update("status", Cell::from(status.word()), row(rows, &id));
            (id, vec![changed])
        }
        Change::Attach { id, names } => {
            let attached = attachments(&row(own_claims, &id), &names, write);
            (id, attached)
        }
        Change::Revise { id, status, names } => {
            let (table, rows) = table_of(&id);
            let at = row(rows, &id);
            let status = ("status", Cell::from(status.word()));
            let says = table.columns.iter().map(|column| {
                let value = write.fields.get(*column);
                (*column, value.map_or(Cell::Null, |it| cell(column, it)))
            });
            let mut revised: Vec<_> = says
                .chain([status])
                .map(|(column, to)| table.update(column, to, at.clone()))
                .collect();
            revised.extend(attachments(&at, &names, write));
            (id, revised)
        }
    };
    statements.push(DEEDS.insert(&[key.into()], content, &document));
    Ok((statements, Receipt::Written { document }))
}

impl Table {
    fn created(&self) -> String {
        let columns = self.columns.iter().map(|column| {
            let kind = if is_amount(column) { "BIGINT" } else { "TEXT" };
            format!("{column} {kind}")
        });
        format!(
            "CREATE TABLE IF NOT EXISTS {} (number BIGINT PRIMARY KEY, employee TEXT NOT NULL, \
             status TEXT NOT NULL, {}, counted BIGINT)",
            self.name,
            columns.collect::<Vec<_>>().join(", ")
        )
    }

    /// Returns the query for the highest number of all rows.
    fn last(&self) -> Statement {
        let sql = format!("SELECT COALESCE(MAX(number), 0) FROM {}", self.name);
        Statement::new(sql, [])
    }

    fn select(&self, employee: &str) -> Statement {
        let (name, columns) = (self.name, self.columns.join(", "));
        let sql = format!(
            "SELECT {COUNTED}, status, {columns}, number FROM {name} WHERE employee = ? ORDER BY number"
        );
        Statement::new(sql, [Cell::from(employee)])
    }

    fn update(&self, column: &str, to: Cell, row: Cell) -> Statement {
        let sql = format!("UPDATE {} SET {column} = ? WHERE number = ?", self.name);
        Statement::new(sql, [to, row])
    }

    /// Returns the number of a new document, and the statements that write it.
    fn insert(
        &self,
        [last, own]: [&QueryRows; 2],
        status: DocumentStatus,
        write: &LedgerWrite,
    ) -> (String, Vec<Statement>) {
        let next = |rows: &QueryRows| {
            let numbers = rows.iter().filter_map(|row| match row.first() {
                Some(Cell::Int(number)) => Some(*number),
                _ => None,
            });
            numbers.max().unwrap_or(0) + 1
        };
        let (number, counted) = (next(last), next(own));
        let filled = self.columns.iter().filter_map(|column| {
            let value = cell(column, write.fields.get(*column)?);
            Some((*column, value))
        });
        let first = [
            ("number", Cell::Int(number)),
            ("employee", Cell::from(write.employee.as_str())),
            ("status", Cell::from(status.word())),
            ("counted", Cell::Int(counted)),
        ];
        let (names, values): (Vec<_>, Vec<_>) = first.into_iter().chain(filled).unzip();
        let marks = vec!["?"; names.len()].join(", ");
        let (name, names) = (self.name, names.join(", "));
        let row = format!("INSERT INTO {name} ({names}) VALUES ({marks})");
        let mut statements = vec![Statement::new(row, values)];
        let files = strings(write.fields.get("attachments"));
        statements.extend(files.map(|name| attachment(Cell::Int(number), name, write)));
        (format!("{}-{counted}", self.letter), statements)
    }

    fn document(&self, row: &[Cell]) -> Option<Document> {
        let [Cell::Int(number), Cell::Text(status), values @ ..] = row else {
            return None;
        };
        let fields = self
            .columns
            .iter()
            .zip(values)
            .filter_map(|(column, cell)| {
                let value = match cell {
                    Cell::Null => return None,
                    Cell::Text(text) => json!(text),
                    Cell::Int(cents) => amount_value(*cents),
                };
                Some(((*column).to_owned(), value))
            });
        Some(Document {
            id: format!("{}-{number}", self.letter),
            status: DocumentStatus::of(status),
            fields: fields.collect(),
            files: vec![],
        })
    }
}

/// Returns the queries that `documents` reads.
fn selects(employee: &str) -> [Statement; 3] {
    let attachments = format!(
        "SELECT {COUNTED}, a.name, a.digest, a.size FROM attachments a JOIN reimbursements r \
         ON r.number = a.reimbursement WHERE r.employee = ? ORDER BY a.reimbursement, a.name"
    );
    [
        APPLICATIONS.select(employee),
        CLAIMS.select(employee),
        Statement::new(attachments, [Cell::from(employee)]),
    ]
}

fn documents(found: &[QueryRows]) -> Documents {
    let rows = |nth: usize| found.get(nth).into_iter().flatten();
    let applications = rows(0).filter_map(|row| APPLICATIONS.document(row));
    let claims = rows(1).filter_map(|row| CLAIMS.document(row));
    let mut read = Documents {
        applications: applications.collect(),
        reimbursements: claims.collect(),
    };
    for claim in &mut read.reimbursements {
        let mut names: Vec<Value> = vec![];
        for row in rows(2) {
            let [of, Cell::Text(name), file @ ..] = row.as_slice() else {
                continue;
            };
            if *of != number(&claim.id) {
                continue;
            }
            names.push(json!(name));
            if let [Cell::Text(digest), Cell::Int(size)] = file {
                let size = u64::try_from(*size).unwrap_or_default();
                let file = KeptFile::new(name.clone(), size, digest.clone());
                claim.files.push(file);
            }
        }
        if !names.is_empty() {
            claim.fields.insert("attachments".into(), names.into());
        }
    }
    read
}

fn attachment(reimbursement: Cell, name: &str, write: &LedgerWrite) -> Statement {
    let file = write.files.iter().find(|file| file.name == name);
    let digest = file.map_or(Cell::Null, |file| Cell::from(file.digest.as_str()));
    let size = file.and_then(|file| i64::try_from(file.size).ok());
    let size = size.map_or(Cell::Null, Cell::Int);
    let sql = "INSERT INTO attachments (reimbursement, name, digest, size) VALUES (?, ?, ?, ?)";
    Statement::new(sql, [reimbursement, Cell::from(name), digest, size])
}

fn attachments(reimbursement: &Cell, names: &[String], write: &LedgerWrite) -> Vec<Statement> {
    let names = names.iter();
    names
        .map(|name| attachment(reimbursement.clone(), name, write))
        .collect()
}

/// Returns the number of the row of a document, among the rows of its employee.
fn row(rows: &QueryRows, id: &str) -> Cell {
    let counted = number(id);
    let mut rows = rows.iter().filter(|row| row.first() == Some(&counted));
    rows.find_map(|row| row.last().cloned())
        .unwrap_or(Cell::Null)
}

/// Returns the number of a document, such as 1 of `A-1`.
fn number(id: &str) -> Cell {
    let (_, number) = id.split_once('-').unwrap_or_default();
    Cell::Int(number.parse().unwrap_or(0))
}

fn cell(column: &str, value: &Value) -> Cell {
    if is_amount(column) {
        return cents(value).map_or(Cell::Null, Cell::Int);
    }
    Cell::Text(value.as_str().unwrap_or_default().to_owned())
}

fn is_amount(column: &str) -> bool {
    column.ends_with("amount")
}

impl DocumentStatus {
    fn word(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Submitted => "submitted",
            Self::Withdrawn => "withdrawn",
        }
    }

    fn of(word: &str) -> Self {
        match word {
            "submitted" => Self::Submitted,
            "withdrawn" => Self::Withdrawn,
            _ => Self::Draft,
        }
    }
}
