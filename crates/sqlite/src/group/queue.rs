//! The queue itself. The parent module chooses its locks: those of the standard library, or in
//! tests those of a scheduler that tries many interleavings.
use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A queue in front of a writer.
#[derive(derive_more::Debug)]
#[debug("Group {{ waiting: {:?}, .. }}", lock(&self.queue).waiting.len())]
pub(crate) struct Group<J, R> {
    queue: Arc<Mutex<Queue<J, R>>>,
    most: usize,
}

struct Queue<J, R> {
    waiting: VecDeque<Arc<CommitSlot<J, R>>>,
    /// True if there is a leader, or one was called.
    led: bool,
    /// The number of jobs that the last leader served.
    served: usize,
}

/// The number of times that a new leader lets others run without a new arrival.
const PATIENCE: u8 = 3;

/// A place in the queue.
struct CommitSlot<J, R>(Mutex<Progress<J, R>>);

enum Progress<J, R> {
    Queued {
        job: J,
        waker: Option<Waker>,
    },
    Called(J),
    Taken(Option<Waker>),
    Done(R),
    /// The answer was taken, or its leader died before there was one.
    Gone,
}

/// The outcome of a caller's turn.
#[derive(Debug)]
pub(crate) enum GroupTurn<J, R> {
    /// The caller becomes the leader.
    Lead(LeaderGuard<J, R>),
    /// A leader has done the caller's job.
    Done(R),
    /// A leader died with the job; it is unknown if it was done.
    Lost,
}

impl<J, R> Group<J, R> {
    /// Creates a queue whose leaders take up to `most` jobs at a time.
    pub(crate) fn new(most: usize) -> Self {
        let queue = Queue {
            waiting: VecDeque::new(),
            led: false,
            served: 0,
        };
        Self {
            queue: Arc::new(Mutex::new(queue)),
            most,
        }
    }

    /// Queues a job.
    pub(crate) fn enter(&self, job: J) -> QueuedJob<J, R> {
        let mut queue = lock(&self.queue);
        let progress = if queue.led {
            Progress::Queued { job, waker: None }
        } else {
            queue.led = true;
            Progress::Called(job)
        };
        let ticket = Arc::new(CommitSlot(Mutex::new(progress)));
        queue.waiting.push_back(Arc::clone(&ticket));
        QueuedJob {
            queue: Arc::clone(&self.queue),
            most: self.most,
            ticket,
            seen: 0,
            patience: PATIENCE,
        }
    }
}

/// A job in the queue: a future of its turn.
pub(crate) struct QueuedJob<J, R> {
    queue: Arc<Mutex<Queue<J, R>>>,
    most: usize,
    ticket: Arc<CommitSlot<J, R>>,
    /// The number of queued jobs at its last poll as a waiting leader.
    seen: usize,
    patience: u8,
}

impl<J, R> QueuedJob<J, R> {
    /// Returns true if more callers are likely to come at once.
    fn expects_more(&mut self) -> bool {
        let queue = lock(&self.queue);
        let (waiting, expected) = (queue.waiting.len(), queue.served.min(self.most));
        drop(queue);
        if waiting > self.seen {
            (self.seen, self.patience) = (waiting, PATIENCE);
        } else {
            self.patience = self.patience.saturating_sub(1);
        }
        waiting < expected && self.patience > 0
    }
}

impl<J, R> Future for QueuedJob<J, R> {
    type Output = GroupTurn<J, R>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        {
            let mut progress = lock(&self.ticket.0);
            match &mut *progress {
                Progress::Queued { waker, .. } | Progress::Taken(waker) => {
                    if !waker
                        .as_ref()
                        .is_some_and(|waker| waker.will_wake(cx.waker()))
                    {
                        *waker = Some(cx.waker().clone());
                    }
                    return Poll::Pending;
                }
                Progress::Done(_) | Progress::Gone => {
                    return Poll::Ready(match std::mem::replace(&mut *progress, Progress::Gone) {
                        Progress::Done(answer) => GroupTurn::Done(answer),
                        _ => GroupTurn::Lost,
                    });
                }
                Progress::Called(_) => {}
            }
        }
        if self.expects_more() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(GroupTurn::Lead(lead(&self.queue, self.most)))
    }
}

