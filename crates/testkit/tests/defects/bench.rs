//! The equipment of the tests of defects.
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicI64, Ordering},
};

use fugato_graph::{Context, END, Graph, Runner};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use fugato_testkit::{kernel::RecordingLog, log::OpenedLog};
use serde::{Deserialize, Serialize};

/// The state of the tests: the lines so far, a pair and a shade.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) done: Vec<String>,
    pub(crate) pair: (u8, i64),
    pub(crate) shade: Option<Shade>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Shade {
    Plain,
    Mixed { of: (u8, u8), depth: f64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Change {
    Did(String),
    Pair(u8, i64),
    Shade(Shade),
}

impl State for Work {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Did(what) => self.done.push(what),
            Change::Pair(a, b) => self.pair = (a, b),
            Change::Shade(shade) => self.shade = Some(shade),
        }
    }
}

pub(crate) fn did(what: impl Into<String>) -> Change {
    Change::Did(what.into())
}

pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A bench on the log in memory. Other logs run the kernel's suite.
pub(crate) struct Bench {
    pub(crate) log: RecordingLog,
    pub(crate) now: Arc<AtomicI64>,
    pub(crate) thread: ThreadId,
    pub(crate) opened: OpenedLog,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let now = Arc::new(AtomicI64::new(1_000_000));
        let clock = now.clone();
        let log = MemoryLog::with_clock(move || clock.load(Ordering::SeqCst));
        let opened = OpenedLog::whole(log);
        let log = RecordingLog::over(opened.clone());
        Self {
            log,
            now,
            thread: ThreadId::new("work").unwrap(),
            opened,
        }
    }

    pub(crate) fn runner(&self, graph: &Graph<Work>) -> Runner<Work> {
        Runner::new(graph.clone(), Arc::new(self.log.clone()))
    }

    /// Replaces the process: the old one died, and another one opens the same log.
    pub(crate) fn another_process(&mut self) {
        self.now.fetch_add(60_000, Ordering::SeqCst);
        self.log = RecordingLog::over(self.opened.clone());
    }

    pub(crate) async fn head(&self) -> u64 {
        self.opened
            .log
            .head(&self.thread)
            .await
            .unwrap()
            .map_or(0, |head| head.seq)
    }
}

#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Returns a node that notes its name and adds it to the state.
    pub(crate) fn node(
        &self,
        name: &'static str,
    ) -> impl Fn(Context<Work>) -> std::future::Ready<Change> + Send + Sync + 'static {
        let calls = self.clone();
        move |_| {
            calls.note(name);
            std::future::ready(did(name))
        }
    }
}

pub(crate) fn two_questions(calls: &Calls) -> Graph<Work> {
    Graph::<Work>::starting_at("open")
        .node("open", calls.node("open"))
        .pause("a", |_| "a?", |_, a: Option<u8>| did(format!("a {a:?}")))
        .pause("b", |_| "b?", |_, b: Option<u8>| did(format!("b {b:?}")))
        .node("last", calls.node("last"))
        .edge("open", "a")
        .edge("open", "b")
        .join(["a", "b"], "last")
        .edge("last", END)
        .build()
        .unwrap()
}
