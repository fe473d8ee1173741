use fugato_state::ThreadId;

use crate::{ToolFailure, Visibility};

/// The context of a call: the state, the visibility, the id, the user, the thread and the
/// idempotency key. Cheap to copy.
#[derive(Debug)]
pub struct ToolContext<'a, S = ()> {
    state: Option<&'a S>,
    visibility: &'a Visibility,
    call: &'a str,
    user: Option<&'a str>,
    thread: Option<&'a ThreadId>,
    key: Option<&'a str>,
    agreed: Option<&'a str>,
    repeat: bool,
}

/// The caller of a tool, as a value that an async function can own: see
/// [`RegistryBuilder::function_with_caller`](crate::RegistryBuilder::function_with_caller).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCaller {
    /// The user on whose behalf the tool is called, if one is known.
    pub user: Option<String>,
    /// The thread whose run calls; none outside of a run.
    pub thread: Option<ThreadId>,
    /// The id of the call.
    pub call: String,
    /// The idempotency key of the action, for effects that are *Keyed*.
    pub key: Option<String>,
}

// Derived impls would require that the state is `Clone` and `Copy`, which a borrowed state need not
// be.
impl<S> Clone for ToolContext<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for ToolContext<'_, S> {}

static NOTHING_ACTIVE: Visibility = Visibility::new();

impl<'a, S> ToolContext<'a, S> {
    /// Creates a context with a state.
    pub fn new(state: &'a S) -> Self {
        Self {
            state: Some(state),
            ..Self::without_state()
        }
    }

    /// Creates a context without a state, while there is none yet.
    pub fn without_state() -> Self {
        Self {
            state: None,
            visibility: &NOTHING_ACTIVE,
            call: "",
            user: None,
            thread: None,
            key: None,
            agreed: None,
            repeat: false,
        }
    }

    fugato_state::setters! {
        /// Sets the visibility; without it no domain is active.
        pub fn visibility(visibility: &'a Visibility) { visibility = visibility }

        /// Sets the user on whose behalf the tool is called.
        pub fn user(user: &'a str) { user = Some(user) }

        /// Sets the thread whose run calls.
        pub fn thread(thread: &'a ThreadId) { thread = Some(thread) }

        /// Sets the idempotency key, by which the other side recognises a repeat.
        pub fn idempotency_key(key: &'a str) { key = Some(key) }

        pub(crate) fn call(id: &'a str) { call = id }

        pub(crate) fn agreed(version: Option<&'a str>) { agreed = version }

        pub(crate) fn repeat(repeat: bool) { repeat = repeat }
    }

    /// Returns the same context with another state.
    pub(crate) fn over<'b, V>(self, state: Option<&'b V>) -> ToolContext<'b, V>
    where
        'a: 'b,
    {
        ToolContext {
            state,
            visibility: self.visibility,
            call: self.call,
            user: self.user,
            thread: self.thread,
            key: self.key,
            agreed: self.agreed,
            repeat: self.repeat,
        }
    }

    pub(crate) fn has_state(&self) -> bool {
        self.state.is_some()
    }

    /// Returns the state, or the failure that tells the model that there is none yet.
    pub fn state(&self) -> Result<&'a S, ToolFailure> {
        self.state.ok_or_else(ToolFailure::no_state)
    }

    /// Returns the visibility.
    pub fn active(&self) -> &'a Visibility {
        self.visibility
    }

    /// Returns the id of the call that is being executed.
    pub fn call_id(&self) -> &'a str {
        self.call
    }

    /// Returns the user on whose behalf the tool is called.
    pub fn user_id(&self) -> Option<&'a str> {
        self.user
    }

    /// Returns the thread whose run calls; none outside of a run.
    pub fn thread_id(&self) -> Option<&'a ThreadId> {
        self.thread
    }

    /// Returns the caller, as an owned value.
    pub fn caller(&self) -> ToolCaller {
        ToolCaller {
            user: self.user.map(str::to_owned),
            thread: self.thread.cloned(),
            call: self.call.to_owned(),
            key: self.key.map(str::to_owned),
        }
    }

    /// Returns the [version](crate::Tool::version) of what the call acts on that a person has agreed to:
    /// another one must not be acted on. None if nobody was asked, or the card has none.
    pub fn agreed_version(&self) -> Option<&'a str> {
        self.agreed
    }

    /// Returns true if a call that a person has agreed to has begun before and has no result, as its
    /// process died: it may have acted, and what it finds may be its own work. A tool says then that it
    /// is done where another call says that there is nothing to do.
    pub fn is_repeat(&self) -> bool {
        self.repeat
    }

    /// Returns the idempotency key, by which the other side recognises a repeat, for effects that
    /// are *Keyed*.
    pub fn key(&self) -> Option<&'a str> {
        self.key
    }
}
