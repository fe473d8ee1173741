//! Files of this machine, named by who sits at it.
use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use fugato::{
    BoxError,
    state::{ThreadId, say},
};

use crate::{
    files::{Attachment, FileError, FileStore, LARGEST},
    ledger::Documents,
};

/// Keeps a file of this machine for a conversation of its owner.
///
/// # Errors
/// Names the file, and why it cannot be kept.
pub async fn attach(
    store: &FileStore,
    (thread, owner): (&ThreadId, &str),
    path: &Path,
) -> Result<Attachment, BoxError> {
    let unread = |error| {
        let path = path.display();
        say!("cannot read {path}: {error}", "无法读取 {path}：{error}")
    };
    let size = fs::metadata(path).map_err(unread)?;
    let name = path.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    let bytes = usize::try_from(size.len()).unwrap_or(usize::MAX);
    if !size.is_file() || bytes > LARGEST {
        let name = name.into_owned();
        return Err(FileError::Size { name, bytes }.into());
    }
    let content = fs::read(path).map_err(unread)?;
    Ok(store.upload(thread, owner, &name, content).await?)
}

/// Returns a line for each attachment of these documents, or of all if none is named. With a folder
/// each is copied into it, and the line has its path.
///
/// # Errors
/// Names the document that is not there, the file that is there already, or what cannot be read.
pub async fn fetched(
    (store, owner): (&FileStore, &str),
    written: &Documents,
    named: &[String],
    to: Option<&Path>,
) -> Result<Vec<String>, BoxError> {
    let mut lines = vec![];
    for id in named {
        if !written
            .all()
            .any(|document| document.id.eq_ignore_ascii_case(id))
        {
            return Err(say!("you have no document {id}", "你没有单据 {id}").into());
        }
    }
    let is_named =
        |id: &str| named.is_empty() || named.iter().any(|it| it.eq_ignore_ascii_case(id));
    for document in written.all().filter(|document| is_named(&document.id)) {
        for file in &document.files {
            let Some(folder) = to else {
                lines.push(format!("{}: {}", document.id, file.shown()));
                continue;
            };
            let fetched = store.fetch(owner, written, &file.digest).await?;
            let path = folder.join(&file.name);
            save(&path, &fetched.content).map_err(|error| {
                let path = path.display();
                say!("cannot write {path}: {error}", "无法写入 {path}：{error}")
            })?;
            lines.push(path.display().to_string());
        }
    }
    if lines.is_empty() {
        lines.push(say!("there are no attachments", "没有附件"));
    }
    Ok(lines)
}

/// Writes a new file; one that is there stays as it is.
fn save(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a file looks like one.
        let _ = fs::remove_file(path);
    }
    written
}

/// Keeps the files whose paths are in the words of who sits at this machine. What is no path of a
/// file is left to the words.
pub(crate) async fn attach_named(
    store: &FileStore,
    of: (&ThreadId, &str),
    words: &str,
) -> Result<(), BoxError> {
    for path in paths(words) {
        attach(store, of, &path).await?;
    }
    Ok(())
}

/// Returns the paths of files in a text. A path begins with a slash, a tilde or a dot.
fn paths(words: &str) -> Vec<PathBuf> {
    let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | '，' | ';' | '；' | '。' | '"');
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let begins = words.match_indices(['/', '~', '.']).map(|(at, _)| at);
    let mut found = vec![];
    let mut end = 0;
    for begin in begins {
        let rest = words.get(begin..).unwrap_or_default();
        if begin < end
            || !["/", "~/", "./", "../"]
                .iter()
                .any(|it| rest.starts_with(it))
        {
            continue;
        }
        let path = rest.split(is_end).next().unwrap_or_default();
        let path = match (path.strip_prefix("~/"), &home) {
            (Some(below), Some(home)) => home.join(below),
            _ => PathBuf::from(path),
        };
        if path.is_file() {
            end = begin + rest.find(is_end).unwrap_or(rest.len());
            found.push(path);
        }
    }
    found
}
