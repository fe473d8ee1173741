use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fugato_state::say;
use thiserror::Error;

/// A folder of Markdown that people and agents write: `MEMORY.md` for lasting notes, and a log for
/// each day in `memory/`.
///
/// The folder is the source; every index over it can be rebuilt. Those who write the lasting notes do
/// so one after the other, so that none of those which are written at the same time is lost: clones
/// everywhere, and other notebooks and processes where the system locks folders, as on Unix.
#[derive(Debug, Clone)]
pub struct Notebook {
    folder: PathBuf,
    /// Held from reading the lasting notes until they are replaced.
    writing: Arc<Mutex<()>>,
}

/// A Markdown file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteFile {
    /// Its path within the folder, with slashes.
    pub path: String,
    /// The text of the file.
    pub text: String,
}

/// The file of the lasting notes.
const LASTING: &str = "MEMORY.md";
/// The folder of the daily logs.
const DAYS: &str = "memory";

impl Notebook {
    /// Opens the notebook in a folder, which is created with the first note.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            writing: Arc::default(),
        }
    }

    /// Returns all files: the lasting notes first, and then the logs from the oldest day on.
    pub fn files(&self) -> Result<Vec<NoteFile>, NotebookError> {
        let mut files = vec![];
        if let Some(text) = self.read_what_is_text(LASTING)? {
            let path = LASTING.to_owned();
            files.push(NoteFile { path, text });
        }
        let days = self.folder.join(DAYS);
        for name in names(&days).map_err(|error| failed(&days, error))? {
            let path = format!("{DAYS}/{name}");
            match self.read_what_is_text(&path) {
                Ok(Some(text)) => files.push(NoteFile { path, text }),
                Ok(None) | Err(NotebookError::Outside { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(files)
    }

    /// Adds a line to the lasting notes, at the end of the section with this heading.
    ///
    /// A missing section is created. A line that is already there is not added again. The file is
    /// replaced atomically, so that no reader sees half of it.
    pub fn remember(&self, section: &str, note: &str) -> Result<(), NotebookError> {
        let (section, note) = (one_line(section)?, one_line(note)?);
        fs::create_dir_all(&self.folder).map_err(|error| failed(&self.folder, error))?;
        let _writing = self.alone();
        let text = self
            .read(LASTING)?
            .unwrap_or_else(|| "# Memory\n".to_owned());
        let path = self.inside(LASTING)?;
        let replaced = added(&text, &section, &format!("- {note}"));
        replace(&path, &replaced).map_err(|error| failed(&path, error))
    }

    /// Removes a note from the lasting notes, in whatever section it is, and returns true if it was
    /// there. Case, and marks at its end, do not matter.
    pub fn forget(&self, note: &str) -> Result<bool, NotebookError> {
        let unwanted = same(&one_line(note)?);
        let _writing = self.alone();
        let Some(text) = self.read(LASTING)? else {
            return Ok(false);
        };
        let is_kept = |line: &&str| line.strip_prefix("- ").map(same).as_ref() != Some(&unwanted);
        let kept: Vec<&str> = text.lines().filter(is_kept).collect();
        if kept.len() == text.lines().count() {
            return Ok(false);
        }
        let path = self.inside(LASTING)?;
        let written = replace(&path, &format!("{}\n", kept.join("\n")));
        written.map_err(|error| failed(&path, error))?;
        Ok(true)
    }

    /// Returns true if the lasting notes have this note, as [`forget`](Self::forget) finds it.
    pub fn has(&self, note: &str) -> Result<bool, NotebookError> {
        let (wanted, text) = (same(&one_line(note)?), self.read_what_is_text(LASTING)?);
        let text = text.unwrap_or_default();
        let mut notes = text.lines().filter_map(|line| line.strip_prefix("- "));
        Ok(notes.any(|note| same(note) == wanted))
    }

    /// Adds a line to the log of a day, such as `2026-11-22`.
    pub fn log(&self, day: &str, note: &str) -> Result<(), NotebookError> {
        let (path, note) = (self.inside(&of_day(day)?)?, one_line(note)?);
        append(&path, day, &note).map_err(|error| failed(&path, error))
    }

    /// Returns true if the log of a day contains this note as a whole line.
    pub fn is_logged(&self, day: &str, note: &str) -> Result<bool, NotebookError> {
        let (text, line) = (
            self.read_what_is_text(&of_day(day)?)?,
            format!("- {}", one_line(note)?),
        );
        Ok(text.is_some_and(|text| text.lines().any(|there| there == line)))
    }

    /// Waits until nobody else writes. File systems without locks let other processes write.
    fn alone(&self) -> (MutexGuard<'_, ()>, Option<File>) {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = File::open(&self.folder).ok();
        let _ = folder.as_ref().map(File::lock);
        (writing, folder)
    }

    /// Reads a file that is going to be written again: what is no text would be lost.
    fn read(&self, path: &str) -> Result<Option<String>, NotebookError> {
        let Some(bytes) = self.bytes(path)? else {
            return Ok(None);
        };
        String::from_utf8(bytes).map(Some).map_err(|error| {
            let (path, at) = (self.folder.join(path), error.utf8_error().valid_up_to());
            NotebookError::NotText { path, at }
        })
    }

    /// Reads a file as far as it is text: a bad byte costs that character, and no other file.
    fn read_what_is_text(&self, path: &str) -> Result<Option<String>, NotebookError> {
        let bytes = self.bytes(path)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Returns the path of a file, unless a link leads out of the folder: what lies there belongs to
    /// something else, or to somebody else.
    fn inside(&self, path: &str) -> Result<PathBuf, NotebookError> {
        let path = self.folder.join(path);
        let Ok(folder) = fs::canonicalize(&self.folder) else {
            // Nothing is there yet.
            return Ok(path);
        };
        let mut parts = path.ancestors().take_while(|part| *part != self.folder);
        // A link to nothing leads to what a writer would make there.
        let leads_out = |part: &Path| match fs::canonicalize(part) {
            Ok(part) => !part.starts_with(&folder),
            Err(_) => part.is_symlink(),
        };
        if parts.any(leads_out) {
            return Err(NotebookError::Outside { path });
        }
        Ok(path)
    }

    fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, NotebookError> {
        let path = self.inside(path)?;
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, error)),
        }
    }
}

/// An error of reading or writing a notebook.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotebookError {
    /// A file cannot be read or written.
    #[error("{}", say!("{} cannot be read or written", "无法读写 {}", path.display()))]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A link leads out of the folder.
    #[error("{}", say!(
        "{} is a link that leads out of the folder of notes; put the file itself there",
        "{} 是指到笔记文件夹之外的链接；请把文件本身放在那里",
        path.display()
    ))]
    Outside {
        /// The path of the link.
        path: PathBuf,
    },
    /// A file that is to be written again is no text.
    #[error("{}", say!(
        "{} is no text in UTF-8 from byte {at} on, and would be damaged by a change; save it in \
         UTF-8",
        "{} 从第 {at} 字节起不是 UTF-8 文本，改动会损坏它；请存成 UTF-8",
        path.display()
    ))]
    NotText {
        /// The path of the file.
        path: PathBuf,
        /// The number of bytes before the first that is no text.
        at: usize,
    },
    /// A name that is no day.
    #[error("{}", say!("{day:?} is no day; one such as 2026-11-22 is", "{day:?} 不是日期；例如 2026-11-22 才是"))]
    Day {
        /// The given name.
        day: String,
    },
    /// An empty note or heading.
    #[error("{}", say!("a note or its heading is empty", "笔记或它的标题是空的"))]
    Empty,
}

