//! The permission to begin an action.
use fugato_state::EffectClass;
use tokio::sync::oneshot;

use super::{AttemptRef, Call, Calls, EffectEnd, EndCall};

/// The permission to begin a once-only action whose intent is stored.
///
/// A node may drop an effect at any time: while its intent is being stored, or before it receives
/// the permission. The dropped ticket then reports that nothing happened; otherwise the driver
/// would wait for the end of an action that never began.
#[derive(derive_more::Debug)]
#[debug("StartGuard {{ is_open: {:?} }}", self.0.is_some())]
pub(crate) struct StartGuard(Option<Box<NotStarted>>);

struct NotStarted {
    who: AttemptRef,
    key: String,
    digest: String,
    calls: Calls,
}

impl StartGuard {
    pub(crate) fn new(who: AttemptRef, key: String, digest: String, calls: Calls) -> Self {
        Self(Some(Box::new(NotStarted {
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

impl Drop for StartGuard {
    fn drop(&mut self) {
        let Some(unbegun) = self.0.take() else {
            return;
        };
        let NotStarted {
            who,
            key,
            digest,
            calls,
        } = *unbegun;
        let (reply, _) = oneshot::channel();
        let ending = EndCall {
            who,
            key,
            digest,
            class: EffectClass::Once,
            end: EffectEnd::DidNotHappen("it was given up before it began".to_owned()),
            reply,
        };
        // Without a driver the intent stays in doubt: the next owner reconciles it.
        let _ = calls.send(Call::End(Box::new(ending)));
    }
}
