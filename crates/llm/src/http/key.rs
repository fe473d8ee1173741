use std::sync::Arc;

/// The key with which a client authenticates. It is never shown: not by `Debug`, in errors or in
/// traces.
#[derive(derive_more::Debug, Clone, PartialEq, Eq)]
#[debug("ApiKey([hidden])")]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// Creates a key without the white space around it.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().into())
    }

    /// Reads the key from an environment variable; `None` if it is absent or empty.
    pub fn from_env(variable: &str) -> Option<Self> {
        let key = std::env::var(variable).ok()?;
        Some(Self::new(key)).filter(|key| !key.0.is_empty())
    }

    /// Returns the key itself, for the header of a request only.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the text with the key replaced, in case a server repeated it.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() {
            text.to_owned()
        } else {
            text.replace(&*self.0, "[key]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_shown() {
        let key = ApiKey::new(" secret-1\n");
        assert_eq!(format!("{key:?}"), "ApiKey([hidden])");
        assert_eq!(key.scrub("wrong key secret-1!"), "wrong key [key]!");
        assert_eq!(key.reveal(), "secret-1");
    }
}
