use async_trait::async_trait;
use fugato::{
    BoxError, Context, EventKind, Node, Outcome,
    agent::compact::{Compact, CompactionStatistics},
    prompt::{EstimatedTokens, TokenCount as _},
    state::Message,
};
use serde_json::json;

use crate::{
    agent::{Agent, Update},
    deps::Deps,
};

/// How much a line matters at least that is kept without a model.
const LEAST: f32 = 0.3;

/// Sums up what was said long ago: by the model, or else by the lines that matter.
#[derive(Debug)]
pub struct Compacting(pub Deps);

#[async_trait]
impl Node<Agent> for Compacting {
    async fn run(&self, cx: Context<Agent>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let policy = agent.policy.compaction();
        let part = agent.compacting(&policy);
        let (mut update, mut notes) = (None, vec![]);
        if let Some(model) = &self.0.model
            && let Some(compacted) = Compact::new(model.clone()).part(&cx, part).await
        {
            update = compacted.update;
            notes.push(compacted.statistics.to_event());
        }
        if update.is_none() {
            let tokens = |message: &Message| EstimatedTokens.message(message);
            let Some(due) = policy.due(part.history, part.done, tokens) else {
                return Ok(Outcome::done([]));
            };
            let mut summary = due.extract(LEAST);
            if summary.is_empty() {
                let nothing = agent
                    .lang
                    .pick("Nothing of importance was said.", "没有重要的内容。");
                nothing.clone_into(&mut summary);
            }
            let before: u64 = due.messages.iter().map(tokens).sum();
            let after = EstimatedTokens.text(&summary);
            update = due.check(&summary, cx.now()).ok();
            let data = json!({
                "part": part.part, "from": due.from, "upto": due.upto, "by": "rule",
                "tokens_before": before, "tokens_after": after,
            });
            let name = CompactionStatistics::NAME.to_owned();
            notes.push(EventKind::Custom { name, data });
        }
        let done = Outcome::done(update.map(Agent::compacted));
        Ok(notes.into_iter().fold(done, Outcome::note))
    }
}
