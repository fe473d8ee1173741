//! The transitions of the agent: each is one atomic change, and there are no others.
use std::sync::Arc;

use fugato::{
    agent::candidates::Stagnation,
    prompt,
    state::{Budget, ConversationUpdate, Message, PinnedBlock, Plan, PlanStep, State, ToolCall},
    tool::{StepEvidence, Visibility, VisibilityUpdate, WantedCall},
};
use serde_json::Value;

use super::{
    AgentState, BY_HAND, CardReply, ContextHook, FreeTime, Health, Mode, PendingInteraction, Phase,
    QuestionTopic, Request, RouteDecision, RunScope, TerminalOutcome, TerminalStatus, Upserts,
};
use crate::{
    calendar::Lang,
    contract::Call,
    keywords::said,
    schedule::{Change, Difference, PlacementStatus, ScheduleState, differences},
    store::{WrittenClass, decided},
};

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

    /// Begins a run: drops the state of the last one, and keeps the conversation and the schedule.
    pub(super) fn request(&mut self, request: Request) {
        self.reset_for_next_run();
        self.lang = request.lang.unwrap_or_else(|| Lang::of(&request.text));
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
            None => self
                .conversation
                .apply(ConversationUpdate::Unpinned(prompt::MEMORY.into())),
        }
        match request.retries {
            Some(retried) => self.pin(RETRIED, retried_words(&retried, self.lang)),
            None => self
                .conversation
                .apply(ConversationUpdate::Unpinned(RETRIED.into())),
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
            self.conversation
                .apply(ConversationUpdate::Unpinned(KEPT_FREE.into()));
        } else {
            self.pin(KEPT_FREE, block);
        }
        self.free_times = times;
    }

    /// Takes over a call that the person makes by hand, which counts as consent.
    fn manual_call(&mut self, call: Call, summary: String) {
        let id = format!("call-{}", self.calls + 1);
        let call = ToolCall::new(id, call.name, Value::Object(call.arguments));
        self.want(WantedCall::accepted(call, summary));
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
        self.plan = Plan::default();
        self.health = Health::default();
        self.wanted = None;
        self.pending = None;
        self.clear_tools();
        self.conversation
            .apply(ConversationUpdate::Unpinned(PLAN.into()));
        self.conversation
            .apply(ConversationUpdate::Unpinned(CURRENT_STEP.into()));
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
        self.plan = Plan::default();
        self.conversation
            .apply(ConversationUpdate::Unpinned(PLAN.into()));
        self.conversation
            .apply(ConversationUpdate::Unpinned(CURRENT_STEP.into()));
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
            None => self
                .conversation
                .apply(ConversationUpdate::Unpinned(CURRENT_STEP.into())),
        }
    }

    /// Starts the execution of the plan.
    pub fn confirm_plan(&mut self) {
        self.phase = Phase::Executing;
    }

    /// Rejects the plan, so that another one is made.
    pub fn reject_plan(&mut self) {
        self.plan = Plan::default();
        self.hook = None;
        self.conversation
            .apply(ConversationUpdate::Unpinned(PLAN.into()));
        self.conversation
            .apply(ConversationUpdate::Unpinned(CURRENT_STEP.into()));
        self.phase = Phase::Planning;
    }

    pub(super) fn open(&mut self, pending: PendingInteraction) {
        self.phase = Phase::Interrupted;
        self.pending = Some(pending);
    }

    /// Applies the person's answer and returns to the phase that asked.
    pub(super) fn reply(&mut self, reply: &CardReply) {
        let Some(pending) = self.pending.take() else {
            return;
        };
        let approved = reply.is_approval();
        self.phase = pending.resume_phase;
        let by_hand = reply.hands(&BY_HAND);
        if let Some(call) = by_hand.filter(|_| pending.topic != QuestionTopic::AskUser) {
            self.act_instead(pending.topic, reply, call.clone());
            return;
        }
        let status = match pending.topic {
            QuestionTopic::AskUser => "resumed",
            _ if approved => "confirmed",
            _ => "rejected",
        };
        self.run.announce = Some(status.into());
        match (pending.topic, approved) {
            (QuestionTopic::AskUser, _) => self.answered(&pending.card.summary, reply),
            (QuestionTopic::Plan, true) => self.confirm_plan(),
            (QuestionTopic::Plan, false) => self.reject_plan(),
            (QuestionTopic::Tool, true) => {
                self.phase = Phase::Executing;
                if let Some(wanted) = &mut self.wanted {
                    wanted.accepted = true;
                }
            }
            (QuestionTopic::Tool, false) => self.refuse_wanted(reply),
            (QuestionTopic::Schedule, true) => {
                self.run.closing = false;
                self.keep();
                self.done();
            }
            (QuestionTopic::Schedule, false) => self.refuse_schedule(),
        }
        if pending.topic != QuestionTopic::AskUser
            && let Some(text) = reply.said()
        {
            self.say(Message::user(text));
        }
    }

    /// Takes over a change that the person made in place of an answer. The question about the plan
    /// or the schedule is asked again afterwards, with the new state. A write that was not agreed
    /// to is not made, and the agent continues from the change.
    fn act_instead(&mut self, topic: QuestionTopic, reply: &CardReply, call: Call) {
        self.run.announce = Some("resumed".into());
        if topic == QuestionTopic::Tool {
            self.refuse_wanted(reply);
        } else {
            self.run.asks_again = true;
        }
        self.phase = Phase::Executing;
        let said = reply.said().unwrap_or(&call.name).to_owned();
        self.manual_call(call, said.clone());
        self.say(Message::user(said));
    }

    /// Goes back to the confirmation that was open before.
    pub(super) fn ask_again(&mut self) {
        self.run.asks_again = false;
        self.phase = Phase::WaitingConfirm;
    }

    fn answered(&mut self, question: &str, reply: &CardReply) {
        let text = reply.said().unwrap_or("(no answer)").to_owned();
        self.run.resumed = Some((question.to_owned(), text.clone()));
        self.say(Message::user(text.clone()));
        self.record(StepEvidence::of_reply(self.plan.current, text));
        // An infeasible schedule may be feasible now; the next diagnosis decides.
        self.health.checked = false;
    }

    /// Drops the wanted call after a rejection, so that the model looks for another way. The
    /// history gets the call with its rejection as the result.
    fn refuse_wanted(&mut self, reply: &CardReply) {
        self.phase = Phase::Executing;
        let Some(wanted) = self.wanted.take() else {
            return;
        };
        // The rest depends on what was refused.
        if let Some(planned) = &mut self.run.planned {
            planned.clear();
        }
        self.next_repair();
        for message in wanted.rejected(reply.said()) {
            self.say(message);
        }
    }

    /// Goes on to the next repair once the calls of the last one are answered.
    pub(super) fn next_repair(&mut self) {
        let answered = self.run.planned.as_ref().is_none_or(Vec::is_empty);
        if answered && self.wanted.is_none() && !self.run.repairs.is_empty() {
            self.run.planned = Some(self.run.repairs.remove(0));
        }
    }

    fn refuse_schedule(&mut self) {
        self.phase = Phase::Executing;
        self.run.closing = false;
        self.run.refused = true;
        self.run.optimize_only = false;
        self.run.mode = Mode::LocalAdjust;
        self.run.react = true;
        self.hook = Some(ContextHook::schedule("schedule_rejected"));
    }

    pub(super) fn reschedule(&mut self, changes: &[Change]) {
        if let Some(schedule) = &mut self.schedule {
            let schedule = Arc::make_mut(schedule);
            for change in changes {
                if let Some(task) = schedule.task(change.task()) {
                    let before = || task.slots.clone();
                    self.run.places.entry(task.state_id).or_insert_with(before);
                }
                schedule.apply(change);
            }
            self.run.has_schedule_changes |= !changes.is_empty();
            // The diagnosis is out of date.
            self.health.checked = false;
        }
    }

    pub(super) fn rough_built(&mut self, refine: bool, left: Option<String>) {
        self.run.needs_rough_build = false;
        self.run.unsaved |= self.is_draft();
        if left.is_some() {
            // What does not fit is for the person to decide, with what fits in view.
            self.run.left = left;
            self.close();
            return;
        }
        if self.run.mode != Mode::GlobalReopt {
            self.pin(
                ROUGH_BUILD_DONE,
                "every pending item was placed by rule".into(),
            );
        }
        if refine {
            self.run.optimize_only = true;
            self.run.needs_refine = false;
            if self.run.mode == Mode::LocalAdjust {
                self.run.mode = Mode::FirstFull;
            }
            self.hook = Some(ContextHook::schedule("rough_build_post_refine"));
        } else {
            self.done();
        }
    }

    /// Returns true if a task is in another place than the stored one.
    fn is_draft(&self) -> bool {
        let stored = self.stored.as_ref().or(self.original.as_ref());
        let both = stored.zip(self.schedule.as_ref());
        both.is_some_and(|(stored, now)| !differences(stored, now).is_empty())
    }

    /// Marks changes as stored, so that the next changes are compared with them.
    pub(super) fn store(&mut self, changes: &[Difference]) {
        let (Some(schedule), Some(original)) = (&self.schedule, &self.original) else {
            return;
        };
        let before = self.stored.as_ref().unwrap_or(original);
        if self.run.stored == 0 && self.run.upserts.stored == 0 && !changes.is_empty() {
            self.previous = Some(before.clone());
        }
        let mut stored = (**before).clone();
        let now = changes
            .iter()
            .filter_map(|change| schedule.task(change.task));
        for task in now {
            stored.apply(&Change::restoring(task));
            stored.apply(&Change::Mark {
                task: task.state_id,
                marks: task.marks.clone(),
            });
        }
        self.run.stored += changes.len() as u64;
        self.agreed = !decided(&stored, schedule).is_empty();
        self.stored = Some(stored.into());
    }

    /// Adds the class and its items to each schedule that the conversation holds.
    pub(super) fn put_class(&mut self, written: &WrittenClass) {
        if self.run.stored == 0 && self.run.upserts.stored == 0 {
            self.previous = self.stored.clone().or_else(|| self.original.clone());
        }
        let known = [&mut self.schedule, &mut self.original, &mut self.stored];
        for schedule in known.into_iter().flatten() {
            Arc::make_mut(schedule).put_class(written);
        }
        if !self.task_class_ids.contains(&written.class.id) {
            self.task_class_ids.push(written.class.id);
        }
        self.health.checked = false;
        self.run.upserts = Upserts {
            stored: self.run.upserts.stored + 1,
            last_tried: true,
            last_success: true,
            ..Upserts::default()
        };
    }

    pub(super) fn miss_class(&mut self, issues: Vec<String>) {
        self.run.upserts = Upserts {
            stored: self.run.upserts.stored,
            last_tried: true,
            last_success: false,
            last_issues: issues,
            consecutive_failures: self.run.upserts.consecutive_failures + 1,
        };
    }

    /// Replaces the schedule by a newer calendar, and drops all suggestions on the old one.
    pub(super) fn overtaken(&mut self, schedule: Arc<ScheduleState>) {
        self.original = Some(schedule.clone());
        self.schedule = Some(schedule);
        self.stored = None;
        self.agreed = false;
        self.run.unsaved = false;
        self.health.checked = false;
        self.conversation
            .apply(ConversationUpdate::Unpinned(ROUGH_BUILD_DONE.into()));
    }

    /// Makes suggested places part of the calendar.
    pub fn keep(&mut self) {
        self.run.unsaved = false;
        self.agreed = true;
        if let Some(schedule) = &mut self.schedule {
            for task in &mut Arc::make_mut(schedule).tasks {
                if task.status == PlacementStatus::Suggested {
                    task.status = PlacementStatus::Existing;
                }
            }
        }
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
