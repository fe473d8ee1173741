use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{ChatModel, ChatRequest, ModelError, ModelErrorKind};
use fugato_memory::ExecutionStatus;
use fugato_state::{Message, ToolStatus};
use fugato_stream::EventKind;
use fugato_tool::{Access, Called};
use serde_json::json;

use super::{Parts, Step, StepKind, StepOutcome, Work, WorkUpdate, custom};
use crate::{Carried, Embeds, Shown, ask, show, toolbox::finished};

/// What stands for what a tool has read that a look keeps up to date.
const LOOKED: &str = "it was looked up; what holds now is among the facts";

/// Carries out the step that has begun, and nothing else.
pub(super) struct Perform<S: Embeds<Work>>(pub(super) Arc<Parts<S>>);

#[async_trait]
impl<S: Embeds<Work>> Node<S> for Perform<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let step = cx.state().part().running().ok_or("no step has begun")?;
        if step.draft.kind == StepKind::Tool {
            return self.tool(&cx, step).await;
        }
        if self.0.is_late(&cx) {
            return Ok(Outcome::done([]));
        }
        let (outcome, failed) = match self.say(&cx, step).await {
            Ok(output) => (completed(output, false), None),
            Err(error) => {
                let model = error.downcast_ref::<ModelError>();
                let timed_out = model.is_some_and(|error| error.kind == ModelErrorKind::TimedOut);
                let why = error.to_string();
                let error = why.clone();
                // An answer that is not given ends the work; what a tool does not do, the planner
                // may work around.
                let failed = WorkUpdate::Failed { error, timed_out };
                (StepOutcome::Failed { why }, Some(failed))
            }
        };
        let told = told(step, &outcome);
        let updates = self.ended(&cx, step, outcome).chain(failed);
        Ok(Outcome::done(updates.map(S::embed)).note(told))
    }
}

impl<S: Embeds<Work>> Perform<S> {
    async fn tool(&self, cx: &Context<S>, step: &Step) -> Result<Outcome<S::Update>, BoxError> {
        let called = match self.0.toolbox.carry_out(cx, &[step.call()]).await? {
            Carried::Asks(questions) => {
                let memo = None;
                return Ok(Outcome::Ask { memo, questions });
            }
            Carried::Done(called) => called,
        };
        let called = called.into_iter().next().ok_or("a call has no result")?;
        let note = finished(&called);
        let outcome = judged(&called);
        let told = told(step, &outcome);
        let updates = self.ended(cx, step, self.kept(&called, outcome));
        let all = called.result.updates.into_iter();
        let all = all.chain(updates.map(S::embed));
        Ok(Outcome::done(all).note(note).note(told))
    }

    /// What is kept of a step: what was read stands where the next look finds it, and nowhere else.
    fn kept(&self, called: &Called<S::Update>, outcome: StepOutcome) -> StepOutcome {
        let is_read = called.result.is_ok() && called.access == Some(Access::Read);
        if is_read && self.0.looks && self.0.toolbox.has_live_reads() {
            return completed(LOOKED.to_owned(), false);
        }
        outcome
    }

    /// What a step that ended changes.
    fn ended(
        &self,
        cx: &Context<S>,
        step: &Step,
        outcome: StepOutcome,
    ) -> impl Iterator<Item = WorkUpdate> + use<S> {
        let waited = cx.state().part().status() == ExecutionStatus::WaitingUserConfirmation;
        let expired = waited && self.0.toolbox.has_live_reads();
        let before = [
            expired.then_some(WorkUpdate::Expired),
            waited.then_some(WorkUpdate::Confirmed),
        ];
        let (id, at) = (step.id.clone(), cx.now());
        let ended = WorkUpdate::Ended { id, outcome, at };
        before.into_iter().flatten().chain([ended])
    }

    /// What the model thinks, or answers. Only an answer is shown.
    async fn say(&self, cx: &Context<S>, step: &Step) -> Result<String, BoxError> {
        let (rules, state) = (self.0.rules.as_ref(), cx.state());
        let by_rule = || rules.and_then(|rules| rules.say(state, step));
        let sure = rules.is_some_and(|rules| rules.knows(state, step));
        let text = match &self.0.model {
            Some(model) if !sure => match self.asked(cx, step, &**model).await {
                Ok(text) => return Ok(text),
                Err(error) if error.kind == ModelErrorKind::TimedOut => return Err(error.into()),
                Err(error) => by_rule().ok_or(error)?,
            },
            _ => by_rule().ok_or("no model is asked, and no rule knows what to say")?,
        };
        if step.draft.kind == StepKind::Respond {
            show(cx, &text);
        }
        Ok(text)
    }

    async fn asked(
        &self,
        cx: &Context<S>,
        step: &Step,
        model: &dyn ChatModel,
    ) -> Result<String, ModelError> {
        let (parts, answers) = (&self.0, step.draft.kind == StepKind::Respond);
        let (task, profile, shown) = if answers {
            ("Answer the person.", &parts.answering, Shown::All)
        } else {
            (
                "Think, and say what follows.",
                &parts.thinking,
                Shown::Reasoning,
            )
        };
        let told = format!("{task}\n{}", step.draft.instruction);
        let situation = Message::user(parts.situation(cx.state()));
        let request = ChatRequest::new([Message::system(told), situation]);
        let request = profile.apply(request.metadata("stage", super::PERFORM));
        let said = ask(cx, model, request, shown).await?.message.content;
        if said.trim().is_empty() {
            let why = "it says nothing";
            return Err(ModelError::new(ModelErrorKind::Malformed, why));
        }
        Ok(said)
    }
}

fn judged<U>(called: &Called<U>) -> StepOutcome {
    let text = called.result.text.clone();
    match called.result.status {
        ToolStatus::Ok => completed(text, called.access != Some(Access::Read)),
        ToolStatus::Blocked => StepOutcome::Blocked { why: text },
        ToolStatus::Failed => StepOutcome::Failed { why: text },
    }
}

fn completed(output: String, changed: bool) -> StepOutcome {
    StepOutcome::Completed { output, changed }
}

/// What is told of a step that ended.
fn told(step: &Step, outcome: &StepOutcome) -> EventKind {
    let ended = json!({ "id": step.id, "outcome": outcome });
    custom("step_complete", ended)
}
