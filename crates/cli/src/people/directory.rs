use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use fugato_axum::{
    AccessDenied, AgentRoutes, Authenticate, Caller, CallerRole, Parts, PersonDirectory,
    ServedAgent,
};
use fugato_graph::BoxError;
use fugato_state::say;
use tokio::sync::{mpsc, oneshot};

use super::{PeopleFile, account, file::same, of_same_tenant};
use crate::CliError;

/// A request to open the agent of an account.
pub(crate) type OpenRequest<A> = (String, oneshot::Sender<Result<AgentRoutes<A>, BoxError>>);

/// The people of a program that serves, by its file of people. Every change of the file holds from
/// the next request on.
pub(crate) struct ProgramPeople<A> {
    pub(crate) path: PathBuf,
    /// The key that all who have no key of their own share, for the agent of nobody.
    pub(crate) shared_key: Option<String>,
    /// The header in which a proxy that knows the shared key names the person.
    pub(crate) header: Option<String>,
    /// The file as it was last read.
    pub(crate) read: Mutex<(Vec<u8>, Arc<PeopleFile>)>,
    /// Agents are opened where the program runs.
    pub(crate) opener: mpsc::Sender<OpenRequest<A>>,
}

impl<A> ProgramPeople<A> {
    /// Returns the accounts of all who have a key.
    pub(crate) fn accounts(&self) -> Vec<String> {
        let people = self.people().unwrap_or_default();
        people.accounts().into_iter().map(str::to_owned).collect()
    }

    fn people(&self) -> Result<Arc<PeopleFile>, CliError> {
        let bytes = std::fs::read(&self.path).unwrap_or_default();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.0 != bytes {
            // In a file that is gone or empty there is nobody.
            let people = match bytes.as_slice() {
                [] => PeopleFile::default(),
                bytes => PeopleFile::parse(&self.path, bytes)?,
            };
            *read = (bytes, Arc::new(people));
        }
        Ok(read.1.clone())
    }

    /// Returns the caller of a request that sends the shared key: nobody in particular, or the
    /// person whom the proxy names. A proxy that names nobody is refused, so that one which lets a
    /// stranger through opens nothing.
    fn proxied(&self, people: &PeopleFile, request: &Parts) -> Option<Caller> {
        let Some(header) = &self.header else {
            return Some(Caller::default());
        };
        let mut named = request.headers.get_all(header).iter();
        match (named.next(), named.next()) {
            (Some(name), None) => {
                let name = account(name.to_str().ok()?).ok()?;
                let keys = people.keys.iter().filter(|key| key.person == name);
                // The rights of somebody with several keys are those of the first.
                keys.map(|key| key.role)
                    .next()
                    .map(|role| person(&name, role))
            }
            // Nobody is named, or a client may have sent one of them.
            _ => None,
        }
    }
}

fn person(account: &str, role: CallerRole) -> Caller {
    Caller::default().user(account).role(role)
}

#[async_trait]
impl<A: ServedAgent> Authenticate for ProgramPeople<A> {
    async fn caller(&self, request: &Parts) -> Result<Caller, AccessDenied> {
        let people = self.people().map_err(|error| {
            tracing::error!(%error, "people cannot be read");
            AccessDenied::forbidden(say!(
                "nobody is let in now; the operator's log says why",
                "现在谁都不能进入；原因在运维人员的日志里"
            ))
        })?;
        let sent = request.headers.get("authorization");
        let sent = sent.and_then(|value| value.to_str().ok());
        let sent = sent.and_then(|value| value.strip_prefix("Bearer "));
        let refused = || {
            AccessDenied::unauthorized(say!(
                "send your key of this server: Authorization: Bearer …",
                "请发送您在这台服务器的密钥：Authorization: Bearer …"
            ))
        };
        let sent = sent.ok_or_else(refused)?;
        let shared = self.shared_key.as_ref();
        if shared.is_some_and(|key| same(key.as_bytes(), sent.as_bytes())) {
            let unnamed = || {
                AccessDenied::unauthorized(say!(
                    "the proxy must name one person who was added, in one header of --person-header",
                    "代理必须在一个 --person-header 请求头中指明一位已添加的人员"
                ))
            };
            return self.proxied(&people, request).ok_or_else(unnamed);
        }
        let key = people.find(sent).ok_or_else(refused)?;
        Ok(person(&key.person, key.role))
    }
}

#[async_trait]
impl<A: ServedAgent> PersonDirectory for ProgramPeople<A> {
    type Agent = A;

    async fn open(&self, account: &str) -> Result<AgentRoutes<A>, BoxError> {
        let (tell, told) = oneshot::channel();
        let ended = || CliError::new(say!("the program ends", "程序正在结束"));
        let asked = self.opener.send((account.to_owned(), tell)).await;
        asked.map_err(|_| ended())?;
        told.await.map_err(|_| ended())?
    }

    fn knows(&self, account: &str) -> bool {
        // A file that cannot be read says of nobody that they are gone.
        self.people()
            .map_or(true, |people| people.accounts().contains(account))
    }

    fn colleague(&self, caller: &Caller, name: &str) -> Option<String> {
        let own = caller.account()?;
        let wanted = of_same_tenant(&own, name)?;
        let people = self.people().ok()?;
        people.accounts().contains(&*wanted).then_some(wanted)
    }
}
