use async_trait::async_trait;
use axum::http::StatusCode;
use fugato_graph::{Answers, BoxError, RunError, Runner};
use fugato_state::{Interrupt, InterruptId, Message, State, ThreadId, say};
use fugato_stream::{QuestionAnswer, ReplyForm};
use fugato_text::without_controls;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Caller, TimelineItem, error::NOT_FOUND, incoming::words, misfit};

/// An agent that endpoints can serve: a runner, the input that words become, and access rules.
///
/// [`AgentRoutes`](crate::AgentRoutes) makes the endpoints of all protocols from it, and
/// [`say`](crate::say) calls it in the same process. By default everyone of a tenant may use its
/// threads, and a thread that waits for an answer refuses words.
///
/// # Example
/// Notes that only their owner sees. The crate's own page has an agent with its graph and routes.
///
/// ```
/// use fugato_axum::{ThreadAccess, ServedAgent, Caller, UserMessage, BadInput, belongs};
/// use fugato_graph::Runner;
/// use fugato_state::{State, ThreadId};
///
/// #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
/// struct Note { owner: String, text: String }
///
/// impl State for Note {
///     type Update = Self;
///     fn apply(&mut self, new: Self) { *self = new; }
/// }
///
/// struct Notes(Runner<Note>);
///
/// #[async_trait::async_trait]
/// impl ServedAgent for Notes {
///     type State = Note;
///     fn name(&self) -> &str { "notes" }
///     fn runner(&self) -> &Runner<Note> { &self.0 }
///     async fn allows(&self, who: &Caller, thread: &ThreadId, _: ThreadAccess) -> Result<(), BadInput> {
///         belongs(&self.0, thread, |note| note.owner == who.name()).await
///     }
///     async fn input(&self, said: UserMessage) -> Result<Vec<Note>, BadInput> {
///         let said = said.in_words()?;
///         Ok(vec![Note { owner: said.caller.name().to_owned(), text: said.text }])
///     }
/// }
/// ```
///
/// Wrong is an effect in `input`:
///
/// ```text
/// async fn input(&self, said: UserMessage) -> Result<Vec<Ordered>, BadInput> {
///     Ok(vec![Ordered { order: self.shop.place(&said.text).await? }])
/// }
/// ```
///
/// A busy thread refuses the run after the order was placed, and a client that repeats the request,
/// even with its `Idempotency-Key`, orders again. A node of the graph places the order instead, as
/// an effect that the log records.
///
/// # Contract
/// - `runner` is the same each time.
/// - `allows` is asked before each request for a thread, before anything of it is told or changed.
/// - `input` and `answer` do nothing to the outside world: whether the run begins is not yet known.
/// - What `answer` refuses leaves the thread as it is, whatever else was answered with it.
/// - What cannot be used is an [`BadInput`], whose message says what is allowed.
///
/// # Errors
/// An [`BadInput`] refuses the request: 422 with its message and code, or 403 `forbidden`; over a
/// WebSocket an `error` message. The source that [`BadInput::because`] adds goes to the log only.
///
/// # Cancellation
/// The hooks run in the future of the request, so a client that disconnects drops them at any
/// `.await`; no run has begun then. With [`MessageIntent::Instead`] a disconnect after the cancellation of
/// the open question can prevent the new run. A run that has begun goes on without its client.
///
/// # Cost
/// `allows` runs for every request, every thread of a listed page and every run that a WebSocket
/// shows, so it should cost at most one read of the state, as [`belongs`] does. `title` runs for
/// each listed thread, and `timeline_items` for each record with changes when a conversation is opened.
#[async_trait]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an agent that can be served",
    note = "implement `fugato_axum::ServedAgent`: a name, a runner, and how words become an input"
)]
pub trait ServedAgent: Send + Sync + 'static {
    /// The state of its graph.
    type State: State;

    /// Returns the name under which clients find the agent, such as the model in OpenAI's protocol.
    fn name(&self) -> &str;

    /// Returns the names of the models that a request of this caller may choose: none by default.
    /// In OpenAI's protocol, the field `model` is then the name of the agent, a slash, and the name
    /// of the model; [`input`](Self::input) gets it in [`UserMessage::model`].
    fn models(&self, _caller: &Caller) -> Vec<String> {
        vec![]
    }

    /// Returns the number of characters of the longest message that the agent reads: 100,000 by
    /// default. An agent with rules should name what these read within a moment, and have a runner that
    /// [keeps nobody waiting](fugato_graph::RunnerOptions::block_in_place) meanwhile. A longer message,
    /// or text of an answer, is refused with 413 `too_large`.
    fn longest_message(&self) -> usize {
        100_000
    }

    /// Returns the names of the fields of [`extra`](UserMessage::extra) that say something as words do,
    /// such as attachments; none by default. Beside words or a button that answer a card they are in the
    /// answer, as `beside`, or are refused where the schema of the card names no such field, or where
    /// several cards are answered at once. What else comes there is a setting of the request, which says
    /// nothing about the card.
    fn content_fields(&self) -> &[&str] {
        &[]
    }

    /// Returns the runner of its threads.
    fn runner(&self) -> &Runner<Self::State>;

    /// Checks if a caller may read or change a thread of their tenant. By default everyone of the
    /// tenant may. An agent refuses with [`BadInput::forbidden`], from the owner in the thread's
    /// state or in its name. A thread that does not exist yet is checked too.
    async fn allows(
        &self,
        _caller: &Caller,
        _thread: &ThreadId,
        _access: ThreadAccess,
    ) -> Result<(), BadInput> {
        Ok(())
    }

    /// Returns the input of a run for a person's words.
    async fn input(
        &self,
        said: UserMessage,
    ) -> Result<Vec<<Self::State as State>::Update>, BadInput>;

    /// Interprets words: by default they are a request, which a thread that waits for an answer
    /// refuses. An agent for conversations lets people answer in words, or ask for something else.
    /// A request with a key of its own is always a request, and is not passed to this method.
    ///
    /// A yes or a no to an approval does not come here: the endpoints read it, with the evidence
    /// that it needs. A no with a reason does, and declines unless it is [`MessageIntent::Instead`]:
    /// "no, on Friday". An answer that is returned here for an approval is not given.
    async fn intent(
        &self,
        _thread: &ThreadId,
        _said: &UserMessage,
    ) -> Result<MessageIntent, BadInput> {
        Ok(MessageIntent::Request)
    }

    /// Returns the value that answers an open question of a thread. Protocols have approvals and
    /// rejections in addition to values; by default these are `true` and `false`. A person who
    /// declines to answer gives `null`, or `false` where the question does not allow `null`.
    ///
    /// Every caller who may change the thread may answer, unless the agent refuses with
    /// [`BadInput::forbidden`]. Every endpoint calls this for each new answer of a client.
    async fn answer(
        &self,
        _thread: &ThreadId,
        _caller: &Caller,
        asked: &Interrupt,
        answered: QuestionAnswer,
    ) -> Result<Value, BadInput> {
        let fits = |value: &Value| asked.question.schema.check(value).is_ok();
        let refused = Value::Bool(false);
        if answered.reply == ReplyForm::Cancel && !fits(&Value::Null) && fits(&refused) {
            return Ok(refused);
        }
        Ok(answered.reply.into_value())
    }

    /// Returns text that a place without a page shows of a thread: before a card asks, so that
    /// nobody agrees to what they have not seen, and after words that left nothing open. None by
    /// default; a page draws the state itself.
    fn view(&self, _state: &Self::State, _asked: Option<&Interrupt>) -> Option<String> {
        None
    }

    /// Returns the words for a person whose request cannot be carried out, because the graph cannot
    /// be run in their thread: another version of the program wrote it, what is stored cannot be
    /// read, or the graph lacks a node that the thread waits in. The thread is left as it is. Without
    /// words, the default, the client gets the error.
    async fn plain_reply(&self, _said: &UserMessage, _error: &RunError) -> Option<String> {
        None
    }

    /// Returns the making of a title for a thread whose run has just finished: a future that ends
    /// with the update that stores the title, or with none. None by default, and where there is no
    /// title to be made.
    ///
    /// The future runs apart from the answer, so it may ask a model; the update is stored once no
    /// request for the thread is under way.
    fn title_update(
        &self,
        _state: &Self::State,
    ) -> Option<BoxFuture<'static, Option<<Self::State as State>::Update>>> {
        None
    }

    /// Returns the title of a thread in a list; none by default.
    fn title(&self, _state: &Self::State) -> Option<String> {
        None
    }

    /// Returns the items of one record's changes, for a conversation that is opened again.
    /// Questions with their answers, cards and the ends of tools come from the log; only the
    /// changes hold the words. If an empty slice gives none, which is the default, the endpoints
    /// show the [`timeline`](Self::timeline) of the state instead.
    fn timeline_items(
        &self,
        _changes: &[<Self::State as State>::Update],
    ) -> Option<Vec<TimelineItem>> {
        None
    }

    /// Returns the items of a whole state, oldest first: those from before the log of the thread
    /// begins, in a copy of another thread or in one that was compacted; or all of them, if
    /// [`timeline_items`](Self::timeline_items) gives none.
    fn timeline(&self, _state: &Self::State) -> Vec<TimelineItem> {
        vec![]
    }
}

