use std::{ops::ControlFlow, sync::Arc};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{ChatModel, ChatRequest, ModelError, ModelErrorKind};
use fugato_memory::ExecutionStatus;
use fugato_state::{Message, ToolStatus, say};
use fugato_stream::EventKind;
use fugato_tool::{Access, AnsweredCall};
use serde_json::json;

use super::{Parts, PlanProgress, StepKind, StepOutcome, WorkStep, WorkUpdate};
use crate::{
    Embeds,
    decision::ModelFailure,
    reply::{
        NoWords, RunReport, SpeechOptions, ask_for_people, claims_action, overhear, show, spoken,
    },
    text::custom,
    toolbox::finished,
};

/// The node that carries out the step that has begun.
pub(super) struct StepNode<S: Embeds<PlanProgress>>(pub(super) Arc<Parts<S>>);

#[async_trait]
impl<S: Embeds<PlanProgress>> Node<S> for StepNode<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let step = cx.state().part().running().ok_or("no step has begun")?;
        if step.draft.kind == StepKind::Tool {
            return self.tool(&cx, step).await;
        }
        if self.0.is_late(&cx) {
            return Ok(Outcome::done([]));
        }
        let (outcome, failed) = match self.say(&cx, step).await {
            Ok(StepText { text, failure }) => {
                let ruled = failure.map(|failure| WorkUpdate::Ruled { failure });
                (completed(text, false), ruled)
            }
            Err(error) => {
                let model = error.downcast_ref::<ModelError>();
                let timed_out = model.is_some_and(|error| error.kind == ModelErrorKind::TimedOut);
                let why = error.to_string();
                let error = why.clone();
                // An answer that cannot be given ends the work; around a failed tool the planner
                // may find a way.
                let failed = WorkUpdate::Failed { error, timed_out };
                (StepOutcome::Failed { why }, Some(failed))
            }
        };
        let told = told(step, &outcome);
        let updates = self.ended(&cx, step, outcome).chain(failed);
        Ok(Outcome::done(updates.map(S::embed)).note(told))
    }
}

