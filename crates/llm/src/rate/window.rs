//! The sliding window of the last minute, without a clock.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// The time over which requests and tokens are counted.
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// The limits per minute; `None` is no limit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    pub(super) requests: Option<u32>,
    pub(super) tokens: Option<u64>,
}

/// The requests of the last minute, oldest first.
///
/// Every request is kept, so that the limits hold in each minute, wherever it begins. A token
/// bucket would let through twice as many around the turn of a minute.
#[derive(Debug, Default)]
pub(super) struct Window {
    entries: VecDeque<Entry>,
    tokens: u64,
    next: u64,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    at: Instant,
    tokens: u64,
}

impl Window {
    /// Returns the time that a request of so many tokens has to wait if nothing else happens; zero
    /// if it fits now.
    pub(super) fn wait(&mut self, now: Instant, tokens: u64, limits: &Limits) -> Duration {
        self.forget(now);
        let requests = limits.requests.and_then(|most| self.room_for_one(most));
        let tokens = limits.tokens.and_then(|most| self.room_for(tokens, most));
        let free = requests.max(tokens);
        free.map_or(Duration::ZERO, |at| (at + MINUTE).duration_since(now))
    }

    /// Records a request and returns its id.
    pub(super) fn enter(&mut self, now: Instant, tokens: u64) -> u64 {
        let id = self.next;
        self.next += 1;
        self.tokens = self.tokens.saturating_add(tokens);
        self.entries.push_back(Entry {
            id,
            at: now,
            tokens,
        });
        id
    }

    /// Corrects the tokens of a request to their real number.
    pub(super) fn correct(&mut self, id: u64, tokens: u64) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            self.tokens = self
                .tokens
                .saturating_sub(entry.tokens)
                .saturating_add(tokens);
            entry.tokens = tokens;
        }
    }

    fn forget(&mut self, now: Instant) {
        while let Some(entry) = self.entries.front().filter(|one| one.at + MINUTE <= now) {
            self.tokens = self.tokens.saturating_sub(entry.tokens);
            self.entries.pop_front();
        }
    }

    /// Returns the start of the request that must be a minute old before another fits; `None` if it
    /// fits now.
    fn room_for_one(&self, most: u32) -> Option<Instant> {
        let over = (self.entries.len() + 1).checked_sub(most.max(1) as usize)?;
        let last = self.entries.get(over.checked_sub(1)?)?;
        Some(last.at)
    }

    fn room_for(&self, tokens: u64, most: u64) -> Option<Instant> {
        // A request larger than the limit fits when the window is empty; otherwise it never would.
        let allowed = most.saturating_sub(tokens.min(most));
        let mut left = self.tokens;
        let mut until = None;
        for entry in &self.entries {
            if left <= allowed {
                break;
            }
            left = left.saturating_sub(entry.tokens);
            until = Some(entry.at);
        }
        until
    }
}
