//! Read-only access to a thread.
use std::ops::RangeInclusive;

use fugato_axum::ServedAgent;
use fugato_graph::{BoxError, Runner};
use fugato_state::{Seq, State as _, ThreadId, say};
use fugato_store::{ThreadFilter, ThreadStore};

use crate::{CliError, Lang};

/// The number of threads that an error message lists.
const NAMED: usize = 10;

/// A thread of an agent, to be read.
pub(crate) struct Archive<'a, A> {
    pub(crate) agent: &'a A,
    pub(crate) thread: ThreadId,
}

impl<A: ServedAgent> Archive<'_, A> {
    pub(crate) fn runner(&self) -> &Runner<A::State> {
        self.agent.runner()
    }

    /// Returns the numbers of the first and the last line of the history.
    pub(crate) async fn lines(&self) -> Result<RangeInclusive<Seq>, BoxError> {
        let head = self.runner().log().head(&self.thread).await?;
        let (base, last) = head.map_or((0, 0), |head| (head.base, head.seq));
        Ok(base + 1..=last)
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
