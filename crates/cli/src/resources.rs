//! The files and rows of a thread outside its log.
use std::{
    io,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use fugato_graph::BoxError;
use fugato_state::{ThreadId, say};

use crate::{error::ErrorContext as _, people::digest, thread_name};

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

/// Nothing belongs to a thread but its log.
#[async_trait]
impl ThreadResources for () {
    async fn exist(&self, _: &ThreadId) -> Result<bool, BoxError> {
        Ok(false)
    }

    async fn export(&self, _: &ThreadId, _: &Path) -> Result<(), BoxError> {
        Ok(())
    }

    async fn copy(&self, _: &ThreadId, _: &ThreadId) -> Result<(), BoxError> {
        Ok(())
    }

    async fn delete(&self, _: &ThreadId) -> Result<(), BoxError> {
        Ok(())
    }
}

/// Resources that are one folder for each thread, in a common folder that holds nothing else: a
/// thread can have any name, also that of a folder of the program.
#[derive(Debug, Clone)]
pub struct Folders {
    folder: PathBuf,
}

impl Folders {
    /// Creates belongings in a folder that holds nothing else.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Returns the folder of a thread. A name that could lead out of the common folder, which
    /// clients of a server may choose, is that of a folder that is made of its digest.
    pub fn of(&self, thread: &ThreadId) -> PathBuf {
        let name = thread_name(thread.as_str());
        let safe = name.unwrap_or_else(|_| format!("%{}", digest(thread.as_str())));
        self.folder.join(safe)
    }
}

#[async_trait]
impl ThreadResources for Folders {
    async fn exist(&self, thread: &ThreadId) -> Result<bool, BoxError> {
        Ok(self.of(thread).exists())
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
                Err(error).tell(|| say!("cannot remove {}", "无法删除 {}", folder.display()))?
            }
            _ => Ok(()),
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), BoxError> {
    if !from.exists() {
        return Ok(());
    }
    let failed = || {
        say!(
            "cannot copy {} to {}",
            "无法把 {} 复制到 {}",
            from.display(),
            to.display()
        )
    };
    copied(from, to).tell(failed)?;
    Ok(())
}

fn copied(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copied(&entry.path(), &target)?;
        } else if kind.is_file() {
            // A link may lead to what is somebody else's.
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_name_of_a_thread_leads_out_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let others = place.path().join("others");
        std::fs::create_dir(&others).unwrap();
        let folders = Folders::new(place.path().join("own"));
        let absolute = others.display().to_string();
        for name in ["../others", "..", ".", "x/../../others", &absolute] {
            let thread = ThreadId::new(name).unwrap();
            let folder = folders.of(&thread);
            assert_eq!(folder.parent(), Some(&*folders.folder), "{name}");
            folders.delete(&thread).await.unwrap();
            assert!(others.exists(), "{name}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_copy_follows_no_link() {
        let place = tempfile::tempdir().unwrap();
        let (own, secret) = (place.path().join("own"), place.path().join("secret"));
        std::fs::write(&secret, "secret").unwrap();
        let folders = Folders::new(&own);
        let [one, other] = ["one", "other"].map(|name| ThreadId::new(name).unwrap());
        std::fs::create_dir_all(folders.of(&one)).unwrap();
        std::fs::write(folders.of(&one).join("note"), "hello").unwrap();
        std::os::unix::fs::symlink(&secret, folders.of(&one).join("link")).unwrap();
        std::os::unix::fs::symlink(place.path(), folders.of(&one).join("folder")).unwrap();
        folders.copy(&one, &other).await.unwrap();
        folders
            .export(&one, &place.path().join("export"))
            .await
            .unwrap();
        for copy in [folders.of(&other), place.path().join("export")] {
            let names = std::fs::read_dir(copy).unwrap().flatten();
            let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
            assert_eq!(names, ["note"]);
        }
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
