//! What happened to the world: lines in files that no store knows of.
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::BoxError;

/// One line of the evidence of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The process that wrote it.
    pub process: u32,
    /// The task: `node#visit`, with its scope and index.
    pub task: String,
    /// What happened.
    pub what: EvidenceKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// An attempt of the task began.
    Began {
        /// Which, from 1.
        attempt: u32,
    },
    /// An action was done.
    Did {
        /// Its key within the task.
        key: String,
        /// The idempotency key that it was given.
        idempotency: String,
    },
    /// An action in doubt was looked after.
    Looked {
        /// Its key within the task.
        key: String,
        /// Whether it was found to have happened.
        happened: bool,
    },
}

/// A folder with a file of evidence for each thread. What is added is on the disk when the call
/// returns.
#[derive(Debug, Clone)]
pub struct Evidence {
    folder: Arc<Path>,
}

impl Evidence {
    /// Evidence in a folder, which several processes may share.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self {
            folder: folder.into(),
        })
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a line to the evidence of a thread.
    pub fn add(&self, thread: &str, task: &str, what: EvidenceKind) -> io::Result<()> {
        let line = Line {
            process: std::process::id(),
            task: task.to_owned(),
            what,
        };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        let mut open = OpenOptions::new();
        let mut file = open.append(true).create(true).open(self.file(thread))?;
        // One write to a file that is appended to: lines of several processes never mix.
        file.write_all(&text)?;
        file.sync_data()
    }

    /// What happened for a thread so far, in order.
    pub fn lines(&self, thread: &str) -> Result<Vec<Line>, BoxError> {
        let text = match fs::read_to_string(self.file(thread)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        let lines = text.lines().map(serde_json::from_str);
        Ok(lines.collect::<Result<_, _>>()?)
    }

    /// Whether an action was done.
    pub fn shows(&self, thread: &str, task: &str, key: &str) -> Result<bool, BoxError> {
        let did = |line: &Line| {
            line.task == task
                && matches!(&line.what, EvidenceKind::Did { key: own, .. } if own == key)
        };
        Ok(self.lines(thread)?.iter().any(did))
    }

    fn file(&self, thread: &str) -> PathBuf {
        self.folder.join(format!("{thread}.jsonl"))
    }
}
