use async_trait::async_trait;
use fugato::{
    agent::{decision::settle, reply::marked},
    graph::{BoxError, Context, Node, Outcome},
    llm::{
        Ask, ChatModel, ModelError, RejectedAnswer, Settlement, Tag, TaggedAnswer, visible_text,
    },
};

use super::{
    announce, check_words, found,
    fresh::fresh,
    request_text, said,
    understood::{RuleReading, by_rules},
};
use crate::{
    agent::{AgentState, Phase, RouteDecision, Update},
    contract::{self, Intent, IntentKind},
    deps::Deps,
    failure::Replacement,
    llm_config::{ModelStage, OnFailure, ask, ask_unseen, show, stand_in, status, thought},
    prompts,
    route::{RequestRoute, RouteSet, RouteTo},
    rules,
    understand::is_for_code,
};

/// The node that classifies a request, and answers it if it is only talk.
#[derive(Debug)]
pub struct Chat(pub Deps);

#[async_trait]
impl Node<AgentState> for Chat {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let mut updates = announce(&cx);
        found(&cx);
        status(
            &cx,
            "accepted",
            cx.state().lang.pick("reading the request", "正在理解请求"),
        );
        // Once, also if the request is read again.
        let run = &cx.state().run;
        if !run.remarks.is_empty() && !run.reread && run.corrections == 0 {
            let told = run.remarks.join("\n");
            show(&cx, &told);
            updates.push(said(told));
        }
        if let Some(reread) = fresh(&self.0, &cx).await? {
            updates.extend(reread);
            return Ok(Outcome::done(updates));
        }
        if cx.state().run.by_hand {
            updates.push(Update::Routed(RouteDecision::straight()));
            return Ok(Outcome::done(updates));
        }
        let text = request_text(cx.state());
        let mut reading = RuleReading::begin(&self.0, &cx).await?;
        // Repairs and the way back are made by code, whoever reads the rest.
        let model = self.0.mind.model.as_deref();
        let understood = match model.filter(|_| !is_for_code(&text)) {
            None => {
                by_rules(&self.0, &cx, &mut reading, &text).await?;
                updates.extend(reading.updates);
                return Ok(Outcome::done(updates));
            }
            Some(model) if self.0.mind.routes == RouteSet::Five => self.chosen(&cx, model).await?,
            Some(model) => {
                let answer = self.classify(&cx, model).await;
                let ask = Ask::reading("chat", |spoken| read(&cx, spoken));
                match settle(&cx, &ask.rejections(self.0.rejections), &answer) {
                    Settlement::Decided(intent) => {
                        Ok(ClassifiedRequest::of(&intent, answer.unwrap_or_default()))
                    }
                    Settlement::Again(outcome) => return Ok(outcome),
                    Settlement::Failed(why) => Err(why.into()),
                }
            }
        };
        let understood = match understood {
            Ok(understood) => understood,
            Err(why) => {
                // Rules read what the model did not, whatever the policy is.
                let mind = &self.0.mind;
                updates.extend(mind.fall_back(&cx, OnFailure::Rules, why, Replacement::Rules)?);
                by_rules(&self.0, &cx, &mut reading, &text).await?;
                updates.extend(reading.updates);
                return Ok(Outcome::done(updates));
            }
        };
        let ClassifiedRequest {
            route,
            reply,
            spoken,
        } = understood;
        updates.extend(reading.updates);
        updates.extend(stand_in(&cx, &spoken.attempts));
        let routed = rules::route(cx.state(), route, &text);
        let reply = visible_text([spoken.after.as_str(), &reply, &spoken.before]);
        if routed.phase == Phase::Chatting {
            if spoken.after.is_empty() {
                show(&cx, reply);
            }
            updates.push(said(reply));
        }
        updates.push(Update::Judged(crate::agent::DecisionView::Continue));
        updates.push(Update::Routed(routed));
        let done = Outcome::done(updates);
        Ok(thought(&spoken).into_iter().fold(done, Outcome::note))
    }
}

/// The classification of a request.
struct ClassifiedRequest {
    /// The route.
    route: RequestRoute,
    /// The reply, if it is only talk.
    reply: String,
    /// The answer of the model.
    spoken: TaggedAnswer,
}

impl ClassifiedRequest {
    fn of(intent: &Intent, spoken: TaggedAnswer) -> Self {
        Self {
            reply: intent.reply.clone(),
            ..Self::to(RequestRoute::from(intent), spoken)
        }
    }

    fn to(route: RequestRoute, spoken: TaggedAnswer) -> Self {
        let reply = String::new();
        Self {
            route,
            reply,
            spoken,
        }
    }
}

/// Reads a classification. Talk needs a text that the person may see.
fn read(cx: &Context<AgentState>, spoken: &TaggedAnswer) -> Result<Intent, RejectedAnswer> {
    let intent = contract::intent().read(&spoken.decision)?;
    check_words(cx.state(), spoken, &[("/reply", &intent.reply)])?;
    let is_silent = [&spoken.after, &intent.reply, &spoken.before]
        .iter()
        .all(|words| words.trim().is_empty());
    if intent.intent == IntentKind::Chat && is_silent {
        let why = "talk needs the answer that the person reads";
        return Err(RejectedAnswer::sense(&spoken.decision, "/reply", why));
    }
    Ok(intent)
}

impl Chat {
    async fn classify(
        &self,
        cx: &Context<AgentState>,
        model: &dyn ChatModel,
    ) -> Result<TaggedAnswer, ModelError> {
        let tag = Tag::fresh("decision");
        let messages = prompts::chat(cx.state(), &tag);
        let request = self.0.mind.request(cx.state(), ModelStage::Chat, messages);
        ask(cx, model, request, tag, &|decision| {
            contract::intent().read(decision).is_ok()
        })
        .await
    }

    /// Returns one of five routes; without a known tag, a plan. The inner error is the reason why
    /// there is none.
    async fn chosen(
        &self,
        cx: &Context<AgentState>,
        model: &dyn ChatModel,
    ) -> Result<Result<ClassifiedRequest, BoxError>, BoxError> {
        let (agent, mind) = (cx.state(), &self.0.mind);
        let tag = Tag::fresh("route").bodiless();
        let messages = prompts::route(agent, &tag);
        let wish = mind.request(agent, ModelStage::Chat, messages);
        let spoken = match ask(cx, model, wish, tag, &|_| true).await {
            Ok(spoken) => spoken,
            Err(error) => return Ok(Err(error.into())),
        };
        let Some(route) = spoken.tag.as_ref().map(RequestRoute::from) else {
            let found = ClassifiedRequest::to(RequestRoute::default(), TaggedAnswer::default());
            return Ok(Ok(found));
        };
        if route.to == RouteTo::DirectReply
            && let Err(why) = check_words(agent, &spoken, &[])
        {
            return Ok(Err(why.into()));
        }
        if route.to != RouteTo::DeepAnswer {
            return Ok(Ok(ClassifiedRequest::to(route, spoken)));
        }
        let wish = mind.request(agent, ModelStage::DeepAnswer, prompts::deep_answer(agent));
        let answer = ask_unseen(cx, model, wish).await;
        let response = match answer {
            Ok(response) => response,
            Err(error) => return Ok(Err(error.into())),
        };
        let spoken = TaggedAnswer {
            after: marked(&response).trim().to_owned(),
            attempts: response.attempts,
            ..TaggedAnswer::default()
        };
        if let Err(why) = check_words(agent, &spoken, &[("", &spoken.after)]) {
            return Ok(Err(why.into()));
        }
        show(cx, &spoken.after);
        Ok(Ok(ClassifiedRequest::to(route, spoken)))
    }
}
