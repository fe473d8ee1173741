use async_trait::async_trait;
use fugato::graph::{BoxError, Context, Node, Outcome};

use super::{Heard, announce, correct, fall_back, hear, said};
use crate::{
    agent::{Agent, Phase, Update},
    contract::{self, Intent, IntentKind},
    deps::Deps,
    mind::{ask, decision_tag, request, show, status},
    prompts, rules,
};

/// Understands a request, and answers it if it is only talk.
#[derive(Debug)]
pub struct Chat(pub Deps);

#[async_trait]
impl Node<Agent> for Chat {
    async fn run(&self, cx: Context<Agent>) -> Result<Outcome<Update>, BoxError> {
        status(
            &cx,
            "accepted",
            cx.state().lang.pick("reading the request", "正在理解请求"),
        );
        let mut updates = announce(&cx);
        let history = &cx.state().conversation.history;
        let text = history
            .iter()
            .rev()
            .find(|m| m.role == fugato::state::Role::User && !fugato::prompt::is_correction(m))
            .map_or(String::new(), |message| message.content.clone());
        let intent = match self.classify(&cx).await? {
            Some(Heard::Decided(intent, _)) => intent,
            Some(Heard::Rejected(rejected)) => {
                match correct(&cx, &rejected, self.0.max_corrections) {
                    Ok(outcome) => return Ok(outcome),
                    Err(why) => {
                        fall_back(&cx, self.0.mind.on_failure, why)?;
                        Intent {
                            intent: IntentKind::Task,
                            reply: String::new(),
                        }
                    }
                }
            }
            Some(Heard::Failed(error)) => {
                fall_back(&cx, self.0.mind.on_failure, error.into())?;
                Intent {
                    intent: IntentKind::Task,
                    reply: String::new(),
                }
            }
            None => rules::intent(&text, cx.state()),
        };
        let routed = rules::route(cx.state(), &intent, &text);
        if routed.phase == Phase::Chatting {
            show(&cx, &intent.reply);
            updates.push(said(intent.reply));
        }
        updates.push(Update::Judged(crate::agent::Judged::Continue));
        updates.push(Update::Routed(routed));
        Ok(Outcome::done(updates))
    }
}

impl Chat {
    async fn classify(&self, cx: &Context<Agent>) -> Result<Option<Heard<Intent>>, BoxError> {
        let Some(model) = &self.0.mind.model else {
            return Ok(None);
        };
        let tag = decision_tag(cx);
        let messages = prompts::chat(cx.state(), &tag);
        let request = request(cx.state(), &self.0.mind.stages.chat, messages);
        Ok(Some(hear(
            ask(cx, &**model, request, tag).await,
            &contract::intent(),
        )))
    }
}
