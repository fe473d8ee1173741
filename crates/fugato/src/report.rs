use std::fmt;

use fugato_graph::BoxError;

/// The error of a `main` function: every error becomes one by `?`, and it prints in words.
///
/// Rust prints the error of `main` by `Debug`, which of most errors shows their fields. This one
/// shows the message, and the causes below it, each in a line of its own.
///
/// ```
/// fn main() -> Result<(), fugato::Report> {
///     # let run = || -> Result<(), fugato::Report> {
///     let day: u8 = "monday".parse()?;
///     # let _ = day;
///     # Ok(()) };
///     # let report = run().unwrap_err();
///     # assert_eq!(format!("{report:?}"), "invalid digit found in string");
///     Ok(())
/// }
/// ```
pub struct Report(BoxError);

impl Report {
    /// Returns the error.
    pub fn into_inner(self) -> BoxError {
        self.0
    }
}

impl<E: Into<BoxError>> From<E> for Report {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, "\n  because: {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
