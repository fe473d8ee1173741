//! The days that a query covers.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::known_day;
use crate::schedule::{Board, DayMapping, WriteRefusal};

/// Which kind of days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DayKind {
    /// Every day.
    #[schemars(extend("x-zh" = "每一天。"))]
    #[default]
    All,
    /// Monday to Friday.
    #[schemars(extend("x-zh" = "周一到周五。"))]
    Workday,
    /// Saturday and Sunday.
    #[schemars(extend("x-zh" = "周六和周日。"))]
    Weekend,
}

/// Conditions on days, all of which must hold; an empty one always does.
#[derive(Debug, Default)]
pub(super) struct DayFilter<'a> {
    pub(super) day: Option<u16>,
    pub(super) days: (Option<u16>, Option<u16>),
    pub(super) kind: DayKind,
    pub(super) day_of_week: &'a [u8],
    pub(super) weeks: &'a [u16],
    pub(super) week_range: (Option<u16>, Option<u16>),
}

impl DayFilter<'_> {
    /// Returns the days that pass, in their order.
    pub(super) fn days(&self, board: &Board<'_>) -> Result<Vec<u16>, WriteRefusal> {
        let bounds = [self.day, self.days.0, self.days.1];
        for day in bounds.into_iter().flatten() {
            known_day(board, day)?;
        }
        if let Some(name) = self
            .day_of_week
            .iter()
            .find(|name| !(1..=7).contains(*name))
        {
            return Err(WriteRefusal::argument(
                "day_of_week",
                say!(
                    "Monday is 1 and Sunday 7; there is no {name}",
                    "周一是 1，周日是 7；没有 {name}"
                ),
            ));
        }
        let days = board
            .state()
            .window
            .days
            .iter()
            .filter(|day| self.passes(day));
        let mut days: Vec<u16> = days.map(|day| day.day_index).collect();
        days.sort_unstable();
        Ok(days)
    }

    fn passes(&self, day: &DayMapping) -> bool {
        let kind = match self.kind {
            DayKind::All => true,
            DayKind::Workday => day.day_of_week <= 5,
            DayKind::Weekend => day.day_of_week > 5,
        };
        kind && self.day.is_none_or(|only| only == day.day_index)
            && within(self.days, day.day_index)
            && within(self.week_range, day.week)
            && (self.weeks.is_empty() || self.weeks.contains(&day.week))
            && (self.day_of_week.is_empty() || self.day_of_week.contains(&day.day_of_week))
    }
}

fn within((from, to): (Option<u16>, Option<u16>), value: u16) -> bool {
    from.is_none_or(|from| value >= from) && to.is_none_or(|to| value <= to)
}
