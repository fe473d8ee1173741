use jiff::civil::date;

use super::*;

/// Returns a Wednesday.
fn today() -> Date {
    date(2026, 2, 25)
}

fn ahead(text: &str) -> Vec<Date> {
    dates(text, today(), DateDirection::Ahead).dates
}

#[test]
fn a_day_behind_one_that_there_is_not_is_the_last() {
    for (text, is_end) in [
        ("31 November to 2 December", true),
        ("November 31 to December 2", true),
        ("2月30日到3月2日", true),
        ("2 December", false),
        ("go to Vienna on 2 December", false),
        ("到3月2日", false),
    ] {
        let read = dates(text, today(), DateDirection::Ahead);
        assert_eq!((read.dates.len(), read.is_end), (1, is_end), "{text}");
    }
}

#[test]
fn a_day_that_is_excluded_is_none_of_the_dates() {
    let (second, wednesday) = (date(2026, 3, 2), date(2026, 3, 4));
    for (text, days, excluded) in [
        ("March 4, but not on March 2", vec![wednesday], vec![second]),
        ("3月4日，不要3月2日", vec![wednesday], vec![second]),
        ("not March 2, March 4", vec![wednesday], vec![second]),
        ("no, March 2", vec![second], vec![]),
        ("not later than March 2", vec![second], vec![]),
    ] {
        let read = dates(text, today(), DateDirection::Ahead);
        assert_eq!((read.dates, read.excluded), (days, excluded), "{text}");
    }
    for (text, contradicts) in [
        ("March 2 to March 4, but not on a Monday", true),
        ("March 2 to March 5, but never on a Thursday", true),
        ("March 3 to March 4, but not on a Monday", false),
        ("3月2日到4日，别在周一", true),
        ("3月2日到4日，不要周五", false),
        ("March 2 to March 4, not March 3", true),
        ("not on a Monday", false),
    ] {
        let read = dates(text, today(), DateDirection::Ahead);
        assert_eq!(read.contradicts_itself(), contradicts, "{text}");
    }
}

