//! The removal of finished threads whose time is over.
use std::time::Duration;

use fugato_graph::{BoxError, Retention, Runner};
use fugato_state::State;

/// The shortest and the longest pause between two removals of a server.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(600)];

/// Removes the finished threads whose time is over.
pub(crate) async fn retire<S: State>(runner: &Runner<S>) -> Result<(), BoxError> {
    for thread in runner.retire().await? {
        tracing::info!(%thread, "finished thread removed");
    }
    Ok(())
}

/// Does so again and again until the runner is closed.
pub(crate) async fn keep_retiring<S: State>(runner: Runner<S>, kept: Retention) {
    let Retention::KeepFor(kept) = kept else {
        return;
    };
    let [least, most] = PAUSES;
    let closed = runner.closed();
    tokio::pin!(closed);
    loop {
        if let Err(error) = retire(&runner).await {
            tracing::warn!(%error, "finished threads could not be removed");
        }
        tokio::select! {
            () = &mut closed => return,
            () = tokio::time::sleep((kept / 4).clamp(least, most)) => {}
        }
    }
}
