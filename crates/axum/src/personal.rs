//! An agent of their own for each person.
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use axum::{
    Router,
    extract::{Request, State},
    http::{Method, StatusCode, Uri, request::Parts, uri::PathAndQuery},
    middleware::from_fn_with_state,
    response::{IntoResponse as _, Response},
};
use fugato_graph::BoxError;
use fugato_state::say;
use tokio::{
    sync::OnceCell,
    task::JoinSet,
    time::{Instant, interval_at},
};
use tower_service::Service as _;

use crate::{
    AccessDenied, AgentRoutes, Authenticate, Caller, ServedAgent,
    app_state::AppState,
    error::{ApiError, chain, closing},
    guard::{self, KnownCaller, RECHECK},
    native::no_such_path,
    serve::{OpenAgents, OpenEndpoints, private},
};

/// The people whom a server knows, and the agent of each.
///
/// # Contract
/// - A caller with an [account](Caller::account) is a person, and every request of theirs goes to
///   the agent of this account. Every other caller uses the shared agent.
/// - `open` returns endpoints over stores that hold the data of this account and no other.
/// - `colleague` returns accounts of the caller's own tenant only.
/// - The agent of an account that `knows` no more is closed within five seconds: it begins no run,
///   by itself or for anybody, and those under way stop after their step. It opens again when
///   somebody of this account comes back.
#[async_trait]
pub trait PersonDirectory: Authenticate + 'static {
    /// The agent of each person.
    type Agent: ServedAgent;

    /// Opens the agent of a person.
    async fn open(&self, account: &str) -> Result<AgentRoutes<Self::Agent>, BoxError>;

    /// Returns true while there is a person of this account.
    fn knows(&self, account: &str) -> bool;

    /// Returns the account of the person of this name whose conversations the caller may read, and
    /// whose questions the caller may answer; none if there is nobody of this name, or not for them.
    fn colleague(&self, caller: &Caller, name: &str) -> Option<String>;
}

/// The endpoints of an agent for each person, each over stores of its own: what is one person's has
/// no name by which another could ask for it.
///
/// A request under `/people/NAME/` is about the conversations of that person: to list and read
/// them, and to answer their questions. Whoever may not do that finds nothing there.
#[derive(derive_more::Debug)]
#[debug("PersonalRoutes {{ shared: {shared:?}, .. }}")]
#[debug(bound(D: PersonDirectory))]
pub struct PersonalRoutes<D: PersonDirectory> {
    directory: Arc<D>,
    shared: AgentRoutes<D::Agent>,
    accounts: Vec<String>,
}

impl<D: PersonDirectory> PersonalRoutes<D> {
    /// Creates the endpoints of these people. The shared agent serves callers without an account,
    /// the page, and health.
    pub fn new(shared: AgentRoutes<D::Agent>, directory: D) -> Self {
        let directory = Arc::new(directory);
        let shared = shared.known_by(Arc::new(DirectoryAuth(directory.clone())));
        Self {
            directory,
            shared,
            accounts: vec![],
        }
    }

    fugato_state::setters! {
        /// Opens the agents of these accounts at once, so that they continue what was left; all
        /// others open with the first request of their person.
        pub fn opening<T: Into<String>>(accounts: impl IntoIterator<Item = T>) {
            accounts = accounts.into_iter().map(Into::into).collect()
        }
    }

    /// Returns the endpoints as a router, for a server of one's own; see [`AgentRoutes::router`].
    pub fn router(self) -> Router {
        private::Endpoints::opened(self).app
    }
}

impl<D: PersonDirectory> private::Endpoints for PersonalRoutes<D> {
    fn opened(self) -> OpenEndpoints {
        let (grace, recovers) = (self.shared.grace, self.shared.recovers);
        let (metrics, lang) = (self.shared.metrics.clone(), self.shared.lang);
        let (shared, app_state) = self.shared.open();
        let (limits, agents) = (app_state.limits.clone(), Arc::new(OpenAgents::default()));
        agents.add(app_state.clone(), recovers);
        let people = Arc::new(People {
            directory: self.directory,
            shared: (shared, app_state),
            metrics,
            agents: agents.clone(),
            open: Mutex::default(),
            tasks: Mutex::default(),
            grace,
        });
        people.spawn(People::watch(Arc::downgrade(&people)));
        for account in self.accounts {
            let opening = people.clone();
            people.spawn(async move { drop(opening.agent(&account).await) });
        }
        let app = Router::new().fallback(dispatch::<D>).with_state(people);
        let app = app.layer(from_fn_with_state(lang, guard::spoken));
        OpenEndpoints {
            app,
            limits,
            grace,
            agents,
        }
    }
}

/// The directory as a hook.
struct DirectoryAuth<D>(Arc<D>);

#[async_trait]
impl<D: PersonDirectory> Authenticate for DirectoryAuth<D> {
    async fn caller(&self, request: &Parts) -> Result<Caller, AccessDenied> {
        self.0.caller(request).await
    }
}

struct People<D> {
    directory: Arc<D>,
    shared: (Router, Arc<AppState>),
    metrics: Arc<crate::health::Metrics>,
    agents: Arc<OpenAgents>,
    open: Mutex<HashMap<String, Arc<OnceCell<PersonAgent>>>>,
    /// The background tasks, which end with this.
    tasks: Mutex<JoinSet<()>>,
    /// The time limit for the steps of an agent that is closed.
    grace: Duration,
}

