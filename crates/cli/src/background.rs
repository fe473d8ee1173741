//! The tasks that work beside the commands of a program.
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{task::JoinSet, time::timeout};

/// The longest time that tasks get to end by themselves, and then to be ended: one may wait for a disk.
const PATIENCE: Duration = Duration::from_secs(1);

/// The tasks that work beside the commands of a program, which waits for them before it ends: one
/// that is still at work when the runtime ends finds no timer any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct BackgroundTasks(Arc<Mutex<JoinSet<()>>>);

impl BackgroundTasks {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Ends the tasks, after some patience with those whose runners were `closed`.
    pub(crate) async fn end(&self, closed: bool) {
        let mut tasks = {
            let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        if closed {
            let ended = async { while tasks.join_next().await.is_some() {} };
            drop(timeout(PATIENCE, ended).await);
        }
        drop(timeout(PATIENCE, tasks.shutdown()).await);
    }
}
