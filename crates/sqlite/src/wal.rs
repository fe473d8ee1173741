//! The write-ahead log of a database that was not closed.
//!
//! SQLite reads it up to the first frame that does not fit, and takes the rest for the torn end of
//! a crash. That is right for what a crash tears, and silent about what is damaged: with a damaged
//! header a thread begins anew, as if nothing had been acknowledged. So the log is read here before,
//! in the format that SQLite documents, and refused if commits that were in it cannot be read any
//! more.
use std::{
    fs::{self, File},
    io::{self, BufReader, ErrorKind, Read},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::options::Synchronous;

/// The length of the header of a log, in bytes.
const HEADER: usize = 32;

/// The length of the header of a frame, in bytes. A page follows.
const FRAME: usize = 24;

/// The largest page of a database, in bytes.
const MAX_PAGE: usize = 65_536;

/// The committed frames of a log, as the index that processes share counts them.
#[derive(Debug, Clone, Copy)]
struct CommittedFrames {
    salt: [u8; 8],
    frames: u64,
    /// The number of frames that were copied into the database.
    copied: u64,
}

/// Checks the write-ahead log of a database, and returns what was lost, in words; none if it is
/// whole, or torn at its end as a crash tears it.
///
/// A log with `Synchronous::Normal` may lose commits in a power failure, wherever they lie in it,
/// and such a loss is none.
///
/// Nothing is locked or written, so other processes may change the log meanwhile: what they write
/// fits when it is read again, and what is damaged stays so.
pub(crate) fn damage(path: &Path, synchronous: Synchronous) -> Option<String> {
    let log = beside(path, "-wal");
    if length(path) == 0 {
        return (length(&log) > HEADER as u64).then(|| orphaned(path, &log));
    }
    let may_be_undone = synchronous == Synchronous::Normal && !is_of_this_boot(&log);
    let mut last = None;
    loop {
        match scan(&log, committed(path)) {
            Ok(Scan::Whole) => return None,
            Ok(Scan::After { .. }) if may_be_undone => return None,
            // Another process has just closed the database.
            Err(error) if error.kind() == ErrorKind::NotFound => last = None,
            Err(error) => {
                let name = log.display();
                return Some(format!(
                    "{name}: the write-ahead log cannot be read: {error}"
                ));
            }
            Ok(found) if last.as_ref() == Some(&found) => return Some(found.words(path, &log)),
            Ok(found) => last = Some(found),
        }
    }
}

/// Returns the length of a file in bytes; 0 if there is none.
pub(crate) fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

/// Returns a path with a suffix, as SQLite names what belongs to a database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn orphaned(path: &Path, log: &Path) -> String {
    let (path, log) = (path.display(), log.display());
    format!(
        "{path}: the database is missing or empty, but its write-ahead log {log} is there; put the \
         database back, or move the log away to begin a new one"
    )
}

/// The result of reading a log.
#[derive(Debug, PartialEq, Eq)]
enum Scan {
    /// Nothing that was committed is lost.
    Whole,
    /// It is not there, and held commits.
    Missing,
    /// Nothing can be read.
    Header,
    /// So many frames can be read, which end at this byte; commits came after them.
    After { frames: u64, bytes: u64 },
}

impl Scan {
    fn words(&self, path: &Path, log: &Path) -> String {
        let (log, index) = (log.display(), beside(path, "-shm"));
        let index = index.display();
        let what = match self {
            Self::Whole => "is whole".to_owned(),
            Self::Missing => format!(
                "is missing, and commits were in it; put it back, or go on without these commits: \
                 rm '{index}'"
            ),
            Self::Header => format!(
                "is damaged in its header, and no commit in it can be read; put back a copy of the \
                 database and the log, or move the log away to go on without these commits: mv \
                 '{log}' '{log}.damaged' && rm -f '{index}'"
            ),
            Self::After { frames, bytes } => format!(
                "is damaged after {frames} pages, and commits that came later cannot be read; put \
                 back a copy of the database and the log, or cut the log to go on without these \
                 commits: truncate -s {bytes} '{log}' && rm -f '{index}'"
            ),
        };
        format!("{log}: the write-ahead log {what}")
    }
}

