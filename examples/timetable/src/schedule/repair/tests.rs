use jiff::civil::date;

use super::*;
use crate::schedule::fixture::{course, item, state, suggested};

/// Returns a schedule with an agreed item of class 1 on Monday, and the next one on Wednesday.
fn week() -> ScheduleState {
    let mut now = state(
        5,
        vec![
            suggested(1, 1, 1, Slot::new(1, 1, 2)),
            suggested(2, 1, 2, Slot::new(3, 1, 2)),
            course(3, "Physics", 2, 1, 12),
            item(4, 1, 3),
        ],
    );
    for task in &mut now.tasks {
        if task.is_placed() {
            task.status = PlacementStatus::Existing;
        }
    }
    now
}

fn from(day: u16, section: u8) -> WriteOptions {
    WriteOptions::default().earliest(Some((day, section)))
}

/// Returns the kinds with the moves of the repairs of the first item.
fn told(now: &ScheduleState, options: &WriteOptions) -> Vec<(RepairKind, Vec<RepairMove>)> {
    let found = repairs(now, &[1], options);
    for repair in &found {
        let mut after = now.clone();
        for end in repair.ends.iter().filter(|end| end.task.is_none()) {
            for class in &mut after.task_classes {
                if class.id == end.class {
                    class.end_date = Some(end.after.clone());
                }
            }
        }
        repair.changes.iter().for_each(|change| after.apply(change));
        let board = Board::new(&after);
        for step in &repair.moves {
            let task = after.task(step.task).expect("it is there");
            assert_eq!(task.slots, step.after);
            assert_eq!(task.status, PlacementStatus::Existing, "it was agreed to");
            assert_eq!(order::check(&board, task), Ok(()));
            for slot in &task.slots {
                assert!(options.is_ahead(slot.start()));
                assert_eq!(board.check_class(task, *slot, false), Ok(()));
                let there = board.overlapping(*slot).map(|there| there.state_id);
                assert_eq!(there.collect::<Vec<_>>(), [step.task]);
            }
        }
        assert_eq!(after.task(4), now.task(4), "nobody asked about it");
    }
    found
        .into_iter()
        .map(|repair| (repair.kind, repair.moves))
        .collect()
}

fn step(task: u32, before: Slot, after: &[Slot]) -> RepairMove {
    RepairMove {
        task,
        before: vec![before],
        after: after.to_vec(),
    }
}

#[test]
fn what_is_over_and_not_done_is_missed() {
    let mut now = week();
    let at = |day, hour| date(2026, 9, day).at(hour, 0, 0, 0);
    assert_eq!(now.missed(at(14, 9)), [] as [u32; 0], "it is not over yet");
    assert_eq!(now.missed(at(14, 10)), [1]);
    assert_eq!(now.missed(at(18, 10)), [1, 2]);
    now.apply(&Change::Mark {
        task: 1,
        marks: crate::schedule::Marks {
            done: true,
            deadline: None,
        },
    });
    assert_eq!(now.missed(at(18, 10)), [2]);
    assert_eq!(repairs(&now, &[1], &from(2, 1)), []);
}

#[test]
fn what_was_missed_is_planned_again_before_what_follows() {
    let now = week();
    let monday = Slot::new(1, 1, 2);
    let found = told(&now, &from(1, 5));
    let [(RepairKind::Again, moves)] = found.as_slice() else {
        panic!("{found:?}")
    };
    let [step] = moves.as_slice() else {
        panic!("{moves:?}")
    };
    assert_eq!((step.task, &step.before), (1, &vec![monday]));
}

#[test]
fn without_room_before_what_follows_the_rest_is_planned_anew() {
    let now = week();
    // Nothing is free between Tuesday and the item on Wednesday.
    let found = told(&now, &from(2, 1));
    let [(RepairKind::Rest, moves)] = found.as_slice() else {
        panic!("{found:?}")
    };
    let tasks: Vec<u32> = moves.iter().map(|step| step.task).collect();
    assert_eq!(tasks, [1, 2]);
}

#[test]
fn an_end_becomes_later_only_as_far_as_needed() {
    let mut now = week();
    now.tasks.retain(|task| task.state_id != 2);
    now.tasks[0].marks.deadline = Some("2026-09-15".into());
    let found = repairs(&now, &[1], &from(2, 1));
    let [repair] = found.as_slice() else {
        panic!("{found:?}")
    };
    let end = LaterEnd {
        task: Some(1),
        class: 1,
        before: "2026-09-15".into(),
        after: "2026-09-16".into(),
    };
    assert_eq!(
        (repair.kind, &repair.ends),
        (RepairKind::LaterEnd, &vec![end])
    );
    assert_eq!(repair.changes.len(), 2, "the mark and the place");
    told(&now, &from(2, 1));
    let mut now = week();
    now.tasks.retain(|task| task.state_id != 2);
    now.task_classes[0].end_date = Some("2026-09-15".into());
    let found = repairs(&now, &[1], &from(2, 1));
    let ends: Vec<_> = found.iter().flat_map(|repair| &repair.ends).collect();
    let [
        LaterEnd {
            task: None, after, ..
        },
    ] = ends.as_slice()
    else {
        panic!("{found:?}")
    };
    assert_eq!(after, "2026-09-16");
    told(&now, &from(2, 1));
}

#[test]
fn what_fits_nowhere_as_a_whole_is_split() {
    let mut now = week();
    now.tasks.retain(|task| task.state_id != 2);
    for day in 3..=5_u16 {
        let taken = course(u32::from(day) + 10, "Lab", day, 2, 12);
        now.tasks.push(taken);
    }
    let found = told(&now, &from(2, 1));
    let parts = [Slot::new(3, 1, 1), Slot::new(4, 1, 1)];
    assert_eq!(
        found,
        [(RepairKind::Split, vec![step(1, Slot::new(1, 1, 2), &parts)])]
    );
    now.tasks.push(course(20, "Lab", 4, 1, 1));
    now.tasks.push(course(21, "Lab", 5, 1, 1));
    assert_eq!(told(&now, &from(2, 1)), [], "there is no way");
}
