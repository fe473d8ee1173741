//! The planner as those see it who talk to it: a message in, a reply out.
use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    Answers, BoxError, Ended, Graph, Interrupt, Message, RunError, Runner, ThreadId,
    agent::{Awaiting, Meaning, Phrases, ShortAnswer},
    axum::{Agent, Heard, Item, Said, Unusable, timeline, title},
    graph::{Run, Standing},
    memory::{PersonLayers, Speaker},
    store::{StoreError, ThreadFilter, ThreadStore},
};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::{
    command,
    graph::{Deps, WiringError, graph},
    intent::{self, Wish},
    session::{Session, SessionUpdate},
    view,
};

/// The planner, over a store of threads.
#[derive(Clone, Debug)]
pub struct Planner {
    runner: Runner<Session>,
    users: PersonLayers,
}

/// What a message came to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// What the person is told: an answer, or a question.
    pub text: String,
    /// The question that waits, if one does.
    pub waiting: Option<Interrupt>,
}

/// A message had no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreplied {
    /// The run did not come to its end.
    #[error("the run did not come to its end")]
    Run(#[from] RunError),
    /// It is a question about the session: this is told, and nothing happens.
    #[error("{0}")]
    Told(String),
    /// The name of a session cannot be one.
    #[error("{name:?} cannot be the name of a session of a person")]
    Name {
        /// The name.
        name: String,
        /// Why.
        source: BoxError,
    },
}

/// What follows after a message has been heard: a stream of events, and the end.
pub type Stream = (
    fugato::graph::Events,
    BoxFuture<'static, Result<Ended<Session>, RunError>>,
);

impl Planner {
    /// A planner over a store.
    pub fn new<T: ThreadStore + 'static>(deps: &Deps, store: Arc<T>) -> Result<Self, WiringError> {
        Self::on(deps, |graph| Runner::new(graph, store))
    }

    /// A planner on a runner of one's own making.
    pub fn on(
        deps: &Deps,
        runner: impl FnOnce(Graph<Session>) -> Runner<Session>,
    ) -> Result<Self, WiringError> {
        let (runner, users) = (runner(graph(deps)?), deps.users().clone());
        Ok(Self { runner, users })
    }

    /// The runner, to look back, answer by id, or cancel.
    pub fn runner(&self) -> &Runner<Session> {
        &self.runner
    }

    /// The thread of a session. A person may have any number of them.
    pub fn thread(user: &str, session: &str) -> Result<ThreadId, Unreplied> {
        let name = format!("{user}.{session}");
        ThreadId::new(name.clone()).map_err(|error| Unreplied::Name {
            name,
            source: error.into(),
        })
    }

    /// Says something in a session, and waits for the reply. A question that waits is answered by
    /// it, or dropped for it.
    pub async fn handle_message(
        &self,
        user: &str,
        session: &str,
        text: &str,
    ) -> Result<Reply, Unreplied> {
        let thread = Self::thread(user, session)?;
        match self.say(&thread, user, text).await {
            Ok(run) => Ok(Reply::of(&run.await?)),
            Err(Unreplied::Told(text)) => {
                let waiting = match self.runner.standing(&thread).await? {
                    Standing::Waiting(open) => open.into_iter().next(),
                    _ => None,
                };
                Ok(Reply { text, waiting })
            }
            Err(other) => Err(other),
        }
    }

    /// Says something in a session: what is returned is a stream of what happens, and a future of
    /// the end, which [`Reply::of`] makes a reply of.
    pub async fn handle_message_stream(
        &self,
        user: &str,
        session: &str,
        text: &str,
    ) -> Result<Stream, Unreplied> {
        let thread = Self::thread(user, session)?;
        Ok(self.say(&thread, user, text).await?.split())
    }

    /// What a key of a person stands for: `agent_task_state_…` and `agent_preferences_…` are
    /// documents, and `agent_execution_state_…` is read off the person's sessions.
    pub async fn config(&self, key: &str) -> Result<Option<Value>, Unreplied> {
        let Some(user) = key.strip_prefix("agent_execution_state_") else {
            let document = self.users.document(key).await;
            return document.map_err(|error| Unreplied::Run(error.into()));
        };
        let mut states = Map::new();
        for thread in self.threads().await.map_err(RunError::from)? {
            let session = self.runner.state(&thread).await?;
            if let Some(session) = session.filter(|session| session.user == user) {
                let name = thread.as_str();
                states.insert(name.to_owned(), view::execution_state(&session, name));
            }
        }
        Ok((!states.is_empty()).then_some(Value::Object(states)))
    }

    async fn threads(&self) -> Result<Vec<ThreadId>, StoreError> {
        let Some(admin) = self.runner.admin() else {
            return Ok(vec![]);
        };
        let (mut all, mut filter) = (vec![], ThreadFilter::default());
        loop {
            let page = admin.list(filter.clone()).await?;
            let Some(last) = page.last() else {
                return Ok(all);
            };
            filter.after = Some(last.thread.clone());
            all.extend(page.into_iter().map(|summary| summary.thread));
        }
    }

    /// What a message is to a thread, whether it waits or not.
    async fn heard(&self, thread: &ThreadId, text: &str) -> Result<Heard, RunError> {
        let Standing::Waiting(open) = self.runner.standing(thread).await? else {
            return Ok(Heard::Request);
        };
        if command::only_tells(text) {
            let session = self.runner.state(thread).await?.unwrap_or_default();
            return Ok(Heard::Told(command::told(&session, thread.as_str(), text)));
        }
        Ok(heard(text, &open)?)
    }

    async fn say(
        &self,
        thread: &ThreadId,
        user: &str,
        text: &str,
    ) -> Result<Run<Session>, Unreplied> {
        // A crash has left it; what was begun comes first.
        let recovered = match self.runner.standing(thread).await? {
            Standing::Unfinished => Some(self.runner.recover(thread).await?),
            _ => None,
        };
        match self.heard(thread, text).await? {
            Heard::Answer(answers) => {
                // Nobody has seen what it came to: these words cannot be the answer to it.
                if let Some(ended) = recovered {
                    return Err(Unreplied::Told(Reply::of(&ended).text));
                }
                return Ok(self.runner.resume(thread, answers));
            }
            Heard::Told(told) => return Err(Unreplied::Told(told)),
            Heard::Instead => {
                let why = "something else was asked for";
                self.runner.cancel(thread, user, why).await?;
            }
            _ => {}
        }
        Ok(self.runner.start(thread, said(user, text)))
    }
}

