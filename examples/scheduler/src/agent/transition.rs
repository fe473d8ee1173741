//! The transitions of the agent: each is one atomic change, and there are no others.
mod answer;
mod schedule;

use fugato::{
    agent::candidates::Stagnation,
    prompt,
    state::{Budget, ConversationUpdate, Message, PinnedBlock, Plan, PlanStep, State, ToolCall},
    tool::{StepEvidence, Visibility, VisibilityUpdate, WantedCall},
};
use serde_json::Value;

use super::{
    AgentState, ContextHook, FreeTime, HandCall, Health, Phase, Request, RouteDecision, RunScope,
    TerminalOutcome, TerminalStatus,
};
use crate::{calendar::Lang, contract::Call, keywords::said};

/// The block that marks that everything pending was placed by rule once.
pub const ROUGH_BUILD_DONE: &str = "rough_build_done";
/// The block that shows the plan.
pub const PLAN: &str = "plan";
/// The block that shows the current step.
pub const CURRENT_STEP: &str = "current_step";
/// The key of the pinned block about a message that is answered once more.
pub const RETRIED: &str = "retried_request";
/// The block that shows the times that the person wants kept free.
const KEPT_FREE: &str = "kept_free";
/// The marker in the history after a finished step.
pub const STEP_ADVANCED: &str = "execute_step_advanced";
/// The marker in the history after a completed run.
pub const LOOP_CLOSED: &str = "execute_loop_closed";

/// Returns what the model gets about a message that is answered once more.
fn retried_words(retried: &str, lang: Lang) -> String {
    lang.pick(
        format!(
            "The person asks once more for an answer to the same message ({retried}): the answer \
             before did not suffice. Answer in another way."
        ),
        format!("用户要求重新回答同一条消息（{retried}）：之前的回答不够好，请换一种方式回答。"),
    )
}

impl AgentState {
    fn say(&mut self, message: Message) {
        self.conversation.apply(ConversationUpdate::Said(message));
    }

    /// Sets a pinned block.
    pub fn pin(&mut self, key: &str, text: String) {
        self.conversation
            .apply(ConversationUpdate::Pinned(PinnedBlock {
                key: key.into(),
                text,
            }));
    }

    fn unpin(&mut self, key: &str) {
        self.conversation
            .apply(ConversationUpdate::Unpinned(key.into()));
    }

    /// Drops the plan, so that an old one is not mistaken for one.
    fn drop_plan(&mut self) {
        self.plan = Plan::default();
        self.unpin(PLAN);
        self.unpin(CURRENT_STEP);
    }

    /// Begins a run: drops the state of the last one, and keeps the conversation and the schedule.
    pub(super) fn request(&mut self, request: Request) {
        self.reset_for_next_run();
        let lang = request.lang.or_else(|| Lang::evident(&request.text));
        self.lang = lang.unwrap_or(self.lang);
        self.now = request.now;
        self.run.rounds = Budget::new(request.max_rounds);
        self.run.always_execute = request.always_execute;
        self.run.thinking = request.thinking;
        self.run.models = request.models;
        self.run.understood = said(&request.text).wants_work();
        if !request.task_class_ids.is_empty() {
            self.task_class_ids = request.task_class_ids;
        }
        match request.memory {
            Some(memory) => self.pin(prompt::MEMORY, memory),
            None => self.unpin(prompt::MEMORY),
        }
        match request.retries {
            Some(retried) => self.pin(RETRIED, retried_words(&retried, self.lang)),
            None => self.unpin(RETRIED),
        }
        if let Some(call) = request.call {
            self.run.by_hand = true;
            self.manual_call(call, request.text.clone());
        }
        self.run.remarks = request.remarks;
        self.say(Message::user(request.text));
    }

    /// Replaces the times that are kept free, and shows them in every prompt.
    pub(super) fn keep_free(&mut self, times: Vec<FreeTime>) {
        if times != self.free_times {
            self.remember();
            self.run.has_changed = true;
        }
        let lines = times.iter().map(|time| {
            let dates: Vec<_> = time.dates.iter().map(String::as_str).collect();
            let sections: Vec<_> = time.sections.iter().map(u8::to_string).collect();
            let (dates, sections) = (dates.join(", "), sections.join(", "));
            if sections.is_empty() {
                dates
            } else {
                let label = self.lang.pick("sections", "节次");
                format!("{dates} ({label} {sections})")
            }
        });
        let lines = lines.collect::<Vec<_>>().join("; ");
        let block = self.lang.pick(
            format!("The person wants these times kept free: {lines}."),
            format!("用户希望这些时间空着：{lines}。"),
        );
        if times.is_empty() {
            self.unpin(KEPT_FREE);
        } else {
            self.pin(KEPT_FREE, block);
        }
        self.free_times = times;
    }

    /// Takes over a call that the person makes by hand, which counts as consent, unless it changes
    /// what was agreed to. It is none of the planned calls.
    fn manual_call(&mut self, call: Call, summary: String) {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let call = ToolCall::new(id, call.name, Value::Object(call.arguments));
        self.wanted = Some(WantedCall::accepted(call, summary));
        self.run.hand = Some(HandCall::Made);
    }

    /// Resets the state of a run, and keeps identity, history and the schedule. Idempotent.
    pub fn reset_for_next_run(&mut self) {
        let unsaved = self.run.unsaved;
        self.run = RunScope {
            unsaved,
            ..RunScope::default()
        };
        self.compacted.run_began();
        self.phase = Phase::Chatting;
        self.drop_plan();
        self.health = Health::default();
        self.wanted = None;
        self.pending = None;
        self.clear_tools();
    }

