//! Calls of scripts.
use std::time::Duration;

use fugato_state::{Millis, Seq};
use fugato_store::{Commit, Snapshot, Status};
use redis::{Cmd, ToRedisArgs};

use crate::{RedisOptions, script::Script};

/// The last position that a thread can have: the greatest number that Lua counts exactly.
pub(crate) const MAX_SEQ: Seq = (1 << 53) - 1;

/// The longest time to live that is granted, in milliseconds: more than a hundred thousand years.
const LONGEST: Millis = 1 << 52;

pub(crate) struct Request {
    pub(crate) script: &'static Script,
    pub(crate) command: Cmd,
}

impl Request {
    /// Creates a call with the arguments that every script takes.
    pub(crate) fn new(
        script: &'static Script,
        options: &RedisOptions,
        seen: Millis,
        thread: &str,
    ) -> Self {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&script.hash).arg(1);
        command.arg(format!("{{{}}}", options.prefix));
        let given = options.clock.as_ref().map(|clock| clock().to_string());
        command.arg(seen).arg(given.unwrap_or_default());
        for kept in [options.keep_threads, options.keep_snapshots] {
            command.arg(kept.map(milliseconds).unwrap_or_default());
        }
        command.arg(thread);
        Self { script, command }
    }

    pub(crate) fn arg(&mut self, value: impl ToRedisArgs) -> &mut Self {
        self.command.arg(value);
        self
    }

    /// Adds a time to live, limited so that its end stays a number that Lua represents exactly.
    pub(crate) fn time_to_live(&mut self, ttl: Millis) -> &mut Self {
        self.arg(ttl.clamp(-LONGEST, LONGEST))
    }

    /// Adds a commit; for a fork with the snapshot that its thread begins with.
    pub(crate) fn commit(&mut self, commit: &Commit, begin: Option<&Snapshot>) -> &mut Self {
        let (status, till) = columns(commit.status);
        self.arg(commit.expect.head)
            .arg(commit.expect.fence)
            .arg(nonce(commit.nonce))
            .arg(status)
            .arg(till.map(|till| till.to_string()).unwrap_or_default());
        match &commit.base {
            Some(base) => self.arg(base.seq).arg(&base.body),
            None => self.arg("").arg(""),
        };
        if let Some(begin) = begin {
            self.arg(begin.seq).arg(&begin.body);
        }
        for record in &commit.records {
            self.arg(&record.0);
        }
        self
    }
}

fn milliseconds(time: Duration) -> String {
    let longest = LONGEST.unsigned_abs().into();
    time.as_millis().clamp(1, longest).to_string()
}

/// Formats a nonce as text, because Lua has no integers of this size.
fn nonce(nonce: u128) -> String {
    format!("{nonce:032x}")
}

fn columns(status: Status) -> (&'static str, Option<Millis>) {
    match status {
        Status::Runnable => ("runnable", None),
        Status::Sleeping { until } => ("sleeping", Some(until)),
        Status::Waiting { expires } => ("waiting", expires),
        Status::Idle => ("idle", None),
    }
}

/// Returns the ends of the range of names with this prefix and after `after`, in the server's
/// syntax.
pub(crate) fn range(prefix: &str, after: Option<&str>) -> (Vec<u8>, Vec<u8>) {
    let marked = |mark: &[u8], name: &str| [mark, name.as_bytes()].concat();
    let begin = match after {
        Some(after) if after >= prefix => marked(b"(", after),
        _ => marked(b"[", prefix),
    };
    // No byte of UTF-8 text is 255, so that the last one has a successor.
    let mut end = marked(b"(", prefix);
    match end.last_mut() {
        Some(last) if !prefix.is_empty() => *last += 1,
        _ => end = b"+".to_vec(),
    }
    (begin, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_what_begins_with_the_prefix() {
        for (prefix, after, begin, end) in [
            ("", None, "[", "+"),
            ("a", None, "[a", "(b"),
            ("a", Some("Z"), "[a", "(b"),
            ("a", Some("a"), "(a", "(b"),
            ("a", Some("b"), "(b", "(b"),
            ("a/", None, "[a/", "(a0"),
        ] {
            let expected = (begin.as_bytes().to_vec(), end.as_bytes().to_vec());
            assert_eq!(range(prefix, after), expected, "{prefix:?} after {after:?}");
        }
    }

    #[test]
    fn a_time_to_live_is_never_zero_or_endless() {
        assert_eq!(milliseconds(Duration::ZERO), "1");
        assert_eq!(milliseconds(Duration::from_secs(2)), "2000");
        assert_eq!(milliseconds(Duration::MAX), LONGEST.to_string());
    }
}
