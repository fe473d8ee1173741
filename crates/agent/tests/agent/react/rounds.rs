//! The number of the model's answers, the prompts, and the ends of a run.
use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_agent::{
    Assistant, React, ReactLoop, ReactUpdate,
    decision::ModelFailure,
    memory::remember,
    react::{ReplyError, StopReason},
    toolbox::ToolUse,
    trace::model_calls,
};
use fugato_graph::{BoxError, BudgetUnit, Context, Runner, RunnerOptions};
use fugato_llm::{ChatDelta, ChatRequest, DecisionStyle, ModelError, ModelErrorKind};
use fugato_memory::{LongTermMemory, RememberError};
use fugato_state::{Message, Role, ToolCall};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use fugato_testkit::{Scripted, ScriptedReply};
use fugato_trace::RunTrace;
use futures::StreamExt as _;
use serde_json::{Value, json};

use super::{TestResult, assistant, call, calls, run, state, thread, tools};

fn reply(text: &str, metadata: &Value) -> Value {
    json!({ "final_reply": text, "metadata": metadata })
}

#[tokio::test]
async fn rct_t1_without_a_tool_the_model_is_asked_once() -> TestResult {
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
async fn rct_t2_two_rounds_and_an_answer() -> TestResult {
    let model = Scripted::new([
        calls([call("a", "look", 1), call("b", "look", 2)]),
        calls([call("a", "send", 3)]),
        ScriptedReply::text("Done."),
    ]);
    let (said, react) = run(&model, |graph| graph).await?;
    let metadata = json!({
        "steps_taken": 2, "tools_used": ["look", "send"], "stop_reason": "", "llm_calls": 3,
    });
    let report = "Done: sent 3 as t@1/tools#2/a.2\n\nDone.";
    assert_eq!(serde_json::to_value(&said)?, reply(report, &metadata));
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
async fn rct_t3_at_the_step_limit_the_model_is_asked_without_tools() -> TestResult {
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
async fn rct_t4_a_loop_ends_with_a_reason_and_a_reply() -> TestResult {
    let again = || calls([call("a", "look", 1)]);
    let model = Scripted::new([again(), again()]);
    let (said, react) = run(&model, |graph| graph).await?;
    assert_eq!(react.run.stop_reason, Some(StopReason::LoopDetected));
    assert_eq!(said.metadata.stop_reason, "loop_detected");
    assert_eq!(
        said.final_reply,
        "I stopped before I was done: the same steps came again and again without anything new. \
         Steps that I took: look."
    );
    assert_eq!(model.left(), 0);
    Ok(())
}

#[tokio::test]
async fn rct_c4_after_a_loop_the_model_may_answer_without_tools() -> TestResult {
    let again = || calls([call("a", "look", 1)]);
    let model = Scripted::new([again(), again(), ScriptedReply::text("It is there.")]);
    let (said, _) = run(&model, ReactLoop::answer_after_loop).await?;
    assert_eq!(said.final_reply, "It is there.");
    assert_eq!(said.metadata.stop_reason, "loop_detected");
    assert_eq!(said.metadata.llm_calls, 3);
    assert_eq!(model.requests()[2].tools, []);
    Ok(())
}

#[test]
fn rct_t5_an_old_thread_without_the_new_fields_loads() -> TestResult {
    let old = json!({ "conversation": { "history": [] }, "run": { "current_step": 2 } });
    let read: React = serde_json::from_value(old)?;
    let mut expected = React::default();
    expected.run.current_step = 2;
    assert_eq!(read, expected);
    Ok(())
}

#[tokio::test]
async fn rct_t6_events_come_in_order() -> TestResult {
    let model = Scripted::new([
        calls([call("a", "look", 1)]).reasoning("hm"),
        ScriptedReply::chunks(["All ", "well."]),
    ]);
    let graph = ReactLoop::new(model, tools()?).build()?;
    let assistant = assistant(graph);
    let events = assistant.chat_stream(&thread(), "Go.");
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
async fn rct_3_each_run_begins_anew() -> TestResult {
    let again = || calls([call("a", "look", 1)]);
    let model = Scripted::new([again(), again(), ScriptedReply::text("Yes?")]);
    let graph = ReactLoop::new(model, tools()?).max_steps(4).build()?;
    let assistant = assistant(graph);
    assistant.chat(&thread(), "Go.").await?;
    let reply = assistant.chat(&thread(), "Once more.").await?;
    assert_eq!(reply.final_reply, "Yes?");
    let run = &state(&assistant).await?.run;
    assert_eq!((run.llm_calls, run.current_step, run.max_steps), (1, 0, 4));
    assert_eq!((run.stop_reason, &run.uses[..]), (None, &[][..]));
    Ok(())
}

#[tokio::test]
async fn l5_a_model_without_tool_calls_runs_the_same_loop() -> TestResult {
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
async fn l4_an_unusable_answer_is_corrected_and_too_many_end_the_run() -> TestResult {
    let model = Scripted::new(["look 1", r#"{"speak": "It is there."}"#]);
    let (said, react) = run(&model, |graph| graph.style(DecisionStyle::JsonAction)).await?;
    assert_eq!(said.final_reply, "It is there.");
    assert_eq!((said.metadata.llm_calls, react.run.corrections), (2, 0));

    let model = Scripted::new(["look 1", "look 2"]);
    let twice = |graph: ReactLoop| graph.style(DecisionStyle::JsonAction).rejections(2);
    let (said, _) = run(&model, twice).await?;
    assert_eq!(said.metadata.stop_reason, "unusable_answers");
    assert_eq!(
        said.final_reply,
        "I stopped before I was done: I could not put the next step into a usable form."
    );
    Ok(())
}

#[tokio::test]
async fn a_rule_that_decides_is_no_call_of_a_model() -> TestResult {
    let model = Scripted::new(["look 1", "look 2", "left"]);
    let by_rule = |_: &ChatRequest, _: Option<&ModelFailure>| Message::assistant("By rule.");
    let graph = ReactLoop::new(model.clone(), tools()?).style(DecisionStyle::JsonAction);
    let graph = graph.rejections(2).rules(by_rule).build()?;
    // A run that has used up a budget fails before its next step, which comes after the rule.
    let options = RunnerOptions::default().budget(BudgetUnit::ModelCalls, 3);
    let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
    let (events, end) = runner.start(&thread(), ReactUpdate::user("Go.")).split();
    let (events, ended) = futures::join!(events.collect::<Vec<_>>(), end);
    let run = ended?.state().run.clone();
    assert_eq!((run.final_reply.as_str(), model.left()), ("By rule.", 1));
    let told = events.into_iter().filter_map(|event| match event.kind {
        EventKind::Correction { .. } => Some("corrected".to_owned()),
        EventKind::Custom { name, .. } => Some(name),
        _ => None,
    });
    let expected = [
        "corrected",
        "model_call",
        "decided_by_rule",
        "model_call",
        "final",
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let runs = RunTrace::read(&runner, &thread()).await?;
    let tasks = runs.iter().flat_map(|run| &run.tasks);
    assert_eq!(tasks.flat_map(|task| model_calls(&task.notes)).count(), 2);
    Ok(())
}

#[tokio::test]
async fn a_model_that_does_not_answer_fails_the_run_and_a_retry_goes_on() -> TestResult {
    let down = ModelError::new(ModelErrorKind::Unavailable, "maintenance");
    let model = Scripted::new([
        calls([call("a", "send", 1)]),
        ScriptedReply::error(down),
        ScriptedReply::text("Done."),
    ]);
    let graph = ReactLoop::new(model, tools()?).build()?;
    let assistant = assistant(graph);
    let failed = assistant.chat(&thread(), "Go.").await;
    assert!(matches!(failed, Err(ReplyError::Run(_))), "{failed:?}");
    let ended = assistant.runner().retry(&thread()).await?;
    let reply = Assistant::reply(ended)?;
    assert_eq!(
        (reply.final_reply.as_str(), reply.metadata.llm_calls),
        ("Done: sent 1 as t@1/tools#1/a\n\nDone.", 2)
    );
    Ok(())
}

/// A memory on a disk.
struct Disk {
    is_full: bool,
}

#[async_trait]
impl LongTermMemory for Disk {
    async fn remember(&self, _: &str) -> Result<(), RememberError> {
        if self.is_full {
            return Err(RememberError::new("the disk is full"));
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_claim_that_a_note_was_stored_needs_its_receipt() -> TestResult {
    let claim = "Okay, I have saved your note.";
    let nothing = "Nothing was written or changed in this run.";
    for (disk, expected) in [
        (Disk { is_full: false }, claim.to_owned()),
        (Disk { is_full: true }, format!("{claim}\n\n{nothing}")),
    ] {
        let model = Scripted::new([claim]);
        let wish = |_: &React| Some("remember: tea".to_owned());
        let trigger = remember(
            Arc::new(disk),
            wish,
            |_| ReactUpdate::Remembered,
            |_| vec![],
        );
        let (said, _) = run(&model, |graph| graph.memory_trigger(trigger)).await?;
        assert_eq!(said.final_reply, expected);
    }
    Ok(())
}

#[tokio::test]
async fn rct_1_rct_4_the_memory_trigger_comes_first_and_cannot_stop_the_run() -> TestResult {
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
        "n2 -.-> n1",
        "n2 -.-> n3",
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

#[tokio::test(start_paused = true)]
async fn l13_tokens_are_shown_as_they_come() -> TestResult {
    let slow = ScriptedReply::chunks(["All ", "well."]).paced(Duration::from_secs(1));
    let assistant = assistant(ReactLoop::new(Scripted::new([slow]), tools()?).build()?);
    let began = tokio::time::Instant::now();
    let events = assistant.chat_stream(&thread(), "Go.");
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
