use async_trait::async_trait;
use axum::http::request::Parts;
use fugato_state::ThreadId;
use thiserror::Error;

use crate::{ApiError, address::Address};

/// Says who sends a request.
///
/// A function of the request's head is one:
///
/// ```
/// use axum::http::request::Parts;
/// use fugato_axum::{Authenticate, Caller, Denied, Tenant};
///
/// fn by_token(request: &Parts) -> Result<Caller, Denied> {
///     let token = request.headers.get("authorization").and_then(|it| it.to_str().ok());
///     match token {
///         Some("Bearer s3cret") => Ok(Caller::new(Tenant::new("acme").expect("a short word")).user("Ada")),
///         _ => Err(Denied::unauthorized("send a token: Authorization: Bearer …")),
///     }
/// }
/// let _: &dyn Authenticate = &by_token;
/// ```
///
/// # Contract
/// - Every request to the agent is asked about, sockets included; the page, health and metrics
///   are not.
/// - What belongs to one tenant does not exist for another.
#[async_trait]
pub trait Authenticate: Send + Sync {
    /// Who sends the request, or why nobody is let in.
    async fn caller(&self, request: &Parts) -> Result<Caller, Denied>;
}

#[async_trait]
impl<F> Authenticate for F
where
    F: Fn(&Parts) -> Result<Caller, Denied> + Send + Sync,
{
    async fn caller(&self, request: &Parts) -> Result<Caller, Denied> {
        self(request)
    }
}

/// Lets everybody in, to everything that is in the store: for a program on one's own machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Everyone;

#[async_trait]
impl Authenticate for Everyone {
    async fn caller(&self, _: &Parts) -> Result<Caller, Denied> {
        Ok(Caller::default())
    }
}

/// Who sends a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Caller {
    /// To whom threads belong.
    pub tenant: Tenant,
    /// Who it is, for the log: who cancelled a run.
    pub user: Option<String>,
}

impl Caller {
    /// Somebody of this tenant.
    pub fn new(tenant: Tenant) -> Self {
        Self { tenant, user: None }
    }

    /// Says who it is.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// The name under which what is theirs is kept beside threads: `tenant/user`, or the one of both
    /// that is said. A user of one tenant is nobody in another. None where nobody says who it is.
    pub fn account(&self) -> Option<String> {
        let tenant = Some(self.tenant.as_str()).filter(|tenant| !tenant.is_empty());
        let parts: Vec<&str> = tenant.into_iter().chain(self.user.as_deref()).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
    }

    /// The thread that a client of theirs calls by this name, as the runner knows it.
    pub fn thread(&self, name: &str) -> Result<ThreadId, ApiError> {
        Ok(Address::new(self, name)?.thread)
    }

    /// Returns what the log calls them: the user, else the tenant, else everyone.
    pub fn name(&self) -> &str {
        let tenant = Some(self.tenant.as_str()).filter(|tenant| !tenant.is_empty());
        self.user.as_deref().or(tenant).unwrap_or("everyone")
    }
}

/// To whom threads belong: 1 to 64 bytes without control characters and slashes.
///
/// The store knows the threads of a tenant by its name, a slash, and their own. The default is no
/// tenant: whoever is let in as that sees every thread of the store, under its whole name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Tenant(String);

impl Tenant {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// Checks a name.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidTenant> {
        let name = name.into();
        let fits = !name.is_empty() && name.len() <= Self::MAX_BYTES;
        // A slash would let one tenant's threads look like another's.
        if fits && !name.contains(|c: char| c.is_control() || c == '/') {
            Ok(Self(name))
        } else {
            Err(InvalidTenant { name })
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A tenant cannot bear this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("tenant {name:?} is not allowed: 1 to 64 bytes without control characters and slashes are")]
pub struct InvalidTenant {
    /// The rejected name.
    pub name: String,
}

/// Nobody is let in. The message goes to the client.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Denied {
    pub(crate) known: bool,
    message: String,
}

impl Denied {
    /// Who sends the request is not known.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self {
            known: false,
            message: message.into(),
        }
    }

    /// Who sends the request is known, and not allowed in.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self {
            known: true,
            message: message.into(),
        }
    }
}

const _: Option<&dyn Authenticate> = None;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tenant_can_look_like_another() {
        assert_eq!(Tenant::new("acme-1").unwrap().as_str(), "acme-1");
        for bad in ["", "a/b", "a\nb", &"x".repeat(65)] {
            assert!(Tenant::new(bad).is_err(), "{bad:?}");
        }
    }
}
