//! The files of the archives.
use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    path::PathBuf,
};

use fugato_state::{Seq, ThreadId};
use serde_json::Value;

/// Where an archive is whole, and how long it is up to there, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Whole {
    pub(crate) seq: Seq,
    pub(crate) bytes: u64,
}

/// What most file systems take, less what stands behind it.
const LONGEST_NAME: usize = 240;

#[derive(Debug, Clone)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// The file of a thread. What is no plain letter is written as `%` and two digits, and a name
    /// that is then too long for one file lies in folders of its beginning, which end in `+`.
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

    /// Keeps other processes from writing archives of this folder for as long as it is held; none
    /// if one of them does. Where files cannot be locked, what two have written is mended.
    pub(crate) fn lock(&self) -> io::Result<Option<File>> {
        fs::create_dir_all(&self.0)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.0.join(".lock"))?;
        #[cfg(unix)]
        {
            use rustix::{fs::FlockOperation, io::Errno};
            // Other errors are those of file systems that cannot.
            let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
            if locked == Err(Errno::WOULDBLOCK) {
                return Ok(None);
            }
        }
        Ok(Some(file))
    }

    /// How long the file of a thread is; none if there is no file.
    pub(crate) fn bytes(&self, thread: &ThreadId) -> io::Result<Option<u64>> {
        match fs::metadata(self.path(thread)) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Up to where a file can be trusted: not its last position, of which whoever died may have
    /// left out events or half of a line, and not what two who wrote at once left behind it. Up to
    /// `base` the log knows nothing that could be put in its place.
    pub(crate) fn whole(&self, thread: &ThreadId, base: Seq) -> io::Result<Whole> {
        let file = match File::open(self.path(thread)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Whole::default()),
            Err(error) => return Err(error),
        };
        // Where the last position begins, and the one before it.
        let (mut last, mut before): (Option<Whole>, Seq) = (None, 0);
        let (mut at, mut line) = (0, vec![]);
        let mut reader = BufReader::new(file);
        while reader.read_until(b'\n', &mut line)? > 0 {
            let Some(seq) = position(&line) else { break };
            match last {
                Some(last) if last.seq == seq => {}
                Some(last) if last.seq > seq => break,
                _ => {
                    before = last.map_or(0, |last| last.seq);
                    last = Some(Whole { seq, bytes: at });
                }
            }
            at += line.len() as u64;
            line.clear();
        }
        Ok(match last {
            Some(Whole { seq, .. }) if seq <= base => Whole { seq, bytes: at },
            Some(Whole { bytes, .. }) => Whole { seq: before, bytes },
            None => Whole::default(),
        })
    }

    /// Writes lines behind what is whole. What else stands there is cut off.
    pub(crate) fn write(&self, thread: &ThreadId, whole: Whole, lines: &[u8]) -> io::Result<()> {
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

/// The position of the event on a line that was written to its end.
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
                .write(&thread(last), Whole::default(), last.as_bytes())
                .unwrap();
        }
        let read = |last: &str| fs::read_to_string(folder.path(&thread(last))).unwrap();
        assert_eq!((read("a"), read("b")), ("a".to_owned(), "b".to_owned()));
    }

    #[cfg(unix)]
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
        // Of a line without its end it is not known whether more was to come.
        assert_eq!(whole(&[line(1), line(2), line(3).trim().into()]), (1, 1));
        // Two wrote the same.
        assert_eq!(
            whole(&[line(1), line(2), line(3), line(2), line(3)]),
            (2, 2)
        );
        assert_eq!(
            whole(&[line(1), line(2), "no JSON\n".into(), line(3)]),
            (1, 1)
        );
        // What was compacted away in the log is only here.
        let two = line(1).len() as u64 * 2;
        for (base, seq, bytes) in [(1, 1, two / 2), (2, 2, two), (7, 2, two)] {
            let kept = folder.whole(&thread, base).unwrap();
            assert_eq!(kept, Whole { seq, bytes }, "{base}");
        }
    }
}
