//! Tests of the next step after a call: the model, a person, the end, another agent; and of callers.
use std::sync::{Arc, Mutex, PoisonError};

use fugato_agent::{Assistant, React, ReactLoop, ReactUpdate, Toolbox, react::ReplyError};
use fugato_graph::{Answers, Context, END, Graph, RunErrorKind, RunResult, Runner};
use fugato_llm::Models;
use fugato_state::{Message, Question, Role, RunContext, ToolCall};
use fugato_store::MemoryLog;
use fugato_testkit::{Scripted, ScriptedReply};
use fugato_tool::{
    EffectClass, NoArguments, Registry, RegistryBuilder, ToolCaller, ToolFailure, ToolOutput,
    ToolSpec,
};
use serde_json::json;

use super::{Number, TestResult, call, calls, state, thread};

/// The tools that were called, in order.
#[derive(Clone, Default)]
struct CallLog(Arc<Mutex<Vec<String>>>);

impl CallLog {
    fn push(&self, what: impl Into<String>) {
        let mut called = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        called.push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

type Tools = RegistryBuilder<React, ReactUpdate>;

/// Returns tools that note that they were called, one for each step that can follow.
fn tools(called: &CallLog) -> Tools {
    let note = |name: &'static str| {
        let called = called.clone();
        move || called.push(name)
    };
    let (look, ask, send, done, bill) = (
        note("look"),
        note("ask"),
        note("send"),
        note("done"),
        note("bill"),
    );
    Registry::builder()
        .function(ToolSpec::read("look", "Looks."), move |_, Number { n }| {
            look();
            Ok(format!("{n} is there"))
        })
        .function(ToolSpec::read("ask", "Asks."), move |_, _: NoArguments| {
            ask();
            Ok(ToolOutput::ask(Question::new::<String>(
                "city",
                "Which city?",
            )))
        })
        .function(ToolSpec::write("send", "Sends."), move |_, Number { n }| {
            send();
            Ok(format!("sent {n}"))
        })
        .function(ToolSpec::read("done", "Ends."), move |_, Number { n }| {
            done();
            Ok(ToolOutput::new(format!("It is {n}.")).final_output())
        })
        .function(
            ToolSpec::read("bill", "Hands over."),
            move |_, _: NoArguments| {
                bill();
                Ok(ToolOutput::new("The billing desk goes on.").handoff("billing"))
            },
        )
}

fn assistant(model: &Scripted, tools: Tools) -> Result<Assistant, fugato_graph::BoxError> {
    let toolbox = Toolbox::new(tools.build()?);
    let graph = ReactLoop::new(model.clone(), toolbox).build()?;
    Ok(super::assistant(graph))
}

#[tokio::test]
async fn a_tool_asks_a_person_and_the_answer_is_its_result() -> TestResult {
    let called = CallLog::default();
    let ask = ToolCall::new("b", "ask", json!({}));
    let model = Scripted::new([
        calls([call("a", "look", 1), ask, call("c", "send", 2)]),
        ScriptedReply::text("Off to Oslo."),
    ]);
    let assistant = assistant(&model, tools(&called))?;
    let parked = assistant.chat(&thread(), "Go.").await;
    let Err(ReplyError::Asks(asked)) = parked else {
        panic!("it should ask: {parked:?}");
    };
    let [asked] = &asked[..] else {
        panic!("one question: {asked:?}");
    };
    assert_eq!(
        asked.question,
        Question::new::<String>("ask/b", "Which city?")
    );
    // The read beside it is done; the write after it waits.
    assert_eq!(called.take(), ["look", "ask"]);

    let runner = assistant.runner();
    let refused = runner.resume(&thread(), Answers::only(7)?).await;
    assert!(matches!(
        refused.map_err(|e| e.kind),
        Err(RunErrorKind::Answer(_))
    ));
    let ended = runner.resume(&thread(), Answers::only("Oslo")?).await?;
    assert_eq!(
        ended.state().run.final_reply,
        "Done: sent 2\n\nOff to Oslo."
    );
    assert_eq!(called.take(), ["send"]);
    let results = model.requests()[1].messages.clone();
    let results = results
        .into_iter()
        .filter(|message| message.role == Role::Tool);
    assert_eq!(
        results.collect::<Vec<_>>(),
        [
            Message::tool("a", "1 is there"),
            Message::tool("b", "Oslo"),
            Message::tool("c", "sent 2"),
        ]
    );
    Ok(())
}

#[tokio::test]
async fn a_result_can_be_the_reply_and_the_model_is_not_asked_again() -> TestResult {
    let called = CallLog::default();
    let model = Scripted::new([
        calls([call("a", "send", 1)]),
        calls([call("b", "done", 7), call("c", "look", 2)]),
    ]);
    let assistant = assistant(&model, tools(&called))?;
    let reply = assistant.chat(&thread(), "Go.").await?;
    assert_eq!(reply.final_reply, "Done: sent 1\n\nIt is 7.");
    assert_eq!(reply.metadata.stop_reason, "final_output");
    assert_eq!(called.take(), ["send", "done", "look"]);
    assert_eq!(model.requests().len(), 2);
    let react = state(&assistant).await?;
    let last = react.conversation.history.last().cloned();
    assert_eq!(last, Some(Message::assistant("Done: sent 1\n\nIt is 7.")));
    Ok(())
}

#[tokio::test]
async fn a_tool_that_fails_ends_no_round() -> TestResult {
    let model = Scripted::new([
        calls([ToolCall::new("a", "done", json!({ "n": "seven" }))]),
        ScriptedReply::text("Seven."),
    ]);
    let assistant = assistant(&model, tools(&CallLog::default()))?;
    let reply = assistant.chat(&thread(), "Go.").await?;
    assert_eq!(reply.final_reply, "Seven.");
    Ok(())
}

#[tokio::test]
async fn a_run_that_is_handed_over_says_to_whom() -> TestResult {
    let bill = ToolCall::new("a", "bill", json!({}));
    let model = Scripted::new([calls([bill]), ScriptedReply::text("Good day.")]);
    let assistant = assistant(&model, tools(&CallLog::default()))?;
    let reply = assistant.chat(&thread(), "I was charged twice.").await?;
    assert_eq!(reply.final_reply, "The billing desk goes on.");
    assert_eq!(reply.metadata.handoff.as_deref(), Some("billing"));
    assert_eq!(reply.metadata.stop_reason, "handoff");
    // The next run is an ordinary one.
    let reply = assistant.chat(&thread(), "Hello?").await?;
    assert_eq!(
        (&*reply.final_reply, reply.metadata.handoff),
        ("Good day.", None)
    );
    Ok(())
}

/// Returns a tool that says who calls it.
fn who(builder: Tools) -> Tools {
    async fn who((): (), caller: ToolCaller, _: NoArguments) -> Result<String, ToolFailure> {
        let (user, thread) = (caller.user, caller.thread.map(|id| id.to_string()));
        Ok(format!("{user:?} in {thread:?}, call {}", caller.call))
    }
    builder.function_with_caller(ToolSpec::read("who", "Says who calls."), (), who)
}

#[tokio::test]
async fn two_loops_in_one_graph_share_the_conversation_and_the_caller() -> TestResult {
    let bill = ToolCall::new("a", "bill", json!({}));
    let who_calls = ToolCall::new("b", "who", json!({}));
    let desk_model = Scripted::new([calls([bill])]);
    let billing_model = Scripted::new([calls([who_calls]), ScriptedReply::text("Refunded.")]);
    let desk = Toolbox::new(tools(&CallLog::default()).build()?);
    let desk = ReactLoop::new(desk_model, desk).prefix("desk_");
    let billing = Toolbox::new(who(Registry::builder()).build()?);
    let billing = ReactLoop::new(billing_model.clone(), billing).prefix("billing_");
    let (start, other) = (desk.entry(), billing.entry());
    assert_eq!(
        (&*start, &*other),
        ("desk_init_state", "billing_init_state")
    );
    let graph = Graph::<React>::starting_at(start).output(|react: &React| react.reply());
    let graph = desk.add_to(graph, "route");
    let graph = billing.add_to(graph, END);
    let graph = graph
        .node("route", async |_: Context<React>| ())
        .branch("route", [&*other, END], |react| match &react.run.handoff {
            Some(handoff) if handoff.to == "billing" => "billing_init_state",
            _ => END,
        })
        .build()?;
    let assistant = super::assistant(graph);
    let context = RunContext::new()
        .user("ada".to_owned())
        .metadata("shop", "north");
    let run = assistant.chat_stream_with(&thread(), "I was charged twice.", context);
    let reply = Assistant::<React>::reply(run.await?)?;
    assert_eq!(reply.final_reply, "Refunded.");
    let requests = billing_model.requests();
    let expected = [
        Message::user("I was charged twice."),
        Message::assistant("").with_tool_calls([ToolCall::new("a", "bill", json!({}))]),
        Message::tool("a", "The billing desk goes on."),
    ];
    assert_eq!(requests[0].messages, expected);
    let metadata = &requests[0].metadata;
    assert_eq!(metadata["stage"], "billing_agent");
    assert_eq!(metadata["shop"], "north");
    let told = requests[1].messages.last().cloned();
    let words = "Some(\"ada\") in Some(\"t\"), call b";
    assert_eq!(told, Some(Message::tool("b", words)));
    Ok(())
}

#[tokio::test]
async fn the_caller_of_one_run_is_not_that_of_the_next() -> TestResult {
    let who_calls = |id: &str| calls([ToolCall::new(id, "who", json!({}))]);
    let replies = [
        who_calls("a"),
        ScriptedReply::text("1"),
        who_calls("b"),
        ScriptedReply::text("2"),
    ];
    let assistant = assistant(&Scripted::new(replies), who(Registry::builder()))?;
    let context = RunContext::new().user("ada".to_owned());
    assistant
        .chat_stream_with(&thread(), "Who?", context)
        .await?;
    let told = |react: &React| react.run.uses[0].result.clone();
    let react = state(&assistant).await?;
    assert_eq!(told(&react), "Some(\"ada\") in Some(\"t\"), call a");
    assistant.chat(&thread(), "Who?").await?;
    let react = state(&assistant).await?;
    assert_eq!(told(&react), "None in Some(\"t\"), call b");
    Ok(())
}

#[tokio::test]
async fn a_context_whose_run_never_began_is_not_that_of_the_next() -> TestResult {
    // The process that accepts the message has another graph, which never begins the loop.
    let log = Arc::new(MemoryLog::default());
    let graph = Graph::<React>::starting_at("idle")
        .node("idle", async |_: Context<React>| ())
        .edge("idle", END)
        .build()?;
    let idle = Assistant::new(Runner::new(graph, log.clone()));
    let context = RunContext::new().user("ada".to_owned());
    idle.chat_stream_with(&thread(), "Who?", context).await?;

    let model = Scripted::new([
        calls([ToolCall::new("a", "who", json!({}))]),
        ScriptedReply::text("1"),
    ]);
    let toolbox = Toolbox::new(who(Registry::builder()).build()?);
    let graph = ReactLoop::new(model, toolbox).build()?;
    let assistant = Assistant::new(Runner::new(graph, log));
    assistant.chat(&thread(), "Who?").await?;
    let react = state(&assistant).await?;
    assert_eq!(react.run.uses[0].result, "None in Some(\"t\"), call a");
    Ok(())
}

#[tokio::test]
async fn a_run_chooses_its_model_and_each_request_its_settings() -> TestResult {
    let [small, large] = ["small", "large"]
        .map(|name| Scripted::new([calls([call(name, "look", 1)]), ScriptedReply::text(name)]));
    let models = Models::new("small", small.clone()).with("large", large.clone());
    let toolbox = Toolbox::new(tools(&CallLog::default()).build()?);
    let graph = ReactLoop::new(models, toolbox)
        .prepare(|react, request| {
            let round = react.run.current_step;
            let request = request.metadata("round", round.to_string());
            if round == 0 {
                request
            } else {
                request.temperature(0.5)
            }
        })
        .build()?;
    let assistant = super::assistant(graph);
    let context = RunContext::new().model("large".to_owned());
    let run = assistant.chat_stream_with(&thread(), "Go.", context);
    let reply = Assistant::<React>::reply(run.await?)?;
    assert_eq!(reply.final_reply, "large");
    let settings: Vec<_> = large
        .requests()
        .iter()
        .map(|request| {
            (
                request.sampling.temperature,
                request.metadata["round"].clone(),
            )
        })
        .collect();
    assert_eq!(
        settings,
        [(None, "0".to_owned()), (Some(0.5), "1".to_owned())]
    );
    assert_eq!(assistant.chat(&thread(), "Go.").await?.final_reply, "small");

    let context = RunContext::new().model("huge".to_owned());
    let failed = assistant.chat_stream_with(&thread(), "Go.", context).await;
    let error = failed.map(|_: RunResult<React>| ()).unwrap_err();
    let mut chain = vec![];
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        chain.push(cause.to_string());
        source = cause.source();
    }
    let chain = chain.join(": ");
    assert!(
        chain.contains("there is no model \"huge\"; allowed are large, small"),
        "{chain}"
    );
    Ok(())
}

