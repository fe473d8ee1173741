use std::{error::Error, fmt, sync::Arc, time::Duration};

use fugato_state::{Lang, say};
use serde::{Deserialize, Serialize};

use crate::Attempt;

/// The error of a model that could not answer.
///
/// The kind is the same for every server, and the advice says whether a retry can help, so that
/// decorators do not depend on a vendor. The creator of an error keeps secrets out of it: context
/// and source are shown to people and logged.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelError {
    /// The kind of the error.
    pub kind: ModelErrorKind,
    /// The advice whether and when to try again.
    pub advice: RetryAdvice,
    /// The action that failed, or the message of the server; empty if there is nothing to add.
    pub context: String,
    /// The attempts that led to this error, oldest first; filled in by decorators.
    pub attempts: Vec<Attempt>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kind of a [`ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The server does not accept the credentials, or does not permit the request.
    Denied,
    /// The model or the address does not exist.
    NotFound,
    /// The server did not understand or accept the request.
    BadRequest,
    /// The messages and the answer together are longer than the window of the model.
    TooLong,
    /// Too many requests in too short a time.
    RateLimited,
    /// The server was reached and cannot serve requests for now.
    Unavailable,
    /// The server could not be reached.
    Unreachable,
    /// The answer took too long.
    TimedOut,
    /// The answer broke off before its end.
    CutOff,
    /// The answer is longer than its limit.
    AnswerTooLong,
    /// The allowance of a stage or of a run is used up.
    OutOfBudget,
    /// The request was not sent, because the model failed a short time ago.
    Skipped,
    /// The answer does not have the form that the protocol requires.
    Malformed,
    /// Anything else.
    Other,
}

/// The advice whether and when to send the same request again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAdvice {
    /// The same request will fail again.
    Never,
    /// The same request may succeed; the caller chooses the pause.
    Now,
    /// The same request may succeed after this pause, which the server asked for.
    After(Duration),
}

impl ModelErrorKind {
    /// Returns the advice for the kind when nothing more is known.
    pub fn advice(self) -> RetryAdvice {
        match self {
            Self::RateLimited
            | Self::Unavailable
            | Self::Unreachable
            | Self::TimedOut
            | Self::CutOff
            | Self::Malformed => RetryAdvice::Now,
            Self::Denied
            | Self::NotFound
            | Self::BadRequest
            | Self::TooLong
            | Self::AnswerTooLong
            | Self::OutOfBudget
            | Self::Skipped
            | Self::Other => RetryAdvice::Never,
        }
    }

    /// Returns the name in logs and records, the same as when serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::NotFound => "not_found",
            Self::BadRequest => "bad_request",
            Self::TooLong => "too_long",
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed_out",
            Self::CutOff => "cut_off",
            Self::AnswerTooLong => "answer_too_long",
            Self::OutOfBudget => "out_of_budget",
            Self::Skipped => "skipped",
            Self::Malformed => "malformed",
            Self::Other => "other",
        }
    }

    fn sentence(self) -> &'static str {
        let (en, zh) = match self {
            Self::Denied => ("the model server denied access", "模型服务器拒绝访问"),
            Self::NotFound => (
                "the model or its address was not found",
                "找不到模型或它的地址",
            ),
            Self::BadRequest => (
                "the model server rejected the request",
                "模型服务器拒绝了请求",
            ),
            Self::TooLong => (
                "the request is too long for the model",
                "请求对模型来说太长",
            ),
            Self::RateLimited => (
                "the model server limits the rate of requests",
                "模型服务器限制请求频率",
            ),
            Self::Unavailable => ("the model server is unavailable", "模型服务器暂不可用"),
            Self::Unreachable => ("the model server could not be reached", "连不上模型服务器"),
            Self::TimedOut => ("the model took too long", "模型回答得太慢"),
            Self::CutOff => ("the answer broke off", "回答中断了"),
            Self::AnswerTooLong => ("the model's answer is too long", "模型的回答太长"),
            Self::OutOfBudget => ("the model was stopped", "模型被停止了"),
            Self::Skipped => ("the model was skipped", "跳过了模型"),
            Self::Malformed => ("the answer is malformed", "回答的格式不对"),
            Self::Other => ("the model failed", "模型出错了"),
        };
        Lang::current().pick(en, zh)
    }
}

impl ModelError {
    /// Creates an error with the advice for its kind.
    pub fn new(kind: ModelErrorKind, context: impl Into<String>) -> Self {
        Self {
            kind,
            advice: kind.advice(),
            context: context.into(),
            attempts: vec![],
            source: None,
        }
    }

    fugato_state::setters! {
        /// Replaces the advice.
        pub fn advice(advice: RetryAdvice) { advice = advice }

        /// Sets the source of the error.
        pub fn caused_by(source: impl Error + Send + Sync + 'static) {
            source = Some(Arc::new(source))
        }
    }

    /// Returns the kind and the context, without the attempts that led here.
    pub(crate) fn sentence(&self) -> String {
        let kind = self.kind.sentence();
        if self.context.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}: {}", self.context)
        }
    }

    /// Puts the attempts of a decorator before those that the error carries.
    pub(crate) fn after(mut self, mut earlier: Vec<Attempt>) -> Self {
        earlier.append(&mut self.attempts);
        self.attempts = earlier;
        self
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence())?;
        if self.attempts.len() > 1 {
            let attempts = self.attempts.len();
            f.write_str(&say!(
                " (after {attempts} attempts)",
                "（试了 {attempts} 次）"
            ))?;
        }
        Ok(())
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l2_the_text_names_the_kind_and_never_repeats_the_source() {
        let source = std::io::Error::other("socket closed");
        let error = ModelError::new(ModelErrorKind::CutOff, "after 3 chunks").caused_by(source);
        assert_eq!(error.to_string(), "the answer broke off: after 3 chunks");
        assert_eq!(
            error.source().map(ToString::to_string),
            Some("socket closed".to_owned())
        );
        assert_eq!(error.advice, RetryAdvice::Now);
    }

    #[test]
    fn the_name_of_a_kind_is_its_serialised_form() {
        let kinds = [
            ModelErrorKind::Denied,
            ModelErrorKind::TooLong,
            ModelErrorKind::CutOff,
            ModelErrorKind::AnswerTooLong,
            ModelErrorKind::OutOfBudget,
            ModelErrorKind::Skipped,
        ];
        for kind in kinds {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
