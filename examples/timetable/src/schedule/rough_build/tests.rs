use proptest::prelude::*;

use super::spread::{Candidate, target};
use super::*;
use crate::schedule::fixture::{class, course, host, item, state, suggested};
use crate::schedule::{ScheduleTask, Slot, Strategy as Spread, TaskClass, order};

fn lies(state: &ScheduleState, built: &RoughBuild) -> Vec<(u32, Slot)> {
    let mut next = state.clone();
    built.changes.iter().for_each(|change| next.apply(change));
    let items = next
        .tasks
        .iter()
        .filter(|task| task.task_class_id.is_some());
    items
        .flat_map(|task| task.slots.iter().map(|slot| (task.state_id, *slot)))
        .collect()
}

/// Returns the starts of the items in the order of their ids.
fn starts(state: &ScheduleState, built: &RoughBuild) -> Vec<(u16, u8)> {
    let lies = lies(state, built).into_iter();
    lies.map(|(_, slot)| slot.start()).collect()
}

fn items(class: u32, ids: std::ops::RangeInclusive<u32>) -> Vec<ScheduleTask> {
    ids.enumerate()
        .map(|(n, id)| item(id, class, u32::try_from(n).unwrap() + 1))
        .collect()
}

fn rapid(id: u32) -> TaskClass {
    TaskClass {
        strategy: Spread::Rapid,
        ..class(id)
    }
}

#[test]
fn sch_63_placements_are_in_the_terms_of_the_calendar_and_become_suggested() {
    let mut now = state(8, items(1, 1..=1));
    now.task_classes = vec![TaskClass {
        start_date: Some("2026-09-21".into()),
        total_slots: 2,
        strategy: Spread::Rapid,
        ..class(1)
    }];
    assert_eq!(
        rough_build(&now, &[1]).unwrap(),
        RoughBuild {
            placements: vec![Placement {
                task_item_id: "item-1".into(),
                week: 2,
                day_of_week: 1,
                section_from: 1,
                section_to: 2,
            }],
            changes: vec![Change::Place {
                task: 1,
                slots: vec![Slot::new(8, 1, 2)],
                host: None,
                status: PlacementStatus::Suggested,
            }],
            issues: vec![],
            found: PlacementMethod::InOrder,
        }
    );
}

#[test]
fn sch_63_a_missing_window_and_unknown_classes_are_errors() {
    let none = ScheduleState::default();
    assert_eq!(
        rough_build(&none, &[1]),
        Err(RoughBuildError::WindowMissing)
    );
    let now = state(3, items(1, 1..=1));
    assert_eq!(
        rough_build(&now, &[2]),
        Err(RoughBuildError::UnknownClass(2))
    );
    assert_eq!(rough_build(&now, &[]).unwrap().placements, []);
    let mut now = now;
    now.task_classes = vec![TaskClass {
        end_date: Some("2026-13-01".into()),
        ..class(1)
    }];
    assert!(matches!(
        rough_build(&now, &[1]),
        Err(RoughBuildError::BadDate { .. })
    ));
}

#[test]
fn sch_65_rules_of_the_class_and_courses_leave_only_aligned_blocks() {
    let mut tasks = vec![course(10, "Physics", 1, 4, 5), host(11, "Music", 1, 7, 9)];
    tasks.extend(items(1, 1..=2));
    let mut now = state(2, tasks);
    now.task_classes = vec![TaskClass {
        excluded_slots: vec![1, 5, 6],
        excluded_days_of_week: vec![2],
        ..rapid(1)
    }];
    // Section 3 is free but its pair is not; of Music only 7-8 is an aligned pair.
    let error = rough_build(&now, &[1]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "time not enough for class \"Class 1\": 2 blocks of two sections are needed, and only 1 \
         are open"
    );
    now.task_classes[0].excluded_days_of_week.clear();
    let built = rough_build(&now, &[1]).unwrap();
    assert_eq!(
        lies(&now, &built),
        [(1, Slot::new(1, 7, 8)), (2, Slot::new(2, 3, 4))]
    );
    let Some(Change::Place { host, .. }) = built.changes.first() else {
        panic!("{built:?}")
    };
    assert_eq!(*host, Some(11));
    now.task_classes[0].allow_filler_course = false;
    let built = rough_build(&now, &[1]).unwrap();
    assert_eq!(
        lies(&now, &built),
        [(1, Slot::new(2, 3, 4)), (2, Slot::new(2, 5, 6))]
    );
}

