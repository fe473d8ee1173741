use async_trait::async_trait;
use fugato_state::say;
use thiserror::Error;

use crate::Notebook;

/// A long-term memory, for notes that a person explicitly asks to be remembered over all
/// conversations.
///
/// *Contract*
/// - **nothing twice**: remembering the same note again changes nothing.
/// - **a note is text**: it is kept as it was said, except for spaces and line ends.
#[async_trait]
pub trait LongTermMemory: Send + Sync {
    /// Stores a note.
    async fn remember(&self, note: &str) -> Result<(), RememberError>;
}

const _: () = {
    const fn object_safe(_: Option<&dyn LongTermMemory>) {}
    object_safe(None);
};

/// A failure to store a note.
#[derive(Debug, Error)]
#[error("{}", say!("the note cannot be kept", "无法保存这条笔记"))]
pub struct RememberError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl RememberError {
    /// Creates the error from its cause.
    pub fn new(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(why.into())
    }
}

/// The section of a notebook that holds such notes.
const SECTION: &str = "Remembered";

#[async_trait]
impl LongTermMemory for Notebook {
    /// Adds the note to the lasting notes, under the heading `Remembered`. It writes one small
    /// file.
    async fn remember(&self, note: &str) -> Result<(), RememberError> {
        Self::remember(self, SECTION, note).map_err(RememberError::new)
    }
}
