//! Attachments: the files that people upload to a conversation, kept by the digest of their content.
//!
//! A file waits in the folder of its conversation until a document is written with it; then it is
//! kept for good. What was never written goes with the conversation.
mod fetch;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use fugato::{
    BoxError,
    cli::ThreadResources,
    state::{ThreadId, say},
    stream::EscapedText,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(crate) use fetch::link;
pub use fetch::{FetchedFile, KeptFile};

/// The most bytes of a file.
pub const LARGEST: usize = 10 << 20;
/// The most files of a conversation that wait for a document.
pub const MOST: usize = 20;
/// The most bytes of all files of a store that wait for a document.
pub const MOST_BYTES: u64 = 500 << 20;
/// The most characters of the name of a file.
const LONGEST_NAME: usize = 120;

/// A file that was uploaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// Its name, without a folder.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The type of its content, such as `pdf`.
    pub kind: String,
    /// The SHA-256 of its content, in hexadecimal.
    pub digest: String,
}

/// The words that stand directly before the name of a file in Chinese, which has no spaces.
const BEFORE: &str = "用 拿 凭 附上 附件 附件是 加 加上 添加 补上 上传 提交 换成 改成 删掉 去掉 不要 别用 和 及 与 跟 是 为 有 了 元 块 日 号";

/// Returns true if words name a file: its name stands for itself, or behind a word that is no part of
/// a name, such as 用小票.pdf; 酒店小票.pdf is another file.
pub(crate) fn is_named(words: &str, file: &str) -> bool {
    let is_apart = |(at, _): (usize, &str)| {
        let before = words.get(..at).unwrap_or_default();
        let last = before.chars().next_back();
        last.is_none_or(|c| !c.is_alphanumeric() && !"_-.".contains(c))
            || BEFORE.split(' ').any(|word| before.ends_with(word))
    };
    words.match_indices(file).any(is_apart)
}

/// Returns the uploaded file that a name read from words means.
pub(crate) fn meant<'f>(files: impl Iterator<Item = &'f str>, name: &str) -> Option<&'f str> {
    let is_meant = |file: &&str| name.ends_with(file) && is_named(name, file);
    files.filter(is_meant).max_by_key(|file| file.len())
}

impl Attachment {
    /// Returns its name, its size and the path at which its owner fetches it, for a person.
    pub fn shown(&self) -> String {
        KeptFile::from(self).shown()
    }

    /// Returns its fields and the path at which its owner fetches it, for a client.
    pub fn linked(&self) -> Value {
        let mut told = json!(self);
        if let Some(told) = told.as_object_mut() {
            told.insert("link".into(), link(&self.digest).into());
        }
        told
    }
}

/// A file is not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The name is none.
    #[error("{}", say!(
        "{given:?} cannot name a file; allowed are 1 to {LONGEST_NAME} visible characters without / and \\",
        "{given:?} 不能作为文件名；允许 1 到 {LONGEST_NAME} 个可见字符，不含 / 和 \\"
    ))]
    Name {
        /// The name.
        given: String,
    },
    /// It is empty or too large.
    #[error("{}", say!(
        "{name} has {bytes} bytes; allowed are 1 to {LARGEST}",
        "{name} 有 {bytes} 个字节；允许 1 到 {LARGEST}"
    ))]
    Size {
        /// The name.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// Its content is of no allowed type, or of another one than its name says.
    #[error("{}", say!(
        "the content of {name} is not what its name says; allowed are pdf, jpg, png, heic, ofd, xml, xlsx, docx and zip",
        "{name} 的内容与名称不符；允许 pdf、jpg、png、heic、ofd、xml、xlsx、docx 和 zip"
    ))]
    Type {
        /// The name.
        name: String,
    },
    /// There are too many.
    #[error("{}", say!(
        "{MOST} files of this conversation wait for a document already; write one first",
        "这个会话已有 {MOST} 个文件在等待单据；请先写入一张"
    ))]
    TooMany,
    /// All files together are too large.
    #[error("{}", say!(
        "the files that wait for a document have {MOST_BYTES} bytes; write one first, or delete a conversation that has some",
        "等待单据的文件已有 {MOST_BYTES} 个字节；请先写入一张单据，或删除带有文件的会话"
    ))]
    Full,
    /// A person has no such file.
    #[error("{}", say!("you have no attachment {id:?}", "你没有附件 {id:?}"))]
    Unknown {
        /// The digest, or what was given in its place.
        id: String,
    },
    /// A file is not in the folder any more, or was changed there.
    #[error("{}", say!(
        "the content of {name} is not in the folder of the attachments as it was uploaded",
        "附件文件夹里的 {name} 不再是上传时的内容"
    ))]
    Lost {
        /// The name.
        name: String,
    },
    /// This program has no folder for files.
    #[error("{}", say!("this program keeps no files", "这个程序不保存文件"))]
    NoFolder,
    /// The folder cannot be used.
    #[error("{}", say!("the folder of the attachments cannot be used now", "现在无法使用附件的文件夹"))]
    Folder(#[from] io::Error),
}

