use std::error::Error;

use fugato_state::say;
use serde_json::Value;

use crate::ToolStatus;

type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a tool that did not do what it should.
///
/// The model reads [`text`](Self::text): what was wrong, and what is allowed. The operator reads
/// the source, which is never shown to the model.
#[derive(derive_more::Display, Debug)]
#[non_exhaustive]
#[display("{text}")]
pub struct ToolFailure {
    /// True if a rule forbade the call, as opposed to an attempt that failed.
    pub blocked: bool,
    /// The text, for people and for the model.
    pub text: String,
    /// Advice behind it for the model alone, such as the tool that helps on.
    pub advice: Option<Box<str>>,
    /// The data for programs.
    pub data: Value,
    /// The single problems, if there are several.
    pub issues: Vec<String>,
    /// True if the tool may have acted all the same. A tool that must not act twice is then not
    /// repeated.
    pub in_doubt: bool,
    /// True if there is no result yet: a repeat under the same key finds out whether the tool has
    /// acted.
    pub unsettled: bool,
    source: Option<BoxError>,
}

impl ToolFailure {
    /// Creates the failure of an attempt. The tool has not acted.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            blocked: false,
            text: text.into(),
            advice: None,
            data: Value::Null,
            issues: vec![],
            in_doubt: false,
            unsettled: false,
            source: None,
        }
    }

    /// Creates the failure of a call that a rule forbade.
    pub fn blocked(text: impl Into<String>) -> Self {
        Self {
            blocked: true,
            ..Self::failed(text)
        }
    }

    /// Creates the failure for an internal reason, which is not shown to the model. The tool may
    /// have acted before.
    pub fn internal(source: impl Into<BoxError>) -> Self {
        let text = say!(
            "the tool failed for an internal reason; trying again may help",
            "工具因内部原因失败；再试一次也许可以"
        );
        Self::failed(text).because(source).in_doubt()
    }

    pub(crate) fn no_state() -> Self {
        Self::blocked(say!(
            "there is nothing loaded that this tool could work on yet",
            "还没有加载这个工具可以处理的内容"
        ))
    }

    fugato_state::setters! {
        /// Sets the source, for the operator only.
        pub fn because(source: impl Into<BoxError>) { source = Some(source.into()) }

        /// Sets what the model alone is told behind the text, such as the tool that helps on.
        pub fn advice(advice: impl Into<Box<str>>) { advice = Some(advice.into()) }

        /// Sets the data for programs.
        pub fn data(data: impl Into<Value>) { data = data.into() }

        /// Adds one of several problems.
        pub fn issue(issue: impl Into<String>) { issues.push(issue.into()) }
    }

    /// Marks that the tool may have acted all the same, such as when the connection broke after the
    /// request.
    #[must_use]
    pub fn in_doubt(mut self) -> Self {
        self.in_doubt = true;
        self
    }

    /// Marks that the tool may have acted, and that a repeat under the same key finds out: there is
    /// no result to store, and the task fails, to be retried.
    #[must_use]
    pub fn unsettled(mut self) -> Self {
        (self.in_doubt, self.unsettled) = (true, true);
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

impl Error for ToolFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
