//! The workloads on the crate `langgraph`.
use std::{collections::HashMap, process::ExitCode, sync::Arc};

use futures::StreamExt;
use langgraph::{
    channels::{
        base::Channel,
        binop::{BinaryOperatorAggregate, append_reducer, merge_reducer},
        last_value::LastValue,
    },
    checkpoint::{BaseCheckpointSaver, InMemorySaver},
    config::get_stream_writer,
    prelude::{
        CompiledStateGraph, END, NodeFn1, RoutingFn, Runnable, RunnableConfig, START, StateGraph,
        StreamMode,
    },
    sqlite::SqliteSaver,
};
use peer_harness::{Bench, BoxError, agent_says, answer, measure::Measurement, tool_says};
use serde_json::{Value, json};

const NO_TASKS: &str = "declares tasks that data make, and never runs them";
const NO_EFFECTS: &str = "has no record of what was done to the outside world";
const MINUTES: &str = "needs minutes for this size";

fn main() -> ExitCode {
    answer(|bench| {
        let (size, turns_limit) = (bench.size, 1000);
        let measured = match bench.workload.as_str() {
            "start" => start(bench)?,
            "build" => build(bench)?,
            "chain" => chain(bench, 0)?,
            "heavy-chain" => chain(bench, 100_000)?,
            "cycle" | "loop" | "loop-normal" if size > turns_limit => return Ok(Err(MINUTES)),
            "cycle" => cycle(bench)?,
            "loop" => talk(bench)?,
            "react" => react(bench)?,
            "loop-memory" => talk_in_memory(bench)?,
            "loop-normal" => talk_in_sqlite(bench, "normal")?,
            "loop-full" => talk_in_sqlite(bench, "full")?,
            "wide" => wide(bench)?,
            "wide-state" => ticket(bench)?,
            "events" => events(bench)?,
            "fan-out" | "subgraph" | "fan-out-subgraph" => return Ok(Err(NO_TASKS)),
            "once" | "keyed" | "idempotent" | "once-full" | "keyed-full" | "idempotent-full" => {
                return Ok(Err(NO_EFFECTS));
            }
            _ => return Ok(Err("was not written for this engine")),
        };
        Ok(Ok(measured))
    })
}

type Kind = fn(String) -> Box<dyn Channel>;

fn last(key: String) -> Box<dyn Channel> {
    Box::new(LastValue::new(key))
}

fn list(key: String) -> Box<dyn Channel> {
    Box::new(BinaryOperatorAggregate::new(key, append_reducer))
}

fn map(key: String) -> Box<dyn Channel> {
    Box::new(BinaryOperatorAggregate::new(key, merge_reducer))
}

fn graph(fields: &[(&str, Kind)]) -> StateGraph {
    let channel = |(name, kind): &(&str, Kind)| ((*name).to_owned(), kind((*name).to_owned()));
    StateGraph::new(fields.iter().map(channel).collect())
}

fn config(steps: u64) -> RunnableConfig {
    let configurable = json!({ "thread_id": "thread" });
    HashMap::from([
        ("recursion_limit".to_owned(), json!(steps + 10)),
        ("configurable".to_owned(), configurable),
    ])
}

/// Adds a node that needs not wait for anything.
fn node(
    graph: &mut StateGraph,
    name: impl Into<String>,
    act: impl Fn(&Value) -> Value + Send + Sync + 'static,
) -> Result<(), BoxError> {
    graph.add_node(name, NodeFn1(move |state: &Value| Ok(act(state))))?;
    Ok(())
}

/// Goes on at `again` as long as it should.
fn branch(
    graph: &mut StateGraph,
    from: &str,
    again: &'static str,
    goes_on: impl Fn(&Value) -> bool + Send + Sync + 'static,
) -> Result<(), BoxError> {
    let route = move |state: &Value| if goes_on(state) { again } else { END }.to_owned();
    let targets = [again, END].map(|name| (name.to_owned(), name.to_owned()));
    graph.add_conditional_edges(from, RoutingFn(route), Some(targets.into()))?;
    Ok(())
}