fn scan(log: &Path, committed: Option<CommittedFrames>) -> io::Result<Scan> {
    if length(log) <= HEADER as u64 {
        let lost = committed.is_some_and(|known| known.frames > known.copied);
        return Ok(if lost { Scan::Missing } else { Scan::Whole });
    }
    let mut file = BufReader::new(File::open(log)?);
    let mut header = [0; HEADER];
    fill(&mut file, &mut header)?;
    let Some(format) = Format::of(&header) else {
        return Ok(Scan::Header);
    };
    // The index knows what was acknowledged. What lies beyond it was written by a process that died
    // before its commit counted, and another may have begun to write over it.
    let committed = committed.filter(|known| known.salt == format.salt);
    let mut frame = vec![0; FRAME + format.page];
    let (mut intact, mut ended) = (0_u64, false);
    // Each check sum goes on from that of the frame before, as it is stored.
    let mut before = format.sum;
    while fill(&mut file, &mut frame)? {
        let stored = pair(&frame, 16);
        let fits = frame.get(8..16) == Some(&format.salt) && format.sum(before, &frame) == stored;
        let commits = frame.get(4..8).is_some_and(|size| size != [0; 4]);
        // What came after the damage is itself whole, so it was written, and committed.
        if ended && fits && commits && committed.is_none() {
            return Ok(format.after(intact));
        }
        ended |= !fits;
        intact += u64::from(!ended);
        before = stored;
    }
    match committed {
        Some(known) if known.frames > intact => Ok(format.after(intact)),
        _ => Ok(Scan::Whole),
    }
}

/// Reads so many bytes; false if the file ends before.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The header of a log.
#[derive(Debug)]
struct Format {
    page: usize,
    /// The same in each frame that was written since the log began anew.
    salt: [u8; 8],
    sum: [u32; 2],
    big_endian: bool,
}

impl Format {
    fn of(header: &[u8; HEADER]) -> Option<Self> {
        let [magic, version] = pair(header, 0);
        let page = usize::try_from(pair(header, 8)[0]).ok()?;
        let format = Self {
            page,
            salt: header.get(16..24)?.try_into().ok()?,
            sum: pair(header, 24),
            big_endian: magic == 0x377f_0683,
        };
        let known = (format.big_endian || magic == 0x377f_0682) && version == 3_007_000;
        let known = known && (512..=MAX_PAGE).contains(&page) && page.is_power_of_two();
        let sum = format.over([0; 2], header.get(..24)?);
        (known && sum == format.sum).then_some(format)
    }

    /// Returns the check sum of a frame: of the first half of its header, and of its page.
    fn sum(&self, before: [u32; 2], frame: &[u8]) -> [u32; 2] {
        let (header, page) = frame.split_at(FRAME);
        let half = header.get(..8).unwrap_or(header);
        self.over(self.over(before, half), page)
    }

    fn over(&self, before: [u32; 2], bytes: &[u8]) -> [u32; 2] {
        let word = |bytes: &[u8]| {
            let bytes = bytes.try_into().unwrap_or_default();
            if self.big_endian {
                u32::from_be_bytes(bytes)
            } else {
                u32::from_le_bytes(bytes)
            }
        };
        bytes.chunks_exact(8).fold(before, |[one, two], chunk| {
            let (first, second) = chunk.split_at(4);
            let one = one.wrapping_add(word(first)).wrapping_add(two);
            [one, two.wrapping_add(word(second)).wrapping_add(one)]
        })
    }

    fn after(&self, frames: u64) -> Scan {
        let bytes = HEADER as u64 + frames * (FRAME + self.page) as u64;
        Scan::After { frames, bytes }
    }
}

/// Reads two numbers, which are stored in big-endian order.
fn pair(bytes: &[u8], at: usize) -> [u32; 2] {
    [at, at + 4].map(|at| {
        let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
        word.map_or(0, u32::from_be_bytes)
    })
}

/// Reads how many frames were committed from the index that processes share beside the database.
///
/// No process waits until the disk has the index. Once the machine has started anew, it may know of
/// commits that nobody was told of, and says nothing.
fn committed(path: &Path) -> Option<CommittedFrames> {
    let index = beside(path, "-shm");
    if !is_of_this_boot(&index) {
        return None;
    }
    let mut header = [0; 100];
    File::open(&index).ok()?.read_exact(&mut header).ok()?;
    let (first, rest) = header.split_at(48);
    let native = |at: usize| {
        let word = header.get(at..at + 4).and_then(|word| word.try_into().ok());
        word.map_or(0, u32::from_ne_bytes)
    };
    let format = Format {
        page: 0,
        salt: first.get(32..40)?.try_into().ok()?,
        sum: [native(40), native(44)],
        big_endian: cfg!(target_endian = "big"),
    };
    let whole = rest.starts_with(first) && format.over([0; 2], first.get(..40)?) == format.sum;
    whole.then_some(CommittedFrames {
        salt: format.salt,
        frames: native(16).into(),
        copied: native(96).into(),
    })
}

/// Returns true if a file was written since the machine started; false where that cannot be known.
fn is_of_this_boot(path: &Path) -> bool {
    let written = fs::metadata(path).and_then(|found| found.modified()).ok();
    let booted = fs::read_to_string("/proc/stat").ok().and_then(|told| {
        let line = told.lines().find_map(|line| line.strip_prefix("btime "))?;
        line.trim().parse().ok().map(Duration::from_secs)
    });
    booted.is_some_and(|booted| {
        written.is_some_and(|written| written >= SystemTime::UNIX_EPOCH + booted)
    })
}
