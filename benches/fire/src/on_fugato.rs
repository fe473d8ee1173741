//! Plays a task on fugato: an agent whose model says the calls, one a round, and whose tools that
//! write are of class *Once*, because the suite's tools know no keys and cannot be asked.
use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, anyhow};
use fugato::{
    Answers, ChatModel, ChatRequest, EffectClass, Runner, RunnerOptions, SqliteLog, ThreadId,
    ToolFailure, ToolSpec,
    agent::ReactUpdate,
    async_trait,
    futures::{StreamExt as _, stream},
    graph::{InDoubt, RunErrorKind, ThreadStatus},
    llm::{ChatDelta, DeltaStream, ModelError, ToolCallDelta},
    serde_json::{self, Value},
    state::{Message, Role},
};

use crate::{
    player::PlayerEnd,
    world::{Action, Visitor},
};

/// The time for which the right to write outlives its owner.
const LEASE: Duration = Duration::from_secs(1);

/// The time that a call may take. Nobody is asked about one that may still be under way.
const PATIENCE: Duration = Duration::from_millis(300);

/// A model that knows what is right.
struct Gold(Vec<Action>);

#[async_trait]
impl ChatModel for Gold {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let answered = |message: &&Message| message.role == Role::Tool;
        let nth = request.messages.iter().filter(answered).count();
        let said = self.0.get(nth).map_or_else(
            || ChatDelta::text("It is done."),
            |action| {
                let mut call = ToolCallDelta::default();
                call.id = Some(format!("call-{nth}"));
                call.name = Some(action.name.clone());
                call.arguments = Value::Object(action.arguments.clone()).to_string();
                ChatDelta::ToolCall(call)
            },
        );
        Ok(stream::iter([Ok(said)]).boxed())
    }
}

/// Goes on with the task of the world on this port, whose log is in this folder, until it ends or a
/// person has to say whether something happened. `told` is what that person says.
pub(crate) async fn play(port: u16, folder: &Path, told: Option<bool>) -> Result<PlayerEnd> {
    let world = Visitor::new(port)?;
    let task = world.hello()?;
    let rounds = u32::try_from(task.actions.len())? + 1;
    let mut agent = fugato::agent(Gold(task.actions));
    for tool in task.tools {
        let spec = if tool.writes {
            ToolSpec::write(&tool.name, &tool.about).effect(EffectClass::Once)
        } else {
            ToolSpec::read(&tool.name, &tool.about)
        };
        let spec = spec
            .schema(serde_json::from_value(tool.schema)?)
            .timeout(PATIENCE);
        let (world, name) = (world.clone(), tool.name);
        agent = agent.function_with(
            spec,
            (world, name),
            async |(world, name), arguments: Value| {
                let called =
                    tokio::task::spawn_blocking(move || world.call(&name, &arguments)).await;
                match called.map_err(ToolFailure::internal)? {
                    Ok(answer) if answer.refused => Err(ToolFailure::failed(answer.said)),
                    Ok(answer) => Ok(answer.said),
                    Err(error) => Err(ToolFailure::failed(error.to_string()).in_doubt()),
                }
            },
        );
    }
    let graph = agent.into_loop()?.max_steps(rounds).build()?;
    let log = SqliteLog::open(folder.join("fugato.db"))?;
    let runner = Runner::new(graph, Arc::new(log)).options(RunnerOptions::default().lease(LEASE));
    let thread = ThreadId::new("task")?;
    let mut told = told;
    loop {
        let run = match runner.status(&thread).await? {
            ThreadStatus::New => runner.start(&thread, vec![ReactUpdate::user("Go ahead.")]),
            ThreadStatus::Waiting(open) => {
                let asked = open.first().context("nothing is asked")?;
                let input = asked.question.prompt.get("input").cloned();
                let Some(happened) = told.take() else {
                    let input = input.context("the question names no call")?;
                    let (name, arguments) = serde_json::from_value(input)?;
                    return Ok(PlayerEnd::Asks { name, arguments });
                };
                let answer = if happened {
                    InDoubt::Happened("It was done.")
                } else {
                    InDoubt::DidNotHappen
                };
                runner.resume(&thread, Answers::to(asked.id.clone(), answer)?)
            }
            ThreadStatus::Unfinished => runner.recover(&thread),
            ThreadStatus::Idle => return Ok(PlayerEnd::Done),
            other => return Err(anyhow!("the thread is {other:?}")),
        };
        match run.await {
            Err(error) if matches!(error.kind, RunErrorKind::Busy { .. }) => {
                tokio::time::sleep(LEASE / 10).await;
            }
            ended => drop(ended?),
        }
    }
}
