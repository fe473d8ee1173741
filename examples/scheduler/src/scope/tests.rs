use super::*;
use crate::schedule::WriteRefusal;

/// Returns a window from Monday, 14 September 2026, on.
fn window(days: u16) -> Window {
    Window::starting(jiff::civil::date(2026, 9, 14), days)
}

/// Reads a scope in a window of three weeks from a Monday on; today is Wednesday of the first week.
fn days(text: &str) -> Option<Vec<u16>> {
    day_scope(text, &window(21), 3).map(|scope| scope.days.into_iter().collect())
}

#[test]
fn sch_51_ranges_of_days_in_chinese() {
    for (text, expected) in [
        ("安排第3天的任务", vec![3]),
        ("调整第三天到第五天", vec![3, 4, 5]),
        ("查看第3-5天", vec![3, 4, 5]),
        ("第十二天放复习", vec![12]),
        ("把复习排在第2周", (8..=14).collect()),
        ("第二周的周末", vec![13, 14]),
        ("帮我安排下周的复习", (8..=14).collect()),
        ("下周三复习", vec![10]),
        ("第1到2周的周一", vec![1, 8]),
        ("第二周到第三周周末", vec![13, 14, 20, 21]),
        ("下周三和下周五复习", vec![10, 12]),
        ("下下周一", vec![15]),
        ("周三", vec![3, 10, 17]),
        (
            "星期日休息",
            vec![
                1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20,
            ],
        ),
        ("本周的工作日", vec![1, 2, 3, 4, 5]),
        ("周一到周三", vec![1, 2, 3, 8, 9, 10, 15, 16, 17]),
        ("下周一至五", vec![8, 9, 10, 11, 12]),
        (
            "周末不学习",
            vec![1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19],
        ),
        ("下周复习，周三不排", vec![8, 9, 11, 12, 13, 14]),
        ("今天和明天", vec![3, 4]),
        ("后天", vec![5]),
    ] {
        assert_eq!(days(text), Some(expected), "{text}");
    }
}

#[test]
fn sch_51_ranges_of_days_in_english() {
    for (text, expected) in [
        ("Look at day 3", vec![3]),
        (
            "look at what is scheduled from day 3 to day 5",
            vec![3, 4, 5],
        ),
        ("Fill days 3-5 first", vec![3, 4, 5]),
        ("Use week 2", (8..=14).collect()),
        ("weekends of weeks 2-3", vec![13, 14, 20, 21]),
        ("week 9, week 2 and Monday", vec![8]),
        ("Arrange next week's revision", (8..=14).collect()),
        ("on Wednesday of next week", vec![10]),
        ("next Wednesday", vec![10]),
        ("next week on weekdays", vec![8, 9, 10, 11, 12]),
        ("next week, but only at the weekend", vec![13, 14]),
        ("Fridays", vec![5, 12, 19]),
        ("Mon to Wed of week 3", vec![15, 16, 17]),
        ("The day after tomorrow", vec![5]),
        ("today", vec![3]),
        ("next week, but not on Friday", vec![8, 9, 10, 11, 13, 14]),
        (
            "Keep Sundays free",
            vec![
                1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20,
            ],
        ),
    ] {
        assert_eq!(days(text), Some(expected), "{text}");
    }
}

#[test]
fn sch_51_a_text_without_days_limits_nothing() {
    for text in [
        "一周一次复习",
        "找3天的空闲",
        "place the tasks",
        "in 3 months",
        "a common sundae",
        "",
    ] {
        assert_eq!(days(text), None, "{text}");
    }
}

#[test]
fn sch_51_days_outside_the_window_leave_no_day() {
    assert_eq!(days("第30天"), Some(vec![]));
    assert_eq!(days("week 9"), Some(vec![]));
    assert_eq!(days("Monday of week 9"), Some(vec![]));
    let scope = day_scope("day 30", &window(21), 3).unwrap();
    assert_eq!(
        scope.check_target(3),
        Err(WriteRefusal::OutsideScope {
            day: 3,
            allowed: vec![]
        })
    );
}

#[test]
fn sch_51_where_something_goes_limits_only_where_things_go() {
    let read = |text| day_scope(text, &window(21), 3).unwrap();
    assert!(read("把复习移到周五").targets_only);
    assert!(read("move the review to Friday").targets_only);
    assert!(!read("move the review from Monday to day 9").targets_only);
    assert!(!read("把周一的复习移到周五").targets_only);
    let scope = read("move the review to day 5");
    assert_eq!(
        (scope.check_source(1), scope.check_target(5)),
        (Ok(()), Ok(()))
    );
    assert!(scope.check_target(1).is_err());
}

#[test]
fn sch_51_weeks_count_from_a_today_outside_the_window() {
    let before = day_scope("下周", &window(21), 0).unwrap();
    assert_eq!(before.days, (1..=7).collect());
    let long_before = day_scope("next week", &window(21), -10).unwrap();
    assert_eq!(long_before.days, BTreeSet::new());
}