#[tokio::test]
async fn the_front_door_hands_over_to_another_agent() -> TestResult {
    let transfer = ToolCall::new("a", "transfer_to_billing", json!({}));
    let desk = Scripted::new([calls([transfer])]);
    let billing = Scripted::new(["Refunded."]);
    let billing_agent = fugato_agent::agent(billing.clone()).system("You know bills.");
    let reply = fugato_agent::agent(desk.clone())
        .system("You greet.")
        .handoff("billing", "Bills and refunds.", billing_agent)
        .run("I was charged twice.")
        .await?;
    assert_eq!(reply, "Refunded.");
    let tools: Vec<_> = desk.requests()[0]
        .tools
        .iter()
        .map(|tool| tool.description.clone())
        .collect();
    assert_eq!(
        tools,
        ["Hands the conversation over to billing: Bills and refunds."]
    );
    assert_eq!(
        billing.requests()[0].messages[0],
        Message::system("You know bills.")
    );
    Ok(())
}

#[tokio::test]
async fn a_write_that_asks_is_not_repeated_after_the_answer() -> TestResult {
    let called = CallLog::default();
    let noted = called.clone();
    let spec = ToolSpec::write("book", "Books.").effect(EffectClass::Once);
    let tools = Registry::builder().function(spec, move |_, _: NoArguments| {
        noted.push("book");
        Ok(ToolOutput::ask(Question::new::<Option<u32>>(
            "seat",
            "Which seat?",
        )))
    });
    let book = |id: &str| calls([ToolCall::new(id, "book", json!({}))]);
    let model = Scripted::new([book("a"), ScriptedReply::text("Booked.")]);
    let assistant = assistant(&model, tools)?;
    assistant.chat(&thread(), "Go.").await.unwrap_err();
    let ended = assistant
        .runner()
        .resume(&thread(), Answers::only(12)?)
        .await?;
    assert_eq!(ended.state().run.uses[0].result, "12");
    assert_eq!(called.take(), ["book"]);
    Ok(())
}
