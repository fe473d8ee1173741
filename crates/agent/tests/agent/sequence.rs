//! Guarded sequences of actions, and one wanted call through its gates.
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use fugato_agent::{
    Embeds, Toolbox,
    sequence::{ActionEnd, ActionRequest, Actions, ActionsUpdate, GuardedSequences},
};
use fugato_graph::{Answers, BoxError, END, Graph, RunResult, Runner};
use fugato_state::{EffectClass, State, ThreadId, ToolCall};
use fugato_store::MemoryLog;
use fugato_testkit::{
    share,
    sim::{CrashSim, World},
};
use fugato_tool::{
    Evidence, EvidenceUpdate, Finding, GateChain, NeedsEvidence, NoArguments, Registry, Tool,
    ToolContext, ToolFailure, ToolOutput, ToolSpec, confirm_writes,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

type TestResult = Result<(), BoxError>;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct SequenceState {
    evidence: Evidence,
    actions: Actions,
    submitted: Vec<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Change {
    Acted(ActionsUpdate),
    Checked(EvidenceUpdate),
    Submitted(u32),
}

impl State for SequenceState {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Acted(update) => self.actions.apply(update),
            Change::Checked(update) => self.evidence.apply(update),
            Change::Submitted(amount) => self.submitted.push(amount),
        }
    }
}

impl Embeds<Actions> for SequenceState {
    fn part(&self) -> &Actions {
        &self.actions
    }

