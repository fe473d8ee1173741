//! The events of a thread for a reader that stays connected, whichever process runs it.
use std::{sync::Arc, time::Duration};

use fugato_graph::Events;
use fugato_state::Seq;
use fugato_stream::{Event, Redaction};
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::{address::Address, app_state::AppState};

/// The interval at which the log is checked for records of another process.
const ELSEWHERE: Duration = Duration::from_secs(3);

/// Returns every event of a thread after a position, until the server shuts down.
pub(crate) fn follow(
    app_state: &Arc<AppState>,
    to: &Address,
    after: Seq,
) -> BoxStream<'static, Event> {
    let mut tick = tokio::time::interval_at(Instant::now() + ELSEWHERE, ELSEWHERE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let follower = Follower {
        events: app_state.agent.follow(&to.thread, after),
        cursor: after,
        head: after,
        tick,
        redaction: app_state.redaction(&to.caller),
        app_state: app_state.clone(),
        to: to.clone(),
    };
    let events = stream::unfold(follower, Follower::next);
    events.take_until(Box::pin(app_state.closed())).boxed()
}

struct Follower {
    events: Events,
    /// The last position that was shown.
    cursor: Seq,
    /// The last head of the log that was seen.
    head: Seq,
    tick: Interval,
    redaction: Redaction,
    app_state: Arc<AppState>,
    to: Address,
}

impl Follower {
    async fn next(mut self) -> Option<(Event, Self)> {
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => {
                    let event = event?;
                    self.cursor = self.cursor.max(event.seq.unwrap_or(0));
                    if let Some(event) = self.to.show(event, self.redaction) {
                        return Some((event, self));
                    }
                }
                _ = self.tick.tick() => self.look().await,
            }
        }
    }

    /// Reads again if another process has written the log. A run of this process sends its events
    /// itself.
    async fn look(&mut self) {
        let agent = &self.app_state.agent;
        if agent.is_live(&self.to.thread) {
            return;
        }
        match agent.log().head(&self.to.thread).await {
            Ok(Some(head)) if head.seq > self.head && !agent.is_live(&self.to.thread) => {
                self.head = head.seq;
                self.events = agent.follow(&self.to.thread, self.cursor);
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "head of a thread cannot be read");
            }
        }
    }
}
