//! The leave to begin an action.
use std::fmt;

use fugato_state::EffectClass;
use tokio::sync::oneshot;

use super::{Call, Calls, End, Ending, Who};

/// The leave to begin an action that must not be done twice, whose intent is stored.
///
/// A node may drop an effect at any time: while its intent is being stored, or when it may begin and
/// was not told so yet. Then the driver hears that nothing happened; otherwise it would wait for the
/// end of what never began.
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

    /// The action begins: from now on its end is told by whoever does it.
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
        // A driver that is gone leaves the intent in doubt: whoever comes next looks after it.
        let _ = calls.send(Call::End(Box::new(ending)));
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_open = self.0.is_some();
        f.debug_struct("Ticket").field("is_open", &is_open).finish()
    }
}
