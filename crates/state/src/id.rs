use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A position in the log of a thread: gap-free, from 1, never a clock. 0 is "before the first".
pub type Seq = u64;

/// Milliseconds since the Unix epoch, by the clock of the store.
pub type Millis = i64;

/// The name of one durable conversation or job: 1 to 200 bytes, no control characters.
#[derive(
    derive_more::Debug,
    Clone,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    derive_more::Display,
)]
#[serde(try_from = "String", into = "String")]
#[debug("ThreadId({:?})", &*self.0)]
pub struct ThreadId(Arc<str>);

impl ThreadId {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 200;

    /// Checks a name.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidThreadId> {
        let name = name.into();
        let fits = !name.is_empty() && name.len() <= Self::MAX_BYTES;
        if fits && !name.chars().any(char::is_control) {
            Ok(Self(name.into()))
        } else {
            Err(InvalidThreadId { name })
        }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ThreadId {
    type Error = InvalidThreadId;
    fn try_from(name: String) -> Result<Self, InvalidThreadId> {
        Self::new(name)
    }
}

impl TryFrom<&str> for ThreadId {
    type Error = InvalidThreadId;
    fn try_from(name: &str) -> Result<Self, InvalidThreadId> {
        Self::new(name)
    }
}

impl From<ThreadId> for String {
    fn from(thread: ThreadId) -> Self {
        thread.as_str().to_owned()
    }
}

/// The error of a name that a thread cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", crate::say!(
    "thread id {name:?} is not allowed: 1 to 200 bytes without control characters are",
    "不能用 {name:?} 作为会话名：允许 1 到 200 个字节，不含控制字符"
))]
pub struct InvalidThreadId {
    /// The rejected name.
    pub name: String,
}

/// The ordinal of a run within its thread, from 1.
#[derive(
    derive_more::Display,
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
)]
#[serde(transparent)]
pub struct RunId(pub u64);

impl RunId {
    /// Returns the run after this one; the largest number is its own successor.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// The id of one interrupt, used once within its thread.
///
/// The id of an approval is a token: it is made of the thread's incarnation, the interrupt and
/// everything that is asked about, so an answer that names it agrees to exactly that.
#[derive(
    derive_more::Display, Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct InterruptId(pub Arc<str>);

impl InterruptId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the short code of this id, such as `K7F2`: letter, digit, letter, digit, none of
    /// which looks like another. A person types it to select one of several cards.
    pub fn code(&self) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHJKMNPQRTUVWXYZ";
        const DIGITS: &[u8] = b"23456789";
        let mut rest = self.0.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        // The low bits of such a sum depend little on the last bytes.
        rest ^= rest >> 32;
        let mut next = |of: &[u8]| {
            let size = of.len() as u64;
            let at = usize::try_from(rest % size).unwrap_or(0);
            rest /= size;
            of.get(at).copied().map_or('A', char::from)
        };
        [LETTERS, DIGITS, LETTERS, DIGITS]
            .map(&mut next)
            .into_iter()
            .collect()
    }
}

impl From<&str> for InterruptId {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k35_a_code_is_short_and_differs_between_cards() {
        let codes = (0..1000).map(|n| InterruptId(format!("confirm#1~{n}").into()).code());
        let codes: std::collections::HashSet<_> = codes.collect();
        assert!(codes.len() > 950, "{}", codes.len());
        let is_code = |code: &String| {
            let kinds = code.chars().map(|c| c.is_ascii_digit());
            kinds.collect::<Vec<_>>() == [false, true, false, true]
        };
        assert!(codes.iter().all(is_code));
    }

    #[test]
    fn k35_the_page_makes_the_same_codes() {
        let codes = ["i1", "token", "问"].map(|id| InterruptId::from(id).code());
        assert_eq!(codes, ["G5U5", "Z9A6", "C4F5"]);
    }

    #[test]
    fn a_thread_id_is_checked_when_made_and_when_read() {
        assert_eq!(ThreadId::new("desk 1").unwrap().as_str(), "desk 1");
        for bad in ["", "a\nb", &"x".repeat(201)] {
            assert!(ThreadId::new(bad).is_err(), "{bad:?}");
            assert!(
                serde_json::from_value::<ThreadId>(bad.into()).is_err(),
                "{bad:?}"
            );
        }
    }
}
