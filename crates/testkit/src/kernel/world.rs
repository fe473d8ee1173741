//! A simulated outside world for scenarios, and readings of a log.
use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::{
    Answers, BoxError, Context, END, Effect, Graph, GraphBuilder, IntoNode, Node, Outcome, Runner,
    RunnerOptions, ThreadStatus,
};
use fugato_state::{EffectClass, State, ThreadId};
use fugato_store::{Commit, Expect, Record, Status};
use futures::future::BoxFuture;
use tokio::sync::{Notify, Semaphore};

use super::{
    fixture::{Calls, Change, Fixture, NamedNode, Page, Switch, line},
    script::BuildResult,
};
use crate::log::{CheckResult, Failure, same};

/// The equipment of a script's graphs: a log with one thread, the notes of nodes, a switch and a
/// door. The nodes of one script share it, in all of its processes.
pub(crate) struct Stage {
    pub(crate) desk: Fixture,
    /// The tasks that ran.
    pub(crate) calls: Calls,
    /// The external actions that were done.
    pub(crate) world: Calls,
    /// The switch of nodes that fail, which is on until the script mends it.
    pub(crate) broken: Switch,
    pub(crate) door: TestGate,
    /// The name of the program that runs now.
    pub(crate) program: String,
}

impl Stage {
    pub(crate) fn of(desk: Fixture, program: &str) -> Self {
        Self {
            desk,
            calls: Calls::default(),
            world: Calls::default(),
            broken: Switch::on(),
            door: TestGate::default(),
            program: program.to_owned(),
        }
    }

    /// Builds nodes that say their names, and starts at the first.
    pub(crate) fn says(&self, names: &[&'static str]) -> GraphBuilder<Page> {
        let first = names.first().copied().unwrap_or_default();
        Graph::starting_at(first).says(&self.calls, names)
    }

    /// Returns a node that sends a mail.
    pub(crate) fn mails(&self, class: EffectClass) -> MailNode {
        MailNode::of(&self.world, class)
    }

    /// Returns true if this program runs.
    pub(crate) fn is(&self, program: &str) -> bool {
        self.program == program
    }
}

/// A node that sends a mail and returns the result. The world records the idempotency key.
#[derive(Clone)]
pub(crate) struct MailNode {
    pub(crate) world: Calls,
    effect: Arc<dyn Fn() -> Effect<String> + Send + Sync>,
    /// The text of the mail.
    pub(crate) text: &'static str,
}

impl MailNode {
    pub(crate) fn of(world: &Calls, class: EffectClass) -> Self {
        Self::with(world, move || class.into())
    }

    pub(crate) fn with(
        world: &Calls,
        effect: impl Fn() -> Effect<String> + Send + Sync + 'static,
    ) -> Self {
        let (world, effect) = (world.clone(), Arc::new(effect));
        let text = "to all";
        Self {
            world,
            effect,
            text,
        }
    }

    /// Sends a mail under a key.
    pub(crate) async fn send(&self, cx: &Context<Page>, key: &str) -> Result<String, BoxError> {
        let world = self.world.clone();
        let act = move |key| async move {
            world.note(key);
            Ok::<_, BoxError>(format!("sent {}", world.count()))
        };
        Ok(cx.effect(key, (self.effect)(), &self.text, act).await?)
    }
}

#[async_trait]
impl Node<Page> for MailNode {
    async fn run(&self, cx: Context<Page>) -> Result<Outcome<Change>, BoxError> {
        Ok(Outcome::done([line(self.send(&cx, "mail").await?)]))
    }
}

/// Builds a, then a node that acts, then b.
pub(crate) fn between<M>(acts: impl IntoNode<Page, M>) -> BuildResult {
    let graph = Graph::<Page>::starting_at("a").says(&Calls::default(), &["a", "b"]);
    let graph = graph.node("send", acts);
    graph.way(&["a", "send", "b", END]).build()
}

/// Builds a graph of one node.
pub(crate) fn alone<M>(name: &str, node: impl IntoNode<Page, M>) -> BuildResult {
    Graph::<Page>::starting_at(name)
        .node(name, node)
        .edge(name, END)
        .build()
}

pub(crate) fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// The wiring of graphs, in short.
pub(crate) trait WiringExt: Sized {
    /// Adds the edges from each of these nodes to the next.
    fn way(self, nodes: &[&str]) -> Self;
    /// Adds edges to several nodes at once, and their join.
    fn fork(self, from: &str, at_once: &[&str], to: &str) -> Self;
}

impl<S: State> WiringExt for GraphBuilder<S> {
    fn way(self, nodes: &[&str]) -> Self {
        let pairs = nodes.iter().zip(nodes.iter().skip(1));
        pairs.fold(self, |graph, (from, to)| graph.edge(*from, *to))
    }

