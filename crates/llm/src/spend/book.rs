//! The amounts that stages and runs have spent so far.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fugato_state::say;
use tokio::time::Instant;

use super::{Allowance, SpendScope};
use crate::{ModelError, ModelErrorKind, figure};

/// The greatest number of runs in memory; the run that was charged longest ago is forgotten first.
const MOST_RUNS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Book {
    runs: HashMap<Arc<str>, Run>,
}

#[derive(Debug)]
struct Run {
    spent: Spending,
    stages: HashMap<Arc<str>, Stage>,
    touched: Instant,
}

#[derive(Debug)]
struct Stage {
    spent: Spending,
    /// The flag of the scope that spent last; unless it is set, another scope starts with a whole
    /// allowance.
    continues: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Spending {
    time: Duration,
    bytes: usize,
}

impl Book {
    /// Charges the stage and the run of a scope. Returns the time that is left to both, or
    /// [`ModelErrorKind::OutOfBudget`] if an allowance is used up.
    pub(super) fn charge(
        &mut self,
        scope: &SpendScope,
        [stage, run]: [Allowance; 2],
        time: Duration,
        bytes: usize,
    ) -> Result<Duration, ModelError> {
        if self.runs.len() >= MOST_RUNS && !self.runs.contains_key(&scope.run) {
            self.forget_oldest();
        }
        let open = self.runs.entry(scope.run.clone()).or_insert_with(|| Run {
            spent: Spending::default(),
            stages: HashMap::new(),
            touched: Instant::now(),
        });
        open.touched = Instant::now();
        let begun = open.stages.entry(scope.stage.clone());
        let begun = begun.or_insert_with(|| Stage::of(scope));
        if !Arc::ptr_eq(&begun.continues, &scope.continues) {
            if begun.continues.load(Ordering::Relaxed) {
                begun.continues = scope.continues.clone();
            } else {
                *begun = Stage::of(scope);
            }
        }
        begun.spent.add(time, bytes);
        open.spent.add(time, bytes);
        let left = begun.spent.left_of(stage, false)?;
        Ok(left.min(open.spent.left_of(run, true)?))
    }

    fn forget_oldest(&mut self) {
        let oldest = self.runs.iter().min_by_key(|(_, run)| run.touched);
        if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
            self.runs.remove(&oldest);
        }
    }
}

impl Stage {
    fn of(scope: &SpendScope) -> Self {
        Self {
            spent: Spending::default(),
            continues: scope.continues.clone(),
        }
    }
}

impl Spending {
    fn add(&mut self, time: Duration, bytes: usize) {
        self.time = self.time.saturating_add(time);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn left_of(self, allowed: Allowance, in_run: bool) -> Result<Duration, ModelError> {
        let what = || {
            if in_run {
                say!("run", "运行")
            } else {
                say!("stage", "阶段")
            }
        };
        let left = allowed.time.saturating_sub(self.time);
        if left.is_zero() {
            let most = figure::seconds(allowed.time);
            let why = say!(
                "its answers took longer than {most} in this {}",
                "它的回答在这个{}里超过了 {most}",
                what()
            );
            return Err(stopped(why));
        }
        if self.bytes > allowed.bytes {
            let most = figure::size(allowed.bytes);
            let why = say!(
                "its answers are longer than {most} in this {}",
                "它的回答在这个{}里长过 {most}",
                what()
            );
            return Err(stopped(why));
        }
        Ok(left)
    }
}

pub(super) fn stopped(why: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::OutOfBudget, why)
}
