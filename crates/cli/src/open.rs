use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use fugato_graph::{Graph, Retention, Runner, RunnerOptions};
use fugato_llm::ChatModel;
use fugato_state::{State, ThreadId};
use fugato_store::{DocStore, ThreadStore};

use crate::{
    Flags, Folders, Lang, PersonLimits, background::BackgroundTasks, engine::Engine,
    people::PersonUsage,
};

/// The duration of a lease: a thread stays held for so long after its process died.
const LEASE: Duration = Duration::from_secs(3);

/// The opened store and model, with the flags that an agent needs.
#[derive(derive_more::Debug, Clone)]
#[non_exhaustive]
#[debug(
    "Resources {{ dir: {dir:?}, thread: {thread:?}, model: {:?}, .. }}",
    self.model.as_ref().map(ChatModel::name)
)]
pub struct Resources {
    /// The log of all threads.
    pub store: Arc<dyn ThreadStore>,
    /// Documents that outlive threads: in the database of the log, or in the folder if the log's
    /// server keeps none.
    pub docs: Arc<dyn DocStore>,
    /// The model, with its retries and its backup; without one, rules decide.
    pub model: Option<Arc<dyn ChatModel>>,
    /// The names of the models that a request or a stage may choose: the model of the flags first;
    /// empty without one.
    pub models: Vec<String>,
    /// The folder in which the program keeps its data.
    pub dir: PathBuf,
    /// The thread of the command.
    pub thread: ThreadId,
    /// The language that the flags set.
    pub lang: Option<Lang>,
    /// The flags, with the person whose data these are.
    pub flags: Flags,
    /// The limits of the person whose data these are; none for nobody in particular.
    pub limits: PersonLimits,
    /// True if the command only reads the store: no run begins.
    pub reads: bool,
    /// True if the person whose data these are may sit at the terminal of this process.
    pub at_terminal: bool,
    /// The use that the person makes of it.
    pub(crate) usage: Option<PersonUsage>,
    /// The engine that goes on with threads, of a server that has one.
    pub(crate) engine: Option<Engine>,
    pub(crate) program: String,
    pub(crate) keep_finished: Retention,
    pub(crate) background: BackgroundTasks,
}

impl Resources {
    /// Creates the runner of a graph, with [`options`](Self::options). A runner of a server with an
    /// engine leaves to it what goes on later; further options keep that.
    pub fn runner<S: State>(&self, graph: Graph<S>) -> Runner<S> {
        let runner = Runner::new(graph, Arc::new(self.store.clone())).options(self.options());
        match &self.engine {
            Some(engine) => engine.placing(runner),
            None => runner,
        }
    }

    /// Returns the options of a program at a terminal: a short lease, so that a thread of a process
    /// that died is free after seconds. Rules that read a long message keep nobody else waiting.
    pub fn options(&self) -> RunnerOptions {
        let owner = format!("{} process {}", self.program, std::process::id());
        RunnerOptions::default()
            .lease(LEASE)
            .owner(owner)
            .on_complete(self.keep_finished)
            .block_in_place(true)
    }

    /// Starts a task that works beside the commands, such as a clockwork. It is to end when the runner
    /// that it works for is [closed](Runner::closed); the program waits for it, and ends what does not
    /// end by itself.
    pub fn background(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.background.spawn(task);
    }

    /// Returns the part of a common place that is the person's own: a folder of the name of their
    /// account, or all of it for nobody in particular.
    pub fn own(&self, place: &Path) -> PathBuf {
        let person = self.flags.person.as_ref();
        person.map_or_else(|| place.to_owned(), |person| place.join(person))
    }

    /// Returns the folder of the thread.
    pub fn folder(&self) -> PathBuf {
        Folders::new(&self.dir).of(&self.thread)
    }
}