#[test]
fn sch_66_a_host_takes_one_guest_however_long_it_is() {
    let mut tasks = vec![host(10, "Lab", 1, 1, 12)];
    tasks.extend(items(1, 1..=2));
    let now = state(1, tasks);
    let error = rough_build(&now, &[1]).unwrap_err();
    assert!(matches!(
        error,
        RoughBuildError::TimeNotEnough {
            needed: 2,
            open: 1,
            ..
        }
    ));
}

#[test]
fn sch_67_rapid_fills_from_the_first_slot_on() {
    let mut now = state(2, items(1, 1..=7));
    now.task_classes = vec![rapid(1)];
    let built = rough_build(&now, &[1]).unwrap();
    assert_eq!(
        starts(&now, &built),
        [(1, 1), (1, 3), (1, 5), (1, 7), (1, 9), (1, 11), (2, 1)]
    );
}

#[test]
fn sch_67_the_score_adds_up_as_specified() {
    assert_eq!(
        [target(0, 3, 48), target(1, 3, 48), target(2, 3, 48)],
        [12, 24, 36]
    );
    let at = |index, occupied, remaining, day| Candidate {
        index,
        target: 12,
        occupied,
        remaining,
        day,
    };
    // 2 away, nothing else: 20, and the index 14.
    assert_eq!(at(14, 0, 10, 2).score(&[]), 34);
    // 2 away 20, three sections occupied 75, one section would remain 80, index 10.
    assert_eq!(at(10, 3, 1, 2).score(&[]), 185);
    // Two would remain: no buffer penalty.
    assert_eq!(at(10, 3, 2, 2).score(&[]), 105);
    // The same day holds two items but counts once: 180; both adjacent days: 60 each.
    assert_eq!(at(12, 0, 10, 2).score(&[2, 2, 1, 3, 5]), 180 + 120 + 12);
    assert_eq!(at(12, 0, 10, 2).score(&[3]), 60 + 12);
}

/// Two empty days have 24 open sections. For two items the targets are 8 and 16. The first goes
/// to index 8 (score 8; index 6 would be 26). For the second, index 16 scores 60 for the adjacent
/// day + 16 = 76; index 10 on the first day scores 60 + 2 × 25 + 180 + 10 = 300.
#[test]
fn sch_67_steady_spreads_items_by_the_score() {
    let now = state(2, items(1, 1..=2));
    let built = rough_build(&now, &[1]).unwrap();
    assert_eq!(
        lies(&now, &built),
        [(1, Slot::new(1, 9, 10)), (2, Slot::new(2, 5, 6))]
    );
}

#[test]
fn sch_68_later_classes_go_around_earlier_ones() {
    let mut tasks = items(1, 1..=2);
    tasks.extend(items(2, 3..=4));
    let mut now = state(1, tasks);
    now.task_classes = vec![rapid(1), rapid(2)];
    let built = rough_build(&now, &[2, 1, 2]).unwrap();
    let expected = [(1, 5), (1, 7), (1, 1), (1, 3)];
    assert_eq!(starts(&now, &built), expected);
    assert_eq!(built.found, PlacementMethod::InOrder);
}

#[test]
fn sch_c18_the_placed_length_becomes_the_duration_and_is_named() {
    let long = ScheduleTask {
        duration: 3,
        ..item(1, 1, 1)
    };
    let mut now = state(2, vec![long]);
    now.task_classes = vec![TaskClass {
        total_slots: 3,
        ..class(1)
    }];
    let built = rough_build(&now, &[1]).unwrap();
    assert_eq!(
        built.issues,
        [PlacementMismatch::LengthDiffers {
            class: 1,
            name: "Class 1".into(),
            total_slots: 3,
            items: 1
        }]
    );
    built.changes.iter().for_each(|change| now.apply(change));
    assert_eq!(now.task(1).unwrap().duration, 2);
}

