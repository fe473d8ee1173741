use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::super::fixture::{course, errand, heavy, host, item, state, suggested};
use super::super::rough_build::rough_build;
use super::super::{
    Board, PlacementStatus, Quality, ScheduleState, ScheduleTask, Slot, Source, Strategy,
    SubjectType, order, refine,
};
use super::*;

fn searched(state: &ScheduleState) -> ScheduleState {
    let mut after = state.clone();
    for change in search_within(state, &WriteOptions::default(), 20_000) {
        after.apply(&change);
    }
    after
}

#[test]
fn a_crowded_day_is_spread_over_its_neighbours() {
    let before = state(
        3,
        vec![
            suggested(1, 1, 1, Slot::new(2, 1, 2)),
            suggested(2, 1, 2, Slot::new(2, 3, 4)),
            suggested(3, 1, 3, Slot::new(2, 5, 6)),
        ],
    );
    assert_eq!(Quality::of(&before).score(), 4);
    let after = searched(&before);
    assert_eq!(Quality::of(&after).score(), 0);
    let days: Vec<u16> = after.tasks.iter().map(|task| task.slots[0].day).collect();
    assert_eq!(days, [1, 2, 3], "in the order of the class");
}

#[test]
fn what_is_confirmed_stays_and_what_is_perfect_is_left_alone() {
    let mut confirmed = state(
        3,
        vec![
            suggested(1, 1, 1, Slot::new(2, 1, 2)),
            suggested(2, 1, 2, Slot::new(2, 3, 4)),
        ],
    );
    confirmed.tasks[0].status = PlacementStatus::Existing;
    let after = searched(&confirmed);
    let places: Vec<Slot> = after.tasks.iter().map(|task| task.slots[0]).collect();
    assert_eq!(places, [Slot::new(2, 1, 2), Slot::new(3, 1, 2)]);
    let perfect = state(2, vec![suggested(1, 1, 1, Slot::new(2, 1, 2))]);
    assert_eq!(local_search(&perfect, &WriteOptions::default()), []);
    assert_eq!(
        local_search(&state(0, vec![]), &WriteOptions::default()),
        []
    );
}

#[test]
fn what_has_begun_stays_and_nothing_goes_there() {
    let before = state(
        4,
        vec![
            suggested(1, 1, 1, Slot::new(1, 1, 2)),
            suggested(2, 2, 1, Slot::new(3, 1, 2)),
            suggested(3, 2, 2, Slot::new(3, 3, 4)),
            suggested(4, 2, 3, Slot::new(3, 5, 6)),
        ],
    );
    let places = |options: &WriteOptions| {
        let mut after = before.clone();
        for change in local_search(&before, options) {
            after.apply(&change);
        }
        let places = after.tasks.iter().map(|task| task.slots[0].day);
        places.collect::<Vec<u16>>()
    };
    // Day 2 is free, but it is over.
    assert_eq!(places(&WriteOptions::default()), [1, 2, 3, 4]);
    let ahead = WriteOptions::default().earliest(Some((3, 1)));
    assert_eq!(places(&ahead), [1, 3, 3, 4]);
}

#[test]
fn sch_32_a_whole_rearrangement_may_move_what_was_confirmed() {
    let mut now = state(
        3,
        vec![
            suggested(1, 1, 1, Slot::new(2, 1, 2)),
            suggested(2, 1, 2, Slot::new(2, 3, 4)),
        ],
    );
    for task in &mut now.tasks {
        task.status = PlacementStatus::Existing;
    }
    assert_eq!(local_search(&now, &WriteOptions::default()), []);
    let whole = WriteOptions::default().existing_may_move(true);
    let changes = local_search(&now, &whole);
    assert_eq!(changes.len(), 2, "one leaves its place and takes another");
    for change in &changes {
        now.apply(change);
    }
    assert_eq!(Quality::of(&now).score(), 0);
}

#[test]
fn what_is_wanted_early_becomes_no_later() {
    let mut early = state(
        5,
        vec![
            suggested(1, 1, 1, Slot::new(1, 1, 2)),
            suggested(2, 2, 1, Slot::new(1, 3, 4)),
            suggested(3, 1, 2, Slot::new(2, 1, 2)),
        ],
    );
    early.task_classes = vec![
        heavy(1, SubjectType::Quantitative),
        heavy(2, SubjectType::Memory),
    ];
    early.task_classes[0].strategy = Strategy::Rapid;
    let after = searched(&early);
    assert_eq!(Quality::of(&after).heavy_adjacent_days, 0);
    let last = after.tasks.iter().filter(|t| t.task_class_id == Some(1));
    assert!(last.flat_map(|t| &t.slots).all(|slot| slot.day <= 2));
}

