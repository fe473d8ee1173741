//! An agent that works in phases: it plans, lets the person agree, acts call by call, and closes
//! with what was done.
//!
//! A model decides by one of six actions, as an [`ActionDecision`]. A [`PhaseWork`] checks the
//! decision against the state, and returns the [`PhaseStep`]s to it: a call that may be made, or that
//! waits for the person, a word, a question, the next step of the plan, the end. It is pure, so rules
//! that decide in place of the model go through the same checks. The agent makes its own updates of
//! the steps, and routes on its own phases. A [`Card`] is what the person is asked, and a [`CardReply`]
//! the answer.
//!
//! ```text
//!  plan ──► plan card ──► decide ──► call ──────────► act ──► decide …
//!              │            │ └──► write card ──┘
//!              └ again      └──► closing card ──► end
//! ```
mod card;

use fugato_llm::{Abort, ActionDecision, ActionKind, ProposedCall, RejectedAnswer, visible_text};
use fugato_state::{Plan, State, ToolCall, say};
use fugato_tool::{Access, AdmittedCall, StepEvidence, Verdict, WantedCall};
use serde_json::Value;

pub use card::{Card, CardAction, CardReply};

use crate::Toolbox;

/// The work of an agent of phases, at the moment of a decision: what is allowed, and what is left.
///
/// # Example
/// ```
/// use fugato_agent::{React, ReactUpdate, Toolbox, phases::{PhaseStep, PhaseWork}};
/// use fugato_llm::{ActionDecision, ActionKind};
/// use fugato_state::{Plan, PlanStep};
/// use fugato_tool::{GateChain, NoArguments, Registry, StepEvidence, ToolSpec, confirm_writes};
/// use serde_json::Map;
///
/// let tools = Registry::<React, ReactUpdate>::builder()
///     .function(ToolSpec::write("water", "Waters the garden."), |_, _: NoArguments| Ok("watered"))
///     .build()?;
/// let toolbox = Toolbox::new(tools).gates(GateChain::new().with(confirm_writes));
/// let step = PlanStep { content: "Water everything.".into(), done_when: "it is wet".into() };
/// let (plan, garden) = (Plan::new(vec![step]), React::default());
/// let work = PhaseWork::new(&toolbox, &garden).plan(&plan);
/// let decided = |work: &PhaseWork<'_, _>, decision: ActionDecision| {
///     work.steps(&decision, "call-1", "I water it.").map_err(|rejected| rejected.correction())
/// };
///
/// // A write waits for the person, and the model has to say that it does.
/// let silent = ActionDecision::of(ActionKind::Continue).calling("water", Map::new());
/// assert!(decided(&work, silent).unwrap_err().contains("the action must be `confirm`"));
/// let asking = ActionDecision::of(ActionKind::Confirm).calling("water", Map::new());
/// let [PhaseStep::Call(wanted)] = &decided(&work, asking)?[..] else { panic!() };
/// assert!(!wanted.accepted);
///
/// // A step is done when something shows it, and not when the model says so.
/// let next = ActionDecision::of(ActionKind::NextPlan);
/// assert!(decided(&work, next.clone()).unwrap_err().contains("nothing shows that this step is done"));
/// let evidence = [StepEvidence::of_reply(0, "it has rained")];
/// let steps = decided(&work.evidence(&evidence), next)?;
/// assert_eq!(steps, [PhaseStep::Say("I water it.".into()), PhaseStep::Advance]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Contract
/// - **one call**: a decision leads to at most one call, and never past the gates of the toolbox.
/// - **consent**: a call that a gate wants confirmed is not accepted, whatever the model says.
/// - **evidence**: a step of a plan, or everything, is done only if evidence shows it, no write has
///   failed since, and no obstacle stands in the way.
/// - **closing**: changes that the person has not agreed to yet are put to them before the end.
/// - **nothing by halves**: a refused decision has no steps; the reason says what is allowed.
///
/// # Errors
/// [`RejectedAnswer`], which an [`Ask`](fugato_llm::Ask) turns into a correction.
///
/// # Cost
/// The call is admitted once, as [`Toolbox::admit`] does; all else reads a few fields.
#[derive(derive_more::Debug)]
#[debug("PhaseWork {{ plan: {plan:?}, has_draft: {has_draft:?}, obstacle: {obstacle:?}, .. }}")]
pub struct PhaseWork<'a, S: State> {
    toolbox: &'a Toolbox<S>,
    state: &'a S,
    plan: Option<&'a Plan>,
    evidence: &'a [StepEvidence],
    has_draft: bool,
    obstacle: Option<&'a str>,
    summary: Option<Box<Summary<'a, S>>>,
}

