use std::{error::Error, time::Duration};

use fugato_state::say;
use thiserror::Error;

/// The error of a server that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum McpError {
    /// It could not be started, or reached, or it speaks no version of the protocol that we do.
    #[error("{}", say!(
        "the server `{server}` cannot be reached",
        "无法连接服务器 `{server}`"
    ))]
    Unreachable {
        /// The server.
        server: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// It was lost several times in a row, and is left alone for a while.
    #[error("{}", say!(
        "the server `{server}` was lost, and is not tried again for {wait:?}",
        "服务器 `{server}` 失去了联系，{wait:?} 内不再尝试"
    ))]
    Resting {
        /// The server.
        server: String,
        /// The time until the next attempt is allowed.
        wait: Duration,
    },
    /// It was lost while it was asked.
    #[error("{}", say!(
        "the server `{server}` stopped before it answered",
        "服务器 `{server}` 没有回答就停止了"
    ))]
    Lost {
        /// The server.
        server: String,
    },
    /// It did not answer in time.
    #[error("{}", say!(
        "the server `{server}` did not answer within {limit:?}",
        "服务器 `{server}` 在 {limit:?} 内没有回答"
    ))]
    TimedOut {
        /// The server.
        server: String,
        /// The time limit.
        limit: Duration,
    },
    /// It answered with an error.
    #[error("{}", say!(
        "the server `{server}` refuses: {message}",
        "服务器 `{server}` 拒绝：{message}"
    ))]
    Refused {
        /// The server.
        server: String,
        /// Its words.
        message: String,
        /// The code of JSON-RPC.
        code: i32,
    },
    /// It answered with something that the protocol does not allow.
    #[error("the server `{server}` answered with {what}")]
    Garbage {
        /// The server.
        server: String,
        /// The kind of answer that came.
        what: &'static str,
    },
    /// It offers more tools than are accepted.
    #[error(
        "the server `{server}` offers more than {most} tools; `McpOptions::most_tools` allows more"
    )]
    TooManyTools {
        /// The server.
        server: String,
        /// The limit.
        most: usize,
    },
}
