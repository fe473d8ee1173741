//! Which thread is meant: clients name threads within their tenant.
use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::{SystemTime, UNIX_EPOCH},
};

use fugato_state::ThreadId;
use fugato_stream::Event;

use crate::{
    Caller, Tenant,
    error::{ApiError, Served},
};

/// A thread of a tenant.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) caller: Caller,
    /// The thread as the client knows it.
    pub(crate) name: ThreadId,
    /// The thread as the store knows it.
    pub(crate) thread: ThreadId,
}

impl Address {
    pub(crate) fn new(caller: &Caller, name: &str) -> Served<Self> {
        let wrong = |error: fugato_state::InvalidThreadId| ApiError::bad(error.to_string());
        let whole = format!("{}{name}", prefix(&caller.tenant));
        Ok(Self {
            caller: caller.clone(),
            name: ThreadId::new(name).map_err(wrong)?,
            thread: ThreadId::new(whole).map_err(wrong)?,
        })
    }

    /// The thread that a client names; else a new one. A request with a key of its own finds the
    /// same one again.
    pub(crate) fn of(caller: &Caller, name: Option<&str>, key: Option<&str>) -> Served<Self> {
        match (name, key) {
            (Some(name), _) => Self::new(caller, name),
            (None, Some(key)) => Self::new(caller, &format!("key-{key}")),
            (None, None) => Self::fresh(caller),
        }
    }

    /// A thread that nobody has named: names that begin later sort later.
    pub(crate) fn fresh(caller: &Caller) -> Served<Self> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since.unwrap_or_default().as_millis();
        // Each has keys of its own, so the hash of nothing is a random number.
        let random = RandomState::new().build_hasher().finish();
        Self::new(caller, &format!("{millis:012x}-{random:016x}"))
    }

    /// An event as the client may see it: under the client's name for the thread.
    pub(crate) fn show(&self, event: Event) -> Event {
        Event {
            thread: self.name.clone(),
            ..event
        }
    }
}

/// How the names of a tenant's threads begin in the store.
pub(crate) fn prefix(tenant: &Tenant) -> String {
    if *tenant == Tenant::default() {
        String::new()
    } else {
        format!("{}/", tenant.as_str())
    }
}
