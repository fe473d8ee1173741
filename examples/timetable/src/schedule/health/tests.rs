//! The diagnosis on small schedules with figures computed by hand.
mod properties;

use serde_json::json;

use super::diagnosis::Diagnosis;
use super::*;
use crate::schedule::fixture::{course, errand, heavy, item, state, suggested};
use crate::schedule::{RefineEnd, ScheduleTask, Slot, SubjectType, TaskClass, refine};

fn at(id: u32, class: u32, day: u16, from: u8, to: u8) -> ScheduleTask {
    suggested(id, class, 0, Slot::new(day, from, to))
}

/// Returns a schedule in which classes 1 and 2 are demanding, of different types; the others are
/// easy.
fn mixed(days: u16, tasks: Vec<ScheduleTask>) -> ScheduleState {
    let mut now = state(days, tasks);
    let demanding = |class: &mut TaskClass| match class.id {
        1 => *class = heavy(1, SubjectType::Quantitative),
        2 => *class = heavy(2, SubjectType::Memory),
        _ => {}
    };
    now.task_classes.iter_mut().for_each(demanding);
    now
}

fn look(now: &ScheduleState) -> Envelope {
    analyze_health(now, &AnalyzeHealthArgs::default(), &WriteOptions::default())
}

fn ids(envelope: &Envelope) -> Vec<&str> {
    envelope
        .decision
        .candidates
        .iter()
        .map(|c| c.candidate_id.as_str())
        .collect()
}

/// Returns three days: day 1 is AABB, both demanding; day 2 is CCAAA around a course; day 3 is
/// empty.
fn three_days() -> ScheduleState {
    let tasks = vec![
        at(1, 1, 1, 1, 2),
        at(2, 2, 1, 3, 4),
        at(3, 3, 2, 1, 2),
        course(4, "Physics", 2, 3, 4),
        at(5, 1, 2, 5, 7),
    ];
    mixed(3, tasks)
}

#[test]
fn sch_99_rhythm_overview_by_hand() {
    let expected = Rhythm {
        avg_switches_per_day: 1.0,
        max_switch_day: Some(1),
        max_switch_count: 1,
        // 4 + 5 sections in four runs.
        avg_block_size: 2.25,
        longest_same_subject_run: 3,
        heavy_adjacent_days: 1,
        high_intensity_days: 2,
        long_high_intensity_days: 1,
        fragmented_count: 0,
        compressed_run_count: 1,
        block_balance: -1,
        same_type_transition_ratio: 0.0,
        days: vec![],
    };
    assert_eq!(look(&three_days()).metrics.rhythm, Some(expected));
}

#[test]
fn sch_98_days_in_detail_by_hand() {
    let args = AnalyzeHealthArgs {
        detail: DiagnosisDetail::Full,
        ..AnalyzeHealthArgs::default()
    };
    let envelope = analyze_health(&three_days(), &args, &WriteOptions::default());
    let day = |day, sections, max_block, fragmentation, heavy_adjacent| DayRhythm {
        day,
        sections,
        switch_count: 1,
        max_block,
        fragmentation,
        heavy_adjacent,
    };
    let days = envelope.metrics.rhythm.map(|rhythm| rhythm.days);
    assert_eq!(
        days,
        Some(vec![
            day(1, 4, 2, 1.0 / 3.0, true),
            day(2, 5, 3, 0.25, false)
        ])
    );
}

#[test]
fn sch_99_switches_within_a_type_of_subject_count_as_same_type() {
    let mut now = three_days();
    now.task_classes[2].subject_type = Some(SubjectType::Quantitative);
    let ratio = look(&now)
        .metrics
        .rhythm
        .map(|rhythm| rhythm.same_type_transition_ratio);
    assert_eq!(ratio, Some(0.5));
    let calm = mixed(1, vec![at(1, 1, 1, 1, 2)]);
    let ratio = look(&calm)
        .metrics
        .rhythm
        .map(|rhythm| rhythm.same_type_transition_ratio);
    assert_eq!(ratio, Some(1.0));
}

