//! The results of the calls of a round, and their events.
use std::{sync::Arc, time::Duration};

use fugato_agent::{Assistant, Embeds, React, ReactLoop, ReactUpdate, Toolbox, react::ReplyError};
use fugato_graph::{Answers, BoxError, Context, END, Graph, RunResult, Runner};
use fugato_llm::{ChatDelta, ToolCallDelta};
use fugato_state::{Message, State, ToolCall, ToolStatus};
use fugato_store::MemoryLog;
use fugato_stream::{
    AgUiEncoder, AiSdkEncoder, Encoder, Event, EventKind, Frames, OpenAiEncoder, card_text,
};
use fugato_testkit::{Scripted, ScriptedReply};
use fugato_tool::{
    EffectClass, GateChain, Registry, ToolOutput, ToolSpec, async_tool_fn, confirm_writes,
};
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Number, TestResult, assistant, call, calls, run, state, thread, tools};

/// Returns the results of the last run's calls.
fn results(react: &React) -> Vec<String> {
    let uses = react.run.uses.iter();
    uses.map(|one| one.result.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn rct_w4_whatever_goes_wrong_is_a_result_with_a_status() -> TestResult {
    let wrong = [
        ToolCall::new("a", "fail", json!({})),
        ToolCall::new("b", "hang", json!({})),
        ToolCall::new("c", "nothing", json!({})),
        ToolCall::new("d", "look", json!({ "m": 1 })),
        ToolCall::new("e", "inbox", json!({})),
    ];
    let model = Scripted::new([calls(wrong), ScriptedReply::text("I see.")]);
    let graph = ReactLoop::new(model, tools()?).build()?;
    let assistant = assistant(graph);
    let events = assistant.chat_stream(&thread(), "Go.");
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
    let results = results(state(&assistant).await?.as_ref());
    assert_eq!(results[0], "nobody is there");
    assert!(
        results[1].starts_with("`hang` took longer than 5s"),
        "{results:?}"
    );
    assert!(results[4].starts_with("the tool `inbox` is not active; first call"));
    Ok(())
}

#[tokio::test]
async fn l8_the_tools_that_are_asked_for_become_visible() -> TestResult {
    let add = ToolCall::new("a", "context_tools_add", json!({ "domain": "mail" }));
    let model = Scripted::new([
        calls([add]),
        calls([ToolCall::new("b", "inbox", json!({}))]),
        ScriptedReply::text("No mail."),
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
async fn l10_a_call_that_was_never_carried_out_is_cancelled() -> TestResult {
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
    assistant.chat(&thread(), "Well?").await?;
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
async fn l9_what_a_gate_wants_confirmed_is_asked_before_anything_is_done() -> TestResult {
    let round = [
        call("a", "look", 1),
        call("b", "send", 2),
        call("c", "send", 3),
    ];
    let model = Scripted::new([calls(round), ScriptedReply::text("Done.")]);
    let toolbox = tools()?.gates(GateChain::new().with(confirm_writes));
    let graph = ReactLoop::new(model, toolbox).build()?;
    let assistant = assistant(graph);
    let asked = assistant.chat(&thread(), "Go.").await;
    let Err(ReplyError::Asks(asked)) = asked else {
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
    assert_eq!(
        Assistant::reply(ended)?.final_reply,
        "Done: sent 2 as t@1/tools#1/b\nNot done: send: you did not agree"
    );
    let results = results(state(&assistant).await?.as_ref());
    assert_eq!(results[0], "1 is there");
    assert!(results[1].starts_with("sent 2 as t@"), "{results:?}");
    assert!(
        results[2].starts_with("the person does not agree"),
        "{results:?}"
    );
    Ok(())
}

/// Returns the events of a run that asks for consent to `send`, for either kind of confirmation.
async fn asked(toolbox: Toolbox<React>) -> Result<Vec<Event>, BoxError> {
    let model = Scripted::new([calls([call("b", "send", 2)]), ScriptedReply::text("Done.")]);
    let assistant = assistant(ReactLoop::new(model, toolbox).build()?);
    let events = assistant.chat_stream(&thread(), "Go.");
    Ok(events.collect().await)
}

/// Returns the JSON of the frames of a stream.
fn frames(mut encoder: impl Encoder, events: &[Event]) -> Vec<Value> {
    let mut frames = Frames::new();
    for event in events {
        encoder.encode(event, &mut frames);
    }
    encoder.finish(&mut frames);
    let lines = frames
        .as_str()
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[tokio::test]
async fn k35_every_wire_shows_the_call_that_a_gate_asks_about() -> TestResult {
    let gated = tools()?.gates(GateChain::new().with(confirm_writes));
    let marked = tools()?.confirm_if(|_, call| call.name == "send");
    for events in [asked(gated).await?, asked(marked).await?] {
        let raised = events.iter().find_map(|event| match &event.kind {
            EventKind::InterruptRaised(interrupt) => Some(interrupt.clone()),
            _ => None,
        });
        let asked = raised.expect("somebody is asked");
        let (prompt, id) = (&asked.question.prompt, asked.id.as_str());
        assert_eq!(prompt["summary"], "n: 2");
        assert_eq!(prompt["call"]["arguments"], json!({ "n": 2 }));

        let sdk = frames(AiSdkEncoder::new(), &events);
        let of = |kind: &str| sdk.iter().find(|chunk| chunk["type"] == kind).cloned();
        let request = of("tool-approval-request").expect("an approval is asked for");
        let call = of("tool-input-available").expect("the call is shown");
        assert_eq!(request["approvalId"], id);
        assert_eq!(request["toolCallId"], call["toolCallId"]);
        assert_eq!(call["input"], json!({ "n": 2 }));
        assert_eq!(of("finish").expect("an end")["finishReason"], "tool-calls");

        let ag_ui = frames(AgUiEncoder::new(), &events);
        let end = ag_ui.last().expect("an end");
        let shown = &end["outcome"]["interrupts"][0];
        assert_eq!(
            (&shown["id"], &shown["toolCallId"]),
            (&json!(id), &json!("b"))
        );
        assert_eq!(shown["metadata"]["code"], asked.id.code());

        let openai = frames(OpenAiEncoder::new("c", "m", 0), &events);
        let content = |chunk: &Value| {
            Some(
                chunk
                    .pointer("/choices/0/delta/content")?
                    .as_str()?
                    .to_owned(),
            )
        };
        let said: String = openai.iter().filter_map(content).collect();
        assert_eq!(said, card_text(&asked));
        let how = format!("reply: yes {}", asked.id.code());
        assert!(said.contains("    n: 2\n") && said.contains(&how), "{said}");
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
async fn l11_a_write_sees_the_write_before_it() -> TestResult {
    let add = ToolSpec::write("add", "Adds.").effect(EffectClass::Pure);
    let registry = Registry::<Counter, Change>::builder()
        .function(add, |cx, Number { n }| {
            let total = cx.state()?.total + n;
            Ok(ToolOutput::new(format!("{total}")).update(Change::Added(n)))
        })
        .build()?;
    let model = Scripted::new([
        calls([call("a", "add", 2), call("b", "add", 3)]),
        ScriptedReply::text("Five."),
    ]);
    let graph = Graph::<Counter>::starting_at("init_state").output(|state| state.total);
    let graph = ReactLoop::new(model, Toolbox::new(registry))
        .add_to(graph, END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let said = Change::Talked(ReactUpdate::user("Add."));
    let RunResult::Finished { output, state } = runner.start(&thread(), said).await? else {
        panic!("it did not finish");
    };
    assert_eq!(output, Some(json!(5)));
    assert_eq!(results(&state.talk), ["2", "5"]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn l11_reads_of_a_round_run_at_the_same_time_and_keep_their_order() -> TestResult {
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
        ScriptedReply::text("Done."),
    ]);
    let assistant = assistant(ReactLoop::new(model, Toolbox::new(registry)).build()?);
    let began = tokio::time::Instant::now();
    assistant.chat(&thread(), "Wait.").await?;
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    let results = results(state(&assistant).await?.as_ref());
    assert_eq!(results, ["waited 3", "waited 1", "waited 2"]);
    Ok(())
}

/// Returns the events of calls: second, kind and text.
async fn shown(model: Scripted) -> Result<Vec<(u64, &'static str, String)>, BoxError> {
    let assistant = assistant(ReactLoop::new(model, tools()?).build()?);
    let began = tokio::time::Instant::now();
    let mut seen = vec![];
    let mut events = assistant.chat_stream(&thread(), "Go.");
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
async fn l13_arguments_are_shown_as_they_come() -> TestResult {
    let piece = ChatDelta::ToolCall;
    // A name may come in pieces too, and a call without an id cannot be shown yet.
    let deltas = [
        piece(ToolCallDelta::new(0, "").id("a").name("lo")),
        piece(ToolCallDelta::new(0, "").name("ok")),
        piece(ToolCallDelta::new(0, "{\"n\"")),
        piece(ToolCallDelta::new(0, ": 1}").id("")),
    ];
    let slow = ScriptedReply::deltas(deltas).paced(Duration::from_secs(1));
    // The server counts from the beginning and repeats the id.
    let again = calls([call("a", "look", 2)]);
    let model = Scripted::new([slow, again, ScriptedReply::text("Well.")]);
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
async fn l13_calls_are_not_shown_of_a_model_that_may_not_call() -> TestResult {
    let model = Scripted::new([calls([call("a", "look", 1)]), calls([call("b", "look", 2)])]);
    let graph = ReactLoop::new(model, tools()?).max_steps(1).build()?;
    let events = assistant(graph).chat_stream(&thread(), "Go.");
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
async fn pln_21_what_was_read_before_a_write_is_not_told_after_it() -> TestResult {
    let rounds = [
        calls([call("a", "look", 1)]),
        calls([call("b", "look", 2), call("c", "send", 3)]),
        ScriptedReply::text("Done."),
    ];
    for live in [true, false] {
        let model = Scripted::new(rounds.clone());
        let toolbox = if live {
            tools()?.live_reads()
        } else {
            tools()?
        };
        let assistant = assistant(ReactLoop::new(model.clone(), toolbox).build()?);
        assistant.chat(&thread(), "Go.").await?;
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
