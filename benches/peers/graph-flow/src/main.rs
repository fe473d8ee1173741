//! The workloads on graph-flow.
use std::{process::ExitCode, sync::Arc};

use async_trait::async_trait;
use graph_flow::{
    Context, FlowRunner, Graph, GraphBuilder, InMemorySessionStorage, NextAction, Session,
    SessionStorage, Task, TaskResult, fanout::FanOutTask,
};
use peer_harness::{Bench, BoxError, agent_says, answer, measure::Measurement, tool_says};

const NO_SQLITE: &str = "stores sessions in memory or PostgreSQL, not in SQLite";

fn main() -> ExitCode {
    answer(|bench| {
        let measured = match bench.workload.as_str() {
            "start" => start(bench)?,
            "chain" => chain(bench, 0)?,
            "heavy-chain" => chain(bench, 100_000)?,
            "cycle" => cycle(bench)?,
            "loop" => talk(bench)?,
            "loop-memory" => talk_in_memory(bench)?,
            "fan-out" => fan_out(bench)?,
            "wide" => wide(bench)?,
            "events" => return Ok(Err("has no stream of events")),
            "loop-normal" | "loop-full" | "grouped" | "interrupt" | "parked" | "open"
            | "recover" => {
                return Ok(Err(NO_SQLITE));
            }
            _ => return Ok(Err("was not written for this engine")),
        };
        Ok(Ok(measured))
    })
}

/// A task that does something with the context and says how to go on.
struct Do<F>(String, NextAction, F);

#[async_trait]
impl<F: Fn(&Context) -> graph_flow::Result<()> + Send + Sync> Task for Do<F> {
    fn id(&self) -> &str {
        &self.0
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        (self.2)(&context)?;
        Ok(TaskResult::new(None, self.1.clone()))
    }
}

fn task<F>(name: impl Into<String>, next: NextAction, act: F) -> Arc<Do<F>>
where
    F: Fn(&Context) -> graph_flow::Result<()> + Send + Sync,
{
    Arc::new(Do(name.into(), next, act))
}

fn session(first: &str, context: Context) -> Session {
    let mut session = Session::new_from_task("thread".into(), first);
    session.context = context;
    session
}

fn start(bench: &Bench) -> Result<Measurement, BoxError> {
    let nothing = task("only", NextAction::End, |_| Ok(()));
    let graph = GraphBuilder::new("start").add_task(nothing).build()?;
    bench.rounds(
        bench.size,
        || Ok(()),
        |()| async {
            for _ in 0..bench.size {
                graph
                    .execute_session(&mut session("only", Context::new()))
                    .await?;
            }
            Ok(())
        },
    )
}

fn chain(bench: &Bench, weight: usize) -> Result<Measurement, BoxError> {
    let mut builder = GraphBuilder::new("chain");
    for number in 0..bench.size {
        let is_last = number + 1 == bench.size;
        let next = if is_last {
            NextAction::End
        } else {
            NextAction::ContinueAndExecute
        };
        builder = builder.add_task(task(format!("node-{number}"), next, |_| Ok(())));
        if number > 0 {
            builder = builder.add_edge(format!("node-{}", number - 1), format!("node-{number}"));
        }
    }
    let graph = &builder.build()?;
    let prepare = || {
        let context = Context::new();
        context.set("weight", "x".repeat(weight))?;
        Ok(session("node-0", context))
    };
    bench.rounds(bench.size, prepare, |mut session| async move {
        graph.execute_session(&mut session).await?;
        Ok(())
    })
}

fn cycle(bench: &Bench) -> Result<Measurement, BoxError> {
    let size = bench.size;
    let count =
        |context: &Context| context.set("reached", context.get::<u64>("reached").unwrap_or(0) + 1);
    let graph = &GraphBuilder::new("cycle")
        .add_task(task("count", NextAction::ContinueAndExecute, count))
        .add_task(task("end", NextAction::End, |_| Ok(())))
        .add_conditional_edge(
            "count",
            move |context| context.get::<u64>("reached").unwrap_or(0) < size,
            "count",
            "end",
        )
        .build()?;
    let prepare = || Ok(session("count", Context::new()));
    bench.rounds(size, prepare, |mut session| async move {
        graph.execute_session(&mut session).await?;
        Ok(())
    })
}