/// The kinds of access to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThreadAccess {
    /// To see that it exists, to read its conversation and its log, and to copy it.
    Read,
    /// To say something in it, to answer, to stop a run, to try one again, to remove it.
    Write,
}

/// Refuses a thread whose state belongs to another caller, as one that [does not
/// exist](BadInput::not_found): a [`ServedAgent::allows`] for agents that keep the owner in the state. A
/// thread that does not exist yet is open to everyone.
pub async fn belongs<S: State>(
    runner: &Runner<S>,
    thread: &ThreadId,
    is_theirs: impl FnOnce(&S) -> bool,
) -> Result<(), BadInput> {
    let state = runner.state(thread).await.map_err(|error| {
        BadInput::new(say!(
            "whose conversation it is cannot be read now; try again later",
            "现在读不到这个对话属于谁；请稍后再试"
        ))
        .because(error)
    })?;
    match state {
        Some(state) if !is_theirs(&state) => Err(BadInput::not_found()),
        _ => Ok(()),
    }
}

/// The meanings of words in a thread.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MessageIntent {
    /// A request.
    Request,
    /// The answers to open questions.
    Answer(Answers),
    /// A request that replaces the open questions: their run is cancelled.
    Instead,
    /// A question about the thread: the person gets this text, and the thread goes on waiting.
    ///
    /// The text must not name the code of a card: in a conversation that a client sends along, the
    /// code is taken as proof that the person saw the card.
    Told(String),
}

