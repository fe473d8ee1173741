use std::fmt;

/// The totals of a [`ConsentSim`](super::ConsentSim) over all its cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsentReport {
    /// How many cases were run.
    pub cases: usize,
    /// How many requests were sent.
    pub requests: usize,
    /// How many of them were accepted (a status below 400).
    pub accepted: usize,
    /// How many cards callers were shown.
    pub cards: usize,
    /// How many of these cards a caller agreed to while they were open.
    pub consents: usize,
    /// How many writes there were.
    pub writes: usize,
    /// How often the program was killed.
    pub kills: usize,
}

impl ConsentReport {
    pub(super) fn add(&mut self, case: &Self) {
        self.cases += 1;
        self.requests += case.requests;
        self.accepted += case.accepted;
        self.cards += case.cards;
        self.consents += case.consents;
        self.writes += case.writes;
        self.kills += case.kills;
    }
}

impl fmt::Display for ConsentReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cases,
            requests,
            accepted,
            cards,
            consents,
            writes,
            kills,
        } = self;
        write!(
            f,
            "{cases} cases, {requests} requests ({accepted} accepted), {cards} cards, \
             {consents} consents, {writes} writes, {kills} kills"
        )
    }
}