impl<J, R> Drop for QueuedJob<J, R> {
    fn drop(&mut self) {
        if !matches!(
            &*lock(&self.ticket.0),
            Progress::Queued { .. } | Progress::Called(_)
        ) {
            return;
        }
        lock(&self.queue)
            .waiting
            .retain(|ticket| !Arc::ptr_eq(ticket, &self.ticket));
        // Once the ticket is out of the queue it cannot be called any more.
        let called = matches!(&*lock(&self.ticket.0), Progress::Called(_));
        if called {
            hand_over(&self.queue);
        }
    }
}

/// Takes the jobs of one group; the caller's own is the first.
fn lead<J, R>(queue: &Arc<Mutex<Queue<J, R>>>, most: usize) -> LeaderGuard<J, R> {
    let mut locked = lock(queue);
    let size = locked.waiting.len().min(most);
    let tickets: Vec<_> = locked.waiting.drain(..size).collect();
    locked.served = size;
    drop(locked);
    let jobs = tickets.iter().filter_map(|ticket| ticket.take()).collect();
    LeaderGuard {
        queue: Arc::clone(queue),
        tickets,
        jobs,
    }
}

/// The lead over one group. Dropping it marks unanswered jobs as lost, and hands over.
#[derive(derive_more::Debug)]
#[debug("LeaderGuard {{ jobs: {:?}, .. }}", self.jobs.len())]
pub(crate) struct LeaderGuard<J, R> {
    queue: Arc<Mutex<Queue<J, R>>>,
    tickets: Vec<Arc<CommitSlot<J, R>>>,
    jobs: Vec<J>,
}

impl<J, R> LeaderGuard<J, R> {
    /// Returns the jobs of the group, the leader's own first.
    pub(crate) fn jobs(&self) -> &[J] {
        &self.jobs
    }

    /// Runs `work` on the jobs, which must return one answer for each in order, and returns the
    /// leader's own answer, if there was one.
    pub(crate) fn execute(self, work: impl FnOnce(&[J]) -> Vec<R>) -> Option<R> {
        let mut answers = work(&self.jobs).into_iter();
        let own = answers.next();
        for (ticket, answer) in self.tickets.iter().skip(1).zip(answers) {
            ticket.finish(Progress::Done(answer));
        }
        own
    }
}

impl<J, R> Drop for LeaderGuard<J, R> {
    fn drop(&mut self) {
        for ticket in &self.tickets {
            ticket.finish(Progress::Gone);
        }
        hand_over(&self.queue);
    }
}

/// Calls the first in the queue to lead. It is woken after the locks are released, because a waker
/// may poll at once.
fn hand_over<J, R>(queue: &Mutex<Queue<J, R>>) {
    let mut queue = lock(queue);
    queue.led = !queue.waiting.is_empty();
    let waker = queue.waiting.front().and_then(|first| first.call());
    drop(queue);
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl<J, R> CommitSlot<J, R> {
    fn call(&self) -> Option<Waker> {
        let mut progress = lock(&self.0);
        match std::mem::replace(&mut *progress, Progress::Gone) {
            Progress::Queued { job, waker } => {
                *progress = Progress::Called(job);
                waker
            }
            other => {
                *progress = other;
                None
            }
        }
    }

    fn take(&self) -> Option<J> {
        let mut progress = lock(&self.0);
        let (job, waker) = match std::mem::replace(&mut *progress, Progress::Gone) {
            Progress::Queued { job, waker } => (job, waker),
            Progress::Called(job) => (job, None),
            Progress::Taken(_) | Progress::Done(_) | Progress::Gone => return None,
        };
        *progress = Progress::Taken(waker);
        Some(job)
    }

    fn finish(&self, outcome: Progress<J, R>) {
        let mut progress = lock(&self.0);
        let Progress::Taken(waker) = &mut *progress else {
            return;
        };
        let waker = waker.take();
        *progress = outcome;
        drop(progress);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