#[test]
fn sch_98_suggested_counts_before_items_and_items_before_the_rest() {
    let confirmed = ScheduleTask {
        status: crate::schedule::PlacementStatus::Existing,
        ..at(2, 2, 1, 1, 4)
    };
    let now = mixed(
        1,
        vec![errand(1, "Gym", 1, 1, 6), confirmed, at(3, 1, 1, 1, 2)],
    );
    let board = Board::new(&now);
    let there: Vec<u32> = series(&board, 1)
        .into_iter()
        .flatten()
        .map(|task| task.state_id)
        .collect();
    assert_eq!(there, [3, 3, 2, 2, 1, 1]);
}

/// W10: the average block was always 1 where it was computed first.
#[test]
fn sch_w10_the_average_block_is_the_length_of_runs() {
    let now = mixed(
        2,
        vec![at(1, 3, 1, 1, 4), at(2, 3, 2, 1, 2), at(3, 4, 2, 3, 4)],
    );
    let rhythm = look(&now).metrics.rhythm.unwrap();
    assert!(
        (rhythm.avg_block_size - 8.0 / 3.0).abs() < 1e-12,
        "{rhythm:?}"
    );
    let empty = look(&mixed(1, vec![])).metrics.rhythm.unwrap();
    assert!(empty.avg_block_size.abs() < 1e-12);
}

fn found(now: &ScheduleState, threshold: Threshold) -> Vec<(String, Severity)> {
    let args = AnalyzeHealthArgs {
        threshold,
        ..AnalyzeHealthArgs::default()
    };
    let envelope = analyze_health(now, &args, &WriteOptions::default());
    envelope
        .issues
        .into_iter()
        .map(|issue| (issue.issue_id, issue.severity))
        .collect()
}

/// Returns single sections of two easy classes in turn.
fn alternating(day: u16, first: u32, count: u8) -> Vec<ScheduleTask> {
    (0..count)
        .map(|n| {
            at(
                first + u32::from(n),
                3 + u32::from(n % 2),
                day,
                n + 1,
                n + 1,
            )
        })
        .collect()
}

#[test]
fn sch_100_issues_are_sorted_by_severity() {
    let mut tasks = alternating(2, 20, 4);
    tasks.extend(alternating(3, 30, 6));
    tasks.push(at(40, 3, 4, 1, 5));
    tasks.extend([at(50, 1, 5, 1, 2), at(51, 2, 5, 3, 4)]);
    tasks.extend(alternating(6, 60, 2));
    let now = mixed(6, tasks);
    let named = |id: &str, severity| (id.to_owned(), severity);
    assert_eq!(
        found(&now, Threshold::Normal),
        [
            named("rhythm_switches_day_3", Severity::Critical),
            named("rhythm_switches_day_2", Severity::Warning),
            named("rhythm_block_day_4", Severity::Warning),
            named("rhythm_heavy_adjacent_day_5", Severity::Warning),
            named("rhythm_fragmentation_day_6", Severity::Warning),
        ]
    );
    assert_eq!(
        found(&now, Threshold::Strict)[..2],
        [
            named("rhythm_switches_day_3", Severity::Critical),
            named("rhythm_switches_day_2", Severity::Warning)
        ]
    );
    assert_eq!(
        found(&now, Threshold::Relaxed),
        [
            named("rhythm_fragmentation_day_2", Severity::Warning),
            named("rhythm_switches_day_3", Severity::Warning),
            named("rhythm_heavy_adjacent_day_5", Severity::Warning),
            named("rhythm_fragmentation_day_6", Severity::Warning),
        ]
    );
    let calm = mixed(1, vec![at(1, 3, 1, 1, 2)]);
    assert_eq!(
        found(&calm, Threshold::Normal),
        [named("rhythm_calm_all_days", Severity::Info)]
    );
}

#[test]
fn sch_97_a_trigger_tells_metric_operator_threshold_and_actual() {
    let now = mixed(1, alternating(1, 1, 6));
    let issue = look(&now).issues.remove(0);
    assert_eq!(
        serde_json::to_value(issue).unwrap(),
        json!({"issue_id": "rhythm_switches_day_1", "dimension": "rhythm", "severity": "critical",
            "trigger": {"metric": "switch_count", "operator": ">=", "threshold": 5.0, "actual": 5.0}})
    );
}

