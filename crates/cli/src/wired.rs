use std::fmt;

use axum::Router;
use fugato_axum::Agent;

/// The wiring of a program: an agent, or an agent with paths of its own [beside](Beside) it.
pub trait Wired {
    /// The agent.
    type Agent: Agent;

    /// Returns the agent, and the paths that are served with it.
    fn parts(self) -> (Self::Agent, Router);
}

impl<A: Agent> Wired for A {
    type Agent = A;

    fn parts(self) -> (A, Router) {
        (self, Router::new())
    }
}

/// An agent with paths that are served beside it; see
/// [`AgentRoutes::beside`](fugato_axum::AgentRoutes::beside).
pub struct Beside<A> {
    agent: A,
    paths: Router,
}

impl<A: Agent> Beside<A> {
    /// Adds these paths to this agent.
    pub fn new(agent: A, paths: Router) -> Self {
        Self { agent, paths }
    }
}

impl<A: Agent> Wired for Beside<A> {
    type Agent = A;

    fn parts(self) -> (A, Router) {
        (self.agent, self.paths)
    }
}

impl<A: Agent> fmt::Debug for Beside<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside")
            .field("agent", &self.agent.name())
            .finish_non_exhaustive()
    }
}
