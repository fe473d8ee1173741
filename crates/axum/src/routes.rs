use std::{sync::Arc, time::Duration};

use fugato_state::Lang;
use fugato_stream::Redaction;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::from_fn_with_state,
    routing::{get, post},
};

use crate::{
    Authenticate, Caller, CallerQuota, Limits, Page, ServedAgent, ag_ui, ai_sdk,
    app_state::{AppState, Redact},
    body,
    caller::DenyAll,
    erased::ErasedAgent,
    guard::{self, Guard},
    health::{self, Metrics},
    inspect, named, native, openai, socket, threads,
};

/// The endpoints of one agent.
#[derive(derive_more::Debug)]
pub struct AgentRoutes<A> {
    #[debug(skip)]
    agent: A,
    #[debug(skip)]
    who: Arc<dyn Authenticate>,
    limits: Limits,
    #[debug(skip)]
    quota: Arc<dyn CallerQuota>,
    #[debug(skip)]
    redact: Arc<Redact>,
    origins: Vec<String>,
    hosts: Vec<String>,
    page: Option<Page>,
    pub(crate) lang: Lang,
    #[debug(skip)]
    beside: Router,
    #[debug(skip)]
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) grace: Duration,
    pub(crate) recovers: bool,
}

impl<A: ServedAgent> AgentRoutes<A> {
    /// Creates the endpoints of this agent. They refuse every request until
    /// [`authenticate`](Self::authenticate) says who sends it; [`AllowAll`](crate::AllowAll) lets
    /// everyone in who reaches the server.
    pub fn new(agent: A) -> Self {
        Self {
            agent,
            who: Arc::new(DenyAll),
            limits: Limits::default(),
            quota: Arc::new(()),
            redact: Arc::new(for_caller),
            origins: vec![],
            hosts: vec![],
            page: None,
            lang: Lang::default(),
            beside: Router::new(),
            metrics: Arc::default(),
            grace: Duration::from_secs(30),
            recovers: false,
        }
    }

