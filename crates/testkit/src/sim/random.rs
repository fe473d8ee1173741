//! Cases with several random faults, reduced to as few faults as break a promise.
use std::cell::RefCell;

use fugato_state::State;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use super::{
    Bench, BrokenPromise, SimReport,
    fault::{Plan, PlannedFault},
};
use crate::log::Failure;

/// Runs this many cases with two to four faults each, also while others recover from earlier ones.
pub(super) fn several<S: State>(
    bench: &Bench<S>,
    (cases, seed): (u32, u64),
    report: &mut SimReport,
) -> Result<(), BrokenPromise> {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 256,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes
        .iter_mut()
        .zip(seed.to_le_bytes())
        .for_each(|(byte, seed)| *byte = seed);
    let chance = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, chance);
    // Recovery passes points too, which come after the last point of a run without faults.
    let points = 2 * bench.whole.seen.points.len().max(1);
    let plans = proptest::collection::vec((1..=points, 0..60_usize), 2..=4);
    let (report, last) = (RefCell::new(report), RefCell::new(None));
    let tried = runner.run(&plans, |faults| {
        let wishes = faults
            .into_iter()
            .map(|(at, nth)| (at, PlannedFault::Any(nth)));
        match bench.try_out(Plan(wishes.collect())) {
            Ok(case) => {
                report.borrow_mut().take_in(&case.seen, false);
                Ok(())
            }
            Err(broken) => {
                *last.borrow_mut() = Some(broken);
                Err(TestCaseError::fail("a promise was broken"))
            }
        }
    });
    match tried {
        Ok(()) => Ok(()),
        // The last case that broke a promise is the smallest one.
        Err(TestError::Fail(..)) => Err(last.into_inner().unwrap_or_else(|| {
            BrokenPromise::of(Failure::new("a promise was broken, and nobody saw which"))
        })),
        Err(TestError::Abort(why)) => {
            Err(BrokenPromise::of(Failure::new(why.message().to_owned())))
        }
    }
}
