use std::{fmt::Write as _, sync::Arc};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{ChatRequest, ChatResponse};
use fugato_state::Message;
use fugato_tool::Detail;
use serde_json::json;

use super::{
    Asking, MOST_ITERATIONS, Parts, Reading, Work, WorkUpdate, custom, executor::MOST_STEPS,
};
use crate::{Embeds, Shown, ask, correction::Taken};

/// Asks the planner what comes next: exactly once.
pub(super) struct Decide<S: Embeds<Work>>(pub(super) Arc<Parts<S>>);

#[async_trait]
impl<S: Embeds<Work>> Node<S> for Decide<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let (parts, state) = (&self.0, cx.state());
        let work = state.part();
        let Some(asking) = parts.executor.asks(work) else {
            return Ok(Outcome::done([]));
        };
        if work.iterations >= MOST_ITERATIONS {
            let error = format!("the work took more than {MOST_ITERATIONS} steps");
            return Ok(done::<S>([WorkUpdate::Failed { error }]));
        }
        let request = parts.request(state, asking);
        let answer = ask(&cx, &*parts.model, request, Shown::Reasoning).await;
        let so_far = u32::try_from(work.corrected.len() / 2).unwrap_or(u32::MAX);
        let access = |tool: &str| parts.toolbox.access(tool, state);
        let reading = Reading {
            asking,
            work,
            now: cx.now(),
            access: &access,
        };
        let read =
            |response: ChatResponse| parts.executor.take(&response.message.content, &reading);
        let taken = parts
            .corrections
            .take(&cx, so_far, &work.corrected, answer, read);
        Ok(match taken {
            Taken::Decided(updates) => {
                let name = if asking == Asking::Plan {
                    "plan"
                } else {
                    "replan"
                };
                let told = custom(name, json!({ "asked": asking, "changes": updates }));
                done::<S>(updates).note(told)
            }
            Taken::Again(pair) => done::<S>([WorkUpdate::Corrected(pair)]),
            Taken::Undecided(no_plan) => {
                let why = no_plan.to_string();
                tracing::warn!(
                    task = cx.task(),
                    why,
                    "{}",
                    crate::log_key::THERE_IS_NO_PLAN
                );
                let told = custom("planner_failed", json!({ "why": why }));
                done::<S>([WorkUpdate::PlannerFailed { why }]).note(told)
            }
        })
    }
}

fn done<S: Embeds<Work>>(updates: impl IntoIterator<Item = WorkUpdate>) -> Outcome<S::Update> {
    Outcome::done(updates.into_iter().map(S::embed))
}

impl<S: Embeds<Work>> Parts<S> {
    fn request(&self, state: &S, asking: Asking) -> ChatRequest {
        let work = state.part();
        let catalogue = self.toolbox.catalogue(state, Detail::Full);
        let outline = self.executor.outline(asking);
        let task = match asking {
            Asking::Plan => format!("Plan the work: at most {MOST_STEPS} steps, the last one asks the person or answers."),
            Asking::Replan => "Say whether the plan still holds, after what was observed.".to_owned(),
            Asking::Batch => "Say what comes next: one step, or several tools that only read and do not wait for each other.".to_owned(),
        };
        let system = format!(
            "{task}\nAnswer with one JSON object and nothing else. Its keys:\n{outline}\n# Tools\n{catalogue}"
        );
        let told = [
            Message::system(system),
            Message::user(self.situation(state)),
        ];
        let messages = told.into_iter().chain(work.corrected.iter().cloned());
        let profile = if asking == Asking::Plan {
            &self.planning
        } else {
            &self.replanning
        };
        profile.apply(ChatRequest::new(messages).metadata("stage", super::DECIDE))
    }

    /// Everything that is known, most trusted first.
    pub(super) fn situation(&self, state: &S) -> String {
        let work = state.part();
        let mut text = format!("# Goal\n{}", work.execution.goal);
        let mut section = |title: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n\n# {title}\n{}", lines.join("\n"));
            }
        };
        let line = |step: &super::Step| json!(step).to_string();
        section("Steps so far", work.steps.iter().map(line).collect());
        section("Earlier", work.execution.notes.clone());
        let observed = work.execution.observed.iter();
        let seen = observed.map(|one| format!("[{} {}] {}", one.step, one.kind, one.summary));
        section("Observed", seen.collect());
        let around = (self.context)(state);
        section(
            "Context",
            (!around.is_empty()).then_some(around).into_iter().collect(),
        );
        text
    }
}