#[test]
fn sch_c19_a_narrow_class_is_not_starved_by_an_earlier_one() {
    let mut tasks = items(1, 1..=6);
    tasks.extend(items(2, 7..=8));
    let mut now = state(2, tasks);
    now.task_classes = vec![
        rapid(1),
        TaskClass {
            end_date: Some("2026-09-14".into()),
            ..rapid(2)
        },
    ];
    let built = rough_build(&now, &[1, 2]).unwrap();
    assert_eq!(built.found, PlacementMethod::TightestFirst);
    assert_eq!(lies(&now, &built).last(), Some(&(8, Slot::new(1, 3, 4))));
}

/// Every class is open to two of three blocks and needs one. The first one placed takes the block
/// that the last one needs, and all are equally tight.
#[test]
fn sch_c19_an_exact_assignment_is_found_where_no_order_fits() {
    let only = |id, open: [u8; 2]| TaskClass {
        excluded_slots: (1..=6).filter(|block| !open.contains(block)).collect(),
        ..rapid(id)
    };
    let mut tasks = items(1, 1..=1);
    tasks.extend(items(2, 2..=2));
    tasks.extend(items(3, 3..=3));
    let mut now = state(1, tasks);
    now.task_classes = vec![only(1, [1, 3]), only(2, [2, 3]), only(3, [1, 2])];
    let built = rough_build(&now, &[1, 2, 3]).unwrap();
    assert_eq!(built.found, PlacementMethod::Exactly);
    let mut starts = starts(&now, &built);
    starts.sort_unstable();
    assert_eq!(starts, [(1, 1), (1, 3), (1, 5)]);
}

#[test]
fn sch_c19_the_error_names_the_class_and_its_rivals() {
    let mut tasks = items(1, 1..=3);
    tasks.extend(items(2, 4..=7));
    let now = state(1, tasks);
    assert_eq!(
        rough_build(&now, &[1, 2]).unwrap_err().to_string(),
        "time not enough for class \"Class 2\": 7 blocks of two sections are needed together \
         with \"Class 1\", and only 6 are open"
    );
}

#[test]
fn sch_71_pending_items_go_between_their_placed_siblings() {
    let mut now = state(
        3,
        vec![
            item(1, 1, 1),
            suggested(2, 1, 2, Slot::new(2, 5, 6)),
            item(3, 1, 3),
            item(4, 1, 4),
        ],
    );
    now.task_classes = vec![rapid(1)];
    let built = rough_build(&now, &[1]).unwrap();
    let expected = [(1, 1), (2, 5), (2, 7), (2, 9)];
    assert_eq!(starts(&now, &built), expected);
}

#[test]
fn placements_that_the_schedule_cannot_take_are_named() {
    let now = state(3, vec![course(2, "Physics", 1, 1, 2), item(1, 1, 1)]);
    let at = |week, section_from, section_to| {
        let task_item_id = "item-1".to_owned();
        let there = Placement {
            task_item_id,
            week,
            day_of_week: 1,
            section_from,
            section_to,
        };
        changes_for(&now, &[there])
    };
    for refused in [
        at(2, 3, 4),
        at(1, 2, 3),
        at(1, 12, 13),
        at(1, 0, 1),
        at(1, 4, 3),
    ] {
        assert_eq!(refused, Err(RoughBuildError::Misplaced("item-1".into())));
    }
    assert_eq!(at(1, 3, 4).unwrap().len(), 1);
}

