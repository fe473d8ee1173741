//! The loop that takes over repeats no action of the plan, and a person confirms each write.
use std::sync::Arc;

use fugato_agent::{
    Embeds, React, ReactLoop, ReactUpdate, Toolbox,
    plan::{PlanProgress, PlannedWork, PlanningMode, WorkUpdate, WriteLedger, handover, written},
    toolbox::ToolUse,
};
use fugato_graph::{Answers, BoxError, Context, END, Graph, RunResult, Runner};
use fugato_state::{State, ThreadId, ToolCall};
use fugato_store::MemoryLog;
use fugato_testkit::{Scripted, ScriptedReply};
use fugato_tool::{EffectClass, Registry, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

type TestResult = Result<(), BoxError>;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct WriteState {
    work: PlanProgress,
    loops: React,
    done: Vec<ToolUse>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Change {
    Work(WorkUpdate),
    Loop(ReactUpdate),
    Done(ToolUse),
}

impl State for WriteState {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Work(update) => self.work.apply(update),
            Change::Loop(update) => self.loops.apply(update),
            Change::Done(used) => self.done.push(used),
        }
    }
}

impl Embeds<PlanProgress> for WriteState {
    fn part(&self) -> &PlanProgress {
        &self.work
    }

    fn embed(update: WorkUpdate) -> Change {
        Change::Work(update)
    }
}

impl Embeds<React> for WriteState {
    fn part(&self) -> &React {
        &self.loops
    }

    fn embed(update: ReactUpdate) -> Change {
        Change::Loop(update)
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Much {
    much: String,
}

/// Returns a tool whose result has the key under which it buys.
fn toolbox() -> Result<Toolbox<WriteState>, BoxError> {
    let buy = ToolSpec::write("buy", "Buys.").effect(EffectClass::Keyed);
    let registry = Registry::<WriteState, Change>::builder()
        .function(buy, |cx, Much { much }| {
            let key = cx.key().unwrap_or_default();
            let n = key.rsplit('/').next().unwrap_or_default();
            Ok(format!("bought {much} ({n})"))
        })
        .build()?;
    let whole = |arguments: &mut Value| {
        if let Some(much) = arguments.get_mut("much") {
            let text = much.as_str().unwrap_or_default();
            *much = text.trim_start_matches('0').into();
        }
    };
    let ledger = WriteLedger::new(registry, |_: &WriteState| "1".into());
    Ok(ledger.earlier(|state| &state.done).alike(whole).toolbox())
}

fn runner(model: &Scripted) -> Result<Runner<WriteState>, BoxError> {
    let toolbox = toolbox()?;
    let work = PlannedWork::new(model.clone(), PlanningMode::default(), toolbox.clone());
    let graph = Graph::<WriteState>::starting_at("planner");
    let graph = work.on_planner_failure("over").add_to(graph, END);
    let graph = graph
        .node("over", async |cx: Context<WriteState>| {
            Change::Loop(ReactUpdate::user(handover(
                &cx.state().work,
                &cx.state().done,
            )))
        })
        .edge("over", "init_state");
    let graph = ReactLoop::new(model.clone(), toolbox).add_to(graph, END);
    Ok(Runner::new(graph.build()?, Arc::new(MemoryLog::default())))
}

fn bought(much: &str) -> Value {
    json!({ "type": "tool", "tool_name": "buy", "tool_args": { "much": much } })
}

fn calls(id: &str, much: &str) -> ScriptedReply {
    ScriptedReply::tool_calls([ToolCall::new(id, "buy", json!({ "much": much }))])
}

fn goal() -> Change {
    let goal = "Buy.".into();
    Change::Work(WorkUpdate::Requested { goal })
}

/// Confirms everything. Returns the texts of the cards, and the end.
async fn agreed(
    runner: &Runner<WriteState>,
    input: Vec<Change>,
) -> Result<(Vec<String>, RunResult<WriteState>), BoxError> {
    let (thread, mut cards) = (ThreadId::new("t")?, vec![]);
    let mut ended = runner.start(&thread, input).await?;
    while let Some(asked) = ended.interrupts().first().cloned() {
        let summary = asked.question.prompt.get("summary").and_then(Value::as_str);
        cards.push(summary.unwrap_or_default().to_owned());
        let digest = asked.question.digest.unwrap_or_default();
        let answers = Answers::none().approving(asked.id, true, digest)?;
        ended = runner.resume(&thread, answers).await?;
    }
    Ok((cards, ended))
}

#[tokio::test]
async fn pln_w9_the_loop_inherits_the_receipts_of_the_plan() -> TestResult {
    let plan = json!({ "steps": [bought("5"), bought("5"), { "type": "respond" }] });
    let garbage = || ["no JSON"; 3].map(ScriptedReply::text);
    let replies = [
        ScriptedReply::text(plan.to_string()),
        ScriptedReply::text(r#"{"action":"continue"}"#),
    ];
    let replies = replies.into_iter().chain(garbage());
    // Both actions are repeated, one of them in another form, and then there is a new one.
    let again = [
        calls("a", "5"),
        calls("b", "05"),
        calls("c", "5"),
        ScriptedReply::text("Done."),
    ];
    let model = Scripted::new(replies.chain(again));
    let (cards, ended) = agreed(&runner(&model)?, vec![goal()]).await?;
    let card = "much: 5";
    assert_eq!(cards, [card, card, card]);
    let state = ended.state();
    let results: Vec<_> = state
        .loops
        .run
        .uses
        .iter()
        .map(|used| used.result.as_str())
        .collect();
    let refused = "this was done already: bought 5 (1)";
    assert_eq!(results, ["bought 5 (0)", refused, "bought 5 (2)"]);
    let told = model
        .requests()
        .into_iter()
        .flat_map(|request| request.messages);
    let told: Vec<_> = told.map(|message| message.content).collect();
    let handed = "Buy.\n\nThis was done already, and is not to be done again:\n- s1 buy: bought 5 (0)\n- s2 buy: bought 5 (1)";
    assert!(told.iter().any(|told| told == handed), "{told:?}");
    let all = written(state, |_| false);
    let all: Vec<_> = all.iter().map(|used| used.result.as_str()).collect();
    assert_eq!(all, ["bought 5 (0)", "bought 5 (1)", "bought 5 (2)"]);
    assert_eq!(written(state, |tool| tool == "buy"), []);
    Ok(())
}

#[tokio::test]
async fn pln_t6_what_was_done_before_is_said_on_the_card() -> TestResult {
    let plan = json!({ "steps": [bought("5"), { "type": "respond" }] });
    let finish = ScriptedReply::text(r#"{"action":"finish"}"#);
    let model = Scripted::new([
        ScriptedReply::text(plan.to_string()),
        finish,
        ScriptedReply::text("Done."),
    ]);
    let before = ToolUse::new("buy", json!({ "much": "005" }), "bought 5");
    let input = vec![Change::Done(before), goal()];
    let (cards, ended) = agreed(&runner(&model)?, input).await?;
    assert_eq!(cards, ["done already: bought 5; again? much: 5"]);
    assert_eq!(ended.state().work.answer, "Done: bought 5 (0)\n\nDone.");
    Ok(())
}
