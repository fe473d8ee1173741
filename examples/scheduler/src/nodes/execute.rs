use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    graph::{BoxError, Context, Node, Outcome},
    state::{ConversationUpdate, PinnedBlock, say},
    tool::CatalogueDetail,
};

use super::announce;
use crate::{
    agent::{AgentState, HandCall, Update},
    compact::compact,
    deps::Deps,
    llm_config::status,
    schedule::{Change, PlacementStatus, ScheduleState},
    tools::{ToolView, by_hand},
    understand::Words,
    wish::in_words,
};

/// The node that begins a round of execution: it checks the preconditions before any decision.
#[derive(Debug)]
pub struct Execute(pub Deps);

#[async_trait]
impl Node<AgentState> for Execute {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let mut updates = announce(&cx);
        if agent.run.closing {
            return Ok(Outcome::done(updates));
        }
        let accepted = agent.wanted.as_ref().is_some_and(|wanted| wanted.accepted);
        if !agent.run.react && !agent.run.optimize_only && !agent.has_step() && !accepted {
            return Err("there is nothing to execute: the plan has no step left".into());
        }
        if agent.hook.is_some() {
            updates.push(Update::HookUsed);
        }
        let mut schedule = agent.schedule.clone();
        if schedule.is_none()
            && let Some(provider) = &self.0.provider
        {
            let loaded = Arc::new(provider.load(cx.thread()).await?);
            schedule = Some(loaded.clone());
            updates.push(Update::Loaded(loaded));
        }
        if let Some(summary) = schedule.and_then(|schedule| self.asks_about_hand(agent, schedule)) {
            updates.push(Update::HandAsked(summary));
            return Ok(Outcome::done(updates));
        }
        // An agreed write is made at once: no model is asked, no round is used.
        if accepted {
            return Ok(Outcome::done(updates));
        }
        updates.push(Update::RoundBegan);
        updates.extend(self.pins(agent));
        let (n, of) = (agent.plan.current + 1, agent.plan.steps.len());
        let text = if of > 0 {
            say!("executing step {n} of {of}", "正在执行第 {n}/{of} 步")
        } else {
            say!("working", "正在处理")
        };
        status(&cx, "executing", text);
        if agent.run.rounds.left() == 0 {
            return Ok(Outcome::done(updates));
        }
        let compacted = compact(&cx, &self.0.mind).await;
        updates.extend(compacted.updates);
        let done = Outcome::done(updates);
        Ok(compacted.notes.into_iter().fold(done, Outcome::note))
    }
}

impl Execute {
    /// Returns the words of the question about a call by hand that changes what was agreed to; none
    /// if it changes nothing of that, or is not possible and will be refused with the reason.
    fn asks_about_hand(&self, agent: &AgentState, schedule: Arc<ScheduleState>) -> Option<String> {
        let wanted = agent.wanted.as_ref()?;
        if agent.run.hand != Some(HandCall::Made) || agent.run.always_execute {
            return None;
        }
        let known = AgentState {
            schedule: Some(schedule),
            ..agent.clone()
        };
        let view = ToolView::of(&known, self.0.existing_may_move, &self.0.sections)?;
        let changes = by_hand(&wanted.call, &view)?;
        let kept = |change: &Change| {
            let task = view.schedule.task(change.task());
            task.is_some_and(|task| task.status == PlacementStatus::Existing)
        };
        if !changes.iter().any(kept) {
            return None;
        }
        let words = Words {
            schedule: &view.schedule,
            sections: Some(&self.0.sections),
            lang: agent.lang,
        };
        Some(in_words(&wanted.call, &words).unwrap_or_else(|| wanted.summary.clone()))
    }

    fn pins(&self, agent: &AgentState) -> Vec<Update> {
        let pin = |key: &str, text: String| {
            Update::Talked(ConversationUpdate::Pinned(PinnedBlock {
                key: key.into(),
                text,
            }))
        };
        let mut pins = vec![];
        if let Some(step) = agent.plan.current_step() {
            let text = say!(
                "{} (done when: {})",
                "{}（完成条件：{}）",
                step.content,
                step.done_when
            );
            pins.push(pin("execution_context", text));
        }
        let tools = self.0.toolbox.catalogue(agent, CatalogueDetail::LITE);
        pins.push(pin(
            "tool_summary",
            say!(
                "{} tools are active",
                "已启用 {} 个工具",
                tools.lines().count()
            ),
        ));
        pins
    }
}
