//! Crashes at every point, and stores that fail on each request.
use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use fugato_agent::{React, ReactLoop, ReactUpdate, Toolbox};
use fugato_graph::{
    Answers, BoxError, Context, END, Effect, Graph, Node, NodePolicy, Outcome, Runner,
};
use fugato_llm::{ChatModel, ChatRequest, DeltaStream, ModelError};
use fugato_state::{Message, Question, Role, ThreadId, ToolCall};
use fugato_store::MemoryLog;
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

/// A tool that may be called again, and sees on the world that it was called: `save` by the version
/// of what it acts on, `remove` in that there is nothing left.
struct Changes(&'static str, World);

impl Changes {
    fn is_done(&self, n: u32) -> bool {
        let Self(name, world) = self;
        let addresses = [format!("/tools#1/{name}"), format!("//{name}")];
        let mut done = addresses.iter();
        done.any(|address| world.find(&format!("{name} {n}"), address).is_some())
    }
}

#[async_trait]
impl Tool<React, ReactUpdate> for Changes {
    type Input = Number;

    fn spec(&self) -> ToolSpec {
        ToolSpec::write(self.0, "Changes something.").effect(EffectClass::Idempotent)
    }

    fn version(&self, Number { n }: &Number) -> Option<String> {
        let version = if self.is_done(*n) { "new" } else { "old" };
        (self.0 == "save").then(|| version.to_owned())
    }

    fn refusal(&self, Number { n }: &Number) -> Option<String> {
        (self.0 == "remove" && self.is_done(*n)).then(|| "there is none".to_owned())
    }

    async fn call(
        &self,
        cx: ToolContext<'_, React>,
        Number { n }: Number,
    ) -> Result<ToolOutput<ReactUpdate>, ToolFailure> {
        let Self(name, world) = self;
        let agreed = (*name == "save").then_some("old");
        if cx.agreed_version() != agreed || self.is_done(n) && !cx.is_repeat() {
            return Err(ToolFailure::failed("somebody else was first"));
        }
        let (key, name) = (cx.key().unwrap_or_default(), format!("{name} {n}"));
        let done = world.act_as(EffectClass::Idempotent, name.clone(), key);
        done.await.map_err(ToolFailure::internal)?;
        Ok(ToolOutput::new(format!("{name} is done")))
    }
}

fn changes(results: usize) -> ScriptedReply {
    match results {
        0 => ScriptedReply::tool_calls([call("save", "save", 1), call("remove", "remove", 2)]),
        _ => ScriptedReply::text("Done."),
    }
}

/// Its own work has changed what a call acts on, and nobody else's.
#[tokio::test]
async fn k24_k35_a_repeated_call_asks_nobody_anew_and_tells_what_it_did() -> TestResult {
    for whole_thread in [false, true] {
        let graph = move |world: &World| -> Result<Graph<React>, BoxError> {
            let tools = Registry::builder()
                .tool(Changes("save", world.clone()))
                .tool(Changes("remove", world.clone()));
            let toolbox = Toolbox::new(tools.build()?).gates(GateChain::new().with(confirm_writes));
            let toolbox = if whole_thread {
                toolbox.keyed_by(|_, call| call.name.clone())
            } else {
                toolbox
            };
            Ok(ReactLoop::new(Reader(changes), toolbox).build()?)
        };
        let report = CrashSim::new(graph)
            .input(|| vec![ReactUpdate::user("Go.")])
            .answer(|asked| {
                let is_new = asked.question.prompt["version"] == "new";
                (!is_new).then(|| true.into())
            })
            .compare(|state| json!([state.run.uses, state.run.final_reply]))
            .random(16)
            .run()
            .await?;
        assert!(report.cases * share() > 200, "{report}");
    }
    Ok(())
}

/// Asks as a toolbox does, and does a call that was agreed to as a program did that stored no
/// agreement: its first attempt dies after the call.
struct Earlier(Toolbox<React>, Arc<AtomicU32>);

#[async_trait]
impl Node<React> for Earlier {
    async fn run(&self, cx: Context<React>) -> Result<Outcome<ReactUpdate>, BoxError> {
        let Self(toolbox, done) = self;
        let wanted = call("c", "raise", 1);
        if cx.attempt() == 1 && cx.answer::<bool>("confirm/c")?.is_some() {
            let (input, done) = ((&wanted.name, &wanted.arguments), done.clone());
            let act = move |_| async move {
                done.fetch_add(1, Ordering::SeqCst);
                Ok::<_, BoxError>(json!("raised"))
            };
            cx.effect("c", Effect::once(), &input, act).await?;
            return Err("it dies".into());
        }
        Ok(match toolbox.execute(&cx, &[wanted]).await? {
            ControlFlow::Break(asks) => asks,
            ControlFlow::Continue(called) => {
                let texts = called.iter().map(|called| called.result.text.clone());
                Outcome::done(texts.map(ReactUpdate::user))
            }
        })
    }
}

struct Raise(Arc<AtomicU32>);

#[async_trait]
impl Tool<React, ReactUpdate> for Raise {
    type Input = Number;

    fn spec(&self) -> ToolSpec {
        ToolSpec::write("raise", "Raises a number.")
    }

    fn version(&self, _: &Number) -> Option<String> {
        Some(self.0.load(Ordering::SeqCst).to_string())
    }

    async fn call(
        &self,
        _: ToolContext<'_, React>,
        Number { n }: Number,
    ) -> Result<ToolOutput<ReactUpdate>, ToolFailure> {
        self.0.fetch_add(n, Ordering::SeqCst);
        Ok(ToolOutput::new("raised"))
    }
}

#[tokio::test(start_paused = true)]
async fn k35_a_call_that_an_older_program_did_is_not_asked_about_anew() -> TestResult {
    let number = Arc::new(AtomicU32::new(0));
    let tools = Registry::builder().tool(Raise(number.clone())).build()?;
    let toolbox = Toolbox::new(tools).gates(GateChain::new().with(confirm_writes));
    let graph = Graph::<React>::starting_at("act")
        .node("act", Earlier(toolbox, number.clone()))
        .edge("act", END)
        .policy("act", NodePolicy::default().attempts(2))
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let thread = ThreadId::new("t")?;
    let asked = runner.start(&thread, vec![]).await?;
    let card = asked.interrupts()[0].clone();
    let digest = card.question.digest.ok_or("a card has a digest")?;
    let agreed = Answers::none().approving(card.id, true, digest)?;
    let ended = runner.resume(&thread, agreed).await?;
    assert!(ended.interrupts().is_empty(), "{ended:?}");
    let said = &ended.state().conversation.history;
    let texts: Vec<_> = said.iter().map(|message| message.content.clone()).collect();
    assert_eq!(
        (texts, number.load(Ordering::SeqCst)),
        (vec!["raised".into()], 1)
    );
    Ok(())
}
