//! Scenarios of signals to the owner of a thread.
use fugato_store::{LeaseOutcome, StoreErrorKind};

use super::{
    Failure, LogFactory,
    failure::{holds, kind, same},
    trial::{Trial, cancel, commit, thread},
};

/// Contract *signal*: any process can leave one, and the owner gets it once, in order.
pub async fn signal(factory: &dyn LogFactory) -> Result<(), Failure> {
    let mut trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    let missing = kind(trial.signal(&alpha, &cancel("nobody")).await);
    same("a signal to nobody", missing, Err(StoreErrorKind::NotFound))?;

    let fence = trial.acquire(&alpha, "owner", 1_000).await?.fence;
    for why in ["one", "two \"quoted\"\n", "三"] {
        same(
            "a signal",
            kind(trial.signal(&alpha, &cancel(why)).await),
            Ok(LeaseOutcome::Done),
        )?;
    }
    let lost = trial.log.append(&alpha, &commit(5, fence, &["x"])).await;
    holds(lost.is_err(), || {
        "an append at a head that is not there was written".into()
    })?;
    let appended = trial.log.append(&alpha, &commit(0, fence, &["a"])).await?;
    let all = vec![cancel("one"), cancel("two \"quoted\"\n"), cancel("三")];
    same(
        "signals with an append, after one that failed",
        appended.signals,
        all,
    )?;
    let appended = trial.log.append(&alpha, &commit(1, fence, &["b"])).await?;
    same("signals with the next append", appended.signals, vec![])?;

    trial.signal(&alpha, &cancel("four")).await?;
    trial.reopen().await?;
    let until = trial.clock.now() + 1_000;
    for signals in [vec![cancel("four")], vec![]] {
        let renewed = kind(trial.renew(&alpha, fence, 1_000).await);
        let expected = Ok(LeaseOutcome::Renewed { until, signals });
        same(
            "signals with a renewal, and with the next",
            renewed,
            expected,
        )?;
    }
    let appended = trial.log.append(&alpha, &commit(2, fence, &["c"])).await?;
    same(
        "signals with an append after a renewal",
        appended.signals,
        vec![],
    )
}
