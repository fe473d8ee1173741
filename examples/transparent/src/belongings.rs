//! What belongs to a conversation beside its log: its archive, and the jobs that were made in it.
use std::{fs, io, path::Path};

use async_trait::async_trait;
use fugato::{BoxError, cli::Belongings, state::ThreadId};

use crate::archive::Archives;

#[async_trait]
impl Belongings for Archives {
    async fn exist(&self, thread: &ThreadId) -> Result<bool, BoxError> {
        Ok(self.path(thread).exists())
    }

    async fn export(&self, thread: &ThreadId, folder: &Path) -> Result<(), BoxError> {
        let path = self.path(thread);
        if path.exists() {
            fs::create_dir_all(folder)?;
            fs::copy(path, folder.join("archive.jsonl"))?;
        }
        Ok(())
    }

    /// A copy has a log of its own, from which its archive is made.
    async fn copy(&self, _: &ThreadId, _: &ThreadId) -> Result<(), BoxError> {
        Ok(())
    }

    async fn delete(&self, thread: &ThreadId) -> Result<(), BoxError> {
        match fs::remove_file(self.path(thread)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}
