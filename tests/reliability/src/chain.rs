//! A thread of as many steps as its input says.
use std::time::Duration;

use fugato_graph::{Context, END, Effect, Graph};
use fugato_state::State;
use serde::{Deserialize, Serialize};

use crate::{
    BoxError, TrialResult,
    evidence::{Evidence, EvidenceKind},
    job::found,
};

/// How many steps are wanted, and how many were taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// How many are wanted.
    pub wanted: u64,
    /// How many were taken.
    pub taken: u64,
}

/// What happens to a chain.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// So many steps more.
    Wanted(u64),
    /// One was taken.
    Taken,
}

impl State for Chain {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Wanted(steps) => self.wanted += steps,
            Change::Taken => self.taken += 1,
        }
    }
}

/// How the steps of a chain are taken.
#[derive(Debug, Clone, Default)]
pub struct Walk {
    /// How long each takes.
    pub pause: Duration,
    /// Where each leaves a line.
    pub evidence: Option<Evidence>,
    /// Whether each does something that must not be done twice.
    pub once: bool,
}

/// How long what must not be done twice may take.
pub const TIMEOUT: Duration = Duration::from_millis(200);

/// The chain.
pub fn graph(walk: &Walk) -> TrialResult<Graph<Chain>> {
    let walk = walk.clone();
    let step = move |cx: Context<Chain>| {
        let walk = walk.clone();
        async move { walk.step(cx).await }
    };
    let next = |chain: &Chain| {
        if chain.taken < chain.wanted {
            "step"
        } else {
            END
        }
    };
    Ok(Graph::<Chain>::starting_at("step")
        .node("step", step)
        .branch("step", ["step", END], next)
        .build()?)
}

impl Walk {
    async fn step(self, cx: Context<Chain>) -> TrialResult<Change> {
        let (thread, task, attempt) = (cx.thread().to_string(), cx.task(), cx.attempt());
        if let Some(evidence) = &self.evidence {
            evidence.add(&thread, &task, EvidenceKind::Began { attempt })?;
        }
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        if let Some(evidence) = self.evidence.filter(|_| self.once) {
            let looks = (evidence.clone(), thread.clone(), task.clone());
            let effect = Effect::once()
                .timeout(TIMEOUT)
                .reconcile(move || async move {
                    let (evidence, thread, task) = looks;
                    let happened = evidence.shows(&thread, &task, KEY)?;
                    let key = KEY.to_owned();
                    evidence.add(&thread, &task, EvidenceKind::Looked { key, happened })?;
                    Ok::<_, BoxError>(Some(found(happened, ())))
                });
            let act = move |idempotency| async move {
                let key = KEY.to_owned();
                evidence.add(&thread, &task, EvidenceKind::Did { key, idempotency })?;
                Ok::<_, BoxError>(())
            };
            cx.effect(KEY, effect, &(), act).await?;
        }
        Ok(Change::Taken)
    }
}

const KEY: &str = "act";
