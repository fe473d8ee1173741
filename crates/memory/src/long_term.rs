use async_trait::async_trait;
use thiserror::Error;

use crate::Notebook;

/// Where lasts what a person explicitly wants to be remembered, over all conversations.
///
/// *Contract*
/// - **nothing twice**: to remember the same note again changes nothing.
/// - **a note is text**: it is kept as it was said, but for spaces and line ends.
#[async_trait]
pub trait LongTermMemory: Send + Sync {
    /// Keeps a note.
    async fn remember(&self, note: &str) -> Result<(), RememberError>;
}

const _: () = {
    const fn object_safe(_: Option<&dyn LongTermMemory>) {}
    object_safe(None);
};

/// A note could not be kept.
#[derive(Debug, Error)]
#[error("the note cannot be kept")]
pub struct RememberError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl RememberError {
    /// It could not be kept for this reason.
    pub fn new(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(why.into())
    }
}

/// The section of a notebook in which such notes are.
const SECTION: &str = "Remembered";

#[async_trait]
impl LongTermMemory for Notebook {
    /// Adds the note to what lasts, under the heading `Remembered`. It writes one small file.
    async fn remember(&self, note: &str) -> Result<(), RememberError> {
        Self::remember(self, SECTION, note).map_err(RememberError::new)
    }
}