#[test]
fn sch_101_105_missing_capacity_stops_and_asks() {
    let now = mixed(1, vec![course(1, "Physics", 1, 1, 11), item(2, 3, 1)]);
    let envelope = look(&now);
    let expected = Feasibility {
        is_feasible: false,
        capacity_gap: 1,
        reason_code: Reason::CapacityInsufficient,
    };
    assert_eq!(envelope.feasibility, expected);
    let decision = envelope.decision;
    assert_eq!(decision.recommended_operation, Operation::AskUser);
    assert!(decision.is_forced_imperfection && !decision.should_continue_optimize);
    assert!(!envelope.metrics.can_close);
}

#[test]
fn sch_102_105_a_missing_profile_asks() {
    let mut now = three_days();
    now.task_classes[0].subject_type = None;
    now.task_classes[1].difficulty_level = None;
    let envelope = look(&now);
    let expected = ClassProfile {
        missing_subject_type: 1,
        missing_difficulty_level: 1,
        missing_cognitive_intensity: 0,
        complete: 1,
    };
    assert_eq!(envelope.metrics.profile, Some(expected));
    assert_eq!(envelope.decision.recommended_operation, Operation::AskUser);
    assert!(!envelope.decision.is_forced_imperfection);
    assert_eq!(ids(&envelope), ["close"]);
}

#[test]
fn sch_104_demanding_neighbours_of_one_type_are_acceptable() {
    let mut now = mixed(1, vec![at(1, 1, 1, 1, 2), at(2, 2, 1, 3, 4)]);
    now.task_classes[1] = heavy(2, SubjectType::Quantitative);
    let envelope = look(&now);
    assert_eq!(
        envelope
            .metrics
            .rhythm
            .as_ref()
            .unwrap()
            .heavy_adjacent_days,
        1
    );
    assert!(envelope.metrics.can_close);
    assert_eq!(envelope.decision.recommended_operation, Operation::Close);
    assert_eq!(envelope.decision.primary_problem, None);
}

/// Returns a schedule in which tasks 1 and 2 are the problem of day 1; task 3 is easy; day 3 is
/// empty.
fn repairable() -> ScheduleState {
    mixed(
        3,
        vec![at(1, 1, 1, 1, 2), at(2, 2, 1, 3, 4), at(3, 3, 2, 1, 2)],
    )
}

/// Moving 1 or 2 to the empty day leaves no switch at all: 1000 + 20 + 100, less two days and
/// nothing for the section: 1116. A section further costs 1. A swap keeps one switch:
/// 1000 - 4 + 10, and 12 in the ranking: 1018.
#[test]
fn sch_108_candidates_are_ranked_by_what_they_gain_and_cost() {
    let envelope = look(&repairable());
    assert_eq!(
        ids(&envelope),
        [
            "move_1_3_1",
            "move_2_3_3",
            "move_1_3_2",
            "move_2_3_2",
            "move_2_3_4",
            "close"
        ]
    );
    let decision = &envelope.decision;
    assert_eq!(decision.recommended_operation, Operation::Move);
    assert_eq!(
        decision.primary_problem.as_deref(),
        Some("day 1: Class 1 next to Class 2, both demanding")
    );
    assert_eq!(
        decision.problem_scope,
        Some(ProblemScope {
            day_range: [1, 1],
            task_ids: vec![1, 2]
        })
    );
    assert_eq!(
        decision.candidates[0],
        HealthCandidate {
            candidate_id: "move_1_3_1".into(),
            tool: "move".into(),
            arguments: json!({"task_id": 1, "new_day": 3, "new_slot_start": 1}),
            summary: "move task 1 \"Item 1\" (day 1, section 1) to day 3, section 1".into(),
            effect: ChangeEffect::Improve,
            after: After {
                can_close: true,
                primary_problem: None,
                recommended_operation: Operation::Close,
                heavy_adjacent_days: 0,
                max_switch_count: 0,
                same_type_transition_ratio: 1.0,
            },
        }
    );
    assert_eq!(
        decision.improvement_signal,
        "problem_days=1;heavy_adjacent_days=1;max_switch_count=1;same_type_ratio=0.00;\
         non_forced_heavy_days=1;local_moves=3;swap_options=3;tightness=tight;operation=move;\
         missing_profile=0;capacity_gap=0"
    );
}

