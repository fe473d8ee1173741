use async_trait::async_trait;
use fugato::{
    graph::{BoxError, Context, Node, Outcome},
    stream::EventKind,
};
use serde_json::json;

use super::{announce, said};
use crate::{
    agent::{Agent, Update},
    deps::Deps,
    mind::{OnFailure, came_of_it, request, show, status, tell},
    prompts, report,
};

/// Sums up. Without a model, or when it fails, the facts speak for themselves.
#[derive(Debug)]
pub struct Deliver(pub Deps);

#[async_trait]
impl Node<Agent> for Deliver {
    async fn run(&self, cx: Context<Agent>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let mut updates = announce(&cx);
        status(
            &cx,
            "summarizing",
            agent.lang.pick("summing up", "正在总结"),
        );
        let facts = report::summary(agent);
        let text = if agent.run.by_hand {
            let told = report::by_hand(agent);
            show(&cx, &told);
            told
        } else {
            self.summed_up(&cx, &facts).await?.unwrap_or(facts)
        };
        updates.push(said(text));
        updates.push(Update::Delivered);
        let done = came_of_it("done", agent.lang.pick("done", "完成"));
        let outcome = Outcome::done(updates).note(done);
        let completed = agent.run.outcome.is_none() && agent.run.has_schedule_changes;
        Ok(if completed {
            // What was placed is read when somebody looks: from the state, which is stored by then.
            outcome.note(EventKind::Card {
                card: "schedule_completed".into(),
                data: json!({}),
            })
        } else {
            outcome
        })
    }
}

impl Deliver {
    /// What the model says; none if the facts shall do.
    async fn summed_up(
        &self,
        cx: &Context<Agent>,
        facts: &str,
    ) -> Result<Option<String>, BoxError> {
        if let Some(model) = &self.0.mind.model {
            let messages = prompts::deliver(cx.state(), facts);
            let request = request(cx.state(), &self.0.mind.stages.deliver, messages);
            let request = request.metadata("stage", "deliver");
            match tell(cx, &**model, request).await {
                Ok(text) if !text.trim().is_empty() => return Ok(Some(text.trim().to_owned())),
                Ok(_) => {}
                // A summary is not worth failing for, whatever the policy is.
                Err(error) => OnFailure::Rules.fall_back(cx, error)?,
            }
        }
        show(cx, facts);
        Ok(None)
    }
}
