#![doc = include_str!("file/README.md")]

mod list;
mod read;
mod sandbox;
mod write;

pub use list::{ListFiles, ListFilesArgs};
pub use read::{ReadFile, ReadFileArgs};
pub use sandbox::{Sandbox, SandboxError};
pub use write::{WriteFile, WriteFileArgs};