/// The files of all conversations, in a folder. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct FileStore {
    folder: Option<PathBuf>,
}

/// A file that waits, as it is noted beside its content.
#[derive(Serialize, Deserialize)]
struct Waiting {
    owner: String,
    #[serde(flatten)]
    file: Attachment,
}

impl FileStore {
    /// Creates a store in a folder that holds nothing else. The folder is made with the first file.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
        }
    }

    /// Keeps a file for a conversation. A file of the same name takes the place of the earlier one.
    ///
    /// # Errors
    /// A [`FileError`] says what is allowed.
    pub async fn upload(
        &self,
        thread: &ThreadId,
        owner: &str,
        name: &str,
        content: Vec<u8>,
    ) -> Result<Attachment, FileError> {
        let file = examined(name, &content)?;
        let place = self.place(thread).ok_or(FileError::NoFolder)?;
        let there = self.of(thread, owner)?;
        if there.len() >= MOST && !there.iter().any(|known| known.name == file.name) {
            return Err(FileError::TooMany);
        }
        let owner = owner.to_owned();
        let open = place.parent().map(Path::to_path_buf).unwrap_or_default();
        let kept = blocking(move || {
            if waiting_bytes(&open)?.saturating_add(file.size) > MOST_BYTES {
                return Ok(None);
            }
            fs::create_dir_all(&place)?;
            write(&place.join(&file.digest), &content)?;
            let note = place.join(note_name(&owner, &file.name));
            let waiting = Waiting { owner, file };
            write(&note, &serde_json::to_vec(&waiting)?)?;
            Ok(Some(waiting.file))
        });
        kept.await?.ok_or(FileError::Full)
    }

    /// Returns the files of a person in a conversation that wait for a document, by their names.
    pub fn of(&self, thread: &ThreadId, owner: &str) -> Result<Vec<Attachment>, FileError> {
        let Some(place) = self.place(thread) else {
            return Ok(vec![]);
        };
        // A few small notes, which are read before another thread would have begun to.
        let mut found: Vec<_> = notes(&place)?
            .into_iter()
            .filter(|waiting| waiting.owner == owner)
            .map(|waiting| waiting.file)
            .filter(|file| place.join(&file.digest).exists())
            .collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Keeps the content of files for good, before a document is written with them. A repeat changes
    /// nothing.
    pub(crate) async fn keep(
        &self,
        thread: &ThreadId,
        files: Vec<Attachment>,
    ) -> Result<(), FileError> {
        let (Some(folder), Some(place)) = (self.folder.clone(), self.place(thread)) else {
            return Ok(());
        };
        if files.is_empty() {
            return Ok(());
        }
        blocking(move || {
            let kept = folder.join("kept");
            fs::create_dir_all(&kept)?;
            for file in files {
                let target = kept.join(&file.digest);
                if !target.exists() {
                    write(&target, &content(&place, &file)?)?;
                }
            }
            Ok(())
        })
        .await
    }

    /// Removes files that a document was written with from those that wait. A repeat changes
    /// nothing.
    pub(crate) async fn written(
        &self,
        thread: &ThreadId,
        owner: &str,
        files: Vec<Attachment>,
    ) -> Result<(), FileError> {
        let Some(place) = self.place(thread).filter(|_| !files.is_empty()) else {
            return Ok(());
        };
        let owner = owner.to_owned();
        blocking(move || {
            // One that was uploaded since under the same name still waits.
            let there = notes(&place)?;
            let is_own = |file: &&Attachment| {
                let mut own = there.iter().filter(|it| it.owner == owner);
                own.any(|it| it.file == **file)
            };
            for file in files.iter().filter(is_own) {
                gone(fs::remove_file(place.join(note_name(&owner, &file.name))))?;
            }
            let there = notes(&place)?;
            let waits = |file: &&Attachment| there.iter().any(|it| it.file.digest == file.digest);
            for file in files.iter().filter(|file| !waits(file)) {
                gone(fs::remove_file(place.join(&file.digest)))?;
            }
            Ok(())
        })
        .await
    }

    /// Returns true if the content of a file is here, waiting or kept.
    pub(crate) fn has(&self, thread: &ThreadId, file: &Attachment) -> bool {
        let place = self.place(thread);
        self.is_kept(file) || place.is_some_and(|place| place.join(&file.digest).exists())
    }

    /// Returns true if the content of a file is kept, as a document was written with it.
    pub(crate) fn is_kept(&self, file: &Attachment) -> bool {
        let kept = self.folder.as_ref().map(|folder| folder.join("kept"));
        kept.is_some_and(|kept| kept.join(&file.digest).exists())
    }

    /// Returns the folder of a conversation, which may have any name.
    fn place(&self, thread: &ThreadId) -> Option<PathBuf> {
        let name = sha256(thread.as_str().as_bytes());
        self.folder
            .as_ref()
            .map(|folder| folder.join("open").join(name))
    }
}

