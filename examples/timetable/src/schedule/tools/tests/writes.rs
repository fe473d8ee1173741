use crate::schedule::fixture::{class, course, errand, host, item, state, suggested};
use crate::schedule::refusal::BrokenRule;
use crate::schedule::scope::DayScope;
use crate::schedule::tools::{
    BatchMoveArgs, MoveArgs, PlaceArgs, SwapArgs, UnplaceArgs, WritePreview, batch_move, move_task,
    place, swap, unplace,
};
use crate::schedule::{
    Change, PlacementStatus, ScheduleState, ScheduleTask, Slot, TaskClass, WriteOptions,
    WriteRefusal,
};

fn safe() -> WriteOptions {
    WriteOptions::default()
}

fn put(task_id: u32, day: u16, slot_start: u8) -> PlaceArgs {
    PlaceArgs {
        task_id,
        day,
        slot_start,
    }
}

fn to(task_id: u32, new_day: u16, new_slot_start: u8) -> MoveArgs {
    MoveArgs {
        task_id,
        new_day,
        new_slot_start,
    }
}

fn both(task_a: u32, task_b: u32) -> SwapArgs {
    SwapArgs { task_a, task_b }
}

fn out(task_id: u32) -> UnplaceArgs {
    UnplaceArgs { task_id }
}

fn moves(moves: Vec<MoveArgs>) -> BatchMoveArgs {
    BatchMoveArgs { moves }
}

/// Asserts that a write was refused because of this task in the way.
fn assert_taken(refused: &Result<WritePreview, WriteRefusal>, by: u32) {
    assert!(
        matches!(refused, Err(WriteRefusal::Conflict { with, .. }) if *with == by),
        "{refused:?}"
    );
}

fn after(state: &ScheduleState, written: &WritePreview) -> ScheduleState {
    let mut state = state.clone();
    written
        .changes
        .iter()
        .for_each(|change| state.apply(change));
    state
}

fn lies(state: &ScheduleState, task: u32) -> Vec<Slot> {
    state
        .task(task)
        .map(|task| task.slots.clone())
        .unwrap_or_default()
}

#[test]
fn nothing_goes_to_a_place_that_has_begun() {
    let now = state(
        7,
        vec![
            suggested(1, 1, 1, Slot::new(2, 1, 2)),
            suggested(2, 2, 1, Slot::new(5, 1, 2)),
            item(3, 3, 1),
        ],
    );
    let ahead = WriteOptions::default().earliest(Some((3, 5)));
    let past = |task, slot| Err(WriteRefusal::Past { task, slot });
    assert_eq!(
        move_task(&now, &to(2, 3, 3), &ahead),
        past(2, Slot::new(3, 3, 4))
    );
    assert_eq!(
        place(&now, &put(3, 1, 1), &ahead),
        past(3, Slot::new(1, 1, 2))
    );
    assert_eq!(swap(&now, &both(1, 2), &ahead), past(2, Slot::new(2, 1, 2)));
    // What was missed can be taken up again.
    assert!(move_task(&now, &to(1, 3, 5), &ahead).is_ok());
}

#[test]
fn sch_77_place_suggests_a_pending_task_and_shows_the_day() {
    let now = state(7, vec![course(1, "Physics", 3, 1, 2), item(2, 1, 1)]);
    let written = place(&now, &put(2, 3, 5), &safe()).unwrap();
    assert_eq!(
        written,
        WritePreview {
            text: "placed task 2 \"Item 2\" at day 3, sections 5-6.\nday 3 (week 1, Wed \
                   2026-09-16): 1-2 #1 \"Physics\" [existing, locked]; 5-6 #2 \"Item 2\" \
                   [suggested]; free 3-4, 7-12"
                .into(),
            summary: "placed task 2 \"Item 2\" at day 3, sections 5-6".into(),
            changes: vec![Change::Place {
                task: 2,
                slots: vec![Slot::new(3, 5, 6)],
                host: None,
                status: PlacementStatus::Suggested,
            }],
        }
    );
    let next = after(&now, &written);
    assert_eq!(
        place(&next, &put(2, 4, 5), &safe()),
        Err(WriteRefusal::NotPending(2))
    );
}

