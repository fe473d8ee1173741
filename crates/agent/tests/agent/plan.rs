//! Planned work, in both modes.
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use fugato_agent::{
    Toolbox,
    plan::{
        PlanProgress, PlanRules, PlannedWork, PlannerQuestion, PlanningMode, Replan, StepKind,
        StepStatus, WorkStep, WorkUpdate,
    },
};
use fugato_graph::{Answers, BoxError, Context, END, Graph, RunResult, Runner};
use fugato_llm::{ModelError, ModelErrorKind};
use fugato_memory::ExecutionStatus;
use fugato_state::ThreadId;
use fugato_store::MemoryLog;
use fugato_testkit::{Scripted, ScriptedReply};
use fugato_tool::{
    EffectClass, GateChain, NoArguments, Registry, ToolFailure, ToolOutput, ToolSpec,
    confirm_writes,
};
use serde::Deserialize;
use serde_json::{Value, json};

type TestResult = Result<(), BoxError>;

#[derive(Deserialize, schemars::JsonSchema)]
struct Of {
    of: String,
}

fn toolbox() -> Result<Toolbox<PlanProgress>, BoxError> {
    let buy = ToolSpec::write("buy", "Buys.").effect(EffectClass::Idempotent);
    let registry = Registry::<PlanProgress, WorkUpdate>::builder()
        .function(ToolSpec::read("price", "The price."), |_, Of { of }| {
            Ok(format!("{of} costs 5"))
        })
        .function(ToolSpec::read("fail", "Fails."), |_, _: NoArguments| {
            Err::<ToolOutput<_>, _>(ToolFailure::failed("no connection"))
        })
        .function(buy, |_, Of { of }| Ok(format!("bought {of}")))
        .build()?;
    Ok(Toolbox::new(registry))
}

fn work(model: &Scripted, mode: PlanningMode) -> Result<PlannedWork<PlanProgress>, BoxError> {
    Ok(PlannedWork::new(model.clone(), mode, toolbox()?))
}

fn runner(work: PlannedWork<PlanProgress>) -> Result<Runner<PlanProgress>, BoxError> {
    Ok(Runner::new(work.build()?, Arc::new(MemoryLog::default())))
}

fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

fn goal() -> WorkUpdate {
    WorkUpdate::Requested {
        goal: "Buy tea.".into(),
    }
}

fn price(of: &str) -> Value {
    json!({ "type": "tool", "tool_name": "price", "tool_args": { "of": of } })
}

fn respond() -> Value {
    json!({ "type": "respond", "instruction": "say the price" })
}

fn steps(steps: &[Value]) -> ScriptedReply {
    ScriptedReply::text(json!({ "goal": "tea", "steps": steps }).to_string())
}

fn replan(answer: &Value) -> ScriptedReply {
    ScriptedReply::text(answer.to_string())
}

fn statuses(work: &PlanProgress) -> Vec<(&str, StepStatus)> {
    let steps = work.steps.iter();
    steps.map(|step| (step.id.as_str(), step.status)).collect()
}

/// Returns an answer to the only open card.
fn agree<S>(asked: &RunResult<S>, agrees: bool) -> Result<Answers, BoxError> {
    let [card] = asked.interrupts() else {
        return Err("one card should be open".into());
    };
    Ok(Answers::to(card.id.clone(), agrees)?)
}

#[tokio::test]
async fn pln_12_a_plan_is_carried_out_step_by_step() -> TestResult {
    let think = json!({ "type": "reason", "instruction": "compare" });
    let model = Scripted::new([
        steps(&[price("tea"), think, respond()]),
        ScriptedReply::text("it is cheap"),
        ScriptedReply::text("Tea costs 5."),
    ]);
    let ended = runner(work(&model, PlanningMode::default())?)?
        .start(&thread(), goal())
        .await?;
    let RunResult::Finished { output, state } = ended else {
        panic!("it did not finish")
    };
    assert_eq!(output, Some("Tea costs 5.".into()));
    assert_eq!(state.status(), ExecutionStatus::Completed);
    let seen: Vec<_> = state
        .execution
        .observed
        .iter()
        .map(|one| (one.kind.as_str(), one.summary.as_str()))
        .collect();
    assert_eq!(seen, [("tool", "tea costs 5"), ("reason", "it is cheap")]);
    assert_eq!(state.execution.plan.current, 3);
    Ok(())
}

