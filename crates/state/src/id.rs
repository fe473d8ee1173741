use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// A position in the log of a thread: gap-free, from 1, never a clock. 0 is "before the first".
pub type Seq = u64;

/// Milliseconds since the Unix epoch, by the clock of the store.
pub type Millis = i64;

/// The name of one durable conversation or job: 1 to 200 bytes, no control characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

    /// The name.
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

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadId({:?})", &*self.0)
    }
}

/// A thread cannot bear this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("thread id {name:?} is not allowed: 1 to 200 bytes without control characters are")]
pub struct InvalidThreadId {
    /// The rejected name.
    pub name: String,
}

/// The ordinal of a run within its thread, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u64);

impl RunId {
    /// The run after this one. A log may hold any number: the last one is its own successor.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name of one interrupt, used once within its thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InterruptId(pub Arc<str>);

impl InterruptId {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InterruptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
