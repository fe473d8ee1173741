//! Tool calls whose arguments come in pieces, in a protocol that requires pairs of begin and end
//! events.
use std::{collections::HashSet, sync::Arc};

use serde_json::Value;

use crate::{Event, Origin, Text};

/// A call that is open on the wire.
#[derive(Debug)]
pub(crate) struct Call {
    origin: Option<Arc<Origin>>,
    key: Text,
    pub(crate) name: Text,
    /// The id in the protocol.
    pub(crate) id: String,
    /// The arguments that were sent.
    pub(crate) arguments: String,
}

impl Call {
    /// Returns the arguments that are still to be sent, now that the call is proposed; none if the
    /// sent ones contradict the proposal.
    pub(crate) fn rest(&self, name: &str, arguments: &Value) -> Option<String> {
        if *self.name != *name {
            return None;
        }
        let whole = arguments.to_string();
        if let Some(rest) = whole.strip_prefix(&self.arguments) {
            return Some(rest.to_owned());
        }
        // Models differ in whitespace.
        let told: Value = serde_json::from_str(&self.arguments).ok()?;
        (told == *arguments).then(String::new)
    }
}

/// The calls that are open on a wire, and those that were proposed.
///
/// A reader may see a proposal in the log before the pieces that led to it; they add nothing then.
/// Memory grows with the number of calls, and is released by [`forget`](Self::forget).
#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: Vec<Call>,
    proposed: HashSet<(Option<Arc<Origin>>, String)>,
}

impl Calls {
    /// Returns the call that an event is about, if it is open.
    pub(crate) fn find(&mut self, event: &Event, call: &str) -> Option<&mut Call> {
        let mut open = self.open.iter_mut().rev();
        open.find(|open| *open.key == *call && open.origin == event.origin)
    }

    /// Returns the open call with this id, of whatever task: for protocols in which ids are not per
    /// task.
    pub(crate) fn named(&mut self, call: &str) -> Option<&mut Call> {
        self.open.iter_mut().rfind(|open| *open.key == *call)
    }

    /// Opens a call that is not open.
    pub(crate) fn open(&mut self, event: &Event, call: &Text, name: &Text, id: String) {
        self.open.push(Call {
            origin: event.origin.clone(),
            key: call.clone(),
            name: name.clone(),
            id,
            arguments: String::new(),
        });
    }

    /// Marks a call as proposed, and closes it if its task has it open.
    pub(crate) fn propose(&mut self, event: &Event, call: &str) -> Option<Call> {
        self.proposed
            .insert((event.origin.clone(), call.to_owned()));
        let of_event =
            |open: &Call| *open.key == *call && is_same_task(open.origin.as_deref(), event);
        let found = self.open.iter().rposition(of_event)?;
        Some(self.open.remove(found))
    }

    /// Does the same, and closes the call whatever task has it open.
    pub(crate) fn propose_named(&mut self, event: &Event, call: &str) -> Option<Call> {
        let found = self.open.iter().rposition(|open| *open.key == *call);
        let named = found.map(|found| self.open.remove(found));
        self.propose(event, call).or(named)
    }

    /// Returns true if a call was proposed, so that later pieces add nothing.
    pub(crate) fn is_proposed(&self, event: &Event, call: &str) -> bool {
        let key = (event.origin.clone(), call.to_owned());
        self.proposed.contains(&key)
    }

    /// Closes the calls that the task of the event has left open.
    pub(crate) fn close_task(&mut self, event: &Event) -> Vec<Call> {
        let of_task =
            |open: &mut Call| open.origin.is_some() && is_same_task(open.origin.as_deref(), event);
        self.open.extract_if(.., of_task).collect()
    }

    /// Closes everything.
    pub(crate) fn close_all(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.open)
    }

    /// Lets calls be proposed again.
    pub(crate) fn forget(&mut self) {
        self.proposed.clear();
    }
}

fn is_same_task(origin: Option<&Origin>, event: &Event) -> bool {
    match (origin, event.origin.as_deref()) {
        (Some(one), Some(other)) => one.is_same_task(other),
        (one, other) => one == other,
    }
}
