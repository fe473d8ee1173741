//! The conformance suite of logs rejects broken logs, and checks declared abilities.
use std::collections::BTreeSet;

use fugato_store::MemoryLog;
use fugato_testkit::log::{
    Abilities, BrokenLog, BrokenLogs, Flaw, LogFactory, OpenError, OpenedLog, SCENARIOS, TestClock,
    agrees_with_the_model, exact, run,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_flaw_is_rejected_at_its_scenario() {
    for flaw in Flaw::ALL {
        let rejected = run(flaw.rejected_by(), &BrokenLogs::new(*flaw)).await;
        assert!(
            rejected.is_err(),
            "{} accepts a log that {flaw:?}",
            flaw.rejected_by()
        );
    }
}

#[test]
fn each_scenario_rejects_some_flaw() {
    let rejecting: BTreeSet<_> = Flaw::ALL.iter().map(|flaw| flaw.rejected_by()).collect();
    assert_eq!(rejecting, SCENARIOS.iter().copied().collect());
}

#[test]
fn the_model_rejects_what_it_can_see() {
    for flaw in [
        Flaw::LosesRecord,
        Flaw::IgnoresHead,
        Flaw::IgnoresFence,
        Flaw::ForgetsNonce,
        Flaw::AppendsTwice,
        Flaw::SwapsOrder,
        Flaw::StealsLease,
        Flaw::KeepsLease,
        Flaw::ClaimsYoungest,
        Flaw::LosesSignal,
        Flaw::FollowsClock,
        Flaw::CompactsAll,
        Flaw::LosesOnReopen,
    ] {
        let agreed = agrees_with_the_model(&BrokenLogs::new(flaw), 2_000);
        assert!(
            agreed.is_err(),
            "the model does not see that a log {flaw:?}"
        );
    }
}

#[tokio::test]
async fn what_is_not_exact_is_rejected() {
    let clock = TestClock::at(0);
    let log = |flaw| BrokenLog::new(flaw, &clock);
    let ran = [
        exact::names_are_names(&log(Flaw::MixesThreads), &["x", "X"]).await,
        exact::bytes_are_bytes(&log(Flaw::DropsBase)).await,
        exact::numbers_are_exact(&log(Flaw::IgnoresHead), 99).await,
        exact::leases_are_exact(&log(Flaw::LosesSignal)).await,
    ];
    let told = ran.map(|ran| {
        ran.err()
            .map_or_else(String::new, |failure| failure.to_string())
    });
    let expected = [
        "unexpected error",
        "the fold",
        "an append after",
        "the signals",
    ];
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.starts_with(expected), "{told}");
    }
}

/// A factory of complete logs, which declares any abilities.
struct Declares(Abilities);

#[async_trait::async_trait]
impl LogFactory for Declares {
    fn abilities(&self) -> Abilities {
        self.0
    }

    async fn fresh(&self, _: &TestClock) -> Result<OpenedLog, OpenError> {
        let mut opened = OpenedLog::whole(MemoryLog::default());
        opened.admin = None;
        Ok(opened)
    }
}

#[tokio::test]
async fn what_is_declared_must_be_there_and_what_is_there_declared() {
    let log_and_snapshots = Abilities::log_only().with_snapshots();
    for (declared, expected) in [
        (log_and_snapshots, Ok(())),
        (
            Abilities::log_only(),
            Err("snapshots: declared false, but there true"),
        ),
        (
            log_and_snapshots.with_admin(),
            Err("administration: declared true, but there false"),
        ),
        (
            log_and_snapshots.persistent(),
            Err("the factory failed: this factory declares persistent logs and cannot reopen them"),
        ),
    ] {
        let ran = run("reopening_loses_nothing", &Declares(declared)).await;
        let ran = ran.map_err(|failure| failure.to_string());
        assert_eq!(ran, expected.map_err(ToOwned::to_owned));
    }
}
