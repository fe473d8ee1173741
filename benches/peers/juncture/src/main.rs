//! The workloads on juncture.
use std::{collections::HashMap, process::ExitCode, sync::Arc};

use juncture::prelude::{
    Command, CompiledGraph, END, JunctureError, Message, PathMap, Router, RunnableConfig,
    SendTarget, State, StateGraph,
};
use juncture_core::node::{NodeFnCommand, NodeFnUpdate};
use juncture_derive::State;
use peer_harness::{Bench, BoxError, agent_says, answer, measure::Measurement, tool_says};
use serde::{Deserialize, Serialize};

const NO_CHECKPOINTS: &str = "running a graph to its end writes no checkpoint";

fn main() -> ExitCode {
    answer(|bench| {
        let measured = match bench.workload.as_str() {
            "start" => start(bench)?,
            "chain" => chain(bench, 0)?,
            "heavy-chain" => chain(bench, 100_000)?,
            "cycle" => cycle(bench)?,
            "loop" => talk(bench)?,
            "fan-out" => fan_out(bench)?,
            "wide" => wide(bench)?,
            "events" => return Ok(Err("a node hands over its events only when it ends")),
            _ => return Ok(Err(NO_CHECKPOINTS)),
        };
        Ok(Ok(measured))
    })
}

#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
struct Still {
    weight: String,
}

#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
struct Count {
    reached: u64,
}

#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
struct Talk {
    #[reducer(append)]
    messages: Vec<Message>,
}

#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
struct Tally {
    item: u64,
    #[reducer(append)]
    squares: Vec<u64>,
    sum: u64,
}

#[derive(State, Debug, Clone, Default, Serialize, Deserialize)]
struct Wide {
    #[reducer(custom = merge)]
    values: HashMap<Arc<str>, u64>,
    rounds: u64,
}

fn merge(values: &mut HashMap<Arc<str>, u64>, change: HashMap<Arc<str>, u64>) {
    values.extend(change);
}

fn config(steps: u64) -> Result<RunnableConfig, BoxError> {
    let mut config = RunnableConfig::new();
    config.recursion_limit = usize::try_from(steps + 10)?;
    Ok(config)
}

fn start(bench: &Bench) -> Result<Measurement, BoxError> {
    let graph = still(1)?;
    let config = config(1)?;
    bench.rounds(
        bench.size,
        || Ok(()),
        |()| async {
            for _ in 0..bench.size {
                graph.invoke_async(Still::default(), &config).await?;
            }
            Ok(())
        },
    )
}

fn chain(bench: &Bench, weight: usize) -> Result<Measurement, BoxError> {
    let (graph, config) = (&still(bench.size)?, &config(bench.size)?);
    let prepare = || {
        Ok(Still {
            weight: "x".repeat(weight),
        })
    };
    bench.rounds(bench.size, prepare, |state| async move {
        graph.invoke_async(state, config).await?;
        Ok(())
    })
}

fn still(nodes: u64) -> Result<CompiledGraph<Still>, BoxError> {
    let mut graph = StateGraph::<Still>::new();
    for number in 0..nodes {
        let name = format!("node-{number}");
        let nothing = NodeFnUpdate(|_: &Still| async { Ok(StillUpdate::default()) });
        graph.add_node_simple(&name, nothing)?;
        match number.checked_sub(1) {
            Some(last) => graph.add_edge(format!("node-{last}"), name),
            None => graph.set_entry_point(name),
        }
    }
    graph.add_edge(format!("node-{}", nodes - 1), END);
    Ok(graph.compile()?)
}

fn cycle(bench: &Bench) -> Result<Measurement, BoxError> {
    let size = bench.size;
    let mut graph = StateGraph::<Count>::new();
    let count = NodeFnUpdate(|state: &Count| {
        let reached = state.reached + 1;
        async move {
            Ok(CountUpdate {
                reached: Some(reached),
            })
        }
    });
    graph.add_node_simple("count", count)?;
    graph.set_entry_point("count");
    let router = by(move |state: &Count| if state.reached < size { "count" } else { END });
    graph.add_conditional_edges("count", router, paths(&["count", END]));
    let (graph, config) = (&graph.compile()?, &config(size)?);
    bench.rounds(
        size,
        || Ok(Count::default()),
        |state| async move {
            graph.invoke_async(state, config).await?;
            Ok(())
        },
    )
}

/// Makes a closure a router; the signature tells the compiler that it lends from its argument.
fn by<S: State>(choose: impl Fn(&S) -> &str + Send + Sync + 'static) -> Arc<dyn Router<S>> {
    Arc::new(choose)
}

fn paths(targets: &[&str]) -> PathMap {
    let mut paths = PathMap::new();
    for target in targets {
        paths.insert(*target, *target);
    }
    paths
}

