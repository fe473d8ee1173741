use std::fmt;

use fugato_store::{StoreError, StoreErrorKind};

use super::OpenError;

/// Where a log left its contract: what was looked at, what was expected, and what was there.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    what: String,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// As people read it, because this is what a failed test prints.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(format!("unexpected error: {error} ({:?})", error.kind))
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::new(format!("the factory failed: {error}"))
    }
}

/// Compares what is there with what should be.
#[expect(
    clippy::needless_pass_by_value,
    reason = "scenarios pass values that they just got"
)]
pub(crate) fn same<T: PartialEq + fmt::Debug>(
    what: &str,
    got: T,
    expected: T,
) -> Result<(), Failure> {
    if got == expected {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{what}: expected {}, got {}",
        short(&expected),
        short(&got)
    )))
}

/// Says what is wrong unless it is right.
pub(crate) fn holds(right: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if right {
        Ok(())
    } else {
        Err(Failure::new(what()))
    }
}

/// A result of which only the kind of its error is compared.
pub(super) fn kind<T>(result: Result<T, StoreError>) -> Result<T, StoreErrorKind> {
    result.map_err(|error| error.kind)
}

/// Megabytes of records help nobody.
fn short(value: &impl fmt::Debug) -> String {
    const LONGEST: usize = 1_000;
    let text = format!("{value:?}");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!(
            "{}… ({} bytes)",
            text.get(..end).unwrap_or(&text),
            text.len()
        ),
        None => text,
    }
}
