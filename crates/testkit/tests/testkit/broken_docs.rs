//! The conformance suite of document stores rejects broken stores.
use std::{collections::BTreeSet, sync::Arc};

use fugato_store::{DocStore, MemoryDocs};
use fugato_testkit::{
    doc::{BrokenDocs, DocFactory, DocFlaw, SCENARIOS, run},
    log::{OpenError, TestClock},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_flaw_is_rejected_at_its_scenario() {
    for flaw in DocFlaw::ALL {
        let rejected = run(flaw.rejected_by(), &BrokenDocs::new(*flaw)).await;
        assert!(
            rejected.is_err(),
            "{} accepts a store that {flaw:?}",
            flaw.rejected_by()
        );
    }
}

#[test]
fn each_scenario_rejects_some_flaw() {
    let rejecting: BTreeSet<_> = DocFlaw::ALL.iter().map(|flaw| flaw.rejected_by()).collect();
    assert_eq!(rejecting, SCENARIOS.iter().copied().collect());
}

/// A factory that declares an ability which it lacks.
struct Forgetful;

#[async_trait::async_trait]
impl DocFactory for Forgetful {
    async fn fresh(&self, _: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        Ok(Arc::new(MemoryDocs::default()))
    }

    fn persistent(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn what_is_declared_must_be_there() {
    let ran = run("reopening_loses_nothing", &Forgetful).await;
    let expected =
        "the factory failed: this factory declares persistent stores and cannot reopen them";
    assert_eq!(
        ran.map_err(|failure| failure.to_string()),
        Err(expected.to_owned())
    );
}
