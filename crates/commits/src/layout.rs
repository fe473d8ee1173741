//! The names of objects.
//!
//! Ordinals and incarnations are written inverted, so that a store that lists in ascending order
//! lists the newest first. That saves pages; nothing relies on it.
use std::fmt;

use fugato_state::{Millis, Seq, ThreadId};
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub(crate) const THREADS: &str = "threads";
pub(crate) const DUE: &str = "due";
pub(crate) const NAMES: &str = "names";

/// The hash of a thread's name, in hexadecimal digits. A name of any script fits into a file name so.
#[derive(Debug, Clone, PartialEq, Eq, Hash, derive_more::Display)]
pub(crate) struct ThreadKey(String);

impl ThreadKey {
    pub(crate) fn of(thread: &ThreadId) -> Self {
        Self(hex(&Sha256::digest(thread.as_str())))
    }

    /// Returns the key of a folder below [`THREADS`].
    pub(crate) fn of_folder(folder: &Path) -> Option<Self> {
        folder.filename().map(|name| Self(name.to_owned()))
    }

    /// Returns the folder of all objects of the thread's log.
    pub(crate) fn folder(&self) -> Path {
        Path::from(format!("{THREADS}/{self}"))
    }

    pub(crate) fn object(&self, at: Position) -> Path {
        let (incarnation, ordinal) = (!at.incarnation, !at.ordinal);
        Path::from(format!("{THREADS}/{self}/{incarnation:08x}/{ordinal:016x}"))
    }

    pub(crate) fn folds(&self, incarnation: u32) -> Path {
        Path::from(format!("folds/{self}/{incarnation:08x}"))
    }

    pub(crate) fn fold(&self, incarnation: u32, seq: Seq) -> Path {
        self.folds(incarnation).join(format!("{seq:016x}"))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
        text
    })
}

/// The place of an object in the log of one thread. Removing a thread ends its incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) incarnation: u32,
    pub(crate) ordinal: u64,
}

impl Position {
    pub(crate) const FIRST: Self = Self {
        incarnation: 0,
        ordinal: 0,
    };

    pub(crate) fn next(self) -> Self {
        Self {
            ordinal: self.ordinal.saturating_add(1),
            ..self
        }
    }

    pub(crate) fn next_incarnation(self) -> Self {
        Self {
            incarnation: self.incarnation.saturating_add(1),
            ordinal: 0,
        }
    }

    /// Returns the position of an object of a log by its name.
    pub(crate) fn of_object(path: &Path) -> Option<Self> {
        let mut parts = path.as_ref().rsplit('/');
        let ordinal = u64::from_str_radix(parts.next()?, 16).ok()?;
        let incarnation = u32::from_str_radix(parts.next()?, 16).ok()?;
        Some(Self {
            incarnation: !incarnation,
            ordinal: !ordinal,
        })
    }
}

/// Returns the position up to which a separate fold goes, by its name.
pub(crate) fn fold_seq(path: &Path) -> Option<Seq> {
    Seq::from_str_radix(path.filename()?, 16).ok()
}

/// An entry of the claim index: from a time on, the commit at a position makes its thread claimable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) time: Millis,
    pub(crate) at: Position,
}

impl Marker {
    /// Returns the name, which ends in the ordinal: no two commits share a marker, so nobody can
    /// remove that of another. A folder holds the markers of about 17 minutes, so that those of a
    /// later time are not listed with those that are due.
    pub(crate) fn path(&self, key: &ThreadKey) -> Path {
        let (time, at) = (sortable(self.time), self.at);
        let (bucket, incarnation, ordinal) = (time >> BUCKET_BITS, at.incarnation, at.ordinal);
        Path::from(format!(
            "{DUE}/{bucket:011x}/{time:016x}-{key}-{incarnation:08x}-{ordinal:016x}"
        ))
    }

    pub(crate) fn of_path(path: &Path) -> Option<(Self, ThreadKey)> {
        let mut parts = path.filename()?.split('-');
        let time = u64::from_str_radix(parts.next()?, 16).ok()?;
        let key = ThreadKey(parts.next()?.to_owned());
        let incarnation = u32::from_str_radix(parts.next()?, 16).ok()?;
        let ordinal = u64::from_str_radix(parts.next()?, 16).ok()?;
        let marker = Self {
            time: (time ^ SIGN).cast_signed(),
            at: Position {
                incarnation,
                ordinal,
            },
        };
        Some((marker, key))
    }

    /// Returns true if a folder of markers has some that are due.
    pub(crate) fn is_due_bucket(folder: &Path, now: Millis) -> bool {
        let bucket = folder.filename().map(|name| u64::from_str_radix(name, 16));
        matches!(bucket, Some(Ok(bucket)) if bucket <= sortable(now) >> BUCKET_BITS)
    }
}

const SIGN: u64 = 1 << 63;
const BUCKET_BITS: u32 = 20;

/// Returns a number that orders times as text of its digits does.
fn sortable(time: Millis) -> u64 {
    time.cast_unsigned() ^ SIGN
}

/// Returns the name of the entry that lists a thread. It ends in the incarnation, so that removing
/// a thread cannot remove the entry of the next one.
pub(crate) fn name_path(thread: &ThreadId, incarnation: u32) -> Path {
    let digits = hex(thread.as_str().as_bytes());
    let mut path = NAMES.to_owned();
    let mut rest = digits.as_str();
    // File names have at most 255 bytes.
    while let Some((part, after)) = rest.split_at_checked(200) {
        path = format!("{path}/{part}");
        rest = after;
    }
    Path::from(format!("{path}/n{rest}-{incarnation:08x}"))
}

/// Returns the thread that an entry lists.
pub(crate) fn name_of(path: &Path) -> Option<ThreadId> {
    let digits = path.as_ref().strip_prefix(NAMES)?.rsplit_once('-')?.0;
    let digits = digits.replace(['/', 'n'], "");
    let bytes = (0..digits.len()).step_by(2).map(|at| {
        let byte = digits.get(at..at + 2)?;
        u8::from_str_radix(byte, 16).ok()
    });
    let name = String::from_utf8(bytes.collect::<Option<_>>()?).ok()?;
    ThreadId::new(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_length_and_script_come_back() {
        for name in [
            "a".to_owned(),
            "日程/1 %-n".into(),
            "x".repeat(100),
            "ü".repeat(100),
        ] {
            let thread = ThreadId::new(name).unwrap();
            let path = name_path(&thread, 7);
            assert!(path.parts().all(|part| part.as_ref().len() <= 255));
            assert_eq!(name_of(&path), Some(thread));
        }
    }

    #[test]
    fn positions_and_markers_come_back_and_newer_objects_come_first() {
        let key = ThreadKey::of(&ThreadId::new("desk").unwrap());
        let at = |incarnation, ordinal| Position {
            incarnation,
            ordinal,
        };
        let order = [
            at(2, 0),
            at(1, 9),
            at(1, 8),
            at(0, u64::MAX),
            Position::FIRST,
        ];
        let names = order.map(|at| key.object(at));
        assert!(names.is_sorted());
        assert_eq!(
            names.map(|name| Position::of_object(&name)),
            order.map(Some)
        );
        for time in [i64::MIN, -1, 0, 1_800_000_000_000, i64::MAX] {
            let marker = Marker { time, at: at(3, 4) };
            let path = marker.path(&key);
            assert_eq!(Marker::of_path(&path), Some((marker, key.clone())));
            let folder = path.parts().take(2).collect();
            assert!(Marker::is_due_bucket(&folder, time));
            assert!(time == i64::MIN || !Marker::is_due_bucket(&folder, i64::MIN));
        }
    }
}