#[test]
fn sch_77_place_embeds_into_a_host_without_a_guest() {
    let now = state(
        7,
        vec![host(1, "Physics", 3, 1, 4), item(2, 1, 1), item(3, 1, 2)],
    );
    let next = after(&now, &place(&now, &put(2, 3, 2), &safe()).unwrap());
    assert_eq!(next.task(2).unwrap().embed_host, Some(1));
    assert_eq!(next.task(1).unwrap().embedded_by, Some(2));
    let second = place(&next, &put(3, 3, 4), &safe());
    assert!(
        matches!(
            second,
            Err(WriteRefusal::Conflict {
                with: 1,
                hosts: false,
                ..
            })
        ),
        "{second:?}"
    );
}

#[test]
fn sch_77_place_says_what_is_wrong_and_what_is_allowed() {
    let now = state(7, vec![course(1, "Physics", 3, 1, 2), item(2, 1, 1)]);
    let told = |args| place(&now, &args, &safe()).unwrap_err().to_string();
    assert_eq!(
        told(put(9, 1, 1)),
        "there is no task 9; list_tasks shows the ids"
    );
    assert_eq!(told(put(2, 8, 1)), "there is no day 8; days go from 1 to 7");
    assert_eq!(told(put(2, 0, 1)), "there is no day 0; days go from 1 to 7");
    for start in [0, 12, 13, 255] {
        assert_eq!(
            told(put(2, 1, start)),
            format!(
                "2 sections from section {start} on do not fit into a day; the first section \
                 can be 1 to 11"
            )
        );
    }
    assert_eq!(
        told(put(2, 3, 2)),
        "day 3, sections 2-3: taken by task 1 \"Physics\""
    );
}

#[test]
fn sch_78_move_ignores_the_place_of_the_task_itself() {
    let now = state(7, vec![suggested(2, 1, 1, Slot::new(1, 3, 4))]);
    let next = after(&now, &move_task(&now, &to(2, 1, 4), &safe()).unwrap());
    assert_eq!(lies(&next, 2), [Slot::new(1, 4, 5)]);
    assert_eq!(
        move_task(&now, &to(2, 1, 3), &safe()),
        Err(WriteRefusal::AlreadyThere(2))
    );
}

#[test]
fn sch_78_move_leaves_a_host_and_enters_another() {
    let now = state(
        7,
        vec![host(1, "A", 1, 1, 2), host(2, "B", 2, 1, 2), item(3, 1, 1)],
    );
    let inside = after(&now, &place(&now, &put(3, 1, 1), &safe()).unwrap());
    let next = after(&inside, &move_task(&inside, &to(3, 2, 1), &safe()).unwrap());
    let links: Vec<_> = next
        .tasks
        .iter()
        .map(|task| (task.embedded_by, task.embed_host))
        .collect();
    assert_eq!(links, [(None, None), (Some(3), None), (None, Some(2))]);
}

#[test]
fn sch_c10_existing_tasks_move_only_if_allowed_and_locked_ones_never() {
    let now = state(
        7,
        vec![
            course(1, "Physics", 1, 1, 2),
            errand(2, "Gym", 1, 5, 6),
            item(3, 1, 1),
        ],
    );
    let refused = WriteRefusal::Existing {
        task: 2,
        name: "Gym".into(),
    };
    assert_eq!(move_task(&now, &to(2, 2, 1), &safe()), Err(refused.clone()));
    assert_eq!(unplace(&now, &out(2), &safe()), Err(refused.clone()));
    let moves = moves(vec![to(2, 2, 1)]);
    assert_eq!(batch_move(&now, &moves, &safe()), Err(refused));
    let open = safe().existing_may_move(true);
    let next = after(&now, &move_task(&now, &to(2, 2, 1), &open).unwrap());
    assert_eq!(next.task(2).unwrap().status, PlacementStatus::Existing);
    assert_eq!(lies(&next, 2), [Slot::new(2, 1, 2)]);
    let locked = WriteRefusal::Locked {
        task: 1,
        name: "Physics".into(),
    };
    assert_eq!(move_task(&now, &to(1, 2, 1), &open), Err(locked.clone()));
    assert_eq!(unplace(&now, &out(1), &open), Err(locked));
    assert_eq!(
        move_task(&now, &to(3, 2, 1), &open),
        Err(WriteRefusal::NotPlaced(3))
    );
}

