use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use fugato_tool::ToolSpec;
use futures::future::{BoxFuture, FutureExt};

use crate::{ServerAnswer, ServerQuestion};

/// The options of a server: how its tools are offered, and the limits of its calls.
///
/// ```
/// use std::time::Duration;
/// use fugato_mcp::McpOptions;
/// use fugato_tool::EffectClass;
///
/// let options = McpOptions::new()
///     .only(["read_file", "append"])
///     .domain("notes")
///     .timeout(Duration::from_secs(20))
///     .adjust("append", |spec| spec.effect(EffectClass::Keyed).also_called("write_note"));
/// # let _ = options;
/// ```
#[derive(smart_default::SmartDefault, derive_more::Debug, Clone)]
pub struct McpOptions {
    pub(crate) prefix: Option<String>,
    pub(crate) only: Option<BTreeSet<String>>,
    pub(crate) domain: Option<String>,
    pub(crate) pack: Option<String>,
    #[default(true)]
    pub(crate) trusts_hints: bool,
    #[debug("{:?}", adjust.keys())]
    pub(crate) adjust: BTreeMap<String, Adjust>,
    pub(crate) era: Era,
    #[default(Duration::from_secs(30))]
    pub(crate) connect_timeout: Duration,
    #[default(Duration::from_secs(60))]
    pub(crate) timeout: Duration,
    #[default(Duration::from_secs(600))]
    pub(crate) longest: Duration,
    #[default(500)]
    pub(crate) most_tools: usize,
    #[default(20_000)]
    pub(crate) most_text: usize,
    #[default(256 * 1024)]
    pub(crate) most_data: usize,
    #[debug(skip)]
    pub(crate) progress: Option<ProgressReader>,
    #[debug(skip)]
    pub(crate) answers: Option<Answers>,
}

pub(crate) type Adjust = Arc<dyn Fn(ToolSpec) -> ToolSpec + Send + Sync>;
pub(crate) type ProgressReader = Arc<dyn Fn(Progress) + Send + Sync>;
pub(crate) type Answers =
    Arc<dyn Fn(ServerQuestion) -> BoxFuture<'static, ServerAnswer> + Send + Sync>;

/// The ways to begin a session with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Era {
    /// The server is queried for its versions, and greeted by the handshake if it does not know the
    /// query.
    #[default]
    Either,
    /// The handshake (2025-11-25 and before): for servers that fail on an unknown query.
    Handshake,
    /// The query (2026-07-28): for servers without a handshake.
    Stateless,
}

/// The progress of a call, as the server reports it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The server.
    pub server: String,
    /// The tool, by the name that the server gave it.
    pub tool: String,
    /// The id of the call: [`ToolContext::call_id`](fugato_tool::ToolContext::call_id).
    pub call: String,
    /// The amount that is done, in no particular unit.
    pub done: f64,
    /// The whole amount, if the server knows it.
    pub total: Option<f64>,
    /// The current activity.
    pub message: Option<String>,
}

impl McpOptions {
    /// Creates options that offer every tool, with the server's hints, and with the limits that are
    /// named at each method.
    pub fn new() -> Self {
        Self::default()
    }

    fugato_state::setters! {
        /// Sets the prefix of the tools' names, with `_` between; by default the name of the
        /// server, no prefix if it is empty.
        pub fn prefix(prefix: impl Into<String>) { prefix = Some(prefix.into()) }

        /// Offers these tools, by the names that the server gave them, and no others.
        pub fn only<N: Into<String>>(tools: impl IntoIterator<Item = N>) {
            only = Some(tools.into_iter().map(Into::into).collect())
        }

        /// Shows the tools only while this domain is active.
        pub fn domain(domain: impl Into<String>) { domain = Some(domain.into()) }

        /// Shows the tools only while this pack of the domain is active.
        pub fn pack(pack: impl Into<String>) { pack = Some(pack.into()) }

        /// Changes the spec of one tool, by the name that the server gave it. The change wins over
        /// the server's hints.
        pub fn adjust(
            tool: impl Into<String>, change: impl Fn(ToolSpec) -> ToolSpec + Send + Sync + 'static,
        ) {
            adjust.insert(tool.into(), Arc::new(change))
        }

        /// Sets the way to begin a session.
        pub fn era(era: Era) { era = era }

        /// Sets the time limit for starting and greeting the server; 30 seconds by default.
        pub fn connect_timeout(limit: Duration) { connect_timeout = limit }

        /// Sets the time limit for a call without an answer or progress; 60 seconds by default.
        pub fn timeout(silence: Duration) { timeout = silence }

        /// Sets the time limit for a whole call, independent of progress; 10 minutes by default.
        pub fn longest(limit: Duration) { longest = limit }

        /// Sets the number of tools that the server may offer; 500 by default.
        pub fn most_tools(tools: usize) { most_tools = tools }

        /// Sets the number of characters of a result that the model gets; 20,000 by default.
        pub fn most_text(characters: usize) { most_text = characters }

        /// Sets the number of bytes of JSON of a result that are kept for programs; 256 KiB by
        /// default. A result is a record of the log, which has limits of its own.
        pub fn most_data(bytes: usize) { most_data = bytes }

        /// Sets the reader of calls' progress. It must not block. Progress that arrives after the
        /// answer is dropped.
        pub fn on_progress(read: impl Fn(Progress) + Send + Sync + 'static) {
            progress = Some(Arc::new(read))
        }
    }

    /// Ignores the server's hints: each tool counts as the worst.
    #[must_use]
    pub fn distrust_hints(mut self) -> Self {
        self.trusts_hints = false;
        self
    }

    /// Sets the function that answers the server's questions during a call. Without it, questions
    /// are declined and the server does not get the capability. The time in which a person thinks
    /// counts as silence of the server.
    #[must_use]
    pub fn answers<F, A>(mut self, answer: F) -> Self
    where
        F: Fn(ServerQuestion) -> A + Send + Sync + 'static,
        A: Future<Output = ServerAnswer> + Send + 'static,
    {
        self.answers = Some(Arc::new(move |question| answer(question).boxed()));
        self
    }
}