#[test]
fn days_are_read_in_both_languages() {
    let (second, fifth) = (date(2026, 3, 2), date(2026, 3, 5));
    let cases = [
        ("2026-03-02 到 2026-03-05", vec![second, fifth]),
        ("2026年3月2日", vec![second]),
        ("3月2日至5日", vec![second, fifth]),
        ("3月2-5日", vec![second, fifth]),
        ("3月2日出发，到5日", vec![second, fifth]),
        ("3月2号到3月5号", vec![second, fifth]),
        ("三月二号到三月五号", vec![second, fifth]),
        ("3月2日出差4天", vec![second, fifth]),
        ("3月2日，出差三天", vec![second, date(2026, 3, 4)]),
        ("on March 2 for three days", vec![second, date(2026, 3, 4)]),
        ("March 2 to 5", vec![second, fifth]),
        ("2.3.-5.3.", vec![second, fifth]),
        ("from 2.3. til 5.3. by train", vec![second, fifth]),
        ("2.3.2026 to 5.3.2026", vec![second, fifth]),
        ("a lunch for 2.3. and version 1.2.3", vec![]),
        ("March 2 through 5", vec![second, fifth]),
        ("March 2nd, 2026", vec![second]),
        ("from 2 March until 5 March 2026", vec![second, fifth]),
        ("2nd of March - 5th of March", vec![second, fifth]),
        ("2-5 March", vec![second, fifth]),
        ("from the 2nd to the 5th of March", vec![second, fifth]),
        ("2 – 5 March 2026", vec![second, fifth]),
        ("2 until 5 Mar", vec![second, fifth]),
        ("Mar 2nd for 4 days", vec![second, fifth]),
        ("between the 2nd and the 5th of March", vec![second, fifth]),
        ("下个月2号到5号", vec![second, fifth]),
        ("下月2日至5日", vec![second, fifth]),
        ("下个月的2到5号", vec![second, fifth]),
        ("下个月二号到五号去上海", vec![second, fifth]),
        ("下个月2号出差4天", vec![second, fifth]),
        ("the 2nd to the 5th of next month", vec![second, fifth]),
        ("from 2nd to 5th next month", vec![second, fifth]),
        (
            "between the 2nd and the 5th of next month",
            vec![second, fifth],
        ),
        ("next month from the 2nd to the 5th", vec![second, fifth]),
        ("next month, between the 2nd and 5th", vec![second, fifth]),
        ("next month on the 2nd", vec![second]),
        ("the 2nd of next month", vec![second]),
        ("上个月3号", vec![date(2026, 1, 3)]),
        ("本月26日", vec![date(2026, 2, 26)]),
        ("the 3rd of last month", vec![date(2026, 1, 3)]),
        ("Sept. 2", vec![date(2026, 9, 2)]),
        ("明天", vec![date(2026, 2, 26)]),
        ("大后天", vec![date(2026, 2, 28)]),
        ("the day after tomorrow", vec![date(2026, 2, 27)]),
        ("5天后去上海", vec![second]),
        ("in 5 days", vec![second]),
        ("5天后出差4天", vec![second, fifth]),
        ("昨天打车", vec![date(2026, 2, 24)]),
        ("大前天", vec![date(2026, 2, 22)]),
        ("3天前", vec![date(2026, 2, 22)]),
        ("3 days ago", vec![date(2026, 2, 22)]),
        ("前天", vec![date(2026, 2, 23)]),
        ("the day before yesterday", vec![date(2026, 2, 23)]),
        ("3月2日出差十五天", vec![second, date(2026, 3, 16)]),
        ("3月2日出差二十一天", vec![second, date(2026, 3, 22)]),
        ("3月2日出差两天", vec![second, date(2026, 3, 3)]),
        ("10月1日", vec![date(2026, 10, 1)]),
        (
            "12月31日到1月2日",
            vec![date(2026, 12, 31), date(2027, 1, 2)],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(ahead(text), expected, "{text}");
    }
    let back = [
        ("12月31日", date(2025, 12, 31)),
        ("10月1日", date(2025, 10, 1)),
        ("2月25日", today()),
        ("on Friday", date(2026, 2, 20)),
        ("周一", date(2026, 2, 23)),
    ];
    for (text, expected) in back {
        assert_eq!(
            dates(text, today(), DateDirection::Back).dates,
            [expected],
            "{text}"
        );
    }
}

#[test]
fn a_period_in_the_past_ends_after_its_beginning() {
    let period = [date(2026, 2, 20), date(2026, 2, 24)];
    for text in [
        "2月20日到2月24日",
        "from 20 February to 24 February",
        "20-24 February",
    ] {
        let read = dates(text, today(), DateDirection::Back).dates;
        assert_eq!(read, period, "{text}");
    }
    let read = dates("2月24日和2月20日", today(), DateDirection::Back).dates;
    assert_eq!(read, [period[1], period[0]]);
}

#[test]
fn days_of_weeks_are_those_that_everybody_means() {
    let (monday, friday) = (date(2026, 3, 2), date(2026, 3, 6));
    let cases = [
        ("下周一", vec![monday]),
        ("下周一到周五", vec![monday, friday]),
        ("next Monday", vec![monday]),
        ("next Monday to Friday", vec![monday, friday]),
        ("上周五", vec![date(2026, 2, 20)]),
        ("上个星期天", vec![date(2026, 2, 22)]),
        ("last Friday", vec![date(2026, 2, 20)]),
        ("last Wednesday", vec![date(2026, 2, 18)]),
        ("next Wednesday", vec![date(2026, 3, 4)]),
        ("这周五", vec![date(2026, 2, 27)]),
        ("周五", vec![date(2026, 2, 27)]),
        ("Friday", vec![date(2026, 2, 27)]),
        ("Monday", vec![monday]),
        ("下周三天气好", vec![date(2026, 3, 4)]),
        // A date and its weekday are one day.
        ("3月2日（周一）", vec![monday]),
        ("Monday, March 2", vec![monday]),
        ("Monday, March 9", vec![date(2026, 3, 9)]),
    ];
    for (text, expected) in cases {
        assert_eq!(ahead(text), expected, "{text}");
    }
    // The week that is named counts, also where days are usually before or after this one.
    let monday_before = date(2026, 2, 16);
    for (text, expected) in [
        ("next week Monday to Friday", vec![monday, friday]),
        ("next week on Monday", vec![monday]),
        ("Monday of next week", vec![monday]),
        ("Monday next week", vec![monday]),
        ("last week Monday", vec![monday_before]),
        ("Monday of last week", vec![monday_before]),
    ] {
        for toward in [DateDirection::Ahead, DateDirection::Back] {
            assert_eq!(dates(text, today(), toward).dates, expected, "{text}");
        }
    }
}

#[test]
fn days_and_weeks_from_now_are_counted_in_words_too() {
    let today = today();
    for (text, days) in [
        ("two days ago", -2),
        ("in twelve days", 12),
        ("a week ago", -7),
        ("in two weeks", 14),
        ("两周前", -14),
        ("3个星期后", 21),
    ] {
        let day = today.checked_add(days.days()).unwrap();
        assert_eq!(ahead(text), [day], "{text}");
    }
    for text in ["in a week or so of rain, two weeks", "two days", "每两周后"] {
        assert!(ahead(text).len() < 2, "{text}");
    }
}

#[test]
fn slashes_make_a_day_where_one_number_is_no_month() {
    let (first, last) = (date(2026, 12, 14), date(2026, 12, 16));
    for text in [
        "to Munich from 12/14 to 12/16 by train",
        "14/12 - 16/12, Munich",
        "Munich 12/14–12/16",
        "from 14/12/2026 until 16/12/2026",
        "12/14到12/16去慕尼黑",
    ] {
        assert_eq!(ahead(text), [first, last], "{text}");
    }
    assert_eq!(ahead("a meal on 8/8"), [date(2026, 8, 8)]);
}

#[test]
fn a_day_that_can_be_meant_in_two_ways_is_not_read() {
    for text in [
        "周一",
        "周三",
        "Wednesday",
        "next Friday",
        "last Monday",
        "this Monday",
        "下周三天",
        "每周五",
        "一周一次",
        "3月2日（周二）",
        "2月30日",
        "3月2个人",
        "3/4",
        "on 3/4",
        "of 24/7 support",
        "step 2/20",
        "on 31/31",
        "12026-03-02",
        "R 5 to 7 things",
        "以后天天",
        "下个月3个人",
        "下个月",
        "next month 3 people",
        "next month",
        "the 31st of this month",
        "the 6th to the 3rd of next month",
        "from 10 to 8 April",
        "from the 10th until the 8th of April",
        "随后天气",
        "20第3天",
    ] {
        assert_eq!(ahead(text), [], "{text}");
    }
    let second = date(2026, 3, 2);
    for text in [
        "3月2日出差三五天",
        "3月2日，去3天或者4天",
        "3月2日，预算5到7百",
    ] {
        assert_eq!(ahead(text), [second], "{text}");
    }
}

#[test]
fn what_is_no_day_stays_in_the_text() {
    let rest = |text| dates(text, today(), DateDirection::Ahead).rest;
    assert_eq!(rest("3月2日预算1200元").trim(), "预算1200元");
    assert_eq!(
        rest("Visit ACME on March 2 for 3 days"),
        "Visit ACME on   for  "
    );
}
