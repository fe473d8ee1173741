use fugato_graph::BoxError;

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

/// Adds a message for the person to an error.
pub(crate) trait ErrorContext<T> {
    fn tell(self, message: impl FnOnce() -> String) -> Result<T, CliError>;
}

impl<T, E: Into<BoxError>> ErrorContext<T> for Result<T, E> {
    fn tell(self, message: impl FnOnce() -> String) -> Result<T, CliError> {
        self.map_err(|error| CliError::new(message()).because(error))
    }
}
