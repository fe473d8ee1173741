//! Models that say nothing, too late or too much: each run of the loop ends in time.
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fugato_agent::{
    Assistant, React, ReactLoop, ReactUpdate, Toolbox,
    react::{ReactMetadata, ReplyError, StopReason},
};
use fugato_graph::{BoxError, RunErrorKind, Runner};
use fugato_llm::{Allowance, ChatDelta, ModelError, ModelErrorKind, SpendLimit};
use fugato_state::{ThreadId, ToolCall};
use fugato_store::MemoryLog;
use fugato_testkit::{Scripted, ScriptedReply};
use fugato_tool::{NoArguments, Registry, ToolSpec};
use serde_json::json;
use tokio::time::Instant;

type TestResult = Result<(), BoxError>;

fn toolbox() -> Result<Toolbox<React>, BoxError> {
    let looks = ToolSpec::read("look", "Looks.");
    let registry = Registry::<React, ReactUpdate>::builder()
        .function(looks, |_, _: NoArguments| Ok("nothing new"))
        .build()?;
    Ok(Toolbox::new(registry))
}

fn assistant(
    model: &Scripted,
    change: impl FnOnce(ReactLoop) -> ReactLoop,
) -> Result<Assistant, BoxError> {
    let graph = change(ReactLoop::new(model.clone(), toolbox()?)).build()?;
    Ok(Assistant::new(Runner::new(
        graph,
        Arc::new(MemoryLog::default()),
    )))
}

fn thread() -> Result<ThreadId, BoxError> {
    Ok(ThreadId::new("t")?)
}

fn call(name: &str, n: usize) -> ScriptedReply {
    ScriptedReply::tool_calls([ToolCall::new(format!("c{n}"), name, json!({}))])
}

/// A word a minute, for longer than the timeout.
fn drips() -> ScriptedReply {
    ScriptedReply::deltas((0..60).map(|_| ChatDelta::text("word "))).paced(Duration::from_secs(60))
}

#[tokio::test(start_paused = true)]
async fn who_takes_too_long_fails_the_run_in_time_and_a_retry_goes_on() -> TestResult {
    for late in [
        ScriptedReply::hang(),
        drips(),
        ScriptedReply::text("Well").then_hang(),
    ] {
        let model = Scripted::new([call("look", 1), late, ScriptedReply::text("Here I am.")]);
        let assistant = assistant(&model, |it| it)?;
        let begun = Instant::now();
        let failed = assistant.chat(&thread()?, "Go.").await;
        let Err(ReplyError::Run(error)) = failed else {
            panic!("{failed:?}")
        };
        assert!(matches!(error.kind, RunErrorKind::Node { .. }), "{error:?}");
        assert_eq!(begun.elapsed(), Duration::from_secs(180));
        let reply = Assistant::reply(assistant.runner().retry(&thread()?).await?)?;
        assert_eq!(reply.final_reply, "Here I am.");
    }
    Ok(())
}