/// The files that wait go with their conversation; those of documents stay.
#[async_trait]
impl ThreadResources for FileStore {
    async fn exist(&self, thread: &ThreadId) -> Result<bool, BoxError> {
        Ok(self.place(thread).is_some_and(|place| place.exists()))
    }

    async fn export(&self, thread: &ThreadId, folder: &Path) -> Result<(), BoxError> {
        let Some(place) = self.place(thread) else {
            return Ok(());
        };
        for waiting in notes(&place)? {
            let file = &waiting.file;
            let name = file.name.clone();
            let content = content(&place, file).map_err(|_| FileError::Lost { name })?;
            fs::write(folder.join(&file.name), content)?;
        }
        Ok(())
    }

    async fn copy(&self, from: &ThreadId, to: &ThreadId) -> Result<(), BoxError> {
        let (Some(from), Some(to)) = (self.place(from), self.place(to)) else {
            return Ok(());
        };
        let own = own_files(&from)?;
        if !own.is_empty() {
            fs::create_dir_all(&to)?;
        }
        for path in own {
            if let Some(name) = path.file_name() {
                fs::copy(&path, to.join(name))?;
            }
        }
        Ok(())
    }

    async fn delete(&self, thread: &ThreadId) -> Result<(), BoxError> {
        match self.place(thread) {
            Some(place) => Ok(gone(fs::remove_dir_all(place))?),
            None => Ok(()),
        }
    }
}

