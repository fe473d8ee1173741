use croner::{
    Cron, JobType,
    errors::CronError,
    parser::{CronParser, Seconds, Year},
};
use fugato_state::{Lang, Millis, say};
use jiff::{Timestamp, Zoned, tz::TimeZone};

use crate::chinese::Chinese;

/// A schedule: a cron expression in a zone.
///
/// ```
/// use fugato_cron::CronSchedule;
/// use jiff::tz::TimeZone;
///
/// let weekdays = CronSchedule::parse("30 8 * * 1-5", &TimeZone::UTC)?;
/// let sunday_noon = 1_795_348_800_000;
/// let monday = sunday_noon + (20 * 60 + 30) * 60_000;
/// assert_eq!(weekdays.next(sunday_noon), Some(monday));
/// assert_eq!(weekdays.last(monday), Some(monday));
/// # Ok::<(), fugato_cron::BadSchedule>(())
/// ```
#[derive(Debug, Clone)]
pub struct CronSchedule {
    cron: Cron,
    zone: TimeZone,
}

/// A cron expression that cannot be used; the message shows one that can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", say!(
    "{schedule:?} is no schedule: {why}; five fields are one, such as \"30 8 * * 1-5\" for 8:30 from Monday to Friday",
    "{schedule:?} 不是时间表：{why}；应为五个字段，例如 \"30 8 * * 1-5\" 表示周一到周五 8:30"
))]
#[non_exhaustive]
pub struct BadSchedule {
    /// The given expression.
    pub schedule: String,
    /// The error of the parser.
    pub why: String,
}

impl CronSchedule {
    /// Parses an expression: minute, hour, day of the month, month, day of the week; optionally a
    /// second before them and a year after them.
    pub fn parse(expression: &str, zone: &TimeZone) -> Result<Self, BadSchedule> {
        let parser = CronParser::builder()
            .seconds(Seconds::Optional)
            .year(Year::Optional)
            .build();
        let bad = |error: CronError| BadSchedule {
            schedule: expression.to_owned(),
            why: error.to_string(),
        };
        Ok(Self {
            cron: parser.parse(expression).map_err(bad)?,
            zone: zone.clone(),
        })
    }

    /// Returns the first time after a time, in milliseconds since the Unix epoch; `None` if there
    /// is none.
    pub fn next(&self, after: Millis) -> Option<Millis> {
        let found = self.cron.find_next_occurrence(&self.local(after)?, false);
        let found = found.ok()?.timestamp().as_millisecond();
        // In an hour that comes twice, the second may be returned as the first again.
        (found > after).then_some(found)
    }

    /// Returns the last time up to and including a time; `None` if there is none.
    pub fn last(&self, until: Millis) -> Option<Millis> {
        let found = self
            .cron
            .find_previous_occurrence(&self.local(until)?, true);
        Some(found.ok()?.timestamp().as_millisecond())
    }

    /// Returns all of the schedule in words, in the language that is spoken now.
    ///
    /// ```
    /// # use fugato_cron::CronSchedule;
    /// # use jiff::tz::TimeZone;
    /// let words = |expression| Some(CronSchedule::parse(expression, &TimeZone::UTC).ok()?.described());
    /// assert_eq!(words("30 8 * * *").as_deref(), Some("every day at 08:30"));
    /// assert_eq!(words("30 8 * * 1,4").as_deref(), Some("at 08:30, on Monday and Thursday"));
    /// ```
    pub fn described(&self) -> String {
        let text = match Lang::current() {
            Lang::Zh => Chinese::punctuated(&self.cron.describe_lang(Chinese)),
            Lang::En => {
                let text = self.cron.describe();
                let text = text.trim_end_matches('.');
                let mut rest = text.chars();
                let first = rest.next().map(|first| first.to_ascii_lowercase());
                first.into_iter().chain(rest).collect()
            }
        };
        // A time of day alone is one of every day.
        let is_daily =
            self.cron.determine_job_type() == JobType::FixedTime && !text.contains([',', '，']);
        if is_daily {
            Lang::current().pick(format!("every day {text}"), format!("每天 {text}"))
        } else {
            text
        }
    }

