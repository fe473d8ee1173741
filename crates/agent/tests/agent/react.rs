//! The loop of model and tools.
mod calls;
mod next_steps;
mod rounds;

use std::{sync::Arc, time::Duration};

use fugato_agent::{Assistant, React, ReactLoop, ReactReply, ReactUpdate, Toolbox};
use fugato_graph::{BoxError, Graph, Runner};
use fugato_state::{ThreadId, ToolCall};
use fugato_store::MemoryLog;
use fugato_testkit::{Scripted, ScriptedReply};
use fugato_tool::{
    Domain, Domains, NoArguments, Registry, ToolFailure, ToolOutput, ToolSpec, async_tool_fn,
};
use serde::Deserialize;
use serde_json::json;

pub(crate) type TestResult = Result<(), BoxError>;

#[derive(Deserialize, schemars::JsonSchema)]
pub(crate) struct Number {
    pub(crate) n: u32,
}

/// Returns tools of each kind. None of them has the same result for two numbers.
pub(crate) fn tools() -> Result<Toolbox<React>, BoxError> {
    let registry = Registry::<React, ReactUpdate>::builder()
        .domains_to_choose(Domains::new().with("mail", Domain::new("core")))
        .function(ToolSpec::read("look", "Looks."), |_, Number { n }| {
            Ok(format!("{n} is there"))
        })
        .function(ToolSpec::write("send", "Sends."), |cx, Number { n }| {
            // The number of the thread's incarnation differs each time.
            let key = cx.key().unwrap_or_default();
            let (_, action) = key.split_once('/').unwrap_or_default();
            Ok(format!("sent {n} as t@1/{action}"))
        })
        .function(ToolSpec::read("fail", "Fails."), |_, _: NoArguments| {
            Err::<ToolOutput<_>, _>(ToolFailure::failed("nobody is there"))
        })
        .tool(async_tool_fn(
            ToolSpec::read("hang", "Hangs."),
            |_, _: NoArguments| {
                Box::pin(std::future::pending::<Result<ToolOutput<_>, ToolFailure>>())
            },
        ))
        .function(
            ToolSpec::read("inbox", "Reads mail.").domain("mail"),
            |_, _: NoArguments| Ok("no mail"),
        )
        .timeout(Duration::from_secs(5))
        .build()?;
    Ok(Toolbox::new(registry))
}

pub(crate) fn call(id: &str, name: &str, n: u32) -> ToolCall {
    ToolCall::new(id, name, json!({ "n": n }))
}

pub(crate) fn calls(calls: impl IntoIterator<Item = ToolCall>) -> ScriptedReply {
    ScriptedReply::tool_calls(calls)
}

pub(crate) fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

pub(crate) fn assistant(graph: Graph<React>) -> Assistant {
    Assistant::new(Runner::new(graph, Arc::new(MemoryLog::default())))
}

pub(crate) async fn state(assistant: &Assistant) -> Result<Arc<React>, BoxError> {
    let state = assistant.runner().state(&thread()).await?;
    state.ok_or_else(|| "the thread has no state".into())
}

/// Runs a model with all tools.
pub(crate) async fn run(
    model: &Scripted,
    change: impl FnOnce(ReactLoop) -> ReactLoop,
) -> Result<(ReactReply, Arc<React>), BoxError> {
    let graph = change(ReactLoop::new(model.clone(), tools()?)).build()?;
    let assistant = assistant(graph);
    let reply = assistant.chat(&thread(), "Go.").await?;
    let state = state(&assistant).await?;
    Ok((reply, state))
}