/// Generates a small schedule: a day or two, most of it taken, up to three classes with rules.
fn tight() -> impl Strategy<Value = ScheduleState> {
    let rules = (
        prop::collection::vec(1..=6_u8, 0..5),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    let demand = (rules, 0..3_u32, any::<bool>());
    let lecture = (1..=2_u16, 0..12_u8, 1..=5_u8, any::<bool>());
    (
        prop::collection::vec(demand, 1..4),
        prop::collection::vec(lecture, 0..6),
        prop::option::of((1..=2_u16, 1..12_u8, 1..=5_u32)),
    )
        .prop_map(|(demands, courses, sibling)| {
            let mut tasks = Vec::new();
            let mut id = 100;
            let mut classes = Vec::new();
            for (index, ((excluded, filler, first_day, spread), count, ordered)) in
                demands.into_iter().enumerate()
            {
                let number = u32::try_from(index).unwrap() + 1;
                classes.push(TaskClass {
                    excluded_slots: excluded,
                    allow_filler_course: filler,
                    excluded_days_of_week: if first_day { vec![2] } else { vec![] },
                    strategy: if spread {
                        Spread::Rapid
                    } else {
                        Spread::Steady
                    },
                    ..class(number)
                });
                for order in (1..=count).map(|order| order * 2) {
                    tasks.push(item(id, number, if ordered { order } else { 0 }));
                    id += 1;
                }
            }
            for (n, (day, start, length, open)) in courses.into_iter().enumerate() {
                let (id, from) = (u32::try_from(n).unwrap() + 1, start + 1);
                let to = (from + length - 1).min(12);
                let make: fn(u32, &str, u16, u8, u8) -> ScheduleTask =
                    if open { host } else { course };
                tasks.push(make(id, "Course", day, from, to));
            }
            // A sibling that already has a place splits the items of its class.
            let placed = |(day, start, order): (u16, u8, u32)| {
                suggested(99, 1, order / 2 * 2 + 1, Slot::starting_at(day, start, 2))
            };
            tasks.extend(sibling.map(placed));
            tasks.sort_by_key(|task| task.state_id);
            let mut now = state(2, tasks);
            now.task_classes = classes;
            now
        })
}

/// Tries every block for every item, one after another.
fn exists(board: &mut Board<'_>, pending: &[u32]) -> bool {
    let Some((first, rest)) = pending.split_first() else {
        return true;
    };
    let task = board.state().task(*first).unwrap().clone();
    for day in 1..=2 {
        for start in (1..12).step_by(2) {
            let slot = Slot::starting_at(day, start, 2);
            let Ok(host) = board.spot(slot) else { continue };
            if board.check_class(&task, slot, host.is_some()).is_err() {
                continue;
            }
            let status = PlacementStatus::Suggested;
            let change = Change::Place {
                task: *first,
                slots: vec![slot],
                host,
                status,
            };
            board.apply(&change);
            let fits = order::check(board, board.state().task(*first).unwrap()).is_ok();
            if fits && exists(board, rest) {
                return true;
            }
            board.apply(&Change::Unplace { task: *first });
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn sch_c19_a_placement_is_found_exactly_if_one_exists(now in tight()) {
        let classes: Vec<u32> = now.task_classes.iter().map(|class| class.id).collect();
        let pending: Vec<u32> =
            now.tasks.iter().filter(|task| task.is_pending_item()).map(|task| task.state_id).collect();
        let possible = exists(&mut Board::new(&now), &pending);
        match rough_build(&now, &classes) {
            Err(error) => prop_assert!(!possible, "{error}"),
            Ok(built) => {
                prop_assert!(possible);
                let mut next = now.clone();
                built.changes.iter().for_each(|change| next.apply(change));
                let board = Board::new(&next);
                for id in &pending {
                    let task = next.task(*id).unwrap();
                    prop_assert_eq!(order::check(&board, task), Ok(()));
                    let slot = task.slots[0];
                    prop_assert_eq!((slot.sections(), slot.slot_start % 2), (2, 1));
                    prop_assert_eq!(board.check_class(task, slot, task.embed_host.is_some()), Ok(()));
                    let others = board.overlapping(slot).filter(|other| other.state_id != *id);
                    for other in others {
                        prop_assert_eq!(other.embedded_by, Some(*id));
                    }
                }
            }
        }
    }
}
