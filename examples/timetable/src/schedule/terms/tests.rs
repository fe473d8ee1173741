//! Whatever is accepted keeps every term, by a checker that shares no code with the rules.
use proptest::prelude::*;
use proptest::sample::select;

use crate::schedule::fixture::{class, course, host, item, state};
use crate::schedule::rough_build::{NoRoom, PartialBuild, build_what_fits, rough_build};
use crate::schedule::tools::{
    BatchMoveArgs, MoveArgs, PlaceArgs, SwapArgs, UnplaceArgs, batch_move, move_task, place, swap,
    unplace,
};
use crate::schedule::{
    Change, ClosedTime, FixedTime, Level, Marks, ScheduleState, ScheduleTask, Sections, Slot,
    TaskClass, Terms, WriteOptions, WriteRefusal, local_search, refine,
};
use jiff::civil::Time;

/// The default table, in minutes since midnight.
const TABLE: [(u16, u16); 12] = [
    (480, 525),
    (535, 580),
    (600, 645),
    (655, 700),
    (840, 885),
    (895, 940),
    (960, 1005),
    (1015, 1060),
    (1140, 1185),
    (1195, 1240),
    (1250, 1295),
    (1305, 1350),
];

fn minute(time: Time) -> u16 {
    u16::try_from(i32::from(time.hour()) * 60 + i32::from(time.minute())).unwrap_or(0)
}

/// Returns everything that is wrong with the places of a schedule.
fn wrong(now: &ScheduleState) -> Vec<String> {
    let mut wrong = vec![];
    let mut taken: Vec<(u16, u8, u32)> = vec![];
    for task in &now.tasks {
        for slot in &task.slots {
            for section in slot.slot_start..=slot.slot_end {
                let other = taken
                    .iter()
                    .find(|(day, at, _)| (*day, *at) == (slot.day, section));
                if let Some((.., other)) = other
                    && task.embed_host != Some(*other)
                {
                    wrong.push(format!("{} lies on {other}", task.state_id));
                }
                taken.push((slot.day, section, task.state_id));
            }
            if task.task_class_id.is_some() {
                wrong.extend(broken(now, task, *slot));
            }
        }
        let minutes = task
            .slots
            .iter()
            .map(|slot| span(*slot))
            .map(|(from, to)| to - from);
        if let Some(wanted) = minutes_of(now, task)
            && (1..wanted).contains(&minutes.sum())
        {
            wrong.push(format!("{} has less than {wanted} minutes", task.state_id));
        }
    }
    let key = |slot: &Slot| (slot.day, slot.slot_start, slot.slot_end);
    for task in now.tasks.iter().filter(|task| !task.slots.is_empty()) {
        let begin = task.slots.iter().map(key).min().unwrap_or_default();
        for other in now.tasks.iter().filter(|other| !other.slots.is_empty()) {
            let end = other
                .slots
                .iter()
                .map(|slot| (slot.day, slot.slot_end))
                .max();
            let same = task.task_class_id.is_some() && other.task_class_id == task.task_class_id;
            let ordered = same && other.task_order > 0 && other.task_order < task.task_order;
            let follows = task.terms.after.contains(&other.state_id);
            if (ordered || follows) && end.is_some_and(|end| end >= (begin.0, begin.1)) {
                wrong.push(format!("{} is not after {}", task.state_id, other.state_id));
            }
        }
    }
    wrong
}

fn class_of<'a>(now: &'a ScheduleState, task: &ScheduleTask) -> Option<&'a TaskClass> {
    let mut classes = now.task_classes.iter();
    classes.find(|class| Some(class.id) == task.task_class_id)
}

fn minutes_of(now: &ScheduleState, task: &ScheduleTask) -> Option<u16> {
    let class = class_of(now, task)?;
    task.terms.minutes.or(class.terms.minutes)
}

fn span(slot: Slot) -> (u16, u16) {
    let of = |section: u8| TABLE[usize::from(section) - 1];
    (of(slot.slot_start).0, of(slot.slot_end).1)
}