/// Both problem days are repaired by a move to the day beside them, so the worth is the same; on the
/// shorter one the switch is all that is there, so it is worse.
#[test]
fn sch_108_among_equals_the_worse_problem_goes_first_and_then_the_earlier() {
    let first = |last_day: [ScheduleTask; 2]| {
        let mut tasks = vec![at(1, 1, 1, 1, 2), at(2, 2, 1, 3, 4)];
        tasks.extend(last_day);
        let decision = look(&mixed(4, tasks)).decision;
        decision.problem_scope.map(|scope| scope.day_range)
    };
    let as_bad = [at(3, 1, 4, 1, 2), at(4, 2, 4, 3, 4)];
    assert_eq!(first(as_bad), Some([1, 1]));
    let worse = [at(3, 1, 4, 1, 1), at(4, 2, 4, 2, 2)];
    assert_eq!(first(worse), Some([4, 4]));
}

#[test]
fn sch_107_only_swaps_are_left_where_nothing_is_free() {
    let mut tasks = repairable().tasks;
    tasks.extend([
        course(4, "A", 1, 5, 12),
        course(5, "B", 2, 3, 12),
        course(6, "C", 3, 1, 12),
    ]);
    let envelope = look(&mixed(3, tasks));
    assert_eq!(ids(&envelope), ["swap_1_3", "swap_2_3", "close"]);
    assert_eq!(envelope.decision.recommended_operation, Operation::Swap);
    assert_eq!(
        envelope.metrics.tightness,
        Some(Tightness {
            locally_movable_task_count: 0,
            avg_local_alternative_slots: 0.0,
            cross_class_swap_options: 3,
            forced_heavy_adjacent_days: 0,
            tightness_level: TightnessLevel::Tight,
        })
    );
}

#[test]
fn sch_103_tightness_by_hand() {
    let loose = [
        at(1, 1, 1, 1, 2),
        at(2, 2, 1, 3, 4),
        at(3, 3, 2, 1, 2),
        at(4, 4, 2, 3, 4),
    ];
    assert_eq!(
        look(&mixed(2, loose.to_vec())).metrics.tightness,
        Some(Tightness {
            locally_movable_task_count: 4,
            avg_local_alternative_slots: 4.0,
            cross_class_swap_options: 6,
            forced_heavy_adjacent_days: 0,
            tightness_level: TightnessLevel::Loose,
        })
    );
}

#[test]
fn sch_105_a_locked_schedule_is_a_forced_imperfection() {
    // The third neighbour is longer, so nothing can swap, and everything else is taken.
    let now = mixed(
        1,
        vec![
            at(1, 1, 1, 1, 2),
            at(2, 2, 1, 3, 5),
            course(3, "A", 1, 6, 12),
        ],
    );
    let envelope = look(&now);
    let tightness = envelope.metrics.tightness.as_ref().unwrap();
    assert_eq!(tightness.tightness_level, TightnessLevel::Locked);
    assert_eq!(tightness.forced_heavy_adjacent_days, 1);
    assert!(envelope.decision.is_forced_imperfection);
    assert!(!envelope.decision.should_continue_optimize);
    assert_eq!(ids(&envelope), ["close"]);
}

#[test]
fn sch_109_room_that_does_not_help_is_a_forced_imperfection_too() {
    let now = mixed(1, vec![at(1, 1, 1, 1, 2), at(2, 2, 1, 3, 4)]);
    let envelope = look(&now);
    let tightness = envelope.metrics.tightness.as_ref().unwrap();
    assert_eq!(tightness.tightness_level, TightnessLevel::Tight);
    assert!(envelope.decision.is_forced_imperfection);
    assert_eq!(envelope.decision.recommended_operation, Operation::Close);
    assert_eq!(ids(&envelope), ["close"]);
}

#[test]
fn sch_106_the_priority_of_a_problem_day_by_hand() {
    let now = repairable();
    let board = Board::new(&now);
    let priority = candidates::priority(&board, &Diagnosis::of(&board), 1);
    // One switch, a third of the possible ones, two classes.
    assert!(
        (priority - (300.0 + 8.0 + 20.0 / 3.0 + 15.0)).abs() < 1e-9,
        "{priority}"
    );
}