    fn clear_tools(&mut self) {
        self.tools = Visibility::new();
        self.hook = None;
    }

    pub(super) fn route(&mut self, routed: &RouteDecision) {
        self.phase = routed.phase;
        self.run.needs_rough_build = routed.rough_build;
        self.run.needs_refine = routed.refine;
        self.run.allow_reorder = routed.reorder;
        self.run.execute_thinking = routed.thinking;
        self.run.mode = routed.mode;
        if routed.phase == Phase::Executing {
            self.start_direct_execute();
        }
    }

    /// Starts execution without a plan; an old plan is dropped so that it is not mistaken for one.
    pub fn start_direct_execute(&mut self) {
        self.drop_plan();
        self.phase = Phase::Executing;
        self.run.react = true;
        self.hook = Some(ContextHook::schedule("direct_execute"));
    }

    /// Sets a plan and its first tools, to be confirmed by the person.
    pub fn finish_plan(
        &mut self,
        steps: Vec<PlanStep>,
        needs_rough_build: bool,
        task_class_ids: Vec<u32>,
        hook: ContextHook,
    ) {
        self.clear_tools();
        let lines = steps
            .iter()
            .zip(1..)
            .map(|(step, n)| match step.done_when.as_str() {
                "" => format!("{n}. {}", step.content),
                done => format!("{n}. {} (done when: {done})", step.content),
            });
        self.pin(PLAN, lines.collect::<Vec<_>>().join("\n"));
        self.plan = Plan::new(steps);
        self.pin_step();
        self.run.needs_rough_build |= needs_rough_build;
        if !task_class_ids.is_empty() {
            self.task_class_ids = task_class_ids;
        }
        self.hook = Some(hook);
        self.run.react = false;
        self.phase = Phase::WaitingConfirm;
    }

    fn pin_step(&mut self) {
        match self.plan.current_step() {
            Some(step) => {
                let n = self.plan.current + 1;
                let text = format!("step {n} of {}: {}", self.plan.steps.len(), step.content);
                self.pin(CURRENT_STEP, text);
            }
            None => self.unpin(CURRENT_STEP),
        }
    }

    /// Starts the execution of the plan.
    pub fn confirm_plan(&mut self) {
        self.phase = Phase::Executing;
    }

    /// Rejects the plan, so that another one is made.
    pub fn reject_plan(&mut self) {
        self.drop_plan();
        self.hook = None;
        self.phase = Phase::Planning;
    }

    pub(super) fn next_round(&mut self) {
        self.run.judged = None;
        if let Err(spent) = self.run.rounds.spend(1) {
            if self.run.unsaved && !self.run.refused {
                // What was placed is offered as it is, rather than lost.
                self.run.out_of_rounds = true;
                self.wanted = None;
                self.close();
            } else {
                self.end(TerminalOutcome::exhausted(spent.limit));
            }
        }
    }

    pub(super) fn use_hook(&mut self) {
        if let Some(ContextHook { domain, packs, .. }) = self.hook.take() {
            let packs = packs.into_iter().collect();
            self.tools
                .apply(VisibilityUpdate::Activated { domain, packs });
        }
    }

    pub(super) fn record(&mut self, evidence: StepEvidence) {
        self.run.evidence.push(evidence);
        self.run.failed_write = self.has_failed_write();
    }

    pub(super) fn want(&mut self, wanted: WantedCall) {
        self.calls += 1;
        if let Some(planned) = &mut self.run.planned
            && planned
                .first()
                .is_some_and(|call| call.name == wanted.call.name)
        {
            planned.remove(0);
        }
        self.wanted = Some(wanted);
    }

    pub(super) fn diagnose(&mut self, mut health: Health) {
        let mut standing = Stagnation {
            signal: std::mem::take(&mut self.health.signal),
            count: self.health.stagnation,
        };
        health.stagnation = standing.observe(&health.signal);
        self.health = health;
    }

    /// Finishes the step; without another one, the execution ends.
    pub fn advance_step(&mut self) {
        self.say(prompt::marker(STEP_ADVANCED));
        self.run.failed_write = false;
        if !self.plan.advance() {
            self.done();
        }
        self.pin_step();
    }

    /// Ends the placing and asks the person whether to keep the result.
    pub(super) fn close(&mut self) {
        self.run.closing = true;
        self.phase = Phase::WaitingConfirm;
    }

    /// Ends the execution. An outcome that is already set stays.
    pub fn done(&mut self) {
        self.phase = Phase::Done;
        self.run.optimize_only = false;
        self.clear_tools();
    }

    pub(super) fn end(&mut self, outcome: TerminalOutcome) {
        self.run.outcome.get_or_insert(outcome);
        self.wanted = None;
        self.done();
    }

    /// Ends the run. A completed run is marked in the history.
    pub(super) fn delivered(&mut self) {
        let outcome = self.run.outcome.as_ref().map(|outcome| outcome.status);
        if outcome.unwrap_or(TerminalStatus::Completed) == TerminalStatus::Completed {
            self.say(prompt::marker(LOOP_CLOSED));
            self.compacted.work_ended();
        }
        self.phase = Phase::Done;
        self.wanted = None;
        self.pending = None;
        self.clear_tools();
    }
}
