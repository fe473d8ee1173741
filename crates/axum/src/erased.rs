//! An agent without its types.
use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::http::StatusCode;
use fugato_graph::{
    Attribution, Events, Graph, HistoryEntry, HistoryEvent, Run, RunError, RunResult, Runner,
    StateEdit, ThreadStatus, Worker,
};
use fugato_state::{Interrupt, Lang, Seq, State, ThreadId, say};
use fugato_store::{Head, ThreadAdmin, ThreadLog};
use fugato_stream::{Event, QuestionAnswer, ReplyForm};
use futures::{
    FutureExt as _, StreamExt as _,
    future::{self, BoxFuture},
    stream::{self, BoxStream},
};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::{
    Caller, ServedAgent, ThreadAccess, TimelineItem, UserMessage,
    error::{ApiError, ApiResult},
    send::{
        self, SendOutcome,
        answer::{GivenAnswers, answer, shown, with_fields},
        speak,
    },
    timeline::reader::{Timeline, TimelineEntry},
};

/// The number of records in one read.
const AT_ONCE: usize = 1000;

/// A run that was asked for.
pub(crate) struct StartedRun {
    pub(crate) events: BoxStream<'static, Event>,
    pub(crate) end: BoxFuture<'static, Result<RunRest, RunError>>,
    /// The title that is made after the run.
    pub(crate) title: oneshot::Receiver<TitleTask>,
}

/// The making of a title, which ends with the storing of it.
pub(crate) type TitleTask = BoxFuture<'static, Option<BoxFuture<'static, Result<(), RunError>>>>;

/// The answers of one request.
pub(crate) struct AnswerRequest {
    /// The client's own key of the request.
    pub(crate) key: Option<String>,
    pub(crate) door: &'static str,
    pub(crate) answers: Vec<QuestionAnswer>,
    /// The further fields of the request.
    pub(crate) extra: Map<String, Value>,
}

/// The ways in which a run comes to rest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RunRest {
    Finished(Option<Value>),
    Interrupted(Vec<Interrupt>),
    /// It goes on later, or nothing of it is left.
    Other,
}

/// A thread at one position.
pub(crate) struct ThreadView {
    pub(crate) head: Seq,
    pub(crate) standing: ThreadStatus,
    pub(crate) title: Option<String>,
}

