//! Following a rule from day to day.
use std::collections::BTreeSet;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan};

use super::error::{Fault, IcsProblem};
use super::rule::{Frequency, Rule};

/// The most days, weeks, months or years that the rules of one file are followed.
pub(super) const LIMIT: u32 = 500_000;

/// The part of [`LIMIT`] that is left.
#[derive(Debug)]
pub(super) struct IterationBudget(u32);

impl IterationBudget {
    pub(super) fn new() -> Self {
        Self(LIMIT)
    }

    fn spend(&mut self, line: usize) -> Result<(), Fault> {
        let problem = IcsProblem::TooManyRepeats { limit: LIMIT };
        self.0 = self
            .0
            .checked_sub(1)
            .ok_or_else(|| Fault::new(line, problem))?;
        Ok(())
    }
}

impl Rule {
    /// Returns the starts from `first` to the end of `last`, in order. The first one is always
    /// among them, because RFC 5545 counts `DTSTART` as the first occurrence.
    pub(super) fn starts(
        &self,
        first: DateTime,
        last: Date,
        zone: &TimeZone,
        patience: &mut IterationBudget,
    ) -> Result<Vec<DateTime>, Fault> {
        let mut starts = Vec::new();
        let mut left = self.count.unwrap_or(u32::MAX);
        for period in 0.. {
            patience.spend(self.line)?;
            let Some((begin, mut days)) = self.period(first.date(), period) else {
                break;
            };
            if begin > last {
                break;
            }
            if period == 0 {
                days.insert(first.date());
            }
            for day in days.into_iter().filter(|&day| day >= first.date()) {
                let start = day.to_datetime(first.time());
                let over = self.until.is_some_and(|until| !until.allows(start, zone));
                if left == 0 || over || day > last {
                    return Ok(starts);
                }
                left -= 1;
                starts.push(start);
            }
        }
        Ok(starts)
    }

    /// Returns true if the rule itself names the day on which it starts.
    pub(super) fn names(&self, first: Date) -> bool {
        self.period(first, 0)
            .is_some_and(|(_, days)| days.contains(&first))
    }

    /// Returns the first day of a period, and those of its days that the rule names. None at the
    /// end of the calendar.
    fn period(&self, first: Date, period: u32) -> Option<(Date, BTreeSet<Date>)> {
        let steps = i64::from(period) * i64::from(self.interval);
        let (begin, days) = match self.frequency {
            Frequency::Daily => {
                let day = later(first, Span::new().try_days(steps))?;
                (day, self.filtered(vec![day]))
            }
            Frequency::Weekly => {
                let back = first.weekday().since(self.week_start);
                let week = later(first, Span::new().try_days(-i64::from(back)))?;
                let week = later(week, Span::new().try_weeks(steps))?;
                let days: Vec<Date> = (0_i64..7)
                    .filter_map(|n| week.checked_add(n.days()).ok())
                    .collect();
                (week, self.in_week(days, first))
            }
            Frequency::Monthly => {
                let month = first.first_of_month();
                let month = later(month, Span::new().try_months(steps))?;
                (month, self.in_month(month, first))
            }
            Frequency::Yearly => {
                let year = first.first_of_year();
                let year = later(year, Span::new().try_years(steps))?;
                (year, self.in_year(year, first))
            }
        };
        Some((begin, self.positions(days)))
    }

    fn in_week(&self, days: Vec<Date>, first: Date) -> Vec<Date> {
        let mut days = self.filtered(days);
        if self.by_day.is_empty() {
            days.retain(|day| day.weekday() == first.weekday());
        }
        days
    }

    fn in_month(&self, month: Date, first: Date) -> Vec<Date> {
        if !self.allows_month(month) {
            return Vec::new();
        }
        let mut days = days_from(month, month.days_in_month().into());
        if self.by_day.is_empty() && self.by_month_day.is_empty() {
            days.retain(|day| day.day() == first.day());
        }
        let all = days.clone();
        days.retain(|&day| self.allows_month_day(day) && self.allows_nth(day, &all));
        days
    }

