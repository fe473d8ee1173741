//! An outside world that scenarios act upon, and what they read in a log.
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fugato_graph::{
    BoxError, Context, END, Effect, EffectClass, Graph, IntoNode, Node, Outcome, Runner,
    RunnerOptions,
};
use fugato_state::State;

use super::{
    Cut, RecordingLog,
    desk::{Calls, Change, Desk, Page, Says, line},
};
use crate::log::{Failure, same};

/// A node that sends a mail, and says what came out. The world notes the idempotency key.
#[derive(Clone)]
pub(crate) struct Mails {
    pub(crate) world: Calls,
    effect: Arc<dyn Fn() -> Effect<String> + Send + Sync>,
    /// What is sent.
    pub(crate) text: &'static str,
}

impl Mails {
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
impl Node<Page> for Mails {
    async fn run(&self, cx: Context<Page>) -> Result<Outcome<Change>, BoxError> {
        Ok(Outcome::done([line(self.send(&cx, "mail").await?)]))
    }
}

/// a, then a node that acts, then b.
pub(crate) fn between<M>(acts: impl IntoNode<Page, M>) -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("a")
        .node("a", Says("a", Calls::default()))
        .node("send", acts)
        .node("b", Says("b", Calls::default()))
        .edge("a", "send")
        .edge("send", "b")
        .edge("b", END)
        .build()?)
}

pub(crate) fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

impl Desk {
    /// What was appended since the last time: one line for each commit.
    pub(crate) fn appended(&self, what: &str, expected: &[&str]) -> Result<(), Failure> {
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

    /// What the log says that a page is now.
    pub(crate) async fn page(&self, graph: &Graph<Page>) -> Result<Page, Failure> {
        let page = self.runner(graph).state(&self.thread).await?;
        let page = page.ok_or_else(|| Failure::new("the thread does not exist"))?;
        Ok((*page).clone())
    }

    /// Waits until so many commits were appended.
    pub(crate) async fn appends(&self, commits: usize) {
        while self.log.commits().len() < commits {
            tokio::task::yield_now().await;
        }
    }
}

/// Kills its process from inside a node: what the node does next is never stored.
#[derive(Clone, Default)]
pub(crate) struct Killer(Arc<Mutex<Option<RecordingLog>>>);

impl Killer {
    /// Sits in the process that is about to run.
    pub(crate) fn aim(&self, desk: &Desk) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(desk.log.clone());
    }

    pub(crate) fn kill(&self) {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().for_each(|log| log.cut(1, Cut::DiesBefore));
    }
}
