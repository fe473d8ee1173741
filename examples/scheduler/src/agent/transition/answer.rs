//! The questions to the person, and their answers.
use std::collections::BTreeSet;

use fugato::{state::Message, tool::StepEvidence};
use serde_json::Value;

use crate::{
    agent::{
        AgentState, BY_HAND, CardReply, ContextHook, HandCall, Mode, PendingInteraction, Phase,
        QuestionTopic,
    },
    contract::Call,
};

impl AgentState {
    pub(in crate::agent) fn open(&mut self, pending: PendingInteraction) {
        self.phase = Phase::Interrupted;
        self.pending = Some(pending);
    }

    /// Applies the person's answer and returns to the phase that asked.
    pub(in crate::agent) fn reply(&mut self, reply: &CardReply) {
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
    /// or the schedule is asked again afterwards, with the new state, and so is one about another
    /// item by rules or by hand. A write of a model that was not agreed to is not made, and the
    /// agent continues from the change.
    fn act_instead(&mut self, topic: QuestionTopic, reply: &CardReply, call: Call) {
        self.run.announce = Some("resumed".into());
        let by_rules = self.run.planned.is_some() || self.run.hand.is_some();
        match self
            .wanted
            .take_if(|_| by_rules && topic == QuestionTopic::Tool)
        {
            Some(wanted) => {
                let now = tasks_of(&Value::Object(call.arguments.clone()));
                if tasks_of(&wanted.call.arguments).is_disjoint(&now) {
                    self.run.aside.push(wanted);
                } else {
                    for message in wanted.rejected(reply.said()) {
                        self.say(message);
                    }
                }
            }
            None if topic == QuestionTopic::Tool => self.refuse_wanted(reply),
            None => self.run.asks_again = true,
        }
        self.phase = Phase::Executing;
        let said = reply.said().unwrap_or(&call.name).to_owned();
        self.manual_call(call, said.clone());
        self.say(Message::user(said));
    }

    /// Goes back to the confirmation that was open before.
    pub(in crate::agent) fn ask_again(&mut self) {
        self.run.asks_again = false;
        self.phase = Phase::WaitingConfirm;
    }

    /// Asks about a call by hand that changes what was agreed to.
    pub(in crate::agent) fn ask_about_hand(&mut self, summary: String) {
        if let Some(wanted) = &mut self.wanted {
            (wanted.accepted, wanted.summary) = (false, summary);
            self.run.hand = Some(HandCall::Asked);
            self.phase = Phase::WaitingConfirm;
        }
    }

    /// Asks again about the last call that another one by hand took the place of; false if there is
    /// none.
    fn ask_about_aside(&mut self) -> bool {
        self.wanted = self.run.aside.pop();
        self.run.hand = self.wanted.is_some().then_some(HandCall::Asked);
        if self.wanted.is_some() {
            self.phase = Phase::WaitingConfirm;
        }
        self.wanted.is_some()
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
        let by_hand = self.run.hand.is_some();
        if !self.ask_about_aside() {
            self.go_on_without(by_hand);
        }
        for message in wanted.rejected(reply.said()) {
            self.say(message);
        }
    }

    /// Goes on after a call was refused.
    fn go_on_without(&mut self, by_hand: bool) {
        if self.run.asks_again {
            self.ask_again();
        } else if self.run.by_hand {
            self.done();
        } else if !by_hand {
            // The rest depends on what was refused.
            if let Some(planned) = &mut self.run.planned {
                planned.clear();
            }
            self.run.would_keep_free = None;
            self.next_repair();
        }
    }

    /// Ends the wanted call. Once it is made, other repairs of the same items are not asked about.
    pub(in crate::agent) fn finish_wanted(&mut self) {
        if let Some(made) = self.wanted.take().filter(|_| !self.run.failed_write) {
            let made = tasks_of(&made.call.arguments);
            let is_other = |calls: &Vec<Call>| {
                let arguments = |call: &Call| Value::Object(call.arguments.clone());
                let mut tasks = calls.iter().flat_map(|call| tasks_of(&arguments(call)));
                tasks.all(|task| !made.contains(&task))
            };
            self.run.repairs.retain(is_other);
            let is_last = self.run.planned.as_ref().is_some_and(Vec::is_empty);
            if let Some(times) = self.run.would_keep_free.take_if(|_| is_last) {
                self.keep_free(times);
            }
        }
        if !self.ask_about_aside() {
            self.next_repair();
        }
    }

    /// Goes on to the next repair once the calls of the last one are answered.
    pub(in crate::agent) fn next_repair(&mut self) {
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
}

/// Returns the tasks that the arguments of a call name.
fn tasks_of(arguments: &Value) -> BTreeSet<u64> {
    let list = |name: &str| arguments.get(name).and_then(Value::as_array).into_iter();
    let arranged = list("tasks").flatten().map(|task| task.get("task_id"));
    let marked = list("task_ids").flatten().map(Some);
    let named = ["task_id", "task_a", "task_b"].map(|name| arguments.get(name));
    let tasks = arranged.chain(marked).chain(named).flatten();
    tasks.filter_map(Value::as_u64).collect()
}
