use async_trait::async_trait;
use fugato::{
    agent::Settled,
    graph::{BoxError, Context, Node, Outcome},
    llm::{ChatModel, ModelError, Rejected, visible_text},
};

use super::{announce, check_words, found, hear, request_text, said};
use crate::{
    agent::{Agent, Phase, Routed, Update},
    contract::{self, Intent, IntentKind},
    deps::Deps,
    failure::Instead,
    mind::{
        OnFailure, Spoken, ask, decision_tag, marked, request, route_tag, show, stand_in, status,
        tell,
    },
    prompts,
    route::{Route, RouteTo, Routes},
    rules,
};

/// The node that classifies a request, and answers it if it is only talk.
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
        let understood = match self.0.mind.model.as_deref() {
            None => Understood::of(&rules::intent(&text, cx.state()), Spoken::default()),
            Some(model) if self.0.mind.routes == Routes::Five => self.chosen(&cx, model).await?,
            Some(model) => {
                let answer = self.classify(&cx, model).await;
                match self
                    .0
                    .corrections
                    .settle(&cx, answer, |spoken| read(&cx, spoken))
                {
                    Settled::Decided((intent, spoken)) => Understood::of(&intent, spoken),
                    Settled::Again(outcome) => return Ok(outcome),
                    Settled::Undecided(why) => self.unread(&cx, why)?,
                }
            }
        };
        let Understood {
            route,
            reply,
            spoken,
            told,
        } = understood;
        updates.extend(told);
        updates.extend(stand_in(&cx, &spoken.attempts));
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

/// The classification of a request.
struct Understood {
    /// The route.
    route: Route,
    /// The reply, if it is only talk.
    reply: String,
    /// The answer of the model.
    spoken: Spoken,
    /// The records of the messages shown meanwhile.
    told: Vec<Update>,
}

impl Understood {
    fn of(intent: &Intent, spoken: Spoken) -> Self {
        Self {
            reply: intent.reply.clone(),
            ..Self::to(Route::from(intent), spoken)
        }
    }

    fn to(route: Route, spoken: Spoken) -> Self {
        let (reply, told) = (String::new(), vec![]);
        Self {
            route,
            reply,
            spoken,
            told,
        }
    }
}

/// Reads a classification. Talk needs a text that the person may see.
fn read(cx: &Context<Agent>, spoken: Spoken) -> Result<(Intent, Spoken), Rejected> {
    let (intent, spoken) = hear(spoken, &contract::intent())?;
    check_words(cx.state(), &spoken, &[("/reply", &intent.reply)])?;
    let is_silent = [&spoken.after, &intent.reply, &spoken.before]
        .iter()
        .all(|words| words.trim().is_empty());
    if intent.intent == IntentKind::Chat && is_silent {
        let why = "talk needs the answer that the person reads";
        return Err(Rejected::sense(&spoken.decision, "/reply", why));
    }
    Ok((intent, spoken))
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
        ask(cx, model, request, tag, &|decision| {
            contract::intent().read(decision).is_ok()
        })
        .await
    }

    /// Classifies by rules a request that the model did not read. Rules match only the words that
    /// they know, whatever the policy is.
    fn unread(
        &self,
        cx: &Context<Agent>,
        why: impl Into<BoxError>,
    ) -> Result<Understood, BoxError> {
        let mind = &self.0.mind;
        let told = mind.fall_back(cx, OnFailure::Rules, why, Instead::Rules)?;
        let mut intent = rules::intent(&request_text(cx.state()), cx.state());
        if intent.intent == IntentKind::Chat {
            intent.reply = rules::unread(cx.state(), &intent.reply);
        }
        Ok(Understood {
            told,
            ..Understood::of(&intent, Spoken::default())
        })
    }

    /// Returns one of five routes; without a known tag, a plan.
    async fn chosen(
        &self,
        cx: &Context<Agent>,
        model: &dyn ChatModel,
    ) -> Result<Understood, BoxError> {
        let (agent, stages) = (cx.state(), &self.0.mind.stages);
        let tag = route_tag(cx);
        let messages = prompts::route(agent, &tag);
        let wish = request(agent, &stages.chat, messages).metadata("stage", "chat");
        let spoken = match ask(cx, model, wish, tag, &|_| true).await {
            Ok(spoken) => spoken,
            Err(error) => return self.unread(cx, error),
        };
        let Some(route) = spoken.tag.as_ref().map(Route::from) else {
            return Ok(Understood::to(Route::default(), Spoken::default()));
        };
        if route.to == RouteTo::DirectReply
            && let Err(why) = check_words(agent, &spoken, &[])
        {
            return self.unread(cx, why);
        }
        if route.to != RouteTo::DeepAnswer {
            return Ok(Understood::to(route, spoken));
        }
        let wish = request(agent, &stages.deep_answer, prompts::deep_answer(agent));
        let answer = tell(cx, model, wish.metadata("stage", "deep_answer")).await;
        let response = match answer {
            Ok(response) => response,
            Err(error) => return self.unread(cx, error),
        };
        let spoken = Spoken {
            after: marked(&response, agent),
            attempts: response.attempts,
            ..Spoken::default()
        };
        if let Err(why) = check_words(agent, &spoken, &[("", &spoken.after)]) {
            return self.unread(cx, why);
        }
        show(cx, &spoken.after);
        Ok(Understood::to(route, spoken))
    }
}
