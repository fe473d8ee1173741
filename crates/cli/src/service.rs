use axum::Router;
use fugato_axum::ServedAgent;

/// The wiring of a program: an agent, or an agent with paths of its own [beside](WithRoutes) it.
pub trait IntoService {
    /// The agent.
    type Agent: ServedAgent;

    /// Returns the agent, and the paths that are served with it.
    fn parts(self) -> (Self::Agent, Router);
}

impl<A: ServedAgent> IntoService for A {
    type Agent = A;

    fn parts(self) -> (A, Router) {
        (self, Router::new())
    }
}

/// An agent with paths that are served beside it; see
/// [`AgentRoutes::beside`](fugato_axum::AgentRoutes::beside).
#[derive(derive_more::Debug)]
#[debug("WithRoutes {{ agent: {:?}, .. }}", self.agent.name())]
#[debug(bound(A: ServedAgent))]
pub struct WithRoutes<A> {
    agent: A,
    paths: Router,
}

impl<A: ServedAgent> WithRoutes<A> {
    /// Adds these paths to this agent.
    pub fn new(agent: A, paths: Router) -> Self {
        Self { agent, paths }
    }
}

impl<A: ServedAgent> IntoService for WithRoutes<A> {
    type Agent = A;

    fn parts(self) -> (A, Router) {
        (self.agent, self.paths)
    }
}
