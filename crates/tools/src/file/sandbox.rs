use std::{
    io::{self, Read as _, Write as _},
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use cap_std::{ambient_authority, fs::Dir};
use fugato_state::say;
use fugato_tool::ToolFailure;
use thiserror::Error;

/// A folder that is opened once. Every path stays in it: neither `..`, nor a root, nor a link leads
/// out. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    root: PathBuf,
    dir: Arc<Dir>,
}

/// The error of a sandbox or of a file in it. The texts are fit for a model: they reveal nothing
/// about the outside.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The folder itself cannot be opened.
    #[error("{}", say!("the folder {} cannot be opened", "无法打开文件夹 {}", root.display()))]
    Root {
        /// The folder.
        root: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A path leads out of the folder.
    #[error("{}", say!(
        "{path:?} lies outside of the folder",
        "{path:?} 在文件夹之外"
    ))]
    Outside {
        /// The path.
        path: String,
    },
    /// There is nothing of this name.
    #[error("{}", say!("there is no {path:?}", "没有 {path:?}"))]
    Missing {
        /// The path.
        path: String,
    },
    /// It is a folder, or something that never ends or never begins, such as a pipe.
    #[error("{}", say!("{path:?} is no file", "{path:?} 不是文件"))]
    NoFile {
        /// The path.
        path: String,
    },
    /// It is no text.
    #[error("{}", say!("{path:?} is no text in UTF-8", "{path:?} 不是 UTF-8 文本"))]
    NotText {
        /// The path.
        path: String,
    },
    /// It is a document that cannot be read.
    #[error("{}", say!("{path:?} cannot be read as a document: {why}", "{path:?} 不能作为文档读取：{why}"))]
    Document {
        /// The path.
        path: String,
        /// The reason.
        why: String,
    },
    /// It cannot be read.
    #[error("{}", say!("{path:?} cannot be read", "无法读取 {path:?}"))]
    Unreadable {
        /// The path.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("{}", say!(
        "{path:?} cannot be written; what was there is as it was",
        "无法写入 {path:?}；原有内容没有变"
    ))]
    Unwritable {
        /// The path.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The disk is full.
    #[error("{}", say!(
        "no space is left for {path:?}; what was there is as it was",
        "没有空间写入 {path:?}；原有内容没有变"
    ))]
    Full {
        /// The path.
        path: String,
    },
}

impl From<SandboxError> for ToolFailure {
    fn from(error: SandboxError) -> Self {
        let text = error.to_string();
        match error {
            SandboxError::Outside { .. } => Self::blocked(text).advice(say!(
                "paths are relative to it, and `..` and links must not lead out of it",
                "路径相对于它，`..` 和链接都不能指到外面"
            )),
            SandboxError::Missing { .. } => {
                let advice = say!("list_files tells what there is", "list_files 会列出有什么");
                Self::failed(text).advice(advice)
            }
            SandboxError::Root { source, .. }
            | SandboxError::Unreadable { source, .. }
            | SandboxError::Unwritable { source, .. } => Self::failed(text).because(source),
            _ => Self::failed(text),
        }
    }
}

impl Sandbox {
    /// Opens a folder, which must exist.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, SandboxError> {
        let root = root.into();
        match Dir::open_ambient_dir(&root, ambient_authority()) {
            Ok(dir) => Ok(Self {
                root,
                dir: Arc::new(dir),
            }),
            Err(source) => Err(SandboxError::Root { root, source }),
        }
    }

    /// Returns the path of the folder, for people. Opening a path that is made from it bypasses the
    /// sandbox.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the beginning of a file, at most this many bytes.
    pub fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, SandboxError> {
        let inside = relative(path)?;
        self.is_file(path, &inside)?;
        let mut bytes = vec![];
        let file = self.dir.open(&inside);
        file.and_then(|file| file.take(most).read_to_end(&mut bytes))
            .map_err(|error| failed(path, error))?;
        Ok(bytes)
    }

    /// Returns the text of a file: of a document what a person reads of it, if the feature `document`
    /// is on, and of others their beginning, at most this many bytes.
    pub fn text(&self, path: &str, most: u64) -> Result<String, SandboxError> {
        #[cfg(feature = "document")]
        if let Some(kind) = super::document::DocumentKind::of(path) {
            let failed = |why| SandboxError::Document {
                path: path.to_owned(),
                why,
            };
            let most = super::document::MOST_BYTES;
            if self.size(path)? > most {
                return Err(failed(say!(
                    "it has more than {most} bytes",
                    "超过 {most} 字节"
                )));
            }
            let text = kind.text(&self.read(path, most)?);
            return text.map_err(failed);
        }
        let path = path.to_owned();
        let bytes = self.read(&path, most)?;
        beginning(bytes).ok_or(SandboxError::NotText { path })
    }

    /// Returns the size of a file in bytes.
    pub(crate) fn size(&self, path: &str) -> Result<u64, SandboxError> {
        let inside = relative(path)?;
        self.is_file(path, &inside)?;
        let found = self.dir.metadata(&inside);
        Ok(found.map_err(|error| failed(path, error))?.len())
    }

    /// Writes a file, as a whole or not at all, and replaces an existing one; missing folders are
    /// made.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), SandboxError> {
        let inside = relative(path)?;
        match self.is_file(path, &inside) {
            Ok(()) | Err(SandboxError::Missing { .. }) => {}
            Err(refused) => return Err(refused),
        }
        // The target of a link is replaced, and not the link.
        let inside = self.dir.canonicalize(&inside).unwrap_or(inside);
        let beside = beside(&inside);
        let written = self.replace(&inside, &beside, bytes);
        written.map_err(|error| {
            // The new file may not exist.
            let _ = self.dir.remove_file(&beside);
            unwritten(path, error)
        })
    }

    fn replace(&self, inside: &Path, beside: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(folder) = inside.parent().filter(|it| !it.as_os_str().is_empty()) {
            self.dir.create_dir_all(folder)?;
        }
        let mut file = self.dir.create(beside)?;
        file.write_all(bytes)?;
        if let Ok(there) = self.dir.metadata(inside) {
            file.set_permissions(there.permissions())?;
        }
        file.sync_all()?;
        self.dir.rename(beside, &self.dir, inside)
    }

    /// Checks the kind of a file before it is opened: opening a pipe would wait for its other end.
    fn is_file(&self, path: &str, inside: &Path) -> Result<(), SandboxError> {
        let found = self.dir.metadata(inside);
        let found = found.map_err(|error| failed(path, error))?;
        if found.is_file() {
            return Ok(());
        }
        let path = path.to_owned();
        Err(SandboxError::NoFile { path })
    }

    /// Opens a folder inside, and returns it with its path as it is shown.
    pub(crate) fn folder(&self, path: &str) -> Result<(Dir, String), SandboxError> {
        let inside = relative(path)?;
        let opened = self.dir.open_dir(&inside);
        let dir = opened.map_err(|error| failed(path, error))?;
        let shown = inside.to_string_lossy().replace('\\', "/");
        Ok((dir, if shown == "." { String::new() } else { shown }))
    }
}