    fugato_state::setters! {
        /// Sets the hook that identifies callers.
        pub fn authenticate(who: impl Authenticate + 'static) { who = Arc::new(who) }

        /// Sets the hook that identifies callers, which other endpoints share.
        pub(crate) fn known_by(who: Arc<dyn Authenticate>) { who = who }

        /// Counts in these counters, which other endpoints share.
        pub(crate) fn counting_in(metrics: Arc<Metrics>) { metrics = metrics }

        /// Sets the limits of requests, connections and load.
        pub fn limits(limits: Limits) { limits = limits }

        /// Sets the hook that is asked before a caller uses more.
        pub fn quota(quota: impl CallerQuota + 'static) { quota = Arc::new(quota) }

        /// Sets what a caller does not get of streams, timelines and errors. By default an
        /// [operator](Caller::is_operator) gets everything, and every other caller
        /// [no internals](Redaction::internals): neither names of nodes nor calls of models nor raw
        /// outputs of tools. A caller who does not get everything is refused the graph, the log
        /// and the state of a thread.
        ///
        /// ```
        /// use fugato_axum::{ServedAgent, AgentRoutes, Caller};
        /// use fugato_stream::Redaction;
        ///
        /// fn with_tool_outputs<A: ServedAgent>(routes: AgentRoutes<A>) -> AgentRoutes<A> {
        ///     routes.redact(|caller: &Caller| match caller.is_operator() {
        ///         true => Redaction::none(),
        ///         false => Redaction::internals().tool_outputs(false),
        ///     })
        /// }
        /// ```
        pub fn redact(redact: impl Fn(&Caller) -> Redaction + Send + Sync + 'static) {
            redact = Arc::new(redact)
        }

        /// Allows pages of these origins, such as `https://app.example`, to use the agent. By
        /// default only the server's own pages may.
        pub fn origins<T: Into<String>>(origins: impl IntoIterator<Item = T>) {
            origins = origins.into_iter().map(Into::into).collect()
        }

        /// Sets the host names under which the server may be addressed, without ports. Any by
        /// default; a server on one's own machine should set `localhost`, or a foreign page can
        /// make its own name resolve to this machine.
        pub fn hosts<T: Into<String>>(hosts: impl IntoIterator<Item = T>) {
            hosts = hosts.into_iter().map(Into::into).collect()
        }

        /// Serves a page with the endpoints. It needs no authentication.
        pub fn page(page: Page) { page = Some(page) }

        /// Sets the language of answers to requests that name none which is spoken here, in the
        /// header `accept-language`: English by default. Words in a request are answered in their own.
        pub fn lang(lang: Lang) { lang = lang }

        /// Sets the time limit for steps that are under way at shutdown: 30 s by default.
        pub fn grace(grace: Duration) { grace = grace }
    }

    /// Serves these paths too, behind the same authentication: a handler finds the
    /// [`Caller`](crate::Caller) among the extensions of the request. Their bodies keep to the
    /// [`Limits`], and an [`Unusable`](crate::BadInput) is answered like those of the agent.
    #[must_use]
    pub fn beside(mut self, paths: Router) -> Self {
        self.beside = self.beside.merge(paths);
        self
    }

    /// Lets [`serve`](crate::serve) also continue every runnable thread of the store: those that a
    /// crash or the shutdown of another process left, and those whose wake-up time has come.
    #[must_use]
    pub fn recovers(mut self) -> Self {
        self.recovers = true;
        self
    }

    /// Returns the endpoints as a router, for a server of one's own. At the end of the process its
    /// runs are interrupted as by a crash; [`serve`](crate::serve) hands them over between two
    /// steps.
    pub fn router(self) -> Router {
        self.open().0
    }

    pub(crate) fn open(self) -> (Router, Arc<AppState>) {
        let home = self.agent.runner().prefix().to_owned();
        let app_state = Arc::new(AppState::new(
            Box::new(ErasedAgent(Arc::new(self.agent))),
            self.limits,
            self.quota,
            self.redact,
            self.metrics,
        ));
        let guard = Arc::new(Guard {
            who: self.who,
            origins: self.origins,
            hosts: self.hosts,
            home,
        });
        // A handler of the program gets a body that is complete and within the limit.
        let bounded = from_fn_with_state(app_state.clone(), body::bounded);
        let beside = self
            .beside
            .layer(DefaultBodyLimit::disable())
            .layer(bounded);
        let mut paths = protocols()
            .merge(api())
            .merge(beside.with_state(()))
            .route("/metrics", get(health::metrics))
            .fallback(native::no_such_path)
            .layer(from_fn_with_state(guard.clone(), guard::known))
            .route("/health", get(health::health));
        if let Some(page) = self.page {
            paths = paths.merge(page.routes());
        }
        let mut router = paths
            .method_not_allowed_fallback(native::no_such_method)
            .layer(from_fn_with_state(guard.clone(), guard::called))
            .with_state(app_state.clone());
        if let Some(cors) = guard.cors() {
            router = router.layer(cors);
        }
        let counted = from_fn_with_state(app_state.metrics.clone(), guard::counted);
        let router = router.layer(from_fn_with_state(self.lang, guard::spoken));
        (router.layer(counted), app_state)
    }
}

/// Returns what a caller does not get by default.
fn for_caller(caller: &Caller) -> Redaction {
    if caller.is_operator() {
        Redaction::none()
    } else {
        Redaction::internals()
    }
}

/// Returns the endpoints of client protocols.
fn protocols() -> Router<Arc<AppState>> {
    Router::new()
        .route("/v1/chat/completions", post(openai::complete))
        .route("/v1/models", get(openai::models))
        .route("/agui", post(ag_ui::run))
        .route("/api/chat", post(ai_sdk::chat))
        .route("/api/chat/{id}/stream", get(ai_sdk::again))
        .route("/sse/{vocabulary}", post(named::run).get(named::again))
        .route("/ws/chat", get(socket::open))
}

/// Returns the endpoints that the page uses.
fn api() -> Router<Arc<AppState>> {
    Router::new()
        .route("/graph", get(inspect::graph))
        .route("/threads", get(threads::list))
        .route("/threads/{id}", get(threads::show).delete(threads::remove))
        .route("/threads/{id}/runs", post(native::start))
        .route("/threads/{id}/resume", post(native::resume))
        .route("/threads/{id}/recover", post(native::recover))
        .route("/threads/{id}/retry", post(native::retry))
        .route("/threads/{id}/cancel", post(native::cancel))
        .route("/threads/{id}/events", get(native::events))
        .route("/threads/{id}/history", get(inspect::history))
        .route("/threads/{id}/timeline", get(threads::timeline))
        .route("/threads/{id}/state", get(inspect::state))
        .route("/threads/{id}/fork", post(threads::fork))
}
