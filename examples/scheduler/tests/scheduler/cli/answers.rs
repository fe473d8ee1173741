//! Cards without a terminal.
use super::work::Work;
use fugato_testkit::{assert_contains, assert_lacks};

/// Returns the code of the card from the program's hint for answering it.
pub(crate) fn code(told: &str) -> &str {
    let (_, after) = told.rsplit_once("--card ").expect("a card waits");
    after.get(..4).expect("a code has four signs")
}

#[test]
fn without_a_terminal_a_card_parks_and_says_how_to_answer() {
    let work = Work::new();
    let parked = work.ok(&[]);
    assert!(parked.contains("Shall I keep this schedule?"), "{parked}");
    assert_contains(&parked, r#"scheduler --answer '{"action": "approve"}'"#);
    assert!(!work.path("scheduler-data/default/schedule.ics").exists());
    // Asked again, it is the same card.
    let again = work.ok(&[]);
    assert!(again.contains("Shall I keep this schedule?"), "{again}");
    // An answer that does not name its card agrees to none.
    let unnamed = work.err(&["--answer", r#"{"action": "approve"}"#]);
    assert!(unnamed.contains(code(&parked)), "{unnamed}");
    let named = [
        "--answer",
        r#"{"action": "approve"}"#,
        "--card",
        code(&parked),
    ];
    let done = work.ok(&named);
    assert!(done.contains("written: "), "{done}");
    assert_eq!(work.events(), 21);
    // No card is open any more; the program says so, and nothing happens.
    let unused = work.ok(&["--answer", r#"{"action": "approve"}"#]);
    assert!(unused.contains("--answer was not used"), "{unused}");
}

#[test]
fn the_hint_names_the_same_folder_and_conversation() {
    let work = Work::new();
    let parked = work.ok(&["--dir", "my data", "--thread", "spring"]);
    assert_contains(
        &parked,
        "scheduler --dir 'my data' --thread 'spring' --answer",
    );
}

#[test]
fn a_rejected_draft_is_not_kept_and_can_be_taken_up() {
    let work = Work::new();
    let parked = work.ok(&[]);
    let rejected = work.ok(&[
        "--answer",
        r#"{"action": "reject", "text": "not on Fridays"}"#,
        "--card",
        code(&parked),
    ]);
    assert!(rejected.contains("This is a draft"), "{rejected}");
    assert!(!work.path("scheduler-data/default/schedule.ics").exists());
    let history = work.ok(&["history"]);
    assert!(history.contains("not on Fridays"), "{history}");
    let kept = work.ok(&["--yes", "--request", "rearrange everything"]);
    assert!(kept.contains("written: "), "{kept}");
}

#[test]
fn a_bad_answer_is_refused_before_anything_begins() {
    let work = Work::new();
    for bad in ["yes", "{}", r#"{"action": "maybe"}"#, r#"{"reply": "yes"}"#] {
        let error = work.err(&["--answer", bad]);
        assert_contains(&error, ["--answer", "allowed are"]);
    }
    assert!(!work.path("scheduler-data").exists());
    let both = work.err(&["--yes", "--answer", "{}"]);
    assert!(both.contains("exclude each other"), "{both}");
}

#[test]
fn a_request_waits_until_the_card_is_answered() {
    let work = Work::new();
    work.ok(&[]);
    let error = work.err(&["--request", "rearrange everything"]);
    assert!(error.contains("waits for an answer"), "{error}");
}

#[test]
fn chat_without_a_terminal_reads_lines() {
    let work = Work::new();
    let lines = "hello\nmake a note: milk\nplan my week\nyes\n";
    let piped = work.typed(&["chat"], lines);
    // An answer from a pipe was not typed under the card, and has to name it by its code.
    assert!(!piped.contains("Done."), "{piped}");
    let asked = work.ok(&["say", "yes"]);
    let more = work.typed(&["chat"], &format!("yes {}\n", code(&asked)));
    let said = piped + &more;
    assert_contains(
        &said,
        [
            "Hello! I place what you want to do",
            "Noted: milk",
            "21 items placed",
            "Done.",
            "go on with: scheduler chat",
        ],
    );
}

#[test]
fn the_weeks_and_every_place_are_shown_before_the_card_asks() {
    for (lang, week, card, item) in [
        ("en", "Week 2", "Shall I keep this schedule?", "Middlemarch"),
        ("zh", "第 2 周", "保存这份日程吗？", "极限"),
    ] {
        let work = Work::new();
        let parked = work.ok(&["--lang", lang]);
        let (before, card) = parked.split_once(card).expect("a card");
        assert_contains(before, [week, item]);
        // The card itself names each item with its day, and the rule of its class.
        let dated = card
            .lines()
            .filter(|line| line.starts_with("▌   ") && line.contains(" 20"));
        assert_eq!(dated.count(), 21, "{card}");
    }
}

#[test]
fn questions_under_a_card_are_answered_and_it_stays_open() {
    let work = Work::new();
    let parked = work.ok(&[]);
    for asked in [
        "show me the schedule first",
        "why?",
        "what would you put on monday?",
        "maybe",
        "先给我看看日程",
        "也许吧",
    ] {
        let told = work.ok(&["say", asked]);
        assert_contains(
            &told,
            ["Week 2", "Shall I keep this schedule?", code(&parked)],
        );
        assert_lacks(&told, "I had to stop");
        let lines = work.typed(&["chat"], &format!("{asked}\n"));
        let stays = if asked.is_ascii() {
            "The card stays open"
        } else {
            "卡片仍在等待"
        };
        assert_contains(&lines, ["Week 2", stays, code(&parked)]);
    }
    let history = work.ok(&["history", "--full"]);
    assert_lacks(&history, "answered");
    // A clear no rejects, and its reason is kept.
    let why = format!("no {}, not on Friday", code(&parked));
    let rejected = work.ok(&["say", &why]);
    assert_lacks(&rejected, "stays open");
    assert_contains(&work.ok(&["history"]), "not on Friday");
}

#[test]
fn agreeing_in_words_writes_the_files_and_says_so() {
    let work = Work::new();
    let card = code(&work.ok(&[])).to_owned();
    let done = work.ok(&["say", &format!("yes {card}")]);
    assert_contains(&done, ["written: ", "schedule.ics", "schedule.svg"]);
    assert_eq!(work.events(), 21);
    let chat = Work::new();
    let card = code(&chat.ok(&[])).to_owned();
    let done = chat.typed(&["chat"], &format!("好的 {card}\nhello\n"));
    assert_eq!(done.matches("schedule.svg").count(), 1, "{done}");
    assert_eq!(chat.events(), 21);
    let json = Work::new();
    let card = code(&json.ok(&[])).to_owned();
    json.ok(&[
        "say",
        "--answer",
        r#"{"action": "approve"}"#,
        "--card",
        &card,
    ]);
    assert_eq!(json.events(), 21);
}

#[test]
fn sch_51_weekends_off_are_no_course_that_is_named_after_them() {
    let work = Work::new();
    let asked = work.ok(&["--lang", "zh", "say", "周末不学习"]);
    assert_contains(&asked, ["要这样做吗", "以后：周末"]);
    assert_lacks(&asked, "周末回家");
    // With another wish beside it, both hold.
    for (words, prefers, weekend) in [
        (
            "周末不学习，把任务都排一下",
            "以后：周末",
            ["安排到周六", "安排到周日"],
        ),
        (
            "weekends off, and place everything",
            "From now on: weekends",
            ["goes to Sat", "goes to Sun"],
        ),
    ] {
        let asked = Work::new().ok(&["say", "--yes", words]);
        let placed = ["安排到周", "goes to "].map(|it| asked.matches(it).count());
        assert!(placed.iter().sum::<usize>() > 10, "{asked}");
        assert_contains(&asked, prefers);
        assert_lacks(&asked, weekend);
    }
}

/// A program whose sample is placed.
fn placed() -> Work {
    let work = Work::new();
    work.ok(&["--yes"]);
    work
}

#[test]
fn sch_51_days_that_are_named_without_a_word_between_them_are_all_read() {
    for words in ["周四周五都不行", "周四周五空出来", "周四和周五不行"] {
        let asked = placed().ok(&["--lang", "zh", "say", words]);
        assert_contains(&asked, ["周四", "周五", "要这样做吗"]);
        assert_lacks(&asked, "没有看懂");
    }
    for words in [
        "leave out Tuesdays from now on",
        "can we leave out Tuesdays from now on?",
    ] {
        let asked = Work::new().ok(&["say", words]);
        assert_contains(&asked, ["I keep Tue ", "free for later requests too"]);
    }
}

#[test]
fn sch_51_what_is_still_to_be_done_is_not_marked_as_done() {
    let work = placed();
    for words in [
        "I will finish Elimination tomorrow",
        "I still have to finish Elimination",
        "Elimination should be done on Tuesday",
        "help me finish Elimination on time",
    ] {
        assert_contains(&work.ok(&["say", words]), "still to be done");
    }
    for words in [
        "我明天会做完Elimination",
        "打算今天把Elimination做完",
        "我得先把Elimination做完",
    ] {
        assert_contains(&work.ok(&["say", words]), "还没有做完");
    }
    for words in [
        "I finished Elimination",
        "I want Elimination marked as done",
    ] {
        assert_contains(&placed().ok(&["say", words]), "marked as done");
    }
}

#[test]
fn sch_51_who_is_free_keeps_nothing_free() {
    for (words, kept) in [
        ("I'm free on Sunday so put something there", "I keep"),
        ("I'm free all weekend", "I keep"),
        ("我周末都有空", "除非没有别的位置"),
        ("I might be ill tomorrow", "goes to"),
        ("上周四我生病了", "也会空出"),
        // What is there stays where nothing more is wanted.
        ("don't add anything else this week", "goes to"),
        ("这周别再给我加东西了", "安排到"),
    ] {
        assert_lacks(&placed().ok(&["say", words]), kept);
    }
}

#[test]
fn sch_51_what_is_too_early_goes_to_a_later_time() {
    for (words, later) in [
        ("Elimination太早了，晚一点", true),
        ("Elimination太晚了，早一点", false),
    ] {
        let asked = placed().ok(&["say", words]);
        let at = |lead| {
            let (_, rest) = asked.split_once(lead).expect("it moves");
            let digits = rest.chars().skip_while(|c| !c.is_ascii_digit());
            digits.take("2026-12-10 15:00".len()).collect::<String>()
        };
        assert_eq!(at("安排到") > at("原来"), later, "{asked}");
    }
}

#[test]
fn sch_51_a_wrong_day_and_a_repetition_are_remarked_on() {
    // It never lies on a Sunday, and on one of the days where it is to go at most.
    for (words, days, told) in [
        (
            "move Elimination from Sunday to next ",
            ["Friday", "Tuesday"],
            "does not lie where you say",
        ),
        (
            "把Elimination从周日移到下",
            ["周五", "周二"],
            "不在你说的那里",
        ),
        (
            "Elimination every ",
            ["Friday", "Tuesday"],
            "is not repeated",
        ),
    ] {
        let asked = days.map(|day| placed().ok(&["say", &format!("{words}{day}")]));
        assert_contains(&asked.concat(), told);
    }
}

#[test]
fn sch_51_reminders_ring_at_the_hour_that_is_told_in_words() {
    for (words, due) in [
        ("remind me to call mum tomorrow at six", "18:00"),
        (
            "remind me on Thursday at half past three to bring goggles",
            "15:30",
        ),
        (
            "remind me to buy two tickets on Wednesday at quarter past ten",
            "10:15",
        ),
    ] {
        assert_contains(&Work::new().ok(&["say", words]), due);
    }
}

#[test]
fn sch_51_what_is_shifted_is_no_course_with_that_name() {
    let work = Work::new();
    work.ok(&["--yes"]);
    let fixed = "“Shift at the library” is a fixed course";
    for words in [
        "shift everything on Friday to Saturday",
        "please shift the essay",
    ] {
        assert_lacks(&work.ok(&["say", words]), fixed);
    }
    assert_contains(&work.ok(&["say", "move the shift to Friday"]), fixed);
}

#[test]
fn sch_31_another_rough_build_of_a_whole_schedule_shows_what_it_moves() {
    let work = Work::new();
    work.ok(&["--yes", "--lang", "zh"]);
    let moved = work.ok(&["say", "重新粗排"]);
    assert_contains(&moved, ["要这样做吗", "（原来"]);
    assert_lacks(&moved, ["[ ]", "已安排 0 项"]);
}

#[test]
fn a_span_of_days_is_kept_free_once_its_card_is_agreed_to() {
    for (lang, away, no, yes, notes, none, days) in [
        (
            "en",
            "I'm away from Tuesday to Thursday",
            "no",
            "yes",
            "which notes have I?",
            "There are no notes",
            ["Tue ", "Wed ", "Thu "],
        ),
        (
            "zh",
            "下周一到下周三我不在",
            "不要",
            "好的",
            "有哪些备忘",
            "没有备忘",
            ["周一", "周二", "周三"],
        ),
    ] {
        let work = Work::new();
        work.ok(&["--yes", "--lang", lang]);
        let asked = work.ok(&["say", away]);
        work.ok(&["say", &format!("{no} {}", code(&asked))]);
        // A card that is refused keeps nothing free.
        let kept = work.ok(&["say", notes]);
        assert_contains(&kept, none);
        assert_lacks(&kept, days);
        let asked = work.ok(&["say", away]);
        work.ok(&["say", &format!("{yes} {}", code(&asked))]);
        assert_contains(&work.ok(&["say", notes]), days);
    }
}

#[test]
fn an_exception_is_left_where_it_is_and_every_evening_can_be_kept_free() {
    let work = Work::new();
    work.ok(&["--yes"]);
    let placed = work.ok(&["say", "what did you change today?"]);
    assert_contains(&placed, ["My last change", "Limits of sequences"]);
    for (words, kept) in [
        ("I'm away from Monday to Thursday, except Tuesday", "Tue "),
        ("除了周二，下周都空出来", "周二"),
    ] {
        let asked = work.ok(&["say", words]);
        let told = asked
            .lines()
            .find(|line| line.contains("If you agree") || line.contains("如果你同意"));
        assert_lacks(told.expect("days that are kept free"), kept);
        work.ok(&["say", &format!("no {}", code(&asked))]);
    }
    let refused = work.ok(&["say", "actually no, put it back on Thursday"]);
    assert_contains(&refused, "nothing was changed");
    let asked = work.ok(&["say", "nothing on weekdays except Limits of sequences"]);
    assert_contains(&asked, "Functional groups");
    assert_lacks(&asked, "“Limits of sequences” goes to");
    work.ok(&["say", &format!("no {}", code(&asked))]);
    let late = work.ok(&["say", "nothing after 8 pm please"]);
    assert_contains(&late, "every day 20:00");
    assert_lacks(&late, "Nothing was changed");
    for words in [
        "remind me to drink water every day at 10:00",
        "每天十点提醒我喝水",
        "don't move anything on Monday",
    ] {
        let told = work.ok(&["say", words]);
        assert_lacks(&told, ["Reminder:", "提醒：", "I keep", "--card"]);
    }
    for (words, due) in [
        ("remind me tomorrow at 8 to take my keys", " 08:00"),
        ("remind me tomorrow at 6:30 to get up", " 06:30"),
        ("remind me tomorrow at 5 to call Eve", " 17:00"),
    ] {
        assert_contains(&work.ok(&["say", words]), due);
    }
    // "Undo" after a reminder takes that one back, and nothing of the plan.
    work.ok(&["say", "remind me tomorrow at 9 to water the plants"]);
    let undone = work.ok(&["say", "undo"]);
    assert_contains(&undone, "It is removed");
    let left = work.ok(&["say", "which reminders have I"]);
    assert_contains(&left, "take my keys");
    assert_lacks(&left, "water the plants");
    assert_contains(
        &work.ok(&["say", "delete all my reminders"]),
        "All 3 are removed",
    );
    let both = work.ok(&[
        "say",
        "I can't work tomorrow evening or on the day after tomorrow in the morning",
    ]);
    assert_lacks(&both, "18:00–20:50, ");
}

#[test]
fn what_is_not_needed_is_not_kept() {
    let work = Work::new();
    work.ok(&["--yes"]);
    for words in [
        "I don't need Monday free",
        "there is no need to keep Tuesday evening free",
        "用不着把周二晚上空出来",
        "没必要把周三空出来",
    ] {
        let told = work.ok(&["say", words]);
        assert_lacks(&told, ["I keep", "也会空出"]);
    }
    let told = work.ok(&[
        "say",
        "I wonder whether you remind me tomorrow at 9 to call mum",
    ]);
    assert_lacks(&told, "morrow to");
}

#[test]
fn a_reminder_that_is_two_or_that_repeats_is_not_kept_by_half() {
    let work = Work::new();
    work.ok(&["--yes"]);
    work.ok(&["say", "remind me tomorrow at 9 to water the plants"]);
    for (words, quoted) in [
        (
            "remind me tomorrow at noon to eat and on Monday at 8 to run",
            "“on Monday at 8 to run”",
        ),
        (
            "明天中午提醒我吃药，周一八点提醒我跑步",
            "“周一八点提醒我跑步”",
        ),
        (
            "don't remind me on Friday, remind me on Thursday at 5 to call Bob",
            "“remind me on Thursday at 5 to call Bob”",
        ),
        (
            "remind me on Monday and Tuesday at 8 to run",
            "“Tuesday at 8 to run”",
        ),
        (
            "remind me to drink water every day at 10",
            "again and again",
        ),
        ("remind me every Monday at 8 to run", "again and again"),
        ("每周一八点提醒我跑步", "反复提醒"),
    ] {
        let told = work.ok(&["say", words]);
        assert_contains(&told, quoted);
        assert_lacks(&told, ["Reminder:", "提醒：", "are removed"]);
    }
    let left = work.ok(&["say", "which reminders have I"]);
    assert_contains(&left, "water the plants");
    for (words, what) in [
        (
            "remind me tomorrow at 9 to buy milk and bread",
            "Reminder: buy milk and bread,",
        ),
        ("明天九点提醒我买牛奶和面包", "提醒：买牛奶和面包，"),
        (
            "remind me tomorrow at 9 to prepare for Monday's exam",
            "Reminder: prepare for",
        ),
    ] {
        assert_contains(&work.ok(&["say", words]), what);
    }
    // "Till" names a period as "to" does, and a part of a day alone is excepted.
    let asked = work.ok(&[
        "say",
        "nothing from Monday till Wednesday except Tuesday morning",
    ]);
    assert_contains(&asked, ["Mon ", "Wed ", "12:00–20:50 free for later"]);
    if asked.contains("--card") {
        work.ok(&["say", &format!("no {}", code(&asked))]);
    }
    let asked = work.ok(&["say", "mark Middlemarch, book 1 as done"]);
    work.ok(&["say", &format!("yes {}", code(&asked))]);
    let asked = work.ok(&["say", "actually no, I didn't finish it"]);
    assert_contains(&asked, "“Middlemarch, book 1”: marked as not done");
    work.ok(&["say", &format!("yes {}", code(&asked))]);
    assert_contains(&work.ok(&["say", "what can't you do?"]), "plain sentences");
    assert_contains(&work.ok(&["say", "哪些时间要空着"]), "没有要空着的时间");
}

#[test]
fn wishes_about_all_of_a_week_are_read_and_questions_ask_for_nothing() {
    let work = Work::new();
    work.ok(&["--yes"]);
    // Something of the sample lies there or not, and the next day is free or not, by the day on
    // which this runs.
    let refuse = |asked: &str| {
        if asked.contains("--card") {
            work.ok(&["say", &format!("no {}", code(asked))]);
        }
    };
    for (words, kept) in [
        ("I only have time in the mornings this week", "12:"),
        ("I have a dentist appointment on Tuesday at 3pm", "15:00"),
        ("I'm ill on Tuesday, clear the day", "Tue "),
    ] {
        let asked = work.ok(&["say", words]);
        assert_contains(&asked, "free for later requests too");
        assert_contains(&asked, kept);
        refuse(&asked);
    }
    for words in [
        "push Middlemarch, book 2 back by 1 day",
        "push everything back by one day",
    ] {
        let pushed = work.ok(&["say", words]);
        let is_taken = pushed.contains("There is no free place for");
        assert_contains(&pushed, if is_taken { "is taken by" } else { "goes to" });
        refuse(&pushed);
    }
    for (words, told) in [
        ("what is due first?", "at the latest"),
        ("哪个最急？", "最晚"),
        ("下周三之前能写完Functional groups吗", "Functional groups"),
    ] {
        let answered = work.ok(&["say", words]);
        assert_contains(&answered, told);
        assert_lacks(&answered, "--card");
    }
}

#[test]
fn a_wish_that_comes_with_the_no_to_a_card_is_taken_up_or_named() {
    let work = Work::new();
    work.ok(&["--yes"]);
    let due = "the deadline of the Statistics project is on Friday";
    for (request, reason, told) in [
        (due, "rather on Saturday", "--card"),
        (
            "mark Middlemarch, book 1 as done",
            "mark book 2 as done",
            "book 2”: marked",
        ),
        (
            "mark Middlemarch, book 1 as done",
            "book 2",
            "book 2”: marked",
        ),
        (
            "mark Middlemarch, book 1 as done",
            "not on Friday",
            "took only the no",
        ),
    ] {
        let asked = work.ok(&["say", request]);
        let answered = work.ok(&["say", &format!("no {}, {reason}", code(&asked))]);
        assert_contains(&answered, told);
        if answered.contains("--card") {
            work.ok(&["say", &format!("no {}", code(&answered))]);
        }
    }
    // Of several changes the first card says that there are more.
    let asked = work.ok(&["say", "mark book 1 as done and drop book 4"]);
    assert_contains(&asked, "These are 2 changes");
}

#[test]
fn sch_51_a_question_under_a_card_is_answered_with_and_without_it() {
    for (lang, wish, questions, told) in [
        (
            "en",
            "unschedule Elimination",
            ["when is Elimination?", "why?"],
            ["Now: ", "If you agree: ", "“Elimination”", "no place yet"],
        ),
        (
            "zh",
            "取消Elimination的安排",
            ["Elimination是什么时候？", "为什么？"],
            ["现在：", "如果你同意：", "《Elimination》", "还没有安排"],
        ),
    ] {
        let work = placed();
        let asked = work.ok(&["--lang", lang, "say", wish]);
        for question in questions {
            let answered = work.ok(&["say", question]);
            assert_contains(&answered, told);
            assert_contains(&answered, code(&asked));
            assert_lacks(&answered, ["did not understand", "没有看懂"]);
        }
        // A wish for the same item waits for the answer, and is not refused for what was agreed to.
        let second = work.ok(&["say", wish]);
        assert_lacks(&second, ["agreed to before", "之前确认过"]);
        assert_contains(&second, code(&asked));
    }
}

#[test]
fn sch_51_a_yes_with_a_change_asks_about_the_changed_wish() {
    for (lang, wish, amended, days, open) in [
        (
            "en",
            "the deadline of the Literature reading is on Friday of week 4",
            "yes, but on Saturday of week 4",
            "Literature reading” has to be finished on ",
            "yes, but only if it does not rain",
        ),
        (
            "zh",
            "Literature reading的截止日期是第4周周五",
            "好的，但是第4周周六",
            "《Literature reading》最晚 ",
            "好的，但是不下雨才行",
        ),
    ] {
        let work = placed();
        let date = |asked: &str| {
            let (_, date) = asked.rsplit_once(days).expect(asked);
            date.get(..10).expect("a date").to_owned()
        };
        let asked = work.ok(&["--lang", lang, "say", wish]);
        let unclear = work.ok(&["say", open]);
        assert_eq!(code(&unclear), code(&asked), "{unclear}");
        let changed = work.ok(&["say", amended]);
        assert!(code(&changed) != code(&asked), "{changed}");
        assert!(date(&changed) > date(&asked), "{changed}");
        // The first card is closed, and nothing is written before the second is agreed to.
        let closed = work.ok(&["say", &format!("yes {}", code(&asked))]);
        assert_lacks(&closed, "Done");
    }
}