    fn local(&self, time: Millis) -> Option<Zoned> {
        let time = Timestamp::from_millisecond(time).ok()?;
        Some(time.to_zoned(self.zone.clone()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: Millis = 60_000;

    fn schedule(expression: &str, zone: &str) -> CronSchedule {
        CronSchedule::parse(expression, &TimeZone::get(zone).unwrap()).unwrap()
    }

    fn at(text: &str) -> Millis {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn trn_8_the_next_time_of_a_schedule() {
        let noon = at("2026-11-22T12:00:00Z");
        let next = |expression| schedule(expression, "UTC").next(noon);
        assert_eq!(next("10 12 * * *"), Some(noon + 10 * MINUTE));
        assert_eq!(next("30 1 12 22 11 * 2026"), Some(noon + 90_000));
        assert_eq!(next("0 0 0 1 1 * 2020"), None);
        let bad = CronSchedule::parse("every day", &TimeZone::UTC).unwrap_err();
        assert!(bad.to_string().contains("five fields are one"), "{bad}");
    }

    #[test]
    fn trn_8_a_schedule_is_told_in_words_and_nothing_of_it_is_left_out() {
        for (expression, english, chinese) in [
            ("30 12 * * *", "every day at 12:30", "每天 12:30"),
            (
                "30 8 * * 1-5",
                "at 08:30, on Monday, Tuesday, Wednesday, Thursday, and Friday",
                "08:30，周一，周二，周三，周四和周五",
            ),
            ("0 9 8 * *", "at 09:00, on day 8", "09:00，每月 8 日"),
            ("0 9 * 6 *", "at 09:00, in June", "09:00，6 月"),
            ("*/5 * * * *", "at every 5 minutes", "每 5 分钟"),
            (
                "0 9 L * 5#2",
                "at 09:00, on the last day of the month or the 2nd Friday of the month",
                "09:00，每月最后一天或每月第 2 个周五",
            ),
            (
                "15 30 8 1 1 * 2027",
                "at 08:30:15, on day 1, in January, in year 2027",
                "08:30:15，每月 1 日，1 月，2027 年",
            ),
        ] {
            let schedule = schedule(expression, "UTC");
            assert_eq!(schedule.described(), english, "{expression}");
            let told = Lang::Zh.scope(|| schedule.described());
            assert_eq!(told, chinese, "{expression}");
        }
    }

    /// Returns the times of a schedule in Berlin after a time, until another.
    fn times(expression: &str, after: &str, until: &str) -> Vec<String> {
        let (schedule, until) = (schedule(expression, "Europe/Berlin"), at(until));
        let next = |time: &Millis| schedule.next(*time).filter(|time| *time < until);
        let all = std::iter::successors(next(&at(after)), next);
        all.map(|time| Timestamp::from_millisecond(time).unwrap().to_string())
            .collect()
    }

    #[test]
    fn trn_8_an_hour_that_is_left_out_is_made_up_for_after_it() {
        let night = ("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z");
        let daily = times("30 2 * * *", night.0, night.1);
        assert_eq!(daily, ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
        let often = times(
            "*/20 * * * *",
            "2026-03-29T00:30:00Z",
            "2026-03-29T01:30:00Z",
        );
        assert_eq!(
            often,
            [
                "2026-03-29T00:40:00Z",
                "2026-03-29T01:00:00Z",
                "2026-03-29T01:20:00Z"
            ]
        );
    }

    #[test]
    fn trn_8_an_hour_that_comes_twice_is_one_time_of_day() {
        let night = ("2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z");
        let daily = times("30 2 * * *", night.0, night.1);
        assert_eq!(daily, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
        let often = times(
            "*/30 * * * *",
            "2026-10-24T23:45:00Z",
            "2026-10-25T02:00:00Z",
        );
        let both = [
            "2026-10-25T00:00:00Z",
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:00:00Z",
            "2026-10-25T01:30:00Z",
        ];
        assert_eq!(often, both);
    }

    proptest! {
        /// Next and last agree, there is no time between them, and times only go forward: in every
        /// zone, also where clocks are changed.
        #[test]
        fn trn_8_next_and_last_agree(
            expression in prop::sample::select(vec![
                "30 2 * * *", "*/7 * * * *", "0 0 * * 1-5", "15 3 1 * *", "0 30 1 * * 0",
                "5 4 29 2 *", "*/20 1-3 * * *",
            ]),
            zone in prop::sample::select(vec![
                "UTC", "Europe/Berlin", "America/New_York", "Asia/Shanghai",
                "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu",
            ]),
            after in 1_750_000_000_000_i64..1_850_000_000_000,
        ) {
            let schedule = schedule(expression, zone);
            let next = schedule.next(after).unwrap();
            prop_assert!(next > after);
            prop_assert_eq!(schedule.last(next), Some(next));
            prop_assert!(schedule.last(next - 1).is_none_or(|last| last <= after));
            let later = schedule.next(next).unwrap();
            prop_assert!(later > next);
        }
    }
}
