//! Tests of times as people say them.
use fugato_text::{CronSchedule, untimed};
use jiff::{civil::date, tz::TimeZone};

#[test]
fn trn_8_what_people_say_becomes_a_schedule() {
    let noon = date(2026, 11, 22).at(12, 0, 0, 0);
    let noon = noon.to_zoned(TimeZone::UTC).expect("there is such a time");
    for (text, schedule, once) in [
        ("每天早上8点提醒我喝水", "0 8 * * *", false),
        ("每周五下午五点半提醒我写周报", "30 17 * * 5", false),
        ("remind me every day at 9:05 to stretch", "5 9 * * *", false),
        ("工作日8:30提醒我", "30 8 * * 1-5", false),
        ("明天下午3点提醒我开会", "0 0 15 23 11 * 2026", true),
        ("remind me at 11:30 to eat", "0 30 11 23 11 * 2026", true),
        ("remind me at 3 pm", "0 0 15 22 11 * 2026", true),
        ("10分钟后提醒我", "0 10 12 22 11 * 2026", true),
        ("remind me in 90 seconds", "30 1 12 22 11 * 2026", true),
        ("remind me at 12 am", "0 0 0 23 11 * 2026", true),
        (
            "remind me tomorrow at 12:30 pm",
            "0 30 12 23 11 * 2026",
            true,
        ),
        ("晚上12点提醒我睡觉", "0 0 0 23 11 * 2026", true),
        ("明天晚上12点提醒我", "0 0 0 24 11 * 2026", true),
        ("每天晚上12点提醒我", "0 0 * * *", false),
        ("中午1点提醒我", "0 0 13 22 11 * 2026", true),
        ("每周一三五8点提醒我跑步", "0 8 * * 1,3,5", false),
        ("每周一、周三和周日早上8点提醒我", "0 8 * * 1,3,0", false),
        ("每周一到周五8点一刻提醒我", "15 8 * * 1-5", false),
        ("每周一三点提醒我", "0 3 * * 1", false),
        ("每周二十点提醒我", "0 10 * * 2", false),
        ("每月1号8点提醒我交房租", "0 8 1 * *", false),
        ("every weekend at 9:00", "0 9 * * 6,0", false),
        ("每个周末9点提醒我", "0 9 * * 6,0", false),
        ("every monday and friday at 9:00", "0 9 * * 1,5", false),
        ("every evening at 9:30 write my diary", "30 21 * * *", false),
        ("五点四十五分提醒我", "0 45 5 23 11 * 2026", true),
        ("明早8点提醒我", "0 0 8 23 11 * 2026", true),
        ("后天8点提醒我", "0 0 8 24 11 * 2026", true),
        ("今天晚上8点提醒我明天带伞", "0 0 20 22 11 * 2026", true),
        ("3个小时后提醒我", "0 0 15 22 11 * 2026", true),
        ("一个半小时后提醒我", "0 30 13 22 11 * 2026", true),
        ("1小时30分钟后提醒我", "0 30 13 22 11 * 2026", true),
        ("半小时后提醒我", "0 30 12 22 11 * 2026", true),
        ("3天后8点提醒我", "0 0 8 25 11 * 2026", true),
        ("下周三8点提醒我", "0 0 8 25 11 * 2026", true),
        ("明天１８：３０提醒我", "0 30 18 23 11 * 2026", true),
        ("12月25日8点提醒我", "0 0 8 25 12 * 2026", true),
        ("on december 25 at 9:00", "0 0 9 25 12 * 2026", true),
        (
            "on wednesday at noon remind me to eat",
            "0 0 12 25 11 * 2026",
            true,
        ),
        ("in 3 days at 9:00", "0 0 9 25 11 * 2026", true),
        ("2026-12-25 9:00", "0 0 9 25 12 * 2026", true),
        (
            "remind me tomorrow at 9 to call Anna",
            "0 0 9 23 11 * 2026",
            true,
        ),
    ] {
        let expected = CronSchedule {
            expression: schedule.into(),
            once,
        };
        assert_eq!(CronSchedule::of(text, &noon), Some(expected), "{text}");
    }
    for text in [
        "提醒我",
        "remind me",
        "remind me to be at 9 Main Street",
        "周三8点提醒我",
        "2月30日8点提醒我",
        "11月1日和12月25日8点提醒我",
        "25点提醒我",
        "in the hours",
        "：",
        "点",
        // Texts that are only understood in part.
        "1.5小时后提醒我",
        "每小时提醒我喝水",
        "每两周周一8点提醒我",
        "每周8点提醒我",
        "每年1月1日8点提醒我",
        "每周五晚上12点提醒我",
        "晚上2点提醒我",
        "今天8点提醒我",
        "8点和20点提醒我",
        "差5分8点提醒我",
        "会议8点，提前10分钟提醒我",
        "on the 5th at 9:00",
        "every other day at 9:00",
        "every day except sunday at 9:00",
        "every 2 hours at 9:00",
        "10 minutes before 9:00",
    ] {
        assert_eq!(CronSchedule::of(text, &noon), None, "{text}");
    }
}

#[test]
fn trn_8_what_is_to_be_done_is_said_without_its_time() {
    for (text, left) in [
        ("call Bert tomorrow at 6pm", "call Bert"),
        ("call Bert at 08:30", "call Bert"),
        (
            "meet Bob at the station at 6pm tomorrow",
            "meet Bob at the station",
        ),
        ("run every monday and friday at 9:00", "run"),
        ("tomorrow at 9 to call Anna", "call Anna"),
        ("every day at 9:05 to stretch", "stretch"),
        ("drink water in 90 seconds", "drink water"),
        ("明天下午3点半开会", "开会"),
        ("明天下午3点15分开会", "开会"),
        ("每周一9点交周报", "交周报"),
        ("10分钟后关火", "关火"),
        ("给小王打电话，明天下午6点", "给小王打电话"),
        // A time between other words is left where it is, and so is one that is all there is.
        ("call at 6pm about the milk", "call at 6pm about the milk"),
        ("给小王明天下午6点打电话", "给小王明天下午6点打电话"),
        ("tomorrow at 9:00", "tomorrow at 9:00"),
        ("stretch", "stretch"),
        ("", ""),
    ] {
        for hour in [0, 12, 23] {
            let now = date(2026, 11, 22).at(hour, 30, 0, 0);
            let now = now.to_zoned(TimeZone::UTC).expect("there is such a time");
            assert_eq!(untimed(text, &now), left, "{text} at {hour}");
        }
    }
}
