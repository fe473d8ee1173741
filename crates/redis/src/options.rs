use std::{sync::Arc, time::Duration};

use fugato_state::Millis;
use fugato_store::StoreErrorKind;

use crate::ServerDurability;

/// Options for using a server.
#[derive(smart_default::SmartDefault, derive_more::Debug, Clone)]
#[must_use]
pub struct RedisOptions {
    #[default("fugato".into())]
    pub(crate) prefix: String,
    #[default(Duration::from_secs(10))]
    pub(crate) timeout: Duration,
    #[default(ServerDurability::Memory)]
    pub(crate) at_least: ServerDurability,
    pub(crate) keep_threads: Option<Duration>,
    pub(crate) keep_snapshots: Option<Duration>,
    #[cfg(feature = "tls")]
    #[debug(skip)]
    pub(crate) roots: Option<Vec<u8>>,
    #[debug(skip)]
    pub(crate) clock: Option<Arc<dyn Fn() -> Millis + Send + Sync>>,
}

impl RedisOptions {
    fugato_state::setters! {
        /// Sets the prefix of all keys, so that several stores can share a database; `fugato` if
        /// not set. It has 1 to 100 bytes, no braces and no control characters.
        pub fn prefix(prefix: impl Into<String>) { prefix = prefix.into() }

        /// Sets the time that a request may take, connecting included; ten seconds if not set. A
        /// request that takes longer fails with [`Unavailable`](StoreErrorKind::Unavailable).
        pub fn timeout(timeout: Duration) { timeout = timeout }

        /// Refuses servers that promise a weaker durability; any server is accepted if not set.
        /// Each new connection is checked.
        pub fn at_least(durability: ServerDurability) { at_least = durability }

        /// Removes threads that nothing will wake, so `Idle` or `Waiting` without an end, after
        /// this time without a write or a lease. They are kept if not set.
        pub fn keep_threads(time: Duration) { keep_threads = Some(time) }

        /// Removes snapshots this long after they were put, except those that replace compacted
        /// records or came with a commit. They are kept as long as their threads if not set.
        pub fn keep_snapshots(time: Duration) { keep_snapshots = Some(time) }

        /// Sets the clock, in milliseconds since the Unix epoch; the clock of the server if not
        /// set. The store never lets its time run backwards.
        pub fn clock(clock: impl Fn() -> Millis + Send + Sync + 'static) {
            clock = Some(Arc::new(clock))
        }
    }

    /// Trusts servers whose certificate is signed by one of these authorities, as PEM, and not those
    /// that the system trusts.
    #[cfg(feature = "tls")]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots = Some(pem.into());
        self
    }

    /// Checks the prefix. Braces would end the hash tag, the part of a key that selects its server.
    pub(crate) fn check(&self) -> Result<(), StoreErrorKind> {
        let wrong = |char: char| char.is_control() || matches!(char, '{' | '}');
        if (1..=100).contains(&self.prefix.len()) && !self.prefix.contains(wrong) {
            return Ok(());
        }
        let what = format!(
            "prefix {:?}: 1 to 100 bytes without braces and control characters are allowed",
            self.prefix
        );
        Err(StoreErrorKind::Invalid(what))
    }
}
