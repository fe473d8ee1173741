use async_trait::async_trait;
use fugato::{
    agent::Settled,
    graph::{BoxError, Context, Node, Outcome},
    llm::{ChatModel, ModelError, visible_text},
};

use super::{announce, found, hear, request_text, said};
use crate::{
    agent::{Agent, Phase, Routed, Update},
    contract::{self, Intent},
    deps::Deps,
    mind::{OnFailure, Spoken, ask, decision_tag, request, route_tag, show, status, tell},
    prompts,
    route::{Route, RouteTo, Routes},
    rules,
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
        let (route, reply, spoken) = match self.0.mind.model.as_deref() {
            None => heard(&rules::intent(&text, cx.state()), Spoken::default()),
            Some(model) if self.0.mind.routes == Routes::Five => self.chosen(&cx, model).await?,
            Some(model) => {
                let answer = self.classify(&cx, model).await;
                let read = |spoken| hear(spoken, &contract::intent());
                match self.0.corrections.settle(&cx, answer, read) {
                    Settled::Decided((intent, spoken)) => heard(&intent, spoken),
                    Settled::Again(outcome) => return Ok(outcome),
                    Settled::Undecided(why) => unclear(&cx, why)?,
                }
            }
        };
        let routed = rules::route(cx.state(), route, &text);
        let reply = visible_text([spoken.after.as_str(), &reply, &spoken.before]);
        if routed.phase == Phase::Chatting {
            if spoken.after.is_empty() {
                show(&cx, reply);
            }
            updates.push(said(reply));
        }
        updates.push(Update::Judged(crate::agent::Judged::Continue));
        updates.push(Update::Routed(routed));
        let done = Outcome::done(updates);
        Ok(spoken.thought().into_iter().fold(done, Outcome::note))
    }
}

/// A request that nobody could classify is taken for something to do, whatever the policy is:
/// planning asks the model again, and the person before anything happens.
fn unclear(cx: &Context<Agent>, why: impl Into<BoxError>) -> Result<Understood, BoxError> {
    OnFailure::Rules.fall_back(cx, why)?;
    Ok((Route::default(), String::new(), Spoken::default()))
}

/// Where a request leads, what it is answered with if it is only talk, and what the model said.
type Understood = (Route, String, Spoken);

fn heard(intent: &Intent, spoken: Spoken) -> Understood {
    (Route::from(intent), intent.reply.clone(), spoken)
}

impl Chat {
    async fn classify(
        &self,
        cx: &Context<Agent>,
        model: &dyn ChatModel,
    ) -> Result<Spoken, ModelError> {
        let tag = decision_tag(cx);
        let messages = prompts::chat(cx.state(), &tag);
        let request =
            request(cx.state(), &self.0.mind.stages.chat, messages).metadata("stage", "chat");
        ask(cx, model, request, tag).await
    }

    /// One of five routes; a plan where no tag says which.
    async fn chosen(
        &self,
        cx: &Context<Agent>,
        model: &dyn ChatModel,
    ) -> Result<Understood, BoxError> {
        let (agent, stages) = (cx.state(), &self.0.mind.stages);
        let tag = route_tag(cx);
        let messages = prompts::route(agent, &tag);
        let wish = request(agent, &stages.chat, messages).metadata("stage", "chat");
        let spoken = match ask(cx, model, wish, tag).await {
            Ok(spoken) => spoken,
            Err(error) => return unclear(cx, error),
        };
        let Some(route) = spoken.tag.as_ref().map(Route::from) else {
            return Ok((Route::default(), String::new(), Spoken::default()));
        };
        if route.to != RouteTo::DeepAnswer {
            return Ok((route, String::new(), spoken));
        }
        let wish = request(agent, &stages.deep_answer, prompts::deep_answer(agent));
        let answer = tell(cx, model, wish.metadata("stage", "deep_answer")).await;
        let answer = match answer {
            Ok(text) => Spoken {
                after: text,
                ..Spoken::default()
            },
            Err(error) => return unclear(cx, error),
        };
        Ok((route, String::new(), answer))
    }
}