fn drafts() -> impl proptest::strategy::Strategy<Value = ScheduleState> {
    (
        1u16..12,
        prop::collection::vec(0u32..4, 1..24),
        prop::collection::vec((1u16..12, 0u8..6, 0u8..3), 0..24),
        prop::collection::vec((any::<bool>(), any::<bool>(), 0u8..8), 4),
    )
        .prop_map(|(days, items, fixed, classes)| {
            let mut tasks = vec![];
            let mut id = 0;
            let mut next = || {
                id += 1;
                id
            };
            for (day, block, what) in fixed {
                let from = block * 2 + 1;
                let free = !tasks.iter().any(|task: &ScheduleTask| {
                    task.slots.contains(&Slot::new(day, from, from + 1))
                });
                if free && day <= days {
                    tasks.push(match what {
                        0 => course(next(), "Physics", day, from, from + 1),
                        1 => host(next(), "Seminar", day, from, from + 1),
                        _ => errand(next(), "Gym", day, from, from + 1),
                    });
                }
            }
            for (order, class) in (1..).zip(items) {
                tasks.push(item(next(), class + 1, order));
            }
            let mut now = state(days, tasks);
            for (rules, (rapid, hard, off)) in now.task_classes.iter_mut().zip(classes) {
                if hard {
                    *rules = heavy(rules.id, SubjectType::Memory);
                }
                rules.excluded_days_of_week = (off > 0).then_some(off).into_iter().collect();
                if rapid {
                    rules.strategy = Strategy::Rapid;
                }
            }
            now
        })
}

/// Returns the draft, placed by rule and refined; none if it cannot be.
fn refined(now: &ScheduleState) -> Option<ScheduleState> {
    let ids: Vec<u32> = now.task_classes.iter().map(|class| class.id).collect();
    let built = rough_build(now, &ids).ok()?;
    let mut refined = now.clone();
    for change in &built.changes {
        refined.apply(change);
    }
    refine(&mut refined, 10, &WriteOptions::default());
    Some(refined)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Nothing becomes worse, with any set of items taken out and any free places to return to.
    #[test]
    fn what_is_worse_is_undone(now in drafts(), seed in 1u64..) {
        let options = WriteOptions::default();
        let table = |now: &ScheduleState| Table::of(now, &options);
        let Some(mut table) = refined(&now).as_ref().and_then(table) else { return Ok(()) };
        let mut dice = SeededRng(seed);
        for _ in 0..100 {
            let before = table.score();
            let out = table.chosen(1 + dice.below(AT_ONCE), |n| dice.below(n));
            table.replace(&out, 0);
            prop_assert!(table.score() <= before, "{out:?}: {} after {before}", table.score());
        }
    }

    /// For any draft: nothing is lost, no rule and no order is broken, nothing overlaps, and the
    /// schedule is no worse than before.
    #[test]
    fn polishing_keeps_every_rule_and_is_never_worse(now in drafts()) {
        let Some(before) = refined(&now) else { return Ok(()) };
        let after = searched(&before);
        prop_assert!(Quality::of(&after).score() <= Quality::of(&before).score());
        let board = Board::new(&after);
        for task in &after.tasks {
            let was = before.task(task.state_id).expect("the same tasks");
            prop_assert_eq!(was.is_placed(), task.is_placed());
            if task.source == Source::Event {
                prop_assert_eq!(&was.slots, &task.slots);
            }
            prop_assert!(order::check(&board, task).is_ok());
            for slot in &task.slots {
                let there = board.overlapping(*slot).filter(|other| {
                    other.state_id != task.state_id
                        && task.embed_host != Some(other.state_id)
                        && task.embedded_by != Some(other.state_id)
                });
                let there: Vec<_> = there.map(|t| (t.state_id, t.embedded_by, t.embed_host)).collect();
                prop_assert_eq!(there, vec![], "{:?} was {:?}", task, was);
                if let (Some(class), Some(day)) = (after.class_of(task), after.day(slot.day)) {
                    prop_assert!(class.admits(day, slot, task.embed_host.is_some()).is_ok());
                }
            }
        }
    }
}
