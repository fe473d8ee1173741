//! The agent and its page over HTTP.
use std::{net::SocketAddr, path::PathBuf, sync::Mutex};

use async_trait::async_trait;
use axum::http::HeaderName;
use fugato_axum::{
    AccessDenied, AgentRoutes, AllowAll, Authenticate, Caller, Endpoints, Limits, Page, Parts,
    PersonalRoutes, ServedAgent,
};
use fugato_graph::BoxError;
use fugato_state::say;
use fugato_stream::Redaction;
use futures::FutureExt as _;
use tokio::{
    net::TcpListener,
    sync::mpsc::{self, Receiver},
};

use crate::{
    CliError, IntoService as _, Lang, PersonLimits, Terminal, WithRoutes,
    error::ErrorContext as _,
    people::{OpenRequest, PeopleFile, PersonUsage, ProgramPeople, same},
    signals::ended,
};

/// The number of agents that wait to be opened.
const OPENING: usize = 64;

/// The address of a server, and those whom it lets in.
pub(crate) struct ServeOptions {
    listen: SocketAddr,
    key: Option<String>,
    header: Option<String>,
    /// The file of people.
    path: PathBuf,
    people: PeopleFile,
    /// True if an engine goes on with threads, and no worker of this process.
    placed: bool,
    lang: Lang,
}

impl ServeOptions {
    /// Checks the address: beyond this machine keys are required.
    pub(crate) fn new(
        listen: SocketAddr,
        client_key_env: Option<&str>,
        path: PathBuf,
    ) -> Result<Self, CliError> {
        let key = client_key(client_key_env)?;
        let people = PeopleFile::read(&path)?;
        if !listen.ip().is_loopback() && key.is_none() && people.keys.is_empty() {
            return Err(CliError::new(say!(
                "{listen} can be reached from other machines: make keys by `people add`, name the variable with a key by --client-key-env, or listen on 127.0.0.1",
                "其他机器能访问 {listen}：请用 `people add` 生成密钥，或用 --client-key-env 指定存放密钥的变量，或监听 127.0.0.1"
            )));
        }
        Ok(Self {
            listen,
            key,
            header: None,
            path,
            people,
            placed: false,
            lang: Lang::default(),
        })
    }

    /// Sets the language of answers to clients that ask for none.
    pub(crate) fn lang(self, lang: Lang) -> Self {
        Self { lang, ..self }
    }

    /// Leaves threads to an engine, which knows those of one log.
    pub(crate) fn placed(self, placed: bool) -> Result<Self, CliError> {
        if placed && !self.people.keys.is_empty() {
            return Err(CliError::new(say!(
                "--restate goes on with the conversations of one log, and each of the people here has a log of their own; leave --restate out",
                "--restate 只接管一个日志里的会话，而这里每个人都有自己的日志；请去掉 --restate"
            )));
        }
        Ok(Self { placed, ..self })
    }

    /// Sets the header in which a proxy names the person.
    pub(crate) fn person_header(self, header: Option<String>) -> Result<Self, CliError> {
        if let Some(name) = &header {
            HeaderName::try_from(name).tell(|| {
                say!(
                    "--person-header {name:?} is no header",
                    "--person-header {name:?} 不是请求头"
                )
            })?;
            if self.people.keys.is_empty() {
                let message = say!(
                    "--person-header names people, and there are none; `people add` adds them",
                    "--person-header 要有人员，而现在没有；`people add` 会添加"
                );
                return Err(CliError::new(message));
            }
        }
        Ok(Self { header, ..self })
    }

    /// Serves until the process gets a signal to end: one agent, or one for each person as soon as
    /// there are people.
    pub(crate) async fn serve<A: ServedAgent>(
        self,
        open: impl AsyncFn(Option<&str>) -> Result<(WithRoutes<A>, Option<PersonUsage>), BoxError>,
        page: Page,
        terminal: &mut Terminal,
    ) -> Result<(), BoxError> {
        let (listen, lang, placed) = (self.listen, self.lang, self.placed);
        let listener = TcpListener::bind(listen).await;
        let listener = listener.tell(|| say!("cannot listen on {listen}", "无法监听 {listen}"))?;
        let routes = async |person: Option<&str>| {
            let (agent, usage) = open(person).await?;
            let (agent, paths) = agent.parts();
            let routes = AgentRoutes::new(agent).page(page.clone()).lang(lang);
            let routes = routes.beside(paths);
            let routes = if placed { routes } else { routes.recovers() };
            Ok::<_, BoxError>(match usage {
                Some(usage) => routes.limits(limited(&usage.limits)).quota(usage),
                None => routes,
            })
        };
        let shared = routes(None).await?;
        if self.people.keys.is_empty() {
            let shared = match self.key {
                Some(key) => shared.authenticate(KeyAuth(key)),
                // A foreign page can make its own name resolve to this machine.
                None => shared
                    .authenticate(AllowAll)
                    .hosts(["localhost", "127.0.0.1", "[::1]"]),
            };
            return run(listener, shared, terminal).await;
        }
        let (directory, asked) = self.directory();
        let accounts: Vec<String> = directory.accounts();
        let shared = PersonalRoutes::new(shared, directory).opening(accounts);
        let personal = async |account: &str| {
            let routes: AgentRoutes<A> = routes(Some(account)).await?;
            Ok(routes.redact(for_person))
        };
        tokio::select! {
            served = run(listener, shared, terminal) => served,
            never = open_each(asked, personal) => never,
        }
    }

