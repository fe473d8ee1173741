//! Schedules in Chinese words.
use croner::describe::Language;

/// The words of a schedule in Chinese.
#[derive(Clone, Copy)]
pub(crate) struct Chinese;

impl Chinese {
    /// Returns a description without the spaces and stops of English.
    pub(crate) fn punctuated(description: &str) -> String {
        let mut text = description.trim_end_matches('.').to_owned();
        for (english, chinese) in [
            (", 和 ", "和"),
            (" 和 ", "和"),
            (" 或 ", "或"),
            (", ", "，"),
        ] {
            text = text.replace(english, chinese);
        }
        text
    }
}

impl Language for Chinese {
    fn every_minute(&self) -> &'static str {
        "每分钟"
    }

    fn every_second_phrase(&self) -> &'static str {
        "每秒"
    }

    fn every_x_minutes(&self, step: u16) -> String {
        format!("每 {step} 分钟")
    }

    fn every_x_seconds(&self, step: u16) -> String {
        format!("每 {step} 秒")
    }

    fn every_x_hours(&self, step: u16) -> String {
        format!("每 {step} 小时")
    }

    fn every_minute_of_every_x_hours(&self, step: u16) -> String {
        format!("每 {step} 小时中的每分钟")
    }

    fn at_time(&self, time: &str) -> String {
        time.to_owned()
    }

    fn at_time_and_every_x_seconds(&self, time: &str, step: u16) -> String {
        format!("{time} 起每 {step} 秒")
    }

    fn at_time_at_second(&self, time: &str, second: &str) -> String {
        format!("{time} 的第 {second} 秒")
    }

    fn at_phrase(&self, phrase: &str) -> String {
        phrase.to_owned()
    }

    fn on_phrase(&self, phrase: &str) -> String {
        phrase.to_owned()
    }

    fn in_phrase(&self, phrase: &str) -> String {
        phrase.to_owned()
    }

    fn second_phrase(&self, seconds: &str) -> String {
        format!("第 {seconds} 秒")
    }

    fn minute_phrase(&self, minutes: &str) -> String {
        format!("第 {minutes} 分")
    }

    fn minute_past_every_hour_phrase(&self, minutes: &str) -> String {
        format!("每小时{minutes}")
    }

    fn hour_phrase(&self, hours: &str) -> String {
        format!("{hours} 点")
    }

    fn year_phrase(&self, years: &str) -> String {
        format!("{years} 年")
    }

    fn day_phrase(&self, days: &str) -> String {
        format!("每月 {days} 日")
    }

    fn the_last_day_of_the_month(&self) -> &'static str {
        "每月最后一天"
    }

    fn the_weekday_nearest_day(&self, day: &str) -> String {
        format!("每月最接近 {day} 日的工作日")
    }

    fn the_last_weekday_of_the_month(&self, day: &str) -> String {
        format!("每月最后一个{day}")
    }

    fn the_nth_weekday_of_the_month(&self, n: u8, day: &str) -> String {
        format!("每月第 {n} 个{day}")
    }

    fn dom_and_dow_if_also(&self, days: &str) -> String {
        format!("（且为{days}）")
    }

    fn dom_and_dow_if_also_one_of(&self, days: &str) -> String {
        format!("（且为其中之一：{days}）")
    }

    fn list_conjunction_and(&self) -> &'static str {
        "和"
    }

    fn list_conjunction_or(&self) -> &'static str {
        "或"
    }

    fn list_conjunction_and_comma(&self) -> &'static str {
        "，和"
    }

    fn day_of_week_names(&self) -> [&'static str; 7] {
        ["周日", "周一", "周二", "周三", "周四", "周五", "周六"]
    }

    fn month_names(&self) -> [&'static str; 12] {
        [
            "1 月", "2 月", "3 月", "4 月", "5 月", "6 月", "7 月", "8 月", "9 月", "10 月",
            "11 月", "12 月",
        ]
    }

    fn every_past_phrase(&self, every: &str, hours: &str) -> String {
        format!("{hours}的{every}")
    }

    fn past_hour_phrase(&self, hours: &str) -> String {
        format!("{hours} 点")
    }

    fn every_x_months(&self, step: u16) -> String {
        format!("每 {step} 个月")
    }

    fn every_x_years(&self, step: u16) -> String {
        format!("每 {step} 年")
    }
}