#[async_trait]
pub(crate) trait DynAgent: Send + Sync {
    fn name(&self) -> &str;
    fn models(&self, caller: &Caller) -> Vec<String>;
    fn graph(&self) -> Value;
    fn log(&self) -> &dyn ThreadLog;
    fn admin(&self) -> Option<&dyn ThreadAdmin>;
    async fn allows(
        &self,
        caller: &Caller,
        thread: &ThreadId,
        access: ThreadAccess,
    ) -> ApiResult<()>;
    async fn start(
        &self,
        thread: &ThreadId,
        key: Option<String>,
        said: UserMessage,
    ) -> ApiResult<StartedRun>;
    async fn resume(
        &self,
        thread: &ThreadId,
        caller: &Caller,
        answering: AnswerRequest,
    ) -> ApiResult<StartedRun>;
    fn recover(&self, thread: &ThreadId) -> StartedRun;
    fn retry(&self, thread: &ThreadId) -> StartedRun;
    async fn cancel(&self, thread: &ThreadId, by: &str, why: &str) -> Result<(), RunError>;
    async fn plain_reply(&self, said: &UserMessage, error: &RunError) -> Option<String>;
    fn events(&self, thread: &ThreadId, after: Seq) -> Events;
    fn follow(&self, thread: &ThreadId, after: Seq) -> Events;
    fn is_live(&self, thread: &ThreadId) -> bool;
    async fn standing(&self, thread: &ThreadId) -> Result<ThreadStatus, RunError>;
    async fn look(&self, thread: &ThreadId) -> Result<Option<ThreadView>, RunError>;
    async fn title(&self, thread: &ThreadId, at: Seq) -> Result<Option<String>, RunError>;
    async fn timeline(
        &self,
        thread: &ThreadId,
        head: &Head,
    ) -> Result<Vec<TimelineEntry>, RunError>;
    async fn state(&self, thread: &ThreadId, at: Seq) -> Result<Value, RunError>;
    async fn history(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>, RunError>;
    async fn fork(&self, thread: &ThreadId, at: Seq, new: &ThreadId) -> Result<(), RunError>;
    async fn hand_over(&self, grace: Duration) -> usize;
    async fn lang(&self, thread: &ThreadId, words: &str) -> Lang;
    async fn work(&self, stop: BoxFuture<'static, ()>);
}

/// An agent with its types.
pub(crate) struct ErasedAgent<A>(pub(crate) Arc<A>);

impl<A: ServedAgent> ErasedAgent<A> {
    fn runner(&self) -> &Runner<A::State> {
        self.0.runner()
    }
}

#[async_trait]
impl<A: ServedAgent> DynAgent for ErasedAgent<A> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn models(&self, caller: &Caller) -> Vec<String> {
        self.0.models(caller)
    }

    fn graph(&self) -> Value {
        drawn(self.0.name(), self.runner().graph())
    }

    fn log(&self) -> &dyn ThreadLog {
        &**self.runner().log()
    }

    fn admin(&self) -> Option<&dyn ThreadAdmin> {
        self.runner().admin().map(|admin| &**admin)
    }

    async fn allows(
        &self,
        caller: &Caller,
        thread: &ThreadId,
        access: ThreadAccess,
    ) -> ApiResult<()> {
        Ok(self.0.allows(caller, thread, access).await?)
    }

    async fn start(
        &self,
        thread: &ThreadId,
        key: Option<String>,
        said: UserMessage,
    ) -> ApiResult<StartedRun> {
        let spoken = self
            .runner()
            .in_place(Box::pin(speak(&*self.0, thread, key, said)));
        Ok(match spoken.await? {
            SendOutcome::Run(run) => self.begun(thread, run),
            SendOutcome::Unchanged(ended) => resting(rest(ended)),
            SendOutcome::Told(text) => resting(RunRest::Finished(Some(Value::String(text)))),
        })
    }

    async fn resume(
        &self,
        thread: &ThreadId,
        caller: &Caller,
        answering: AnswerRequest,
    ) -> ApiResult<StartedRun> {
        let open = self.runner().interrupts(thread).await?;
        let AnswerRequest {
            key,
            door,
            answers,
            extra,
        } = answering;
        let sent = with_fields(answers.iter().map(sent).collect(), &extra);
        let is_named = answers.iter().all(|answered| answered.id.is_some());
        let named = match key {
            Some(key) => Some((key, sent)),
            None => is_named.then(|| shown(sent)),
        };
        if open.is_empty() && named.is_none() && self.runner().is_live(thread) {
            let message = say!(
                "a run of the thread is under way, and asks nothing",
                "线程正在运行，没有提问"
            );
            let busy = ApiError::new(StatusCode::CONFLICT, "busy", message);
            return Err(busy.retry_after(Duration::from_secs(1)));
        }
        let given = GivenAnswers {
            named,
            by: Attribution::new(caller.name(), door),
            answers,
            extra,
        };
        let answered = answer(&*self.0, thread, caller, given, &open);
        let run = self.runner().in_place(answered).await?;
        Ok(self.begun(thread, run))
    }

    fn recover(&self, thread: &ThreadId) -> StartedRun {
        self.begun(thread, self.runner().recover(thread))
    }

    fn retry(&self, thread: &ThreadId) -> StartedRun {
        self.begun(thread, self.runner().retry(thread))
    }

    async fn cancel(&self, thread: &ThreadId, by: &str, why: &str) -> Result<(), RunError> {
        self.runner().cancel(thread, by, why).await
    }

    async fn plain_reply(&self, said: &UserMessage, error: &RunError) -> Option<String> {
        send::plain_reply(&*self.0, said, error).await
    }

    fn events(&self, thread: &ThreadId, after: Seq) -> Events {
        self.runner().events(thread, after)
    }

    fn follow(&self, thread: &ThreadId, after: Seq) -> Events {
        self.runner().follow(thread, after)
    }

    fn is_live(&self, thread: &ThreadId) -> bool {
        self.runner().is_live(thread)
    }

    async fn standing(&self, thread: &ThreadId) -> Result<ThreadStatus, RunError> {
        self.runner().status(thread).await
    }

    async fn look(&self, thread: &ThreadId) -> Result<Option<ThreadView>, RunError> {
        let look = self.runner().look(thread).await?;
        Ok(look.map(|look| ThreadView {
            head: look.head,
            title: self.0.title(&look.state),
            standing: look.standing,
        }))
    }

    async fn title(&self, thread: &ThreadId, at: Seq) -> Result<Option<String>, RunError> {
        let state = self.runner().state_at(thread, at).await?;
        Ok(self.0.title(&state))
    }

    async fn timeline(
        &self,
        thread: &ThreadId,
        head: &Head,
    ) -> Result<Vec<TimelineEntry>, RunError> {
        if self.0.timeline_items(&[]).is_none() {
            let mut timeline = Timeline::default();
            let state = self.runner().state_at(thread, head.seq).await?;
            timeline.add(head.seq, self.0.timeline(&state));
            return Ok(timeline.into_items());
        }
        let (mut entries, mut base) = (vec![], head.base);
        let mut from = base + 1;
        while from <= head.seq {
            let read = self.runner().history(thread, from, AT_ONCE).await?;
            let Some(last) = read.last() else { break };
            from = last.seq + 1;
            entries.extend(read.into_iter().filter(|entry| entry.seq <= head.seq));
        }
        // Changes of an older version are no longer understood; the state that they produced is.
        let taken_over = |entry: &HistoryEntry| entry.event() == HistoryEvent::Migrated;
        if let Some(last) = entries.iter().rposition(taken_over) {
            base = entries.get(last).map_or(base, |entry| entry.seq);
            entries.drain(..=last);
        }
        let mut timeline = Timeline::default();
        if base > 0 {
            let state = self.runner().state_at(thread, base).await?;
            timeline.add(base, self.0.timeline(&state));
        }
        for entry in &entries {
            timeline.read((entry.seq, &entry.scope), entry.event(), |changes| {
                self.told(changes)
            });
        }
        Ok(timeline.into_items())
    }

    async fn state(&self, thread: &ThreadId, at: Seq) -> Result<Value, RunError> {
        let state = self.runner().state_at(thread, at).await?;
        Ok(serde_json::to_value(&*state)?)
    }

    async fn history(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>, RunError> {
        self.runner().history(thread, from, limit).await
    }

    async fn fork(&self, thread: &ThreadId, at: Seq, new: &ThreadId) -> Result<(), RunError> {
        self.runner().fork(thread, at, new).await
    }

    async fn hand_over(&self, grace: Duration) -> usize {
        self.runner().close();
        self.runner().hand_over(grace).await
    }

    async fn lang(&self, thread: &ThreadId, words: &str) -> Lang {
        send::language(self.runner(), thread, words).await
    }

    async fn work(&self, stop: BoxFuture<'static, ()>) {
        Worker::new(self.runner().clone()).run_until(stop).await;
    }
}

impl<A: ServedAgent> ErasedAgent<A> {
    fn begun(&self, thread: &ThreadId, run: Run<A::State>) -> StartedRun {
        let (events, end) = run.split();
        let (send, title) = oneshot::channel();
        let (agent, thread) = (self.0.clone(), thread.clone());
        let end = end.map(move |end| {
            let end = end?;
            if let RunResult::Finished { state, .. } = &end
                && let Some(task) = title_task(agent, thread, state)
            {
                // Without a receiver nobody stores the title.
                drop(send.send(task));
            }
            Ok(rest(end))
        });
        StartedRun {
            events: events.boxed(),
            end: end.boxed(),
            title,
        }
    }

    /// Returns the items of the changes of a record; none if they do not parse.
    fn told(&self, changes: &str) -> Vec<TimelineItem> {
        let changes: Result<Vec<<A::State as State>::Update>, _> = serde_json::from_str(changes);
        self.0
            .timeline_items(&changes.unwrap_or_default())
            .unwrap_or_default()
    }
}

/// Returns the parts of an answer that decide if two requests are the same.
fn sent(answered: &QuestionAnswer) -> Value {
    let QuestionAnswer {
        id,
        reply,
        reason,
        digest,
        ..
    } = answered;
    let reply = match reply {
        ReplyForm::Approve => json!("approve"),
        ReplyForm::Reject => json!("reject"),
        ReplyForm::Cancel => json!("cancel"),
        ReplyForm::Value(value) => json!([value]),
        _ => Value::Null,
    };
    json!([id, reply, reason, digest])
}

fn title_task<A: ServedAgent>(
    agent: Arc<A>,
    thread: ThreadId,
    state: &A::State,
) -> Option<TitleTask> {
    let title = agent.title_update(state)?;
    let stored = title.map(|update| {
        let edit = StateEdit::new([update?], agent.name(), "title");
        let amended = async move { agent.runner().amend(&thread, edit).await.map(|_| ()) };
        Some(amended.boxed())
    });
    Some(stored.boxed())
}

/// Returns a run that changes nothing and is at rest.
fn resting(rest: RunRest) -> StartedRun {
    StartedRun {
        events: stream::empty().boxed(),
        end: future::ready(Ok(rest)).boxed(),
        title: oneshot::channel().1,
    }
}

fn rest<S: State>(ended: RunResult<S>) -> RunRest {
    match ended {
        RunResult::Finished { output, .. } => RunRest::Finished(output),
        RunResult::Interrupted { interrupts, .. } => RunRest::Interrupted(interrupts),
        _ => RunRest::Other,
    }
}

fn drawn<S: State>(name: &str, graph: &Graph<S>) -> Value {
    let nodes: Vec<Arc<str>> = graph.node_names().collect();
    json!({
        "name": name,
        "fingerprint": graph.fingerprint(),
        "nodes": nodes,
        "mermaid": graph.to_mermaid(),
        "dot": graph.to_dot(),
    })
}
