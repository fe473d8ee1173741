//! The events of a thread for a reader who stays, whichever process runs it.
use std::{sync::Arc, time::Duration};

use fugato_graph::Events;
use fugato_state::Seq;
use fugato_stream::Event;
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::{address::Address, office::Office};

/// How often the log is asked whether another process wrote it.
const ELSEWHERE: Duration = Duration::from_secs(3);

/// Every event of a thread after a position, until the server ends.
pub(crate) fn follow(office: &Arc<Office>, to: &Address, after: Seq) -> BoxStream<'static, Event> {
    let mut tick = tokio::time::interval_at(Instant::now() + ELSEWHERE, ELSEWHERE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let follower = Follower {
        events: office.agent.follow(&to.thread, after),
        cursor: after,
        head: after,
        tick,
        office: office.clone(),
        to: to.clone(),
    };
    let events = stream::unfold(follower, Follower::next);
    events.take_until(Box::pin(office.closed())).boxed()
}

struct Follower {
    events: Events,
    /// The last position that was shown.
    cursor: Seq,
    /// The last position that the log was seen to have.
    head: Seq,
    tick: Interval,
    office: Arc<Office>,
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
                    return Some((self.to.show(event), self));
                }
                _ = self.tick.tick() => self.look().await,
            }
        }
    }

    /// Reads again what a run of another process wrote. One of this process tells by itself.
    async fn look(&mut self) {
        let agent = &self.office.agent;
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
                tracing::warn!(%error, "{}", crate::log_key::THE_HEAD_OF_A_THREAD_CANNOT_BE_READ);
            }
        }
    }
}
