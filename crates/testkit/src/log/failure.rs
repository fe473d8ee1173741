use std::fmt;

use fugato_store::{StoreError, StoreErrorKind};

use super::OpenError;

/// A breach of a contract: the check, the expected value, and the actual one.
// `Debug` is the same as `Display`, because it is what a failed test prints.
#[derive(Clone, PartialEq, Eq, derive_more::Debug, thiserror::Error)]
#[debug("{what}")]
#[error("{what}")]
pub struct Failure {
    what: String,
}

/// The result of a check or a scenario: nothing, or the breach of a contract.
pub type CheckResult = Result<(), Failure>;

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

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

/// Compares the actual value with the expected one.
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

/// Fails with `what` unless the condition holds.
pub(crate) fn holds(right: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if right {
        Ok(())
    } else {
        Err(Failure::new(what()))
    }
}

/// Returns a result of which only the kind of the error is compared.
pub(super) fn kind<T>(result: Result<T, StoreError>) -> Result<T, StoreErrorKind> {
    result.map_err(|error| error.kind)
}

/// Formats a value, and cuts it off: megabytes of records are of no use in a message.
fn short(value: &dyn fmt::Debug) -> String {
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