fn broken(now: &ScheduleState, task: &ScheduleTask, slot: Slot) -> Vec<String> {
    let mut wrong = vec![];
    let id = task.state_id;
    let class = class_of(now, task).expect("it has a class");
    let day = &now.window.days[usize::from(slot.day) - 1];
    let (begin, mut end) = span(slot);
    if let Some(minutes) = minutes_of(now, task) {
        end = end.min(begin + minutes);
    }
    for terms in [&task.terms, &class.terms] {
        for closed in &terms.not {
            let on =
                closed.days_of_week.is_empty() || closed.days_of_week.contains(&day.day_of_week);
            if on && minute(closed.from) < end && begin < minute(closed.to) {
                wrong.push(format!("{id} touches {closed}"));
            }
        }
        if terms
            .earliest
            .as_ref()
            .is_some_and(|first| day.date < *first)
        {
            wrong.push(format!("{id} is early"));
        }
        if let Some(at) = &terms.at {
            let date = at.date.as_ref().is_none_or(|date| *date == day.date);
            let weekday = at.day_of_week.is_none_or(|fixed| fixed == day.day_of_week);
            if !date || !weekday || minute(at.time) != begin {
                wrong.push(format!("{id} is not at {at}"));
            }
        }
    }
    if task
        .marks
        .deadline
        .as_ref()
        .is_some_and(|last| day.date > *last)
    {
        wrong.push(format!("{id} is late"));
    }
    if class.excluded_days_of_week.contains(&day.day_of_week) {
        wrong.push(format!("{id} is on an excluded day"));
    }
    wrong
}

fn closed() -> impl Strategy<Value = ClosedTime> {
    (prop::collection::vec(1..8_u8, 0..3), 7..22_i8, 1..8_i8).prop_map(
        |(days_of_week, from, long)| {
            let time = |hour: i8| jiff::civil::time(hour.min(23), 0, 0, 0);
            ClosedTime {
                days_of_week,
                from: time(from),
                to: time(from + long),
            }
        },
    )
}

fn date(day: u8) -> String {
    format!("2026-09-{:02}", 13 + day)
}

fn terms() -> impl Strategy<Value = (Terms, Option<String>)> {
    let starts: Vec<u16> = TABLE.iter().map(|(begin, _)| *begin).collect();
    let at = (
        prop::option::weighted(0.3, 1..15_u8),
        prop::option::of(1..8_u8),
        select(starts),
    );
    let at = at.prop_map(|(day, day_of_week, begin)| FixedTime {
        date: day.map(date),
        day_of_week: if day.is_some() { None } else { day_of_week },
        time: jiff::civil::time(0, 0, 0, 0) + jiff::SignedDuration::from_mins(begin.into()),
    });
    let parts = (
        prop::option::weighted(0.6, 20..200_u16),
        prop::option::weighted(0.2, (1..15_u8).prop_map(date)),
        prop::option::weighted(0.3, select(vec![Level::Low, Level::Medium, Level::High])),
        prop::option::weighted(0.15, at),
        prop::collection::vec(11..19_u32, 0..2),
        prop::collection::vec(closed(), 0..3),
        prop::option::weighted(0.3, (1..15_u8).prop_map(date)),
        prop::option::weighted(0.3, any::<bool>()),
    );
    parts.prop_map(
        |(minutes, earliest, priority, at, after, not, deadline, split)| {
            let terms = Terms {
                minutes,
                earliest,
                priority,
                at,
                after,
                not,
                split,
            };
            (terms, deadline)
        },
    )
}

fn schedules() -> impl Strategy<Value = ScheduleState> {
    let items = prop::collection::vec((1..4_u32, terms()), 1..9);
    let classes = prop::collection::vec(
        (
            prop::collection::vec(closed(), 0..2),
            any::<bool>(),
            1..8_u8,
        ),
        3,
    );
    (items, classes).prop_map(|(items, classes)| {
        let mut tasks = vec![
            course(1, "Physics", 1, 1, 6),
            host(2, "Music", 2, 5, 8),
            course(3, "Chemistry", 3, 9, 9),
        ];
        let mut orders = [0; 4];
        for (id, (class, (mut terms, deadline))) in (11..).zip(items) {
            let order = &mut orders[class as usize];
            *order += 1;
            // What follows something later could follow itself.
            terms.after.retain(|before| *before < id);
            let mut task = item(id, class, *order);
            if let Some(minutes) = terms.minutes {
                task.duration = Sections::default().holding(minutes).expect("a day has it");
            }
            task.marks = Marks {
                deadline,
                ..Marks::default()
            };
            task.terms = terms;
            tasks.push(task);
        }
        let mut now = state(14, tasks);
        now.task_classes = (1..)
            .zip(classes)
            .map(|(id, (not, rapid, off))| TaskClass {
                strategy: if rapid {
                    super::super::Strategy::Rapid
                } else {
                    super::super::Strategy::Steady
                },
                excluded_days_of_week: vec![off],
                terms: Terms {
                    not,
                    ..Terms::default()
                },
                ..class(id)
            })
            .collect();
        now
    })
}

