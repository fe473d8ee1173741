//! The statistics of all days, kept up to date while proposals are tried.
use super::rhythm::Totals;
use super::series::DayStats;
use crate::schedule::Board;

/// The statistics of all days.
#[derive(Debug, Clone)]
pub(super) struct Diagnosis {
    pub(super) days: Vec<DayStats>,
}

impl Diagnosis {
    pub(super) fn of(board: &Board<'_>) -> Self {
        let mut numbers: Vec<u16> = board
            .state()
            .window
            .days
            .iter()
            .map(|day| day.day_index)
            .collect();
        numbers.sort_unstable();
        Self {
            days: numbers
                .into_iter()
                .map(|day| DayStats::of(board, day))
                .collect(),
        }
    }

    /// Recomputes some days. Returns their old statistics, for [`Self::restore`].
    pub(super) fn refresh(&mut self, board: &Board<'_>, touched: [u16; 2]) -> [DayStats; 2] {
        touched.map(
            |day| match self.position(day).and_then(|at| self.days.get_mut(at)) {
                Some(stats) => std::mem::replace(stats, DayStats::of(board, day)),
                None => DayStats {
                    day,
                    ..DayStats::default()
                },
            },
        )
    }

    /// Undoes the last refresh.
    pub(super) fn restore(&mut self, before: [DayStats; 2]) {
        // In reverse, because for a day that was touched twice the first statistics are the right
        // ones.
        for stats in before.into_iter().rev() {
            if let Some(there) = self
                .position(stats.day)
                .and_then(|at| self.days.get_mut(at))
            {
                *there = stats;
            }
        }
    }

    pub(super) fn totals(&self) -> Totals {
        Totals::of(&self.days)
    }

    /// Returns the days with adjacent demanding subjects that a change should repair. If nearly all
    /// switches stay within a type of subject and switches are few, demanding neighbours are
    /// acceptable.
    pub(super) fn problem_days(&self) -> Vec<u16> {
        let totals = self.totals();
        let calm = totals.same_type_ratio() >= 0.80
            && totals.average_switches() <= 1.0
            && totals.max_switches <= 3;
        let acceptable = |day: &DayStats| calm && day.switches <= 2 && day.fragmentation() <= 0.45;
        let problems = self
            .days
            .iter()
            .filter(|day| day.heavy > 0 && !acceptable(day));
        problems.map(|day| day.day).collect()
    }

    pub(super) fn day(&self, day: u16) -> DayStats {
        let known = self.position(day).and_then(|at| self.days.get(at)).copied();
        known.unwrap_or(DayStats {
            day,
            ..DayStats::default()
        })
    }

    fn position(&self, day: u16) -> Option<usize> {
        self.days.binary_search_by_key(&day, |stats| stats.day).ok()
    }
}
