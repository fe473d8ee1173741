//! Scenarios of the cost of a step, counted: K6.
use fugato_graph::{Context, END, Graph, RunnerOptions};

use super::fixture::{Change, Fixture, Page, finished, line};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

fn counting(steps: i64, idle: usize) -> Result<Graph<Page>, Failure> {
    let mut graph =
        Graph::<Page>::starting_at("a").node("a", async |_: Context<Page>| Change::Count(1));
    let mut to = vec!["a".to_owned(), END.to_owned()];
    for n in 0..idle {
        let name = format!("idle{n}");
        graph = graph
            .node(name.clone(), async |_: Context<Page>| ())
            .edge(name.clone(), END);
        to.push(name);
    }
    let round = move |page: &Page| if page.count < steps { "a" } else { END };
    Ok(graph.branch("a", to, round).build()?)
}

/// Returns the number of records of each commit, and their bytes.
async fn cost(
    factory: &dyn LogFactory,
    steps: i64,
    idle: usize,
    state: usize,
) -> Result<Vec<(usize, usize)>, Failure> {
    let desk = Fixture::of(factory).await?;
    let graph = counting(steps, idle)?;
    let runner = desk
        .runner(&graph)
        .options(RunnerOptions::default().step_limit(1_000_000));
    finished(runner.start(&desk.thread, line("x".repeat(state))).await)?;
    let size = |commit: &fugato_store::Commit| {
        let bytes = commit.records.iter().map(|record| record.0.len()).sum();
        (commit.records.len(), bytes)
    };
    Ok(desk.log.commits().iter().map(size).collect())
}

/// The records and bytes of a step do not grow with the number of nodes, the length of the log or
/// the size of the state.
pub async fn k6_d31_what_a_step_appends_is_constant(factory: &dyn LogFactory) -> CheckResult {
    let small = cost(factory, 1_200, 0, 10).await?;
    let wide = cost(factory, 120, 300, 100_000).await?;
    // The first commit has the input.
    let steps = |of: &[(usize, usize)]| of.get(1..119).map(<[_]>::to_vec);
    same(
        "steps of 300 nodes with 100 KB of state",
        steps(&wide),
        steps(&small),
    )?;
    let (Some((records, bytes)), Some((more, longer))) = (small.get(20), small.get(1_100)) else {
        return Err(Failure::new("there should be one commit a step"));
    };
    same("records of step 1,100", more, records)?;
    // Visit numbers gain two digits: in the task, and in the next one.
    holds(*longer <= bytes + 6, || {
        format!("step 1,100 appends {longer} bytes, step 20 {bytes}")
    })
}
