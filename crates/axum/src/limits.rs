use std::time::Duration;

/// How much is taken of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest body of a request, and message of a WebSocket, in bytes: 1 MiB by default.
    pub body: usize,
    /// How long a body may take to come: 10 s by default.
    pub body_timeout: Duration,
    /// How long the head of a request may take to come, and a connection may lie idle between two
    /// requests: 75 s by default, longer than proxies keep one for the next request.
    /// [`serve`](crate::serve) cuts the connection then.
    pub head_timeout: Duration,
    /// How long a client may take nothing of an answer: 60 s by default. [`serve`](crate::serve)
    /// cuts the connection then; a reader of events comes back to where it was.
    pub reader_timeout: Duration,
    /// How many runs a tenant may begin or go on with in a minute: as many as it likes, by default.
    pub runs_per_minute: Option<usize>,
    /// How many runs of a tenant may be under way: as many as it likes, by default.
    pub concurrent_runs: Option<usize>,
    /// How many streams and sockets of a tenant may be open: 1,000 by default.
    pub streams: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            body_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(75),
            reader_timeout: Duration::from_secs(60),
            runs_per_minute: None,
            concurrent_runs: None,
            streams: 1000,
        }
    }
}

impl Limits {
    /// The largest body of a request, in bytes.
    #[must_use]
    pub fn body(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }

    /// How long a body may take to come.
    #[must_use]
    pub fn body_timeout(mut self, timeout: Duration) -> Self {
        self.body_timeout = timeout;
        self
    }

    /// How long the head of a request may take to come, and a connection may lie idle between two
    /// requests.
    #[must_use]
    pub fn head_timeout(mut self, timeout: Duration) -> Self {
        self.head_timeout = timeout;
        self
    }

    /// How long a client may take nothing of an answer.
    #[must_use]
    pub fn reader_timeout(mut self, timeout: Duration) -> Self {
        self.reader_timeout = timeout;
        self
    }

    /// How many runs a tenant may begin or go on with in a minute.
    #[must_use]
    pub fn runs_per_minute(mut self, runs: usize) -> Self {
        self.runs_per_minute = Some(runs);
        self
    }

    /// How many runs of a tenant may be under way.
    #[must_use]
    pub fn concurrent_runs(mut self, runs: usize) -> Self {
        self.concurrent_runs = Some(runs);
        self
    }

    /// How many streams and sockets of a tenant may be open.
    #[must_use]
    pub fn streams(mut self, streams: usize) -> Self {
        self.streams = streams;
        self
    }
}