    fn in_year(&self, year: Date, first: Date) -> Vec<Date> {
        let months = (0_i64..12).filter_map(|n| year.checked_add(n.months()).ok());
        if self.by_day.is_empty() && self.by_month_day.is_empty() {
            let wanted = |month: &Date| !self.by_month.is_empty() || month.month() == first.month();
            return months
                .filter(wanted)
                .flat_map(|month| self.in_month(month, first))
                .collect();
        }
        // A number before a day counts within the year, unless months are named.
        if self.by_month.is_empty() {
            let all = days_from(year, year.days_in_year());
            let named = |&day: &Date| self.allows_month_day(day) && self.allows_nth(day, &all);
            return all.iter().copied().filter(named).collect();
        }
        months
            .flat_map(|month| self.in_month(month, first))
            .collect()
    }

    /// Returns the days that month, day of month and weekday allow.
    fn filtered(&self, mut days: Vec<Date>) -> Vec<Date> {
        let weekday = |day: &Date| {
            self.by_day
                .iter()
                .any(|&(_, wanted)| wanted == day.weekday())
        };
        days.retain(|day| self.by_day.is_empty() || weekday(day));
        days.retain(|&day| self.allows_month(day) && self.allows_month_day(day));
        days
    }

    fn allows_month(&self, day: Date) -> bool {
        self.by_month.is_empty() || self.by_month.contains(&day.month())
    }

    fn allows_month_day(&self, day: Date) -> bool {
        let from_end = day.day() - day.days_in_month() - 1;
        self.by_month_day.is_empty()
            || self
                .by_month_day
                .iter()
                .any(|&wanted| wanted == day.day() || wanted == from_end)
    }

    /// Returns true if `BYDAY` names this day among `all` days of its month or year.
    fn allows_nth(&self, day: Date, all: &[Date]) -> bool {
        let same = |other: &&Date| other.weekday() == day.weekday();
        let before = all
            .iter()
            .filter(same)
            .filter(|&&other| other < day)
            .count()
            + 1;
        let after = all
            .iter()
            .filter(same)
            .filter(|&&other| other > day)
            .count()
            + 1;
        self.by_day.is_empty()
            || self.by_day.iter().any(|&(ordinal, weekday)| {
                let place = if ordinal < 0 { after } else { before };
                weekday == day.weekday()
                    && (ordinal == 0 || usize::from(ordinal.unsigned_abs()) == place)
            })
    }

    fn positions(&self, days: Vec<Date>) -> BTreeSet<Date> {
        let days: BTreeSet<Date> = days.into_iter().collect();
        if self.by_set_position.is_empty() {
            return days;
        }
        let chosen = self.by_set_position.iter().filter_map(|&position| {
            let index = usize::from(position.unsigned_abs()) - 1;
            if position > 0 {
                days.iter().nth(index)
            } else {
                days.iter().nth_back(index)
            }
        });
        chosen.copied().collect()
    }
}

/// Returns the day after a span; none at the end of the calendar.
fn later(day: Date, span: Result<Span, jiff::Error>) -> Option<Date> {
    day.checked_add(span.ok()?).ok()
}