    fn fork(self, from: &str, at_once: &[&str], to: &str) -> Self {
        let begin = |graph: Self, node: &&str| graph.edge(from, *node);
        let forked = at_once.iter().fold(self, begin);
        forked.join(at_once.iter().copied(), to)
    }
}

/// Nodes that say their names.
pub(crate) trait NamedNodesExt: Sized {
    /// Adds a [`NamedNode`] for each name.
    fn says(self, calls: &Calls, names: &[&'static str]) -> Self;
}

impl NamedNodesExt for GraphBuilder<Page> {
    fn says(self, calls: &Calls, names: &[&'static str]) -> Self {
        let add =
            |graph: Self, name: &&'static str| graph.node(*name, NamedNode(name, calls.clone()));
        names.iter().fold(self, add)
    }
}

impl Page {
    /// Compares the lines.
    pub(crate) fn said(&self, expected: &[&str]) -> CheckResult {
        same("what was said", self.lines.clone(), texts(expected))
    }
}

impl Calls {
    /// Compares the notes since the last call, sorted.
    pub(crate) fn ran(&self, expected: &[&str]) -> CheckResult {
        same("what ran", self.take(), texts(expected))
    }
}

impl Fixture {
    /// Compares the appends since the last call, one line for each commit.
    pub(crate) fn appended(&self, what: &str, expected: &[&str]) -> CheckResult {
        let shape = self.log.shape();
        self.log.forget();
        same(what, shape, texts(expected))
    }

    pub(crate) fn runner_with<S: State>(
        &self,
        graph: &Graph<S>,
        options: RunnerOptions,
    ) -> Runner<S> {
        self.runner(graph).options(options)
    }

    /// Compares the lines of the page that the log holds now.
    pub(crate) async fn stored(&self, graph: &Graph<Page>, expected: &[&str]) -> CheckResult {
        same(
            "what is stored",
            self.page(graph).await?.lines,
            texts(expected),
        )
    }

    /// Returns the page that the log holds now.
    pub(crate) async fn page(&self, graph: &Graph<Page>) -> Result<Page, Failure> {
        let page = self.runner(graph).state(&self.thread).await?;
        let page = page.ok_or_else(|| Failure::new("the thread does not exist"))?;
        Ok((*page).clone())
    }

    /// Appends a record of somebody else to a thread.
    pub(crate) async fn foreign(
        &self,
        thread: &ThreadId,
        record: Vec<u8>,
        status: Status,
    ) -> CheckResult {
        let head = self.log_of().head(thread).await?;
        let (head, fence) = head.map_or((0, 0), |head| (head.seq, head.fence));
        let commit = Commit {
            expect: Expect { head, fence },
            nonce: u128::from(head) + 7,
            records: vec![Record(record)],
            status,
            base: None,
        };
        self.log_of().append(thread, &commit).await?;
        Ok(())
    }

    /// Continues the thread from any standing until its run has ended, with another process after
    /// each error; every question is answered with `true`.
    pub(crate) async fn run_to_the_end(
        &mut self,
        graph: &Graph<Page>,
        options: &RunnerOptions,
    ) -> Result<Page, Failure> {
        let mut last = None;
        for _ in 0..9 {
            let runner = self.runner_with(graph, options.clone());
            let ended = match runner.status(&self.thread).await {
                Ok(ThreadStatus::New) => runner.start(&self.thread, ()).await,
                Ok(ThreadStatus::Waiting(_)) => {
                    runner.resume(&self.thread, Answers::only(true)?).await
                }
                Ok(ThreadStatus::Unfinished) => runner.recover(&self.thread).await,
                Ok(ThreadStatus::Idle) => return self.page(graph).await,
                Ok(other) => return Err(Failure::new(format!("it stands at {other:?}"))),
                Err(error) => Err(error),
            };
            if ended.is_err() {
                self.another_process();
            }
            last = Some(ended);
        }
        Err(Failure::new(format!("it comes to no end: {last:?}")))
    }

    /// Waits until this many commits were appended.
    pub(crate) async fn appends(&self, commits: usize) {
        while self.log.commits().len() < commits {
            tokio::task::yield_now().await;
        }
    }
}

/// A door at which nodes wait until they are let through.
#[derive(Clone)]
pub(crate) struct TestGate {
    reached: Arc<Notify>,
    /// The number of nodes that may pass.
    opened: Arc<Semaphore>,
}

impl Default for TestGate {
    fn default() -> Self {
        Self {
            reached: Arc::default(),
            opened: Arc::new(Semaphore::new(0)),
        }
    }
}

impl TestGate {
    /// Waits at the door until it is opened.
    pub(crate) async fn pass(&self) {
        self.reached.notify_one();
        if let Ok(opened) = self.opened.acquire().await {
            opened.forget();
        }
    }

    /// Waits until a node is at the door.
    pub(crate) async fn reached(&self) {
        self.reached.notified().await;
    }

    /// Lets one node through.
    pub(crate) fn open(&self) {
        self.opened.add_permits(1);
    }

    /// Returns a node that passes the door, and then says its name.
    pub(crate) fn node(
        &self,
        name: &'static str,
    ) -> impl Fn(Context<Page>) -> BoxFuture<'static, Change> + Send + Sync + 'static + use<> {
        let door = self.clone();
        move |_| {
            let door = door.clone();
            Box::pin(async move {
                door.pass().await;
                line(name)
            })
        }
    }
}