#[tokio::test]
async fn pln_13_pln_c2_the_policy_says_when_the_plan_is_looked_at_again() -> TestResult {
    for (policy, replans) in [
        (Replan::Always, 2),
        (Replan::OnChange, 0),
        (Replan::Never, 0),
    ] {
        let mut replies = vec![steps(&[price("tea"), price("milk"), respond()])];
        replies.extend((0..replans).map(|_| replan(&json!({ "action": "continue" }))));
        replies.push(ScriptedReply::text("5 and 5."));
        let model = Scripted::new(replies);
        let ended = runner(work(&model, PlanningMode::PlanThenReplan(policy))?)?
            .start(&thread(), goal())
            .await?;
        assert_eq!(
            ended.state().status(),
            ExecutionStatus::Completed,
            "{policy:?}"
        );
        assert_eq!(model.left(), 0, "{policy:?}");
    }
    Ok(())
}

#[tokio::test]
async fn pln_t5_pln_w8_after_a_failed_step_the_rest_is_replaced_and_what_ended_is_kept()
-> TestResult {
    let fail = json!({ "type": "tool", "tool_name": "fail" });
    let model = Scripted::new([
        steps(&[price("tea"), fail, price("milk"), respond()]),
        replan(&json!({ "action": "replace_remaining", "steps": [price("rice"), respond()] })),
        ScriptedReply::text("Rice costs 5."),
    ]);
    let ended = runner(work(&model, PlanningMode::default())?)?
        .start(&thread(), goal())
        .await?;
    let state = ended.state();
    let (done, failed) = (StepStatus::Completed, StepStatus::Failed);
    assert_eq!(
        statuses(state),
        [("s1", done), ("s2", failed), ("s3", done), ("s4", done)]
    );
    assert_eq!(state.steps[1].error, "no connection");
    assert_eq!(state.steps[2].output_summary, "rice costs 5");
    Ok(())
}

#[tokio::test]
async fn pln_t1_pln_t2_a_question_waits_in_the_log_and_its_answer_is_planned_for() -> TestResult {
    let ask = json!({ "type": "ask_user", "instruction": "" });
    let model = Scripted::new([
        steps(&[price("tea"), ask]),
        steps(&[respond()]),
        ScriptedReply::text("Green tea it is."),
    ]);
    let log = Arc::new(MemoryLog::default());
    let one = Runner::new(work(&model, PlanningMode::default())?.build()?, log.clone());
    let asked = one.start(&thread(), goal()).await?;
    assert_eq!(asked.state().status(), ExecutionStatus::WaitingUser);
    let question = &asked.interrupts()[0].question;
    assert_eq!(
        question.prompt,
        json!("I need more to go on. What should I know?")
    );

    let other = Runner::new(work(&model, PlanningMode::default())?.build()?, log);
    let ended = other
        .resume(&thread(), Answers::only("yes, green")?)
        .await?;
    let state = ended.state();
    assert_eq!(
        (state.answer.as_str(), state.status()),
        ("Green tea it is.", ExecutionStatus::Completed)
    );
    let reply = state
        .execution
        .observed
        .iter()
        .find(|one| one.kind == "user_reply");
    assert!(
        reply.is_some_and(|one| one.summary.ends_with("→ yes, green")),
        "{reply:?}"
    );
    let resumed = &model.requests()[1].messages[1].content;
    assert!(
        resumed.contains("→ yes, green") && resumed.contains("tea costs 5"),
        "{resumed}"
    );
    Ok(())
}

#[tokio::test]
async fn pln_w6_pln_w13_a_marked_step_and_a_gate_wait_for_consent() -> TestResult {
    let marked = json!({ "type": "tool", "tool_name": "price", "tool_args": { "of": "tea" }, "requires_confirmation": true });
    let buy = json!({ "type": "tool", "tool_name": "buy", "tool_args": { "of": "tea" } });
    for step in [marked, buy] {
        let model = Scripted::new([
            steps(&[step, respond()]),
            replan(&json!({ "action": "continue" })),
            ScriptedReply::text("Done."),
        ]);
        let gated = toolbox()?.gates(GateChain::new().with(confirm_writes));
        let runner = runner(PlannedWork::new(
            model.clone(),
            PlanningMode::default(),
            gated,
        ))?;
        let asked = runner.start(&thread(), goal()).await?;
        assert_eq!(
            asked.state().status(),
            ExecutionStatus::WaitingUserConfirmation
        );
        assert_eq!(asked.state().execution.observed, []);
        let ended = runner.resume(&thread(), agree(&asked, true)?).await;
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(ended.state().steps[0].status, StepStatus::Completed);
    }
    Ok(())
}

