//! Statements for tables of a program's own, in the words that databases share.

/// A statement with `?` for each value.
///
/// It is data, so that what is written can be decided by a function that knows no database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The words.
    pub sql: String,
    /// The values, in the order of their marks.
    pub values: Vec<Cell>,
}

/// A value in a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// There is none.
    Null,
    /// A whole number.
    Int(i64),
    /// A text.
    Text(String),
}

/// The rows that a query found, in its order.
pub type Found = Vec<Vec<Cell>>;

impl Statement {
    /// A statement with its values.
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
