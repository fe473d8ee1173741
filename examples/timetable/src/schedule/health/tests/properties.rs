//! The properties of every diagnosis and every optimisation.
use proptest::prelude::*;
use serde_json::Value;

use super::{look, mixed};
use crate::schedule::fixture::{course, item};
use crate::schedule::health::candidates::{Proposal, Repair, ScheduleRank};
use crate::schedule::health::diagnosis::Diagnosis;
use crate::schedule::health::{HealthCandidate, TightnessLevel, decide};
use crate::schedule::tools::{MoveArgs, PlaceArgs, SwapArgs, WritePreview, move_task, place, swap};
use crate::schedule::{
    Board, RefineEnd, ScheduleState, ScheduleTask, WriteOptions, WriteRefusal, refine,
};

fn follow(state: &ScheduleState, candidate: &HealthCandidate) -> WritePreview {
    written(state, &candidate.tool, candidate.arguments.clone()).unwrap()
}

fn written(state: &ScheduleState, tool: &str, args: Value) -> Result<WritePreview, WriteRefusal> {
    let options = WriteOptions::default();
    match tool {
        "swap" => swap(
            state,
            &serde_json::from_value::<SwapArgs>(args).unwrap(),
            &options,
        ),
        _ => move_task(
            state,
            &serde_json::from_value::<MoveArgs>(args).unwrap(),
            &options,
        ),
    }
}

/// Generates a few days with tasks of four classes, two of them demanding.
fn busy() -> impl Strategy<Value = ScheduleState> {
    let spot = (1..=5_u16, 1..=12_u8);
    let tasks = prop::collection::vec((1..=4_u32, 1..=2_u8, spot, any::<bool>()), 4..20);
    tasks.prop_map(|tasks| {
        let mut now = mixed(
            5,
            vec![course(1, "Physics", 3, 1, 4), course(2, "Art", 5, 5, 12)],
        );
        for (n, (class, duration, _, ordered)) in tasks.iter().enumerate() {
            let id = u32::try_from(n).unwrap() + 10;
            let order = if *ordered { id } else { 0 };
            now.tasks.push(ScheduleTask {
                duration: *duration,
                ..item(id, *class, order)
            });
        }
        now = mixed(5, now.tasks);
        for (n, (_, _, (day, slot_start), _)) in tasks.iter().enumerate() {
            let task_id = u32::try_from(n).unwrap() + 10;
            let args = PlaceArgs {
                task_id,
                day: *day,
                slot_start: *slot_start,
            };
            if let Ok(written) = place(&now, &args, &WriteOptions::default()) {
                written.changes.iter().for_each(|change| now.apply(change));
            }
        }
        now.tasks.retain(ScheduleTask::is_placed);
        now
    })
}

fn problems(state: &ScheduleState) -> usize {
    Diagnosis::of(&Board::new(state)).problem_days().len()
}

proptest! {
    #[test]
    fn sch_107_every_candidate_is_accepted_and_does_what_it_says(now in busy()) {
        let envelope = look(&now);
        prop_assert_eq!(&envelope, &look(&now));
        for candidate in envelope.decision.candidates.iter().filter(|c| !c.tool.is_empty()) {
            let mut next = now.clone();
            follow(&now, candidate).changes.iter().for_each(|change| next.apply(change));
            prop_assert!(problems(&next) < problems(&now));
            let after = look(&next);
            let rhythm = after.metrics.rhythm.unwrap();
            let said = &candidate.after;
            prop_assert_eq!(rhythm.heavy_adjacent_days, said.heavy_adjacent_days);
            prop_assert_eq!(rhythm.max_switch_count, said.max_switch_count);
            prop_assert_eq!(Some(rhythm.same_type_transition_ratio), Some(said.same_type_transition_ratio));
        }
    }

    /// The best candidate is worth as much as the best of all that could be tried, each of them
    /// written for good and diagnosed anew.
    #[test]
    fn sch_108_nothing_better_was_overlooked(now in busy()) {
        let options = WriteOptions::default();
        let verdict = decide(&mut Board::new(&now), &options);
        let mut board = Board::new(&now);
        let mut diagnosis = Diagnosis::of(&board);
        let (before, days) = (ScheduleRank::of(&diagnosis), diagnosis.problem_days());
        let repair = Repair {
            board: &mut board,
            diagnosis: &mut diagnosis,
            options: &options,
            tightness: TightnessLevel::Loose,
        };
        let tried: Vec<(Proposal, f64)> = days
            .iter()
            .flat_map(|day| repair.enumerate(*day))
            .filter_map(|proposal| {
                let mut next = now.clone();
                let written = written(&now, proposal.operation().as_str(), proposal.arguments());
                written.ok()?.changes.iter().for_each(|change| next.apply(change));
                let after = ScheduleRank::of(&Diagnosis::of(&Board::new(&next)));
                let helps = after.problems.len() < before.problems.len();
                helps.then(|| (proposal, proposal.rank(proposal.score(&before, &after))))
            })
            .collect();
        let best = tried.iter().map(|(_, rank)| *rank).max_by(f64::total_cmp);
        let chosen = tried.iter().find(|(proposal, _)| Some(*proposal) == verdict.best);
        let is_searched = verdict.tightness.tightness_level != TightnessLevel::Locked;
        prop_assert_eq!(chosen.map(|(_, rank)| *rank), best.filter(|_| is_searched));
    }

    #[test]
    fn sch_111_refining_always_ends_with_fewer_problems_or_none_to_repair(now in busy()) {
        let mut next = now.clone();
        let refined = refine(&mut next, 50, &WriteOptions::default());
        prop_assert!(refined.end != RefineEnd::RoundsUsed);
        prop_assert!(problems(&next) + refined.rounds <= problems(&now));
        let mut replayed = now.clone();
        refined.changes.iter().for_each(|change| replayed.apply(change));
        prop_assert_eq!(&replayed, &next);
        let again = refine(&mut replayed, 50, &WriteOptions::default());
        prop_assert_eq!(again.rounds, 0);
    }

    /// Trying candidates leaves neither the board nor its index changed.
    #[test]
    fn sch_107_a_diagnosis_leaves_no_trace(now in busy()) {
        let mut board = Board::new(&now);
        decide(&mut board, &WriteOptions::default());
        prop_assert_eq!(board.state(), &now);
    }
}
