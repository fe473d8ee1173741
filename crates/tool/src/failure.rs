use std::{error::Error, fmt};

use serde_json::Value;

use crate::ToolStatus;

type BoxError = Box<dyn Error + Send + Sync>;

/// A tool did not do what it should.
///
/// The model reads [`text`](Self::text): what was wrong, and what is allowed. The operator reads
/// the source, which the model is never shown.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolFailure {
    /// Whether a rule did not let it, as opposed to an attempt that failed.
    pub blocked: bool,
    /// What the model reads.
    pub text: String,
    /// The same for programs.
    pub data: Value,
    /// The single problems, where there are several.
    pub issues: Vec<String>,
    /// Whether the tool may have acted all the same. A tool that must not act twice is then never
    /// called again on a guess.
    pub in_doubt: bool,
    /// Whether this is no result: calling again under the same key finds out what became of it.
    pub unsettled: bool,
    source: Option<BoxError>,
}

impl ToolFailure {
    /// It tried and could not. It has not acted.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            blocked: false,
            text: text.into(),
            data: Value::Null,
            issues: vec![],
            in_doubt: false,
            unsettled: false,
            source: None,
        }
    }

    /// A rule did not let it.
    pub fn blocked(text: impl Into<String>) -> Self {
        Self {
            blocked: true,
            ..Self::failed(text)
        }
    }

    /// It failed for a reason that is none of the model's business, and may have acted before.
    pub fn internal(source: impl Into<BoxError>) -> Self {
        Self::failed("the tool failed for an internal reason; trying again may help")
            .because(source)
            .in_doubt()
    }

    pub(crate) fn no_state() -> Self {
        Self::blocked("there is nothing loaded that this tool could work on yet")
    }

    /// Adds the reason, for the operator only.
    #[must_use]
    pub fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says that it may have acted all the same, such as when the connection broke after asking.
    #[must_use]
    pub fn in_doubt(mut self) -> Self {
        self.in_doubt = true;
        self
    }

    /// Says that it may have acted, and that calling it again under the same key finds out: there
    /// is no result to keep, and the task fails, to be tried again.
    #[must_use]
    pub fn unsettled(mut self) -> Self {
        (self.in_doubt, self.unsettled) = (true, true);
        self
    }

    /// Sets the data for programs.
    #[must_use]
    pub fn data(mut self, data: impl Into<Value>) -> Self {
        self.data = data.into();
        self
    }

    /// Adds one of several problems.
    #[must_use]
    pub fn issue(mut self, issue: impl Into<String>) -> Self {
        self.issues.push(issue.into());
        self
    }

    pub(crate) fn status(&self) -> ToolStatus {
        if self.blocked {
            ToolStatus::Blocked
        } else {
            ToolStatus::Failed
        }
    }
}

impl fmt::Display for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for ToolFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
