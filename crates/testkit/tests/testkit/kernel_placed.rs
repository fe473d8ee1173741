//! The graph engine keeps its rules on threads that an engine goes on with: here, the next loop.
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fugato_graph::{Drive, Next, RunError};
use fugato_state::ThreadId;
use fugato_store::MemoryLog;
use fugato_testkit::{
    kernel,
    log::{Abilities, CheckResult, LogFactory, OpenError, OpenedLog, PlacingEngine, TestClock},
};
use futures::{StreamExt as _, stream};

/// An engine whose drives yield as soon as they can.
#[derive(Default)]
struct YieldingEngine {
    /// True if it was given a thread.
    asked: AtomicBool,
}

#[async_trait::async_trait]
impl PlacingEngine for YieldingEngine {
    async fn place(&self, agent: Arc<dyn Drive>, thread: &ThreadId) -> Result<Next, RunError> {
        self.asked.store(true, Ordering::Relaxed);
        loop {
            match agent.drive(thread, Duration::ZERO).await? {
                Next::Yield => {}
                next => return Ok(next),
            }
        }
    }
}

#[async_trait::async_trait]
impl LogFactory for YieldingEngine {
    fn abilities(&self) -> Abilities {
        Abilities::log_only().with_snapshots().with_admin()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let clock = clock.clone();
        Ok(OpenedLog::whole(MemoryLog::with_clock(move || clock.now())))
    }

    fn engine(&self) -> Option<&dyn PlacingEngine> {
        Some(self)
    }
}

