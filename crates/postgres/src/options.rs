use std::{fmt, sync::Arc, time::Duration};

use fugato_state::Millis;

/// When a commit counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// When the server's disk has confirmed it: an acknowledged commit survives a power failure.
    /// A server that runs with `fsync=off` cannot keep this, and is refused.
    #[default]
    Full,
    /// When the server has it: an acknowledged commit survives the death of the process that wrote
    /// it; when the server itself dies, the newest ones may be undone, never one in the middle.
    /// Leases and signals still wait for the disk, because two owners of one thread would be worse
    /// than a lost record.
    Normal,
}

/// How a database is opened.
#[derive(Clone)]
#[must_use]
pub struct PostgresOptions {
    pub(crate) schema: String,
    pub(crate) pool_size: usize,
    pub(crate) synchronous: Synchronous,
    pub(crate) pool_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) clock: Option<Clock>,
    #[cfg(feature = "tls")]
    pub(crate) roots: Option<Vec<u8>>,
}

/// Where time comes from in place of the server.
pub(crate) type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

impl PostgresOptions {
    /// The schema that holds the tables, which is made where it is missing; `fugato` if not said.
    /// Stores in different schemas know nothing of each other.
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = name.into();
        self
    }

    /// How many connections this process uses at most, beside one for each
    /// [`woken`](crate::PostgresLog::woken); 10 if not said, at least 1. As many appends wait for
    /// the disk together.
    pub fn pool_size(mut self, connections: usize) -> Self {
        self.pool_size = connections.max(1);
        self
    }

    /// When a commit counts as written; [`Synchronous::Full`] if not said.
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long a request waits until one of the connections is free; five seconds if not said.
    pub fn pool_timeout(mut self, timeout: Duration) -> Self {
        self.pool_timeout = timeout;
        self
    }

    /// How long a new connection may take; five seconds if not said.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long the server may work on one statement, waiting for others included; thirty seconds
    /// if not said. A server that says nothing for two seconds longer is given up.
    pub fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.statement_timeout = timeout;
        self
    }

    /// Where time comes from, in milliseconds since the Unix epoch; the clock of the server if not
    /// said. The store never lets it run backwards. For tests: processes that share a store must
    /// share its clock.
    pub fn clock(mut self, clock: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// The certificates, in PEM, of who may sign the server's; those that the operating system
    /// trusts if not said.
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

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("schema", &self.schema)
            .field("pool_size", &self.pool_size)
            .field("synchronous", &self.synchronous)
            .field("pool_timeout", &self.pool_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .finish_non_exhaustive()
    }
}