fn failed(path: &Path, source: io::Error) -> NotebookError {
    let path = path.to_owned();
    NotebookError::File { path, source }
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(error),
    };
    let mut names = vec![];
    for entry in entries {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".md") && !name.starts_with('.') {
            names.push(name.into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the path of the log of a day.
fn of_day(day: &str) -> Result<String, NotebookError> {
    if is_day(day) {
        return Ok(format!("{DAYS}/{day}.md"));
    }
    Err(NotebookError::Day { day: day.into() })
}

/// Joins the text into one line without leading `#`, because a note must not begin a heading or end
/// a section.
fn one_line(text: &str) -> Result<String, NotebookError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.trim_start_matches('#').trim_start();
    if line.is_empty() {
        return Err(NotebookError::Empty);
    }
    Ok(line.to_owned())
}

/// Returns what two notes have in common that say the same.
fn same(note: &str) -> String {
    let marks = |c: char| c.is_whitespace() || matches!(c, '.' | '!' | '。' | '！');
    note.trim_matches(marks).to_lowercase()
}

fn added(text: &str, section: &str, line: &str) -> String {
    let heading = format!("## {section}");
    let mut lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|there| there.trim_end() == heading) else {
        return format!("{}\n\n{heading}\n\n{line}\n", text.trim_end());
    };
    let rest = lines.iter().skip(at + 1);
    let length = rest
        .take_while(|there| !there.starts_with("# ") && !there.starts_with("## "))
        .count();
    let body = lines.iter().skip(at + 1).take(length);
    if body.clone().any(|there| *there == line) {
        return text.to_owned();
    }
    let blank_at_end = body
        .rev()
        .take_while(|there| there.trim().is_empty())
        .count();
    let end = at + 1 + length - blank_at_end;
    lines.insert(end, line);
    if end == at + 1 {
        lines.insert(end, "");
    }
    format!("{}\n", lines.join("\n"))
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let written = written(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The temporary file may not have been created.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn written(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn append(path: &Path, day: &str, note: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)?;
    let begin = match last_byte(&mut file)? {
        None => format!("# {day}\n\n"),
        Some(b'\n') => String::new(),
        // The previous write was cut off, for example by a full disk.
        Some(_) => "\n".to_owned(),
    };
    // One write call, so that two writers at the same time do not mix their lines.
    file.write_all(format!("{begin}- {note}\n").as_bytes())
}

fn last_byte(file: &mut File) -> io::Result<Option<u8>> {
    if file.metadata()?.len() == 0 {
        return Ok(None);
    }
    let mut last = [0_u8];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last.first().copied())
}

fn is_day(day: &str) -> bool {
    let shape = |(c, like): (char, char)| match like {
        '0' => c.is_ascii_digit(),
        like => c == like,
    };
    let number = |from: usize| day.get(from..from + 2).and_then(|n| n.parse::<u32>().ok());
    day.len() == 10
        && day.chars().zip("0000-00-00".chars()).all(shape)
        && number(5).is_some_and(|month| (1..=12).contains(&month))
        && number(8).is_some_and(|day| (1..=31).contains(&day))
}
