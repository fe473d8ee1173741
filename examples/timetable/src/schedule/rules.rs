//! The rules of a class for the places of its items.
use super::refusal::BrokenRule;
use super::{DayMapping, Slot, TaskClass};

impl TaskClass {
    /// Checks a place against the rules of the class. A day without a date is in every window of
    /// dates, because nothing ties it to a calendar.
    ///
    /// # Errors
    /// The first rule that the place breaks.
    pub fn admits(&self, day: &DayMapping, slot: &Slot, embedded: bool) -> Result<(), BrokenRule> {
        self.admits_day(day)?;
        let blocks = blocks(*slot);
        if let Some(block) = self
            .excluded_slots
            .iter()
            .find(|block| blocks.contains(block))
        {
            return Err(BrokenRule::Block(*block));
        }
        if embedded && !self.allow_filler_course {
            return Err(BrokenRule::Filler);
        }
        Ok(())
    }

    /// Checks whether a day is open to the class at all.
    ///
    /// # Errors
    /// The first rule that the day breaks.
    pub fn admits_day(&self, day: &DayMapping) -> Result<(), BrokenRule> {
        if self.excluded_days_of_week.contains(&day.day_of_week) {
            return Err(BrokenRule::DayOfWeek(day.day_of_week));
        }
        if day.date.is_empty() {
            return Ok(());
        }
        match (&self.start_date, &self.end_date) {
            (Some(start), _) if day.date < *start => Err(BrokenRule::TooEarly(start.clone())),
            (_, Some(end)) if day.date > *end => Err(BrokenRule::TooLate(end.clone())),
            _ => Ok(()),
        }
    }
}

/// Returns the two-section blocks that a range touches: 1 is sections 1 and 2.
const fn blocks(slot: Slot) -> std::ops::RangeInclusive<u8> {
    slot.slot_start.div_ceil(2)..=slot.slot_end.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{class, window};
    use super::*;

    #[test]
    fn sch_65_excluded_blocks_days_and_dates_close_a_place() {
        let rules = TaskClass {
            excluded_slots: vec![1, 6],
            excluded_days_of_week: vec![7],
            start_date: Some("2026-09-15".into()),
            end_date: Some("2026-09-21".into()),
            allow_filler_course: false,
            ..class(1)
        };
        let window = window(14);
        let at = |day: u16, from, to, embedded| {
            let mapping = &window.days[usize::from(day) - 1];
            rules.admits(mapping, &Slot::new(day, from, to), embedded)
        };
        assert_eq!(at(2, 3, 4, false), Ok(()));
        assert_eq!(at(2, 2, 3, false), Err(BrokenRule::Block(1)));
        assert_eq!(at(2, 10, 11, false), Err(BrokenRule::Block(6)));
        assert_eq!(at(2, 3, 4, true), Err(BrokenRule::Filler));
        assert_eq!(
            at(1, 3, 4, false),
            Err(BrokenRule::TooEarly("2026-09-15".into()))
        );
        assert_eq!(at(7, 3, 4, false), Err(BrokenRule::DayOfWeek(7)));
        assert_eq!(at(8, 3, 4, false), Ok(()));
        assert_eq!(
            at(9, 3, 4, false),
            Err(BrokenRule::TooLate("2026-09-21".into()))
        );
    }
}