/// The number of earlier messages of a client that are read.
const EARLIER: usize = 100;

/// A person's words to an agent, by whatever protocol.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UserMessage {
    /// The words: the text of the last message.
    pub text: String,
    /// The conversation as the client sends it, in the form of its protocol; empty if it sends
    /// none. The thread's own state is the authority.
    pub messages: Vec<Value>,
    /// The further fields of the request.
    pub extra: Map<String, Value>,
    /// The caller.
    pub caller: Caller,
    /// The id of the card under which the words were typed, as the client displays it. It is the
    /// evidence by which short words agree to a card; without it they need the card's code.
    pub card: Option<InterruptId>,
    /// The model that the client chooses, one of [`ServedAgent::models`]; none for the agent's own choice.
    pub model: Option<String>,
    /// True if the client named no conversation: what it sends in [`messages`](Self::messages) is
    /// then the whole of one that has no other place.
    pub begins: bool,
    /// The message or the run that the person wants answered once more, by the id that the client
    /// has for it; none for something new.
    pub retries: Option<String>,
    /// The protocol or program of the request, for the log.
    pub door: &'static str,
    /// True if the client is told that a run began, and hears nothing more: the run is stored first.
    pub(crate) stored: bool,
}

impl UserMessage {
    /// Creates a request of these words and nothing else. Control characters are no part of them.
    pub fn new(caller: Caller, text: impl Into<String>) -> Self {
        Self {
            text: without_controls(&text.into()).into_owned(),
            messages: vec![],
            extra: Map::new(),
            caller,
            card: None,
            model: None,
            begins: false,
            retries: None,
            door: "words",
            stored: false,
        }
    }

    fugato_state::setters! {
        /// Sets the card under which the words were typed.
        pub fn card(card: Option<InterruptId>) { card = card }

        /// Sets the model that the client chooses.
        pub fn model(model: Option<String>) { model = model }

        /// Sets the message or the run that is to be answered once more.
        pub fn retries(retried: Option<String>) { retries = retried }
    }