fn count(state: &Value, key: &str) -> u64 {
    state
        .get(key)
        .and_then(Value::as_array)
        .map_or(0, |list| list.len() as u64)
}

fn expect(holds: bool, what: &str) -> Result<(), BoxError> {
    if holds { Ok(()) } else { Err(what.into()) }
}

fn chain_graph(nodes: u64) -> Result<CompiledStateGraph, BoxError> {
    let mut graph = graph(&[("weight", last)]);
    let name = |number: u64| format!("node-{number}");
    for number in 0..nodes {
        node(&mut graph, name(number), |_| json!({}))?;
        let from = number.checked_sub(1).map_or(START.to_owned(), name);
        graph.add_edge(from, name(number))?;
    }
    graph.add_edge(name(nodes - 1), END)?;
    Ok(graph.compile()?)
}

fn start(bench: &Bench) -> Result<Measurement, BoxError> {
    let (graph, config) = (&chain_graph(1)?, &config(1));
    let run = |()| async move {
        for _ in 0..bench.size {
            graph.ainvoke(&json!({ "weight": "" }), config).await?;
        }
        Ok(())
    };
    bench.rounds(bench.size, || Ok(()), run)
}

fn build(bench: &Bench) -> Result<Measurement, BoxError> {
    let run = |()| async {
        chain_graph(bench.size)?;
        Ok(())
    };
    bench.rounds(bench.size, || Ok(()), run)
}

fn chain(bench: &Bench, weight: usize) -> Result<Measurement, BoxError> {
    let (graph, config) = (&chain_graph(bench.size)?, &config(bench.size));
    let prepare = || Ok(json!({ "weight": "x".repeat(weight) }));
    bench.rounds(bench.size, prepare, |state| async move {
        graph.ainvoke(&state, config).await?;
        Ok(())
    })
}

fn cycle(bench: &Bench) -> Result<Measurement, BoxError> {
    let size = bench.size;
    let reached = |state: &Value| state.get("reached").and_then(Value::as_u64).unwrap_or(0);
    let mut graph = graph(&[("reached", last)]);
    node(
        &mut graph,
        "count",
        move |state| json!({ "reached": reached(state) + 1 }),
    )?;
    graph.add_edge(START, "count")?;
    branch(&mut graph, "count", "count", move |state| {
        reached(state) < size
    })?;
    let (graph, config) = (&graph.compile()?, &config(size));
    bench.rounds(
        size,
        || Ok(()),
        |()| async move {
            let end = graph.ainvoke(&json!({ "reached": 0 }), config).await?;
            expect(reached(&end) == size, "the node counts to the end")
        },
    )
}

fn talk_graph(turns: u64, agent: Value, tool: Value) -> Result<StateGraph, BoxError> {
    let mut graph = graph(&[("messages", list)]);
    node(&mut graph, "agent", move |_| json!({ "messages": [agent] }))?;
    node(&mut graph, "tools", move |_| json!({ "messages": [tool] }))?;
    graph.add_edge(START, "agent")?;
    graph.add_edge("agent", "tools")?;
    branch(&mut graph, "tools", "agent", move |state| {
        count(state, "messages") < 2 * turns
    })?;
    Ok(graph)
}

fn said(role: &str, content: &str) -> Value {
    json!({ "role": role, "content": content })
}

async fn say(graph: &CompiledStateGraph, turns: u64) -> Result<(), BoxError> {
    let end = graph
        .ainvoke(&json!({ "messages": [] }), &config(2 * turns))
        .await?;
    expect(
        count(&end, "messages") == 2 * turns,
        "each step says one thing",
    )
}

fn talk(bench: &Bench) -> Result<Measurement, BoxError> {
    let (agent, tool) = (said("assistant", &agent_says()), said("tool", &tool_says()));
    let graph = &talk_graph(bench.size, agent, tool)?.compile()?;
    bench.rounds(2 * bench.size, || Ok(()), |()| say(graph, bench.size))
}

