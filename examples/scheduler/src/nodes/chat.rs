use async_trait::async_trait;
use fugato::{
    graph::{BoxError, Context, Node, Outcome},
    llm::visible_text,
};

use super::{Heard, announce, correct, fall_back, hear, request_text, said};
use crate::{
    agent::{Agent, Phase, Update},
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
        status(
            &cx,
            "accepted",
            cx.state().lang.pick("reading the request", "正在理解请求"),
        );
        let text = request_text(cx.state());
        let (intent, spoken) = match self.classify(&cx).await {
            Some(Heard::Decided(intent, spoken)) => (intent, spoken),
            Some(Heard::Rejected(rejected)) => {
                match correct(&cx, &rejected, self.0.max_corrections) {
                    Ok(outcome) => return Ok(outcome),
                    Err(why) => unclear(&cx, why)?,
                }
            }
            Some(Heard::Failed(error)) => unclear(&cx, error.into())?,
            None => (rules::intent(&text, cx.state()), Spoken::default()),
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
fn unclear(cx: &Context<Agent>, why: BoxError) -> Result<(Intent, Spoken), BoxError> {
    fall_back(cx, OnFailure::Rules, why)?;
    let intent = Intent {
        intent: IntentKind::Task,
        reply: String::new(),
    };
    Ok((intent, Spoken::default()))
}

impl Chat {
    async fn classify(&self, cx: &Context<Agent>) -> Option<Heard<Intent>> {
        let model = self.0.mind.model.as_ref()?;
        let tag = decision_tag(cx);
        let messages = prompts::chat(cx.state(), &tag);
        let request = request(cx.state(), &self.0.mind.stages.chat, messages);
        Some(hear(
            ask(cx, &**model, request, tag).await,
            &contract::intent(),
        ))
    }
}