type Call = (u8, u32, u32, u16, u8);

fn call(
    now: &ScheduleState,
    (kind, one, other, day, start): Call,
) -> Result<Vec<Change>, WriteRefusal> {
    let options = WriteOptions::default();
    let step = |task_id| MoveArgs {
        task_id,
        new_day: day,
        new_slot_start: start,
    };
    let written = match kind {
        0 => place(
            now,
            &PlaceArgs {
                task_id: one,
                day,
                slot_start: start,
            },
            &options,
        ),
        1 => move_task(now, &step(one), &options),
        2 => swap(
            now,
            &SwapArgs {
                task_a: one,
                task_b: other,
            },
            &options,
        ),
        3 => batch_move(
            now,
            &BatchMoveArgs {
                moves: vec![
                    step(one),
                    MoveArgs {
                        task_id: other,
                        new_day: day + 1,
                        new_slot_start: start,
                    },
                ],
            },
            &options,
        ),
        _ => unplace(now, &UnplaceArgs { task_id: one }, &options),
    };
    written.map(|written| written.changes)
}

proptest! {
    #[test]
    fn what_is_placed_or_accepted_keeps_every_term(
        mut now in schedules(),
        calls in prop::collection::vec((0..5_u8, 11..19_u32, 11..19_u32, 1..15_u16, 1..13_u8), 0..40),
    ) {
        let fits = build_what_fits(&now, &[1, 2, 3], &WriteOptions::default()).expect("it has days");
        for change in &fits.built.changes {
            now.apply(change);
        }
        prop_assert_eq!(wrong(&now), Vec::<String>::new());
        let mut left: Vec<u32> = fits.left.iter().flat_map(|left| left.items.clone()).collect();
        left.sort_unstable();
        let pending = now.tasks.iter().filter(|task| task.is_pending_item());
        prop_assert_eq!(pending.map(|task| task.state_id).collect::<Vec<_>>(), left);
        for asked in calls {
            for change in call(&now, asked).unwrap_or_default() {
                now.apply(&change);
            }
            prop_assert_eq!(wrong(&now), Vec::<String>::new(), "after {:?}", asked);
        }
        refine(&mut now, 5, &WriteOptions::default());
        prop_assert_eq!(wrong(&now), Vec::<String>::new());
        for change in local_search(&now, &WriteOptions::default()) {
            now.apply(&change);
        }
        prop_assert_eq!(wrong(&now), Vec::<String>::new());
    }
}

fn placed(now: &ScheduleState, fits: &PartialBuild) -> Vec<(u32, Slot)> {
    let mut after = now.clone();
    fits.built
        .changes
        .iter()
        .for_each(|change| after.apply(change));
    let tasks = after
        .tasks
        .iter()
        .filter(|task| task.task_class_id.is_some());
    tasks
        .flat_map(|task| task.slots.iter().map(|slot| (task.state_id, *slot)))
        .collect()
}

fn built(now: &ScheduleState) -> PartialBuild {
    build_what_fits(now, &[1, 2], &WriteOptions::default()).expect("it has days")
}

