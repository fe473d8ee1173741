//! What belongs to a conversation beside its log: its archive, and the jobs that were made in it.
use std::{fs, path::Path};

use async_trait::async_trait;
use fugato::{
    BoxError,
    archive::Archives,
    cli::{App, Belongings, Flags},
    state::ThreadId,
};

use crate::open::{archives, jobs};

/// What belongs to the conversations that these flags lead to.
#[derive(Debug)]
pub struct Kept {
    archives: Archives,
    app: App,
}

impl Kept {
    /// What lies where these flags say.
    pub fn new(flags: Flags) -> Self {
        Self {
            archives: archives(&flags.folder("transparent")),
            app: App::new("transparent", flags),
        }
    }
}

#[async_trait]
impl Belongings for Kept {
    async fn exist(&self, thread: &ThreadId) -> Result<bool, BoxError> {
        Ok(self.archives.path(thread).exists())
    }

    async fn export(&self, thread: &ThreadId, folder: &Path) -> Result<(), BoxError> {
        if self.archives.path(thread).exists() {
            fs::create_dir_all(folder)?;
        }
        Ok(self.archives.copy(thread, &folder.join("archive.jsonl"))?)
    }

    /// A copy has a log of its own, from which its archive is made. Its jobs are not copied: they
    /// would be done twice.
    async fn copy(&self, _: &ThreadId, _: &ThreadId) -> Result<(), BoxError> {
        Ok(())
    }

    async fn delete(&self, thread: &ThreadId) -> Result<(), BoxError> {
        // Jobs are kept beside the logs; where there are none, there is no job either.
        if let Ok(open) = self.app.open_to_read().await {
            jobs(open.docs).delete_of(thread.as_str()).await?;
        }
        Ok(self.archives.delete(thread)?)
    }
}
