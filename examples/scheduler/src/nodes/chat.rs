use async_trait::async_trait;
use fugato::{
    agent::{NoDecision, Settled},
    graph::{BoxError, Context, Node, Outcome},
    llm::{ModelError, visible_text},
};

use super::{announce, found, hear, request_text, said};
use crate::{
    agent::{Agent, Phase, Routed, Update},
    contract::{self, Intent, IntentKind},
    deps::Deps,
    mind::{OnFailure, Spoken, ask, decision_tag, request, show, status},
    prompts, rules,
};

/// Understands a request, and answers it if it is only talk.
#[derive(Debug)]
pub struct Chat(pub Deps);

#[async_trait]
impl Node<Agent> for Chat {
    async fn run(&self, cx: Context<Agent>) -> Result<Outcome<Update>, BoxError> {
        let mut updates = announce(&cx);
        found(&cx);
        status(
            &cx,
            "accepted",
            cx.state().lang.pick("reading the request", "正在理解请求"),
        );
        if cx.state().run.by_hand {
            updates.push(Update::Routed(Routed::straight()));
            return Ok(Outcome::done(updates));
        }
        let text = request_text(cx.state());
        let (intent, spoken) = match self.classify(&cx).await {
            None => (rules::intent(&text, cx.state()), Spoken::default()),
            Some(answer) => {
                let read = |spoken| hear(spoken, &contract::intent());
                match self.0.corrections.settle(&cx, answer, read) {
                    Settled::Decided(heard) => heard,
                    Settled::Again(outcome) => return Ok(outcome),
                    Settled::Undecided(why) => unclear(&cx, why)?,
                }
            }
        };
        let routed = rules::route(cx.state(), &intent, &text);
        let reply = visible_text([spoken.after.as_str(), &intent.reply, &spoken.before]);
        if routed.phase == Phase::Chatting {
            if spoken.after.is_empty() {
                show(&cx, reply);
            }
            updates.push(said(reply));
        }
        updates.push(Update::Judged(crate::agent::Judged::Continue));
        updates.push(Update::Routed(routed));
        Ok(Outcome::done(updates))
    }
}

/// A request that nobody could classify is taken for something to do, whatever the policy is:
/// planning asks the model again, and the person before anything happens.
fn unclear(cx: &Context<Agent>, why: NoDecision) -> Result<(Intent, Spoken), BoxError> {
    OnFailure::Rules.fall_back(cx, why)?;
    let intent = Intent {
        intent: IntentKind::Task,
        reply: String::new(),
    };
    Ok((intent, Spoken::default()))
}

impl Chat {
    async fn classify(&self, cx: &Context<Agent>) -> Option<Result<Spoken, ModelError>> {
        let model = self.0.mind.model.as_ref()?;
        let tag = decision_tag(cx);
        let messages = prompts::chat(cx.state(), &tag);
        let request =
            request(cx.state(), &self.0.mind.stages.chat, messages).metadata("stage", "chat");
        Some(ask(cx, &**model, request, tag).await)
    }
}
