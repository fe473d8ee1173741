//! Files of this machine, named by who sits at it.
use std::path::{Path, PathBuf};

use fugato::{BoxError, state::ThreadId};

use crate::files::{Attachment, FileError, FileStore, LARGEST};

/// Keeps a file of this machine for a conversation of its owner.
///
/// # Errors
/// Names the file, and why it cannot be kept.
pub async fn attach(
    store: &FileStore,
    (thread, owner): (&ThreadId, &str),
    path: &Path,
) -> Result<Attachment, BoxError> {
    let unread = |error| format!("cannot read {}: {error}", path.display());
    let size = std::fs::metadata(path).map_err(unread)?;
    let name = path.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    let bytes = usize::try_from(size.len()).unwrap_or(usize::MAX);
    if !size.is_file() || bytes > LARGEST {
        let name = name.into_owned();
        return Err(FileError::Size { name, bytes }.into());
    }
    let content = std::fs::read(path).map_err(unread)?;
    Ok(store.upload(thread, owner, &name, content).await?)
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