    /// Returns the people, and the requests to open their agents.
    fn directory<A>(self) -> (ProgramPeople<A>, Receiver<OpenRequest<A>>) {
        let (opener, asked) = mpsc::channel(OPENING);
        let directory = ProgramPeople {
            path: self.path,
            shared_key: self.key,
            header: self.header,
            read: Mutex::default(),
            opener,
        };
        (directory, asked)
    }
}

async fn run(
    listener: TcpListener,
    routes: impl Endpoints,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let address = listener.local_addr()?;
    let told = terminal.lang.pick("open ", "请打开 ");
    terminal.line(format!("{told}http://{address}/"));
    let left = fugato_axum::serve(listener, routes, ended().map(drop)).await?;
    if left > 0 {
        terminal.progress(&say!(
            "{left} runs were given up; the next start goes on with them",
            "放弃了 {left} 次运行；下次启动会继续"
        ));
    }
    Ok(())
}

/// Opens agents, one after the other, as long as the server runs.
async fn open_each<A: ServedAgent>(
    mut asked: Receiver<OpenRequest<A>>,
    open: impl AsyncFn(&str) -> Result<AgentRoutes<A>, BoxError>,
) -> Result<(), BoxError> {
    while let Some((account, tell)) = asked.recv().await {
        // Nobody waits for it when the server ends.
        drop(tell.send(open(&account).await));
    }
    std::future::pending().await
}

fn limited(limits: &PersonLimits) -> Limits {
    let mut set = Limits::default();
    set.concurrent_runs = limits.runs_at_a_time;
    set
}

/// Returns what a caller does not get of the agent of a person: this one gets everything.
fn for_person(caller: &Caller) -> Redaction {
    if caller.is_acting() {
        Redaction::internals()
    } else {
        Redaction::none()
    }
}

fn client_key(name: Option<&str>) -> Result<Option<String>, CliError> {
    let Some(name) = name else { return Ok(None) };
    let key = std::env::var(name).tell(|| format!("--client-key-env {name}"))?;
    if key.trim().is_empty() {
        return Err(CliError::new(say!(
            "the variable {name} is empty; it must hold the key that clients send",
            "环境变量 {name} 是空的；应为客户端发送的密钥"
        )));
    }
    Ok(Some(key))
}

/// The authentication by one key.
struct KeyAuth(String);

#[async_trait]
impl Authenticate for KeyAuth {
    async fn caller(&self, request: &Parts) -> Result<Caller, AccessDenied> {
        let sent = request.headers.get("authorization");
        let sent = sent.and_then(|value| value.to_str().ok());
        let sent = sent.and_then(|value| value.strip_prefix("Bearer "));
        match sent {
            Some(sent) if same(sent.as_bytes(), self.0.as_bytes()) => Ok(Caller::default()),
            _ => Err(AccessDenied::unauthorized(say!(
                "send the key of this server: Authorization: Bearer …",
                "请发送这台服务器的密钥：Authorization: Bearer …"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_let_in_by_a_key_only() {
        let nobody = || PathBuf::from("no-such-folder-here/people.json");
        let options = |listen: &str, key| ServeOptions::new(listen.parse().unwrap(), key, nobody());
        let refused = |key| options("0.0.0.0:80", key).err().unwrap().to_string();
        assert!(refused(None).contains("--client-key-env"));
        assert_eq!(
            refused(Some("NO_SUCH_VARIABLE_HERE")),
            "--client-key-env NO_SUCH_VARIABLE_HERE"
        );
        assert!(options("127.0.0.1:0", None).is_ok());
    }
}
