use fugato_graph::BoxError;

/// The error of a command. The message is for the person: it names what was wrong, and what is
/// allowed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Told {
    message: String,
    source: Option<BoxError>,
}

impl Told {
    /// Creates an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }
}

/// Adds a message for the person to an error.
pub(crate) trait Tell<T> {
    fn tell(self, message: impl FnOnce() -> String) -> Result<T, Told>;
}

impl<T, E: Into<BoxError>> Tell<T> for Result<T, E> {
    fn tell(self, message: impl FnOnce() -> String) -> Result<T, Told> {
        self.map_err(|error| Told::new(message()).because(error))
    }
}
