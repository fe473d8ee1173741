//! The permission to begin an action.
use std::sync::Arc;

use super::{Call, EffectEnd, EndCall, NamedEffect};
use crate::control::Control;

/// The permission to begin a once-only action whose intent is stored.
///
/// A node may drop an effect at any time: while its intent is being stored, or before it receives
/// the permission. The dropped ticket then reports that nothing happened; otherwise the driver
/// would wait for the end of an action that never began.
#[derive(derive_more::Debug)]
#[debug("StartGuard {{ is_open: {:?} }}", self.0.is_some())]
pub(crate) struct StartGuard(Option<(Arc<NamedEffect>, Arc<Control>)>);

impl StartGuard {
    pub(crate) fn new(effect: Arc<NamedEffect>, control: Arc<Control>) -> Self {
        Self(Some((effect, control)))
    }

    /// Uses the ticket: the action begins, and reports its own end.
    pub(super) fn begins(mut self) {
        self.0 = None;
    }
}

impl Drop for StartGuard {
    fn drop(&mut self) {
        let Some((effect, control)) = self.0.take() else {
            return;
        };
        let ending = EndCall {
            effect,
            end: EffectEnd::DidNotHappen("it was given up before it began".to_owned()),
            reply: None,
        };
        // Without a driver the intent stays in doubt: the next owner reconciles it.
        control.calls.send(Call::End(ending));
    }
}
