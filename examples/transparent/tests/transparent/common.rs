//! A folder with the sample, a log in memory, and a clock that is set by hand.
use std::{
    ops::Deref,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use fugato::{
    BoxError, EventKind, Runner, RunnerOptions,
    archive::Archives,
    axum::{Caller, SendOutcome, ServedAgent as _, UserMessage, say},
    cron::{JobClock, Jobs},
    llm::ChatModel,
    state::ThreadId,
    store::{DocStore, MemoryDocs},
};
use fugato_testkit::{
    Scripted, ScriptedReply, TestProgram,
    consent::WorldStore,
    session::{Session, SessionLog, Turn, WordHandler, WordOutcome},
};
use futures::FutureExt as _;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tempfile::TempDir;
use transparent::{
    agent::{AgentState, Request, Update},
    deps::Deps,
    graph::{budgets, graph},
    open::archives,
    plugins::LoadedPlugins,
    served::ServedTransparent,
    workspace::Workspace,
};

/// Noon on Sunday, 22 November 2026.
pub(crate) const NOON: i64 = 1_795_348_800_000;
/// The wish of the reference run.
pub(crate) const WISH: &str = "帮我找出上周写的项目计划书";

/// The names of the events of that run, in order.
pub(crate) const ORDER: [&str; 11] = [
    "user_input",
    "task_analysis",
    "planning",
    "thinking",
    "rag_query",
    "rag_result",
    "thinking",
    "tool_call list_files",
    "tool_result ok",
    "thinking",
    "final_answer",
];

/// A program whose folder has the sample but for its plugin, which is a Python of its own at each start.
pub(crate) fn program() -> TestProgram {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_transparent"));
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample");
    for (from, to) in [
        ("SOUL.md", "SOUL.md"),
        ("USER.md", "USER.md"),
        ("tool.md", "tool.md"),
        ("MEMORY.md", "notes/MEMORY.md"),
        ("config.toml", "config.toml"),
        ("files/Documents/plan_v1.md", "files/Documents/plan_v1.md"),
        ("files/Documents/draft.docx", "files/Documents/draft.docx"),
    ] {
        let to = program.path(&format!("transparent-data/{to}"));
        std::fs::create_dir_all(to.parent().expect("it is in a folder")).expect("it is made");
        std::fs::copy(sample.join(from), to).expect("it is copied");
    }
    program
}

/// The folder of an agent, with a conversation about it.
pub(crate) struct Home {
    folder: Arc<TempDir>,
    make: Arc<dyn Fn() -> Deps + Send + Sync>,
    pub(crate) deps: Deps,
    pub(crate) clock: Arc<AtomicI64>,
    pub(crate) docs: Arc<dyn DocStore>,
    pub(crate) archives: Archives,
    session: Session<AgentState>,
}

impl Deref for Home {
    type Target = Session<AgentState>;

    fn deref(&self) -> &Self::Target {
        &self.session
    }
}

impl Home {
    /// Creates an agent that decides by rule.
    pub(crate) fn by_rule() -> Self {
        Self::adjusted(None, |desk| desk)
    }

    pub(crate) fn scripted<R: Into<ScriptedReply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self::with(Scripted::new(replies))
    }

    pub(crate) fn with(model: impl ChatModel + 'static) -> Self {
        Self::adjusted(Some(Arc::new(model)), |desk| desk)
    }

    pub(crate) fn adjusted(
        model: Option<Arc<dyn ChatModel>>,
        adjust: impl Fn(Workspace) -> Workspace + Send + Sync + 'static,
    ) -> Self {
        Self::over(WorldStore::in_memory(), model, adjust)
    }

    /// Creates an agent over this store.
    pub(crate) fn over(
        store: impl Into<Arc<WorldStore>>,
        model: Option<Arc<dyn ChatModel>>,
        adjust: impl Fn(Workspace) -> Workspace + Send + Sync + 'static,
    ) -> Self {
        let folder = Arc::new(fugato_testkit::tempdir().expect("a folder"));
        let docs = Arc::new(MemoryDocs::default());
        let clock = Arc::new(AtomicI64::new(NOON));
        let time = clock.clone();
        let time = JobClock::new(TimeZone::UTC, move || time.load(Ordering::SeqCst));
        let jobs = Jobs::new(docs.clone(), time);
        let path = folder.path().to_owned();
        let make = move || {
            let desk = adjust(Workspace::open(&path).expect("a new folder gets the sample"));
            let deps = Deps::with(desk, jobs.clone(), LoadedPlugins::default(), None);
            deps.expect("the tools fit together").model(model.clone())
        };
        Self::of(folder, Arc::new(make), clock, docs, store.into())
    }

    fn of(
        folder: Arc<TempDir>,
        make: Arc<dyn Fn() -> Deps + Send + Sync>,
        clock: Arc<AtomicI64>,
        docs: Arc<dyn DocStore>,
        store: Arc<WorldStore>,
    ) -> Self {
        let archives = archives(folder.path());
        let open = opened(make.clone(), archives.clone());
        let words = |words: &str| Update::Asked(Request::new(words));
        Self {
            folder,
            deps: make(),
            make,
            clock,
            docs,
            archives,
            session: Session::new(open, words).thread_named("desk").over(store),
        }
    }

    /// The same conversation with words as on the page: they are typed under the card that is open.
    pub(crate) fn typed(mut self) -> Self {
        let open = opened(self.make.clone(), self.archives.clone());
        let session = Session::with_handler(move |log| {
            let runner = open(log);
            let agent = ServedTransparent::new(runner.clone(), None);
            let handler: WordHandler<AgentState> = Arc::new(move |thread, words| {
                let agent = agent.clone();
                async move { typed(&agent, &thread, words).await }.boxed()
            });
            (runner, handler)
        });
        let session = session.thread_named(self.thread().as_str());
        self.session = session.over(self.store().clone());
        self
    }

    /// Returns another process over the same folder, log and documents, beside this one.
    pub(crate) fn beside(&self) -> Self {
        self.made_by(self.make.clone())
    }

    /// Returns another conversation about the same folder.
    pub(crate) fn elsewhere(&self, thread: &str) -> Self {
        let mut other = self.beside();
        other.session = other.session.thread_named(thread);
        other
    }

    /// The same with these dependencies.
    pub(crate) fn made_by(&self, make: Arc<dyn Fn() -> Deps + Send + Sync>) -> Self {
        let (clock, docs) = (self.clock.clone(), self.docs.clone());
        Self::of(self.folder.clone(), make, clock, docs, self.store().clone())
    }

    pub(crate) fn dir(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
}

/// Opens the agent over a log.
fn opened(
    make: Arc<dyn Fn() -> Deps + Send + Sync>,
    archives: Archives,
) -> impl Fn(Arc<SessionLog>) -> Runner<AgentState> {
    move |log| {
        let graph = graph(&make()).expect("the wiring is checked");
        let runner = Runner::new(graph, Arc::new(archives.watching(log)));
        runner.options(budgets(RunnerOptions::default()))
    }
}

async fn typed(
    agent: &ServedTransparent,
    thread: &ThreadId,
    words: String,
) -> Result<WordOutcome<AgentState>, BoxError> {
    let mut said = UserMessage::new(Caller::default(), words);
    let open = agent.runner().interrupts(thread).await?;
    said.card = open.first().map(|asked| asked.id.clone());
    Ok(match say(agent, thread, said).await? {
        SendOutcome::Run(run) => WordOutcome::Run(run),
        SendOutcome::Unchanged(_) => WordOutcome::Told(String::new()),
        SendOutcome::Told(text) => WordOutcome::Told(text),
    })
}

/// Returns the names of the durable events that the protocol shows.
pub(crate) fn order(turn: &Turn<AgentState>) -> Vec<String> {
    turn.map(|kind| match kind {
        EventKind::Custom { name, .. } if name == "model_call" => None,
        EventKind::Custom { name, .. } => Some(name.clone()),
        EventKind::ToolCallProposed { name, .. } => Some(format!("tool_call {name}")),
        EventKind::ToolFinished { status, .. } => {
            Some(format!("tool_result {}", json!(status).as_str()?))
        }
        EventKind::InterruptRaised(_) => Some("interrupt".to_owned()),
        EventKind::RunFinished { .. } => Some("final_answer".to_owned()),
        _ => None,
    })
}

pub(crate) fn searches() -> String {
    json!({ "intent": "search", "complexity": 0.7, "params": { "type": "document", "query": "项目计划书", "time_range": "上周" } }).to_string()
}

pub(crate) fn finds() -> String {
    let pattern = ".*(计划书|proposal).*";
    json!({ "steps": [
        { "type": "rag", "query": "{{query}}" },
        { "type": "tool", "name": "list_files", "params": { "path": "~/Documents", "filter": pattern } },
    ] })
    .to_string()
}

pub(crate) fn search(query: &str) -> String {
    json!({ "thought": "先查记忆", "action": "search_memory", "query": query }).to_string()
}

pub(crate) fn use_tool(name: &str, params: &Value) -> String {
    json!({ "thought": format!("调用 {name}"), "action": "use_tool", "name": name, "params": params }).to_string()
}

pub(crate) fn finish() -> String {
    json!({ "thought": "找到了", "action": "finish" }).to_string()
}

pub(crate) type TestResult = Result<(), BoxError>;