    /// Returns the message without the conversation that the client sent with it.
    pub(crate) fn words(&self) -> Self {
        let said = Self::new(self.caller.clone(), self.text.clone());
        Self {
            extra: self.extra.clone(),
            model: self.model.clone(),
            door: self.door,
            ..said
        }
    }

    /// Returns what was said before, by the client's own account, oldest first: the texts of the
    /// person and of the agent in a conversation that no thread of ours holds; otherwise nothing. It
    /// is what clients of OpenAI's protocol send each time that keep conversations themselves.
    ///
    /// Of a long one these are the texts of the last hundred messages: agents read each of them, and
    /// a body has room for tens of thousands.
    pub fn earlier(&self) -> Vec<Message> {
        let (_, before) = match self.messages.split_last() {
            Some(parts) if self.begins => parts,
            _ => return vec![],
        };
        let last = before.iter().skip(before.len().saturating_sub(EARLIER));
        let said = last.filter_map(|message| {
            let text = words(message);
            match message.get("role")?.as_str()? {
                "user" => Some(Message::user(text)),
                "assistant" => Some(Message::assistant(text)),
                _ => None,
            }
        });
        said.filter(|said| !said.content.trim().is_empty())
            .collect()
    }

    /// Refuses a request without words.
    pub fn in_words(self) -> Result<Self, BadInput> {
        if self.text.trim().is_empty() {
            return Err(BadInput::new(say!(
                "say what you want: the message has no text",
                "请说明您想要什么：消息没有文字"
            )));
        }
        Ok(self)
    }

    /// Parses the further fields of the request; `allowed` describes them in the error message.
    /// Fields that `T` does not name are ignored, unless `T` refuses them: clients of other
    /// protocols have fields of their own.
    pub fn beside<T: DeserializeOwned>(&self, allowed: &str) -> Result<T, BadInput> {
        serde_json::from_value(Value::Object(self.extra.clone())).map_err(|error| {
            let what = misfit::of_json(&error);
            BadInput::new(say!(
                "what came beside the words cannot be used: {what}; allowed {allowed}",
                "随文字一起发来的内容无法使用：{what}；允许 {allowed}"
            ))
        })
    }
}

/// A refused request. The message goes to the client: it names what is wrong, and what is allowed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct BadInput {
    message: String,
    pub(crate) code: &'static str,
    pub(crate) status: StatusCode,
    source: Option<BoxError>,
}

impl BadInput {
    /// Creates a refusal with this message: 422 with the code `unusable`.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: "unusable",
            status: StatusCode::UNPROCESSABLE_ENTITY,
            source: None,
        }
    }

    /// Creates a refusal of this caller, whose message says who may: 403 with the code `forbidden`.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self {
            code: "forbidden",
            status: StatusCode::FORBIDDEN,
            ..Self::new(message)
        }
    }

    /// Creates the refusal of a thread of which this caller must not learn that it exists: 404 with
    /// the code `not_found`, in the words for a thread that does not exist.
    pub fn not_found() -> Self {
        Self {
            code: NOT_FOUND,
            status: StatusCode::NOT_FOUND,
            ..Self::new(say!("there is no such thread", "没有这个线程"))
        }
    }

    /// Creates the refusal of words that are too long, whose message says how long they may be: 413
    /// with the code `too_large`.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self {
            code: "too_large",
            status: StatusCode::PAYLOAD_TOO_LARGE,
            ..Self::new(message)
        }
    }

    fugato_state::setters! {
        /// Sets the stable code for programs; `unusable` by default.
        pub fn code(code: &'static str) { code = code }

        /// Adds the cause, for the operator.
        pub fn because(source: impl Into<BoxError>) { source = Some(source.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_words_is_refused() {
        let said = |text: &str| UserMessage::new(Caller::default(), text);
        for nothing in ["", " \n\t", "\u{3000}"] {
            let refused = said(nothing).in_words().map_err(|error| error.to_string());
            let expected = "say what you want: the message has no text";
            assert_eq!(refused, Err(expected.to_owned()), "{nothing:?}");
        }
        let kept = said(" hi ").in_words().ok();
        assert_eq!(kept, Some(said(" hi ")));
    }
}