fn pair() -> Vec<ScheduleTask> {
    vec![
        suggested(1, 1, 1, Slot::new(1, 1, 2)),
        suggested(2, 2, 1, Slot::new(2, 5, 6)),
    ]
}

#[test]
fn sch_79_swap_exchanges_equal_lengths() {
    let now = state(7, pair());
    let written = swap(&now, &both(1, 2), &safe()).unwrap();
    let next = after(&now, &written);
    assert_eq!(
        (lies(&next, 1), lies(&next, 2)),
        (lies(&now, 2), lies(&now, 1))
    );
    let back = swap(&next, &both(1, 2), &safe()).unwrap();
    assert_eq!(after(&next, &back), now);
}

#[test]
fn sch_79_swap_refuses_unequal_lengths_pending_tasks_and_itself() {
    let mut tasks = pair();
    tasks.push(suggested(3, 3, 1, Slot::new(3, 1, 3)));
    tasks.push(item(4, 4, 1));
    let now = state(7, tasks);
    let try_swap = |task_a, task_b| swap(&now, &both(task_a, task_b), &safe());
    assert_eq!(
        try_swap(1, 3),
        Err(WriteRefusal::DifferentDurations {
            task_a: 1,
            task_b: 3,
            a: 2,
            b: 3
        })
    );
    assert_eq!(try_swap(1, 4), Err(WriteRefusal::NotPlaced(4)));
    assert_eq!(try_swap(1, 1), Err(WriteRefusal::Repeated(1)));
}

#[test]
fn sch_79_swap_against_the_order_changes_nothing() {
    let mut tasks = pair();
    tasks.push(suggested(3, 1, 2, Slot::new(1, 5, 6)));
    let now = state(7, tasks);
    let refused = swap(&now, &both(1, 2), &safe()).unwrap_err();
    assert_eq!(
        refused,
        WriteRefusal::Order {
            task: 1,
            order: 1,
            sibling: 3,
            sibling_order: 2,
            at: (1, 5)
        }
    );
    assert_eq!(
        refused.to_string(),
        "task 1 (order 1) would not keep the order of its class: it must lie before task 3 \
         (order 2), which lies at day 1, section 5"
    );
}

/// A task that overlaps the place of another, as calendars do that were booked twice.
#[test]
fn sch_79_a_conflict_with_a_third_party_rolls_the_swap_back() {
    let mut tasks = pair();
    tasks.push(course(3, "Physics", 2, 6, 7));
    let now = state(7, tasks);
    let refused = swap(&now, &both(1, 2), &safe());
    assert_taken(&refused, 3);
}

#[test]
fn sch_80_batch_move_is_atomic_and_uses_places_that_become_free() {
    let mut tasks = pair();
    tasks.push(course(3, "Physics", 3, 1, 2));
    let now = state(7, tasks);
    let moves = |all| batch_move(&now, &moves(all), &safe());
    let chain = moves(vec![to(1, 2, 5), to(2, 4, 1)]).unwrap();
    let next = after(&now, &chain);
    assert_eq!(
        (lies(&next, 1), lies(&next, 2)),
        (vec![Slot::new(2, 5, 6)], vec![Slot::new(4, 1, 2)])
    );
    let clash = moves(vec![to(1, 2, 5), to(2, 3, 1)]);
    assert_taken(&clash, 3);
    let same = moves(vec![to(1, 5, 1), to(2, 5, 2)]);
    assert_taken(&same, 1);
    assert_eq!(
        moves(vec![to(1, 5, 1), to(1, 6, 1)]),
        Err(WriteRefusal::Repeated(1))
    );
    assert!(matches!(
        moves(vec![]),
        Err(WriteRefusal::Argument {
            argument: "moves",
            ..
        })
    ));
}

#[test]
fn sch_80_the_number_of_moves_is_an_option() {
    let mut tasks = pair();
    tasks.push(suggested(3, 3, 1, Slot::new(3, 1, 2)));
    let now = state(7, tasks);
    let moves = moves(vec![to(1, 5, 1), to(2, 5, 3), to(3, 5, 5)]);
    assert!(batch_move(&now, &moves, &safe()).is_ok());
    assert_eq!(
        batch_move(&now, &moves, &safe().batch_limit(2)),
        Err(WriteRefusal::TooManyMoves { given: 3, limit: 2 })
    );
}

