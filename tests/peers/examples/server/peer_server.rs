//! The runs of the agent, whoever asks for them.
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use fugato::{
    Answers, BoxError, Event, EventKind, MemoryLog, Runner, ThreadId,
    state::Seq,
    stream::{ReplyForm, Resume},
};
use futures::{
    FutureExt as _, Stream, StreamExt as _,
    future::Either,
    stream::{self, BoxStream},
};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::agent::{self, Change, PeerState};

/// The agent, its log, and which runs are under way.
#[derive(Clone)]
pub(crate) struct PeerServer {
    runner: Arc<Runner<PeerState>>,
    gate: Arc<Semaphore>,
    under_way: Arc<Mutex<HashMap<String, Seq>>>,
}

impl PeerServer {
    pub(crate) fn open() -> Result<Self, BoxError> {
        let gate = Arc::new(Semaphore::new(0));
        let graph = agent::graph(gate.clone())?;
        Ok(Self {
            runner: Arc::new(Runner::new(graph, Arc::new(MemoryLog::default()))),
            gate,
            under_way: Arc::default(),
        })
    }

    /// What slow runs wait for.
    pub(crate) fn gate(&self) -> &Arc<Semaphore> {
        &self.gate
    }

    /// Starts a run, or goes on with the one that is answered, or shows what was missed.
    pub(crate) fn go_on(
        &self,
        thread: &str,
        resume: Resume,
        text: String,
    ) -> Result<impl Stream<Item = Event> + Send + use<>, BoxError> {
        let id = ThreadId::new(thread)?;
        if let Some(after) = resume.after {
            return Ok(Either::Left(self.runner.events(&id, after)));
        }
        let run = if resume.answers.is_empty() {
            self.runner.start(&id, Change::Wished(text))
        } else {
            self.runner.resume(&id, answers(resume)?)
        };
        Ok(Either::Right(self.watched(thread.to_owned(), run.boxed())))
    }

    /// The run of a thread that is under way, from a position on, or else from its beginning.
    pub(crate) fn again(
        &self,
        thread: &str,
        after: Option<Seq>,
    ) -> Result<Option<impl Stream<Item = Event> + Send + use<>>, BoxError> {
        let begun = self.runs().get(thread).copied();
        let Some(after) = after.or(begun) else {
            return Ok(None);
        };
        Ok(Some(self.runner.events(&ThreadId::new(thread)?, after)))
    }

    /// Remembers where a run begins, until it ends. It goes on when its reader is gone.
    fn watched(
        &self,
        thread: String,
        events: BoxStream<'static, Event>,
    ) -> impl Stream<Item = Event> + Send + use<> {
        self.runs().insert(thread.clone(), 0);
        let peer_server = self.clone();
        let done = self.clone();
        let name = thread.clone();
        let seen = events.inspect(move |event| {
            if let (EventKind::RunStarted { .. }, Some(seq)) = (&event.kind, event.seq) {
                peer_server
                    .runs()
                    .insert(thread.clone(), seq.saturating_sub(1));
            }
        });
        let end = async move {
            done.runs().remove(&name);
            stream::empty()
        };
        seen.chain(end.flatten_stream())
    }

    fn runs(&self) -> std::sync::MutexGuard<'_, HashMap<String, Seq>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn answers(resume: Resume) -> Result<Answers, BoxError> {
    let mut answers = Answers::none();
    for answered in resume.answers {
        let value = match answered.reply {
            // Who cancels does not want it.
            ReplyForm::Cancel => Value::Bool(false),
            reply => reply.into_value(),
        };
        answers = match (answered.id, answered.digest) {
            (Some(id), Some(digest)) => answers.approving(id, value, digest)?,
            (Some(id), None) => answers.and(id, value)?,
            (None, _) => Answers::only(value)?,
        };
    }
    Ok(answers)
}

/// The text of the last message, in whatever form the protocol has for it.
pub(crate) fn last_text(request: &Value) -> String {
    let messages = request.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.last());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let whole = last.and_then(|last| text(last.get("content")?));
    let parts = || {
        let parts = last?.get("parts")?.as_array()?;
        parts.iter().find_map(|part| text(part.get("text")?))
    };
    whole.or_else(parts).unwrap_or_default()
}
