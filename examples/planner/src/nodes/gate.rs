use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato::{
    BoxError, ChatModel, ChatRequest, Context, Contract, DecideOptions, Message, Node, Outcome,
    agent::show, decide, llm::Profile,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    intent::{self, Wish},
    session::{Course, Session, SessionUpdate},
};

/// Answers small talk at once. It is shown the message and the preferences and nothing else, so it
/// knows no fact that could be old; on any doubt the planner has the word.
pub(crate) struct Gate(pub(crate) Option<Arc<dyn ChatModel>>);

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

#[async_trait]
impl Node<Session> for Gate {
    async fn run(&self, cx: Context<Session>) -> Result<Outcome<SessionUpdate>, BoxError> {
        let Some(model) = self.0.as_ref().filter(|_| may_be_talk(cx.state())) else {
            return Ok(Outcome::done([]));
        };
        let contract = Contract::<Verdict>::new("direct_reply");
        let options = DecideOptions::default().failures(1);
        let decided = decide(&**model, request(cx.state(), &contract), &contract, options).await;
        let verdict = decided.map(|decided| decided.value);
        Ok(match verdict {
            Ok(Verdict {
                action: Action::DirectAnswer,
                answer,
            }) if !answer.trim().is_empty() => {
                show(&cx, &answer);
                Outcome::done([SessionUpdate::Replied { text: answer }])
            }
            // What the model was asked, and why it did not answer, is among the notes.
            _ => Outcome::done([]),
        })
    }
}

/// Whether code sees nothing in it that would have to be looked up or done.
fn may_be_talk(session: &Session) -> bool {
    let text = &session.message.text;
    session.message.course == Course::Work
        && intent::topics(text).is_empty()
        && intent::wish(text) == Wish::Told
}

fn request(session: &Session, contract: &Contract<Verdict>) -> ChatRequest {
    let mut told = format!(
        "You belong to a paper-trading desk. Say whether the message is small talk or a general \
         question that can be answered without looking anything up; if you are in doubt, it is \
         not. Answer with one JSON object and nothing else:\n{}",
        contract.outline()
    );
    for (name, wish) in session.preferences.iter() {
        for part in ["\nThe person prefers ", name, ": ", wish] {
            told.push_str(part);
        }
    }
    let messages = [
        Message::system(told),
        Message::user(session.message.text.clone()),
    ];
    let profile = Profile {
        timeout: Some(LIMIT),
        ..Profile::default()
    };
    profile.apply(ChatRequest::new(messages).metadata("stage", "direct_reply"))
}
