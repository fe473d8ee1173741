use async_trait::async_trait;
use fugato_graph::{Answers, BoxError, Runner};
use fugato_state::{Interrupt, InterruptId, State, ThreadId};
use fugato_stream::{Answered, Reply};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Caller, Item};

/// An agent as the endpoints need it: a runner, and how words become an input.
///
/// # Contract
/// - `runner` is the same each time.
/// - `allows` is asked before each request for a thread, before anything of it is told or changed.
/// - `input` and `answer` do nothing to the outside world: whether the run begins is not yet known.
/// - What `answer` refuses leaves the thread as it is, whatever else was answered with it.
/// - What cannot be used is an [`Unusable`], whose message says what is allowed.
#[async_trait]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an agent that can be served",
    note = "implement `fugato_axum::Agent`: a name, a runner, and how words become an input"
)]
pub trait Agent: Send + Sync + 'static {
    /// The state of its graph.
    type State: State;

    /// The name under which clients find it, such as the model of OpenAI's protocol.
    fn name(&self) -> &str;

    /// What runs its threads.
    fn runner(&self) -> &Runner<Self::State>;

    /// Whether somebody may read a thread of their tenant, or change it. Everyone of the tenant may,
    /// unless the agent refuses with [`Unusable::forbidden`]: whose it is, the state of the thread
    /// knows, or its name. A thread that does not exist yet is asked about too.
    async fn allows(
        &self,
        _caller: &Caller,
        _thread: &ThreadId,
        _access: Access,
    ) -> Result<(), Unusable> {
        Ok(())
    }

    /// The input of a run, from what a person says.
    async fn input(&self, said: Said) -> Result<Vec<<Self::State as State>::Update>, Unusable>;

    /// What words are to a thread: a request, unless said otherwise, which a thread that waits for
    /// an answer refuses. Who talks to people lets them answer in words, or turn to something else. A request with a key of its own is
    /// always a request.
    ///
    /// A yes or a no to an approval does not come here: the doors read it, with the evidence that it
    /// needs. An answer that is returned here for an approval is not given.
    async fn hear(&self, _thread: &ThreadId, _said: &Said) -> Result<Heard, Unusable> {
        Ok(Heard::Request)
    }

    /// The value that answers an open question of a thread. Protocols have approvals and rejections
    /// beside values; unless said otherwise these are `true` and `false`. Who does not want to answer
    /// says `null`, or `false` where the question does not allow that.
    ///
    /// Whoever may change the thread may answer, unless the agent refuses with
    /// [`Unusable::forbidden`]. Every door asks here, and hands the thread nothing that was not asked
    /// about.
    async fn answer(
        &self,
        _thread: &ThreadId,
        _caller: &Caller,
        asked: &Interrupt,
        answered: Answered,
    ) -> Result<Value, Unusable> {
        let fits = |value: &Value| asked.question.schema.check(value).is_ok();
        let refused = Value::Bool(false);
        if answered.reply == Reply::Cancel && !fits(&Value::Null) && fits(&refused) {
            return Ok(refused);
        }
        Ok(answered.reply.into_value())
    }

    /// What a thread is called in a list.
    fn title(&self, _state: &Self::State) -> Option<String> {
        None
    }

    /// What the changes of one record show when the conversation is opened again. Questions with
    /// their answers, cards and the ends of tools are in the log; what was said only changes know.
    /// An agent whose changes do not tell is asked for the [`timeline`](Self::timeline) of its state.
    fn tells(&self, _changes: &[<Self::State as State>::Update]) -> Option<Vec<Item>> {
        None
    }

    /// The same for a whole state, oldest first: what was said before the log of the thread begins,
    /// in a copy of another thread or in one that was compacted; or everything, where changes do not
    /// tell.
    fn timeline(&self, _state: &Self::State) -> Vec<Item> {
        vec![]
    }
}

/// What is to be done with a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Access {
    /// To see that it is there, what was said in it, its log, and copies of it.
    Read,
    /// To say something in it, to answer, to stop a run, to try one again, to remove it.
    Write,
}

