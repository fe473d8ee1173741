//! SQL statements for tables of the program's own, in the dialect that databases share.

/// A statement with `?` for each value.
///
/// It is data, so that a function without access to a database can decide what is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The SQL text.
    pub sql: String,
    /// The values, in the order of the `?` marks.
    pub values: Vec<Cell>,
}

/// A value in a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// No value.
    Null,
    /// A whole number.
    Int(i64),
    /// A text.
    Text(String),
}

/// The rows that a query found, in its order.
pub type QueryRows = Vec<Vec<Cell>>;

impl Statement {
    /// Creates a statement with its values.
    pub fn new(sql: impl Into<String>, values: impl IntoIterator<Item = Cell>) -> Self {
        Self {
            sql: sql.into(),
            values: values.into_iter().collect(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}