fn talk_graph(turns: u64, next: NextAction) -> Result<Graph, BoxError> {
    let (agent, tool) = (agent_says(), tool_says());
    let speak_agent = move |context: &Context| {
        context.add_assistant_message(agent.clone());
        Ok(())
    };
    let speak_tool = move |context: &Context| {
        context.add_user_message(tool.clone());
        Ok(())
    };
    let wanted = usize::try_from(2 * turns)?;
    Ok(GraphBuilder::new("loop")
        .add_task(task("agent", next.clone(), speak_agent))
        .add_task(task("tools", next, speak_tool))
        .add_task(task("end", NextAction::End, |_| Ok(())))
        .add_edge("agent", "tools")
        .add_conditional_edge(
            "tools",
            move |context| context.chat_history_len() < wanted,
            "agent",
            "end",
        )
        .build()?)
}

fn talk(bench: &Bench) -> Result<Measurement, BoxError> {
    let graph = &talk_graph(bench.size, NextAction::ContinueAndExecute)?;
    let prepare = || {
        Ok(session(
            "agent",
            Context::with_max_chat_messages(usize::MAX),
        ))
    };
    bench.rounds(2 * bench.size, prepare, |mut session| async move {
        graph.execute_session(&mut session).await?;
        Ok(())
    })
}

/// One task a call: the session is loaded, run and saved for each.
fn talk_in_memory(bench: &Bench) -> Result<Measurement, BoxError> {
    let graph = Arc::new(talk_graph(bench.size, NextAction::Continue)?);
    let steps = 2 * bench.size;
    let prepare = || {
        let storage = Arc::new(InMemorySessionStorage::new());
        let context = Context::with_max_chat_messages(usize::MAX);
        Ok((
            storage.clone(),
            FlowRunner::new(graph.clone(), storage),
            context,
        ))
    };
    bench.rounds(steps, prepare, |(storage, runner, context)| async move {
        storage.save(session("agent", context)).await?;
        for _ in 0..steps {
            runner.run("thread").await?;
        }
        Ok(())
    })
}

fn fan_out(bench: &Bench) -> Result<Measurement, BoxError> {
    let worker = |item: u64| -> Arc<dyn Task> {
        task(
            format!("worker-{item}"),
            NextAction::End,
            move |context: &Context| context.set(format!("square-{item}"), item * item),
        )
    };
    let size = bench.size;
    let workers = FanOutTask::new("share-out", (0..size).map(worker).collect())
        .with_next_action(NextAction::ContinueAndExecute);
    let join = task("join", NextAction::End, move |context: &Context| {
        let squares = (0..size).filter_map(|item| context.get::<u64>(&format!("square-{item}")));
        context.set("sum", squares.sum::<u64>())
    });
    let graph = &GraphBuilder::new("fan-out")
        .add_task(workers)
        .add_task(join)
        .add_edge("share-out", "join")
        .build()?;
    let prepare = || Ok(session("share-out", Context::new()));
    bench.rounds(size, prepare, |mut session| async move {
        graph.execute_session(&mut session).await?;
        Ok(())
    })
}

fn wide(bench: &Bench) -> Result<Measurement, BoxError> {
    let mut builder = GraphBuilder::new("wide");
    for node in 0..10_u64 {
        let keys: Vec<String> = (node * 100..(node + 1) * 100)
            .map(|k| format!("key-{k:04}"))
            .collect();
        let grow = move |context: &Context| {
            for key in &keys {
                context.set(key, context.get::<u64>(key).unwrap_or(0) + 1)?;
            }
            if node == 9 {
                context.set("rounds", context.get::<u64>("rounds").unwrap_or(0) + 1)?;
            }
            Ok(())
        };
        builder = builder.add_task(task(
            format!("node-{node}"),
            NextAction::ContinueAndExecute,
            grow,
        ));
        if node > 0 {
            builder = builder.add_edge(format!("node-{}", node - 1), format!("node-{node}"));
        }
    }
    let wanted = bench.size;
    let graph = &builder
        .add_task(task("end", NextAction::End, |_| Ok(())))
        .add_conditional_edge(
            "node-9",
            move |context| context.get::<u64>("rounds").unwrap_or(0) < wanted,
            "node-0",
            "end",
        )
        .build()?;
    let prepare = || {
        let context = Context::new();
        for key in 0..1000 {
            context.set(format!("key-{key:04}"), 0)?;
        }
        Ok(session("node-0", context))
    };
    bench.rounds(10 * bench.size, prepare, |mut session| async move {
        graph.execute_session(&mut session).await?;
        Ok(())
    })
}
