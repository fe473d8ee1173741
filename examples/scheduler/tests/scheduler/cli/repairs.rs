//! The repairs of a day in a terminal: in words, on cards that show before and after, and taken back
//! by a word.
use fugato_testkit::assert_contains;
use jiff::{ToSpan as _, Zoned, tz::TimeZone};
use scheduler::schedule::{ScheduleState, Slot};

use super::{answers::code, work::Work};
use crate::{
    common::{ALGEBRA, FIRST},
    repairs::cramped,
};

/// The words of a person in a language, and those of a card.
struct Words {
    lang: &'static str,
    missed: &'static str,
    later: &'static str,
    parts: &'static str,
    was: &'static str,
    yes: &'static str,
    no: &'static str,
    undo: &'static str,
}

const WORDS: [Words; 2] = [
    Words {
        lang: "en",
        missed: "I didn't finish that.",
        later: "A later end",
        parts: "in two parts",
        was: "(was ",
        yes: "yes",
        no: "no",
        undo: "undo",
    },
    Words {
        lang: "zh",
        missed: "没做完",
        later: "截止日期延后",
        parts: "分两次完成",
        was: "（原来",
        yes: "好的",
        no: "不要",
        undo: "撤销",
    },
];

/// Returns a calendar whose first item was planned for yesterday; today is full to its end.
async fn begun(work: &Work) -> ScheduleState {
    let today = Zoned::now().with_time_zone(TimeZone::UTC).date();
    let mut week = cramped(today.checked_sub(1.days()).unwrap());
    let mut busy = week.task(ALGEBRA).unwrap().clone();
    (busy.state_id, busy.name, busy.source_id) = (21, "Fair".into(), "event-21".into());
    busy.slots = vec![Slot::new(2, 1, 12)];
    week.tasks.push(busy);
    work.begin_with("default", week).await;
    work.stored("default").await
}

fn say(work: &Work, words: &Words, text: &str) -> String {
    work.ok(&["--lang", words.lang, "say", text])
}

fn answer(work: &Work, words: &Words, answer: &str, card: &str) -> String {
    say(work, words, &format!("{answer} {card}"))
}

fn shows(told: &str) -> String {
    let lines = told.lines().filter(|line| line.starts_with('▌'));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_are_asked_about_in_a_terminal_and_undone_by_a_word() {
    for words in &WORDS {
        let work = Work::new();
        let before = begun(&work).await;
        let asked = say(&work, words, words.missed);
        assert_contains(&asked, [words.later, "Chapter 1"]);
        let other = answer(&work, words, words.no, code(&asked));
        assert_eq!(work.stored("default").await, before);
        let card = shows(&other);
        assert_contains(&card, [words.parts, words.was, "08:00", "21:45"]);
        answer(&work, words, words.yes, code(&other));
        let after = work.stored("default").await;
        let parts = [Slot::new(3, 1, 1), Slot::new(3, 12, 12)];
        assert_eq!(after.task(FIRST).unwrap().slots, parts);
        let back = say(&work, words, words.undo);
        assert_contains(&shows(&back), words.was);
        answer(&work, words, words.yes, code(&back));
        assert_eq!(work.stored("default").await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cards_of_a_later_end_that_are_answered_twice_or_in_another_order_change_nothing() {
    for words in &WORDS {
        let work = Work::new();
        let before = begun(&work).await;
        let first = say(&work, words, words.missed);
        let end = |schedule: &ScheduleState| schedule.task_classes[0].end_date.clone();
        let old = before.window.days[2].date.as_str();
        let new = before.window.days[3].date.as_str();
        assert_contains(&shows(&first), [old, new]);
        // A card that is not there agrees to nothing.
        work.run(&["say", &format!("{} ZZZZ", words.yes)]);
        assert_eq!(work.stored("default").await, before);
        let second = answer(&work, words, words.yes, code(&first));
        let later = work.stored("default").await;
        assert_eq!(end(&later).as_deref(), Some(new));
        assert_eq!(
            later.task(FIRST),
            before.task(FIRST),
            "the move is asked about"
        );
        assert_contains(&shows(&second), [new, words.was]);
        // The first card again is no answer to the second.
        for reply in [words.yes, words.no] {
            work.run(&["say", &format!("{reply} {}", code(&first))]);
            assert_eq!(work.stored("default").await, later);
        }
        answer(&work, words, words.yes, code(&second));
        let after = work.stored("default").await;
        assert_eq!(after.task(FIRST).unwrap().slots, [Slot::new(4, 7, 8)]);
        // Neither counts again once everything is answered.
        for card in [code(&first), code(&second)] {
            work.run(&["say", &format!("{} {card}", words.yes)]);
            assert_eq!(work.stored("default").await, after);
        }
        let mut back = say(&work, words, words.undo);
        while back.contains("--card ") {
            back = answer(&work, words, words.yes, code(&back));
        }
        assert_eq!(work.stored("default").await, before);
    }
}