fn react(bench: &Bench) -> Result<Measurement, BoxError> {
    let arguments = json!({ "query": "free on Tuesday? ".repeat(211) });
    let calls = json!([{ "id": "call-1", "name": "search", "arguments": arguments }]);
    let agent = json!({ "role": "assistant", "content": "", "tool_calls": calls });
    let tool = said("tool", &"lecture at 8:00 in room B 204;  ".repeat(1125));
    let graph = &talk_graph(bench.size, agent, tool)?.compile()?;
    bench.rounds(bench.size, || Ok(()), |()| say(graph, bench.size))
}

fn kept(turns: u64, saver: Arc<dyn BaseCheckpointSaver>) -> Result<CompiledStateGraph, BoxError> {
    let (agent, tool) = (said("assistant", &agent_says()), said("tool", &tool_says()));
    let mut graph = talk_graph(turns, agent, tool)?;
    Ok(graph.compile_builder().checkpointer(saver).build()?)
}

fn talk_in_memory(bench: &Bench) -> Result<Measurement, BoxError> {
    let turns = bench.size;
    let prepare = || kept(turns, Arc::new(InMemorySaver::new()));
    bench.rounds(2 * turns, prepare, |graph| async move {
        say(&graph, turns).await
    })
}

fn talk_in_sqlite(bench: &Bench, synchronous: &'static str) -> Result<Measurement, BoxError> {
    let turns = bench.size;
    let prepare = |file: &str| {
        let saver = bench.runtime.block_on(async {
            let saver = SqliteSaver::from_conn_string(&format!("sqlite:{file}")).await?;
            saver.setup().await?;
            // Each connection of its pool has its own setting.
            let mut connections = vec![];
            for _ in 0..5 {
                let mut connection = saver.pool().acquire().await?;
                let pragma = format!("pragma synchronous = {synchronous}");
                sqlx::query(&pragma).execute(&mut *connection).await?;
                connections.push(connection);
            }
            Ok::<_, BoxError>(saver)
        })?;
        kept(turns, Arc::new(saver))
    };
    bench.rounds_on_disk(2 * turns, prepare, |graph| async move {
        say(&graph, turns).await
    })
}

fn wide(bench: &Bench) -> Result<Measurement, BoxError> {
    let mut graph = graph(&[("values", map), ("rounds", last)]);
    let name = |number: u64| format!("node-{number}");
    let number_at = |map: &Value, key: &str| map.get(key).and_then(Value::as_u64).unwrap_or(0);
    for number in 0..10 {
        let keys: Vec<String> = (number * 100..(number + 1) * 100)
            .map(|key| format!("key-{key:04}"))
            .collect();
        node(&mut graph, name(number), move |state| {
            let old = &state["values"];
            let grown = keys
                .iter()
                .map(|key| (key.clone(), json!(number_at(old, key) + 1)));
            let values: serde_json::Map<_, _> = grown.collect();
            match number {
                9 => json!({ "values": values, "rounds": number_at(state, "rounds") + 1 }),
                _ => json!({ "values": values }),
            }
        })?;
        let from = number.checked_sub(1).map_or(START.to_owned(), name);
        graph.add_edge(from, name(number))?;
    }
    let wanted = bench.size;
    branch(&mut graph, "node-9", "node-0", move |state| {
        number_at(state, "rounds") < wanted
    })?;
    let (graph, config) = (&graph.compile()?, &config(10 * wanted));
    let values: serde_json::Map<_, _> = (0..1000)
        .map(|key| (format!("key-{key:04}"), json!(0)))
        .collect();
    let state = &json!({ "values": values, "rounds": 0 });
    bench.rounds(
        10 * wanted,
        || Ok(()),
        |()| async move {
            let end = graph.ainvoke(state, config).await?;
            expect(
                number_at(&end, "rounds") == wanted,
                "every round is counted",
            )
        },
    )
}

