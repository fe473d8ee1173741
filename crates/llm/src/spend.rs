mod book;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use fugato_state::say;
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use self::book::Book;
use crate::{ChatModel, ChatRequest, DeltaStream, ModelError, size::AnswerSize};

/// Limits the total time and size of all answers of a stage, and of all answers of a run.
///
/// A stage is one decision: its retries, backups and corrections count together. When an allowance
/// is used up, the answer ends in [`ModelErrorKind::OutOfBudget`], and later requests fail at once,
/// so that the caller continues without a model.
///
/// # Notes
/// - It goes outermost, around retries and backups.
/// - The stage and the run of an answer are those of the [`SpendScope`] in which the request is
///   made; outside a scope there is no limit.
/// - The time is that of waiting for the model, not that of its reader. It is counted in this
///   process: a run that continues in another process starts with a whole allowance.
/// - Clones share the counts.
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

/// The total time and size that answers may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The limit of the time of waiting for the model.
    pub time: Duration,
    /// The limit of the size, in bytes as they are written into a log.
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

    fugato_state::setters! {
        /// Sets the allowance of all answers of one stage.
        pub fn stage(allowance: Allowance) { stage = allowance }

        /// Sets the allowance of all answers of one run.
        pub fn run(allowance: Allowance) { run = allowance }
    }
}

/// The stage and the run to which the requests of a future are charged.
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
    /// Creates a scope of a stage of a run. It begins with a whole allowance unless the previous
    /// scope of the same stage was [continued](Self::carry_on).
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

    /// Marks the decision of the enclosing scope as unfinished: the next scope of its stage
    /// continues with the rest of the allowance. Outside a scope it does nothing.
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

/// The account to which an answer is charged.
#[derive(Clone)]
struct Account {
    scope: SpendScope,
    allowances: [Allowance; 2],
    book: Arc<Mutex<Book>>,
}

impl Account {
    /// Waits for `work` at most as long as the allowances permit.
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
            // The clock has charged the rest, so that this error names the allowance that is used
            // up.
            Err(_) => Err(self.charge(Duration::ZERO, 0).err().unwrap_or_else(|| {
                book::stopped(say!("the model took too long", "模型回答得太慢"))
            })),
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
        // An exceeded allowance is reported to the next request.
        let _ = self.account.charge(self.start.elapsed(), 0);
    }
}