type Summary<'a, S> =
    dyn Fn(&AdmittedCall<S, <S as State>::Update>) -> Option<String> + Send + Sync + 'a;

/// A step to which a decision leads.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PhaseStep {
    /// The agent wants to make a call: at once if it is accepted, or else after the person agreed.
    Call(WantedCall),
    /// The agent says something, and goes on.
    Say(String),
    /// The agent asks the person.
    Ask(String),
    /// The current step of the plan is done.
    Advance,
    /// All is done, and the person is asked whether to keep the changes.
    Close,
    /// All is done.
    End,
    /// The agent gives up.
    Abort(Abort),
}

impl<'a, S: State> PhaseWork<'a, S> {
    /// Creates work with these tools and no plan.
    pub fn new(toolbox: &'a Toolbox<S>, state: &'a S) -> Self {
        Self {
            toolbox,
            state,
            plan: None,
            evidence: &[],
            has_draft: false,
            obstacle: None,
            summary: None,
        }
    }

    fugato_state::setters! {
        /// Sets the plan that is carried out.
        pub fn plan(plan: &'a Plan) { plan = Some(plan) }

        /// Sets what was seen and done so far.
        pub fn evidence(evidence: &'a [StepEvidence]) { evidence = evidence }

        /// Says whether there are changes that the person has not agreed to yet. They are something
        /// to show for a step.
        pub fn draft(has_draft: bool) { has_draft = has_draft }

        /// Sets the reason for which nothing can be done now, with what is allowed.
        pub fn obstacle(obstacle: Option<&'a str>) { obstacle = obstacle }

        /// Sets the effect of a call in words for the person; without it, or if it returns none,
        /// the words are the line of the tool.
        pub fn in_words(
            summary: impl Fn(&AdmittedCall<S, S::Update>) -> Option<String> + Send + Sync + 'a,
        ) {
            summary = Some(Box::new(summary))
        }
    }

    /// Returns the steps to which a decision leads. A call gets the id, which must be new in the
    /// conversation; `text` is what the model says beside the decision.
    pub fn steps(
        &self,
        decision: &ActionDecision,
        id: &str,
        text: &str,
    ) -> Result<Vec<PhaseStep>, RejectedAnswer> {
        let said = || (!text.is_empty()).then(|| PhaseStep::Say(text.to_owned()));
        match (decision.action, decision.call()) {
            (ActionKind::Continue | ActionKind::Confirm, Some(call)) => {
                let confirms = decision.action == ActionKind::Confirm;
                let wanted = self.call(call, confirms, id, text)?;
                Ok(vec![PhaseStep::Call(wanted)])
            }
            // The reasoning is kept, so that the next round does not start from the same point.
            (ActionKind::Continue, None) => {
                let text = visible_text([text, &decision.reason, "…"]);
                Ok(vec![PhaseStep::Say(text.to_owned())])
            }
            (ActionKind::Confirm, None) => {
                let why = say!(
                    "confirm needs the call that is to be confirmed",
                    "confirm 需要写明待确认的调用"
                );
                Err(refuse("/tool_call", why))
            }
            (ActionKind::AskUser, _) => Ok(vec![PhaseStep::Ask(text.to_owned())]),
            (ActionKind::NextPlan, _) => {
                let plan = self.plan.filter(|_| self.has_step()).ok_or_else(|| {
                    let why = say!(
                        "there is no plan; when everything is done, the action is done",
                        "没有计划；全部完成时，action 是 done"
                    );
                    refuse("/action", why)
                })?;
                self.check_done()?;
                let is_last = plan.current + 1 == plan.steps.len();
                let closes = (is_last && self.has_draft).then_some(PhaseStep::Close);
                Ok(said()
                    .into_iter()
                    .chain([PhaseStep::Advance])
                    .chain(closes)
                    .collect())
            }
            (ActionKind::Done, _) => {
                self.check_done()?;
                let end = if self.has_draft {
                    PhaseStep::Close
                } else {
                    PhaseStep::End
                };
                Ok(said().into_iter().chain([end]).collect())
            }
            (ActionKind::Abort, _) => {
                let abort = decision.abort.clone().unwrap_or_else(|| Abort {
                    code: String::new(),
                    user_message: String::new(),
                    internal_reason: decision.reason.clone(),
                });
                Ok(vec![PhaseStep::Abort(abort)])
            }
        }
    }

    /// Returns a call that may be made, or has to be confirmed.
    fn call(
        &self,
        call: &ProposedCall,
        confirms: bool,
        id: &str,
        text: &str,
    ) -> Result<WantedCall, RejectedAnswer> {
        let call = ToolCall::new(id, call.name.clone(), Value::Object(call.arguments.clone()));
        let admitted = self.toolbox.admit(&call, self.state);
        let (admitted, verdict) =
            admitted.map_err(|refusal| refuse("/tool_call", refusal.to_string()))?;
        let accepted = match verdict {
            Verdict::Allow => true,
            Verdict::Block(why) => return Err(refuse("/tool_call", why)),
            Verdict::NeedConfirm(_) if confirms => false,
            Verdict::NeedConfirm(_) => {
                let name = &admitted.spec().name;
                let why = say!(
                    "`{name}` writes, so the action must be `confirm`, not continue",
                    "`{name}` 会写入，所以 action 必须是 `confirm`，不是 continue"
                );
                return Err(refuse("/action", why));
            }
        };
        // A tool that only changes the active tools is of no interest to the person.
        let is_context = admitted.spec().access == Access::Context;
        Ok(WantedCall {
            call: admitted.call().clone(),
            summary: if is_context {
                String::new()
            } else {
                self.summary(&admitted, text, accepted)
            },
            speak: if is_context { "" } else { text }.to_owned(),
            accepted,
        })
    }

    /// Returns the text that the person sees of a call. A consent needs the effect of the call in
    /// it, if only the name of its tool; what needs none may have no text.
    fn summary(&self, call: &AdmittedCall<S, S::Update>, text: &str, accepted: bool) -> String {
        let words = self.summary.as_ref().and_then(|words| words(call));
        let line = || match call.preview() {
            line if line.is_empty() && !accepted => call.spec().name.clone(),
            line => line,
        };
        match words {
            Some(words) if text.is_empty() => words,
            Some(words) => format!("{text}\n{words}"),
            None => match line() {
                line if text.is_empty() => line,
                line if line.is_empty() => text.to_owned(),
                line => format!("{text} ({line})"),
            },
        }
    }

    fn has_step(&self) -> bool {
        let step = self.plan.and_then(Plan::current_step);
        step.is_some_and(|step| !step.content.trim().is_empty())
    }

    /// Checks that what is said to be done has evidence, and that nothing contradicts it.
    fn check_done(&self) -> Result<(), RejectedAnswer> {
        if let Some(obstacle) = self.obstacle {
            return Err(refuse("/action", obstacle));
        }
        let step = self.plan.map_or(0, |plan| plan.current);
        if StepEvidence::has_failed_write(self.evidence, step) {
            let why = say!(
                "the last write failed; repair it, ask the user, or abort",
                "上一次写入失败了；请修正、询问用户或中止"
            );
            return Err(refuse("/action", why));
        }
        let is_shown = self.has_draft || StepEvidence::shows(self.evidence, step);
        if self.has_step() && !is_shown {
            let why = say!(
                "nothing shows that this step is done: call a tool that shows it, or ask the user",
                "没有任何结果表明这一步已完成：请调用能表明它的工具，或询问用户"
            );
            return Err(refuse("/goal_check", why));
        }
        Ok(())
    }
}

fn refuse(path: &str, why: impl Into<String>) -> RejectedAnswer {
    RejectedAnswer::at(path, why)
}