fn talk(bench: &Bench) -> Result<Measurement, BoxError> {
    let wanted = usize::try_from(2 * bench.size)?;
    let mut graph = StateGraph::<Talk>::new();
    for (name, message) in [
        ("agent", Message::ai(agent_says())),
        ("tools", Message::human(tool_says())),
    ] {
        let speak = NodeFnUpdate(move |_: &Talk| {
            let message = message.clone();
            async move {
                Ok(TalkUpdate {
                    messages: Some(vec![message]),
                })
            }
        });
        graph.add_node_simple(name, speak)?;
    }
    graph.set_entry_point("agent");
    graph.add_edge("agent", "tools");
    let router = by(move |state: &Talk| {
        if state.messages.len() < wanted {
            "agent"
        } else {
            END
        }
    });
    graph.add_conditional_edges("tools", router, paths(&["agent", END]));
    let (graph, config) = (&graph.compile()?, &config(2 * bench.size)?);
    bench.rounds(
        2 * bench.size,
        || Ok(Talk::default()),
        |state| async move {
            let done = graph.invoke_async(state, config).await?;
            if done.value.messages.len() == wanted {
                Ok(())
            } else {
                Err("not all was said".into())
            }
        },
    )
}

fn fan_out(bench: &Bench) -> Result<Measurement, BoxError> {
    let size = bench.size;
    let mut graph = StateGraph::<Tally>::new();
    let plan = NodeFnCommand(move |_: &Tally| async move {
        let target = |item: u64| {
            let state = serde_json::to_value(Tally {
                item,
                ..Tally::default()
            })
            .map_err(|error| JunctureError::execution(error.to_string()))?;
            Ok(SendTarget {
                node: "worker".into(),
                state,
                timeout: None,
            })
        };
        let targets = (0..size)
            .map(target)
            .collect::<Result<Vec<_>, JunctureError>>()?;
        Ok(Command::send(targets))
    });
    let worker = NodeFnUpdate(|state: &Tally| {
        let square = state.item * state.item;
        async move {
            Ok(TallyUpdate {
                squares: Some(vec![square]),
                ..TallyUpdate::default()
            })
        }
    });
    let join = NodeFnUpdate(|state: &Tally| {
        let sum = state.squares.iter().sum();
        async move {
            Ok(TallyUpdate {
                sum: Some(sum),
                ..TallyUpdate::default()
            })
        }
    });
    graph.add_node_simple("plan", plan)?;
    graph.add_node_simple("worker", worker)?;
    graph.add_node_simple("join", join)?;
    graph.set_entry_point("plan");
    graph.add_edge("plan", "worker");
    graph.add_edge("worker", "join");
    graph.add_edge("join", END);
    let (graph, config) = (&graph.compile()?, &config(10)?);
    bench.rounds(
        size,
        || Ok(Tally::default()),
        |state| async move {
            let done = graph.invoke_async(state, config).await?.value;
            let is_whole = done.squares.len() as u64 == size && done.sum > 0;
            if is_whole {
                Ok(())
            } else {
                Err(format!("{} squares", done.squares.len()).into())
            }
        },
    )
}

fn wide(bench: &Bench) -> Result<Measurement, BoxError> {
    let name = |key: u64| -> Arc<str> { format!("key-{key:04}").into() };
    let mut graph = StateGraph::<Wide>::new();
    for node in 0..10_u64 {
        let keys: Vec<Arc<str>> = (node * 100..(node + 1) * 100).map(name).collect();
        let grow = NodeFnUpdate(move |state: &Wide| {
            let grown = |key: &Arc<str>| (key.clone(), state.values.get(key).map_or(1, |v| v + 1));
            let values = Some(keys.iter().map(grown).collect());
            let rounds = (node == 9).then_some(state.rounds + 1);
            async move { Ok(WideUpdate { values, rounds }) }
        });
        graph.add_node_simple(format!("node-{node}"), grow)?;
        match node.checked_sub(1) {
            Some(last) => graph.add_edge(format!("node-{last}"), format!("node-{node}")),
            None => graph.set_entry_point("node-0"),
        }
    }
    let wanted = bench.size;
    let router = by(move |state: &Wide| if state.rounds < wanted { "node-0" } else { END });
    graph.add_conditional_edges("node-9", router, paths(&["node-0", END]));
    let (graph, config) = (&graph.compile()?, &config(10 * bench.size)?);
    let values: HashMap<Arc<str>, u64> = (0..1000).map(|key| (name(key), 0)).collect();
    let prepare = || {
        Ok(Wide {
            values: values.clone(),
            rounds: 0,
        })
    };
    bench.rounds(10 * bench.size, prepare, |state| async move {
        graph.invoke_async(state, config).await?;
        Ok(())
    })
}
