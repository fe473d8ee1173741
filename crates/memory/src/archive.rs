use std::io::{self, BufRead, Write};

use fugato_state::Message;
use fugato_stream::Event;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A line of an archive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ArchiveEntry {
    /// Something that happened in a run.
    Event(Box<Event>),
    /// Something that was said.
    Message(Message),
}

/// The version of the lines.
///
/// - 1: the first.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    #[serde(flatten)]
    entry: &'a ArchiveEntry,
}

#[derive(Deserialize)]
struct Read {
    v: u32,
    #[serde(flatten)]
    entry: ArchiveEntry,
}

/// Writes an archive: a line of JSON for each entry, so that it can be read by anything and is
/// never rewritten.
#[derive(Debug)]
pub struct ArchiveWriter<W> {
    to: W,
}

impl<W: Write> ArchiveWriter<W> {
    /// Writes at the end of what is there: of a file, one that was opened to append.
    pub fn new(to: W) -> Self {
        Self { to }
    }

    /// Writes a line, in one piece.
    pub fn write(&mut self, entry: &ArchiveEntry) -> Result<(), ArchiveError> {
        let mut line = serde_json::to_vec(&Written { v: VERSION, entry })
            .map_err(|source| ArchiveError::Line { line: 0, source })?;
        line.push(b'\n');
        self.to.write_all(&line)?;
        Ok(self.to.flush()?)
    }

    /// Writes an event.
    pub fn event(&mut self, event: Event) -> Result<(), ArchiveError> {
        self.write(&ArchiveEntry::Event(Box::new(event)))
    }

    /// Writes a message.
    pub fn message(&mut self, message: Message) -> Result<(), ArchiveError> {
        self.write(&ArchiveEntry::Message(message))
    }

    /// What it was written to.
    pub fn into_inner(self) -> W {
        self.to
    }
}

/// What an archive holds.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Archive {
    /// Its lines, in order.
    pub entries: Vec<ArchiveEntry>,
    /// Whether the last line was not written to its end, and is left out: whoever wrote it died.
    pub torn: bool,
}

impl Archive {
    /// Reads all of an archive.
    pub fn read(mut from: impl BufRead) -> Result<Self, ArchiveError> {
        let mut archive = Self::default();
        let mut bytes = vec![];
        for line in 1.. {
            bytes.clear();
            if from.read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            if bytes.last() != Some(&b'\n') {
                archive.torn = true;
                break;
            }
            let read: Read = serde_json::from_slice(&bytes)
                .map_err(|source| ArchiveError::Line { line, source })?;
            if read.v != VERSION {
                let found = read.v;
                return Err(ArchiveError::Version { line, found });
            }
            archive.entries.push(read.entry);
        }
        Ok(archive)
    }

    /// The events, as they happened.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.entries.iter().filter_map(|entry| match entry {
            ArchiveEntry::Event(event) => Some(&**event),
            ArchiveEntry::Message(_) => None,
        })
    }

    /// The messages, as they were said.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.entries.iter().filter_map(|entry| match entry {
            ArchiveEntry::Message(message) => Some(message),
            ArchiveEntry::Event(_) => None,
        })
    }
}

/// An archive cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The file.
    #[error("the archive cannot be reached")]
    Io(#[from] io::Error),
    /// A line is no entry.
    #[error("line {line} of the archive is no entry")]
    Line {
        /// Which, from 1; 0 for one that is being written.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A line is of a version that is not known.
    #[error("line {line} of the archive has version {found}, and version 1 is known")]
    Version {
        /// Which, from 1.
        line: usize,
        /// Its version.
        found: u32,
    },
}
