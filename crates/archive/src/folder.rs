//! The files of the archives.
use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufRead as _, BufReader, Write as _},
    path::PathBuf,
};

use fugato_state::{Seq, ThreadId};
use serde_json::Value;

/// The valid part of an archive: its last position, and its length in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IntactPart {
    pub(crate) seq: Seq,
    pub(crate) bytes: u64,
}

/// The greatest length of a file name on most file systems, less the suffix.
const LONGEST_NAME: usize = 240;

#[derive(Debug, Clone)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Returns the path of the archive of a thread. Bytes other than ASCII letters, digits, `-` and
    /// `_` are written as `%` and two hexadecimal digits. A name that is then too long for one file
    /// is split into folders, which end in `+`.
    pub(crate) fn path(&self, thread: &ThreadId) -> PathBuf {
        let mut path = self.0.clone();
        let mut name = String::new();
        for byte in thread.as_str().bytes() {
            if name.len() > LONGEST_NAME {
                path.push(format!("{name}+"));
                name.clear();
            }
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
                name.push(char::from(byte));
            } else {
                // Writing into a string cannot fail.
                let _ = write!(name, "%{byte:02x}");
            }
        }
        path.join(format!("{name}.jsonl"))
    }

    /// Locks the folder against other processes that write its archives; `None` if another one
    /// holds the lock. On file systems without locks, the next write repairs a file that two
    /// processes wrote.
    pub(crate) fn lock(&self) -> io::Result<Option<File>> {
        fs::create_dir_all(&self.0)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.0.join(".lock"))?;
        // Other errors are those of file systems without locks.
        let is_held = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        Ok((!is_held).then_some(file))
    }

    /// Returns the length of the file of a thread in bytes; `None` if there is no file.
    pub(crate) fn bytes(&self, thread: &ThreadId) -> io::Result<Option<u64>> {
        match fs::metadata(self.path(thread)) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the part of a file that can be trusted. Its last position is excluded, because a
    /// process that died may have left out events or half of a line there, and so is everything
    /// after a place where two processes wrote at once. Up to `base` everything is kept, because
    /// the log cannot replace it.
    pub(crate) fn whole(&self, thread: &ThreadId, base: Seq) -> io::Result<IntactPart> {
        let file = match File::open(self.path(thread)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(IntactPart::default());
            }
            Err(error) => return Err(error),
        };
        // The beginning of the last position, and the position before it.
        let (mut last, mut before): (Option<IntactPart>, Seq) = (None, 0);
        let (mut at, mut line) = (0, vec![]);
        let mut reader = BufReader::new(file);
        while reader.read_until(b'\n', &mut line)? > 0 {
            let Some(seq) = position(&line) else { break };
            match last {
                Some(last) if last.seq == seq => {}
                Some(last) if last.seq > seq => break,
                _ => {
                    before = last.map_or(0, |last| last.seq);
                    last = Some(IntactPart { seq, bytes: at });
                }
            }
            at += line.len() as u64;
            line.clear();
        }
        Ok(match last {
            Some(IntactPart { seq, .. }) if seq <= base => IntactPart { seq, bytes: at },
            Some(IntactPart { bytes, .. }) => IntactPart { seq: before, bytes },
            None => IntactPart::default(),
        })
    }

    /// Writes lines after the valid part of a file, and cuts off everything else.
    pub(crate) fn write(
        &self,
        thread: &ThreadId,
        whole: IntactPart,
        lines: &[u8],
    ) -> io::Result<()> {
        let path = self.path(thread);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        if file.metadata()?.len() != whole.bytes {
            file.set_len(whole.bytes)?;
        }
        file.write_all(lines)
    }
}

/// Returns the position of the event on a complete line.
fn position(line: &[u8]) -> Option<Seq> {
    if line.last() != Some(&b'\n') {
        return None;
    }
    let line: Value = serde_json::from_slice(line).ok()?;
    line.pointer("/event/seq")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_a_file_of_its_own() {
        let folder = Folder("archives".into());
        let name = |thread: &str| {
            let path = folder.path(&ThreadId::new(thread).unwrap());
            path.file_name().unwrap().to_string_lossy().into_owned()
        };
        assert_eq!(name("desk-1_a"), "desk-1_a.jsonl");
        assert_eq!(name("ada/desk.1"), "ada%2fdesk%2e1.jsonl");
        assert_eq!(name("ada%2fdesk"), "ada%252fdesk.jsonl");
        assert_eq!(name("书"), "%e4%b9%a6.jsonl");
    }

    #[test]
    fn the_longest_name_of_a_thread_has_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder(dir.path().to_owned());
        let thread = |last: &str| ThreadId::new("书".repeat(66) + last).unwrap();
        for last in ["a", "b"] {
            folder
                .write(&thread(last), IntactPart::default(), last.as_bytes())
                .unwrap();
        }
        let read = |last: &str| fs::read_to_string(folder.path(&thread(last))).unwrap();
        assert_eq!((read("a"), read("b")), ("a".to_owned(), "b".to_owned()));
    }

    #[test]
    fn trn_11_one_writes_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder(dir.path().join("archives"));
        let held = folder.lock().unwrap();
        assert!(held.is_some() && folder.lock().unwrap().is_none());
        drop(held);
        assert!(folder.lock().unwrap().is_some());
    }

    #[test]
    fn trn_11_the_last_position_and_what_follows_it_are_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder(dir.path().to_owned());
        let thread = ThreadId::new("desk").unwrap();
        let line = |seq: u64| format!("{{\"event\":{{\"seq\":{seq}}}}}\n");
        let whole = |lines: &[String]| {
            fs::write(folder.path(&thread), lines.concat()).unwrap();
            let whole = folder.whole(&thread, 0).unwrap();
            (whole.seq, whole.bytes / line(1).len() as u64)
        };
        assert_eq!(whole(&[]), (0, 0));
        assert_eq!(whole(&[line(1)]), (0, 0));
        assert_eq!(whole(&[line(1), line(2), line(2)]), (1, 1));
        assert_eq!(
            whole(&[line(1), line(3), line(4), line(4)[..9].into()]),
            (3, 2)
        );
        // A line without its end may be incomplete.
        assert_eq!(whole(&[line(1), line(2), line(3).trim().into()]), (1, 1));
        // Two processes wrote the same events.
        assert_eq!(
            whole(&[line(1), line(2), line(3), line(2), line(3)]),
            (2, 2)
        );
        assert_eq!(
            whole(&[line(1), line(2), "no JSON\n".into(), line(3)]),
            (1, 1)
        );
        // Events that were compacted away in the log are only here.
        let two = line(1).len() as u64 * 2;
        for (base, seq, bytes) in [(1, 1, two / 2), (2, 2, two), (7, 2, two)] {
            let kept = folder.whole(&thread, base).unwrap();
            assert_eq!(kept, IntactPart { seq, bytes }, "{base}");
        }
    }
}
