use std::{collections::BTreeMap, fmt};

use super::{
    core::Seen,
    fault::{Doing, Fault},
};

/// What a simulation tried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// How many cases were run, those without a fault included.
    pub cases: usize,
    /// The points of the runs without a fault, by what the process did there.
    pub points: BTreeMap<Doing, usize>,
    /// What went wrong, and how often.
    pub faults: BTreeMap<Fault, usize>,
    /// What was done to the world in all cases together, by name.
    pub effects: BTreeMap<String, u64>,
    /// How often a person was asked whether an effect happened.
    pub doubts: u64,
    /// How many appends of the thread were under way at once, at most.
    pub most_in_flight: usize,
}

impl Report {
    pub(super) fn take_in(&mut self, seen: &Seen, whole: bool) {
        self.cases += 1;
        for (_, fault) in &seen.fired {
            *self.faults.entry(*fault).or_default() += 1;
        }
        for (doing, _) in seen.points.iter().filter(|_| whole) {
            *self.points.entry(*doing).or_default() += 1;
        }
        for ((name, _), deed) in &seen.deeds {
            *self.effects.entry(name.clone()).or_default() += u64::from(deed.times);
        }
        // Each is kept under two addresses: of its task, and of the whole thread.
        self.doubts += (seen.doubts.len() / 2) as u64;
        self.most_in_flight = self.most_in_flight.max(seen.most_in_flight);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points: usize = self.points.values().sum();
        let faults: usize = self.faults.values().sum();
        let (cases, doubts) = (self.cases, self.doubts);
        write!(
            f,
            "{cases} cases, {points} points, {faults} faults, {doubts} effects in doubt;"
        )?;
        for (fault, times) in &self.faults {
            write!(f, " {times} × {fault}")?;
        }
        for (effect, times) in &self.effects {
            write!(f, " {times} × {effect:?}")?;
        }
        Ok(())
    }
}