fn said(user: &str, text: &str) -> SessionUpdate {
    SessionUpdate::Said {
        user: user.to_owned(),
        text: text.to_owned(),
    }
}

/// What a message is to a thread that waits for answers. The answer wins: `continue` is one, and
/// so is `yes`; only `start over`, `cancel`, a command or another request leads away from it.
pub fn heard(text: &str, open: &[Interrupt]) -> Result<Heard, serde_json::Error> {
    let [asked] = open else {
        return Ok(Heard::Request);
    };
    let text = text.trim();
    let is_new = |text: &str| {
        text.starts_with('/') || intent::asks_about(text) || intent::wish(text) != Wish::Told
    };
    let confirms = asked.question.schema.check(&Value::Bool(true)).is_ok();
    let meaning = Phrases::default().meaning(text, Awaiting::Answer, is_new);
    let Meaning::Continue(short) = meaning else {
        return Ok(Heard::Instead);
    };
    let answer = match (confirms, short) {
        (false, _) => json!(text),
        (true, Some(ShortAnswer::Yes | ShortAnswer::Continue)) => json!(true),
        (true, Some(ShortAnswer::No)) => json!(false),
        (true, _) => return Ok(Heard::Instead),
    };
    Ok(Heard::Answer(Answers::to(asked.id.clone(), answer)?))
}

impl Reply {
    /// What a run came to.
    pub fn of(ended: &Ended<Session>) -> Self {
        let waiting = ended.interrupts().first().cloned();
        let text = match &waiting {
            Some(asked) => question(asked),
            None => ended.state().reply.clone(),
        };
        Self { text, waiting }
    }
}

/// A question in words: a card is what would be done.
fn question(asked: &Interrupt) -> String {
    let prompt = &asked.question.prompt;
    let part = |name| prompt.get(name).and_then(Value::as_str);
    match (prompt.as_str(), part("title"), part("summary")) {
        (Some(text), ..) => text.to_owned(),
        (None, Some(title), Some(summary)) => format!("{title}: {summary}? (yes / no)"),
        _ => prompt.to_string(),
    }
}

#[async_trait]
impl Agent for Planner {
    type State = Session;

    fn name(&self) -> &'static str {
        "planner"
    }

    fn runner(&self) -> &Runner<Session> {
        &self.runner
    }

    async fn input(&self, words: Said) -> Result<Vec<SessionUpdate>, Unusable> {
        if words.text.trim().is_empty() {
            return Err(Unusable::new("say something: the message has no text"));
        }
        Ok(vec![said(&user(&words), &words.text)])
    }

    async fn hear(&self, thread: &ThreadId, words: &Said) -> Result<Heard, Unusable> {
        let heard = self.heard(thread, &words.text).await;
        heard.map_err(|error| Unusable::new("the session cannot be read now").because(error))
    }

    fn title(&self, session: &Session) -> Option<String> {
        title(&[Message::user(session.title.clone())])
    }

    fn tells(&self, changes: &[SessionUpdate]) -> Option<Vec<Item>> {
        let mut reply = "";
        let said = changes.iter().filter_map(|change| match change {
            SessionUpdate::Said { text, .. } => Some(Message::user(text)),
            SessionUpdate::Replied { text } => {
                reply = text;
                None
            }
            SessionUpdate::Delivered { .. } => Some(Message::assistant(reply)),
            _ => None,
        });
        Some(timeline(&said.collect::<Vec<_>>()))
    }

    fn timeline(&self, session: &Session) -> Vec<Item> {
        let turns = session.history.turns().iter();
        let said = turns.map(|turn| match turn.by {
            Speaker::User => Message::user(&turn.text),
            Speaker::Assistant => Message::assistant(&turn.text),
        });
        timeline(&said.collect::<Vec<_>>())
    }
}

/// Whose words they are: those of the caller, and of everybody where nobody says who it is.
fn user(words: &Said) -> String {
    words.caller.account().unwrap_or_else(|| "home".to_owned())
}
