use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use fugato_tool::ToolSpec;
use futures::future::{BoxFuture, FutureExt};

use crate::{ServerAnswer, ServerQuestion};

/// How the tools of a server are offered, and how it is spoken to.
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
#[derive(Clone)]
pub struct McpOptions {
    pub(crate) prefix: Option<String>,
    pub(crate) only: Option<BTreeSet<String>>,
    pub(crate) domain: Option<String>,
    pub(crate) pack: Option<String>,
    pub(crate) trusts_hints: bool,
    pub(crate) adjust: BTreeMap<String, Adjust>,
    pub(crate) era: Era,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
    pub(crate) longest: Duration,
    pub(crate) most_tools: usize,
    pub(crate) most_text: usize,
    pub(crate) most_data: usize,
    pub(crate) progress: Option<ProgressReader>,
    pub(crate) answers: Option<Answers>,
}

pub(crate) type Adjust = Arc<dyn Fn(ToolSpec) -> ToolSpec + Send + Sync>;
pub(crate) type ProgressReader = Arc<dyn Fn(Progress) + Send + Sync>;
pub(crate) type Answers =
    Arc<dyn Fn(ServerQuestion) -> BoxFuture<'static, ServerAnswer> + Send + Sync>;

/// Which of the two ways of the protocol to begin with a server is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Era {
    /// The server is asked for what it supports, and greeted in the old way if it does not know
    /// the question.
    #[default]
    Either,
    /// It is greeted in the old way (2025-11-25 and before): for servers that do not survive a
    /// question that they do not know.
    Handshake,
    /// It is asked (2026-07-28): for servers that must not be greeted.
    Stateless,
}

/// How far a call has come, in the words of the server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The server.
    pub server: String,
    /// The tool, by the name that the server gave it.
    pub tool: String,
    /// The id of the call: [`ToolContext::call_id`](fugato_tool::ToolContext::call_id).
    pub call: String,
    /// How much is done, in no particular unit.
    pub done: f64,
    /// How much there is, if the server knows.
    pub total: Option<f64>,
    /// What it is doing.
    pub message: Option<String>,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            prefix: None,
            only: None,
            domain: None,
            pack: None,
            trusts_hints: true,
            adjust: BTreeMap::new(),
            era: Era::default(),
            connect_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(60),
            longest: Duration::from_secs(600),
            most_tools: 500,
            most_text: 20_000,
            most_data: 256 * 1024,
            progress: None,
            answers: None,
        }
    }
}

impl McpOptions {
    /// Every tool, with what the server says of it, and with the limits that are named at each
    /// method.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what stands before the names of the tools, with `_` between; the name of the server
    /// if it is not set, nothing if it is empty.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Offers these tools, by the names that the server gave them, and no others.
    #[must_use]
    pub fn only<N: Into<String>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        self.only = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Shows the tools only while this domain is active.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// Shows the tools only while this pack of the domain is active.
    #[must_use]
    pub fn pack(mut self, pack: impl Into<String>) -> Self {
        self.pack = Some(pack.into());
        self
    }

    /// Does not believe what the server says about its tools: each is taken for the worst.
    #[must_use]
    pub fn distrust_hints(mut self) -> Self {
        self.trusts_hints = false;
        self
    }

    /// Changes what is known about one tool, by the name that the server gave it. What is said
    /// here wins over what the server says.
    #[must_use]
    pub fn adjust(
        mut self,
        tool: impl Into<String>,
        change: impl Fn(ToolSpec) -> ToolSpec + Send + Sync + 'static,
    ) -> Self {
        self.adjust.insert(tool.into(), Arc::new(change));
        self
    }

    /// Sets how to begin with the server.
    #[must_use]
    pub fn era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }

    /// Sets how long starting and greeting the server may take; 30 seconds if it is not set.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Sets for how long a call may be silent, without an answer or progress; 60 seconds if it is
    /// not set.
    #[must_use]
    pub fn timeout(mut self, silence: Duration) -> Self {
        self.timeout = silence;
        self
    }

    /// Sets how long a call may take, whatever progress it reports; 10 minutes if it is not set.
    #[must_use]
    pub fn longest(mut self, limit: Duration) -> Self {
        self.longest = limit;
        self
    }

    /// Sets how many tools the server may offer; 500 if it is not set.
    #[must_use]
    pub fn most_tools(mut self, tools: usize) -> Self {
        self.most_tools = tools;
        self
    }

    /// Sets how many characters of a result the model reads; 20,000 if it is not set.
    #[must_use]
    pub fn most_text(mut self, characters: usize) -> Self {
        self.most_text = characters;
        self
    }

    /// Sets how many bytes of JSON of a result are kept for programs; 256 KiB if it is not set.
    /// A result is a record of the log, which has limits of its own.
    #[must_use]
    pub fn most_data(mut self, bytes: usize) -> Self {
        self.most_data = bytes;
        self
    }

    /// Reads how far calls have come. It must not block. What a server says at the very end may be
    /// overtaken by its answer, and is left out then.
    #[must_use]
    pub fn on_progress(mut self, read: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(read));
        self
    }

    /// Answers what the server asks while it executes a call. Without it the server is told that
    /// nobody can be asked. The time in which a person thinks counts as silence of the server.
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

impl fmt::Debug for McpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpOptions")
            .field("prefix", &self.prefix)
            .field("only", &self.only)
            .field("domain", &self.domain)
            .field("pack", &self.pack)
            .field("trusts_hints", &self.trusts_hints)
            .field("adjust", &self.adjust.keys())
            .field("era", &self.era)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