#[test]
fn lengths_times_and_predecessors_decide_the_places() {
    let mut now = state(
        3,
        vec![
            course(1, "Physics", 1, 1, 1),
            item(2, 1, 1),
            item(3, 1, 2),
            item(4, 2, 1),
        ],
    );
    for class in &mut now.task_classes {
        class.strategy = super::super::Strategy::Rapid;
    }
    let terms = |now: &mut ScheduleState, id, minutes, terms| {
        let task = now
            .tasks
            .iter_mut()
            .find(|task| task.state_id == id)
            .expect("it is there");
        task.duration = Sections::default().holding(minutes).expect("a day has it");
        task.terms = Terms {
            minutes: Some(minutes),
            ..terms
        };
    };
    // A lesson of one section leaves the other half of its pair to a short item.
    terms(&mut now, 2, 45, Terms::default());
    terms(&mut now, 3, 145, Terms::default());
    let at = FixedTime {
        date: None,
        day_of_week: Some(2),
        time: jiff::civil::time(8, 55, 0, 0),
    };
    terms(
        &mut now,
        4,
        90,
        Terms {
            at: Some(at),
            ..Terms::default()
        },
    );
    let fits = built(&now);
    assert_eq!(
        placed(&now, &fits),
        [
            (2, Slot::new(1, 2, 2)),
            (3, Slot::new(1, 5, 7)),
            (4, Slot::new(2, 2, 3))
        ]
    );
    terms(
        &mut now,
        2,
        45,
        Terms {
            after: vec![4],
            ..Terms::default()
        },
    );
    let fits = built(&now);
    assert_eq!(
        placed(&now, &fits),
        [
            (2, Slot::new(2, 4, 4)),
            (3, Slot::new(2, 5, 7)),
            (4, Slot::new(2, 2, 3))
        ]
    );
    assert_eq!(fits.left, []);
}

#[test]
fn what_has_no_place_says_which_term_is_the_reason() {
    let why = |change: &dyn Fn(&mut ScheduleTask)| {
        let mut now = state(
            2,
            vec![course(1, "Physics", 1, 1, 12), item(2, 1, 1), item(3, 2, 1)],
        );
        let task = now
            .tasks
            .iter_mut()
            .find(|task| task.state_id == 2)
            .expect("it is there");
        change(task);
        let fits = built(&now);
        assert_eq!(placed(&now, &fits).len(), 1, "the other one is not spoiled");
        let whole = rough_build(&now, &[1, 2]).expect_err("not everything fits");
        (
            fits.left.into_iter().next().expect("one is left").why,
            whole.to_string(),
        )
    };
    let (reason, told) = why(&|task| task.marks.deadline = Some("2026-09-14".to_owned()));
    assert_eq!(
        reason,
        NoRoom::Deadline {
            date: "2026-09-14".to_owned()
        }
    );
    assert_eq!(
        told,
        "\"Item 2\" of class \"Class 1\" has no place: nothing is free until 2026-09-14"
    );
    let all_day = ClosedTime {
        days_of_week: vec![2],
        from: jiff::civil::time(0, 0, 0, 0),
        to: jiff::civil::time(23, 59, 0, 0),
    };
    let (reason, _) = why(&|task| task.terms.not = vec![all_day.clone()]);
    assert_eq!(
        reason,
        NoRoom::Closed {
            times: vec![all_day.clone()]
        }
    );
    let (reason, _) = why(&|task| task.terms.earliest = Some("2026-09-17".to_owned()));
    assert_eq!(
        reason,
        NoRoom::Earliest {
            date: "2026-09-17".to_owned()
        }
    );
    let at = FixedTime {
        date: None,
        day_of_week: Some(1),
        time: jiff::civil::time(8, 0, 0, 0),
    };
    let (reason, _) = why(&|task| task.terms.at = Some(at.clone()));
    assert_eq!(reason, NoRoom::Fixed { at: at.clone() });
}

#[test]
fn a_refusal_names_the_term() {
    let mut now = state(7, vec![item(1, 1, 1), item(2, 2, 1)]);
    now.tasks[0].terms.not = vec![ClosedTime {
        days_of_week: vec![2],
        from: jiff::civil::time(18, 0, 0, 0),
        to: jiff::civil::time(23, 59, 0, 0),
    }];
    now.tasks[1].terms.after = vec![1];
    let refused = call(&now, (0, 1, 0, 2, 9)).expect_err("that is Tuesday evening");
    assert_eq!(
        refused.to_string(),
        "task 1 must not lie there: Tue 18:00–23:59 is closed to it"
    );
    for change in call(&now, (0, 1, 0, 3, 1)).expect("that is free") {
        now.apply(&change);
    }
    let refused = call(&now, (0, 2, 0, 1, 1)).expect_err("that is too early");
    assert_eq!(
        refused.to_string(),
        "task 2 has to lie after task 1, which ends at day 3, section 2"
    );
}