/// Returns a path inside, from a path as models write it: `~` and a root are the folder. A path
/// that leads upwards out of it is refused here, with a text for the model; links are checked when
/// they are opened.
fn relative(path: &str) -> Result<PathBuf, SandboxError> {
    let trimmed = path.trim();
    let rest = trimmed.strip_prefix('~').unwrap_or(trimmed);
    let mut inside = PathBuf::new();
    for component in Path::new(rest).components() {
        match component {
            Component::Normal(name) => inside.push(name),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir if inside.pop() => {}
            _ => return Err(outside(path)),
        }
    }
    if inside.as_os_str().is_empty() {
        inside.push(".");
    }
    Ok(inside)
}

fn outside(path: &str) -> SandboxError {
    SandboxError::Outside { path: path.into() }
}

/// Returns the path of the temporary file that replaces another one; no other writer uses the same.
fn beside(path: &Path) -> PathBuf {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let n = WRITTEN.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".{}.{n}.new", std::process::id()))
}

fn unwritten(path: &str, source: io::Error) -> SandboxError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => SandboxError::Full { path },
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => failed(&path, source),
        _ => SandboxError::Unwritable { path, source },
    }
}

/// Returns the text of a file, of which the last character may be cut off; none if it is not UTF-8.
fn beginning(bytes: Vec<u8>) -> Option<String> {
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let utf8 = error.utf8_error();
            let cut_off = utf8.error_len().is_none();
            let mut bytes = error.into_bytes();
            bytes.truncate(utf8.valid_up_to());
            cut_off.then(|| String::from_utf8(bytes).ok()).flatten()
        }
    }
}

fn failed(path: &str, source: io::Error) -> SandboxError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => SandboxError::Missing { path },
        // A path that leads out is denied so, and so is a file without the permission to read.
        io::ErrorKind::PermissionDenied => SandboxError::Outside { path },
        _ => SandboxError::Unreadable { path, source },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn trn_w3_nothing_leads_out_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("desk");
        fs::create_dir_all(folder.join("notes")).unwrap();
        fs::write(place.path().join("secret"), "secret").unwrap();
        fs::write(folder.join("notes/a.md"), "inside").unwrap();
        let sandbox = Sandbox::open(&folder).unwrap();
        for path in [
            "notes/a.md",
            "~/notes/a.md",
            "/notes/a.md",
            "notes/../notes/./a.md",
        ] {
            assert_eq!(sandbox.read(path, 99).unwrap(), b"inside", "{path}");
        }
        let absolute = place.path().join("secret").display().to_string();
        for path in ["../secret", "notes/../../secret", "~/../secret", &absolute] {
            let error = sandbox.read(path, 99).unwrap_err();
            let kept = matches!(
                error,
                SandboxError::Outside { .. } | SandboxError::Missing { .. }
            );
            assert!(kept, "{path}: {error:?}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(place.path(), folder.join("up")).unwrap();
            let error = sandbox.read("up/secret", 99).unwrap_err();
            assert!(matches!(error, SandboxError::Outside { .. }), "{error:?}");
            assert!(sandbox.write("up/new", b"x").is_err());
            assert!(sandbox.folder("up").is_err());
        }
        assert!(Sandbox::open(place.path().join("none")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn trn_w3_a_pipe_is_no_file_and_nobody_waits_for_its_other_end() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        fs::create_dir(place.path().join("folder")).unwrap();
        let sandbox = Sandbox::open(place.path()).unwrap();
        for path in ["pipe", "folder"] {
            let read = sandbox.read(path, 99).unwrap_err();
            assert!(matches!(read, SandboxError::NoFile { .. }), "{read:?}");
            let written = sandbox.write(path, b"x").unwrap_err();
            assert!(
                matches!(written, SandboxError::NoFile { .. }),
                "{written:?}"
            );
        }
        sandbox.write("new", b"x").unwrap();
        assert_eq!(sandbox.read("new", 99).unwrap(), b"x");
    }
}
