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

/// Refuses a file in the place of the folder, before anything looks for what is in it.
pub(crate) fn check_folder(folder: &Path) -> Result<(), CliError> {
    let is_file = std::fs::metadata(folder).is_ok_and(|it| !it.is_dir());
    if !is_file {
        return Ok(());
    }
    let folder = folder.display();
    Err(CliError::new(say!(
        "{folder} is a file; --dir takes the folder of conversations and results",
        "{folder} 是文件；--dir 要的是存放对话和结果的文件夹"
    )))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_place_of_the_folder_is_named() -> Result<(), BoxError> {
        let place = tempfile::tempdir()?;
        let file = place.path().join("file");
        std::fs::write(&file, "")?;
        assert!(check_folder(place.path()).is_ok());
        assert!(check_folder(&place.path().join("new")).is_ok());
        let told = check_folder(&file).map_err(|error| error.to_string());
        let expected = format!("{} is a file; --dir takes", file.display());
        assert!(told.is_err_and(|told| told.starts_with(&expected)));
        Ok(())
    }
}
