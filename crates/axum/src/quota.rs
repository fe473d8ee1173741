use async_trait::async_trait;

use crate::{ApiError, Caller};

/// The hook that is asked before a caller uses more: what a program counts itself, such as tokens or
/// stored bytes. What the endpoints count is in the [`Limits`](crate::Limits).
///
/// # Contract
/// - It is asked before a run begins, and before one of the program's own paths changes something.
///   Whoever may no longer do so still reads, answers questions, cancels and removes.
/// - A count that it keeps can outlive the process, which those of the endpoints do not.
/// - A refusal, such as [`ApiError::too_many`], says what is allowed. It goes to the client.
#[async_trait]
pub trait CallerQuota: Send + Sync {
    /// Refuses a caller who has used up what they may.
    async fn admit(&self, caller: &Caller) -> Result<(), ApiError>;

    /// Counts a run that begins or goes on with an answer, or a change by one of the program's own
    /// paths, and refuses it at a limit. It comes last, when nothing else refuses it.
    async fn count(&self, _: &Caller) -> Result<(), ApiError> {
        Ok(())
    }
}

const _: Option<&dyn CallerQuota> = None;

/// No quota.
#[async_trait]
impl CallerQuota for () {
    async fn admit(&self, _: &Caller) -> Result<(), ApiError> {
        Ok(())
    }
}
