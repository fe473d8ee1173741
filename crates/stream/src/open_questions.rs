//! The questions that were sent to a reader and are unanswered.
use fugato_state::{Interrupt, InterruptId};

/// The questions that are open.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions(Vec<Interrupt>);

impl OpenQuestions {
    pub(crate) fn raise(&mut self, interrupt: &Interrupt) {
        self.answer(&interrupt.id);
        self.0.push(interrupt.clone());
    }

    pub(crate) fn answer(&mut self, id: &InterruptId) {
        self.0.retain(|open| open.id != *id);
    }

    pub(crate) fn open(&self) -> &[Interrupt] {
        &self.0
    }
}
