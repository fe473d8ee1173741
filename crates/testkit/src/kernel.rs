//! The conformance suite of the graph engine on a log: its rules K1 to K24, K29, K32 and K35, the
//! eager schedule, and what one append contains.
//!
//! Each scenario is a public function whose name begins with its rule, and with the known defects
//! of other engines, D1 to D35, that cannot happen where it holds.
//! Most are scripts with one snapshot: its lines after `>` run on the log, and what is seen of them
//! stands below each, down to the records of every append. It is the same on every log.
//! [`kernel_suite!`](crate::kernel_suite) makes a test of each, on the logs of a
//! [`LogFactory`].
#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expect-test writes snapshots like this"
)]

mod amid;
mod answer_schema;
mod appends;
mod asking;
mod build;
mod change;
mod compaction;
mod consent;
mod cost;
mod crash;
mod doubts;
mod drive;
mod durability;
mod eager;
mod effects;
mod ephemeral;
mod fixture;
mod kept;
mod leases;
mod preview;
mod recording;
mod replay;
mod requests;
mod retention;
mod scopes;
mod script;
mod sight;
mod steps;
mod stops;
mod stored;
mod time;
mod time_travel;
mod transcript;
mod wiring;
mod world;
mod writing;

use futures::future::BoxFuture;

use crate::log::{CheckResult, Failure, LogFactory};

pub use recording::{AppendFault, RecordingLog};
pub use replay::replay_check;

macro_rules! scenarios {
    (($d:tt) $($module:ident: $($scenario:ident)*;)*) => {
        $(pub use $module::{$($scenario),*};)*

        /// The names of the scenarios.
        pub const SCENARIOS: &[&str] = &[$($(stringify!($scenario)),*),*];

        /// Runs the scenario of this name, for [a while](LogFactory::patience) at most: on a broken
        /// log it might wait for ever.
        pub async fn run(scenario: &str, factory: &dyn LogFactory) -> CheckResult {
            let ran: BoxFuture<'_, CheckResult> = match scenario {
                $($(stringify!($scenario) => Box::pin($scenario(factory)),)*)*
                _ => return Err(Failure::new(format!("there is no scenario {scenario:?}"))),
            };
            let patience = factory.patience();
            let late = |_| Failure::new(format!("the scenario came to no end within {patience:?}"));
            tokio::time::timeout(patience, ran).await.map_err(late)?
        }

        /// Returns true if the scenario of this name is in the [`share`](crate::share) that is tried.
        pub fn is_in_share(scenario: &str) -> bool {
            let place = SCENARIOS.iter().position(|name| *name == scenario);
            place.is_some_and(|place| place % crate::share() == 0)
        }

        /// Makes one `#[tokio::test]` of each scenario of [`kernel`](mod@crate::kernel), which
        /// runs it on the log of the given [`LogFactory`](crate::log::LogFactory). The expression
        /// is evaluated for each test. The crate needs tokio with its features `macros` and
        /// `rt-multi-thread`.
        ///
        /// If a log needs a server that may be missing, `kernel_suite!(factory, if there)` checks
        /// `there` first, and the tests pass without it. `kernel_suite!(factory, if there, in shares)`
        /// tries a [`share`](crate::share) of the scenarios, where a server is slow.
        #[macro_export]
        macro_rules! kernel_suite {
            ($d factory:expr) => {
                $crate::kernel_suite!($d factory, if true);
            };
            ($d factory:expr, if $d there:expr) => {
                $crate::kernel_suite!(@of |_: &str| true, $d factory, if $d there);
            };
            ($d factory:expr, if $d there:expr, in shares) => {
                $crate::kernel_suite!(@of $crate::kernel::is_in_share, $d factory, if $d there);
            };
            (@of $d tried:expr, $d factory:expr, if $d there:expr) => {
                $($(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                    async fn $scenario() -> $crate::log::CheckResult {
                        if ($d tried)(stringify!($scenario)) && $d there {
                            $crate::kernel::run(stringify!($scenario), &$d factory).await?;
                        }
                        Ok(())
                    }
                )*)*
            };
        }
    };
}

