//! An agent of phases: it looks, wants to write, waits for a person, and is done when something shows it.
#![expect(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "an example shows what it does"
)]

use std::{ops::ControlFlow, sync::Arc};

use fugato::{
    Answers, BoxError, Context, END, Graph, Outcome, RunResult, Runner, State, ThreadId, ToolSpec,
    agent::{
        Toolbox,
        decision::{CorrectionState, settle},
        phases::{PhaseStep, PhaseWork},
    },
    llm::{ActionDecision, Ask, ChatModelExt as _, ChatRequest, ChatResponse, Settlement},
    state::{Message, Plan, PlanStep},
    store::MemoryLog,
    tool::{
        GateChain, GatedCall, NoArguments, Registry, StepEvidence, Verdict, WantedCall,
        confirm_writes,
    },
};
use fugato_testkit::Scripted;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Garden {
    plan: Plan,
    wanted: Option<WantedCall>,
    evidence: Vec<StepEvidence>,
    history: Vec<Message>,
    calls: usize,
    corrections: u32,
    is_done: bool,
}

#[derive(Debug, Serialize, Deserialize)]
enum Change {
    Planned(String),
    Wants(WantedCall),
    Answered(bool),
    Called([Message; 2], Option<StepEvidence>),
    Corrected([Message; 2]),
    Said(String),
    Advanced,
    Done,
}

impl State for Garden {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Planned(content) => {
                let done_when = String::new();
                self.plan = Plan::new(vec![PlanStep { content, done_when }]);
            }
            Change::Wants(wanted) => {
                self.calls += 1;
                self.wanted = Some(wanted);
            }
            Change::Answered(true) => {
                self.wanted = self.wanted.take().map(|wanted| WantedCall {
                    accepted: true,
                    ..wanted
                });
            }
            Change::Answered(false) => {
                let rejected = self.wanted.take().map(|wanted| wanted.rejected(None));
                self.history.extend(rejected.into_iter().flatten());
            }
            Change::Called(pair, evidence) => {
                self.wanted = None;
                self.history.extend(pair);
                self.evidence.extend(evidence);
            }
            Change::Corrected(pair) => {
                self.corrections += 1;
                self.history.extend(pair);
            }
            Change::Said(text) => self.history.push(Message::assistant(text)),
            Change::Advanced => self.is_done = !self.plan.advance(),
            Change::Done => self.is_done = true,
        }
    }
}

impl CorrectionState for Garden {
    fn corrections(&self) -> u32 {
        self.corrections
    }

    fn corrected(pair: [Message; 2]) -> Vec<Change> {
        vec![Change::Corrected(pair)]
    }
}

/// Asks for consent to every write, unless the person has given it to this call.
fn consent(gated: &GatedCall<'_>, garden: &Garden) -> Verdict {
    match &garden.wanted {
        Some(wanted) if wanted.has_consent(gated.call) => Verdict::Allow,
        _ => confirm_writes(gated, garden),
    }
}

async fn decide(
    (model, toolbox): (Scripted, Toolbox<Garden>),
    cx: Context<Garden>,
) -> Result<Outcome<Change>, BoxError> {
    let garden = cx.state();
    let answer = model
        .complete(ChatRequest::new(garden.history.clone()))
        .await;
    let contract = ActionDecision::contract(true);
    let ask = Ask::reading("decide", |answer: &ChatResponse| {
        let decision = contract.read(&answer.message.content)?;
        let work = PhaseWork::new(&toolbox, garden)
            .plan(&garden.plan)
            .evidence(&garden.evidence);
        work.steps(
            &decision,
            &format!("call-{}", garden.calls + 1),
            &decision.speak,
        )
    });
    let change = |step| match step {
        PhaseStep::Call(wanted) => Change::Wants(wanted),
        PhaseStep::Say(text) | PhaseStep::Ask(text) => Change::Said(text),
        PhaseStep::Advance => Change::Advanced,
        _ => Change::Done,
    };
    Ok(match settle(&cx, &ask, &answer) {
        Settlement::Decided(steps) => Outcome::done(steps.into_iter().map(change)),
        Settlement::Again(corrected) => corrected,
        Settlement::Failed(why) => return Err(why.into()),
    })
}

async fn act(toolbox: Toolbox<Garden>, cx: Context<Garden>) -> Result<Outcome<Change>, BoxError> {
    let garden = cx.state();
    let wanted = garden.wanted.as_ref().ok_or("there is no call")?;
    let called = toolbox
        .execute(&cx, std::slice::from_ref(&wanted.call))
        .await?;
    Ok(match called {
        ControlFlow::Break(asks) => asks,
        ControlFlow::Continue(called) => Outcome::done(called.iter().map(|called| {
            let evidence = StepEvidence::of_call(garden.plan.current, called);
            Change::Called(wanted.answered(called), evidence)
        })),
    })
}

fn next(garden: &Garden) -> &'static str {
    match &garden.wanted {
        _ if garden.is_done => END,
        Some(wanted) if wanted.accepted => "act",
        Some(_) => "ask",
        None => "decide",
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), BoxError> {
    let tools = Registry::<Garden, Change>::builder()
        .function(
            ToolSpec::read("look", "Looks at the garden."),
            |_, _: NoArguments| Ok("dry"),
        )
        .function(
            ToolSpec::write("water", "Waters it."),
            |_, _: NoArguments| Ok("watered"),
        )
        .build()?;
    let toolbox = Toolbox::new(tools).gates(GateChain::new().with(consent));
    let model = Scripted::new([
        json!({ "action": "next_plan", "goal_check": "I feel that it is wet" }), // nothing shows it
        json!({ "action": "continue", "tool_call": { "name": "look" } }),
        json!({ "action": "continue", "tool_call": { "name": "water" } }), // has to be confirmed
        json!({ "action": "confirm", "speak": "It is dry.", "tool_call": { "name": "water" } }),
        json!({ "action": "next_plan", "goal_check": "it was watered" }),
    ]);
    let ways = ["decide", "ask", "act", END];
    let graph = Graph::<Garden>::starting_at("decide")
        .node_with("decide", (model, toolbox.clone()), decide)
        .pause(
            "ask",
            |garden: &Garden| garden.wanted.as_ref().map(|wanted| wanted.summary.clone()),
            |_, agrees: bool| Change::Answered(agrees),
        )
        .node_with("act", toolbox, act)
        .branch("decide", ways, next)
        .branch("ask", ways, next)
        .branch("act", ways, next)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let thread = ThreadId::new("garden")?;
    let asked = runner
        .start(&thread, Change::Planned("Keep it alive.".into()))
        .await?;
    let RunResult::Interrupted { interrupts, .. } = asked else {
        return Err("nothing was asked".into());
    };
    println!("{}", interrupts[0].question.prompt);

    let yes = Answers::to(interrupts[0].id.clone(), true)?;
    let RunResult::Finished { state, .. } = runner.resume(&thread, yes).await? else {
        return Err("it goes on".into());
    };
    let done: Vec<_> = state.evidence.iter().map(|it| it.name.as_str()).collect();
    println!("{done:?} after {} corrections", state.corrections);
    assert_eq!((done, state.corrections), (vec!["look", "water"], 2));
    Ok(())
}
