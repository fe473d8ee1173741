use axum::Router;
use fugato_axum::Agent;

/// The wiring of a program: an agent, or an agent with paths of its own [beside](WithRoutes) it.
pub trait IntoService {
    /// The agent.
    type Agent: Agent;

    /// Returns the agent, and the paths that are served with it.
    fn parts(self) -> (Self::Agent, Router);
}

impl<A: Agent> IntoService for A {
    type Agent = A;

    fn parts(self) -> (A, Router) {
        (self, Router::new())
    }
}

/// An agent with paths that are served beside it; see
/// [`AgentRoutes::beside`](fugato_axum::AgentRoutes::beside).
#[derive(derive_more::Debug)]
#[debug("WithRoutes {{ agent: {:?}, .. }}", self.agent.name())]
#[debug(bound(A: Agent))]
pub struct WithRoutes<A> {
    agent: A,
    paths: Router,
}

impl<A: Agent> WithRoutes<A> {
    /// Adds these paths to this agent.
    pub fn new(agent: A, paths: Router) -> Self {
        Self { agent, paths }
    }
}

impl<A: Agent> IntoService for WithRoutes<A> {
    type Agent = A;

    fn parts(self) -> (A, Router) {
        (self.agent, self.paths)
    }
}
