use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use fugato_graph::{Graph, Runner, RunnerOptions};
use fugato_llm::ChatModel;
use fugato_state::{State, ThreadId};
use fugato_store::{DocStore, ThreadStore};

use crate::{Folders, Lang};

/// How long a thread is held by a process that died without letting go of it.
const LEASE: Duration = Duration::from_secs(3);

/// What the flags name, opened: an agent is wired to it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Opened {
    /// The log of all threads.
    pub store: Arc<dyn ThreadStore>,
    /// Documents that outlive threads: beside the log, or in the folder where the log's server
    /// keeps none.
    pub docs: Arc<dyn DocStore>,
    /// The model, with its retries and its backup; without one, rules decide.
    pub model: Option<Arc<dyn ChatModel>>,
    /// The folder in which the program keeps what it stores.
    pub dir: PathBuf,
    /// The thread that the command is about.
    pub thread: ThreadId,
    /// The language that was asked for.
    pub lang: Option<Lang>,
    /// Whether the command only reads what is stored: no run begins.
    pub reads: bool,
    pub(crate) program: String,
}

impl Opened {
    /// What runs the threads of a graph, with [`options`](Self::options).
    pub fn runner<S: State>(&self, graph: Graph<S>) -> Runner<S> {
        Runner::new(graph, Arc::new(self.store.clone())).options(self.options())
    }

    /// Options of a program at a terminal: who waits for a process that died waits for seconds.
    pub fn options(&self) -> RunnerOptions {
        let owner = format!("{} process {}", self.program, std::process::id());
        RunnerOptions::default().lease(LEASE).owner(owner)
    }

    /// The folder of the thread.
    pub fn folder(&self) -> PathBuf {
        Folders::new(&self.dir).of(&self.thread)
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("dir", &self.dir)
            .field("thread", &self.thread)
            .field("model", &self.model.as_ref().map(ChatModel::name))
            .finish_non_exhaustive()
    }
}