#[test]
fn sch_96_arguments_are_strict() {
    let parse = |json: &str| serde_json::from_str::<AnalyzeHealthArgs>(json);
    let all = parse(r#"{"dimensions": ["rhythm"], "threshold": "strict", "detail": "full"}"#);
    assert_eq!(
        all.unwrap(),
        AnalyzeHealthArgs {
            dimensions: vec![Dimension::Rhythm],
            threshold: Threshold::Strict,
            detail: DiagnosisDetail::Full,
        }
    );
    assert!(parse(r#"{"dimension": ["rhythm"]}"#).is_err());
    assert!(parse(r#"{"threshold": "harsh"}"#).is_err());
    assert!(parse(r#"{"dimensions": ["mood"]}"#).is_err());
    let only = AnalyzeHealthArgs {
        dimensions: vec![Dimension::Profile],
        ..Default::default()
    };
    let metrics = analyze_health(&three_days(), &only, &WriteOptions::default()).metrics;
    assert_eq!((metrics.rhythm, metrics.tightness), (None, None));
    assert!(metrics.profile.is_some());
}

#[test]
fn sch_97_the_envelope_survives_a_round_trip() {
    let envelope = look(&three_days());
    let json = serde_json::to_string(&envelope).unwrap();
    assert_eq!(serde_json::from_str::<Envelope>(&json).unwrap(), envelope);
}

/// No single change parts two pairs of one day, but four sections could go anywhere in it.
#[test]
fn sch_109_no_repair_is_no_force_where_there_is_plenty_of_room() {
    let one_day = [
        at(1, 1, 1, 1, 1),
        at(2, 2, 1, 2, 2),
        at(3, 1, 1, 3, 3),
        at(4, 2, 1, 4, 4),
    ];
    let envelope = look(&mixed(1, one_day.to_vec()));
    let tightness = envelope.metrics.tightness.as_ref().unwrap();
    assert_eq!(tightness.tightness_level, TightnessLevel::Loose);
    assert!(envelope.decision.problem_scope.is_some());
    assert!(!envelope.decision.is_forced_imperfection);
    assert_eq!(ids(&envelope), ["close"]);
}

#[test]
fn sch_109_changing_nothing_is_always_a_choice() {
    for now in [
        repairable(),
        mixed(1, vec![at(1, 3, 1, 1, 2)]),
        three_days(),
    ] {
        let decision = look(&now).decision;
        let close = decision.candidates.last().unwrap();
        assert_eq!(
            (close.candidate_id.as_str(), close.effect),
            ("close", ChangeEffect::Close)
        );
        assert!(decision.candidates.len() > 1 || !decision.should_continue_optimize);
    }
}

#[test]
fn sch_107_effects_by_hand() {
    let rank = |problems: &[u16], max_switches| candidates::ScheduleRank {
        totals: rhythm::Totals {
            max_switches,
            ..rhythm::Totals::default()
        },
        problems: problems.to_vec(),
    };
    let of = |after: &[u16], switches| ChangeEffect::of(&rank(&[1, 2], 1), &rank(after, switches));
    assert_eq!(of(&[2], 1), ChangeEffect::Improve);
    assert_eq!(of(&[2], 2), ChangeEffect::PartialImprove);
    assert_eq!(of(&[1, 3], 1), ChangeEffect::Shift);
    assert_eq!(of(&[1, 2], 1), ChangeEffect::NoGain);
    assert_eq!(of(&[1, 2, 3], 1), ChangeEffect::Regress);
}

#[test]
fn sch_111_refining_repairs_everything_and_ends() {
    let mut now = repairable();
    let refined = refine(&mut now, 10, &WriteOptions::default());
    assert_eq!((refined.rounds, refined.end), (1, RefineEnd::Closed));
    assert_eq!(now.task(1).unwrap().slots, [Slot::new(3, 1, 2)]);
    assert!(look(&now).metrics.can_close);
    let mut again = repairable();
    let stopped = refine(&mut again, 0, &WriteOptions::default());
    assert_eq!((stopped.end, again), (RefineEnd::RoundsUsed, repairable()));
}
