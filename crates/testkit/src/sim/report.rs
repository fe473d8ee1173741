use std::{collections::BTreeMap, fmt};

use super::{
    core::Observations,
    fault::{Activity, Fault},
};

/// A summary of the cases of a simulation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimReport {
    /// The number of cases, those without a fault included.
    pub cases: usize,
    /// The number of points in the runs without a fault, by the operation there.
    pub points: BTreeMap<Activity, usize>,
    /// The number of times that each fault occurred.
    pub faults: BTreeMap<Fault, usize>,
    /// The number of actions on the world in all cases together, by name.
    pub effects: BTreeMap<String, u64>,
    /// The number of effects in doubt about which a person was asked.
    pub doubts: u64,
    /// The most appends of the thread that were under way at once.
    pub most_in_flight: usize,
}

impl SimReport {
    pub(super) fn take_in(&mut self, seen: &Observations, whole: bool) {
        self.cases += 1;
        for (_, fault) in &seen.fired {
            *self.faults.entry(*fault).or_default() += 1;
        }
        for (doing, _) in seen.points.iter().filter(|_| whole) {
            *self.points.entry(*doing).or_default() += 1;
        }
        for ((name, _), action) in &seen.actions {
            *self.effects.entry(name.clone()).or_default() += u64::from(action.times);
        }
        // Each is stored under two addresses: that of its task, and that of the whole thread.
        self.doubts += (seen.doubts.len() / 2) as u64;
        self.most_in_flight = self.most_in_flight.max(seen.most_in_flight);
    }
}

impl fmt::Display for SimReport {
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
