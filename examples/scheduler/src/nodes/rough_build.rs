use async_trait::async_trait;
use fugato::graph::{BoxError, Context, Node, Outcome};

use super::{announce, keep::preview, said};
use crate::{
    agent::{AgentState, TerminalOutcome, Update},
    deps::Deps,
    llm_config::{show, status, status_note},
    reason,
    schedule::rough_build::{RoughBuildError, rough_build},
    understand::{Facts, ahead_only},
};

/// The node that places everything pending of the wanted classes by rule. No model is asked.
#[derive(Debug)]
pub struct RoughBuild(pub Deps);

#[async_trait]
impl Node<AgentState> for RoughBuild {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let lang = agent.lang;
        let mut updates = announce(&cx);
        status(
            &cx,
            "rough_building",
            lang.pick("placing everything pending", "正在粗排"),
        );
        let Some(provider) = &self.0.provider else {
            return Err("a rough build needs a schedule, and no provider was injected".into());
        };
        // The agent's own schedule has the placements confirmed since; a first build loads one.
        let schedule = if let Some(schedule) = &agent.schedule {
            schedule.clone()
        } else {
            let loaded = std::sync::Arc::new(provider.load(cx.thread()).await?);
            updates.push(Update::Loaded(loaded.clone()));
            loaded
        };
        let refine = agent.run.needs_refine || agent.has_step();
        // Nothing is placed where it would have begun already.
        let open = ahead_only(&Facts::of(agent, &schedule, &self.0));
        let came = match rough_build(&open, &agent.task_class_ids) {
            Ok(built) => {
                let placed = built.placements.len();
                let mut after = (*schedule).clone();
                for change in &built.changes {
                    after.apply(change);
                }
                preview(&cx, &schedule, &after);
                updates.push(Update::Scheduled(built.changes));
                updates.push(Update::RoughBuilt { refine });
                for issue in &built.issues {
                    let issue = reason::mismatch(issue, lang);
                    let text = lang.pick(format!("Note: {issue}"), format!("提示：{issue}"));
                    show(&cx, &text);
                    updates.push(said(text));
                }
                let code = if refine {
                    "rough_build_done"
                } else {
                    "rough_build_done_no_refine"
                };
                let text = lang.pick(
                    format!("{placed} items placed"),
                    format!("已安排 {placed} 项"),
                );
                status_note(code, text)
            }
            Err(error) => {
                updates.push(Update::Ended(failure(&error, lang)));
                status_note("rough_build_failed", reason::unplaced(&error, lang))
            }
        };
        Ok(Outcome::done(updates).note(came))
    }
}

fn failure(error: &RoughBuildError, lang: crate::calendar::Lang) -> TerminalOutcome {
    let code = match error {
        RoughBuildError::WindowMissing => "rough_build_window_missing",
        _ => "rough_build_pending_remaining",
    };
    let why = reason::unplaced(error, lang);
    let told = lang.pick(
        format!("It cannot be placed: {why}."),
        format!("无法排下：{why}。"),
    );
    TerminalOutcome::aborted("rough_build", code, &told, &error.to_string())
}
