use async_trait::async_trait;
use axum::http::request::Parts;
use fugato_state::{ThreadId, say};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{ApiError, address::Address};

/// The hook that identifies the caller of each request.
///
/// A function of the request's head is one:
///
/// ```
/// use axum::http::request::Parts;
/// use fugato_axum::{Authenticate, Caller, AccessDenied, Tenant};
///
/// fn by_token(request: &Parts) -> Result<Caller, AccessDenied> {
///     let token = request.headers.get("authorization").and_then(|it| it.to_str().ok());
///     match token {
///         Some("Bearer s3cret") => Ok(Caller::new(Tenant::new("acme").expect("a short word")).user("Ada")),
///         _ => Err(AccessDenied::unauthorized("send a token: Authorization: Bearer …")),
///     }
/// }
/// let _: &dyn Authenticate = &by_token;
/// ```
///
/// # Contract
/// - Every request to the agent is asked about, sockets and metrics included; the page and health
///   are not.
/// - While a stream or a socket is open, its request is asked about again every five seconds; it
///   ends when the caller is refused or another one.
/// - What belongs to one tenant does not exist for another.
#[async_trait]
pub trait Authenticate: Send + Sync {
    /// Returns the caller, or the reason why the request is refused.
    async fn caller(&self, request: &Parts) -> Result<Caller, AccessDenied>;
}

#[async_trait]
impl<F> Authenticate for F
where
    F: Fn(&Parts) -> Result<Caller, AccessDenied> + Send + Sync,
{
    async fn caller(&self, request: &Parts) -> Result<Caller, AccessDenied> {
        self(request)
    }
}

/// Refuses every caller: what holds until a program says who may use its agent.
pub(crate) struct DenyAll;

#[async_trait]
impl Authenticate for DenyAll {
    async fn caller(&self, _: &Parts) -> Result<Caller, AccessDenied> {
        let message = say!(
            "this server lets nobody in, for its program does not say who may use it: \
                       `AgentRoutes::authenticate` says so, and `AllowAll` lets everyone in",
            "这台服务器不让任何人进入，因为它的程序没有说明谁可以用：`AgentRoutes::authenticate` 说明谁可以用，`AllowAll` 让所有人进入"
        );
        Err(AccessDenied::forbidden(message))
    }
}

/// Lets every caller in, to every thread of the store: for a program on one's own machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

#[async_trait]
impl Authenticate for AllowAll {
    async fn caller(&self, _: &Parts) -> Result<Caller, AccessDenied> {
        Ok(Caller::default())
    }
}

/// The caller of a request: a tenant, and a user if one is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Caller {
    /// The tenant to which threads belong.
    pub tenant: Tenant,
    /// The user's name, as the log records it, for example in a cancellation.
    pub user: Option<String>,
    role: CallerRole,
    /// The account whose data the caller looks at, if it is not their own.
    acts_for: Option<String>,
    /// The prefix of the threads of the agent that the request came to.
    pub(crate) home: String,
}

/// The rights of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallerRole {
    /// Reads their own conversations, and changes nothing.
    Reader,
    /// Has conversations of their own.
    #[default]
    Person,
    /// Reads the conversations of other people of their tenant, too, and answers the questions in
    /// them.
    Approver,
    /// Sees how the agent works, such as its metrics; has conversations of their own, and sees those
    /// of nobody else.
    Operator,
}

impl Caller {
    /// A caller of this tenant without a user.
    pub fn new(tenant: Tenant) -> Self {
        Self {
            tenant,
            ..Self::default()
        }
    }

    fugato_state::setters! {
        /// Sets the user.
        pub fn user(user: impl Into<String>) { user = Some(user.into()) }
    }

    fugato_state::setters! {
        /// Sets the role: [`CallerRole::Person`] by default.
        pub fn role(role: CallerRole) { role = role }
    }

    /// Makes the caller an operator of the agent, who sees how it works.
    #[must_use]
    pub fn operator(self) -> Self {
        self.role(CallerRole::Operator)
    }

    /// Lets the caller look at the data of another account, in whose place they answer. The log
    /// still records their own name.
    #[must_use]
    pub fn acting_for(mut self, account: impl Into<String>) -> Self {
        self.acts_for = Some(account.into());
        self
    }

    /// Returns true for a caller who looks at the data of another account.
    pub fn is_acting(&self) -> bool {
        self.acts_for.is_some()
    }

    /// Returns true if the caller who was identified before is the same, with the same rights;
    /// whose data they look at does not matter.
    pub(crate) fn is_still(&self, before: &Self) -> bool {
        let of = |caller: &Self| (caller.tenant.clone(), caller.user.clone(), caller.role);
        of(self) == of(before)
    }

    /// Returns true for a caller who changes nothing.
    pub fn only_reads(&self) -> bool {
        self.role == CallerRole::Reader
    }

    /// Returns true for a caller who may answer questions in conversations of their tenant.
    pub fn is_approver(&self) -> bool {
        self.role == CallerRole::Approver
    }

    /// Returns true for an operator of the agent: who was made one, and a caller of neither tenant
    /// nor name, to whom every thread of the store belongs.
    pub fn is_operator(&self) -> bool {
        self.role == CallerRole::Operator || self.tenant == Tenant::default() && self.user.is_none()
    }

    /// Returns the key for the caller's own data outside threads: `tenant/user`, or the one of the
    /// two that is set; none if neither is. The same user name in two tenants is two accounts.
    ///
    /// A caller who [acts for](Self::acting_for) another account has that one.
    pub fn account(&self) -> Option<String> {
        if let Some(account) = &self.acts_for {
            return Some(account.clone());
        }
        let tenant = Some(self.tenant.as_str()).filter(|tenant| !tenant.is_empty());
        let parts: Vec<&str> = tenant.into_iter().chain(self.user.as_deref()).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
    }

    /// Returns the runner's id of the thread that this caller's clients know by `name`.
    pub fn thread(&self, name: &str) -> Result<ThreadId, ApiError> {
        Ok(Address::new(self, name)?.thread)
    }

    /// Returns the name that the log records: the user, else the tenant, else `everyone`.
    pub fn name(&self) -> &str {
        let tenant = Some(self.tenant.as_str()).filter(|tenant| !tenant.is_empty());
        self.user.as_deref().or(tenant).unwrap_or("everyone")
    }
}

/// The owner of threads: 1 to 64 bytes without control characters and slashes.
///
/// In the store, a thread is named by its tenant, a slash, and its own name. The default is no
/// tenant: its callers see every thread of the store, under its whole name.
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

/// The error for a tenant name that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", say!(
    "tenant {name:?} is not allowed: 1 to 64 bytes without control characters and slashes are",
    "不能用租户名 {name:?}：允许 1 到 64 个字节，不含控制字符和斜杠"
))]
pub struct InvalidTenant {
    /// The rejected name.
    pub name: String,
}

/// A refused request. The message goes to the client.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct AccessDenied {
    pub(crate) known: bool,
    message: String,
}

impl AccessDenied {
    /// The caller is unknown: 401 `unauthorized`.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self {
            known: false,
            message: message.into(),
        }
    }

    /// The caller is known, and not allowed in: 403 `forbidden`.
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
