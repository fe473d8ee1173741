//! Property tests: the usual notations are read correctly, and no text breaks a reader.
use fugato_text::{
    Amount, DateDirection, Limit, OrderTerms, Recurrence, Time, TimeReference, dates, decimal,
    is_negated, is_question, mentioned, money, money_in, named, near_day, number, number_after,
};
use jiff::{
    ToSpan as _,
    civil::{Date, Weekday, date},
};
use proptest::prelude::*;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Generates random sequences of pieces that people write.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "3月", "2日", "下", "周", "三", "天", "后", "前天", "到", "至", "-", "to ", "next ",
        "last ", "Friday", "march ", "2", "12", "2026", ".", ",", "，", " ", "点", "半", "每",
        "个", "十", "晚上", "pm", "in ", "hours", "¥", "元", "万", "千", "k", "预算", "days", "İ",
        "at ", "$", "order", "#", "’", "不", "n't ", "sell", "named ", "以", "ß", "🙂", "0", "75",
        ":",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn any_day() -> impl Strategy<Value = Date> {
    (0..20_000i64).prop_map(|day| date(2000, 1, 1).checked_add(day.days()).expect("in range"))
}

/// Returns a number below a hundred as it is written in Chinese.
fn chinese(number: i64) -> String {
    let digit = |n: i64| {
        "〇一二三四五六七八九"
            .chars()
            .nth(usize::try_from(n).unwrap_or(0))
    };
    let mut text = String::new();
    let (tens, ones) = (number / 10, number % 10);
    text.extend(if tens > 1 { digit(tens) } else { None });
    text.extend((tens > 0).then_some('十'));
    text.extend(if ones > 0 || tens == 0 {
        digit(ones)
    } else {
        None
    });
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_is_written_every_reader_ends(text in pieces(), today in any_day()) {
        for toward in [DateDirection::Ahead, DateDirection::Back] {
            let found = dates(&text, today, toward);
            // The rest contains only characters of the text.
            prop_assert!(found.rest.chars().filter(|c| *c != ' ').all(|c| text.contains(c)));
        }
        if let Some(TimeReference::Once(_, time) | TimeReference::Again(_, time)) = TimeReference::of(&text) {
            prop_assert!((0..24).contains(&time.hour) && (0..60).contains(&time.minute));
        }
        prop_assert!(money_in(&text, &["预算"]).is_none_or(|hundredths| hundredths > 0));
        for limit in [Limit::Most, Limit::Least] {
            let OrderTerms { quantity, price, is_unclear, .. } = OrderTerms::of(&text, limit);
            prop_assert!(!is_unclear || (quantity, price) == (None, None));
        }
        prop_assert!(number_after(&text, &["order", "#"]).is_none_or(|number| number >= 0));
        prop_assert!(named(&text).is_none_or(|name| text.contains(&name)));
        prop_assert!(mentioned(&text, ["sell", "order"]).is_none_or(|name| text.contains(name)));
        prop_assert!(!is_negated(&text, &["sell"]) || text.contains("sell"));
        prop_assert!(!is_question(&text) || !text.is_empty());
    }

    #[test]
    fn an_exact_amount_is_read_as_it_is_written(millionths in 0..i64::MAX / 10) {
        let amount = Amount::from_millionths(millionths);
        let written = amount.to_string();
        prop_assert_eq!(written.parse(), Ok(amount));
        let json = serde_json::to_string(&amount).expect("a text");
        prop_assert_eq!(&json, &format!("{written:?}"));
        prop_assert_eq!(serde_json::from_str::<Amount>(&json).ok(), Some(amount));
    }

    #[test]
    fn an_order_is_read_as_it_is_written(quantity in 1..9_999_999i64, price in 1..999_999i64) {
        let (quantity, price) = (Amount::from_millionths(quantity), Amount::from_millionths(price * 1_000_000));
        let expected = OrderTerms { quantity: Some(quantity), price: Some(price), ..OrderTerms::default() };
        for text in [
            format!("sell {quantity} BTC at {price}"),
            format!("at {price} USDT, sell {quantity} BTC"),
            format!("以 {price} 卖 {quantity} BTC"),
            format!("卖 {quantity} 个，价格：{price}"),
        ] {
            prop_assert_eq!(OrderTerms::of(&text, Limit::Least), expected, "{}", text);
        }
        let text = format!("sell {quantity} BTC below {price}");
        prop_assert!(OrderTerms::of(&text, Limit::Least).is_unclear, "{}", text);
    }

    #[test]
    fn a_date_is_read_as_it_is_written(day in any_day(), today in any_day()) {
        let (year, month, number) = (day.year(), day.month(), day.day());
        let name = MONTHS[usize::try_from(month - 1).unwrap_or_default()];
        for text in [
            format!("on {day} by train"),
            format!("于{year}年{month}月{number}日出发"),
            format!("{year}/{month}/{number}"),
            format!("on {name} {number}, {year}, by train"),
            format!("the {number} {name} {year}"),
        ] {
            let read = dates(&text, today, DateDirection::Ahead).dates;
            prop_assert_eq!(read, [day], "{}", text);
        }
    }

    #[test]
    fn a_day_without_a_year_lies_in_its_direction(day in any_day(), today in any_day()) {
        let name = MONTHS[usize::try_from(day.month() - 1).unwrap_or_default()];
        let texts = [
            format!("{}月{}日", day.month(), day.day()),
            format!("{}月{}号", chinese(day.month().into()), chinese(day.day().into())),
            format!("{} {}", &name[..3], day.day()),
        ];
        for text in texts {
            for (toward, lies) in [(DateDirection::Ahead, Date::ge as fn(&_, &_) -> _), (DateDirection::Back, Date::le)] {
                let read = dates(&text, today, toward).dates;
                // The 29th of February is not in every year.
                prop_assert!(read.len() == 1 || (day.month(), day.day()) == (2, 29), "{}", text);
                for read in read {
                    prop_assert!(lies(&read, &today) && read.month() == day.month() && read.day() == day.day());
                }
            }
        }
    }

    #[test]
    fn a_trip_ends_when_it_is_said_to(today in any_day(), lasts in 1..60i64) {
        let start = today.checked_add(3.days()).expect("in range");
        let end = start.checked_add((lasts - 1).days()).expect("in range");
        for text in [
            format!("{start}出差{lasts}天"),
            format!("{start}出差{}天", chinese(lasts)),
            format!("{start} for {lasts} days"),
            format!("3天后，{lasts}天"),
            format!("{start}到{end}"),
        ] {
            prop_assert_eq!(dates(&text, today, DateDirection::Ahead).dates, [start, end], "{}", text);
        }
    }

    #[test]
    fn the_name_of_a_day_is_that_day_or_is_asked_for(today in any_day(), ahead in -13..14i64) {
        let day = today.checked_add(ahead.days()).expect("in range");
        let name = format!("{:?}", day.weekday());
        for toward in [DateDirection::Ahead, DateDirection::Back] {
            for text in [name.clone(), format!("next {name}"), format!("last {name}")] {
                for read in dates(&text, today, toward).dates {
                    prop_assert_eq!(read.weekday(), day.weekday());
                    prop_assert_ne!(read, today);
                    let far = (read - today).get_days().abs();
                    prop_assert!(far <= 7, "{} is {} on {}", text, read, today);
                }
            }
        }
    }

    #[test]
    fn an_amount_is_read_as_it_is_written(hundredths in 1..1_000_000_000i64) {
        let (whole, part) = (hundredths / 100, hundredths % 100);
        let mut grouped = whole.to_string();
        let mut at = grouped.len();
        while at > 3 {
            at -= 3;
            grouped.insert(at, ',');
        }
        for text in [format!("{whole}.{part:02}"), format!("¥{grouped}.{part:02}"), format!("{whole}.{part:02}元")] {
            prop_assert_eq!(money(&text), Some(hundredths), "{}", text);
            let said = format!("3月2日坐火车，预算{text}，拜访客户");
            prop_assert_eq!(money_in(&said, &["预算"]), Some(hundredths), "{}", said);
        }
        prop_assert_eq!(decimal(&format!("{whole}.{part:02}"), 2), Some(hundredths));
        // With a decimal comma it would be another amount.
        prop_assert_eq!(money(&format!("{whole},{part:02}")), None);
        prop_assert_eq!(money(&format!("-{whole}")), None);
    }

    #[test]
    fn a_number_is_read_in_both_scripts(value in 0..100i64) {
        for text in [format!("{}天", chinese(value)), format!("{value}天")] {
            prop_assert_eq!(number(&text), Some((value, "天")));
        }
    }

    #[test]
    fn a_time_is_read_as_it_is_written(hour in 0..24i8, minute in 0..60i8) {
        let time = Time::new(hour, minute);
        prop_assert_eq!(TimeReference::of(&format!("{hour}:{minute:02}提醒我")), Some(TimeReference::Once(None, time)));
        let half = if hour < 12 { "am" } else { "pm" };
        let clock = (hour + 11) % 12 + 1;
        let text = format!("remind me tomorrow at {clock}:{minute:02} {half}");
        prop_assert_eq!(TimeReference::of(&text), Some(TimeReference::Once(Some(1), time)), "{}", text);
        let text = format!("每天{}点{}分提醒我", chinese(hour.into()), chinese(minute.into()));
        prop_assert_eq!(TimeReference::of(&text), Some(TimeReference::Again(Recurrence::Daily, time)), "{}", text);
    }

    #[test]
    fn a_wait_is_read_as_it_is_written(hours in 1..99i64, minutes in 1..99i64) {
        let both = Some(TimeReference::In(hours * 3600 + minutes * 60));
        prop_assert_eq!(TimeReference::of(&format!("{hours}小时{minutes}分钟后提醒我")), both.clone());
        prop_assert_eq!(TimeReference::of(&format!("{}个小时{}分钟后", chinese(hours), chinese(minutes))), both);
        prop_assert_eq!(TimeReference::of(&format!("remind me in {minutes} minutes")), Some(TimeReference::In(minutes * 60)));
    }
}