fn ticket_graph(wanted: u64) -> Result<CompiledStateGraph, BoxError> {
    let plain = [
        "medium",
        "autoresponse",
        "issue",
        "rules",
        "memories",
        "user",
        "customer",
        "mail_thread",
        "bot",
    ];
    let lists = ["messages", "events", "categories", "responses"];
    let plain = plain.map(|name| (name, last as Kind)).into_iter();
    let lists = lists.map(|name| (name, list as Kind)).into_iter();
    let maps = ["participants", "notified"]
        .map(|name| (name, map as Kind))
        .into_iter();
    let mut graph = graph(&plain.chain(lists).chain(maps).collect::<Vec<_>>());
    let newest = |state: &Value, key: &str| {
        let list = state.get(key).and_then(Value::as_array);
        list.and_then(|list| list.last())
            .cloned()
            .unwrap_or_default()
    };
    node(
        &mut graph,
        "one",
        |state| json!({ "events": state["messages"], "medium": "mail".repeat(6) }),
    )?;
    node(
        &mut graph,
        "two",
        move |state| json!({ "autoresponse": newest(state, "events"), "issue": newest(state, "events") }),
    )?;
    node(
        &mut graph,
        "three",
        |state| json!({ "rules": [state["autoresponse"]] }),
    )?;
    node(&mut graph, "four", |state| {
        let events = &state["events"];
        json!({ "categories": events, "responses": events, "memories": events })
    })?;
    node(&mut graph, "five", move |state| {
        let person = newest(state, "categories");
        json!({
            "user": person,
            "customer": person,
            "mail_thread": "thread".repeat(4),
            "participants": person,
            "bot": "bot".repeat(8),
            "notified": person,
        })
    })?;
    node(
        &mut graph,
        "six",
        |state| json!({ "messages": state["responses"] }),
    )?;
    for (from, to) in [
        (START, "one"),
        ("one", "two"),
        ("two", "three"),
        ("two", "four"),
        ("five", "six"),
    ] {
        graph.add_edge(from, to)?;
    }
    graph.add_join_edge(vec!["three".into(), "four".into()], "five")?;
    branch(&mut graph, "six", "one", move |state| {
        count(state, "messages") <= wanted
    })?;
    Ok(graph.compile()?)
}

fn ticket(bench: &Bench) -> Result<Measurement, BoxError> {
    let (graph, config) = (&ticket_graph(bench.size)?, &config(100));
    let (outer, inner) = match bench.size {
        ..450 => (5, 5),
        450..900 => (3, 5),
        _ => (3, 3),
    };
    let facts = [
        json!("hello ".repeat(5)),
        json!(true),
        json!(1),
        json!(6_327_816_386_138_u64),
        Value::Null,
    ];
    let facts: Vec<Value> = std::iter::repeat_n(facts, 5).flatten().collect();
    let name = |key: u64| key.to_string().repeat(10);
    let lists: serde_json::Map<_, _> = (0..inner).map(|key| (name(key), json!(facts))).collect();
    let message: serde_json::Map<_, _> = (0..outer).map(|key| (name(key), json!(lists))).collect();
    let state = &json!({ "messages": [message] });
    bench.rounds(
        1,
        || Ok(()),
        |()| async move {
            let end = graph.ainvoke(state, config).await?;
            let counts = (count(&end, "messages"), count(&end, "responses"));
            expect(
                [(595, 406), (1873, 1278)].contains(&counts),
                &format!("{counts:?}"),
            )
        },
    )
}

fn events(bench: &Bench) -> Result<Measurement, BoxError> {
    let size = bench.size;
    let mut graph = graph(&[("weight", last)]);
    graph.add_node("talk", move |_: Value, _: RunnableConfig| async move {
        if let Some(writer) = get_stream_writer() {
            for _ in 0..size {
                // It ends when nobody reads any more.
                if writer.send(json!("word ")).await.is_err() {
                    break;
                }
            }
        }
        Ok(json!({}))
    })?;
    graph.add_edge(START, "talk")?;
    graph.add_edge("talk", END)?;
    let (graph, config) = (&graph.compile()?, &config(1));
    bench.rounds(
        size,
        || Ok(()),
        |()| async move {
            let events = graph.astream(&json!({ "weight": "" }), config, vec![StreamMode::Custom]);
            let seen = events.filter(|part| std::future::ready(part.mode == StreamMode::Custom));
            expect(seen.count().await as u64 == size, "all events arrive")
        },
    )
}
