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
#[derive(derive_more::From, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// No value.
    Null,
    /// A whole number.
    #[from]
    Int(i64),
    /// A text.
    #[from(&str)]
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
