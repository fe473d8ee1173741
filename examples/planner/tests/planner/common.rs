//! A desk, a store, and a planner over both.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use fugato::{
    BoxError, ChatModel, MemoryLog, memory::ExecutionStatus, state::Millis, store::MemoryDocs,
    words::Phrases,
};
use planner::{
    desk::Exchange,
    graph::{Deps, PlanningMode},
    service::{Planner, PlannerReply},
    session::Session,
};

pub type TestResult = Result<(), BoxError>;

/// The world outside of the planner, which outlives it.
#[derive(Clone)]
pub struct World {
    pub desk: Exchange,
    pub docs: Arc<MemoryDocs>,
    pub store: Arc<MemoryLog>,
    pub now: Arc<AtomicI64>,
}

/// The time at which tests begin.
pub const START: Millis = 1_800_000_000_000;

impl World {
    pub fn new() -> Result<Self, BoxError> {
        let now = Arc::new(AtomicI64::new(START));
        let clock = |now: &Arc<AtomicI64>| {
            let now = now.clone();
            move || now.load(Ordering::Relaxed)
        };
        Ok(Self {
            desk: Exchange::in_memory()?.clock(clock(&now)),
            docs: Arc::default(),
            store: Arc::new(MemoryLog::with_clock(clock(&now))),
            now,
        })
    }

    /// Advances the clock.
    pub fn wait(&self, millis: Millis) {
        self.now.fetch_add(millis, Ordering::Relaxed);
    }

    pub fn deps(&self) -> Deps {
        Deps::new(self.desk.clone(), self.docs.clone())
    }

    pub fn planner(&self) -> Result<Planner, BoxError> {
        Ok(Planner::new(&self.deps(), self.store.clone())?)
    }

    pub fn with(&self, model: impl ChatModel + 'static) -> Result<Planner, BoxError> {
        Ok(Planner::new(&self.deps().model(model), self.store.clone())?)
    }

    pub fn in_manner(&self, manner: PlanningMode) -> Result<Planner, BoxError> {
        Ok(Planner::new(
            &self.deps().manner(manner),
            self.store.clone(),
        )?)
    }
}

/// Sends a message in the session `one` of `ada`.
pub async fn say(planner: &Planner, text: &str) -> Result<String, BoxError> {
    let told = reply(planner, text).await?.text;
    // The codes of cards differ from run to run.
    Ok(match code(planner).await? {
        Some(code) => told.replace(&format!(" {code}"), ""),
        None => told,
    })
}

/// Sends a message; a yes or no to a card is sent with the code of the card.
pub async fn reply(planner: &Planner, text: &str) -> Result<PlannerReply, BoxError> {
    let code = match Phrases::default().consent(text) {
        Some(_) => code(planner).await?,
        None => None,
    };
    let text = code.map_or_else(|| text.to_owned(), |code| format!("{text} {code}"));
    Ok(planner.handle_message("ada", "one", &text).await?)
}

/// Returns the code of the open card.
pub async fn code(planner: &Planner) -> Result<Option<String>, BoxError> {
    let thread = Planner::thread("ada", "one")?;
    let open = planner.runner().interrupts(&thread).await?;
    let mut cards = open
        .into_iter()
        .filter(|asked| asked.question.digest.is_some());
    Ok(cards.next().map(|asked| asked.id.code()))
}

pub async fn session(planner: &Planner) -> Result<Arc<Session>, BoxError> {
    let thread = Planner::thread("ada", "one")?;
    let state = planner.runner().state(&thread).await?;
    Ok(state.ok_or("there is no session")?)
}

pub async fn status(planner: &Planner) -> Result<ExecutionStatus, BoxError> {
    Ok(session(planner).await?.work.status())
}