    fn embed(update: ActionsUpdate) -> Change {
        Change::Acted(update)
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Claim {
    amount: u32,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Reason {
    reason: String,
}

type Submit =
    Arc<dyn Fn(String) -> futures::future::BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;

/// The tool that must not act twice.
struct Submits(Submit);

#[async_trait]
impl Tool<SequenceState, Change> for Submits {
    type Input = Claim;

    fn spec(&self) -> ToolSpec {
        ToolSpec::write("submit_application", "Submits it.")
    }

    async fn call(
        &self,
        cx: ToolContext<'_, SequenceState>,
        Claim { amount }: Claim,
    ) -> Result<ToolOutput<Change>, ToolFailure> {
        let key = cx.key().unwrap_or_default().to_owned();
        (self.0)(key).await.map_err(ToolFailure::internal)?;
        Ok(ToolOutput::new("submitted").update(Change::Submitted(amount)))
    }
}

fn toolbox(submit: Submit) -> Result<Toolbox<SequenceState>, BoxError> {
    let validate = ToolSpec::read("validate_required_fields", "Looks for what is missing.");
    let precheck = ToolSpec::read("run_duplicate_precheck", "Looks for the same claim.");
    let registry = Registry::<SequenceState, Change>::builder()
        .function(validate, |_, Reason { reason }| {
            if reason.is_empty() {
                return Err(ToolFailure::blocked("the reason is missing"));
            }
            Ok("nothing is missing")
        })
        .function(precheck, |_, Claim { amount }| {
            let subject = json!({ "amount": amount });
            let finding = Finding::new(subject, amount != 13, 0, Duration::from_secs(60));
            let check = "run_duplicate_precheck".to_owned();
            let found = Change::Checked(EvidenceUpdate::Found { check, finding });
            Ok(ToolOutput::new("checked").update(found))
        })
        .function(
            ToolSpec::write("delete_everything", "Deletes."),
            |_, _: NoArguments| Ok("gone"),
        )
        .tool(Submits(submit))
        .build()?;
    let evidence = NeedsEvidence::new(
        "submit_application",
        "run_duplicate_precheck",
        |desk: &SequenceState| (&desk.evidence, 1),
    );
    let gates = GateChain::new().with(evidence).with(confirm_writes);
    Ok(Toolbox::new(registry).gates(gates))
}

fn sequences(submit: Submit) -> Result<Graph<SequenceState>, BoxError> {
    let whole = [
        "validate_required_fields",
        "run_duplicate_precheck",
        "submit_application",
    ];
    let graph = GuardedSequences::new(toolbox(submit)?)
        .action("submit", whole)
        .action("submit_at_once", ["submit_application"])
        .build()?;
    Ok(graph)
}

fn counted() -> (Arc<AtomicU32>, Submit) {
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    let submit: Submit = Arc::new(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    });
    (count, submit)
}

fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

fn request(id: &str, action: &str, arguments: Value) -> Change {
    Change::Acted(ActionsUpdate::Requested(ActionRequest::new(
        id, action, arguments,
    )))
}

fn end(ended: &RunResult<SequenceState>) -> Option<ActionEnd> {
    ended.state().actions.end.clone()
}

fn lunch() -> Value {
    json!({ "amount": 7, "reason": "lunch" })
}

/// Returns an answer to the only open card.
fn agree(asked: &RunResult<SequenceState>, agrees: bool) -> Result<Answers, BoxError> {
    let [card] = asked.interrupts() else {
        return Err("one card should be open".into());
    };
    Ok(Answers::to(card.id.clone(), agrees)?)
}

#[tokio::test]
async fn stw_24_an_action_waits_for_consent_and_then_is_done_once() -> TestResult {
    let (count, submit) = counted();
    let runner = Runner::new(sequences(submit)?, Arc::new(MemoryLog::default()));
    let asked = runner
        .start(&thread(), request("r1", "submit", lunch()))
        .await?;
    let [interrupt] = asked.interrupts() else {
        panic!("nobody was asked: {asked:?}");
    };
    assert_eq!(
        interrupt.question.prompt["call"]["arguments"],
        json!({ "amount": 7 })
    );
    assert_eq!(count.load(Ordering::SeqCst), 0);

    let digest = interrupt.question.digest.clone().unwrap_or_default();
    let answer = Answers::none().approving(interrupt.id.clone(), true, digest)?;
    let ended = runner.resume(&thread(), answer).await?;
    assert_eq!(end(&ended), Some(ActionEnd::Done));
    assert_eq!(
        (
            ended.state().submitted.clone(),
            count.load(Ordering::SeqCst)
        ),
        (vec![7], 1)
    );

    // The same request again, in another run: it gets the receipt, and nothing is submitted.
    let again = runner
        .start(&thread(), request("r1", "submit", lunch()))
        .await?;
    let ended = runner.resume(&thread(), agree(&again, true)?).await?;
    assert!(matches!(again, RunResult::Interrupted { .. }));
    assert_eq!(
        (end(&ended), count.load(Ordering::SeqCst)),
        (Some(ActionEnd::Done), 1)
    );

    // The same request with other arguments is refused by the effect itself.
    let other = json!({ "amount": 8, "reason": "lunch" });
    let asked = runner
        .start(&thread(), request("r1", "submit", other))
        .await?;
    let refused = runner.resume(&thread(), agree(&asked, true)?).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    Ok(())
}

#[tokio::test]
async fn stw_24_what_is_not_allowed_calls_no_service() -> TestResult {
    let cases = [
        ("pay_everybody", lunch(), "rejected"),
        ("delete_everything", lunch(), "rejected"),
        ("submit", json!({ "amount": 7, "reason": "" }), "blocked"),
        ("submit", json!({ "amount": 7 }), "failed"),
        (
            "submit",
            json!({ "amount": 13, "reason": "lunch" }),
            "blocked",
        ),
        ("submit_at_once", lunch(), "blocked"),
    ];
    for (action, arguments, expected) in cases {
        let (count, submit) = counted();
        let runner = Runner::new(sequences(submit)?, Arc::new(MemoryLog::default()));
        let ended = runner
            .start(&thread(), request("r1", action, arguments.clone()))
            .await?;
        let end = serde_json::to_value(end(&ended))?;
        assert_eq!(end["outcome"], expected, "{action} {arguments} {end}");
        assert_eq!(count.load(Ordering::SeqCst), 0, "{action} {arguments}");
    }
    Ok(())
}

#[tokio::test]
async fn stw_c4_an_action_that_is_declined_ends() -> TestResult {
    let (count, submit) = counted();
    let runner = Runner::new(sequences(submit)?, Arc::new(MemoryLog::default()));
    let asked = runner
        .start(&thread(), request("r1", "submit", lunch()))
        .await?;
    let ended = runner.resume(&thread(), agree(&asked, false)?).await?;
    let Some(ActionEnd::Blocked { at, .. }) = end(&ended) else {
        panic!("it was not blocked: {ended:?}");
    };
    assert_eq!(
        (at.as_str(), count.load(Ordering::SeqCst)),
        ("submit_application", 0)
    );
    Ok(())
}

#[tokio::test]
async fn stw_25_a_repeated_request_replays_its_end() -> TestResult {
    let (count, submit) = counted();
    let runner = Runner::new(sequences(submit)?, Arc::new(MemoryLog::default()));
    let start = || runner.start_keyed(&thread(), "r1/submit", request("r1", "submit", lunch()));
    let asked = start().await?;
    let first = runner.resume(&thread(), agree(&asked, true)?).await?;
    let again = start().await?;
    let output = |ended: RunResult<SequenceState>| match ended {
        RunResult::Finished { output, .. } => output,
        _ => None,
    };
    assert_eq!(output(first), output(again));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    Ok(())
}

fn submits(world: &World) -> Result<Graph<SequenceState>, BoxError> {
    let world = world.clone();
    sequences(Arc::new(move |key| {
        let world = world.clone();
        Box::pin(async move {
            world.act_as(EffectClass::Once, "submit", key).await?;
            Ok(())
        })
    }))
}

#[tokio::test]
async fn stw_t10_k24_a_submission_is_made_once_wherever_it_dies() -> TestResult {
    let report = CrashSim::new(submits)
        .input(|| vec![request("r1", "submit", lunch())])
        .answer(|asked| {
            asked
                .question
                .key
                .starts_with("confirm/")
                .then(|| true.into())
        })
        // An operator's result of an action in doubt makes no update.
        .compare(|desk| json!(desk.actions.end))
        .random(16)
        .run()
        .await?;
    assert!(report.cases * share() > 100, "{report}");
    Ok(())
}

/// A tool that loses its result until the count is 1, under a key that the other side recognises.
struct Loses(AtomicU32);

#[async_trait]
impl Tool<SequenceState, Change> for Loses {
    type Input = Claim;

    fn spec(&self) -> ToolSpec {
        ToolSpec::write("submit_application", "Submits it.").effect(EffectClass::Keyed)
    }

    async fn call(
        &self,
        _: ToolContext<'_, SequenceState>,
        Claim { amount }: Claim,
    ) -> Result<ToolOutput<Change>, ToolFailure> {
        if self.0.fetch_sub(1, Ordering::SeqCst) > 1 {
            return Err(ToolFailure::failed("the answer was lost").unsettled());
        }
        Ok(ToolOutput::new("submitted").update(Change::Submitted(amount)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_settled_has_no_result_and_is_tried_again() -> TestResult {
    let registry = Registry::<SequenceState, Change>::builder().tool(Loses(3.into()));
    let sequences = GuardedSequences::new(Toolbox::new(registry.build()?));
    let sequences = sequences.action("submit", ["submit_application"]);
    let (plan, step) = sequences.into_nodes();
    // The two nodes, wired by a graph.
    let graph = Graph::<SequenceState>::starting_at("plan")
        .node("plan", plan)
        .node("step", step)
        .edge("plan", "step")
        .edge("step", END)
        .policy("step", fugato_graph::NodePolicy::default().attempts(2))
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let failed = runner
        .start(&thread(), request("r1", "submit", lunch()))
        .await;
    assert!(failed.is_err(), "{failed:?}");
    let ended = runner.retry(&thread()).await?;
    assert_eq!(end(&ended), Some(ActionEnd::Done));
    assert_eq!(ended.state().submitted, [7]);
    Ok(())
}

#[tokio::test]
async fn l9_a_wanted_call_goes_through_its_gates() -> TestResult {
    let (count, submit) = counted();
    let wanted = |_: &SequenceState| {
        let call = ToolCall::new("c1", "submit_application", json!({ "amount": 7 }));
        Some(call)
    };
    let gate = toolbox(submit)?.one_call(wanted, |called| {
        let why = called.result.text.clone();
        let at = called.call.name.clone();
        let blocked = ActionsUpdate::Ended(ActionEnd::Blocked { at, why });
        (!called.result.is_ok()).then_some(Change::Acted(blocked))
    });
    let graph = Graph::<SequenceState>::starting_at("act")
        .node("act", gate)
        .edge("act", END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let ended = runner.start(&thread(), vec![]).await?;
    let why = "`submit_application` needs `run_duplicate_precheck` first, about exactly the same";
    let blocked = ActionEnd::Blocked {
        at: "submit_application".into(),
        why: why.into(),
    };
    assert_eq!(end(&ended), Some(blocked));

    let finding = Finding::new(json!({ "amount": 7 }), true, 0, Duration::from_secs(60));
    let check = "run_duplicate_precheck".to_owned();
    let found = Change::Checked(EvidenceUpdate::Found { check, finding });
    let asked = runner.start(&thread(), found).await?;
    assert_eq!(asked.interrupts().len(), 1);
    let ended = runner.resume(&thread(), agree(&asked, true)?).await?;
    assert_eq!(
        (
            ended.state().submitted.clone(),
            count.load(Ordering::SeqCst)
        ),
        (vec![7], 1)
    );
    Ok(())
}
