//! Tests of times as people say them.
use fugato_text::{CronExpression, ScheduleError, untimed};
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
        // On a Sunday no Wednesday before is meant.
        ("周三8点提醒我", "0 0 8 25 11 * 2026", true),
        ("周五下午五点提醒我交报告", "0 0 17 27 11 * 2026", true),
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
        (
            "remind me in half an hour to stretch",
            "0 30 12 22 11 * 2026",
            true,
        ),
        ("in an hour and a half", "0 30 13 22 11 * 2026", true),
        ("in two and a half hours", "0 30 14 22 11 * 2026", true),
        ("in 2 hours and 10 minutes", "0 10 14 22 11 * 2026", true),
        (
            "remind me at half past nine tonight to lock the door",
            "0 30 21 22 11 * 2026",
            true,
        ),
        ("at a quarter to six pm", "0 45 17 22 11 * 2026", true),
        ("tomorrow at seven to run", "0 0 7 23 11 * 2026", true),
        ("every 2 hours remind me to drink", "0 */2 * * *", false),
        ("drink every hour", "0 * * * *", false),
        ("每两个小时提醒我喝水", "0 */2 * * *", false),
        ("每隔半小时提醒我", "*/30 * * * *", false),
        ("每小时提醒我喝水", "0 * * * *", false),
        (
            "remind me tomorrow at 9 to wait until Bob comes",
            "0 0 9 23 11 * 2026",
            true,
        ),
    ] {
        let expected = CronExpression {
            expression: schedule.into(),
            once,
        };
        assert_eq!(CronExpression::of(text, &noon), Ok(expected), "{text}");
    }
}

