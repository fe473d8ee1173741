mod book;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use self::book::Book;
use crate::{ChatModel, ChatRequest, DeltaStream, ModelError, size::AnswerSize};

/// Limits what all answers of a stage, and all answers of a run, may take together.
///
/// A stage is one decision: its retries, its backups and its corrections count together. When an
/// allowance is used up the answer ends in [`ModelErrorKind::OutOfBudget`], and what is asked after
/// that fails at once, so that the caller goes on without a model.
///
/// # Notes
/// - It goes outermost, around retries and backups.
/// - Which stage and which run an answer belongs to is said by the [`SpendScope`] in which it is
///   asked for; outside of one there is no limit.
/// - The time is that of waiting for the model, not that of its reader. It is counted in this
///   process: a run that goes on in another one begins anew.
/// - Clones share what was spent.
///
/// # Default
/// 4 minutes and 512 KiB for a stage, 16 minutes and 4 MiB for a run.
///
/// [`ModelErrorKind::OutOfBudget`]: crate::ModelErrorKind::OutOfBudget
#[derive(Debug, Clone)]
pub struct SpendLimit<M> {
    model: M,
    stage: Allowance,
    run: Allowance,
    book: Arc<Mutex<Book>>,
}

/// The time and the bytes that answers may take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// How long their model may be waited for.
    pub time: Duration,
    /// How long they may be, in bytes as they are written into a log.
    pub bytes: usize,
}

impl<M: ChatModel> SpendLimit<M> {
    /// Wraps a model.
    pub fn new(model: M) -> Self {
        Self {
            model,
            stage: Allowance {
                time: Duration::from_secs(4 * 60),
                bytes: 512 << 10,
            },
            run: Allowance {
                time: Duration::from_secs(16 * 60),
                bytes: 4 << 20,
            },
            book: Arc::default(),
        }
    }

    /// Sets what the answers of one stage may take together.
    #[must_use]
    pub fn stage(mut self, allowance: Allowance) -> Self {
        self.stage = allowance;
        self
    }

    /// Sets what the answers of one run may take together.
    #[must_use]
    pub fn run(mut self, allowance: Allowance) -> Self {
        self.run = allowance;
        self
    }
}

/// The stage and the run for which models are asked while a future runs.
#[derive(Debug, Clone)]
pub struct SpendScope {
    run: Arc<str>,
    stage: Arc<str>,
    continues: Arc<AtomicBool>,
}

tokio::task_local! {
    static SCOPE: SpendScope;
}

impl SpendScope {
    /// A stage of a run. It begins with a whole allowance unless the scope before it of the same
    /// stage was [continued](Self::carry_on).
    pub fn new(run: impl Into<Arc<str>>, stage: impl Into<Arc<str>>) -> Self {
        Self {
            run: run.into(),
            stage: stage.into(),
            continues: Arc::default(),
        }
    }

    /// Runs a future in this scope.
    pub async fn hold<F: Future>(self, work: F) -> F::Output {
        SCOPE.scope(self, work).await
    }

    /// Says that the decision of the scope around is not made yet: the next scope of its stage goes
    /// on with what this one has left. Outside of a scope it does nothing.
    pub fn carry_on() {
        // Without a scope nothing is counted.
        let _ = SCOPE.try_with(|scope| scope.continues.store(true, Ordering::Relaxed));
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for SpendLimit<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let Ok(scope) = SCOPE.try_with(Clone::clone) else {
            return self.model.stream(request).await;
        };
        let account = Account {
            scope,
            allowances: [self.stage, self.run],
            book: self.book.clone(),
        };
        let deltas = account.wait(self.model.stream(request)).await??;
        let (size, told) = (AnswerSize::default(), 0);
        let counted = stream::unfold(Some((deltas, size, told)), move |answer| {
            let account = account.clone();
            async move {
                let (mut deltas, mut size, told) = answer?;
                let delta = match account.wait(deltas.next()).await {
                    Ok(delta) => delta?,
                    Err(error) => return Some((Err(error), None)),
                };
                if let Ok(delta) = &delta {
                    size.add(delta);
                }
                let now = size.bytes();
                Some(match account.charge(Duration::ZERO, now - told) {
                    Ok(_) => (delta, Some((deltas, size, now))),
                    Err(error) => (Err(error), None),
                })
            }
        });
        Ok(counted.fuse().boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

/// Where what an answer takes is written down.
#[derive(Clone)]
struct Account {
    scope: SpendScope,
    allowances: [Allowance; 2],
    book: Arc<Mutex<Book>>,
}

impl Account {
    /// Waits as long as is left.
    async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, ModelError> {
        let left = self.charge(Duration::ZERO, 0)?;
        let clock = Clock {
            account: self,
            start: Instant::now(),
        };
        let done = match clock.start.checked_add(left) {
            Some(end) => timeout_at(end, work).await,
            None => Ok(work.await),
        };
        drop(clock);
        match done {
            Ok(done) => Ok(done),
            // The clock has charged what is left, so that this tells what is used up.
            Err(_) => Err(self
                .charge(Duration::ZERO, 0)
                .err()
                .unwrap_or_else(|| book::stopped("the model took too long"))),
        }
    }

    /// Charges time and bytes. Returns the time that is left.
    fn charge(&self, time: Duration, bytes: usize) -> Result<Duration, ModelError> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.charge(&self.scope, self.allowances, time, bytes)
    }
}

/// Charges the time that passes until it is dropped.
struct Clock<'a> {
    account: &'a Account,
    start: Instant,
}

impl Drop for Clock<'_> {
    fn drop(&mut self) {
        // Whoever asks next is told.
        let _ = self.account.charge(self.start.elapsed(), 0);
    }
}
