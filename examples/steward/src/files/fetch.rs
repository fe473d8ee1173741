//! The way back of a file: its owner fetches it, and nobody else.
use std::{fs, io, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{Attachment, FileError, FileStore, blocking, kind, listed, notes, sha256};
use crate::ledger::Documents;

/// The number of digits of a digest that name a file in a link.
const SHORT: usize = 16;

/// A file that a document was written with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its content, in hexadecimal.
    pub digest: String,
    /// The path at which its owner fetches it.
    pub link: String,
}

/// A file as its owner fetches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedFile {
    /// Its name, without a folder.
    pub name: String,
    /// The media type of its content.
    pub media: &'static str,
    /// Its content, which is what was uploaded.
    pub content: Vec<u8>,
}

impl KeptFile {
    pub(crate) fn new(name: String, size: u64, digest: String) -> Self {
        let link = link(&digest);
        Self {
            name,
            size,
            digest,
            link,
        }
    }
}

impl KeptFile {
    /// Returns its name, its size and its link, for a person.
    pub(crate) fn shown(&self) -> String {
        let (name, link) = (&self.name, &self.link);
        match self.size {
            size @ ..1024 => format!("{name} ({size} B) {link}"),
            size @ ..0x0010_0000 => format!("{name} ({} kB) {link}", size.div_ceil(1024)),
            size => format!("{name} ({} MB) {link}", size.div_ceil(0x0010_0000)),
        }
    }
}

impl From<&Attachment> for KeptFile {
    fn from(file: &Attachment) -> Self {
        Self::new(file.name.clone(), file.size, file.digest.clone())
    }
}

/// Returns the path at which the owner of a file fetches it.
pub(crate) fn link(digest: &str) -> String {
    let short = digest.get(..SHORT).unwrap_or(digest);
    format!("/steward/attachments/{short}")
}

impl FileStore {
    /// Returns a file of a person by its digest or the first sixteen digits of that: one that a
    /// document of theirs was written with, or one that waits in a conversation of theirs.
    ///
    /// # Errors
    /// [`FileError::Unknown`] if they have no such file, and [`FileError::Lost`] if its content is
    /// not what was uploaded any more.
    pub async fn fetch(
        &self,
        owner: &str,
        documents: &Documents,
        id: &str,
    ) -> Result<FetchedFile, FileError> {
        let folder = self.folder.clone().ok_or(FileError::NoFolder)?;
        let unknown = || FileError::Unknown {
            id: id.chars().take(2 * SHORT).collect(),
        };
        let is_id = (SHORT..=64).contains(&id.len()) && id.bytes().all(|c| c.is_ascii_hexdigit());
        if !is_id {
            return Err(unknown());
        }
        let id = id.to_ascii_lowercase();
        let kept = documents.all().flat_map(|document| &document.files);
        let kept = kept
            .filter(|file| file.digest.starts_with(&id))
            .map(|file| (file.clone(), folder.join("kept")))
            .next();
        let (name, digest) = match &kept {
            Some((file, _)) => (file.name.clone(), file.digest.clone()),
            None => (String::new(), id.clone()),
        };
        let owner = owner.to_owned();
        let found = blocking(move || match kept {
            Some((file, place)) => Ok(Some((read(place.join(&file.digest))?, file))),
            None => waiting(&folder.join("open"), &owner, &digest),
        });
        let (content, file) = found.await?.ok_or_else(unknown)?;
        let content = content.filter(|content| sha256(content) == file.digest);
        let lost = || FileError::Lost {
            name: if name.is_empty() {
                file.name.clone()
            } else {
                name
            },
        };
        let content = content.ok_or_else(lost)?;
        Ok(FetchedFile {
            media: media(&content, &file.name),
            name: file.name,
            content,
        })
    }
}

/// Returns the first file of a person that waits in any conversation and has such a digest.
fn waiting(
    open: &std::path::Path,
    owner: &str,
    digest: &str,
) -> io::Result<Option<(Option<Vec<u8>>, KeptFile)>> {
    for place in listed(open)? {
        let mut of_place = notes(&place)?.into_iter();
        let fits = |file: &Attachment| file.digest.starts_with(digest);
        if let Some(note) = of_place.find(|note| note.owner == owner && fits(&note.file)) {
            let content = read(place.join(&note.file.digest))?;
            return Ok(Some((content, KeptFile::from(&note.file))));
        }
    }
    Ok(None)
}

/// Returns the content of a file; none if there is no file.
fn read(path: PathBuf) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        content => content.map(Some),
    }
}

/// Returns the media type of a content. What could be a page of its own is only bytes.
fn media(content: &[u8], name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let ending = ending.unwrap_or_default().to_lowercase();
    match kind(content, &ending) {
        Some("pdf") => "application/pdf",
        Some("jpg") => "image/jpeg",
        Some("png") => "image/png",
        Some("heic") => "image/heic",
        Some("zip") if ending == "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}
