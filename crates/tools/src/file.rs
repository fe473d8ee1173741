#![doc = include_str!("file/README.md")]

#[cfg(feature = "document")]
mod document;
mod list;
mod read;
mod sandbox;
mod search;
mod write;

pub use list::{ListFiles, ListFilesArgs};
pub use read::{ReadFile, ReadFileArgs};
pub use sandbox::{Sandbox, SandboxError};
pub use search::{SearchFiles, SearchFilesArgs};
pub use write::{WriteFile, WriteFileArgs};

/// Returns a path for a line of a list: in quotation marks if it could end the line or hide a part of
/// itself.
fn listed(path: &str) -> String {
    if path.contains(char::is_control) {
        format!("{path:?}")
    } else {
        path.to_owned()
    }
}

/// Works on files in a thread of its own, in the language that is spoken now.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, fugato_tool::ToolFailure> {
    let lang = fugato_state::Lang::current();
    let done = tokio::task::spawn_blocking(move || lang.scope(work)).await;
    done.map_err(fugato_tool::ToolFailure::internal)
}
