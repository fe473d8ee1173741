//! The tasks that a request is about, worked off one after another.
use serde::{Deserialize, Serialize};

/// The waiting tasks, the current one, and the finished ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// The waiting tasks, in their order.
    pub pending: Vec<u32>,
    /// The current task.
    pub current: Option<u32>,
    /// The number of failed attempts for the current task.
    pub attempts: u32,
    /// The tasks that were moved.
    pub completed: Vec<u32>,
    /// The tasks that were left in their places.
    pub skipped: Vec<u32>,
    /// The error of the last attempt.
    pub last_error: Option<String>,
}

/// A change of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QueueUpdate {
    /// Tasks are added at the end; those that wait already keep their position.
    Filled {
        /// The tasks.
        tasks: Vec<u32>,
        /// True if the queue is emptied first.
        reset: bool,
    },
    /// The first task becomes the current one, unless there is one already.
    Popped,
    /// The current one has its place.
    Completed,
    /// The current one could not be moved.
    Failed {
        /// The reason.
        why: String,
    },
    /// The current one stays where it is.
    Skipped,
}

impl Queue {
    /// Returns the current task, or else the next one.
    pub fn head(&self) -> Option<u32> {
        self.current.or_else(|| self.pending.first().copied())
    }

    /// Carries out a change.
    pub fn apply(&mut self, update: &QueueUpdate) {
        match update {
            QueueUpdate::Filled { tasks, reset } => {
                if *reset {
                    *self = Self::default();
                }
                for task in tasks {
                    if self.current != Some(*task) && !self.pending.contains(task) {
                        self.pending.push(*task);
                    }
                }
            }
            QueueUpdate::Popped => self.take(),
            QueueUpdate::Completed => {
                self.completed.extend(self.current.take());
                (self.attempts, self.last_error) = (0, None);
            }
            QueueUpdate::Failed { why } => {
                self.attempts += u32::from(self.current.is_some());
                self.last_error = Some(why.clone());
            }
            QueueUpdate::Skipped => {
                self.take();
                self.skipped.extend(self.current.take());
                (self.attempts, self.last_error) = (0, None);
            }
        }
    }

    fn take(&mut self) {
        if self.current.is_none() && !self.pending.is_empty() {
            self.current = Some(self.pending.remove(0));
            self.attempts = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sch_84_tasks_are_worked_off_in_order_and_tries_are_counted() {
        let mut queue = Queue::default();
        let fill = |tasks: &[u32], reset| QueueUpdate::Filled {
            tasks: tasks.into(),
            reset,
        };
        let failed = QueueUpdate::Failed {
            why: "taken".into(),
        };
        queue.apply(&QueueUpdate::Popped);
        assert_eq!(queue, Queue::default(), "nothing waits");
        queue.apply(&fill(&[3, 4, 3, 5], false));
        queue.apply(&QueueUpdate::Popped);
        queue.apply(&QueueUpdate::Popped);
        assert_eq!((queue.current, &queue.pending[..]), (Some(3), &[4, 5][..]));
        queue.apply(&fill(&[3, 6], false));
        queue.apply(&failed);
        queue.apply(&failed);
        assert_eq!(
            (queue.attempts, queue.last_error.as_deref()),
            (2, Some("taken"))
        );
        queue.apply(&QueueUpdate::Completed);
        queue.apply(&QueueUpdate::Skipped);
        let left = Queue {
            pending: vec![5, 6],
            completed: vec![3],
            skipped: vec![4],
            ..Queue::default()
        };
        assert_eq!(queue, left);
        queue.apply(&fill(&[9], true));
        assert_eq!(queue.pending, [9]);
        assert!(queue.completed.is_empty());
    }
}
