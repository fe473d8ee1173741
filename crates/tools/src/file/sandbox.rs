use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::{Component, Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::UNIX_EPOCH,
};

use cap_std::{ambient_authority, fs::Dir};
use fugato_state::say;
use fugato_tool::ToolFailure;
use sha2::{Digest as _, Sha256};
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
    /// It is not the one that was to be written.
    #[error("{}", say!(
        "{path:?} has changed since this was agreed to; nothing was written",
        "{path:?} 在同意之后有了变化；没有写入"
    ))]
    Changed {
        /// The path.
        path: String,
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
            SandboxError::Changed { .. } => Self::failed(text).advice(say!(
                "call it again: the person is then asked about what is there now",
                "请重新调用：这样会就现有内容询问用户"
            )),
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

    /// Returns the version of a file, by which [`write_over`](Self::write_over) knows it again: a digest
    /// of what it holds, or of a large one its size and time. A file that does not exist has one, too.
    pub fn version(&self, path: &str) -> Result<String, SandboxError> {
        let inside = relative(path)?;
        match self.is_file(path, &inside) {
            Err(SandboxError::Missing { .. }) => Ok(ABSENT.to_owned()),
            Err(refused) => Err(refused),
            Ok(()) => {
                let version = self.version_inside(&inside);
                version.map_err(|error| failed(path, error))
            }
        }
    }

    fn version_inside(&self, inside: &Path) -> io::Result<String> {
        let file = match self.dir.open(inside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ABSENT.to_owned()),
            file => file?,
        };
        let metadata = file.metadata()?;
        if metadata.len() > MOST_DIGESTED {
            let since = metadata.modified()?.into_std().duration_since(UNIX_EPOCH);
            let at = since.unwrap_or_default().as_nanos();
            return Ok(format!("{}@{at}", metadata.len()));
        }
        let mut bytes = vec![];
        file.take(MOST_DIGESTED).read_to_end(&mut bytes)?;
        Ok(digest(&bytes))
    }

    /// Writes a file, as a whole or not at all, and replaces an existing one; missing folders are
    /// made.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), SandboxError> {
        self.write_if(None, path, bytes)
    }

    /// Writes a file as [`write`](Self::write) does, in place of this [version](Self::version) only: of
    /// writers in any process that agree on one version, one writes. A file that holds these bytes
    /// already is as it should be.
    pub fn write_over(&self, version: &str, path: &str, bytes: &[u8]) -> Result<(), SandboxError> {
        self.write_if(Some(version), path, bytes)
    }

    fn write_if(
        &self,
        version: Option<&str>,
        path: &str,
        bytes: &[u8],
    ) -> Result<(), SandboxError> {
        let inside = relative(path)?;
        match self.is_file(path, &inside) {
            Ok(()) | Err(SandboxError::Missing { .. }) => {}
            Err(refused) => return Err(refused),
        }
        // The target of a link is replaced, and not the link.
        let inside = self.dir.canonicalize(&inside).unwrap_or(inside);
        let changed = || SandboxError::Changed { path: path.into() };
        let _alone = self
            .alone(&inside)
            .map_err(|error| unwritten(path, error))?;
        if let Some(version) = version {
            let there = self.version_inside(&inside);
            let there = there.map_err(|error| failed(path, error))?;
            if there != version {
                let is_done = there == digest(bytes);
                return if is_done { Ok(()) } else { Err(changed()) };
            }
        }
        let (beside, is_new) = (beside(&inside), version == Some(ABSENT));
        let written = self.replace(&inside, &beside, bytes, is_new);
        written.map_err(|error| {
            // The new file may not exist.
            let _ = self.dir.remove_file(&beside);
            match error.kind() {
                io::ErrorKind::AlreadyExists if is_new => changed(),
                _ => unwritten(path, error),
            }
        })
    }

    /// Makes the folder of a file, and waits until nobody else writes in it. File systems without locks
    /// let other processes write.
    fn alone(&self, inside: &Path) -> io::Result<Option<File>> {
        let folder = inside.parent().filter(|it| !it.as_os_str().is_empty());
        if let Some(folder) = folder {
            self.dir.create_dir_all(folder)?;
        }
        // Opened anew, as the threads of a process exclude each other only then.
        let opened = self.dir.open(folder.unwrap_or(Path::new(".")));
        let folder = opened.ok().map(cap_std::fs::File::into_std);
        Ok(folder.filter(|folder| folder.lock().is_ok()))
    }

    fn replace(&self, inside: &Path, beside: &Path, bytes: &[u8], is_new: bool) -> io::Result<()> {
        let mut file = self.dir.create(beside)?;
        file.write_all(bytes)?;
        if let Ok(there) = self.dir.metadata(inside) {
            file.set_permissions(there.permissions())?;
        }
        file.sync_all()?;
        if is_new {
            // A writer that waits for nobody may have made the file: a link replaces none.
            match self.dir.hard_link(beside, &self.dir, inside) {
                Ok(()) => return self.dir.remove_file(beside),
                Err(error) if self.dir.metadata(inside).is_ok() => {
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, error));
                }
                // The file system has no such links, or one to nothing is there.
                Err(_) => {}
            }
        }
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

/// The version of a file that does not exist.
const ABSENT: &str = "absent";
/// The size in bytes above which a file is known by its size and time.
const MOST_DIGESTED: u64 = 16 << 20;

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        use std::fmt::Write as _;
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
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

    #[test]
    fn k35_of_writers_that_agree_on_one_version_one_writes() {
        let place = tempfile::tempdir().unwrap();
        for round in 0..20 {
            let path = format!("new/{}.txt", round / 2);
            let version = Sandbox::open(place.path()).unwrap().version(&path).unwrap();
            let writer = |n: u8| {
                let (place, path, version) = (place.path(), path.clone(), version.clone());
                // Each has its own sandbox, as each process has.
                move || {
                    let sandbox = Sandbox::open(place).unwrap();
                    sandbox.write_over(&version, &path, &[n, round])
                }
            };
            let ended: Vec<_> = std::thread::scope(|threads| {
                let begun: Vec<_> = (0..8).map(|n| threads.spawn(writer(n))).collect();
                begun.into_iter().map(|it| it.join().unwrap()).collect()
            });
            let writers: Vec<u8> = (0..8)
                .zip(&ended)
                .filter(|it| it.1.is_ok())
                .map(|it| it.0)
                .collect();
            let there = fs::read(place.path().join(&path)).unwrap();
            assert_eq!((writers, round), (vec![there[0]], there[1]), "{ended:?}");
            let changed = |end: &Result<_, _>| matches!(end, Err(SandboxError::Changed { .. }));
            assert_eq!(
                ended.iter().filter(|end| changed(end)).count(),
                7,
                "{ended:?}"
            );
        }
    }

    #[test]
    fn k35_a_repeated_write_finds_its_own_text() {
        let place = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::open(place.path()).unwrap();
        for version in ["", &sandbox.version("a").unwrap()] {
            fs::write(place.path().join("a"), "tea").unwrap();
            sandbox.write_over(version, "a", b"tea").unwrap();
            let changed = sandbox.write_over(version, "a", b"gin");
            assert!(
                matches!(changed, Err(SandboxError::Changed { .. })),
                "{changed:?}"
            );
        }
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
