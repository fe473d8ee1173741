use std::{fmt::Write as _, sync::Arc};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{Ask, ChatRequest, ChatResponse, ModelErrorKind, RejectedAnswer, Settlement};
use fugato_state::{Message, say};
use fugato_stream::EventKind;
use fugato_tool::CatalogueDetail;
use serde_json::json;

use super::{
    MOST_ITERATIONS, Parts, PlanProgress, PlannerQuestion, WorkUpdate,
    mode::{AnswerContext, MOST_STEPS},
};
use crate::{
    Embeds,
    decision::{ModelFailure, settle_part},
    reply::ask_unseen,
    text::custom,
};

/// The node that asks the planner once.
pub(super) struct Decide<S: Embeds<PlanProgress>>(pub(super) Arc<Parts<S>>);

#[async_trait]
impl<S: Embeds<PlanProgress>> Node<S> for Decide<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let (parts, state) = (&self.0, cx.state());
        let work = state.part();
        let Some(asking) = parts.mode.asks(work) else {
            return Ok(Outcome::done([]));
        };
        if parts.is_late(&cx) {
            return Ok(Outcome::done([]));
        }
        if work.iterations >= MOST_ITERATIONS {
            return Ok(done::<S>([WorkUpdate::too_long()]));
        }
        cx.emit(custom("planning", json!({ "asked": asking })));
        let model = parts.model.as_deref().filter(|_| work.failure.is_none());
        let Some(model) = model else {
            return Ok(self.ruled(&cx, asking, None));
        };
        let read = |response: &ChatResponse| self.read(&cx, asking, &response.message.content);
        let ask = Ask::reading(super::DECIDE, read).rejections(parts.rejections);
        let request = ask.request(parts.request(state, asking));
        let answer = ask_unseen(&cx, model, request).await;
        Ok(match settle_part(&cx, &ask, &answer) {
            Settlement::Decided(updates) => {
                let told = planned(asking, &updates);
                done::<S>(updates).note(told)
            }
            Settlement::Again(outcome) => outcome,
            Settlement::Failed(why) => match why.unanswered.as_ref().map(|error| error.kind) {
                Some(kind) if kind != ModelErrorKind::TimedOut && parts.rules.is_some() => {
                    let failure = ModelFailure::of_no_answer(model.name(), &why);
                    self.ruled(&cx, asking, Some(failure))
                }
                kind => {
                    let timed_out = kind == Some(ModelErrorKind::TimedOut);
                    failed(&cx, why.to_string(), timed_out)
                }
            },
        })
    }
}

impl<S: Embeds<PlanProgress>> Decide<S> {
    /// Reads a decision of a model or of a rule into updates, or rejects it.
    fn read(
        &self,
        cx: &Context<S>,
        asking: PlannerQuestion,
        answer: &str,
    ) -> Result<Vec<WorkUpdate>, RejectedAnswer> {
        let (parts, state) = (&self.0, cx.state());
        let access = |tool: &str| parts.toolbox.access(tool, state);
        let reading = AnswerContext {
            asking,
            work: state.part(),
            now: cx.now(),
            access: &access,
        };
        parts.mode.take(answer, &reading)
    }

    /// Lets a rule decide, in the same form as a model's answer.
    fn ruled(
        &self,
        cx: &Context<S>,
        asking: PlannerQuestion,
        failure: Option<ModelFailure>,
    ) -> Outcome<S::Update> {
        let (rules, said) = (self.0.rules.as_ref(), &cx.state().part().execution.goal);
        let why = failure.as_ref().map_or_else(
            || say!("there is no model", "没有模型"),
            |failure| failure.sentence(said),
        );
        let decision = rules.and_then(|rules| rules.decide(cx.state(), asking));
        let Some(decision) = decision else {
            let why = say!(
                "{why}, and no rule knows what is to be done",
                "{why}，也没有规则知道该做什么"
            );
            return failed(cx, why, false);
        };
        match self.read(cx, asking, &decision.to_string()) {
            Ok(updates) => {
                if let Some(failure) = &failure {
                    failure.announce(cx, said);
                }
                let told = planned(asking, &updates);
                let noted = failure.map(|failure| WorkUpdate::Ruled { failure });
                done::<S>(noted.into_iter().chain(updates)).note(told)
            }
            Err(rejected) => {
                let why = say!(
                    "{why}, and a rule decided: {rejected}",
                    "{why}，而规则的决定是：{rejected}"
                );
                failed(cx, why, false)
            }
        }
    }
}

