use std::path::Path;

use fugato_graph::BoxError;
use fugato_state::say;

/// The error of a command. The message is for the person: it names what was wrong, and what is
/// allowed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    message: String,
    source: Option<BoxError>,
    /// The exit code of the program.
    pub(crate) code: u8,
}

impl CliError {
    /// Creates an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
            code: 1,
        }
    }

    fugato_state::setters! {
        /// Adds the cause.
        pub fn because(source: impl Into<BoxError>) { source = Some(source.into()) }

        /// Sets the exit code of the program: 1 by default.
        pub(crate) fn exiting(code: u8) { code = code }
    }
}

/// Makes a folder with all that it lies in, unless it is there.
pub(crate) fn make_folder(folder: &Path) -> Result<(), CliError> {
    let (made, folder) = (std::fs::create_dir_all(folder), folder.display());
    made.tell(|| say!("cannot make the folder {folder}", "无法新建文件夹 {folder}"))
}

/// Adds a message for the person to an error.
pub(crate) trait ErrorContext<T> {
    fn tell(self, message: impl FnOnce() -> String) -> Result<T, CliError>;
}

impl<T, E: Into<BoxError>> ErrorContext<T> for Result<T, E> {
    fn tell(self, message: impl FnOnce() -> String) -> Result<T, CliError> {
        self.map_err(|error| CliError::new(message()).because(error))
    }
}
