//! The workloads on adk-graph.
use std::{pin::Pin, process::ExitCode, sync::Arc};

use adk_graph::{
    Channel, Checkpointer, CompiledGraph, END, ExecutionConfig, GraphError, MemoryCheckpointer,
    Node, NodeContext, NodeOutput, Reducer, START, SqliteCheckpointer, State, StateGraph,
    StateSchema, StreamEvent, StreamMode,
};
use async_trait::async_trait;
use futures::{Stream, StreamExt};
use peer_harness::{Bench, BoxError, agent_says, answer, measure::Measurement, tool_says};
use serde_json::{Map, Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

fn main() -> ExitCode {
    answer(|bench| {
        let measured = match bench.workload.as_str() {
            "start" => start(bench)?,
            "chain" => chain(bench, 0)?,
            "heavy-chain" => chain(bench, 100_000)?,
            "cycle" if bench.size > 100_000 => {
                return Ok(Err("needs minutes for a million steps"));
            }
            "cycle" => cycle(bench)?,
            "loop" if bench.size > 1000 => return Ok(Err("needs minutes for 10,000 turns")),
            "loop" => talk(bench, |_, graph| Ok(graph))?,
            "loop-memory" => talk(bench, |_, graph| {
                Ok(graph.with_checkpointer(MemoryCheckpointer::new()))
            })?,
            "loop-normal" => talk_in_sqlite(bench, SqliteSynchronous::Normal)?,
            "loop-full" => talk_in_sqlite(bench, SqliteSynchronous::Full)?,
            "grouped" => grouped(bench)?,
            "fan-out" if bench.size > 1000 => return Ok(Err("needs minutes for 10,000 workers")),
            "fan-out" => fan_out(bench)?,
            "wide" => wide(bench)?,
            "interrupt" => interrupts(bench)?,
            "events" => events(bench)?,
            "open" => open(bench)?,
            _ => return Ok(Err("was not written for this engine")),
        };
        Ok(Ok(measured))
    })
}

fn config(steps: u64, thread: &str) -> Result<ExecutionConfig, BoxError> {
    Ok(ExecutionConfig::new(thread).with_recursion_limit(usize::try_from(steps + 10)?))
}

fn number(state: &State, key: &str) -> u64 {
    state.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn still(nodes: u64) -> Result<CompiledGraph, BoxError> {
    let mut graph = StateGraph::with_channels(&["weight"]);
    let name = |number: u64| format!("node-{number}");
    for number in 0..nodes {
        let from = number.checked_sub(1).map_or(START.to_owned(), name);
        graph = graph
            .add_node_fn(&name(number), |_| async { Ok(NodeOutput::new()) })
            .add_edge(&from, &name(number));
    }
    Ok(graph.add_edge(&name(nodes - 1), END).compile()?)
}

fn start(bench: &Bench) -> Result<Measurement, BoxError> {
    let graph = still(1)?;
    bench.rounds(
        bench.size,
        || Ok(()),
        |()| async {
            for _ in 0..bench.size {
                graph.invoke(State::new(), config(1, "thread")?).await?;
            }
            Ok(())
        },
    )
}

fn chain(bench: &Bench, weight: usize) -> Result<Measurement, BoxError> {
    let graph = &still(bench.size)?;
    let prepare = || {
        Ok(State::from([(
            "weight".to_owned(),
            json!("x".repeat(weight)),
        )]))
    };
    bench.rounds(bench.size, prepare, |state| async move {
        graph.invoke(state, config(bench.size, "thread")?).await?;
        Ok(())
    })
}

fn cycle(bench: &Bench) -> Result<Measurement, BoxError> {
    let size = bench.size;
    let graph = &StateGraph::with_channels(&["reached"])
        .add_node_fn("count", |cx| async move {
            Ok(NodeOutput::new().with_update("reached", number(&cx.state, "reached") + 1))
        })
        .add_edge(START, "count")
        .add_conditional_edges(
            "count",
            move |state| {
                if number(state, "reached") < size {
                    "count"
                } else {
                    END
                }
                .to_owned()
            },
            [("count", "count"), (END, END)],
        )
        .compile()?
        .with_recursion_limit(usize::MAX);
    bench.rounds(
        size,
        || Ok(()),
        |()| async move {
            graph.invoke(State::new(), config(size, "thread")?).await?;
            Ok(())
        },
    )
}

fn said(state: &State) -> usize {
    state
        .get("messages")
        .and_then(Value::as_array)
        .map_or(0, Vec::len)
}

fn talk_graph(turns: u64) -> Result<CompiledGraph, BoxError> {
    let wanted = usize::try_from(2 * turns)?;
    let mut schema = StateSchema::new();
    schema
        .channels
        .insert("messages".into(), Channel::list("messages"));
    let mut graph = StateGraph::new(schema);
    let tool = json!({"role": "tool", "content": tool_says(), "tool_call_id": "call-1"});
    let agent = json!({"role": "assistant", "content": agent_says()});
    for (name, message) in [("agent", agent), ("tools", tool)] {
        graph = graph.add_node_fn(name, move |_| {
            let message = message.clone();
            async move { Ok(NodeOutput::new().with_update("messages", json!([message]))) }
        });
    }
    Ok(graph
        .add_edge(START, "agent")
        .add_edge("agent", "tools")
        .add_conditional_edges(
            "tools",
            move |state| if said(state) < wanted { "agent" } else { END }.to_owned(),
            [("agent", "agent"), (END, END)],
        )
        .compile()?
        .with_recursion_limit(usize::MAX))
}

fn talk(
    bench: &Bench,
    store: impl Fn(&str, CompiledGraph) -> Result<CompiledGraph, BoxError>,
) -> Result<Measurement, BoxError> {
    let steps = 2 * bench.size;
    let prepare = |file: &str| store(file, talk_graph(bench.size)?);
    bench.rounds_on_disk(steps, prepare, |graph| async move {
        let done = graph.invoke(State::new(), config(steps, "thread")?).await?;
        if said(&done) as u64 == steps {
            Ok(())
        } else {
            Err("not all was said".into())
        }
    })
}

fn talk_in_sqlite(bench: &Bench, sync: SqliteSynchronous) -> Result<Measurement, BoxError> {
    talk(bench, |file, graph| {
        let store = bench.runtime.block_on(sqlite(file, sync))?;
        Ok(graph.with_checkpointer_arc(store))
    })
}

async fn sqlite(file: &str, sync: SqliteSynchronous) -> Result<Arc<dyn Checkpointer>, BoxError> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(sync);
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(options)
        .await?;
    Ok(Arc::new(SqliteCheckpointer::from_pool(pool).await?))
}

/// Runs futures as tasks of their own and waits for all.
async fn at_once<F>(futures: impl Iterator<Item = F>) -> Result<(), BoxError>
where
    F: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    let tasks: Vec<_> = futures.map(tokio::spawn).collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

fn grouped(bench: &Bench) -> Result<Measurement, BoxError> {
    const TURNS: u64 = 25;
    let prepare = |file: &str| {
        let store = bench
            .runtime
            .block_on(sqlite(file, SqliteSynchronous::Full))?;
        Ok(Arc::new(talk_graph(TURNS)?.with_checkpointer_arc(store)))
    };
    bench.rounds_on_disk(bench.size * TURNS * 2, prepare, |graph| async move {
        at_once((0..bench.size).map(|thread| {
            let graph = graph.clone();
            async move {
                let config = config(2 * TURNS, &format!("thread-{thread}"))?;
                graph.invoke(State::new(), config).await?;
                Ok(())
            }
        }))
        .await
    })
}

/// A node for each worker: how often a node runs in a step cannot depend on the state.
fn fan_out(bench: &Bench) -> Result<Measurement, BoxError> {
    let mut schema = StateSchema::simple(&["sum"]);
    schema
        .channels
        .insert("squares".into(), Channel::list("squares"));
    let mut graph = StateGraph::new(schema).add_node_fn("join", |cx| async move {
        let squares = cx.get("squares").and_then(Value::as_array);
        let sum: u64 = squares
            .into_iter()
            .flatten()
            .filter_map(Value::as_u64)
            .sum();
        Ok(NodeOutput::new().with_update("sum", sum))
    });
    for item in 0..bench.size {
        let name = format!("worker-{item}");
        graph = graph
            .add_node_fn(&name, move |_| async move {
                Ok(NodeOutput::new().with_update("squares", json!([item * item])))
            })
            .add_edge(START, &name)
            .add_edge(&name, "join");
    }
    let graph = &graph.add_edge("join", END).compile()?;
    bench.rounds(
        bench.size,
        || Ok(()),
        |()| async move {
            let done = graph.invoke(State::new(), config(10, "thread")?).await?;
            if number(&done, "sum") > 0 {
                Ok(())
            } else {
                Err("no sum".into())
            }
        },
    )
}

fn wide(bench: &Bench) -> Result<Measurement, BoxError> {
    let mut schema = StateSchema::simple(&["rounds"]);
    let merge = Reducer::Custom(Arc::new(|old, new| match (old, new) {
        (Value::Object(mut old), Value::Object(new)) => {
            old.extend(new);
            Value::Object(old)
        }
        (_, new) => new,
    }));
    schema
        .channels
        .insert("values".into(), Channel::new("values").with_reducer(merge));
    let mut graph = StateGraph::new(schema);
    let name = |node: u64| format!("node-{node}");
    for node in 0..10_u64 {
        let keys: Arc<Vec<String>> = Arc::new(
            (node * 100..(node + 1) * 100)
                .map(|key| format!("key-{key:04}"))
                .collect(),
        );
        let grow = move |cx: NodeContext| {
            let keys = keys.clone();
            async move {
                let grown = |key: &String| {
                    let old = cx
                        .get("values")
                        .and_then(|all| all.get(key))
                        .and_then(Value::as_u64);
                    (key.clone(), json!(old.unwrap_or(0) + 1))
                };
                let grown: Map<String, Value> = keys.iter().map(grown).collect();
                let output = NodeOutput::new().with_update("values", grown);
                let rounds = number(&cx.state, "rounds") + 1;
                Ok(if node == 9 {
                    output.with_update("rounds", rounds)
                } else {
                    output
                })
            }
        };
        let from = node.checked_sub(1).map_or(START.to_owned(), name);
        graph = graph
            .add_node_fn(&name(node), grow)
            .add_edge(&from, &name(node));
    }
    let wanted = bench.size;
    let graph = &graph
        .add_conditional_edges(
            "node-9",
            move |state| {
                if number(state, "rounds") < wanted {
                    "node-0"
                } else {
                    END
                }
                .to_owned()
            },
            [("node-0", "node-0"), (END, END)],
        )
        .compile()?
        .with_recursion_limit(usize::MAX);
    let values: Map<String, Value> = (0..1000)
        .map(|key| (format!("key-{key:04}"), json!(0)))
        .collect();
    let prepare = || {
        Ok(State::from([(
            "values".to_owned(),
            Value::Object(values.clone()),
        )]))
    };
    bench.rounds(10 * bench.size, prepare, |state| async move {
        graph
            .invoke(state, config(10 * bench.size, "thread")?)
            .await?;
        Ok(())
    })
}

fn interrupts(bench: &Bench) -> Result<Measurement, BoxError> {
    let prepare = |file: &str| {
        let store = bench
            .runtime
            .block_on(sqlite(file, SqliteSynchronous::Full))?;
        let graph = StateGraph::with_channels(&["approved"])
            .add_node_fn("ask", |cx| async move {
                Ok(match cx.get("approved") {
                    None => NodeOutput::interrupt("Write it?"),
                    Some(_) => NodeOutput::new(),
                })
            })
            .add_edge(START, "ask")
            .add_edge("ask", END)
            .compile()?;
        Ok(Arc::new(graph.with_checkpointer_arc(store)))
    };
    let size = bench.size;
    bench.rounds_on_disk(size, prepare, |graph| async move {
        for is_answer in [false, true] {
            at_once((0..64).map(|first| approve(graph.clone(), first, size, is_answer))).await?;
        }
        Ok(())
    })
}

async fn approve(
    graph: Arc<CompiledGraph>,
    first: u64,
    size: u64,
    is_answer: bool,
) -> Result<(), BoxError> {
    for thread in (first..size).step_by(64) {
        let mut input = State::new();
        if is_answer {
            input.insert("approved".into(), json!(true));
        }
        match graph
            .invoke(input, config(5, &format!("thread-{thread}"))?)
            .await
        {
            Ok(_) if is_answer => {}
            Err(GraphError::Interrupted(_)) if !is_answer => {}
            Ok(_) => return Err("ended without a question".into()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A node that streams.
struct Produce(u64);

#[async_trait]
impl Node for Produce {
    fn name(&self) -> &str {
        "produce"
    }

    async fn execute(&self, _: &NodeContext) -> adk_graph::Result<NodeOutput> {
        Ok(NodeOutput::new())
    }

    fn execute_stream<'a>(
        &'a self,
        _: &'a NodeContext,
    ) -> Pin<Box<dyn Stream<Item = adk_graph::Result<StreamEvent>> + Send + 'a>> {
        let word = |_| Ok(StreamEvent::message("produce", "word ", false));
        Box::pin(futures::stream::iter(0..self.0).map(word))
    }
}

fn events(bench: &Bench) -> Result<Measurement, BoxError> {
    let size = bench.size;
    let graph = &StateGraph::with_channels(&["weight"])
        .add_node(Produce(size))
        .add_edge(START, "produce")
        .add_edge("produce", END)
        .compile()?;
    bench.rounds(
        size,
        || Ok(()),
        |()| async move {
            let config = config(5, "thread")?;
            let mut stream =
                std::pin::pin!(graph.stream(State::new(), config, StreamMode::Messages));
            let mut seen = 0;
            while let Some(event) = stream.next().await {
                seen += u64::from(matches!(event?, StreamEvent::Message { .. }));
            }
            if seen == size {
                Ok(())
            } else {
                Err(format!("{seen} events arrived").into())
            }
        },
    )
}

/// The newest checkpoint holds the whole state: it is what opening reads.
fn open(bench: &Bench) -> Result<Measurement, BoxError> {
    let message = json!({"role": "assistant", "content": agent_says()});
    let messages = vec![message; usize::try_from(bench.size)?];
    let prepare = |file: &str| {
        bench.runtime.block_on(async {
            let store = sqlite(file, SqliteSynchronous::Normal).await?;
            let graph = talk_graph(1)?.with_checkpointer_arc(store);
            let state = State::from([("messages".to_owned(), Value::Array(messages.clone()))]);
            graph.invoke(state, config(5, "thread")?).await?;
            Ok(graph)
        })
    };
    let wanted = messages.len();
    bench.rounds_on_disk(1, prepare, |graph| async move {
        let state = graph.get_state("thread").await?.unwrap_or_default();
        if said(&state) >= wanted {
            Ok(())
        } else {
            Err("not all was read".into())
        }
    })
}