/// The answers to one question are one decision, even if each correction is a step of the graph.
#[tokio::test(start_paused = true)]
async fn corrections_in_rounds_share_the_allowance_of_their_decision() -> TestResult {
    let late = |reply: ScriptedReply| reply.after(Duration::from_secs(4));
    let nothing = || late(ScriptedReply::text(" "));
    let script = [nothing(), late(call("look", 1)), nothing(), nothing()];
    let answers = [nothing(), late(ScriptedReply::text("Too late."))];
    let model = SpendLimit::new(Scripted::new(script.into_iter().chain(answers)));
    let model = model.stage(Allowance {
        time: Duration::from_secs(9),
        bytes: 1_000,
    });
    let graph = ReactLoop::new(model, toolbox()?).rejections(9).build()?;
    let assistant = Assistant::new(Runner::new(graph, Arc::new(MemoryLog::default())));
    let begun = Instant::now();
    let failed = assistant.chat(&thread()?, "Go.").await;
    let Err(ReplyError::Run(error)) = failed else {
        panic!("{failed:?}")
    };
    let error = format!("{error:?}");
    assert!(error.contains("longer than 9 s in this stage"), "{error}");
    // 8 s until the tool is called, and then again 9 s.
    assert_eq!(begun.elapsed(), Duration::from_secs(17));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn rct_8_silence_is_explained_to_the_person_in_their_language() -> TestResult {
    let down = || ScriptedReply::error(ModelError::new(ModelErrorKind::Unavailable, "maintenance"));
    let en = |why: &str| format!("I stopped before I was done: {why}. Steps that I took: look.");
    let zh = |why: &str| format!("还没做完我就停下了：{why}。做过的步骤：look。");
    let late = en("the model took longer than I may wait");
    for (said, reply, expected, reason) in [
        ("Go.", ScriptedReply::hang(), late.clone(), "timed_out"),
        ("Go.", drips(), late, "timed_out"),
        ("Go.", down(), en("the model did not answer"), "unanswered"),
        ("走吧", down(), zh("模型没有回答"), "unanswered"),
    ] {
        // The same holds if no more tools may be called.
        for steps in [8, 1] {
            let model =
                Scripted::new([call("look", 1), reply.clone(), ScriptedReply::text("Next.")]);
            let assistant = assistant(&model, |it| it.explain_silence().max_steps(steps))?;
            let told = assistant.chat(&thread()?, said).await?;
            assert_eq!(told.final_reply, expected);
            assert_eq!(told.metadata.stop_reason, reason);
            let next = assistant.chat(&thread()?, "And now?").await?;
            assert_eq!(next.final_reply, "Next.");
        }
    }
    Ok(())
}

#[tokio::test]
async fn rct_8_an_answer_without_words_is_corrected_and_no_reply_is_empty() -> TestResult {
    let model = Scripted::new([
        ScriptedReply::text(" \n"),
        ScriptedReply::text("").reasoning("Hm."),
        "Well.".into(),
    ]);
    let told = assistant(&model, |it| it)?.chat(&thread()?, "Go.").await?;
    assert_eq!(
        (told.final_reply.as_str(), told.metadata.llm_calls),
        ("Well.", 3)
    );
    let asked = model.requests();
    let told = asked.get(1).and_then(|request| request.messages.last());
    let told = told
        .map(|message| message.content.clone())
        .unwrap_or_default();
    assert!(
        told.contains("it says nothing: call a tool, or answer"),
        "{told}"
    );

    let model = Scripted::new([" ", " ", " "]);
    let told = assistant(&model, |it| it)?.chat(&thread()?, "Go.").await?;
    assert_eq!(
        told.final_reply,
        "I stopped before I was done: I could not put the next step into a usable form."
    );
    Ok(())
}

#[tokio::test]
async fn what_is_endless_is_cut_off_and_fits_into_the_log() -> TestResult {
    let much = || "much ".repeat(14_000);
    // Each answer has seventy thousand bytes: three of them fit the limit, four do not.
    let three = ScriptedReply::deltas((0..3).map(|_| ChatDelta::text(much())));
    let model = Scripted::new([three]);
    let told = assistant(&model, |it| it)?.chat(&thread()?, "Go.").await?;
    assert_eq!(told.final_reply.len(), 210_000);
    for delta in [ChatDelta::text(much()), ChatDelta::reasoning(much())] {
        let model = Scripted::new([ScriptedReply::deltas((0..150).map(|_| delta.clone()))]);
        let assistant = assistant(&model, ReactLoop::explain_silence)?;
        let told = assistant.chat(&thread()?, "Go.").await?;
        assert_eq!(told.metadata.stop_reason, "unanswered");
    }
    Ok(())
}

#[tokio::test]
async fn rct_11_who_only_calls_what_there_is_not_comes_to_an_end() -> TestResult {
    let model = Scripted::new((0..30).map(|n| call("nobody", n)));
    let told = assistant(&model, |it| it)?.chat(&thread()?, "Go.").await?;
    assert_eq!(told.metadata.stop_reason, "loop_detected");
    assert_eq!(told.metadata.llm_calls, 2);
    Ok(())
}

#[tokio::test]
async fn what_is_told_of_a_stop_is_data() -> TestResult {
    let heard = Arc::new(Mutex::new(vec![]));
    let ear = heard.clone();
    let words = move |said: &str, reason: StopReason, _: &ReactMetadata| {
        let mut heard = ear.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push(said.to_owned());
        format!("Halt: {}!", reason.why(said))
    };
    let model = Scripted::new([" "; 3]);
    let told = assistant(&model, |it| it.words(words))?;
    let told = told.chat(&thread()?, "Go.").await?;
    let expected = "Halt: I could not put the next step into a usable form!";
    assert_eq!(told.final_reply, expected);
    let heard = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(heard, ["Go."], "and not what the model was told");

    let mut metadata = ReactMetadata::default();
    metadata.tools_used = vec!["look".into(), "send".into()];
    for reason in [
        StopReason::LoopDetected,
        StopReason::MaxSteps,
        StopReason::Unusable,
        StopReason::TimedOut,
        StopReason::Unanswered,
    ] {
        let [en, zh] = ["once more", "再来 once more"].map(|said| reason.told(said, &metadata));
        assert!(
            en.ends_with(". Steps that I took: look, send.") && en.is_ascii(),
            "{en}"
        );
        assert!(zh.ends_with("。做过的步骤：look、send。"), "{zh}");
        assert!(zh.starts_with("还没做完我就停下了："), "{zh}");
    }
    Ok(())
}
