//! The agent behind the endpoints that all agents have: a conversation on a page.
use async_trait::async_trait;
use fugato::{
    BoxError,
    axum::{
        BadInput, Caller, MessageIntent, ThreadAccess, TimelineItem, UserMessage, belongs,
        timeline, title,
    },
    form::day,
    graph::Runner,
    state::{Interrupt, Message, ThreadId, say},
    stream::{QuestionAnswer, ReplyForm as Answer},
};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    answer::under_a_card,
    card::CardReply,
    intake::today,
    local,
    recall::recalled,
    state::{Request, RequestExtras, RequestKind, Steward, Update},
    steward_service::StewardService,
};

/// The agent behind endpoints.
#[derive(Debug, Clone)]
pub struct ServedSteward {
    service: StewardService,
    local: Option<ThreadId>,
}

impl ServedSteward {
    /// Creates the agent.
    pub fn new(service: StewardService) -> Self {
        Self {
            service,
            local: None,
        }
    }

    fugato::state::setters! {
        /// Sets the conversation of who sits at this machine: a path in their words is a file that
        /// comes with them.
        pub fn local(thread: Option<ThreadId>) { local = thread }
    }

    /// Refuses words that decide nothing under the card of an action that a page requested: they cannot
    /// change it, and do not decline it. Refuses what comes beside an answer that cannot take it, too.
    async fn takes_words(&self, thread: &ThreadId, given: &Value) -> Result<(), BadInput> {
        let said = match given {
            Value::String(words) => Some(CardReply::say(words)),
            given => CardReply::deserialize(given).ok(),
        };
        let Some(said) = said else {
            return Ok(());
        };
        if let Some(beside) = said.beside.clone() {
            beside.checked().map_err(BadInput::new)?;
        }
        let Some(state) = self.service.runner().state(thread).await.ok().flatten() else {
            return Ok(());
        };
        if let Some(why) = said.unheard(&self.service.deps().desk, &state) {
            return Err(BadInput::new(why));
        }
        if state.is_chat() || !said.decides_nothing() {
            return Ok(());
        }
        let words = said.text.unwrap_or_default();
        Err(BadInput::new(say!(
            "{words:?} is neither a yes nor a no, and other words do not change what a button asked for; the card waits",
            "{words:?} 既不是同意也不是拒绝，而按钮请求的操作不能用别的话来更改；卡片还在等待"
        )))
    }

    /// Keeps the files that words at this machine name.
    async fn attach(&self, caller: &Caller, words: &str) -> Result<(), BadInput> {
        let Some(thread) = &self.local else {
            return Ok(());
        };
        let files = &self.service.deps().files;
        let attached = local::attach_named(files, (thread, &employee(caller)), words).await;
        attached.map_err(|error| BadInput::new(error.to_string()))
    }
}

/// Returns the employee whose applications and claims a caller works on: their account, or `me` if
/// there is none.
pub fn employee(caller: &Caller) -> String {
    caller.account().unwrap_or_else(|| "me".to_owned())
}

#[async_trait]
impl fugato::axum::ServedAgent for ServedSteward {
    type State = Steward;