/// The scenarios with which no engine goes on, and the reasons.
const ALONE: [(&str, &[&str]); 6] = [
    (
        "what one process appends, keeps or reads is counted",
        &[
            "append_of_a_fork",
            "append_of_a_question_midway",
            "append_of_a_subgraph",
            "append_of_parallel_tasks",
            "k1_d32_d33_applying_in_place_copies_nothing",
            "k2_one_append_is_in_flight",
            "k6_d31_what_a_step_appends_is_constant",
            "k10_every_class_but_pure_is_a_barrier",
            "k15_a_batch_is_bounded_by_records",
            "k15_a_batch_is_bounded_by_time",
            "k15_a_batch_waits_less_than_a_third_of_the_lease",
            "k15_a_failed_write_stops_every_mode",
            "k15_a_start_can_be_stored_before_its_first_step",
            "k15_a_step_is_durable_before_the_next",
            "k15_a_thread_at_rest_is_free",
            "k15_no_snapshot_passes_the_durable_head",
            "k15_what_a_crash_loses_runs_again",
            "k16_a_damaged_snapshot_is_ignored",
            "k16_d30_bytes_are_linear_and_opening_is_bounded",
            "k16_many_large_outcomes_are_stored",
            "k16_replay_calls_apply_only",
            "k16_what_is_too_large_is_an_error",
        ],
    ),
    (
        "a run is watched, asked, joined or stopped in its process while it is under way",
        &[
            "k2_what_finished_tasks_found_is_readable_at_once",
            "k7_an_answer_amid_siblings_is_stored_at_once",
            "k7_an_answer_is_taken_in_an_eager_run",
            "k7_an_answer_is_taken_while_siblings_work",
            "k8_a_wrong_answer_amid_siblings_changes_nothing",
            "k9_an_answer_amid_siblings_touches_only_its_task",
            "k10_the_lease_outlives_the_action",
            "k12_a_repeat_attaches_to_an_open_run",
            "k12_a_repeat_of_an_answer_amid_siblings_attaches",
            "k13_a_moved_head_is_a_conflict",
            "k13_an_old_owner_writes_nothing",
            "k13_of_two_runs_one_is_refused",
            "k14_a_busy_thread_refuses_others",
            "k14_a_cancel_signal_arrives_by_renewal",
            "k14_a_lease_is_renewed",
            "k14_a_lease_that_nobody_took_goes_on",
            "k14_a_lost_lease_stops_the_run",
            "k14_a_process_takes_nothing_from_itself",
            "k14_time_is_the_stores",
            "k19_a_failure_is_told_and_its_retry_can_be_cancelled",
            "k19_cancelling_stops_subgraphs",
            "k19_cancelling_waits_for_an_action",
            "k19_d24_cancelling_keeps_what_was_finished",
            "k21_a_question_inside_is_answered_amid_siblings",
            "k21_events_and_history_bear_the_scope",
            "k22_a_cursor_misses_nothing_durable",
            "k22_d34_a_reader_that_lags_reads_the_log",
            "k22_dropping_detaches_and_late_readers_catch_up",
            "k22_durable_events_leave_after_their_append",
            "k22_who_comes_while_it_is_stored_misses_nothing",
            "k35_an_approval_amid_siblings_needs_its_id",
            "eager_d35_branches_do_not_wait_for_each_other",
            "eager_is_a_choice",
        ],
    ),
    (
        "the scenario itself chooses where a run dies, is driven or is handed over",
        &[
            "k4_a_hand_over_is_no_crash",
            "k4_a_task_that_kills_meets_its_limit",
            "k10_an_answer_to_a_doubt_survives_a_crash",
            "k10_keyed_has_the_same_key_in_every_attempt",
            "k10_nobody_is_asked_before_its_time",
            "k12_a_repeat_goes_on_after_a_crash",
            "k13_a_lost_answer_writes_nothing_twice",
            "k19_retries_survive_their_process",
            "k21_a_crash_inside_keeps_inner_tasks",
            "k24_a_crash_at_any_append_changes_nothing",
            "k24_a_crash_never_repeats_an_effect",
            "k29_a_drive_says_what_comes_next",
            "k29_a_drive_yields_when_its_time_is_over",
            "k29_a_question_is_left_to_nobody",
            "k29_a_thread_that_is_held_is_retried_when_its_lease_ends",
            "k29_a_worker_takes_its_own_agents_threads",
            "k29_what_is_left_wakes_the_engine",
            "eager_crashes_change_nothing",
        ],
    ),
    (
        "records are named by their positions, and each hand-over is one more",
        &[
            "k2_only_closing_records_are_checkpoints",
            "k11_a_fork_inherits_receipts_up_to_its_position",
            "k12_keys_survive_compaction",
            "k17_a_fork_stands_alone",
            "k17_compaction_keeps_forks",
            "k17_compaction_keeps_what_lies_after",
            "k17_what_cannot_be_compacted_is_refused",
            "k18_a_fork_begins_at_a_checkpoint",
            "k18_history_and_states_can_be_read",
            "k21_d18_open_scopes_survive_snapshots",
            "k32_a_preview_is_what_opening_does",
            "k32_a_preview_looks_at_questions",
            "k32_a_preview_names_doubts",
            "k32_a_preview_takes_no_lease",
        ],
    ),
    (
        "its graphs are no scripts: they have states, measures or nodes of their own",
        &[
            "k2_d16_updates_fold_in_path_order",
            "k2_tasks_of_a_step_run_at_the_same_time",
            "k10_a_key_belongs_to_its_task_or_to_the_thread",
            "k16_d11_types_survive_a_resume",
            "k16_d26_another_format_is_refused",
            "k19_each_budget_has_its_own_error",
            "k19_nodes_have_time_limits",
            "k19_wall_time_is_a_budget",
            "k20_a_log_that_opens_a_task_twice_is_refused",
            "k20_a_newer_state_migrates_behind_a_barrier",
            "k20_a_repeated_request_goes_on_with_no_run_whose_nodes_are_gone",
            "k20_a_shape_that_changed_without_a_version_is_named",
            "k20_other_changes_go_on_and_are_recorded",
            "k21_a_newer_state_inside_goes_on",
            "k32_a_preview_tells_a_migration",
            "k32_a_preview_tells_what_cannot_be_folded",
            "k35_a_card_of_an_older_program_is_asked_anew",
            "k35_an_answer_records_its_origin",
            "eager_failures_keep_what_was_finished",
            "eager_routers_run_again_and_nodes_do_not",
            "eager_scatters_are_barriers",
        ],
    ),
    (
        "nothing is left to go on with, or only if the engine is quick",
        &[
            "k5_build_rejects",
            "k12_a_cancelled_request_is_told_again",
            "k12_a_failed_request_is_told_again",
            "k12_a_parked_request_shows_its_questions",
            "k12_another_input_is_refused",
            "k12_keys_expire_by_age",
            "k17_a_finished_thread_is_deleted_at_once",
            "k17_a_finished_thread_is_kept_for_a_while",
            "k17_a_finished_thread_is_kept_unless_somebody_says_otherwise",
            "k17_removing_leaves_no_orphans",
            "k23_an_ephemeral_run_goes_on_elsewhere",
        ],
    ),
];

/// Every scenario is as it is without an engine, and only those that are named are without one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_engine_goes_on_with_all_scenarios_but_those_that_are_named() -> CheckResult {
    let tried = kernel::SCENARIOS.iter();
    let tried = tried.filter(|scenario| kernel::is_in_share(scenario));
    let ran = stream::iter(tried).map(|scenario| {
        tokio::spawn(async move {
            let placed = YieldingEngine::default();
            let verdict = kernel::run(scenario, &placed).await;
            (*scenario, verdict, placed.asked.into_inner())
        })
    });
    let ran: Vec<_> = ran.buffered(8).collect().await;
    let named: Vec<&str> = ALONE
        .iter()
        .flat_map(|(_, names)| *names)
        .copied()
        .collect();
    for scenario in ran {
        let (scenario, verdict, asked) = scenario.expect("a failure is no panic");
        verdict?;
        assert!(
            asked || named.contains(&scenario),
            "{scenario} had no engine"
        );
    }
    for name in named {
        assert!(kernel::SCENARIOS.contains(&name), "there is no {name}");
    }
    Ok(())
}
