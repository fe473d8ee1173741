//! Read-only access to a thread.
use fugato_axum::Agent;
use fugato_graph::{BoxError, Runner};
use fugato_state::{Seq, State as _, ThreadId, say};
use fugato_store::{ThreadFilter, ThreadStore};

use crate::{CliError, Lang, inspect::PAGE};

/// The number of threads that an error message lists.
const NAMED: usize = 10;

/// A thread of an agent, to be read.
pub(crate) struct Archive<'a, A> {
    pub(crate) agent: &'a A,
    pub(crate) thread: ThreadId,
}

impl<A: Agent> Archive<'_, A> {
    pub(crate) fn runner(&self) -> &Runner<A::State> {
        self.agent.runner()
    }

    /// Returns the number of the last line of the history.
    pub(crate) async fn last(&self) -> Result<Seq, BoxError> {
        let (mut last, mut from) = (0, 1);
        loop {
            let page = self.runner().history(&self.thread, from, PAGE).await?;
            last = page.last().map_or(last, |entry| entry.seq);
            from = last + 1;
            if page.len() < PAGE {
                return Ok(last);
            }
        }
    }

    /// Returns the language of the thread; none if it has not begun.
    pub(crate) async fn lang(&self) -> Result<Option<Lang>, BoxError> {
        let state = self.runner().state(&self.thread).await?;
        Ok(state.map(|state| state.lang()))
    }
}

/// Refuses a thread that does not exist, and names those that do.
pub(crate) async fn known(store: &dyn ThreadStore, thread: &ThreadId) -> Result<(), BoxError> {
    if store.head(thread).await?.is_some() {
        return Ok(());
    }
    let mut filter = ThreadFilter::default();
    filter.limit = NAMED;
    let threads = store.list(filter).await?;
    let names = threads.iter().map(|summary| summary.thread.as_str());
    let names = names.collect::<Vec<_>>().join(", ");
    Err(CliError::new(say!(
        "there is no conversation {:?}; there are: {names}",
        "没有会话 {:?}；有：{names}",
        thread.as_str()
    ))
    .into())
}
