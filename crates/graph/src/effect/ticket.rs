//! The permission to begin an action.
use std::fmt;

use fugato_state::EffectClass;
use tokio::sync::oneshot;

use super::{Call, Calls, End, Ending, Who};

/// The permission to begin a once-only action whose intent is stored.
///
/// A node may drop an effect at any time: while its intent is being stored, or before it receives
/// the permission. The dropped ticket then reports that nothing happened; otherwise the driver
/// would wait for the end of an action that never began.
pub(crate) struct Ticket(Option<Box<Unbegun>>);

struct Unbegun {
    who: Who,
    key: String,
    digest: String,
    calls: Calls,
}

impl Ticket {
    pub(crate) fn new(who: Who, key: String, digest: String, calls: Calls) -> Self {
        Self(Some(Box::new(Unbegun {
            who,
            key,
            digest,
            calls,
        })))
    }

    /// Uses the ticket: the action begins, and reports its own end.
    pub(super) fn begins(mut self) {
        self.0 = None;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some(unbegun) = self.0.take() else {
            return;
        };
        let Unbegun {
            who,
            key,
            digest,
            calls,
        } = *unbegun;
        let (reply, _) = oneshot::channel();
        let ending = Ending {
            who,
            key,
            digest,
            class: EffectClass::Once,
            end: End::DidNotHappen("it was given up before it began".to_owned()),
            reply,
        };
        // Without a driver the intent stays in doubt: the next owner reconciles it.
        let _ = calls.send(Call::End(Box::new(ending)));
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_open = self.0.is_some();
        f.debug_struct("Ticket").field("is_open", &is_open).finish()
    }
}
