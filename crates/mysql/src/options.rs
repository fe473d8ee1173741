use std::{sync::Arc, time::Duration};

use fugato_state::Millis;

use crate::ServerDurability;

/// Options for using a database.
#[derive(derive_more::Debug, Clone)]
#[must_use]
pub struct MySqlOptions {
    pub(crate) connections: usize,
    pub(crate) timeout: Duration,
    pub(crate) at_least: ServerDurability,
    #[debug(skip)]
    pub(crate) clock: Option<Arc<dyn Fn() -> Millis + Send + Sync>>,
    #[cfg(feature = "tls")]
    #[debug(skip)]
    pub(crate) roots: Option<Vec<u8>>,
}

impl MySqlOptions {
    fugato_state::setters! {
        /// Sets the most connections of this process, at least 1; 16 if not set. So many commits
        /// can wait for the disk at once.
        pub fn connections(most: usize) { connections = most.max(1) }

        /// Sets the time that a request may take, waiting for a connection and connecting included;
        /// ten seconds if not set.
        ///
        /// A request that takes longer fails with
        /// [`Unavailable`](fugato_store::StoreErrorKind::Unavailable).
        pub fn timeout(timeout: Duration) { timeout = timeout }

        /// Refuses servers that promise a weaker durability; any server is accepted if not set.
        /// Each new connection is checked.
        pub fn at_least(durability: ServerDurability) { at_least = durability }

        /// Sets the clock, in milliseconds since the Unix epoch; the clock of the server if not
        /// set. The store never lets its time run backwards. For tests: processes that share a
        /// store must share its clock.
        pub fn clock(clock: impl Fn() -> Millis + Send + Sync + 'static) {
            clock = Some(Arc::new(clock))
        }
    }

    /// Uses TLS, and trusts these PEM certificates in addition to the public authorities. With
    /// `require_ssl=true` in the URL, TLS is used without them.
    #[cfg(feature = "tls")]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots = Some(pem.into());
        self
    }
}

impl Default for MySqlOptions {
    fn default() -> Self {
        Self {
            connections: 16,
            timeout: Duration::from_secs(10),
            at_least: ServerDurability::Second,
            clock: None,
            #[cfg(feature = "tls")]
            roots: None,
        }
    }
}
