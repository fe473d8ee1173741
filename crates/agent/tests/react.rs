//! The loop of model and tools.
use std::{sync::Arc, time::Duration};

use fugato_agent::{
    Assistant, Corrections, Embeds, React, ReactLoop, ReactReply, ReactUpdate, StopReason, ToolUse,
    Toolbox, Unreplied,
};
use fugato_graph::{Answers, BoxError, Context, END, Ended, Graph, Runner};
use fugato_llm::{ChatDelta, DecisionStyle, ModelError, ModelErrorKind, ToolCallDelta};
use fugato_state::{Message, Role, State, ThreadId, ToolCall, ToolStatus};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use fugato_testkit::{Reply, Scripted};
use fugato_tool::{
    Domain, Domains, EffectClass, GateChain, NoArguments, Registry, ToolFailure, ToolOutput,
    ToolSpec, async_tool_fn, confirm_writes,
};
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

type Tested = Result<(), BoxError>;

#[derive(Deserialize, schemars::JsonSchema)]
struct Number {
    n: u32,
}

/// Tools of each kind. None of them answers the same for two numbers.
fn tools() -> Result<Toolbox<React>, BoxError> {
    let registry = Registry::<React, ReactUpdate>::builder()
        .domains_to_choose(Domains::new().with("mail", Domain::new("core")))
        .function(ToolSpec::read("look", "Looks."), |_, Number { n }| {
            Ok(format!("{n} is there"))
        })
        .function(ToolSpec::write("send", "Sends."), |cx, Number { n }| {
            Ok(format!("sent {n} as {}", cx.key().unwrap_or_default()))
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

fn call(id: &str, name: &str, n: u32) -> ToolCall {
    ToolCall::new(id, name, json!({ "n": n }))
}

fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Reply {
    Reply::tool_calls(calls)
}

fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

fn assistant(graph: Graph<React>) -> Assistant {
    Assistant::new(Runner::new(graph, Arc::new(MemoryLog::default())))
}

async fn state(assistant: &Assistant) -> Result<Arc<React>, BoxError> {
    let state = assistant.runner().state(&thread()).await?;
    state.ok_or_else(|| "the thread has no state".into())
}

/// One run of a model with all tools.
async fn run(
    model: &Scripted,
    change: impl FnOnce(ReactLoop) -> ReactLoop,
) -> Result<(ReactReply, Arc<React>), BoxError> {
    let graph = change(ReactLoop::new(model.clone(), tools()?)).build()?;
    let assistant = assistant(graph);
    let reply = assistant.process_message(&thread(), "Go.").await?;
    let state = state(&assistant).await?;
    Ok((reply, state))
}

fn reply(text: &str, metadata: &Value) -> Value {
    json!({ "final_reply": text, "metadata": metadata })
}

#[tokio::test]
async fn rct_t1_without_a_tool_the_model_is_asked_once() -> Tested {
    let model = Scripted::new(["Hello."]);
    let (said, react) = run(&model, |graph| graph.system("Be brief.")).await?;
    let metadata = json!({ "steps_taken": 0, "tools_used": [], "stop_reason": "", "llm_calls": 1 });
    assert_eq!(serde_json::to_value(&said)?, reply("Hello.", &metadata));
    let asked = &model.requests()[0];
    assert_eq!(
        asked.messages,
        [Message::system("Be brief."), Message::user("Go.")]
    );
    assert_eq!(asked.tools.len(), 6);
    let history = [Message::user("Go."), Message::assistant("Hello.")];
    assert_eq!(react.conversation.history, history);
    Ok(())
}

#[tokio::test]
async fn rct_t2_two_rounds_and_an_answer() -> Tested {
    let model = Scripted::new([
        calls([call("a", "look", 1), call("b", "look", 2)]),
        calls([call("a", "send", 3)]),
        Reply::text("Done."),
    ]);
    let (said, react) = run(&model, |graph| graph).await?;
    let metadata = json!({
        "steps_taken": 2, "tools_used": ["look", "send"], "stop_reason": "", "llm_calls": 3,
    });
    assert_eq!(serde_json::to_value(&said)?, reply("Done.", &metadata));
    let told: Vec<_> = react.conversation.history.iter().collect();
    let results = told.iter().filter(|message| message.role == Role::Tool);
    let ids: Vec<_> = results
        .map(|message| message.tool_call_id.clone().unwrap_or_default())
        .collect();
    assert_eq!(ids, ["a", "b", "a.2"], "no two calls share an id");
    assert_eq!(react.run.uses.len(), 3);
    assert_eq!(
        react.run.uses[1],
        ToolUse::new("look", json!({ "n": 2 }), "2 is there")
    );
    Ok(())
}

#[tokio::test]
async fn rct_t3_at_the_step_limit_the_model_is_asked_without_tools() -> Tested {
    let model = Scripted::new([
        calls([call("a", "look", 1)]),
        calls([call("b", "look", 2)]).delta(ChatDelta::text("That is all I found.")),
    ]);
    let (said, react) = run(&model, |graph| graph.max_steps(1)).await?;
    let metadata = json!({
        "steps_taken": 1, "tools_used": ["look"], "stop_reason": "max_steps", "llm_calls": 2,
    });
    assert_eq!(
        serde_json::to_value(&said)?,
        reply("That is all I found.", &metadata)
    );
    assert_eq!(model.requests()[1].tools, []);
    let last = react.conversation.history.last();
    assert_eq!(last, Some(&Message::assistant("That is all I found.")));
    Ok(())
}

#[tokio::test]
async fn rct_t4_a_loop_ends_with_a_reason_and_a_reply() -> Tested {
    let again = || calls([call("a", "look", 1)]);
    let model = Scripted::new([again(), again()]);
    let (said, react) = run(&model, |graph| graph).await?;
    assert_eq!(react.run.stop_reason, Some(StopReason::LoopDetected));
    assert_eq!(said.metadata.stop_reason, "loop_detected");
    assert_eq!(
        said.final_reply,
        "I stopped before I was done: the same steps came again and again without anything new. \
         I used look."
    );
    assert_eq!(model.left(), 0);
    Ok(())
}

#[tokio::test]
async fn rct_c4_after_a_loop_the_model_may_answer_without_tools() -> Tested {
    let again = || calls([call("a", "look", 1)]);
    let model = Scripted::new([again(), again(), Reply::text("It is there.")]);
    let (said, _) = run(&model, ReactLoop::answer_after_loop).await?;
    assert_eq!(said.final_reply, "It is there.");
    assert_eq!(said.metadata.stop_reason, "loop_detected");
    assert_eq!(said.metadata.llm_calls, 3);
    assert_eq!(model.requests()[2].tools, []);
    Ok(())
}

#[test]
fn rct_t5_an_old_thread_without_the_new_fields_loads() -> Tested {
    let old = json!({ "conversation": { "history": [] }, "run": { "current_step": 2 } });
    let read: React = serde_json::from_value(old)?;
    let mut expected = React::default();
    expected.run.current_step = 2;
    assert_eq!(read, expected);
    Ok(())
}

#[tokio::test]
async fn rct_t6_events_come_in_order() -> Tested {
    let model = Scripted::new([
        calls([call("a", "look", 1)]).reasoning("hm"),
        Reply::chunks(["All ", "well."]),
    ]);
    let graph = ReactLoop::new(model, tools()?).build()?;
    let assistant = assistant(graph);
    let events = assistant.process_message_stream(&thread(), "Go.");
    let seen: Vec<String> = events
        .filter_map(|event| async move {
            let node = event.origin.map(|origin| origin.node.to_string());
            Some(match event.kind {
                EventKind::NodeStarted => format!("{} {{", node?),
                EventKind::NodeFinished => format!("}} {}", node?),
                EventKind::TextDelta { text, .. } => format!("text {text}"),
                EventKind::ReasoningDelta { text, .. } => format!("reasoning {text}"),
                EventKind::ToolCallProposed { name, .. } => format!("proposed {name}"),
                EventKind::ToolStarted { name, call, .. } => format!("start {name} {call}"),
                EventKind::ToolFinished { call, status, .. } => format!("end {call} {status:?}"),
                EventKind::Custom { name, .. } => name,
                _ => return None,
            })
        })
        .collect()
        .await;
    assert_eq!(
        seen,
        [
            "init_state {",
            "} init_state",
            "agent {",
            "reasoning hm",
            "proposed look",
            "model_call",
            "} agent",
            "tools {",
            "start look a",
            "end a Ok",
            "} tools",
            "agent {",
            "text All ",
            "text well.",
            "model_call",
            "} agent",
            "finalize {",
            "final",
            "} finalize",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn rct_3_each_run_begins_anew() -> Tested {
    let again = || calls([call("a", "look", 1)]);
    let model = Scripted::new([again(), again(), Reply::text("Yes?")]);
    let graph = ReactLoop::new(model, tools()?).max_steps(4).build()?;
    let assistant = assistant(graph);
    assistant.process_message(&thread(), "Go.").await?;
    let reply = assistant.process_message(&thread(), "Once more.").await?;
    assert_eq!(reply.final_reply, "Yes?");
    let run = &state(&assistant).await?.run;
    assert_eq!((run.llm_calls, run.current_step, run.max_steps), (1, 0, 4));
    assert_eq!((run.stop_reason, &run.uses[..]), (None, &[][..]));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn rct_w4_whatever_goes_wrong_is_a_result_with_a_status() -> Tested {
    let wrong = [
        ToolCall::new("a", "fail", json!({})),
        ToolCall::new("b", "hang", json!({})),
        ToolCall::new("c", "nothing", json!({})),
        ToolCall::new("d", "look", json!({ "m": 1 })),
        ToolCall::new("e", "inbox", json!({})),
    ];
    let model = Scripted::new([calls(wrong), Reply::text("I see.")]);
    let graph = ReactLoop::new(model, tools()?).build()?;
    let assistant = assistant(graph);
    let events = assistant.process_message_stream(&thread(), "Go.");
    let ends: Vec<_> = events
        .filter_map(|event| async move {
            match event.kind {
                EventKind::ToolFinished { call, status, .. } => Some((call, status)),
                _ => None,
            }
        })
        .collect()
        .await;
    let (failed, blocked) = (ToolStatus::Failed, ToolStatus::Blocked);
    let expected = [
        ("a", failed),
        ("b", failed),
        ("c", failed),
        ("d", failed),
        ("e", blocked),
    ];
    assert_eq!(
        ends,
        expected.map(|(call, status)| (call.to_owned(), status))
    );
    let results: Vec<_> = state(&assistant)
        .await?
        .run
        .uses
        .iter()
        .map(|one| one.result.clone())
        .collect();
    assert_eq!(results[0], "nobody is there");
    assert!(
        results[1].starts_with("`hang` took longer than 5s"),
        "{results:?}"
    );
    assert!(results[4].starts_with("the tool `inbox` is not active; first call"));
    Ok(())
}

#[tokio::test]
async fn l8_the_tools_that_are_asked_for_become_visible() -> Tested {
    let add = ToolCall::new("a", "context_tools_add", json!({ "domain": "mail" }));
    let model = Scripted::new([
        calls([add]),
        calls([ToolCall::new("b", "inbox", json!({}))]),
        Reply::text("No mail."),
    ]);
    let (said, _) = run(&model, |graph| graph).await?;
    assert_eq!(said.metadata.tools_used, ["context_tools_add", "inbox"]);
    let shown = |n: usize| {
        model.requests()[n]
            .tools
            .iter()
            .any(|tool| tool.name == "inbox")
    };
    assert_eq!([shown(0), shown(1)], [false, true]);
    Ok(())
}

#[tokio::test]
async fn l10_a_call_that_was_never_carried_out_is_cancelled() -> Tested {
    let graph = Graph::<React>::starting_at("tell")
        .node("tell", async |_: Context<React>| {
            let hanging = Message::assistant("").with_tool_calls([call("a", "send", 1)]);
            ReactUpdate::Answered(hanging)
        })
        .edge("tell", END)
        .build()?;
    let log = Arc::new(MemoryLog::default());
    Runner::new(graph, log.clone())
        .start(&thread(), vec![])
        .await?;

    let model = Scripted::new(["Yes?"]);
    let graph = ReactLoop::new(model.clone(), tools()?).build()?;
    let assistant = Assistant::new(Runner::new(graph, log));
    assistant.process_message(&thread(), "Well?").await?;
    let expected = [
        Message::assistant("").with_tool_calls([call("a", "send", 1)]),
        Message::tool("a", "cancelled"),
        Message::user("Well?"),
    ];
    assert_eq!(model.requests()[0].messages, expected);
    assert_eq!(state(&assistant).await?.conversation.history[..3], expected);
    Ok(())
}

#[tokio::test]
async fn l9_what_a_gate_wants_confirmed_is_asked_before_anything_is_done() -> Tested {
    let round = [
        call("a", "look", 1),
        call("b", "send", 2),
        call("c", "send", 3),
    ];
    let model = Scripted::new([calls(round), Reply::text("Done.")]);
    let toolbox = tools()?.gates(GateChain::new().with(confirm_writes));
    let graph = ReactLoop::new(model, toolbox).build()?;
    let assistant = assistant(graph);
    let asked = assistant.process_message(&thread(), "Go.").await;
    let Err(Unreplied::Asks(asked)) = asked else {
        panic!("nobody was asked: {asked:?}");
    };
    let keys: Vec<_> = asked.iter().map(|one| one.question.key.as_str()).collect();
    assert_eq!(keys, ["confirm/b", "confirm/c"]);
    assert_eq!(state(&assistant).await?.run.uses, []);

    let [b, c] = &asked[..] else {
        panic!("{asked:?}")
    };
    let digest = b.question.digest.clone().unwrap_or_default();
    let other = Answers::none().approving(b.id.clone(), true, "another")?;
    assert!(assistant.runner().resume(&thread(), other).await.is_err());
    let answers = Answers::none()
        .approving(b.id.clone(), true, digest)?
        .and(c.id.clone(), false)?;
    let ended = assistant.runner().resume(&thread(), answers).await?;
    assert_eq!(Assistant::reply(ended)?.final_reply, "Done.");
    let results: Vec<_> = state(&assistant)
        .await?
        .run
        .uses
        .iter()
        .map(|one| one.result.clone())
        .collect();
    assert_eq!(results[0], "1 is there");
    assert!(results[1].starts_with("sent 2 as t@"), "{results:?}");
    assert!(
        results[2].starts_with("the person does not agree"),
        "{results:?}"
    );
    Ok(())
}

#[tokio::test]
async fn l5_a_model_without_tool_calls_runs_the_same_loop() -> Tested {
    let json = [
        r#"{"speak": "Looking.", "tool_call": {"name": "look", "arguments": {"n": 1}}}"#,
        r#"{"speak": "It is there."}"#,
    ];
    let text = [
        r#"Looking. <tool_call>{"name": "look", "arguments": {"n": 1}}</tool_call>"#,
        "It is there.",
    ];
    for (style, replies) in [
        (DecisionStyle::JsonAction, json),
        (DecisionStyle::Text, text),
    ] {
        let model = Scripted::new(replies);
        let (said, react) = run(&model, |graph| graph.style(style)).await?;
        assert_eq!(said.final_reply, "It is there.");
        let looked = ToolCall::new("call-0", "look", json!({ "n": 1 }));
        assert_eq!(
            react.conversation.history[1],
            Message::assistant("Looking.").with_tool_calls([looked])
        );
        let asked = &model.requests()[1];
        assert_eq!(asked.tools, []);
        assert!(
            asked.messages[0].content.contains("- look (reads): Looks."),
            "{:?}",
            asked.messages[0]
        );
        assert_eq!(
            asked.messages[3],
            Message::user("[result of call-0] 1 is there")
        );
    }
    Ok(())
}

#[tokio::test]
async fn l4_an_unusable_answer_is_corrected_and_too_many_end_the_run() -> Tested {
    let model = Scripted::new(["look 1", r#"{"speak": "It is there."}"#]);
    let (said, react) = run(&model, |graph| graph.style(DecisionStyle::JsonAction)).await?;
    assert_eq!(said.final_reply, "It is there.");
    assert_eq!((said.metadata.llm_calls, react.run.corrections), (2, 0));

    let model = Scripted::new(["look 1", "look 2"]);
    let twice = |graph: ReactLoop| {
        let corrections = Corrections::after(2);
        graph
            .style(DecisionStyle::JsonAction)
            .corrections(corrections)
    };
    let (said, _) = run(&model, twice).await?;
    assert_eq!(said.metadata.stop_reason, "unusable_answers");
    assert_eq!(
        said.final_reply,
        "I stopped before I was done: I could not put the next step into a usable form."
    );
    Ok(())
}

#[tokio::test]
async fn a_model_that_does_not_answer_fails_the_run_and_a_retry_goes_on() -> Tested {
    let down = ModelError::new(ModelErrorKind::Unavailable, "maintenance");
    let model = Scripted::new([
        calls([call("a", "send", 1)]),
        Reply::error(down),
        Reply::text("Done."),
    ]);
    let graph = ReactLoop::new(model, tools()?).build()?;
    let assistant = assistant(graph);
    let failed = assistant.process_message(&thread(), "Go.").await;
    assert!(matches!(failed, Err(Unreplied::Run(_))), "{failed:?}");
    let ended = assistant.runner().retry(&thread()).await?;
    let reply = Assistant::reply(ended)?;
    assert_eq!(
        (reply.final_reply.as_str(), reply.metadata.llm_calls),
        ("Done.", 2)
    );
    Ok(())
}

#[tokio::test]
async fn rct_1_rct_4_the_memory_trigger_comes_first_and_cannot_stop_the_run() -> Tested {
    let model = Scripted::new(["Hello."]);
    let (said, _) = run(&model, |graph| {
        graph.memory_trigger(async |_: Context<React>| Err::<(), BoxError>("no memory".into()))
    })
    .await?;
    assert_eq!(said.final_reply, "Hello.");
    let graph = ReactLoop::new(model, tools()?)
        .memory_trigger(async |_: Context<React>| ())
        .build()?;
    let picture = graph.to_mermaid();
    let edges = [
        "n0 --> n4",
        "n4 --> n1",
        "n1 -.-> n2",
        "n1 -.-> n3",
        "n2 --> n1",
        "n3 --> END",
    ];
    let names = [
        "n0[\"init_state\"]",
        "n1[\"agent\"]",
        "n2[\"tools\"]",
        "n3[\"finalize\"]",
        "n4[\"memory_trigger\"]",
    ];
    for line in edges.into_iter().chain(names) {
        assert!(picture.contains(line), "{line} is not in {picture}");
    }
    Ok(())
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Counter {
    total: u32,
    talk: React,
}

#[derive(Debug, Serialize, Deserialize)]
enum Change {
    Added(u32),
    Talked(ReactUpdate),
}

impl State for Counter {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Added(n) => self.total += n,
            Change::Talked(update) => self.talk.apply(update),
        }
    }
}

impl Embeds<React> for Counter {
    fn part(&self) -> &React {
        &self.talk
    }

    fn embed(update: ReactUpdate) -> Change {
        Change::Talked(update)
    }
}

#[tokio::test]
async fn l11_a_write_sees_the_write_before_it() -> Tested {
    let add = ToolSpec::write("add", "Adds.").effect(EffectClass::Pure);
    let registry = Registry::<Counter, Change>::builder()
        .function(add, |cx, Number { n }| {
            let total = cx.state()?.total + n;
            Ok(ToolOutput::new(format!("{total}")).update(Change::Added(n)))
        })
        .build()?;
    let model = Scripted::new([
        calls([call("a", "add", 2), call("b", "add", 3)]),
        Reply::text("Five."),
    ]);
    let graph = Graph::<Counter>::starting_at("init_state").output(|state| state.total);
    let graph = ReactLoop::new(model, Toolbox::new(registry))
        .add_to(graph, END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let said = Change::Talked(ReactUpdate::user("Add."));
    let Ended::Finished { output, state } = runner.start(&thread(), said).await? else {
        panic!("it did not finish");
    };
    assert_eq!(output, Some(json!(5)));
    let results: Vec<_> = state
        .talk
        .run
        .uses
        .iter()
        .map(|one| one.result.as_str())
        .collect();
    assert_eq!(results, ["2", "5"]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn l11_reads_of_a_round_run_at_the_same_time_and_keep_their_order() -> Tested {
    let slow = ToolSpec::read("wait", "Waits so many seconds.");
    let registry = Registry::<React, ReactUpdate>::builder()
        .tool(async_tool_fn(slow, |_, Number { n }| {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(n.into())).await;
                Ok(ToolOutput::new(format!("waited {n}")))
            })
        }))
        .build()?;
    let model = Scripted::new([
        calls([
            call("a", "wait", 3),
            call("b", "wait", 1),
            call("c", "wait", 2),
        ]),
        Reply::text("Done."),
    ]);
    let assistant = assistant(ReactLoop::new(model, Toolbox::new(registry)).build()?);
    let began = tokio::time::Instant::now();
    assistant.process_message(&thread(), "Wait.").await?;
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    let results: Vec<_> = state(&assistant)
        .await?
        .run
        .uses
        .iter()
        .map(|one| one.result.clone())
        .collect();
    assert_eq!(results, ["waited 3", "waited 1", "waited 2"]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn l13_tokens_are_shown_as_they_come() -> Tested {
    let slow = Reply::chunks(["All ", "well."]).paced(Duration::from_secs(1));
    let assistant = assistant(ReactLoop::new(Scripted::new([slow]), tools()?).build()?);
    let began = tokio::time::Instant::now();
    let events = assistant.process_message_stream(&thread(), "Go.");
    let seen: Vec<_> = events
        .filter_map(|event| async move {
            match event.kind {
                EventKind::TextDelta { text, .. } => {
                    Some((text.as_str().to_owned(), began.elapsed().as_secs()))
                }
                _ => None,
            }
        })
        .collect()
        .await;
    assert_eq!(seen, [("All ".to_owned(), 1), ("well.".to_owned(), 2)]);
    Ok(())
}

/// What is shown of calls: when, and what.
async fn shown(model: Scripted) -> Result<Vec<(u64, &'static str, String)>, BoxError> {
    let assistant = assistant(ReactLoop::new(model, tools()?).build()?);
    let began = tokio::time::Instant::now();
    let mut seen = vec![];
    let mut events = assistant.process_message_stream(&thread(), "Go.");
    while let Some(event) = events.next().await {
        let at = began.elapsed().as_secs();
        match event.kind {
            EventKind::ToolCallDelta {
                call,
                name,
                arguments,
            } => seen.push((at, "more", format!("{call} {name} {arguments}"))),
            EventKind::ToolCallProposed {
                call, arguments, ..
            } => seen.push((at, "whole", format!("{call} {arguments}"))),
            _ => {}
        }
    }
    Ok(seen)
}

#[tokio::test(start_paused = true)]
async fn l13_arguments_are_shown_as_they_come() -> Tested {
    let piece = ChatDelta::ToolCall;
    // Its name may come in pieces too, and what has no id yet cannot be shown.
    let deltas = [
        piece(ToolCallDelta::new(0, "").id("a").name("lo")),
        piece(ToolCallDelta::new(0, "").name("ok")),
        piece(ToolCallDelta::new(0, "{\"n\"")),
        piece(ToolCallDelta::new(0, ": 1}").id("")),
    ];
    let slow = Reply::deltas(deltas).paced(Duration::from_secs(1));
    // The id is used again, by a server that counts from the beginning.
    let again = calls([call("a", "look", 2)]);
    let model = Scripted::new([slow, again, Reply::text("Well.")]);
    let expected = [
        (3, "more", "a look {\"n\""),
        (4, "more", "a look : 1}"),
        (4, "whole", "a {\"n\":1}"),
        (4, "more", "a.2 look {\"n"),
        (4, "more", "a.2 look \":2}"),
        (4, "whole", "a.2 {\"n\":2}"),
    ];
    let expected = expected.map(|(at, what, text)| (at, what, text.to_owned()));
    assert_eq!(shown(model).await?, expected);
    Ok(())
}

#[tokio::test]
async fn l13_calls_are_not_shown_of_a_model_that_may_not_call() -> Tested {
    let model = Scripted::new([calls([call("a", "look", 1)]), calls([call("b", "look", 2)])]);
    let graph = ReactLoop::new(model, tools()?).max_steps(1).build()?;
    let events = assistant(graph).process_message_stream(&thread(), "Go.");
    let shown: Vec<String> = events
        .filter_map(|event| async move {
            match event.kind {
                EventKind::ToolCallDelta { call, .. } => Some(call.as_str().to_owned()),
                _ => None,
            }
        })
        .collect()
        .await;
    assert_eq!(shown, ["a", "a"]);
    Ok(())
}

#[tokio::test]
async fn pln_21_what_was_read_before_a_write_is_not_told_after_it() -> Tested {
    let rounds = [
        calls([call("a", "look", 1)]),
        calls([call("b", "look", 2), call("c", "send", 3)]),
        Reply::text("Done."),
    ];
    for live in [true, false] {
        let model = Scripted::new(rounds.clone());
        let toolbox = if live {
            tools()?.live_reads()
        } else {
            tools()?
        };
        let assistant = assistant(ReactLoop::new(model.clone(), toolbox).build()?);
        assistant.process_message(&thread(), "Go.").await?;
        let told = |at: usize| {
            let request = model.requests().into_iter().nth(at);
            let messages = request.into_iter().flat_map(|request| request.messages);
            let results = messages.filter(|message| message.tool_call_id.is_some());
            results.map(|result| result.content).collect::<Vec<_>>()
        };
        assert_eq!(told(1), ["1 is there"]);
        let first = if live {
            "this may have changed since; call the tool again"
        } else {
            "1 is there"
        };
        assert_eq!(
            told(2).get(..2),
            Some(&[first.to_owned(), "2 is there".into()][..])
        );
    }
    Ok(())
}
