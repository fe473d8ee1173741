//! The tables in an SQLite database.
use std::path::Path;

use fugato::{
    BoxError,
    sqlite::{
        SqliteTables,
        rusqlite::{
            Transaction, TransactionBehavior, params_from_iter,
            types::{Value, ValueRef},
        },
    },
};

use super::sql::{Cell, Database, Rows, Statement};

/// A file.
#[derive(Debug)]
pub(super) struct Sqlite(SqliteTables);

impl Sqlite {
    pub(super) async fn open(path: &Path) -> Result<Self, BoxError> {
        let path = path.to_owned();
        let opened = tokio::task::spawn_blocking(move || SqliteTables::open(path));
        Ok(Self(opened.await??))
    }
}

impl Database for Sqlite {
    async fn transact<T: Send + 'static>(
        &self,
        queries: Vec<Statement>,
        decide: impl FnOnce(Vec<Rows>) -> (Vec<Statement>, T) + Send + 'static,
    ) -> Result<T, BoxError> {
        let done = self.0.with(move |connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let found = queries.iter().map(|query| read(&transaction, query));
            let (statements, answer) = decide(found.collect::<Result<_, _>>()?);
            for statement in &statements {
                let mut prepared = transaction.prepare_cached(&statement.sql)?;
                prepared.execute(params_from_iter(statement.values.iter().map(value)))?;
            }
            transaction.commit()?;
            Ok::<_, BoxError>(answer)
        });
        done.await
    }
}

fn read(transaction: &Transaction<'_>, query: &Statement) -> Result<Rows, BoxError> {
    let mut prepared = transaction.prepare_cached(&query.sql)?;
    let columns = prepared.column_count();
    let mut rows = prepared.query(params_from_iter(query.values.iter().map(value)))?;
    let mut found = Rows::new();
    while let Some(row) = rows.next()? {
        let cells = (0..columns).map(|at| cell(row.get_ref(at)?));
        found.push(cells.collect::<Result<_, BoxError>>()?);
    }
    Ok(found)
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
