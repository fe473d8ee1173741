//! Calendars in an SQLite database.
use std::path::Path;

use fugato::{
    BoxError,
    sqlite::{
        SqliteTables,
        rusqlite::{
            Connection, TransactionBehavior, params_from_iter,
            types::{Value, ValueRef},
        },
    },
};

use super::{
    ScheduleStoreError,
    database::{Database, Decided, Found, Statement},
    rows::Cell,
};

/// A file.
#[derive(Debug)]
pub(crate) struct Sqlite(SqliteTables);

impl Sqlite {
    pub(crate) async fn open(path: &Path) -> Result<Self, BoxError> {
        let path = path.to_owned();
        let opened = tokio::task::spawn_blocking(move || SqliteTables::open(path));
        Ok(Self(opened.await??))
    }
}

impl Database for Sqlite {
    const INSERT_NEW: &'static str = "INSERT OR IGNORE INTO";
    const TABLE_OPTIONS: &'static str = "";

    async fn prepare(&self, statements: Vec<Statement>) -> Result<(), BoxError> {
        self.0
            .with(move |connection| {
                let transaction =
                    connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                run(&transaction, &statements)?;
                Ok(transaction.commit()?)
            })
            .await
    }

    async fn read(&self, queries: Vec<Statement>) -> Result<Vec<Found>, BoxError> {
        self.0
            .with(move |connection| {
                let transaction = connection.transaction()?;
                query(&transaction, &queries)
            })
            .await
    }

    async fn write<T, F>(
        &self,
        lock: Vec<Statement>,
        queries: Vec<Statement>,
        decide: F,
    ) -> Result<Result<T, ScheduleStoreError>, BoxError>
    where
        T: Send + 'static,
        F: Fn(Vec<Found>) -> Decided<T> + Send + Sync + 'static,
    {
        self.0
            .with(move |connection| {
                // One writer at a time, so that nothing changes between reading and writing.
                let transaction =
                    connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                run(&transaction, &lock)?;
                let (statements, answer) = match decide(query(&transaction, &queries)?) {
                    Ok(decided) => decided,
                    Err(error) => return Ok(Err(error)),
                };
                if !statements.is_empty() {
                    run(&transaction, &statements)?;
                    transaction.commit()?;
                }
                Ok(Ok(answer))
            })
            .await
    }
}

fn run(connection: &Connection, statements: &[Statement]) -> Result<(), BoxError> {
    for statement in statements {
        let mut prepared = connection.prepare_cached(&statement.sql)?;
        let values = params_from_iter(statement.values.iter().map(value));
        if prepared.column_count() == 0 {
            prepared.execute(values)?;
        } else {
            let mut rows = prepared.query(values)?;
            while rows.next()?.is_some() {}
        }
    }
    Ok(())
}

fn query(connection: &Connection, queries: &[Statement]) -> Result<Vec<Found>, BoxError> {
    let found = queries.iter().map(|statement| {
        let mut prepared = connection.prepare_cached(&statement.sql)?;
        let columns = prepared.column_count();
        let mut rows = prepared.query(params_from_iter(statement.values.iter().map(value)))?;
        let mut found = Found::new();
        while let Some(row) = rows.next()? {
            let cells = (0..columns).map(|at| cell(row.get_ref(at)?));
            found.push(cells.collect::<Result<_, BoxError>>()?);
        }
        Ok(found)
    });
    found.collect()
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(number) => Value::Integer(*number),
        Cell::Text(text) => Value::Text(text.clone()),
    }
}

fn cell(value: ValueRef<'_>) -> Result<Cell, BoxError> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Text(text) => Cell::Text(str::from_utf8(text)?.to_owned()),
        ValueRef::Real(_) | ValueRef::Blob(_) => {
            return Err("a value is neither a whole number nor text".into());
        }
    })
}