#[tokio::test]
async fn pln_w13_a_step_that_is_declined_is_not_done() -> TestResult {
    let buy = json!({ "type": "tool", "tool_name": "buy", "tool_args": { "of": "tea" }, "requires_confirmation": true });
    let model = Scripted::new([
        steps(&[buy, respond()]),
        replan(&json!({ "action": "finish", "instruction": "say that nothing was bought" })),
        ScriptedReply::text("Nothing was bought."),
    ]);
    let runner = runner(work(&model, PlanningMode::default())?)?;
    let asked = runner.start(&thread(), goal()).await?;
    let ended = runner.resume(&thread(), agree(&asked, false)?).await?;
    let state = ended.state();
    assert_eq!(state.steps[0].status, StepStatus::Failed);
    assert_eq!(
        state.answer,
        "Not done: buy: you did not agree\n\n\
         The model's words, which no receipt confirms: Nothing was bought."
    );
    Ok(())
}

#[tokio::test]
async fn pln_11_pln_15_a_malformed_plan_is_corrected_and_then_goes_to_the_failure_path()
-> TestResult {
    let many: Vec<_> = (0..8)
        .map(|n| price(&n.to_string()))
        .chain([respond()])
        .collect();
    let wrong = [
        ("do it", "no JSON"),
        (&*json!({ "steps": [price("tea")] }).to_string(), "the end"),
        (&*json!({ "steps": many }).to_string(), "too many"),
        (&*json!({ "steps": [] }).to_string(), "none"),
        (
            &*json!({ "steps": [{ "type": "tool", "tool_name": "fly" }, respond()] }).to_string(),
            "no such tool",
        ),
    ]
    .map(|(text, what)| (text.to_owned(), what));
    for (text, what) in wrong {
        let model = Scripted::new([
            ScriptedReply::text(text.as_str()),
            ScriptedReply::text(text.as_str()),
        ]);
        let legacy = async |_: Context<PlanProgress>| WorkUpdate::Noted {
            note: "legacy".into(),
            at: 0,
        };
        let graph = Graph::<PlanProgress>::starting_at("planner")
            .node("legacy", legacy)
            .edge("legacy", END);
        let work = work(&model, PlanningMode::default())?
            .rejections(2)
            .on_planner_failure("legacy");
        let runner = Runner::new(
            work.add_to(graph, END).build()?,
            Arc::new(MemoryLog::default()),
        );
        let ended = runner.start(&thread(), goal()).await?;
        let state = ended.state();
        assert!(state.planner_failure.is_some(), "{what}");
        assert_eq!(state.execution.observed.len(), 1, "{what}");
        assert_eq!(
            (state.status(), model.left()),
            (ExecutionStatus::Planning, 0),
            "{what}"
        );
        let told = &model.requests()[1].messages;
        assert!(
            told.last()
                .is_some_and(|last| last.content.contains("cannot be used")),
            "{what}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn pln_16_batches_are_reads_or_one_step_and_new_results_are_not_fetched_again() -> TestResult
{
    let model = Scripted::new([
        steps(&[price("tea"), respond()]),
        steps(&[price("tea"), price("milk")]),
        steps(&[price("tea")]),
        steps(&[respond()]),
        ScriptedReply::text("5 and 5."),
    ]);
    let ended = runner(work(&model, PlanningMode::NextBatch)?)?
        .start(&thread(), goal())
        .await?;
    let state = ended.state();
    assert_eq!((state.answer.as_str(), model.left()), ("5 and 5.", 0));
    let told = &model.requests()[1].messages;
    assert!(
        told.last()
            .is_some_and(|last| last.content.contains("anything else comes alone"))
    );
    let notes = state
        .execution
        .observed
        .iter()
        .filter(|one| one.kind == "decision_note");
    let notes: Vec<_> = notes.map(|one| one.summary.as_str()).collect();
    assert_eq!(
        notes,
        ["price was not called again: its result is less than 60 s old"]
    );
    assert_eq!(state.steps.len(), 3);
    Ok(())
}

#[tokio::test]
async fn pln_16_after_a_failed_step_the_rest_of_a_batch_is_replaced() -> TestResult {
    let fail = json!({ "type": "tool", "tool_name": "fail" });
    let model = Scripted::new([
        steps(&[fail, price("tea")]),
        steps(&[respond()]),
        ScriptedReply::text("It failed."),
    ]);
    let ended = runner(work(&model, PlanningMode::NextBatch)?)?
        .start(&thread(), goal())
        .await?;
    let expected = [("s1", StepStatus::Failed), ("s2", StepStatus::Completed)];
    assert_eq!(statuses(ended.state()), expected);
    assert_eq!(
        (ended.state().steps[1].draft.kind, model.left()),
        (StepKind::Respond, 0)
    );
    Ok(())
}

#[tokio::test]
async fn pln_16_the_same_thought_again_is_a_loop() -> TestResult {
    let think = |text: &str| json!({ "type": "reason", "instruction": text });
    let model = Scripted::new([
        steps(&[think("Compare")]),
        ScriptedReply::text("hm"),
        steps(&[think("compare ")]),
    ]);
    let ended = runner(work(&model, PlanningMode::NextBatch)?)?
        .start(&thread(), goal())
        .await?;
    let state = ended.state();
    assert_eq!(state.status(), ExecutionStatus::Failed);
    assert_eq!(state.execution.error, "loop: the same thought came again");
    Ok(())
}

#[tokio::test]
async fn an_answer_for_programs_is_corrected_once_and_never_the_reply() -> TestResult {
    let program = || ScriptedReply::text(r#"{"speak": "It costs"#);
    let model = Scripted::new([
        steps(&[respond()]),
        program(),
        ScriptedReply::text("It costs 5."),
    ]);
    let ended = runner(work(&model, PlanningMode::default())?)?
        .start(&thread(), goal())
        .await?;
    assert_eq!(
        (ended.state().answer.as_str(), model.left()),
        ("It costs 5.", 0)
    );
    let model = Scripted::new([
        steps(&[respond()]),
        program(),
        program(),
        ScriptedReply::text("It costs 5."),
    ]);
    let ended = runner(work(&model, PlanningMode::default())?)?
        .start(&thread(), goal())
        .await?;
    assert_eq!((ended.state().answer.as_str(), model.left()), ("", 1));
    assert_eq!(ended.state().status(), ExecutionStatus::Failed);
    Ok(())
}

#[tokio::test]
async fn pln_14_the_work_ends_after_twelve_steps() -> TestResult {
    let mut replies = vec![];
    for n in 0..12 {
        replies.push(steps(&[
            json!({ "type": "reason", "instruction": format!("think of {n}") }),
        ]));
        replies.push(ScriptedReply::text("hm"));
    }
    let model = Scripted::new(replies);
    let ended = runner(work(&model, PlanningMode::NextBatch)?)?
        .start(&thread(), goal())
        .await?;
    let state = ended.state();
    assert_eq!((state.status(), model.left()), (ExecutionStatus::Failed, 0));
    assert_eq!(state.execution.error, "the work took more than 12 steps");
    Ok(())
}

/// Rules with one plan and its answer.
struct OnePlan;

impl PlanRules<PlanProgress> for OnePlan {
    fn decide(&self, _: &PlanProgress, asking: PlannerQuestion) -> Option<Value> {
        (asking == PlannerQuestion::Plan).then(|| json!({ "steps": [price("BTC"), respond()] }))
    }

    fn say(&self, work: &PlanProgress, _: &WorkStep) -> Option<String> {
        work.steps.first().map(|step| step.output_summary.clone())
    }
}

#[tokio::test]
async fn rules_plan_and_speak_without_a_model_and_where_it_cannot_be_reached() -> TestResult {
    let alone = PlannedWork::by_rules(OnePlan, PlanningMode::default(), toolbox()?);
    let down = ModelError::new(ModelErrorKind::Unavailable, "maintenance");
    let model = Scripted::new([down.clone(), down]);
    let backed = PlannedWork::new(model, PlanningMode::default(), toolbox()?).rules(OnePlan);
    for work in [alone, backed] {
        let ended = runner(work)?.start(&thread(), goal()).await?;
        let state = ended.state();
        let output = &state.steps.first().ok_or("no step")?.output_summary;
        assert_eq!(
            (state.status(), &state.answer),
            (ExecutionStatus::Completed, output)
        );
    }
    // After a timeout of the model no rule answers.
    let late = Scripted::new([ModelError::new(ModelErrorKind::TimedOut, "36 s")]);
    let work = PlannedWork::new(late, PlanningMode::default(), toolbox()?).rules(OnePlan);
    let ended = runner(work)?.start(&thread(), goal()).await?;
    assert!(ended.state().timed_out && ended.state().planner_failure.is_some());
    Ok(())
}

#[tokio::test]
async fn somebody_looks_before_each_plan_and_each_answer() -> TestResult {
    let look = async |cx: Context<PlanProgress>| WorkUpdate::Noted {
        note: "looked".into(),
        at: cx.now(),
    };
    let work = PlannedWork::by_rules(OnePlan, PlanningMode::default(), toolbox()?).looking(look);
    let ended = runner(work)?.start(&thread(), goal()).await?;
    let observed = ended.state().execution.observed.iter();
    let kinds: Vec<_> = observed.map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["decision_note", "tool", "decision_note"]);
    Ok(())
}

/// The age of a look counts from its end, so a long look is new.
#[tokio::test(start_paused = true)]
async fn pln_w4_however_long_a_look_takes_it_is_taken_once() -> TestResult {
    let looks = Arc::new(AtomicU32::new(0));
    let counts = looks.clone();
    let look = move |_: Context<PlanProgress>| {
        counts.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(20))
    };
    let begun = tokio::time::Instant::now();
    let passed = move || i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
    let log = Arc::new(MemoryLog::with_clock(passed));
    let model = Scripted::new([
        json!({ "steps": [respond()] }).to_string().into(),
        ScriptedReply::text("Well.").after(Duration::from_secs(20)),
    ]);
    let work = work(&model, PlanningMode::default())?.looking(look);
    let ended = Runner::new(work.build()?, log)
        .start(&thread(), goal())
        .await?;
    assert_eq!(ended.state().answer, "Well.");
    // One look is before the plan, and one before the answer.
    assert_eq!(looks.load(Ordering::Relaxed), 2);
    Ok(())
}

/// The work reads a price, gets a refusal and asks a question. After the answer neither the result
/// of the read nor the refusal is in a prompt; the price is not even in one before it.
#[tokio::test]
async fn pln_21_what_was_read_and_refused_is_not_found_again() -> TestResult {
    let fail = json!({ "type": "tool", "tool_name": "fail" });
    let ask = json!({ "action": "ask_user", "question": "Which tea?" });
    let model = Scripted::new([
        steps(&[price("tea"), fail, respond()]),
        replan(&ask),
        steps(&[respond()]),
        ScriptedReply::text("Well."),
    ]);
    let look = async |cx: Context<PlanProgress>| WorkUpdate::Looked { at: cx.now() };
    let toolbox = toolbox()?.live_reads();
    let work = PlannedWork::new(model.clone(), PlanningMode::default(), toolbox).looking(look);
    let runner = runner(work)?;
    let parked = runner.start(&thread(), goal()).await?;
    let texts = |work: &PlanProgress| {
        let steps = work
            .steps
            .iter()
            .filter(|step| !step.draft.tool_name.is_empty());
        let steps = steps.flat_map(|step| [step.output_summary.clone(), step.error.clone()]);
        let observed = work.execution.observed.iter();
        let observed = observed.map(|one| one.summary.clone());
        steps.chain(observed).collect::<Vec<_>>()
    };
    let (looked, failed) = (
        "it was looked up; what holds now is among the facts",
        "no connection",
    );
    let before = [looked, "", failed, failed, looked, failed];
    assert_eq!(texts(parked.state()), before);
    let asked = parked.interrupts().first().ok_or("nobody is asked")?;
    let answer = Answers::to(asked.id.clone(), "the green one")?;
    let ended = runner.resume(&thread(), answer).await?;
    assert_eq!(ended.state().answer, "Well.");
    let refused = "it was refused then; things may have changed since";
    let reply = "Which tea? → the green one";
    let after = [looked, "", "", refused, looked, refused, reply];
    assert_eq!(texts(ended.state()), after);
    let told = model.requests().into_iter().flat_map(|it| it.messages);
    assert!(told.into_iter().all(|it| !it.content.contains("costs 5")));
    Ok(())
}
