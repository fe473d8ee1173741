//! An answer at once, before anything is planned.
use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{ChatModel, ChatRequest, Contract, DecideOptions, Profile, decide};
use fugato_state::{Message, State};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{claims_action, show};

/// A node before planning that answers small talk at once. The model is shown the message and what
/// it is told of the person, and nothing else, so it knows no fact that could be old; on any doubt,
/// error or delay nothing is answered, and whoever comes next has the word. So it is where an answer
/// claims that something was done: nothing was.
pub struct DirectReply<S: State> {
    model: Arc<dyn ChatModel>,
    who: String,
    parts: Parts<S>,
    profile: Profile,
}

/// What the node reads of a state, and what it makes of an answer.
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
    /// Asks this model, within eight seconds, about this message, and makes a change of its answer.
    /// `who` says to whom the model belongs.
    pub fn new(
        model: Arc<dyn ChatModel>,
        who: impl Into<String>,
        message: impl Fn(&S) -> String + Send + Sync + 'static,
        replied: impl Fn(String) -> S::Update + Send + Sync + 'static,
    ) -> Self {
        Self {
            model,
            who: who.into(),
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

    /// Asks only where this is so: where code sees nothing that would have to be looked up or done.
    #[must_use]
    pub fn only_if(mut self, may: impl Fn(&S) -> bool + Send + Sync + 'static) -> Self {
        self.parts.may = Box::new(may);
        self
    }

    /// What the model is told beside the message, such as what the person prefers.
    #[must_use]
    pub fn told(mut self, told: impl Fn(&S) -> String + Send + Sync + 'static) -> Self {
        self.parts.told = Box::new(told);
        self
    }

    /// How the model is asked.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    fn request(&self, state: &S, contract: &Contract<Verdict>) -> ChatRequest {
        let told = format!(
            "{} Say whether the message is small talk or a general question that can be answered \
             without looking anything up; if you are in doubt, it is not. Answer with one JSON \
             object and nothing else:\n{}\n{}",
            self.who,
            contract.outline(),
            (self.parts.told)(state),
        );
        let said = Message::user((self.parts.message)(state));
        let request = ChatRequest::new([Message::system(told.trim_end()), said]);
        self.profile
            .apply(request.metadata("stage", "direct_reply"))
    }
}

#[async_trait]
impl<S: State> Node<S> for DirectReply<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        if !(self.parts.may)(cx.state()) {
            return Ok(Outcome::done([]));
        }
        let contract = Contract::<Verdict>::new("direct_reply");
        let options = DecideOptions::default().failures(1);
        let request = self.request(cx.state(), &contract);
        let decided = decide(&*self.model, request, &contract, options).await;
        Ok(match decided.map(|decided| decided.value) {
            Ok(Verdict {
                action: Action::DirectAnswer,
                answer,
            }) if !answer.trim().is_empty() && !claims_action(&answer) => {
                show(&cx, &answer);
                Outcome::done([(self.parts.replied)(answer)])
            }
            // What the model was asked, and why it did not answer, is for who records it.
            _ => Outcome::done([]),
        })
    }
}

impl<S: State> fmt::Debug for DirectReply<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectReply")
            .field("model", &self.model.name())
            .finish_non_exhaustive()
    }
}