#[test]
fn trn_8_days_are_read_where_they_are_misspelled_and_courtesies_beside_them() {
    let noon = date(2026, 11, 22).at(12, 0, 0, 0);
    let noon = noon.to_zoned(TimeZone::UTC).expect("there is such a time");
    for (text, expected) in [
        (
            "remind me to call Ada tommorow at 6pm",
            "0 0 18 23 11 * 2026",
        ),
        ("remind me at 6pm Tomrrow to run", "0 0 18 23 11 * 2026"),
        ("remind me at 8pm to buy a sundae", "0 0 20 22 11 * 2026"),
        ("every wensday at 8:30", "30 8 * * 3"),
        ("麻烦你到时候今晚8点提醒我", "0 0 20 22 11 * 2026"),
        (
            "could you please remind me again today at 18:00 sharp to run",
            "0 0 18 22 11 * 2026",
        ),
        (
            "remind me at 8pm I have to call my mother to wish her luck",
            "0 0 20 22 11 * 2026",
        ),
    ] {
        let read = CronExpression::of(text, &noon).map(|read| read.expression);
        assert_eq!(read.as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn trn_8_what_is_not_understood_of_a_time_is_named() {
    let noon = date(2026, 11, 22).at(12, 0, 0, 0);
    let noon = noon.to_zoned(TimeZone::UTC).expect("there is such a time");
    let unclear = |part: &str| ScheduleError::Unclear(part.to_owned());
    let several = |part: &str| ScheduleError::SeveralTimes(part.to_owned());
    for (text, error) in [
        ("提醒我", ScheduleError::NoTime),
        ("remind me", ScheduleError::NoTime),
        ("remind me to be at 9 Main Street", ScheduleError::NoTime),
        ("in the hours", unclear("hours")),
        ("：", ScheduleError::NoTime),
        ("点", ScheduleError::NoTime),
        // A day alone has no time of the day.
        ("remind me on friday", ScheduleError::NoHour),
        ("12月3号提醒我别忘了带护照", ScheduleError::NoHour),
        ("remind me on december 3rd", ScheduleError::NoHour),
        ("每月1号提醒我交房租", ScheduleError::NoHour),
        ("今天8点提醒我", ScheduleError::Past),
        ("remind me in 0 minutes to jump", ScheduleError::Past),
        ("remind me yesterday at 5 pm", ScheduleError::Past),
        ("昨天提醒我", ScheduleError::Past),
        ("8点和20点提醒我", several("20点")),
        ("后天上午10点和下午3点各提醒我一次吃药", several("3点")),
        (
            "in 1 hour to call bob and in 2 hours to call alice",
            several("in 2 hours"),
        ),
        (
            "一小时后提醒我给小王打电话，两小时后提醒我给小李打电话",
            several("两小时后"),
        ),
        ("at 9 to call bob and at 10 to call alice", several("10:00")),
        (
            "in 10 minutes to run and at 15:00 to eat",
            several("15:00 to eat"),
        ),
        ("every 2 hours at 9:00", several("every 2 hours")),
        ("11月1日和12月25日8点提醒我", several("12月25日")),
        // Texts that are only understood in part.
        ("2月30日8点提醒我", unclear("2月30日")),
        ("2月30日提醒我过节", unclear("2月30日")),
        ("25点提醒我", unclear("25点")),
        ("remind me tomorrow at 25:00 to sleep", unclear("25:00")),
        ("1.5小时后提醒我", unclear("小时后")),
        ("每两周周一8点提醒我", unclear("每两周周")),
        ("每周8点提醒我", unclear("每周8点")),
        ("每年1月1日8点提醒我", unclear("每年1月")),
        ("每周五晚上12点提醒我", unclear("每周五晚上12点提醒我")),
        ("晚上2点提醒我", unclear("2点")),
        ("差5分8点提醒我", unclear("5")),
        ("会议8点，提前10分钟提醒我", unclear("提前")),
        ("on the 5th at 9:00", unclear("5th")),
        ("every other day at 9:00", unclear("every other day")),
        ("every day except Sunday at 9:00", unclear("except")),
        ("every 45 minutes", unclear("every 45 minutes")),
        ("每7小时提醒我", unclear("每7小时")),
        ("10 minutes before 9:00", unclear("minutes")),
        ("in 2 hours and 10", unclear("in 2 hours and 10")),
        (
            "every weekday at 8 to run, but not on Wednesday",
            unclear("Wednesday"),
        ),
        (
            "every monday at 7:15 am to water the plants until Christmas",
            unclear("until Christmas"),
        ),
        (
            "每周一早上7点一刻提醒我浇花，到圣诞节为止",
            unclear("到圣诞节为止"),
        ),
        ("每个工作日早上8点提醒我吃药，周三除外", unclear("周三")),
        ("every hour until 6", unclear("until 6")),
        // Several days are no unknown words.
        (
            "remind me on Tuesday and Thursday at 8 to run",
            several("Thursday"),
        ),
        ("周一和周三八点提醒我跑步", several("周三")),
        (
            "remind me from Monday to Friday at 8 to run",
            unclear("Monday to Friday"),
        ),
        ("remind me tonight to run", ScheduleError::NoHour),
        ("今晚提醒我跑步", ScheduleError::NoHour),
        // The place of a time is for the time alone.
        ("名天九点提醒我打电话", unclear("名天")),
        ("妈妈生日那天九点提醒我买花", unclear("妈妈生日那天")),
        (
            "remind me on my birthday at 8 to run",
            unclear("on my birthday"),
        ),
        ("remind me and Bob at 8 to run", unclear("and Bob")),
        (
            "remind me at 7 and don't tell anyone",
            unclear("and don't tell anyone"),
        ),
        (
            "remind me every day at 8 and 20 to take pills",
            several("and 20"),
        ),
        ("take pills every day at 8 and 20", several("and 20")),
    ] {
        assert_eq!(CronExpression::of(text, &noon), Err(error), "{text}");
    }
}

#[test]
fn trn_8_a_schedule_is_moved_by_the_words_for_its_other_time() {
    let noon = date(2026, 11, 22).at(12, 0, 0, 0);
    let now = noon.to_zoned(TimeZone::UTC).expect("there is such a time");
    let zoned = |schedule: &str| -> (CronExpression, jiff::Zoned) {
        let once = schedule.split(' ').count() > 5;
        let expression = schedule.to_owned();
        let due = date(2026, 11, 23).at(17, 0, 0, 0).to_zoned(TimeZone::UTC);
        let due = due.expect("there is such a time");
        (CronExpression { expression, once }, due)
    };
    let (once, weekly) = ("0 0 17 23 11 * 2026", "0 17 * * 1");
    for (old, text, expected) in [
        (once, "6pm", Ok("0 0 18 23 11 * 2026")),
        (once, "6", Ok("0 0 18 23 11 * 2026")),
        (once, "六点", Ok("0 0 18 23 11 * 2026")),
        (once, "06:00", Ok("0 0 6 23 11 * 2026")),
        (once, "early morning at 9 am", Ok("0 0 9 23 11 * 2026")),
        (once, "half past seven", Ok("0 30 19 23 11 * 2026")),
        (once, "friday", Ok("0 0 17 27 11 * 2026")),
        (once, "明天晚上8点", Ok("0 0 20 23 11 * 2026")),
        (once, "every day at 9", Ok("0 9 * * *")),
        (once, "yesterday", Err(ScheduleError::Past)),
        (once, "later", Err(ScheduleError::NoTime)),
        (weekly, "9 am", Ok("0 9 * * 1")),
        (weekly, "下午四点半", Ok("30 16 * * 1")),
        // One time would end the others.
        (
            weekly,
            "tomorrow at 9",
            Err(ScheduleError::Unclear("tomorrow at 9".into())),
        ),
        (
            "0 */2 * * *",
            "9 am",
            Err(ScheduleError::Unclear("9 am".into())),
        ),
    ] {
        let (old, due) = zoned(old);
        let moved = old.moved(&due, text, &now);
        let moved = moved.map(|moved| moved.expression);
        assert_eq!(moved, expected.map(str::to_owned), "{text}");
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
        ("tomorrow about the dentist at 9", "the dentist"),
        ("on friday to call Bert at 6pm", "call Bert"),
        ("drink water every 2 hours", "drink water"),
        ("活动一下，半小时后", "活动一下"),
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
