use std::time::Duration;

/// The limits of requests, connections and load.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest body of a request, and message of a WebSocket, in bytes: 1 MiB by default.
    #[default(1 << 20)]
    pub body: usize,
    /// The largest body of a request to one of the program's own paths, in bytes: 20 MiB by
    /// default, since these may take files.
    #[default(20 << 20)]
    pub upload: usize,
    /// The time limit for receiving a body: 10 s by default.
    #[default(Duration::from_secs(10))]
    pub body_timeout: Duration,
    /// The time limit for receiving the head of a request, and for an idle connection between two
    /// requests: 75 s by default, longer than proxies keep a connection for the next request.
    /// [`serve`](crate::serve) closes the connection then.
    #[default(Duration::from_secs(75))]
    pub head_timeout: Duration,
    /// The time limit for a client that reads nothing of a response: 60 s by default.
    /// [`serve`](crate::serve) closes the connection then; a reader of events can reconnect and
    /// continue.
    #[default(Duration::from_secs(60))]
    pub reader_timeout: Duration,
    /// The number of runs that a tenant may begin or resume per minute: unlimited by default.
    pub runs_per_minute: Option<usize>,
    /// The number of concurrent runs of a tenant: unlimited by default.
    pub concurrent_runs: Option<usize>,
    /// The number of open streams and sockets of a tenant: 1,000 by default.
    #[default(1000)]
    pub streams: usize,
}

impl Limits {
    fugato_state::setters! {
        /// Sets the largest body of a request, and message of a WebSocket, in bytes.
        pub fn body(bytes: usize) { body = bytes }

        /// Sets the largest body of a request to one of the program's own paths, in bytes.
        pub fn upload(bytes: usize) { upload = bytes }

        /// Sets the time limit for receiving a body.
        pub fn body_timeout(timeout: Duration) { body_timeout = timeout }

        /// Sets the time limit for receiving the head of a request, and for an idle connection
        /// between two requests.
        pub fn head_timeout(timeout: Duration) { head_timeout = timeout }

        /// Sets the time limit for a client that reads nothing of a response.
        pub fn reader_timeout(timeout: Duration) { reader_timeout = timeout }

        /// Sets the number of runs that a tenant may begin or resume per minute.
        pub fn runs_per_minute(runs: usize) { runs_per_minute = Some(runs) }

        /// Sets the number of concurrent runs of a tenant.
        pub fn concurrent_runs(runs: usize) { concurrent_runs = Some(runs) }

        /// Sets the number of open streams and sockets of a tenant.
        pub fn streams(streams: usize) { streams = streams }
    }
}