impl<S: Embeds<PlanProgress>> StepNode<S> {
    async fn tool(&self, cx: &Context<S>, step: &WorkStep) -> Result<Outcome<S::Update>, BoxError> {
        let called = match self.0.toolbox.execute(cx, &[step.call()]).await? {
            ControlFlow::Continue(called) => called,
            ControlFlow::Break(asks) => return Ok(asks),
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

    /// Returns the outcome to store: without the result of a read that the next look finds again.
    fn kept(&self, called: &AnsweredCall<S::Update>, outcome: StepOutcome) -> StepOutcome {
        let is_read = called.result.is_ok() && called.access == Some(Access::Read);
        if is_read && self.0.looks && self.0.toolbox.has_live_reads() {
            // A look keeps the facts up to date.
            let looked = say!(
                "it was looked up; what holds now is among the facts",
                "已经查过；现在的情况见事实部分"
            );
            return completed(looked, false);
        }
        outcome
    }

    /// Returns the updates at the end of a step.
    fn ended(
        &self,
        cx: &Context<S>,
        step: &WorkStep,
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

    /// Returns the words of the model, or else of a rule, for a step that reasons or responds. Only
    /// an answer is shown, and only after it was checked against what was written.
    async fn say(&self, cx: &Context<S>, step: &WorkStep) -> Result<StepText, BoxError> {
        let (rules, state) = (self.0.rules.as_ref(), cx.state());
        let by_rule = || rules.and_then(|rules| rules.say(state, step));
        let sure = rules.is_some_and(|rules| rules.knows(state, step));
        let work = state.part();
        let failure = match &self.0.model {
            Some(model) if !sure && work.failure.is_none() => {
                match self.asked(cx, step, &**model).await {
                    Ok(text) => return Ok(self.worded(cx, step, text)),
                    Err(NoWords::Silent(error)) if error.kind == ModelErrorKind::TimedOut => {
                        return Err(error.into());
                    }
                    Err(NoWords::Silent(error)) => {
                        let failure = ModelFailure::of(model.name(), &error);
                        Some((failure, BoxError::from(error)))
                    }
                    Err(NoWords::Unfit(why)) => {
                        let failure = ModelFailure::unusable(model.name());
                        Some((failure, BoxError::from(why)))
                    }
                }
            }
            _ => None,
        };
        let (failure, why) = failure.unzip();
        let silent = || {
            say!(
                "no model is asked, and no rule knows what to say",
                "没有问模型，也没有规则知道该说什么"
            )
            .into()
        };
        let text = by_rule().ok_or_else(|| why.unwrap_or_else(silent))?;
        if let Some(failure) = &failure {
            failure.announce(cx, &work.execution.goal);
        }
        if step.draft.kind == StepKind::Respond {
            show(cx, &text);
        }
        Ok(StepText { text, failure })
    }

    /// Returns the words of the model after the report of what was written, and shows an answer.
    fn worded(&self, cx: &Context<S>, step: &WorkStep, text: String) -> StepText {
        let failure = None;
        if step.draft.kind != StepKind::Respond {
            return StepText { text, failure };
        }
        let (state, toolbox) = (cx.state(), &self.0.toolbox);
        let (work, rules) = (state.part(), self.0.rules.as_ref());
        let said = &work.execution.goal;
        let report = RunReport::of_work(work, |tool| {
            toolbox.access(tool, state) == Some(Access::Write)
        });
        let report = report.titled(|tool| toolbox.title(tool));
        let claimed = claims_action(&text) && toolbox.can_write(state);
        let wanted = rules.is_some_and(|rules| rules.wants_action(state));
        let facts = rules.and_then(|rules| rules.facts(state));
        let text = match (report.is_empty(), claimed) {
            (false, _) => report.reply(&text, said),
            (true, true) => {
                let known = rules.and_then(|rules| rules.say(state, step));
                lines([RunReport::nothing(said), &known.unwrap_or_default()])
            }
            (true, false) if facts.is_some() => lines([&facts.unwrap_or_default(), &text]),
            (true, false) if wanted => lines([RunReport::nothing(said), &text]),
            (true, false) => text,
        };
        show(cx, &text);
        StepText { text, failure }
    }

    /// Returns the words of the model. An answer that is not meant for people is corrected once.
    async fn asked(
        &self,
        cx: &Context<S>,
        step: &WorkStep,
        model: &dyn ChatModel,
    ) -> Result<String, NoWords> {
        let (parts, answers) = (&self.0, step.draft.kind == StepKind::Respond);
        let (task, profile) = if answers {
            (say!("Answer the person.", "回答用户。"), &parts.answering)
        } else {
            (
                say!("Think, and say what follows.", "思考，并说明得出了什么。"),
                &parts.thinking,
            )
        };
        let told = format!("{task}\n{}", step.draft.instruction);
        let situation = Message::user(parts.situation(cx.state()));
        let request = ChatRequest::new([Message::system(told), situation]);
        let request = profile.apply(request.metadata("stage", super::PERFORM));
        let unseen = SpeechOptions {
            unseen: true,
            ..SpeechOptions::default()
        };
        if !answers {
            return Ok(spoken(&overhear(cx, model, request, unseen).await?)?);
        }
        // With a look there is no correction: rules read out the facts that were looked up.
        let corrections = u32::from(!parts.looks);
        let asked = ask_for_people(cx, model, request, unseen, corrections).await;
        asked.map(|(words, _)| words)
    }
}

/// The words of a step, and the failure of the model if a rule wrote them.
struct StepText {
    text: String,
    failure: Option<ModelFailure>,
}

fn lines(lines: [&str; 2]) -> String {
    let lines = lines.into_iter().filter(|line| !line.trim().is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

fn judged<U>(called: &AnsweredCall<U>) -> StepOutcome {
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

/// Returns the event of a step that has ended.
fn told(step: &WorkStep, outcome: &StepOutcome) -> EventKind {
    let ended = json!({ "id": step.id, "outcome": outcome });
    custom("step_complete", ended)
}