/// Returns the file that an upload is, or why it is none.
fn examined(name: &str, content: &[u8]) -> Result<Attachment, FileError> {
    let name = name.trim();
    let is_name = (1..=LONGEST_NAME).contains(&name.chars().count())
        && !name.starts_with('.')
        && !name.contains(['/', '\\'])
        // A name that a person would read as another one, as with a mark that turns the direction of
        // writing, would agree with no card that shows it.
        && EscapedText::line(name).to_string() == name;
    if !is_name {
        let given = name.chars().take(LONGEST_NAME).collect();
        return Err(FileError::Name { given });
    }
    let name = name.to_owned();
    let bytes = content.len();
    if !(1..=LARGEST).contains(&bytes) {
        return Err(FileError::Size { name, bytes });
    }
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let ending = ending.unwrap_or_default().to_lowercase();
    match kind(content, &ending) {
        Some(kind) => Ok(Attachment {
            kind: kind.to_owned(),
            size: bytes as u64,
            digest: sha256(content),
            name,
        }),
        None => Err(FileError::Type { name }),
    }
}

/// Returns the type that a content has, if the ending of its name says the same.
fn kind(content: &[u8], ending: &str) -> Option<&'static str> {
    let text = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let heic = content.get(4..8) == Some(b"ftyp".as_slice());
    let (kind, endings): (_, &[&str]) = match content {
        [b'%', b'P', b'D', b'F', b'-', ..] => ("pdf", &["pdf"]),
        [0xff, 0xd8, 0xff, ..] => ("jpg", &["jpg", "jpeg"]),
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => ("png", &["png"]),
        [b'P', b'K', 3, 4, ..] => ("zip", &["zip", "ofd", "docx", "xlsx"]),
        _ if heic => ("heic", &["heic"]),
        _ if text.starts_with(b"<?xml") => ("xml", &["xml"]),
        _ => return None,
    };
    endings.contains(&ending).then_some(kind)
}

fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn note_name(owner: &str, name: &str) -> String {
    format!("{}.json", sha256(format!("{owner}\n{name}").as_bytes()))
}

/// Returns the bytes of the files of all conversations that wait.
fn waiting_bytes(open: &Path) -> io::Result<u64> {
    let mut bytes = 0_u64;
    for place in listed(open)? {
        for file in listed(&place)? {
            bytes = bytes.saturating_add(fs::metadata(file).map_or(0, |file| file.len()));
        }
    }
    Ok(bytes)
}

/// Returns what is in a folder; nothing if there is none.
fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(vec![]),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// Returns the files in the folder of a conversation: a link leads to what may be another person's,
/// and is none of them.
fn own_files(place: &Path) -> io::Result<Vec<PathBuf>> {
    let is = |path: &Path, kind: fn(&fs::FileType) -> bool| {
        fs::symlink_metadata(path).is_ok_and(|it| kind(&it.file_type()))
    };
    if !is(place, fs::FileType::is_dir) {
        return Ok(vec![]);
    }
    let mut files = listed(place)?;
    files.retain(|path| is(path, fs::FileType::is_file));
    Ok(files)
}

/// Returns the content of a file that waits, as it was uploaded.
fn content(place: &Path, file: &Attachment) -> io::Result<Vec<u8>> {
    let path = place.join(&file.digest);
    let changed = || io::Error::new(io::ErrorKind::InvalidData, "it is not what was uploaded");
    if !own_files(place)?.contains(&path) {
        return Err(changed());
    }
    let content = fs::read(path)?;
    if sha256(&content) != file.digest {
        return Err(changed());
    }
    Ok(content)
}

/// Returns the notes in the folder of a conversation. One that cannot be read is left out.
fn notes(place: &Path) -> io::Result<Vec<Waiting>> {
    let mut found = vec![];
    for path in own_files(place)? {
        if path.extension().is_some_and(|ending| ending == "json")
            && let Ok(note) = serde_json::from_slice(&fs::read(path)?)
        {
            found.push(note);
        }
    }
    Ok(found)
}

/// Writes a file whole or not at all. Two that write the same file at once have parts of their own.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let n = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let partial = path.with_extension(format!("{}.{n}.part", std::process::id()));
    let written = fs::write(&partial, content).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // A part takes room that others need, and may be there no more.
        let _ = fs::remove_file(&partial);
    }
    written
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, FileError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(io::Error::other).and_then(|done| done)?)
}
