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
