//! The address of a thread: clients name threads within their tenant.
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use fugato_state::ThreadId;
use fugato_store::system_clock;
use fugato_stream::{Event, Redaction};

use crate::{
    Caller, Tenant,
    error::{ApiError, ApiResult},
};

/// A thread of a tenant.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) caller: Caller,
    /// The thread's name for the client.
    pub(crate) name: ThreadId,
    /// The thread's id in the store.
    pub(crate) thread: ThreadId,
}

impl Address {
    pub(crate) fn new(caller: &Caller, name: &str) -> ApiResult<Self> {
        let wrong = |error: fugato_state::InvalidThreadId| ApiError::bad(error.to_string());
        let whole = format!("{}{name}", prefix(caller));
        Ok(Self {
            caller: caller.clone(),
            name: ThreadId::new(name).map_err(wrong)?,
            thread: ThreadId::new(whole).map_err(wrong)?,
        })
    }

    /// The thread that a client names; else a new one. A request with a key of its own finds the
    /// same one again.
    pub(crate) fn of(caller: &Caller, name: Option<&str>, key: Option<&str>) -> ApiResult<Self> {
        match (name, key) {
            (Some(name), _) => Self::new(caller, name),
            (None, Some(key)) => Self::new(caller, &format!("key-{key}")),
            (None, None) => Self::fresh(caller),
        }
    }

    /// A thread with a generated name; names that are generated later sort later.
    pub(crate) fn fresh(caller: &Caller) -> ApiResult<Self> {
        let millis = system_clock();
        // Each `RandomState` has its own keys, so the hash of nothing is a random number.
        let random = RandomState::new().build_hasher().finish();
        Self::new(caller, &format!("{millis:012x}-{random:016x}"))
    }

    /// An event as the client may see it: under the client's name for the thread; none if the
    /// client gets nothing of it.
    pub(crate) fn show(&self, event: Event, redaction: Redaction) -> Option<Event> {
        redaction.apply(Event {
            thread: self.name.clone(),
            ..event
        })
    }
}

/// Returns the prefix of the names of a caller's threads in the store: that of the agent, and after
/// it the tenant and a slash, or nothing for the default tenant.
pub(crate) fn prefix(caller: &Caller) -> String {
    if caller.tenant == Tenant::default() {
        caller.home.clone()
    } else {
        format!("{}{}/", caller.home, caller.tenant.as_str())
    }
}
