//! Crashes at every point, and stores that fail on each request.
use async_trait::async_trait;
use fugato_agent::{React, ReactLoop, ReactUpdate, Toolbox};
use fugato_graph::{BoxError, Graph};
use fugato_llm::{ChatModel, ChatRequest, DeltaStream, ModelError};
use fugato_state::{Message, Question, Role, ToolCall};
use fugato_testkit::{
    Scripted, ScriptedReply, share,
    sim::{CrashSim, World},
};
use fugato_tool::{
    EffectClass, GateChain, NoArguments, Registry, Tool, ToolContext, ToolFailure, ToolOutput,
    ToolSpec, confirm_writes,
};
use serde::Deserialize;
use serde_json::json;

type TestResult = Result<(), BoxError>;

#[derive(Deserialize, schemars::JsonSchema)]
struct Number {
    n: u32,
}

/// A model whose answers depend only on the request, so every process gets the same ones.
struct Reader(fn(usize) -> ScriptedReply);

#[async_trait]
impl ChatModel for Reader {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let is_result = |message: &&Message| message.role == Role::Tool;
        let results = request.messages.iter().filter(is_result).count();
        Scripted::new([(self.0)(results)]).stream(request).await
    }
}

fn call(id: &str, name: &str, n: u32) -> ToolCall {
    ToolCall::new(id, name, json!({ "n": n }))
}

fn plays(results: usize) -> ScriptedReply {
    match results {
        0 => ScriptedReply::tool_calls([
            call("a", "look", 1),
            call("b", "send", 2),
            call("c", "send", 3),
        ]),
        3 => ScriptedReply::tool_calls([call("d", "book", 4)]),
        _ => ScriptedReply::text("Done."),
    }
}

/// A tool with a side effect.
struct Does(ToolSpec, World);

#[async_trait]
impl Tool<React, ReactUpdate> for Does {
    type Input = Number;

    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    async fn call(
        &self,
        cx: ToolContext<'_, React>,
        Number { n }: Number,
    ) -> Result<ToolOutput<ReactUpdate>, ToolFailure> {
        let Self(spec, world) = self;
        let key = cx.key().unwrap_or_default();
        let done = world.act_as(spec.effect, format!("{} {n}", spec.name), key);
        Ok(ToolOutput::new(done.await.map_err(ToolFailure::internal)?))
    }
}

fn asks(results: usize) -> ScriptedReply {
    match results {
        0 => ScriptedReply::tool_calls([
            call("a", "look", 1),
            call("b", "send", 2),
            ToolCall::new("c", "ask", json!({})),
            call("d", "send", 3),
        ]),
        _ => ScriptedReply::text("Done."),
    }
}

fn react(world: &World) -> Result<Graph<React>, BoxError> {
    let toolbox = Toolbox::new(tools(world)?).gates(GateChain::new().with(confirm_writes));
    Ok(ReactLoop::new(Reader(plays), toolbox).build()?)
}

fn tools(world: &World) -> Result<Registry<React, ReactUpdate>, BoxError> {
    let registry = Registry::builder()
        .function(ToolSpec::read("look", "Looks."), |_, Number { n }| {
            Ok(format!("{n} is there"))
        })
        .tool(Does(ToolSpec::write("send", "Sends."), world.clone()))
        .tool(Does(
            ToolSpec::write("book", "Books.").effect(EffectClass::Keyed),
            world.clone(),
        ))
        .function(ToolSpec::read("ask", "Asks."), |_, _: NoArguments| {
            Ok(ToolOutput::ask(Question::new::<String>(
                "city",
                "Which city?",
            )))
        });
    Ok(registry.build()?)
}

#[tokio::test]
async fn rct_w3_k24_no_write_of_a_loop_is_done_twice_wherever_it_dies() -> TestResult {
    let report = CrashSim::new(react)
        .input(|| vec![ReactUpdate::user("Go.")])
        .answer(|asked| {
            asked
                .question
                .key
                .starts_with("confirm/")
                .then(|| true.into())
        })
        // An operator's result of an action in doubt has other words than the tool's.
        .compare(|state| {
            json!([
                state.run.tools_used,
                state.run.final_reply,
                state.run.current_step
            ])
        })
        .random(16)
        .run()
        .await?;
    assert!(report.cases * share() > 300, "{report}");
    Ok(())
}

#[tokio::test]
async fn k24_no_write_beside_a_question_of_a_tool_is_done_twice_wherever_it_dies() -> TestResult {
    let graph = |world: &World| -> Result<Graph<React>, BoxError> {
        Ok(ReactLoop::new(Reader(asks), Toolbox::new(tools(world)?)).build()?)
    };
    let report = CrashSim::new(graph)
        .input(|| vec![ReactUpdate::user("Go.")])
        .answer(|asked| {
            let asks = asked.question.key == "ask/c";
            asks.then(|| "Oslo".into())
        })
        .compare(|state| {
            let asked = state.run.uses.iter().find(|used| used.name == "ask");
            let run = &state.run;
            json!([run.tools_used, asked, run.final_reply, run.current_step])
        })
        .random(16)
        .run()
        .await?;
    assert!(report.cases * share() > 200, "{report}");
    Ok(())
}
