//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// A plugin does not run, and why.
#[cfg(feature = "plugin")]
pub(crate) const A_PLUGIN_DOES_NOT_RUN: &str = "a plugin does not run";
/// A tool of a server is left out, and why.
pub(crate) const A_TOOL_CANNOT_BE_USED: &str = "a tool cannot be used";
/// A question of a server is cancelled.
pub(crate) const THE_ANSWER_DOES_NOT_FIT_WHAT_THE_SERVER_ASKED: &str =
    "the answer does not fit what the server asked";
/// A client did not show a question to a person.
pub(crate) const THE_CLIENT_COULD_NOT_ASK: &str = "the client could not ask";
/// A call fails because the host could not show its state.
pub(crate) const THE_HOST_OF_THE_TOOLS_HAS_NO_STATE_TO_SHOW: &str =
    "the host of the tools has no state to show";
/// A call that nobody waits for may go on at the server.
pub(crate) const THE_SERVER_COULD_NOT_BE_TOLD_THAT_A_CALL_WAS_TAKEN_BACK: &str =
    "the server could not be told that a call was taken back";
/// A log message of a server.
pub(crate) const TOLD_BY_THE_SERVER: &str = "told by the server";
/// A line that a server wrote beside the protocol.
pub(crate) const WRITTEN_BY_THE_SERVER: &str = "written by the server";