/// The endpoints of a person, and what is behind them.
type PersonAgent = (Router, Arc<AppState>);

async fn dispatch<D: PersonDirectory>(
    State(people): State<Arc<People<D>>>,
    request: Request,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let (shared, app_state) = &people.shared;
    // An unknown caller gets the page, or is refused there.
    let router = match people.directory.caller(&parts).await {
        Ok(caller) => match caller.account() {
            None => Ok(shared.clone()),
            Some(_) if app_state.is_closing() => Err(closing().into_response()),
            Some(account) => people.route(&mut parts, caller, account).await,
        },
        Err(_) => Ok(shared.clone()),
    };
    match router {
        Ok(mut router) => match router.call(Request::from_parts(parts, body)).await {
            Ok(response) => response,
            Err(never) => match never {},
        },
        Err(response) => response,
    }
}

impl<D: PersonDirectory> People<D> {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Returns the endpoints of a request, whose path they know.
    async fn route(
        self: &Arc<Self>,
        parts: &mut Parts,
        caller: Caller,
        account: String,
    ) -> Result<Router, Response> {
        let (account, caller) = match parts.uri.path().strip_prefix("/people/") {
            None => (account, caller),
            Some(rest) => {
                let found = self.colleague(&caller, &parts.method, rest);
                let Some((account, path)) = found else {
                    return Err(no_such_path().await);
                };
                parts.uri = at(&parts.uri, &path);
                (account.clone(), caller.acting_for(account))
            }
        };
        parts.extensions.insert(KnownCaller(caller));
        let opened = self.agent(&account).await;
        opened.map_err(axum::response::IntoResponse::into_response)
    }

    /// Returns the account that a request under `/people/` is about, and the path of its endpoint;
    /// none if the caller finds nothing there.
    fn colleague(&self, caller: &Caller, method: &Method, rest: &str) -> Option<(String, String)> {
        let (name, path) = rest.split_once('/')?;
        let parts: Vec<&str> = path.split('/').collect();
        let reads = matches!(
            parts.as_slice(),
            ["threads"] | ["threads", _] | ["threads", _, "timeline" | "events"]
        );
        let answers = matches!(parts.as_slice(), ["threads", _, "resume"]);
        let is_there = reads && method == Method::GET || answers && method == Method::POST;
        if !is_there || !caller.is_approver() {
            return None;
        }
        let account = self.directory.colleague(caller, name)?;
        Some((account, format!("/{path}")))
    }

    /// Returns the endpoints of a person, which are opened by their first request.
    async fn agent(self: &Arc<Self>, account: &str) -> Result<Router, ApiError> {
        let cell = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.entry(account.to_owned()).or_default().clone()
        };
        if let Some((router, _)) = cell.get() {
            return Ok(router.clone());
        }
        let (people, account) = (self.clone(), account.to_owned());
        // A client that goes away does not leave an agent half opened.
        let opening = tokio::spawn(async move {
            let opened = cell.get_or_try_init(|| people.opened(&account)).await;
            opened.map(|(router, _)| router.clone()).map_err(|error| {
                tracing::error!(account, error = %chain(&*error), "agent of a person cannot be opened");
            })
        });
        opening.await.unwrap_or(Err(())).map_err(|()| {
            let message = say!(
                "your conversations cannot be opened now; the operator's log says why",
                "现在打不开您的对话；原因在运维人员的日志里"
            );
            let unavailable = StatusCode::SERVICE_UNAVAILABLE;
            ApiError::new(unavailable, "store_unavailable", message)
        })
    }

    async fn opened(&self, account: &str) -> Result<PersonAgent, BoxError> {
        let agent = self.directory.open(account).await?;
        let recovers = agent.recovers;
        let who = Arc::new(DirectoryAuth(self.directory.clone()));
        let agent = agent.known_by(who).counting_in(self.metrics.clone());
        let (router, app_state) = agent.open();
        self.agents.add(app_state.clone(), recovers);
        Ok((router, app_state))
    }

    /// Closes the agents of people who are gone, as long as the server is there.
    async fn watch(people: Weak<Self>) {
        let mut tick = interval_at(Instant::now() + RECHECK, RECHECK);
        loop {
            tick.tick().await;
            let Some(people) = people.upgrade() else {
                return;
            };
            for app_state in people.gone() {
                let (agents, grace) = (people.agents.clone(), people.grace);
                people.spawn(async move { agents.remove(&app_state, grace).await });
            }
        }
    }

    /// Takes the agents of people who are gone out of those that are open.
    fn gone(&self) -> Vec<Arc<AppState>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone = vec![];
        open.retain(|account, cell| match cell.get() {
            Some((_, app_state)) if !self.directory.knows(account) => {
                gone.push(app_state.clone());
                false
            }
            _ => true,
        });
        gone
    }
}

/// Returns the address with another path.
fn at(uri: &Uri, path: &str) -> Uri {
    let query = uri.query().map(|query| format!("?{query}"));
    let path = format!("{path}{}", query.unwrap_or_default());
    let mut parts = uri.clone().into_parts();
    // It is a part of an address that was parsed.
    parts.path_and_query = PathAndQuery::try_from(path).ok();
    Uri::from_parts(parts).unwrap_or_default()
}