/// Refuses what is asked for a thread whose state is not the caller's: [`Agent::allows`] for agents
/// whose state says whose it is. A thread that does not exist yet is anybody's.
pub async fn belongs<S: State>(
    runner: &Runner<S>,
    thread: &ThreadId,
    is_theirs: impl FnOnce(&S) -> bool,
) -> Result<(), Unusable> {
    let state = runner.state(thread).await.map_err(|error| {
        Unusable::new("whose conversation it is cannot be read now; try again later").because(error)
    })?;
    match state {
        Some(state) if !is_theirs(&state) => {
            Err(Unusable::forbidden("this conversation is somebody else's"))
        }
        _ => Ok(()),
    }
}

/// What words are to a thread.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Heard {
    /// A request.
    Request,
    /// The answer to what the thread waits for.
    Answer(Answers),
    /// A request in the place of what the thread waits for, which is cancelled.
    Instead,
    /// A question about the thread: it is told this, and goes on waiting.
    Told(String),
}

/// What a person says to an agent, by whatever protocol.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Said {
    /// The words: the text of the last message.
    pub text: String,
    /// The conversation as the client tells it, in the form of its protocol; empty where a client
    /// does not tell it. The thread knows better.
    pub messages: Vec<Value>,
    /// What the client sends beside it.
    pub extra: Map<String, Value>,
    /// Who says it.
    pub caller: Caller,
    /// The id of the card under which the words were typed, as the client displays it. It is the
    /// evidence by which short words agree to a card; without it they need the card's code.
    pub card: Option<InterruptId>,
    /// The protocol or program by which it comes, for the record.
    pub door: &'static str,
}

impl Said {
    /// These words and nothing else.
    pub fn new(caller: Caller, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            messages: vec![],
            extra: Map::new(),
            caller,
            card: None,
            door: "words",
        }
    }

    /// Says under which card the words were typed.
    #[must_use]
    pub fn card(mut self, card: Option<InterruptId>) -> Self {
        self.card = card;
        self
    }

    /// Refuses what has no words.
    pub fn in_words(self) -> Result<Self, Unusable> {
        if self.text.trim().is_empty() {
            return Err(Unusable::new("say what you want: the message has no text"));
        }
        Ok(self)
    }

    /// What the client sends beside the words; `allowed` says to people what that may be. What a type
    /// does not name is left out: clients of other protocols have fields of their own.
    pub fn beside<T: DeserializeOwned>(&self, allowed: &str) -> Result<T, Unusable> {
        serde_json::from_value(Value::Object(self.extra.clone())).map_err(|error| {
            Unusable::new(format!(
                "what came beside the words cannot be used: {error}; allowed {allowed}"
            ))
        })
    }
}

/// What was said cannot be used. The message goes to the client: it names what is wrong, and what
/// is allowed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Unusable {
    message: String,
    pub(crate) code: &'static str,
    pub(crate) forbidden: bool,
    source: Option<BoxError>,
}

impl Unusable {
    /// Says why.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: "unusable",
            forbidden: false,
            source: None,
        }
    }

    /// Says that it is not for this caller to say it, and who may: 403 with the code `forbidden`.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self {
            code: "forbidden",
            forbidden: true,
            ..Self::new(message)
        }
    }

    /// Says so to programs by a stable word; `unusable` unless this is said.
    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// Adds the cause, for the operator.
    #[must_use]
    pub fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_words_is_refused() {
        let said = |text: &str| Said::new(Caller::default(), text);
        for nothing in ["", " \n\t", "\u{3000}"] {
            let refused = said(nothing).in_words().map_err(|error| error.to_string());
            let expected = "say what you want: the message has no text";
            assert_eq!(refused, Err(expected.to_owned()), "{nothing:?}");
        }
        let kept = said(" hi ").in_words().ok();
        assert_eq!(kept, Some(said(" hi ")));
    }
}
