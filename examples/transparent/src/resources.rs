//! The data of a conversation outside its log: its archive, and the jobs that were made in it.
use std::{fs, path::Path};

use async_trait::async_trait;
use fugato::{
    BoxError,
    archive::Archives,
    cli::{App, Flags, ThreadResources},
    state::ThreadId,
};

use crate::open::{archives, jobs};

/// The data that belongs to the conversations in the folder and store of these flags.
#[derive(Debug)]
pub struct ConversationResources {
    archives: Archives,
    app: App,
}

impl ConversationResources {
    /// Returns the data in the folder and store of these flags.
    pub fn new(flags: Flags) -> Self {
        Self {
            archives: archives(&flags.folder("transparent")),
            app: App::new("transparent", flags),
        }
    }
}

#[async_trait]
impl ThreadResources for ConversationResources {
    async fn exist(&self, thread: &ThreadId) -> Result<bool, BoxError> {
        Ok(self.archives.path(thread).exists())
    }

    async fn export(&self, thread: &ThreadId, folder: &Path) -> Result<(), BoxError> {
        if self.archives.path(thread).exists() {
            fs::create_dir_all(folder)?;
        }
        Ok(self.archives.copy(thread, &folder.join("archive.jsonl"))?)
    }

    /// Copies nothing: a copy has a log of its own, from which its archive is made. Its jobs are
    /// not copied, as they would be carried out twice.
    async fn copy(&self, _: &ThreadId, _: &ThreadId) -> Result<(), BoxError> {
        Ok(())
    }

    async fn delete(&self, thread: &ThreadId) -> Result<(), BoxError> {
        // Jobs are stored with the logs, so without a store there are no jobs.
        if let Ok(open) = self.app.open_to_read().await {
            jobs(open.docs).delete_of(thread.as_str()).await?;
        }
        Ok(self.archives.delete(thread)?)
    }
}
