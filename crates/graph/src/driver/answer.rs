//! Answers that come while other tasks of the run work.
use fugato_state::State;
use fugato_stream::EventKind;

use super::Driver;
use crate::{RunError, admission::join, effect::AnswerCall};

impl<S: State> Driver<S> {
    /// Takes answers to open questions. They are acknowledged when they are stored. A run that comes
    /// to rest takes none: the client comes again, with a lease of its own.
    pub(super) fn take_answers(&mut self, call: AnswerCall) {
        let AnswerCall {
            answers,
            hub,
            reply,
        } = call;
        if self.engine.resting || self.stops() {
            return;
        }
        let taken = match join(self, answers) {
            Ok(true) => Ok(()),
            Ok(false) => return,
            Err(error) => Err(error),
        };
        let shared = &self.engine.shared;
        if taken.is_ok() {
            hub.send(shared.event(None, EventKind::RunStarted { resumed: true }));
            shared.hub.relay(&hub);
        }
        match &mut self.engine.journal {
            Some(journal) if taken.is_ok() && journal.waits().is_some() => {
                journal.urgent = true;
                self.engine.taken.push(reply);
            }
            _ => {
                // A client that no longer waits has dropped its request.
                let _ = reply.send(taken);
            }
        }
    }

    /// Takes the answers that came while the last task came to its end, and returns true if there
    /// are any.
    pub(super) async fn is_answered(&mut self) -> Result<bool, RunError> {
        let before = self.engine.taken.len();
        self.receive_calls().await?;
        Ok(self.engine.taken.len() > before)
    }

    /// Acknowledges the answers that are stored now.
    pub(super) fn acknowledge(&mut self) {
        for reply in self.engine.taken.drain(..) {
            // A client that no longer waits has dropped its request.
            let _ = reply.send(Ok(()));
        }
    }
}
