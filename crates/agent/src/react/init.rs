use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};

use crate::{Embeds, React, ReactUpdate};

/// The node that begins a run: it resets the state of the last run, and completes open calls in the
/// history.
pub(super) struct Init {
    pub(super) max_steps: u32,
}

#[async_trait]
impl<S: Embeds<React>> Node<S> for Init {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let (max_steps, id) = (self.max_steps, Some(cx.run()));
        Ok(Outcome::done([S::embed(ReactUpdate::Began {
            max_steps,
            id,
        })]))
    }
}
