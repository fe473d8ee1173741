//! The state machine of the circuit, without a model and without a clock.

use std::time::Duration;

use tokio::time::Instant;

use super::CircuitState;

#[derive(smart_default::SmartDefault, Debug, Clone, Copy)]
pub(super) struct Limits {
    #[default(5)]
    pub(super) failures: u32,
    /// The total time of failures in a row that opens the circuit; `None` for no limit.
    pub(super) lost: Option<Duration>,
    #[default(Duration::from_secs(30))]
    pub(super) open_for: Duration,
    /// The longest time that the circuit stays open when probes keep failing.
    #[default(Duration::from_secs(30))]
    pub(super) open_at_most: Duration,
    #[default(3)]
    pub(super) probes: u32,
    #[default(2)]
    pub(super) successes: u32,
}

#[derive(Debug, Default)]
pub(super) struct Circuit {
    phase: BreakerState,
    /// The number of phase changes, by which the late end of a request of another phase is ignored.
    round: u64,
    /// The number of times that the circuit was opened since it was last closed.
    opened: u32,
}

#[derive(Debug)]
enum BreakerState {
    Closed { failures: u32, lost: Duration },
    Open { until: Instant },
    HalfOpen { probing: u32, successes: u32 },
}

impl Default for BreakerState {
    fn default() -> Self {
        Self::Closed {
            failures: 0,
            lost: Duration::ZERO,
        }
    }
}

/// The permission for one request. It must be settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    round: u64,
    at: Instant,
}

/// The verdict of one answer on the health of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Good,
    Bad,
    /// No verdict: the request was at fault, or the answer was dropped before its end.
    Neither,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CircuitRefusal {
    /// The circuit lets probes through after this time.
    Open(Duration),
    /// The allowed number of probes is already running.
    Probing,
}

impl Circuit {
    pub(super) fn state(&self, now: Instant) -> CircuitState {
        match self.phase {
            BreakerState::Closed { .. } => CircuitState::Closed,
            BreakerState::Open { until } if now < until => CircuitState::Open,
            BreakerState::Open { .. } | BreakerState::HalfOpen { .. } => CircuitState::HalfOpen,
        }
    }

    pub(super) fn admit(&mut self, now: Instant, limits: &Limits) -> Result<Pass, CircuitRefusal> {
        if let BreakerState::Open { until } = self.phase {
            if now < until {
                return Err(CircuitRefusal::Open(until - now));
            }
            self.go(BreakerState::HalfOpen {
                probing: 0,
                successes: 0,
            });
        }
        if let BreakerState::HalfOpen { probing, .. } = &mut self.phase {
            if *probing >= limits.probes.max(1) {
                return Err(CircuitRefusal::Probing);
            }
            *probing += 1;
        }
        Ok(Pass {
            round: self.round,
            at: now,
        })
    }

    pub(super) fn settle(&mut self, pass: Pass, verdict: Verdict, now: Instant, limits: &Limits) {
        if pass.round != self.round {
            return;
        }
        match &mut self.phase {
            BreakerState::Closed { failures, lost } => match verdict {
                Verdict::Good => (*failures, *lost) = (0, Duration::ZERO),
                Verdict::Bad => {
                    *failures += 1;
                    *lost = lost.saturating_add(now.saturating_duration_since(pass.at));
                    let too_long = limits.lost.is_some_and(|most| *lost >= most);
                    if *failures >= limits.failures || too_long {
                        self.open(now, limits);
                    }
                }
                Verdict::Neither => {}
            },
            BreakerState::HalfOpen { probing, successes } => {
                *probing = probing.saturating_sub(1);
                match verdict {
                    Verdict::Good => {
                        *successes += 1;
                        if *successes >= limits.successes {
                            self.opened = 0;
                            self.go(BreakerState::default());
                        }
                    }
                    Verdict::Bad => self.open(now, limits),
                    Verdict::Neither => {}
                }
            }
            BreakerState::Open { .. } => {}
        }
    }

    fn open(&mut self, now: Instant, limits: &Limits) {
        let doubled = 2_u32.saturating_pow(self.opened);
        self.opened = self.opened.saturating_add(1);
        let most = limits.open_at_most.max(limits.open_for);
        // A time that overflows is replaced by one about 34 years ahead, which is not reached
        // either.
        let until = now
            .checked_add(limits.open_for.saturating_mul(doubled).min(most))
            .unwrap_or(now + Duration::from_secs(1 << 30));
        self.go(BreakerState::Open { until });
    }