fn planned(asking: PlannerQuestion, changes: &[WorkUpdate]) -> EventKind {
    let name = if asking == PlannerQuestion::Plan {
        "plan"
    } else {
        "replan"
    };
    custom(name, json!({ "asked": asking, "changes": changes }))
}

fn failed<S: Embeds<PlanProgress>>(
    cx: &Context<S>,
    why: String,
    timed_out: bool,
) -> Outcome<S::Update> {
    tracing::warn!(task = cx.task(), why, "planning failed");
    let told = custom("planner_failed", json!({ "why": why }));
    done::<S>([WorkUpdate::PlannerFailed { why, timed_out }]).note(told)
}

fn done<S: Embeds<PlanProgress>>(
    updates: impl IntoIterator<Item = WorkUpdate>,
) -> Outcome<S::Update> {
    Outcome::done(updates.into_iter().map(S::embed))
}

impl<S: Embeds<PlanProgress>> Parts<S> {
    fn request(&self, state: &S, asking: PlannerQuestion) -> ChatRequest {
        let work = state.part();
        let catalogue = self.toolbox.catalogue(state, CatalogueDetail::Full);
        let outline = self.mode.outline(asking);
        let task = match asking {
            PlannerQuestion::Plan => say!(
                "Plan the work: at most {MOST_STEPS} steps, the last one asks the person or answers.",
                "规划这项工作：最多 {MOST_STEPS} 步，最后一步询问用户或回答用户。"
            ),
            PlannerQuestion::Replan => say!(
                "Say whether the plan still holds, after what was observed.",
                "根据观察到的结果，说明计划是否仍然成立。"
            ),
            PlannerQuestion::Batch => say!(
                "Say what comes next: one step, or several tools that only read and do not wait for each other.",
                "说明接下来做什么：一步，或几个只读取、互不等待的工具。"
            ),
        };
        let system = say!(
            "{task}\nAnswer with one JSON object and nothing else. Its keys:\n{outline}\n# Tools\n{catalogue}",
            "{task}\n只用一个 JSON 对象回答，不要写别的。它的键：\n{outline}\n# 工具\n{catalogue}"
        );
        let told = [
            Message::system(system),
            Message::user(self.situation(state)),
        ];
        let messages = told.into_iter().chain(work.corrected.iter().cloned());
        let profile = if asking == PlannerQuestion::Plan {
            &self.planning
        } else {
            &self.replanning
        };
        profile.apply(ChatRequest::new(messages))
    }

    /// Returns the whole situation as text, most trusted parts first.
    pub(super) fn situation(&self, state: &S) -> String {
        let work = state.part();
        let mut text = format!("# {}\n{}", say!("Goal", "目标"), work.execution.goal);
        let mut section = |title: String, lines: Vec<String>| {
            if !lines.is_empty() {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n\n# {title}\n{}", lines.join("\n"));
            }
        };
        let line = |step: &super::WorkStep| json!(step).to_string();
        section(
            say!("Steps so far", "已有的步骤"),
            work.steps.iter().map(line).collect(),
        );
        section(say!("Earlier", "此前"), work.execution.notes.clone());
        let observed = work.execution.observed.iter();
        let seen = observed.map(|one| format!("[{} {}] {}", one.step, one.kind, one.summary));
        section(say!("Observed", "观察到的"), seen.collect());
        let around = (self.context)(state);
        section(
            say!("Context", "背景"),
            (!around.is_empty()).then_some(around).into_iter().collect(),
        );
        text
    }
}
