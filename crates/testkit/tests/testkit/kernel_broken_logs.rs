//! The suite of the graph engine rejects logs that break their promises, at the rule they break.
use fugato_store::MemoryLog;
use fugato_testkit::{
    kernel::{SCENARIOS, is_in_share, run},
    log::{Abilities, BrokenLogs, Flaw, LogFactory, OpenError, OpenedLog, TestClock},
};

/// The flaws of logs, each with a scenario that must reject it.
const REJECTED: &[(Flaw, &str)] = &[
    (Flaw::LosesRecord, "k2_only_closing_records_are_checkpoints"),
    (
        Flaw::LosesRecord,
        "k24_a_crash_at_any_append_changes_nothing",
    ),
    (Flaw::IgnoresHead, "k13_a_moved_head_is_a_conflict"),
    (Flaw::IgnoresFence, "k13_an_old_owner_writes_nothing"),
    (Flaw::ForgetsNonce, "k13_a_lost_answer_writes_nothing_twice"),
    (Flaw::AppendsTwice, "k13_a_lost_answer_writes_nothing_twice"),
    (Flaw::StealsLease, "k13_of_two_runs_one_is_refused"),
    (Flaw::SharesLease, "k13_of_two_runs_one_is_refused"),
    (Flaw::LosesSignal, "k14_a_cancel_signal_arrives_by_append"),
    (Flaw::Lags, "k15_a_step_is_durable_before_the_next"),
    (Flaw::KeepsLease, "k15_a_thread_at_rest_is_free"),
    (Flaw::LosesRecord, "k16_replay_calls_apply_only"),
    (
        Flaw::DropsBase,
        "k20_a_newer_state_migrates_behind_a_barrier",
    ),
    (Flaw::LeavesGap, "k22_a_cursor_misses_nothing_durable"),
    (Flaw::SwapsOrder, "k22_a_cursor_misses_nothing_durable"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn broken_logs_are_rejected_at_the_rule_that_they_break() {
    for (flaw, scenario) in REJECTED {
        let rejected = run(scenario, &BrokenLogs::new(*flaw)).await;
        assert!(rejected.is_err(), "{scenario} accepts a log that {flaw:?}");
    }
}

struct LogOnly;

#[async_trait::async_trait]
impl LogFactory for LogOnly {
    fn abilities(&self) -> Abilities {
        Abilities::log_only()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let clock = clock.clone();
        let log = MemoryLog::with_clock(move || clock.now());
        let mut opened = OpenedLog::whole(log);
        (opened.snapshots, opened.admin) = (None, None);
        Ok(opened)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_log_without_snapshots_keeps_every_rule() {
    for scenario in SCENARIOS.iter().filter(|name| is_in_share(name)) {
        let ran = run(scenario, &LogOnly).await;
        assert_eq!(ran, Ok(()), "{scenario}");
    }
}