    fn go(&mut self, phase: BreakerState) {
        self.phase = phase;
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// The rules computed from the events: no counters, only the ends since the last change.
    struct Rules {
        start: Instant,
        limits: Limits,
        opened: Option<Duration>,
        half_open: bool,
        /// The number of openings since the circuit was closed.
        openings: u32,
        /// The verdict and the duration of each request that counts.
        ends: Vec<(Verdict, Duration)>,
        /// For each running request, the number of changes before it and its start.
        on_their_way: BTreeMap<usize, (u64, Duration)>,
        changes: u64,
    }

    impl Rules {
        fn admits(&mut self, id: usize, now: Duration) -> Result<(), CircuitRefusal> {
            if let Some(opened) = self.opened {
                let until = opened + self.open_for();
                let left = until.saturating_sub(now);
                if !left.is_zero() {
                    return Err(CircuitRefusal::Open(left));
                }
                self.change(None, true);
            }
            let probing = self
                .on_their_way
                .values()
                .filter(|(at, _)| *at == self.changes)
                .count();
            if self.half_open && probing >= self.limits.probes as usize {
                return Err(CircuitRefusal::Probing);
            }
            self.on_their_way.insert(id, (self.changes, now));
            Ok(())
        }

        fn open_for(&self) -> Duration {
            let times = (1..self.openings).fold(1, |times, _| times * 2);
            let most = self.limits.open_at_most.max(self.limits.open_for);
            (self.limits.open_for * times).min(most)
        }

        fn ends(&mut self, id: usize, verdict: Verdict, now: Duration) {
            let began = self.on_their_way.remove(&id);
            let Some((_, began)) = began.filter(|(at, _)| *at == self.changes) else {
                return;
            };
            if verdict == Verdict::Neither {
                return;
            }
            self.ends.push((verdict, now.saturating_sub(began)));
            let bad = self
                .ends
                .iter()
                .rev()
                .take_while(|(end, _)| *end == Verdict::Bad);
            let lost: Duration = bad.clone().map(|(_, took)| *took).sum();
            let in_a_row = bad.count();
            let too_long = self.limits.lost.is_some_and(|most| lost >= most);
            let good = self
                .ends
                .iter()
                .filter(|(end, _)| *end == Verdict::Good)
                .count();
            let enough = if self.half_open {
                1
            } else {
                self.limits.failures as usize
            };
            if in_a_row >= enough || (verdict == Verdict::Bad && too_long) {
                self.openings += 1;
                self.change(Some(now), false);
            } else if self.half_open && good >= self.limits.successes as usize {
                self.openings = 0;
                self.change(None, false);
            }
        }

        fn change(&mut self, opened: Option<Duration>, half_open: bool) {
            (self.opened, self.half_open) = (opened, half_open);
            self.ends.clear();
            self.changes += 1;
        }

        fn state(&self, now: Duration) -> CircuitState {
            match self.opened {
                Some(opened) if now < opened + self.open_for() => CircuitState::Open,
                Some(_) => CircuitState::HalfOpen,
                None if self.half_open => CircuitState::HalfOpen,
                None => CircuitState::Closed,
            }
        }
    }

    #[derive(Debug, Clone)]
    enum Move {
        Ask,
        End(prop::sample::Index, Verdict),
        Wait(u64),
    }

    fn moves() -> impl Strategy<Value = Vec<Move>> {
        let verdict = prop_oneof![
            2 => Just(Verdict::Good),
            4 => Just(Verdict::Bad),
            1 => Just(Verdict::Neither),
        ];
        let one = prop_oneof![
            5 => Just(Move::Ask),
            5 => (any::<prop::sample::Index>(), verdict).prop_map(|(at, end)| Move::End(at, end)),
            2 => (0u64..40).prop_map(Move::Wait),
        ];
        prop::collection::vec(one, 0..120)
    }

    proptest! {
        #[test]
        fn l3_the_circuit_keeps_to_its_rules(
            moves in moves(),
            (failures, open_for, probes, successes) in (1u32..6, 0u64..31, 1u32..4, 1u32..4),
            (lost, open_at_most) in (prop::option::of(0u64..60), 0u64..120),
        ) {
            let (open_for, lost) = (Duration::from_secs(open_for), lost.map(Duration::from_secs));
            let open_at_most = Duration::from_secs(open_at_most);
            let limits = Limits { failures, lost, open_for, open_at_most, probes, successes };
            let (mut circuit, mut now) = (Circuit::default(), Duration::ZERO);
            let mut rules = Rules {
                start: Instant::now(), limits, opened: None, half_open: false,
                openings: 0, ends: vec![], on_their_way: BTreeMap::new(), changes: 0,
            };
            let mut passes = vec![];
            for (id, one) in moves.into_iter().enumerate() {
                let at = rules.start + now;
                match one {
                    Move::Ask => {
                        let pass = circuit.admit(at, &limits);
                        prop_assert_eq!(pass.map(|_| ()), rules.admits(id, now));
                        passes.extend(pass.ok().map(|pass| (id, pass)));
                    }
                    Move::End(which, verdict) if !passes.is_empty() => {
                        let (id, pass) = passes.remove(which.index(passes.len()));
                        circuit.settle(pass, verdict, at, &limits);
                        rules.ends(id, verdict, now);
                    }
                    Move::End(..) => {}
                    Move::Wait(seconds) => now += Duration::from_secs(seconds),
                }
                prop_assert_eq!(circuit.state(rules.start + now), rules.state(now));
            }
        }
    }
}
