//! The conformance suite of the graph engine on a log: its rules K1 to K24, as far as they need no
//! effects, leases of many owners, timers or subgraphs.
//!
//! Each scenario is a public function whose name begins with its rule.
//! [`kernel_suite!`](crate::kernel_suite) makes a test of each, on the logs of a
//! [`LogFactory`].
mod appends;
mod asking;
mod build;
mod change;
mod cost;
mod crash;
mod desk;
mod kept;
mod machine;
mod recording;
mod replay;
mod sight;
mod steps;
mod stored;
mod writing;

use futures::future::BoxFuture;

use crate::log::{Failure, LogFactory};

pub use recording::{Cut, RecordingLog};
pub use replay::replay_check;

macro_rules! scenarios {
    (($d:tt) $($module:ident: $($scenario:ident)*;)*) => {
        $(pub use $module::{$($scenario),*};)*

        /// The names of the scenarios.
        pub const SCENARIOS: &[&str] = &[$($(stringify!($scenario)),*),*];

        /// Runs the scenario of this name, for a minute at most: on a log that breaks its promises
        /// it may wait for what never comes.
        pub async fn run(scenario: &str, factory: &dyn LogFactory) -> Result<(), Failure> {
            let ran: BoxFuture<'_, Result<(), Failure>> = match scenario {
                $($(stringify!($scenario) => Box::pin($scenario(factory)),)*)*
                _ => return Err(Failure::new(format!("there is no scenario {scenario:?}"))),
            };
            let minute = std::time::Duration::from_secs(60);
            let late = |_| Failure::new("the scenario came to no end within a minute");
            tokio::time::timeout(minute, ran).await.map_err(late)?
        }

        /// Makes one `#[tokio::test]` of each scenario of [`kernel`](mod@crate::kernel), which
        /// runs it on the log of the given [`LogFactory`](crate::log::LogFactory). The expression
        /// is evaluated for each test. The crate needs tokio with its features `macros` and
        /// `rt-multi-thread`.
        ///
        /// Where a log needs a server that may be missing, `kernel_suite!(factory, if there)` asks
        /// first, and the tests pass where it is not there.
        #[macro_export]
        macro_rules! kernel_suite {
            ($d factory:expr) => {
                $crate::kernel_suite!($d factory, if true);
            };
            ($d factory:expr, if $d there:expr) => {
                $($(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                    async fn $scenario() -> Result<(), $crate::log::Failure> {
                        if $d there {
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
        k1_only_apply_changes_state
        k1_applying_in_place_clones_nothing
        k2_tasks_of_a_step_run_at_the_same_time
        k2_updates_fold_in_path_order
        k2_only_closing_records_are_checkpoints
        k2_one_append_is_in_flight
        k3_a_failing_router_leaves_the_step_open
        k3_routers_run_on_the_folded_state;
    kept:
        k4_retry_runs_only_what_failed
        k4_siblings_finish_before_the_run_fails
        k4_a_question_keeps_finished_siblings
        k4_a_crash_keeps_finished_siblings
        k4_the_crash_limit_has_its_own_error
        k4_a_new_run_forgets_the_failed_one
        k4_a_panic_is_a_failure;
    build:
        k5_build_rejects
        k5_an_undeclared_target_is_an_error
        k5_a_half_filled_join_is_an_error
        k5_arrivals_at_one_node_are_one_task
        k5_a_scatter_over_nothing_goes_on
        k5_the_step_limit_has_its_own_error;
    cost:
        k6_what_a_step_appends_is_constant;
    asking:
        k7_several_questions_are_open_at_once
        k7_ids_are_never_used_again
        k7_a_node_asks_midway
        k7_a_malformed_question_is_an_error
        k8_a_wrong_answer_changes_nothing
        k8_an_approval_of_something_else_is_refused
        k8_an_expired_question_is_no_dead_end
        k9_an_answer_touches_only_its_task;
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
        k16_bytes_are_linear_and_opening_is_bounded
        k16_a_damaged_snapshot_is_ignored
        k16_replay_calls_apply_only
        k16_what_is_too_large_is_an_error
        k16_many_large_outcomes_are_stored
        k16_another_format_is_refused;
    change:
        k20_a_renamed_node_is_refused_or_followed
        k20_half_filled_joins_follow_a_rename
        k20_a_changed_schema_is_refused
        k20_other_changes_go_on_and_are_recorded
        k20_a_newer_state_migrates_behind_a_barrier;
    sight:
        k22_a_cursor_misses_nothing_durable
        k22_durable_events_leave_after_their_append
        k22_a_reader_that_lags_reads_the_log
        k22_dropping_detaches_and_late_readers_catch_up
        k22_a_refusal_is_an_event;
    machine:
        k23_a_machine_wakes_as_it_was
        k23_an_ephemeral_run_goes_on_elsewhere;
    crash:
        k24_a_crash_at_any_append_changes_nothing;
    appends:
        append_of_single_task_steps
        append_of_parallel_tasks
        append_of_a_pause
        append_of_a_question_midway
        append_of_a_join;
}
