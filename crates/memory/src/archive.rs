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
    /// An event of a run.
    Event(Box<Event>),
    /// A message of the conversation.
    Message(Message),
}

/// The version of the lines.
///
/// - 1: the first.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct ArchiveLine<'a> {
    v: u32,
    #[serde(flatten)]
    entry: &'a ArchiveEntry,
}

#[derive(Deserialize)]
struct ParsedLine {
    v: u32,
    #[serde(flatten)]
    entry: ArchiveEntry,
}

/// A writer of archives, with one line of JSON for each entry.
///
/// Written lines are never rewritten, and any JSON parser can read them.
#[derive(Debug)]
pub struct ArchiveWriter<W> {
    to: W,
}

impl<W: Write> ArchiveWriter<W> {
    /// Creates a writer that writes to `to`. Open a file with `append` to keep the lines in it.
    pub fn new(to: W) -> Self {
        Self { to }
    }

    /// Writes one line with a single call of `write_all`, and flushes.
    pub fn write(&mut self, entry: &ArchiveEntry) -> Result<(), ArchiveError> {
        let mut line = serde_json::to_vec(&ArchiveLine { v: VERSION, entry })
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

    /// Returns the underlying writer.
    pub fn into_inner(self) -> W {
        self.to
    }
}

/// The entries of an archive.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Archive {
    /// The entries, in the order of their lines.
    pub entries: Vec<ArchiveEntry>,
    /// True if the last line is incomplete because its writer died; that line is left out.
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
            let read: ParsedLine = serde_json::from_slice(&bytes)
                .map_err(|source| ArchiveError::Line { line, source })?;
            if read.v != VERSION {
                let found = read.v;
                return Err(ArchiveError::Version { line, found });
            }
            archive.entries.push(read.entry);
        }
        Ok(archive)
    }

    /// Returns the events, in the order of the lines.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.entries.iter().filter_map(|entry| match entry {
            ArchiveEntry::Event(event) => Some(&**event),
            ArchiveEntry::Message(_) => None,
        })
    }

    /// Returns the messages, in the order of the lines.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.entries.iter().filter_map(|entry| match entry {
            ArchiveEntry::Message(message) => Some(message),
            ArchiveEntry::Event(_) => None,
        })
    }
}

/// An error of writing or reading an archive.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The file cannot be read or written.
    #[error("the archive cannot be reached")]
    Io(#[from] io::Error),
    /// A line that is no entry.
    #[error("line {line} of the archive is no entry")]
    Line {
        /// The number of the line, from 1; 0 for a line that is being written.
        line: usize,
        /// The error of the JSON parser or serialiser.
        source: serde_json::Error,
    },
    /// A line of an unknown version.
    #[error("line {line} of the archive has version {found}, and version 1 is known")]
    Version {
        /// The number of the line, from 1.
        line: usize,
        /// The version of the line.
        found: u32,
    },
}
