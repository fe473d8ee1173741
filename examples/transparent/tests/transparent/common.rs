//! A folder with the sample, a log in memory, and a clock that is set by hand.
#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use fugato::{
    Answers, BoxError, EventKind, Interrupt, MemoryLog, RunError, RunResult, Runner, ThreadId,
    archive::Archives,
    cron::{JobClock, Jobs},
    llm::ChatModel,
    mcp::plugin::LoadedPlugins,
    store::{DocStore, MemoryDocs, ThreadStore},
    stream::Event,
};
use futures::StreamExt as _;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use transparent::{
    agent::{AgentState, Request, Update},
    deps::Deps,
    desk::Workspace,
    graph::{budgets, graph},
    open::archives,
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

pub(crate) struct Stage {
    pub(crate) folder: Arc<TempDir>,
    pub(crate) deps: Deps,
    pub(crate) runner: Runner<AgentState>,
    pub(crate) thread: ThreadId,
    pub(crate) clock: Arc<AtomicI64>,
    pub(crate) docs: Arc<dyn DocStore>,
    pub(crate) archives: Archives,
    pub(crate) log: Arc<dyn ThreadStore>,
}

/// The end of a request, with its events.
pub(crate) struct Scene {
    pub(crate) end: Result<RunResult<AgentState>, RunError>,
    pub(crate) events: Vec<Event>,
}

impl Stage {
    pub(crate) fn new(model: Option<Arc<dyn ChatModel>>) -> Self {
        Self::adjusted(model, |desk| desk)
    }

    pub(crate) fn scripted<R: Into<fugato_testkit::ScriptedReply>>(
        replies: impl IntoIterator<Item = R>,
    ) -> Self {
        Self::new(Some(Arc::new(fugato_testkit::Scripted::new(replies))))
    }

    pub(crate) fn adjusted(
        model: Option<Arc<dyn ChatModel>>,
        adjust: impl FnOnce(Workspace) -> Workspace,
    ) -> Self {
        Self::on(Arc::new(MemoryLog::default()), model, adjust)
    }

    /// Creates a stage on this log.
    pub(crate) fn on(
        log: Arc<dyn ThreadStore>,
        model: Option<Arc<dyn ChatModel>>,
        adjust: impl FnOnce(Workspace) -> Workspace,
    ) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let desk = adjust(Workspace::open(folder.path()).expect("a new folder gets the sample"));
        let clock = Arc::new(AtomicI64::new(NOON));
        let docs: Arc<dyn DocStore> = Arc::new(MemoryDocs::default());
        Self::over(folder, desk, model, clock, docs, log)
    }

    fn over(
        folder: Arc<TempDir>,
        desk: Workspace,
        model: Option<Arc<dyn ChatModel>>,
        clock: Arc<AtomicI64>,
        docs: Arc<dyn DocStore>,
        log: Arc<dyn ThreadStore>,
    ) -> Self {
        let time = clock.clone();
        let time = JobClock::new(TimeZone::UTC, move || time.load(Ordering::SeqCst));
        let jobs = Jobs::new(docs.clone(), time);
        let deps =
            Deps::with(desk, jobs, LoadedPlugins::default(), None).expect("the tools fit together");
        let deps = deps.model(model);
        let archives = archives(folder.path());
        let store = Arc::new(archives.watching(log.clone()));
        let runner = Runner::new(graph(&deps).expect("the wiring is checked"), store);
        let runner = runner.options(budgets(fugato::RunnerOptions::default()));
        let thread = ThreadId::new("desk").expect("a short name");
        Self {
            folder,
            deps,
            runner,
            thread,
            clock,
            docs,
            archives,
            log,
        }
    }

    /// Returns another process over the same folder, log and documents.
    pub(crate) fn restarted(&self) -> Self {
        self.restarted_on(self.log.clone())
    }

    /// The same on another log.
    pub(crate) fn restarted_on(&self, log: Arc<dyn ThreadStore>) -> Self {
        let desk = Workspace::open(self.folder.path()).expect("the folder is there");
        let (clock, docs) = (self.clock.clone(), self.docs.clone());
        Self::over(
            self.folder.clone(),
            desk,
            self.deps.model.clone(),
            clock,
            docs,
            log,
        )
    }

    pub(crate) fn dir(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    pub(crate) async fn say(&self, text: &str) -> Scene {
        let said = vec![Update::Asked(Request::new(text))];
        Scene::of(self.runner.start(&self.thread, said)).await
    }

    pub(crate) async fn answer(&self, asked: &Interrupt, value: Value) -> Scene {
        let answers = match &asked.question.digest {
            Some(digest) => Answers::none().approving(asked.id.clone(), value, digest.clone()),
            None => Answers::to(asked.id.clone(), value),
        };
        Scene::of(self.runner.resume(&self.thread, answers.expect("JSON"))).await
    }

    pub(crate) async fn state(&self) -> AgentState {
        let state = self.runner.state(&self.thread).await.expect("it opens");
        AgentState::clone(&state.expect("it exists"))
    }
}

impl Scene {
    pub(crate) async fn of(run: fugato::graph::Run<AgentState>) -> Self {
        let (events, end) = run.split();
        let events = events.collect().await;
        let end = end.await;
        Self { end, events }
    }

    /// Returns the answer to the person.
    pub(crate) fn answer(&self) -> String {
        match &self.end {
            Ok(RunResult::Finished {
                output: Some(Value::String(text)),
                ..
            }) => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the open question.
    pub(crate) fn asked(&self) -> Interrupt {
        match &self.end {
            Ok(ended) => ended.interrupts().first().expect("a question").clone(),
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the data of the agent's events of a name.
    pub(crate) fn told(&self, name: &str) -> Vec<Value> {
        let told = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Custom { name: known, data } if known == name => Some(data.clone()),
            _ => None,
        });
        told.collect()
    }

    /// Returns the names of the durable events that the protocol shows.
    pub(crate) fn order(&self) -> Vec<String> {
        let named = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Custom { name, .. } if name == "model_call" => None,
            EventKind::Custom { name, .. } => Some(name.clone()),
            EventKind::ToolCallProposed { name, .. } => Some(format!("tool_call {name}")),
            EventKind::ToolFinished { status, .. } => {
                Some(format!("tool_result {}", json!(status).as_str()?))
            }
            EventKind::InterruptRaised(_) => Some("interrupt".to_owned()),
            EventKind::RunFinished { .. } => Some("final_answer".to_owned()),
            _ => None,
        });
        named.collect()
    }
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

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

pub(crate) type Done = Result<(), BoxError>;
