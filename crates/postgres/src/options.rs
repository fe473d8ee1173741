use std::{sync::Arc, time::Duration};

use fugato_state::Millis;

/// The point at which a commit counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// A commit counts once the server's disk has confirmed it: it survives a power failure. A
    /// server that runs with `fsync=off` cannot keep this, and is refused.
    #[default]
    Full,
    /// A commit counts once the server has it: it survives the death of the process that wrote it.
    /// If the server itself dies, the newest commits may be lost, never one in the middle. Leases
    /// and signals still wait for the disk, because two owners of one thread would be worse than a
    /// lost record.
    Normal,
}

/// Options for opening a database.
#[derive(derive_more::Debug, Clone)]
#[must_use]
pub struct PostgresOptions {
    pub(crate) schema: String,
    pub(crate) pool_size: usize,
    pub(crate) synchronous: Synchronous,
    pub(crate) pool_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    #[debug(skip)]
    pub(crate) clock: Option<Clock>,
    #[cfg(feature = "tls")]
    #[debug(skip)]
    pub(crate) roots: Option<Vec<u8>>,
}

/// The clock to use instead of the server's.
pub(crate) type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

impl PostgresOptions {
    fugato_state::setters! {
        /// Sets the schema that holds the tables, which is created if missing; `fugato` if not set.
        /// Stores in different schemas are independent.
        pub fn schema(name: impl Into<String>) { schema = name.into() }

        /// Sets the most connections of this process, at least 1; 10 if not set. Each
        /// [`woken`](crate::PostgresLog::woken) stream uses one more. So many appends can wait for
        /// the disk at once.
        pub fn pool_size(connections: usize) { pool_size = connections.max(1) }

        /// Sets the point at which a commit counts as written; [`Synchronous::Full`] if not set.
        pub fn synchronous(synchronous: Synchronous) { synchronous = synchronous }

        /// Sets the time that a request waits for a free connection; five seconds if not set.
        pub fn pool_timeout(timeout: Duration) { pool_timeout = timeout }

        /// Sets the time that a new connection may take; five seconds if not set.
        pub fn connect_timeout(timeout: Duration) { connect_timeout = timeout }

        /// Sets the time that one statement may take on the server, waits for locks included;
        /// thirty seconds if not set. A request gives up two seconds later if the server does not
        /// answer.
        pub fn statement_timeout(timeout: Duration) { statement_timeout = timeout }

        /// Sets the clock, in milliseconds since the Unix epoch; the clock of the server if not
        /// set. The store never lets its time run backwards. For tests: processes that share a
        /// store must share its clock.
        pub fn clock(clock: impl Fn() -> Millis + Send + Sync + 'static) {
            clock = Some(Arc::new(clock))
        }
    }

    /// Sets the PEM certificates of the authorities that may sign the server's certificate; those
    /// that the operating system trusts if not set.
    #[cfg(feature = "tls")]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots = Some(pem.into());
        self
    }
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: "fugato".to_owned(),
            pool_size: 10,
            synchronous: Synchronous::default(),
            pool_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            clock: None,
            #[cfg(feature = "tls")]
            roots: None,
        }
    }
}
