//! The schedule stays consistent under any calls of a model, in any order.
use proptest::prelude::*;

use crate::schedule::change::host_contains;
use crate::schedule::fixture::{course, errand, host, item, state};
use crate::schedule::tools::{
    BatchMoveArgs, CompoundArgs, MoveArgs, PlaceArgs, SwapArgs, UnplaceArgs, WritePreview,
    batch_move, move_task, place, spread_even, swap, unplace,
};
use crate::schedule::{Board, ScheduleState, ScheduleTask, WriteOptions, WriteRefusal, order};

#[derive(Debug, Clone)]
enum ToolRequest {
    Place(PlaceArgs),
    Move(MoveArgs),
    Swap(SwapArgs),
    Batch(BatchMoveArgs),
    Unplace(UnplaceArgs),
    Spread(CompoundArgs),
}

fn crowded() -> ScheduleState {
    let mut tasks = vec![
        course(1, "Physics", 1, 1, 6),
        course(2, "Chemistry", 2, 7, 12),
        host(3, "Music", 1, 7, 10),
        host(4, "Art", 3, 1, 2),
        errand(5, "Gym", 2, 1, 2),
    ];
    for (index, class) in [1, 1, 1, 2, 2, 0].into_iter().enumerate() {
        let order = u32::try_from(index % 3 + 1).unwrap();
        let id = u32::try_from(index + 6).unwrap();
        tasks.push(ScheduleTask {
            duration: 1 + u8::try_from(index % 2).unwrap(),
            ..item(id, class, order)
        });
    }
    state(4, tasks)
}

fn a_move() -> impl Strategy<Value = MoveArgs> {
    (1..13_u32, 0..6_u16, 0..14_u8).prop_map(|(task_id, new_day, new_slot_start)| MoveArgs {
        task_id,
        new_day,
        new_slot_start,
    })
}

fn asked() -> impl Strategy<Value = ToolRequest> {
    prop_oneof![
        6 => (6..13_u32, 0..6_u16, 0..14_u8)
            .prop_map(|(task_id, day, slot_start)| PlaceArgs { task_id, day, slot_start })
            .prop_map(ToolRequest::Place),
        3 => a_move().prop_map(ToolRequest::Move),
        3 => (1..13_u32, 1..13_u32)
            .prop_map(|(task_a, task_b)| ToolRequest::Swap(SwapArgs { task_a, task_b })),
        2 => prop::collection::vec(a_move(), 0..4)
            .prop_map(|moves| ToolRequest::Batch(BatchMoveArgs { moves })),
        1 => (1..13_u32).prop_map(|task_id| ToolRequest::Unplace(UnplaceArgs { task_id })),
        1 => prop::collection::vec(5..13_u32, 2..5)
            .prop_map(|task_ids| ToolRequest::Spread(CompoundArgs { task_ids })),
    ]
}

fn answer(
    state: &ScheduleState,
    asked: &ToolRequest,
    options: &WriteOptions,
) -> Result<WritePreview, WriteRefusal> {
    match asked {
        ToolRequest::Place(args) => place(state, args, options),
        ToolRequest::Move(args) => move_task(state, args, options),
        ToolRequest::Swap(args) => swap(state, args, options),
        ToolRequest::Batch(args) => batch_move(state, args, options),
        ToolRequest::Unplace(args) => unplace(state, args, options),
        ToolRequest::Spread(args) => spread_even(state, args, options),
    }
}

/// Asserts the properties of every schedule that the tools produce.
fn assert_whole(state: &ScheduleState, original: &ScheduleState) {
    let board = Board::new(state);
    let ids = |state: &ScheduleState| -> Vec<u32> {
        state.tasks.iter().map(|task| task.state_id).collect()
    };
    assert_eq!(ids(state), ids(original), "nothing is lost or made up");
    for task in &state.tasks {
        let before = original.task(task.state_id).unwrap();
        assert_eq!(task.duration, before.duration, "durations are preserved");
        if task.is_placed() {
            let length: u8 = task.slots.iter().map(crate::schedule::Slot::sections).sum();
            assert_eq!(length, task.duration, "the place is as long as the task");
        }
        if task.locked {
            assert_eq!(task, before, "locked tasks never change");
        }
        if let Some(host) = task.embed_host {
            let host = state.task(host).unwrap();
            assert_eq!(
                host.embedded_by,
                Some(task.state_id),
                "hosts know their guests"
            );
            assert!(
                task.slots.iter().all(|slot| host_contains(host, *slot)),
                "guests lie inside"
            );
        }
        if let Some(guest) = task.embedded_by {
            assert_eq!(state.task(guest).unwrap().embed_host, Some(task.state_id));
        }
        assert_eq!(
            order::check(&board, task),
            Ok(()),
            "classes keep their order"
        );
        for slot in &task.slots {
            for other in board
                .overlapping(*slot)
                .filter(|other| other.state_id != task.state_id)
            {
                let related = other.embed_host == Some(task.state_id)
                    || task.embed_host == Some(other.state_id);
                assert!(related, "only hosts and guests overlap");
            }
        }
    }
}

proptest! {
    #[test]
    fn sch_71_77_81_any_sequence_of_writes_keeps_the_schedule_whole(
        asked in prop::collection::vec(asked(), 1..60),
        existing in any::<bool>(),
    ) {
        let original = crowded();
        let mut now = original.clone();
        let options = WriteOptions::default().existing_may_move(existing);
        for asked in &asked {
            if let Ok(written) = answer(&now, asked, &options) {
                written.changes.iter().for_each(|change| now.apply(change));
            }
            assert_whole(&now, &original);
            if !existing {
                prop_assert_eq!(now.task(5), original.task(5));
            }
        }
    }

    /// The board, which applies and undoes changes in place, is never left in an intermediate
    /// state.
    #[test]
    fn sch_79_80_a_refused_or_withdrawn_proposal_leaves_the_board_as_it_was(
        first in prop::collection::vec(asked(), 0..30),
        moves in prop::collection::vec(a_move(), 1..4),
        (task_a, task_b) in (1..13_u32, 1..13_u32),
    ) {
        let mut now = crowded();
        let options = WriteOptions::default();
        for asked in &first {
            if let Ok(written) = answer(&now, asked, &options) {
                written.changes.iter().for_each(|change| now.apply(change));
            }
        }
        let mut board = Board::new(&now);
        for step in &moves {
            let target = crate::schedule::relocate::Target {
                task: step.task_id,
                day: step.new_day,
                start: step.new_slot_start,
            };
            if let Ok(applied) = board.try_move(target, &options) {
                board.take_back(&applied);
            }
            prop_assert_eq!(board.state(), &now);
        }
        if let Ok(applied) = board.try_swap(task_a, task_b, &options) {
            let mut other = now.clone();
            applied.changes.iter().for_each(|change| other.apply(change));
            prop_assert_eq!(board.state(), &other);
            board.take_back(&applied);
        }
        prop_assert_eq!(board.state(), &now);
        for day in 1..=4 {
            let rebuilt = Board::new(&now);
            let ids = |board: &Board<'_>| board.on_day(day).map(|t| t.state_id).collect::<Vec<_>>();
            prop_assert_eq!(ids(&board), ids(&rebuilt));
        }
    }
}
