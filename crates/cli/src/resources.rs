//! The files and rows of a thread outside its log.
use std::{
    io,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use fugato_graph::BoxError;
use fugato_state::ThreadId;

use crate::error::ErrorContext as _;

/// The files and rows of a thread outside its log: whatever the program keeps for it.
///
/// # Contract
/// - What is not there is no error: there is nothing to export, to copy or to delete.
/// - Each of them can be repeated after it was interrupted.
#[async_trait]
pub trait ThreadResources: Send + Sync {
    /// Returns true if anything belongs to this thread and to no other. A thread without a log is
    /// deleted only then.
    async fn exist(&self, thread: &ThreadId) -> Result<bool, BoxError>;

    /// Writes the belongings into a folder, as the person's copy.
    async fn export(&self, thread: &ThreadId, folder: &Path) -> Result<(), BoxError>;

    /// Copies the belongings of one thread to a new one. The log was copied before.
    async fn copy(&self, from: &ThreadId, to: &ThreadId) -> Result<(), BoxError>;

    /// Deletes the belongings.
    async fn delete(&self, thread: &ThreadId) -> Result<(), BoxError>;
}

const _: Option<&dyn ThreadResources> = None;

/// Belongings that are one folder for each thread, in a common folder.
#[derive(Debug, Clone)]
pub struct Folders {
    folder: PathBuf,
    shared: bool,
}

impl Folders {
    /// Creates belongings in a folder that holds nothing else.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            folder,
            shared: false,
        }
    }

    /// Creates belongings in a folder that holds other things, too: only the log of a thread shows
    /// that the folder of its name is the thread's.
    pub(crate) fn among(folder: impl Into<PathBuf>) -> Self {
        Self {
            shared: true,
            ..Self::new(folder)
        }
    }

    /// Returns the folder of a thread.
    pub fn of(&self, thread: &ThreadId) -> PathBuf {
        self.folder.join(thread.as_str())
    }
}

#[async_trait]
impl ThreadResources for Folders {
    async fn exist(&self, thread: &ThreadId) -> Result<bool, BoxError> {
        Ok(!self.shared && self.of(thread).exists())
    }

    async fn export(&self, thread: &ThreadId, folder: &Path) -> Result<(), BoxError> {
        copy(&self.of(thread), folder)
    }

    async fn copy(&self, from: &ThreadId, to: &ThreadId) -> Result<(), BoxError> {
        copy(&self.of(from), &self.of(to))
    }

    async fn delete(&self, thread: &ThreadId) -> Result<(), BoxError> {
        let folder = self.of(thread);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).tell(|| format!("cannot remove {}", folder.display()))?
            }
            _ => Ok(()),
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), BoxError> {
    if !from.exists() {
        return Ok(());
    }
    let failed = || format!("cannot copy {} to {}", from.display(), to.display());
    copied(from, to).tell(failed)?;
    Ok(())
}

fn copied(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copied(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn among_others_a_folder_alone_is_no_threads() {
        let place = tempfile::tempdir().unwrap();
        let name = ThreadId::new("files").unwrap();
        std::fs::create_dir_all(place.path().join("files")).unwrap();
        assert!(!Folders::among(place.path()).exist(&name).await.unwrap());
        assert!(Folders::new(place.path()).exist(&name).await.unwrap());
    }

    #[tokio::test]
    async fn a_folder_of_a_thread_is_copied_and_deleted_whole() {
        let place = tempfile::tempdir().unwrap();
        let folders = Folders::new(place.path());
        let [one, other] = ["one", "other"].map(|name| ThreadId::new(name).unwrap());
        assert!(!folders.exist(&one).await.unwrap());
        folders.copy(&one, &other).await.unwrap();
        folders.delete(&one).await.unwrap();
        assert!(!folders.exist(&other).await.unwrap());

        std::fs::create_dir_all(folders.of(&one).join("deep")).unwrap();
        std::fs::write(folders.of(&one).join("deep/note"), "hello").unwrap();
        folders.copy(&one, &other).await.unwrap();
        folders.delete(&one).await.unwrap();
        assert!(!folders.exist(&one).await.unwrap());
        let note = std::fs::read_to_string(folders.of(&other).join("deep/note")).unwrap();
        assert_eq!(note, "hello");
    }
}