scenarios! {
    ($)
    steps:
        k1_d10_only_apply_changes_state
        k1_d32_d33_applying_in_place_copies_nothing
        k2_tasks_of_a_step_run_at_the_same_time
        k2_d16_updates_fold_in_path_order
        k2_only_closing_records_are_checkpoints
        k2_one_append_is_in_flight
        k3_d1_a_failing_router_leaves_the_step_open
        k3_routers_run_on_the_folded_state;
    kept:
        k4_d14_retry_runs_only_what_failed
        k4_siblings_finish_before_the_run_fails
        k4_a_question_keeps_finished_siblings
        k4_a_crash_keeps_finished_siblings
        k4_the_crash_limit_has_its_own_error
        k4_a_new_run_forgets_the_failed_one
        k4_a_panic_is_a_failure;
    build:
        k5_build_rejects
        k5_d8_an_undeclared_target_is_an_error
        k5_a_half_filled_join_is_an_error
        k5_d9_arrivals_at_one_node_are_one_task
        k5_a_scatter_over_nothing_goes_on
        k5_the_step_limit_has_its_own_error;
    cost:
        k6_d31_what_a_step_appends_is_constant;
    asking:
        k7_several_questions_are_open_at_once
        k7_d19_ids_are_never_used_again
        k7_d5_d25_a_node_asks_midway
        k7_d3_an_answer_goes_to_the_question_of_its_name
        k7_a_malformed_question_is_an_error
        k8_d4_a_wrong_answer_changes_nothing
        k8_an_approval_of_something_else_is_refused
        k8_an_expired_question_is_no_dead_end
        k9_d6_d17_an_answer_touches_only_its_task;
    amid:
        k7_an_answer_is_taken_while_siblings_work
        k7_an_answer_is_taken_in_an_eager_run
        k7_an_answer_amid_siblings_is_stored_at_once
        k8_a_wrong_answer_amid_siblings_changes_nothing
        k9_an_answer_amid_siblings_touches_only_its_task
        k12_a_repeat_of_an_answer_amid_siblings_attaches
        k21_a_question_inside_is_answered_amid_siblings
        k35_an_approval_amid_siblings_needs_its_id
        k2_what_finished_tasks_found_is_readable_at_once;
    consent:
        k35_an_approval_needs_its_id
        k35_an_id_belongs_to_one_incarnation
        k35_a_changed_value_is_asked_anew
        k35_a_changed_value_of_a_node_is_asked_anew
        k35_a_repeat_approves_nothing_else
        k35_a_repeat_inside_a_subgraph_approves_nothing_else
        k35_an_answer_records_its_origin
        k35_a_node_acts_on_what_was_shown
        k35_a_card_of_an_older_program_is_asked_anew;
    writing:
        k13_of_two_runs_one_is_refused
        k13_an_old_owner_writes_nothing
        k13_a_moved_head_is_a_conflict
        k13_a_lost_answer_writes_nothing_twice
        k15_a_step_is_durable_before_the_next
        k15_start_to_pause_and_answer_to_end_are_one_append_each
        k15_a_failed_write_stops_the_run
        k15_a_thread_at_rest_is_free;
    stored:
        k16_d30_bytes_are_linear_and_opening_is_bounded
        k16_a_damaged_snapshot_is_ignored
        k16_replay_calls_apply_only
        k16_what_is_too_large_is_an_error
        k16_many_large_outcomes_are_stored
        k16_d11_types_survive_a_resume
        k16_d26_another_format_is_refused;
    answer_schema:
        k20_an_answer_that_fits_both_schemas_is_taken
        k20_an_answer_that_no_longer_fits_is_asked_anew
        k20_an_answer_that_a_node_cannot_read_fails_its_task;
    change:
        k20_d7_a_renamed_node_is_refused_or_followed
        k20_half_filled_joins_follow_a_rename
        k20_a_shape_that_changed_without_a_version_is_named
        k20_other_changes_go_on_and_are_recorded
        k20_a_repeated_request_goes_on_with_no_run_whose_nodes_are_gone
        k20_a_log_that_opens_a_task_twice_is_refused
        k20_a_newer_state_migrates_behind_a_barrier
        k21_a_newer_state_inside_goes_on;
    preview:
        k32_a_preview_is_what_opening_does
        k32_a_preview_takes_no_lease
        k32_a_preview_looks_at_questions
        k32_a_preview_names_doubts
        k32_a_preview_tells_a_migration
        k32_a_preview_tells_what_cannot_be_folded;
    sight:
        k22_a_cursor_misses_nothing_durable
        k22_durable_events_leave_after_their_append
        k22_d34_a_reader_that_lags_reads_the_log
        k22_dropping_detaches_and_late_readers_catch_up
        k22_a_refusal_is_an_event
        k22_who_comes_while_it_is_stored_misses_nothing;
    ephemeral:
        k23_an_ephemeral_run_goes_on_elsewhere;
    effects:
        k10_pure_writes_nothing
        k10_a_receipt_rides_in_the_next_append
        k10_once_costs_two_commits
        k10_every_class_but_pure_is_a_barrier
        k10_a_receipt_is_replayed_by_a_retry
        k10_a_receipt_is_replayed_after_a_question
        k10_a_receipt_is_replayed_after_a_crash
        k10_keyed_has_the_same_key_in_every_attempt
        k10_actions_of_one_node_run_at_the_same_time
        k10_a_key_belongs_to_its_task_or_to_the_thread
        k10_the_lease_outlives_the_action
        k10_what_did_not_happen_may_be_tried_again
        k10_an_action_without_time_is_an_error
        k10_an_effect_that_its_node_drops_before_it_began_is_waited_for_by_nobody
        k11_d12_another_input_is_an_error
        k11_the_error_names_both_inputs
        k11_a_fork_inherits_receipts_up_to_its_position;
    doubts:
        k10_d21_a_person_is_asked_about_a_doubt
        k10_a_node_of_another_kind_keeps_the_doubt
        k10_an_answer_of_another_type_is_asked_anew
        k10_reconcile_is_asked_first
        k10_nobody_is_asked_before_its_time
        k10_the_same_doubt_again_is_asked_anew
        k10_an_answer_to_a_doubt_survives_a_crash
        k10_no_node_can_lose_a_doubt
        k10_an_action_goes_on_without_its_node
        k10_what_ends_badly_is_in_doubt
        k10_no_task_can_lose_a_doubt_of_the_thread
        k10_a_settled_doubt_needs_no_further_call
        k10_an_operator_settles_a_doubt_of_the_thread;
    requests:
        k12_a_finished_request_is_told_again
        k12_a_failed_request_is_told_again
        k12_a_cancelled_request_is_told_again
        k12_a_parked_request_shows_its_questions
        k12_a_repeat_attaches_to_an_open_run
        k12_a_repeat_goes_on_after_a_crash
        k12_another_input_is_refused
        k12_keys_survive_compaction
        k12_keys_expire_by_age;
    leases:
        k14_a_busy_thread_refuses_others
        k14_a_lost_lease_stops_the_run
        k14_a_lease_that_nobody_took_goes_on
        k14_a_process_takes_nothing_from_itself
        k14_a_lease_is_renewed
        k14_a_cancel_signal_arrives_by_renewal
        k14_a_cancel_signal_arrives_by_append
        k14_there_may_be_nothing_to_cancel
        k14_time_is_the_stores
        k14_d20_a_clock_that_steps_back_restores_nothing_old;
    drive:
        k29_a_worker_takes_its_own_agents_threads
        k29_a_drive_says_what_comes_next
        k29_a_thread_that_is_held_is_retried_when_its_lease_ends
        k29_a_drive_yields_when_its_time_is_over
        k29_what_is_left_wakes_the_engine
        k29_a_question_is_left_to_nobody;
    durability:
        k15_a_batch_is_bounded_by_records
        k15_a_batch_is_bounded_by_time
        k15_a_start_can_be_stored_before_its_first_step
        k15_a_batch_waits_less_than_a_third_of_the_lease
        k15_at_pause_stores_at_pauses_effects_and_the_end
        k15_a_failed_write_stops_every_mode
        k15_no_snapshot_passes_the_durable_head
        k15_what_a_crash_loses_runs_again;
    compaction:
        k17_compaction_keeps_what_lies_after
        k17_compaction_keeps_forks
        k17_what_cannot_be_compacted_is_refused
        k17_removing_leaves_no_orphans
        k17_a_fork_stands_alone;
    retention:
        k17_a_finished_thread_is_kept_unless_somebody_says_otherwise
        k17_a_finished_thread_is_kept_for_a_while
        k17_a_finished_thread_is_deleted_at_once;
    time_travel:
        k18_history_and_states_can_be_read
        k18_a_fork_begins_at_a_checkpoint
        k18_an_operator_amends_what_rests
        k18_nothing_is_amended_in_a_run
        k18_an_operator_finishes_an_open_task
        k18_an_operator_finishes_a_failed_task
        k18_a_failed_run_stays_failed;
    time:
        k19_retries_survive_their_process
        k19_a_back_off_that_is_left_to_others_ends_at_its_time
        k19_a_crash_in_a_back_off_loses_no_try
        k19_a_policy_says_what_is_tried_again
        k19_a_failure_is_told_and_its_retry_can_be_cancelled
        k19_crashes_are_counted_apart_from_tries
        k4_a_task_that_kills_meets_its_limit
        k4_a_hand_over_is_no_crash
        k19_nodes_have_time_limits
        k19_a_time_limit_is_in_the_log;
    stops:
        k19_d24_cancelling_keeps_what_was_finished
        k19_cancelling_waits_for_an_action
        k19_cancelling_stops_subgraphs
        k19_what_waits_is_cancelled_at_once
        k19_each_budget_has_its_own_error
        k19_wall_time_is_a_budget;
    scopes:
        k21_a_subgraph_maps_in_and_out
        k21_subgraphs_run_at_the_same_time
        k21_questions_inside_are_answered
        k21_questions_inside_expire
        k21_a_retry_runs_only_the_inner_task
        k21_a_crash_inside_keeps_inner_tasks
        k21_a_mapping_that_fails_is_an_error
        k21_events_and_history_bear_the_scope
        k21_what_is_gone_inside_is_named
        k21_an_operator_finishes_a_task_inside
        k21_an_operator_finishes_a_subgraph
        k21_d18_open_scopes_survive_snapshots
        k21_effects_inside_belong_to_their_task
        k21_a_question_inside_keeps_its_siblings;
    eager:
        eager_d35_branches_do_not_wait_for_each_other
        eager_is_a_choice
        eager_scatters_are_barriers
        eager_questions_stop_no_other_branch
        eager_failures_keep_what_was_finished
        eager_routers_run_again_and_nodes_do_not
        eager_crashes_change_nothing;
    crash:
        k24_a_crash_at_any_append_changes_nothing
        k24_a_crash_never_repeats_an_effect;
    appends:
        append_of_single_task_steps
        append_of_parallel_tasks
        append_of_a_pause
        append_of_a_question_midway
        append_of_a_join
        append_of_an_effect
        append_of_a_retry
        append_of_a_subgraph
        append_of_a_cancellation_and_an_amendment
        append_of_a_fork;
}
