/// The totals of a [`ConsentSim`](super::ConsentSim) over all its cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, derive_more::Display)]
#[display(
    "{cases} cases, {requests} requests ({accepted} accepted), {cards} cards, \
     {consents} consents, {writes} writes, {kills} kills"
)]
#[non_exhaustive]
pub struct ConsentReport {
    /// The number of cases.
    pub cases: usize,
    /// The number of requests.
    pub requests: usize,
    /// The number of accepted requests (a status below 400).
    pub accepted: usize,
    /// The number of cards that callers were shown.
    pub cards: usize,
    /// The number of these cards that a caller agreed to while they were open.
    pub consents: usize,
    /// The number of writes.
    pub writes: usize,
    /// The number of kills.
    pub kills: usize,
}

impl ConsentReport {
    /// Checks that the simulation tried something: at least every second case has a write, and a
    /// third of the requests was accepted.
    ///
    /// # Panics
    /// When it shows nothing, as most requests are refused.
    pub fn assert_tried(&self) {
        assert!(self.has_tried(), "too few writes or accepted: {self}");
    }

    pub(super) fn has_tried(&self) -> bool {
        2 * self.writes > self.cases && 3 * self.accepted > self.requests
    }

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