#[test]
fn a_time_that_is_understood_only_in_part_is_not_read() {
    for text in [
        "提醒我",
        "25点提醒我",
        "8:75提醒我",
        "in 2 hours and 10",
        "1.5小时后提醒我",
        "3天后8点提醒我",
        "每两周周一8点提醒我",
        "每周五到周一8点提醒我",
        "下周三8点提醒我",
        "on sat at 9:00",
        "on mon at 9:00",
        "晚上2点提醒我",
        "8点和20点提醒我",
        "every day except sunday at 9:00",
        "on december 25 at 9:00",
        "10 minutes before 9:00",
    ] {
        assert_eq!(TimeReference::of(text), None, "{text}");
    }
    let weekend = vec![Weekday::Saturday, Weekday::Sunday];
    let nine = Time::new(9, 0);
    let expected = Some(TimeReference::Again(Recurrence::Weekdays(weekend), nine));
    for text in [
        "每个周末9点提醒我",
        "every sunday and saturday at 9:00",
        "every weekend at 9:00",
    ] {
        assert_eq!(TimeReference::of(text), expected, "{text}");
    }
    assert_eq!(
        TimeReference::of("昨天说的事，9:00"),
        Some(TimeReference::Once(Some(-1), nine))
    );
    assert_eq!(near_day("todays"), None);
}
