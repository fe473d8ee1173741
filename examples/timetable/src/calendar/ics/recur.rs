//! Recurrences. The crate `rrule` reads and follows the rules; `COUNT`, `UNTIL` and the limits are
//! ours, because exporters write them in ways that it refuses.
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use rrule::RRuleSet;

use super::error::{Fault, IcsProblem};
use super::lines::Line;
use super::time;

/// The most occurrences that the rules of one file are followed.
pub(super) const LIMIT: u32 = 500_000;

/// The steps in which `rrule` looks for the next occurrence before it gives up.
const REACH: u32 = 100_000;

/// The part of [`LIMIT`] that is left.
#[derive(Debug)]
pub(super) struct IterationBudget(u32);

impl IterationBudget {
    pub(super) fn new() -> Self {
        Self(LIMIT)
    }

    fn spend(&mut self, line: usize, steps: u32) -> Result<(), Fault> {
        let left = self.0.checked_sub(steps);
        self.0 = left.ok_or_else(|| Fault::new(line, IcsProblem::TooManyRepeats(LIMIT)))?;
        Ok(())
    }
}

/// An `RRULE` or `EXRULE`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rule {
    line: usize,
    /// The rule without its end, on the clock of the event: as if that were UTC, so that no change
    /// of the clock gets in its way.
    set: RRuleSet,
    first: DateTime,
    count: Option<u32>,
    until: Option<RecurrenceEnd>,
}

/// The starts of a rule.
#[derive(Debug)]
pub(super) struct RuleStarts {
    pub(super) starts: Vec<DateTime>,
    /// True if the rule itself names the time at which the event starts.
    pub(super) names_first: bool,
}

/// The last moment at which a recurrence may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecurrenceEnd {
    Day(Date),
    Local(DateTime),
    Instant(Timestamp),
}

impl Rule {
    /// Reads a rule of an event that starts at `first`; none if it is empty.
    pub(super) fn read(line: &Line, first: DateTime) -> Result<Option<Self>, Fault> {
        let bad = |why: &str| {
            let rule = line.value.chars().take(60).collect();
            let why = why.to_owned();
            Fault::new(line.number, IcsProblem::BadRule { rule, why })
        };
        if !line.value.is_ascii() {
            return Err(bad("it has letters that no rule has"));
        }
        // A backslash before a semicolon or a comma belongs into texts, and some write it here.
        let text = line.value.replace('\\', "").to_ascii_uppercase();
        let (mut count, mut until, mut kept) = (None, None, Vec::new());
        for part in text
            .split(';')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            match part.split_once('=') {
                Some(("COUNT", value)) => {
                    let allowed = || bad("COUNT is no whole number from 1");
                    let number: i64 = value.trim().parse().map_err(|_| allowed())?;
                    if number == 0 {
                        return Err(allowed());
                    }
                    // Some exporters write -1 for a recurrence without end.
                    count = u32::try_from(number).ok();
                }
                Some(("UNTIL", value)) => {
                    let allowed = || bad("UNTIL is not written as 20260628 or 20260628T155959Z");
                    until = Some(RecurrenceEnd::read(value.trim()).ok_or_else(allowed)?);
                }
                _ => kept.push(part),
            }
        }
        if kept.is_empty() {
            return Ok(None);
        }
        let start = first.strftime("%Y%m%dT%H%M%SZ");
        let set: RRuleSet = format!("DTSTART:{start}\nRRULE:{}", kept.join(";"))
            .parse()
            .map_err(|why: rrule::RRuleError| bad(&why.to_string()))?;
        Ok(Some(Self {
            line: line.number,
            set: set.limit(),
            first,
            count,
            until,
        }))
    }

    /// Returns the starts to the end of `last`, in order. The first one is always among them,
    /// because RFC 5545 counts `DTSTART` as the first occurrence.
    pub(super) fn starts(
        &self,
        last: Date,
        zone: &TimeZone,
        budget: &mut IterationBudget,
    ) -> Result<RuleStarts, Fault> {
        let mut named = self.named().peekable();
        let names_first = named.peek() == Some(&self.first);
        let added = Some(self.first).filter(|_| !names_first).into_iter();
        let starts = self.follow(added.chain(named), last, zone, budget)?;
        Ok(RuleStarts {
            starts,
            names_first,
        })
    }

    /// Returns the starts that the rule names, to the end of `last`, in order.
    pub(super) fn exceptions(
        &self,
        last: Date,
        zone: &TimeZone,
        budget: &mut IterationBudget,
    ) -> Result<Vec<DateTime>, Fault> {
        self.follow(self.named(), last, zone, budget)
    }

    fn named(&self) -> impl Iterator<Item = DateTime> {
        let civil = |seconds| Some(Offset::UTC.to_datetime(Timestamp::from_second(seconds).ok()?));
        (&self.set)
            .into_iter()
            .map_while(move |start| civil(start.timestamp()))
    }

    fn follow(
        &self,
        mut named: impl Iterator<Item = DateTime>,
        last: Date,
        zone: &TimeZone,
        budget: &mut IterationBudget,
    ) -> Result<Vec<DateTime>, Fault> {
        let most = self.count.and_then(|count| usize::try_from(count).ok());
        let mut starts = Vec::new();
        while most.is_none_or(|most| starts.len() < most) {
            let Some(start) = named.next() else {
                // Without its end every rule goes on; this one names nothing within reach.
                budget.spend(self.line, REACH)?;
                break;
            };
            budget.spend(self.line, 1)?;
            let is_over = self.until.is_some_and(|until| !until.allows(start, zone));
            if is_over || start.date() > last {
                break;
            }
            starts.push(start);
        }
        Ok(starts)
    }
}

impl RecurrenceEnd {
    fn read(text: &str) -> Option<Self> {
        if let Some(date) = time::date(text) {
            return Some(Self::Day(date));
        }
        let Some(utc) = text.strip_suffix('Z') else {
            return time::date_time(text).map(Self::Local);
        };
        let instant = TimeZone::UTC.to_timestamp(time::date_time(utc)?).ok()?;
        Some(Self::Instant(instant))
    }

    /// Returns true if an occurrence at `start` on the clock of `zone` is still allowed.
    fn allows(self, start: DateTime, zone: &TimeZone) -> bool {
        match self {
            Self::Day(day) => start.date() <= day,
            Self::Local(time) => start <= time,
            Self::Instant(instant) => zone
                .to_ambiguous_zoned(start)
                .compatible()
                .is_ok_and(|start| start.timestamp() <= instant),
        }
    }
}