#[test]
fn sch_71_a_batch_is_checked_with_all_its_moves_at_once() {
    let now = state(
        7,
        vec![
            suggested(1, 1, 1, Slot::new(1, 1, 2)),
            suggested(2, 1, 2, Slot::new(2, 1, 2)),
        ],
    );
    assert!(move_task(&now, &to(1, 3, 1), &safe()).is_err());
    assert!(batch_move(&now, &moves(vec![to(1, 3, 1), to(2, 4, 1)]), &safe()).is_ok());
}

#[test]
fn sch_81_unplace_frees_the_host_and_takes_a_guest_along() {
    // A course stays where it is, whatever lies inside it.
    let course = state(7, vec![host(1, "Physics", 3, 1, 4), item(2, 1, 1)]);
    let open = safe().existing_may_move(true);
    assert!(matches!(
        unplace(&course, &out(1), &open),
        Err(WriteRefusal::Locked { task: 1, .. })
    ));
    let errand = ScheduleTask {
        can_embed: true,
        ..errand(1, "Physics", 3, 1, 4)
    };
    let now = state(7, vec![errand, item(2, 1, 1)]);
    let inside = after(&now, &place(&now, &put(2, 3, 1), &safe()).unwrap());
    let guest = unplace(&inside, &out(2), &safe()).unwrap();
    assert_eq!(after(&inside, &guest), now);
    let open = safe().existing_may_move(true);
    assert_eq!(
        move_task(&inside, &to(1, 4, 1), &open),
        Err(WriteRefusal::HasGuest { task: 1, guest: 2 })
    );
    let both = after(&inside, &unplace(&inside, &out(1), &open).unwrap());
    assert_eq!(
        (
            both.task(1).unwrap().embedded_by,
            both.task(1).unwrap().duration
        ),
        (None, 4)
    );
    assert_eq!(both.task(2), now.task(2));
    assert_eq!(
        unplace(&now, &out(2), &safe()),
        Err(WriteRefusal::NotPlaced(2))
    );
}

#[test]
fn sch_51_writes_stay_within_the_days_of_the_step() {
    let mut tasks = pair();
    tasks.push(item(3, 3, 1));
    let now = state(7, tasks);
    let scoped = safe().scope(Some(DayScope::new([2, 3])));
    let outside = |day| WriteRefusal::OutsideScope {
        day,
        allowed: vec![2, 3],
    };
    assert_eq!(place(&now, &put(3, 4, 1), &scoped), Err(outside(4)));
    assert!(place(&now, &put(3, 3, 1), &scoped).is_ok());
    assert_eq!(move_task(&now, &to(1, 3, 1), &scoped), Err(outside(1)));
    assert!(move_task(&now, &to(2, 3, 1), &scoped).is_ok());
    assert_eq!(unplace(&now, &out(1), &scoped), Err(outside(1)));
    assert_eq!(
        outside(4).to_string(),
        "the current step is only about days 2-3; day 4 must not be touched"
    );
}

#[test]
fn the_rules_of_a_class_hold_unless_they_are_switched_off() {
    let mut now = state(7, vec![host(1, "Physics", 3, 1, 2), item(2, 1, 1)]);
    now.task_classes = vec![TaskClass {
        excluded_slots: vec![2],
        excluded_days_of_week: vec![6],
        allow_filler_course: false,
        ..class(1)
    }];
    let rule = |args| match place(&now, &args, &safe()) {
        Err(WriteRefusal::ClassRule { rule, .. }) => Some(rule),
        _ => None,
    };
    assert_eq!(rule(put(2, 1, 2)), Some(BrokenRule::Block(2)));
    assert_eq!(rule(put(2, 6, 5)), Some(BrokenRule::DayOfWeek(6)));
    assert_eq!(rule(put(2, 3, 1)), Some(BrokenRule::Filler));
    assert_eq!(rule(put(2, 3, 5)), None);
    assert!(place(&now, &put(2, 6, 5), &safe().class_rules(false)).is_ok());
}
