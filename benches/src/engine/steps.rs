//! Runs without a log.
use fugato_graph::{Graph, Runner};

use super::graphs;
use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
    subject::{Campaign, Count, Still, Talk, Tally, Ticket, Wide},
    workload::Workload,
};

pub(super) fn start(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, runner) = (runtime()?, Runner::ephemeral(graphs::chain(1)?));
    rounds(setting, size, || {
        let (done, spent) = timed(|| {
            runtime.block_on(async {
                for _ in 0..size {
                    runner.run_on(Still::default(), ()).await?;
                }
                Ok::<_, BoxError>(())
            })
        });
        done?;
        Ok(spent)
    })
}

pub(super) fn chain(size: u64, weight: usize, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, runner) = (runtime()?, Runner::ephemeral(graphs::chain(size)?));
    rounds(setting, size, || {
        let state = Still {
            weight: "x".repeat(weight),
        };
        let (done, spent) = timed(|| runtime.block_on(runner.run_on(state, ())));
        done?;
        Ok(spent)
    })
}

pub(super) fn build(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    rounds(setting, size, || {
        let (graph, spent) = timed(|| graphs::chain(size));
        graph?;
        Ok(spent)
    })
}

pub(super) fn cycle(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let runner = Runner::ephemeral(graphs::cycle()?).step_limit(u64::MAX);
    rounds(setting, size, || {
        let state = Count {
            reached: 0,
            wanted: size,
        };
        let (done, spent) = timed(|| runtime.block_on(runner.run_on(state, ())));
        assert_eq!(done?.state().reached, size, "the node counts to the end");
        Ok(spent)
    })
}

pub(super) fn talk(
    workload: Workload,
    size: u64,
    setting: &Setting,
) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let graph = match workload {
        Workload::React => graphs::react(size)?,
        _ => graphs::talk(size)?,
    };
    let runner = Runner::ephemeral(graph).step_limit(u64::MAX);
    rounds(setting, workload.units(size), || {
        let state = Talk::of_turns(size);
        let (said, spent) = timed(|| {
            let ended = runtime.block_on(runner.run_on(state, ()))?;
            Ok::<_, BoxError>(ended.state().messages.len())
        });
        assert_eq!(said? as u64, 2 * size, "each step says one thing");
        Ok(spent)
    })
}

pub(super) fn fan_out(
    graph: Graph<Tally>,
    size: u64,
    setting: &Setting,
) -> Result<Measurement, BoxError> {
    let (runtime, runner) = (runtime()?, Runner::ephemeral(graph));
    rounds(setting, size, || {
        let state = Tally {
            items: size,
            ..Tally::default()
        };
        let (done, spent) = timed(|| runtime.block_on(runner.run_on(state, ())));
        assert_eq!(
            done?.state().squares.len() as u64,
            size,
            "each worker leaves one square"
        );
        Ok(spent)
    })
}

pub(super) fn campaign(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, runner) = (runtime()?, Runner::ephemeral(graphs::campaign()?));
    rounds(setting, Workload::FanOutSubgraph.units(size), || {
        let state = Campaign::of_subjects(size);
        let (done, spent) = timed(|| runtime.block_on(runner.run_on(state, ())));
        let done = done?;
        let campaign = done.state();
        assert!(
            campaign.is_over() && campaign.length.is_some(),
            "all is written"
        );
        Ok(spent)
    })
}

pub(super) fn ticket(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, runner) = (runtime()?, Runner::ephemeral(graphs::ticket()?));
    rounds(setting, Workload::WideState.units(size), || {
        let state = Ticket::until(size);
        let (done, spent) = timed(|| runtime.block_on(runner.run_on(state, ())));
        let done = done?;
        let Ticket {
            messages,
            responses,
            ..
        } = done.state();
        assert_eq!((messages.len(), responses.len()), Ticket::expected(size));
        Ok(spent)
    })
}

pub(super) fn wide(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, runner) = (runtime()?, Runner::ephemeral(graphs::wide()?));
    rounds(setting, Workload::Wide.units(size), || {
        let state = Wide::of_rounds(size);
        let (rounds, spent) = timed(|| {
            let ended = runtime.block_on(runner.run_on(state, ()))?;
            Ok::<_, BoxError>(ended.state().rounds)
        });
        assert_eq!(rounds?, size, "every round is counted");
        Ok(spent)
    })
}
