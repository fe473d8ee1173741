//! The calls of models while a node runs, stored in the log of the thread.
//!
//! A [`RecordedModel`] in a node that is [`recorded`] leaves a [`ModelCall`] for each request: the
//! models that were tried, their durations and errors, and the words if they are to be kept.
//! [`model_calls`] reads them from the notes of a task, as traces of runs have them.
mod call;
mod recorded;
mod watched;

pub use call::{ModelCall, model_calls};
pub use recorded::recorded;
pub use watched::RecordedModel;

use std::sync::{Arc, Mutex, PoisonError};

/// The calls of one attempt of a task.
#[derive(Debug, Clone, Default)]
struct Calls(Arc<Mutex<Vec<ModelCall>>>);

impl Calls {
    fn push(&self, call: ModelCall) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(call);
    }

    fn take(&self) -> Vec<ModelCall> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

tokio::task_local! {
    /// The calls of the present attempt: a model is called deep within a node, and serves many at
    /// once.
    static CALLS: Calls;
}
