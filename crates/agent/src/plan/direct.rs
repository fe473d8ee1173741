//! An immediate answer before planning.
use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{Ask, ChatModel, ChatRequest, Contract, Profile};
use fugato_state::{Message, State, say};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::reply::{claims_action, show};

/// A node before planning that answers small talk immediately. The model gets only the message and
/// the context of [`told`](Self::told), so it has no facts that could be out of date. On any doubt,
/// error or timeout the node returns no updates and the next node goes on. The same holds for an
/// answer that claims an action, as nothing was done.
#[derive(derive_more::Debug)]
#[debug("DirectReply {{ model: {:?}, .. }}", self.model.name())]
pub struct DirectReply<S: State> {
    model: Arc<dyn ChatModel>,
    who: Box<dyn Fn() -> String + Send + Sync>,
    parts: Parts<S>,
    profile: Profile,
}

/// The functions that read the state and make an update of the answer.
struct Parts<S: State> {
    message: Box<dyn Fn(&S) -> String + Send + Sync>,
    replied: Box<dyn Fn(String) -> S::Update + Send + Sync>,
    told: Box<dyn Fn(&S) -> String + Send + Sync>,
    may: Box<dyn Fn(&S) -> bool + Send + Sync>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Verdict {
    /// Whether the message can be answered without looking anything up.
    action: Action,
    /// The answer, if so.
    #[serde(default)]
    answer: String,
}

#[derive(Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    DirectAnswer,
    Other,
}

const LIMIT: Duration = Duration::from_secs(8);

impl<S: State> DirectReply<S> {
    /// Asks this model about this message, with a timeout of eight seconds, and makes an update of
    /// the answer. `who` begins the system prompt and says whose assistant the model is.
    pub fn new(
        model: Arc<dyn ChatModel>,
        who: impl Fn() -> String + Send + Sync + 'static,
        message: impl Fn(&S) -> String + Send + Sync + 'static,
        replied: impl Fn(String) -> S::Update + Send + Sync + 'static,
    ) -> Self {
        Self {
            model,
            who: Box::new(who),
            parts: Parts {
                message: Box::new(message),
                replied: Box::new(replied),
                told: Box::new(|_| String::new()),
                may: Box::new(|_| true),
            },
            profile: Profile {
                timeout: Some(LIMIT),
                ..Profile::default()
            },
        }
    }

    fugato_state::setters! {
        /// Asks only if `may` returns true, that is, if code finds nothing that has to be looked up
        /// or done.
        pub fn only_if(may: impl Fn(&S) -> bool + Send + Sync + 'static) {
            parts.may = Box::new(may)
        }

        /// Sets the context that the model gets with the message, such as the person's preferences.
        pub fn told(told: impl Fn(&S) -> String + Send + Sync + 'static) {
            parts.told = Box::new(told)
        }

        /// Sets the profile of the request.
        pub fn profile(profile: Profile) { profile = profile }
    }

    fn request(&self, state: &S, contract: &Contract<Verdict>) -> ChatRequest {
        let told = say!(
            "{} Say whether the message is small talk or a general question that can be answered \
             without looking anything up; if you are in doubt, it is not. Answer with one JSON \
             object and nothing else:\n{}\n{}",
            "{}判断这条消息是不是闲聊，或不用查任何东西就能回答的一般问题；拿不准就不是。只用一个 JSON \
             对象回答，不要写别的：\n{}\n{}",
            (self.who)(),
            contract.outline(),
            (self.parts.told)(state),
        );
        let said = Message::user((self.parts.message)(state));
        ChatRequest::new([Message::system(told.trim_end()), said])
    }
}

#[async_trait]
impl<S: State> Node<S> for DirectReply<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        if !(self.parts.may)(cx.state()) {
            return Ok(Outcome::done([]));
        }
        let contract = Contract::<Verdict>::new("direct_reply");
        let ask = Ask::json("direct_reply", &contract).profile(self.profile);
        let request = self.request(cx.state(), &contract);
        let answer = ask.rejections(1).run(&*self.model, request).await;
        Ok(match answer.map(|answer| answer.value) {
            Ok(Verdict {
                action: Action::DirectAnswer,
                answer,
            }) if !answer.trim().is_empty() && !claims_action(&answer) => {
                show(&cx, &answer);
                Outcome::done([(self.parts.replied)(answer)])
            }
            // A recording node keeps what the model was asked and how it failed.
            _ => Outcome::done([]),
        })
    }
}