fn days_from(first: Date, count: i16) -> Vec<Date> {
    (0..i64::from(count))
        .filter_map(|n| first.checked_add(n.days()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil;

    use super::super::lines::read_lines;
    use super::*;

    fn starts(rule: &str, first: Date, last: Date) -> Vec<String> {
        let lines = read_lines(format!("RRULE:{rule}").as_bytes()).expect("well formed");
        let line = lines.first().expect("there is one line");
        let rule = Rule::read(line).expect("the rule can be followed");
        let starts = rule
            .starts(
                first.at(8, 0, 0, 0),
                last,
                &TimeZone::UTC,
                &mut IterationBudget::new(),
            )
            .expect("the rule is short");
        starts
            .iter()
            .map(|start| start.strftime("%m%d").to_string())
            .collect()
    }

    fn spring(rule: &str) -> Vec<String> {
        // A Monday, and the end of the half-year.
        starts(rule, civil::date(2026, 3, 2), civil::date(2026, 6, 30))
    }

    #[test]
    fn rules_are_followed() {
        assert_eq!(spring("FREQ=DAILY;COUNT=3"), ["0302", "0303", "0304"]);
        assert_eq!(
            spring("FREQ=DAILY;INTERVAL=40"),
            ["0302", "0411", "0521", "0630"]
        );
        assert_eq!(
            spring("FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20260311"),
            ["0302", "0304", "0309", "0311"]
        );
        assert_eq!(
            spring("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=SU,MO;WKST=SU"),
            ["0302", "0315", "0316", "0329"]
        );
        assert_eq!(
            spring("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=SU,MO;WKST=MO"),
            ["0302", "0308", "0316", "0322"]
        );
        assert_eq!(
            spring("FREQ=MONTHLY;BYDAY=1MO,-1MO"),
            [
                "0302", "0330", "0406", "0427", "0504", "0525", "0601", "0629"
            ]
        );
        assert_eq!(
            spring("FREQ=MONTHLY;BYMONTHDAY=2,-1;BYMONTH=3,5"),
            ["0302", "0331", "0502", "0531"]
        );
        assert_eq!(
            spring("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1;COUNT=3"),
            ["0302", "0401", "0501"]
        );
        assert_eq!(spring("FREQ=YEARLY"), ["0302"]);
        assert_eq!(
            spring("FREQ=YEARLY;BYMONTH=3,6;BYDAY=1MO"),
            ["0302", "0601"]
        );
        assert_eq!(spring("FREQ=YEARLY;BYDAY=9MO,10MO"), ["0302", "0309"]);
        // The second of March is a ninth Monday, but of the year only.
        assert_eq!(spring("FREQ=YEARLY;BYDAY=9MO;BYMONTHDAY=2,9"), ["0302"]);
        assert_eq!(
            spring("FREQ=YEARLY;BYMONTHDAY=2"),
            ["0302", "0402", "0502", "0602"]
        );
    }

    #[test]
    fn a_month_without_the_day_is_skipped() {
        let days = starts(
            "FREQ=MONTHLY",
            civil::date(2026, 1, 31),
            civil::date(2026, 7, 1),
        );
        assert_eq!(days, ["0131", "0331", "0531"]);
    }

    #[test]
    fn until_in_utc_is_compared_with_the_clock_of_the_event() {
        let lines = read_lines(b"RRULE:FREQ=DAILY;UNTIL=20260303T000000Z").expect("well formed");
        let rule = Rule::read(lines.first().expect("one line")).expect("it can be followed");
        let shanghai = super::super::zone::known("Asia/Shanghai").expect("an IANA name");
        let first = civil::date(2026, 3, 2).at(8, 0, 0, 0);
        let starts = rule.starts(
            first,
            civil::date(2026, 3, 9),
            &shanghai,
            &mut IterationBudget::new(),
        );
        assert_eq!(
            starts,
            Ok(vec![first, civil::date(2026, 3, 3).at(8, 0, 0, 0)])
        );
    }

    #[test]
    fn a_start_that_the_rule_does_not_name_counts_as_the_first() {
        assert_eq!(
            spring("FREQ=WEEKLY;BYDAY=WE;COUNT=3"),
            ["0302", "0304", "0311"]
        );
    }

    #[test]
    fn patience_ends() {
        let lines = read_lines(b"RRULE:FREQ=DAILY").expect("well formed");
        let rule = Rule::read(lines.first().expect("one line")).expect("it can be followed");
        let first = civil::date(1600, 1, 1).at(8, 0, 0, 0);
        let last = civil::date(8999, 1, 1);
        let fault = rule
            .starts(first, last, &TimeZone::UTC, &mut IterationBudget::new())
            .expect_err("that is millions of days");
        assert_eq!(
            fault,
            Fault::new(1, IcsProblem::TooManyRepeats { limit: LIMIT })
        );
    }
}