    fn name(&self) -> &'static str {
        "steward"
    }

    fn longest_message(&self) -> usize {
        4_000
    }

    fn content_fields(&self) -> &[&str] {
        &["base_date", "attachments", "context"]
    }

    fn runner(&self) -> &Runner<Steward> {
        self.service.runner()
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<Update>, BadInput> {
        let said = said.in_words()?;
        let earlier = said.earlier();
        self.attach(&said.caller, &said.text).await?;
        let beside: RequestExtras = said.beside(&say!(
            "are lang (\"en\" or \"zh\"), base_date (a day), attachments (names of files) and context \
             (fields of a form)",
            "lang（\"en\" 或 \"zh\"）、base_date（一个日期）、attachments（文件名）和 context（表单的字段）"
        ))?;
        let beside = beside.checked().map_err(BadInput::new)?;
        let recalled = (!earlier.is_empty()).then(|| {
            let deps = self.service.deps();
            let base = day(&beside.base_date).unwrap_or_else(|| today((deps.clock)()));
            let plan = recalled(deps, &earlier, base);
            let history = earlier;
            Update::Recalled { history, plan }
        });
        let request = Request::new(RequestKind::Chat, "", &employee(&said.caller));
        let request = Request {
            beside,
            ..request.message(said.text)
        };
        let requested = Update::Requested(Box::new(request));
        Ok([requested].into_iter().chain(recalled).collect())
    }

    /// A question about documents under a card is answered, and the card is left as it is.
    async fn intent(
        &self,
        thread: &ThreadId,
        said: &UserMessage,
    ) -> Result<MessageIntent, BadInput> {
        let unread = |error: BoxError| {
            BadInput::new(say!("the documents cannot be read now", "现在读不到单据")).because(error)
        };
        let runner = self.runner();
        let open = runner.interrupts(thread).await;
        if open.map_err(|error| unread(error.into()))?.is_empty() {
            return Ok(MessageIntent::Request);
        }
        let state = runner.state(thread).await;
        let state = state.map_err(|error| unread(error.into()))?;
        let Some(state) = state else {
            return Ok(MessageIntent::Request);
        };
        let told = under_a_card(self.service.deps(), &state, &said.text).await;
        let told = told.map_err(|error| unread(error.into()))?;
        Ok(told.map_or(MessageIntent::Request, MessageIntent::Told))
    }

    /// Allows only the employee of the conversation, through any endpoint: others neither see the
    /// documents nor answer the questions.
    async fn allows(
        &self,
        caller: &Caller,
        thread: &ThreadId,
        _: ThreadAccess,
    ) -> Result<(), BadInput> {
        let is_theirs = |steward: &Steward| steward.employee == employee(caller);
        belongs(self.runner(), thread, is_theirs).await
    }

    async fn answer(
        &self,
        thread: &ThreadId,
        caller: &Caller,
        _: &Interrupt,
        answered: QuestionAnswer,
    ) -> Result<Value, BadInput> {
        let QuestionAnswer { reply, reason, .. } = answered;
        if let Answer::Value(given) = &reply {
            self.takes_words(thread, given).await?;
        }
        let reply = match reply {
            // Its schema says what is wrong with it.
            Answer::Value(Value::Object(object)) => {
                if let Some(words) = object.get("text").and_then(Value::as_str) {
                    self.attach(caller, words).await?;
                }
                return Ok(Value::Object(object));
            }
            Answer::Approve | Answer::Value(Value::Bool(true)) => CardReply::approve(),
            Answer::Value(Value::String(text)) => {
                self.attach(caller, &text).await?;
                CardReply::say(text)
            }
            Answer::Reject | Answer::Cancel | Answer::Value(Value::Bool(false) | Value::Null) => {
                CardReply {
                    text: reason,
                    ..CardReply::reject()
                }
            }
            _ => {
                return Err(BadInput::new(say!(
                    "say approve or reject, or what you want instead",
                    "请说同意或拒绝，或者说您想要什么"
                )));
            }
        };
        Ok(json!(reply))
    }

    fn title(&self, steward: &Steward) -> Option<String> {
        title(&steward.history)
    }

    fn timeline_items(&self, changes: &[Update]) -> Option<Vec<TimelineItem>> {
        let said = changes.iter().filter_map(|change| match change {
            Update::Requested(request) => Some(Message::user(&request.message)),
            Update::Told(reply) | Update::Answered { reply, .. } => Some(Message::assistant(reply)),
            _ => None,
        });
        let said: Vec<_> = said.filter(|it| !it.content.is_empty()).collect();
        Some(timeline(&said))
    }

    fn timeline(&self, steward: &Steward) -> Vec<TimelineItem> {
        timeline(&steward.history)
    }
}
