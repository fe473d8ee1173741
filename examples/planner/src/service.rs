//! The planner as a service: a message in, a reply out.
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use fugato::{
    Answers, Graph, Interrupt, Message, RunError, RunResult, Runner, ThreadId,
    agent::{memory::to_remember, plan::FactState as _},
    axum::{
        BadInput, Caller, MessageIntent, SendError, SendOutcome, ServedAgent, ThreadAccess,
        TimelineItem, UserMessage, belongs, say, timeline, title,
    },
    cli::Lang,
    memory::{DialogueTurn, ExecutionUpdate, HistoryUpdate, PersonLayers, Speaker, WorldSnapshot},
    state::{InvalidThreadId, Millis, Role, State as _, say},
    store::ThreadStore,
    words::{MessageMeaning, PendingWork, Phrases, ShortAnswer, after_word, decided, is_question},
};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{
    answer, command, correction,
    exchange::Exchange,
    facts::{Topic, declared},
    graph::{Deps, WiringError, graph},
    intent::{self, UserWish},
    rules::{self, read_out},
    session::{PlannerSession, SessionUpdate},
    view,
};

/// The planner, over a store of threads.
#[derive(Clone, Debug)]
pub struct Planner {
    runner: Runner<PlannerSession>,
    users: PersonLayers,
    desk: Exchange,
}

/// The reply to a message.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlannerReply {
    /// The text for the person: an answer, or a question.
    pub text: String,
    /// The question that waits, if one does.
    pub waiting: Option<Interrupt>,
}

/// A message had no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlannerError {
    /// The message could not be sent.
    #[error("{}", say!("it could not be said", "没能发送"))]
    Said(#[from] SendError),
    /// The run did not come to its end.
    #[error("{}", say!("the run did not come to its end", "运行没有结束"))]
    Run(#[from] RunError),
    /// It is a question about the session. The text answers it, and no run is started.
    #[error("{0}")]
    Told(String),
    /// The name of a session is not a valid thread name.
    #[error(transparent)]
    Name(#[from] InvalidThreadId),
}

/// The run that a message starts: a stream of its events, and a future of its end.
pub type Stream = (
    fugato::graph::Events,
    BoxFuture<'static, Result<RunResult<PlannerSession>, RunError>>,
);

impl Planner {
    /// Creates a planner over a store.
    pub fn new<T: ThreadStore + 'static>(deps: &Deps, store: Arc<T>) -> Result<Self, WiringError> {
        Self::on(deps, |graph| Runner::new(graph, store))
    }

    /// Creates a planner on a runner that the caller builds.
    pub fn on(
        deps: &Deps,
        runner: impl FnOnce(Graph<PlannerSession>) -> Runner<PlannerSession>,
    ) -> Result<Self, WiringError> {
        let (runner, users) = (runner(graph(deps)?), deps.users().clone());
        let desk = deps.desk().clone();
        Ok(Self {
            runner,
            users,
            desk,
        })
    }

    /// Returns the runner, to look back, answer by id, or cancel.
    pub fn runner(&self) -> &Runner<PlannerSession> {
        &self.runner
    }

    /// Returns the thread of a session. A person may have any number of them.
    pub fn thread(user: &str, session: &str) -> Result<ThreadId, InvalidThreadId> {
        ThreadId::new(format!("{user}.{session}"))
    }

    /// Sends a message in a session, and waits for the reply. The message answers an open question,
    /// or replaces it.
    pub async fn handle_message(
        &self,
        user: &str,
        session: &str,
        text: &str,
    ) -> Result<PlannerReply, PlannerError> {
        let thread = Self::thread(user, session)?;
        Ok(match say(self, &thread, said(user, text)).await? {
            SendOutcome::Run(run) => PlannerReply::of(&run.await?),
            SendOutcome::Unchanged(ended) => PlannerReply::of(&ended),
            SendOutcome::Told(text) => {
                let open = self.runner.interrupts(&thread).await?;
                let waiting = open.into_iter().next();
                PlannerReply { text, waiting }
            }
        })
    }

    /// Sends a message in a session, and returns a stream of its events and a future of its end,
    /// which [`PlannerReply::of`] turns into a reply.
    pub async fn handle_message_stream(
        &self,
        user: &str,
        session: &str,
        text: &str,
    ) -> Result<Stream, PlannerError> {
        let thread = Self::thread(user, session)?;
        match say(self, &thread, said(user, text)).await? {
            SendOutcome::Run(run) => Ok(run.split()),
            SendOutcome::Unchanged(ended) => Err(PlannerError::Told(PlannerReply::of(&ended).text)),
            SendOutcome::Told(text) => Err(PlannerError::Told(text)),
        }
    }

    /// Returns what words under a card ask for, as it is now; none if they ask for nothing that can
    /// be looked up.
    async fn looked_up(
        &self,
        session: &PlannerSession,
        text: &str,
    ) -> Result<Option<String>, BadInput> {
        let asks = intent::asks_about(text) || is_question(text);
        if !asks || intent::wish(text) != UserWish::Told {
            return Ok(None);
        }
        let mut now = session.clone();
        now.message.text = text.to_owned();
        let about = now.about();
        let about: Vec<&str> = about.iter().map(String::as_str).collect();
        for kind in declared().due(&about, |_| None, 0) {
            let found = self.desk.fetch(&kind).await;
            let unread = |error| {
                BadInput::new(say!("the desk cannot be read", "读不到交易台")).because(error)
            };
            let value = found.map_err(unread)?;
            // An older look gives way to a newer one.
            let at = Millis::MAX;
            let snapshot = WorldSnapshot { value, at };
            now.apply(SessionUpdate::Execution(ExecutionUpdate::Seen {
                kind,
                snapshot,
            }));
        }
        // "What will that cost?" is about the order of the card.
        let names_none = intent::assets(text).is_empty() && intent::untraded(text, &[]).is_none();
        let of_card = || rules::card_quote(&now, Lang::of(text));
        let is_cost = intent::topics(text).contains(&Topic::Prices);
        let quote = (names_none && is_cost).then(of_card).flatten();
        Ok(quote.or_else(|| read_out(&now, text)))
    }

    /// Returns the document under a key of a person: `agent_task_state_…` and `agent_preferences_…`
    /// are stored documents, and `agent_execution_state_…` is read from the person's sessions.
    pub async fn config(&self, key: &str) -> Result<Option<Value>, PlannerError> {
        let Some(user) = key.strip_prefix("agent_execution_state_") else {
            let document = self.users.document(key).await;
            return document.map_err(|error| PlannerError::Run(error.into()));
        };
        let mut states = Map::new();
        for thread in self.runner.threads().await? {
            let session = self.runner.state(&thread).await?;
            if let Some(session) = session.filter(|session| session.user == user) {
                let name = thread.as_str();
                states.insert(name.to_owned(), view::execution_state(&session, name));
            }
        }
        Ok((!states.is_empty()).then_some(Value::Object(states)))
    }
}

/// Returns what a client says was said before. Its answers may name prices and balances of then, so
/// they are no facts of now.
fn earlier(words: &UserMessage) -> Vec<SessionUpdate> {
    // The client does not say when; what is old would be forgotten at once.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
    let turn = |message: Message| {
        let speaker = match message.role {
            Role::User => Speaker::User,
            _ => Speaker::Assistant,
        };
        let turn = DialogueTurn::new(speaker, message.content, now);
        SessionUpdate::History(HistoryUpdate::Said(
            turn.passing(speaker == Speaker::Assistant),
        ))
    };
    words.earlier().into_iter().map(turn).collect()
}

/// Returns the account of the caller, or `home` if there is none.
fn user(caller: &Caller) -> String {
    caller.account().unwrap_or_else(|| "home".to_owned())
}

fn said(user: &str, text: &str) -> UserMessage {
    UserMessage::new(Caller::default().user(user), text)
}

/// Returns true if the text cannot be an answer: it is a command or another request.
fn is_new(text: &str) -> bool {
    if intent::takes_market(text) && intent::side(text).is_none() {
        return false;
    }
    text.starts_with('/')
        || intent::asks_about(text)
        || intent::wish(text) != UserWish::Told
        || to_remember(text).is_some()
}

impl PlannerReply {
    /// Returns the reply of a run.
    pub fn of(ended: &RunResult<PlannerSession>) -> Self {
        let waiting = ended.interrupts().first().cloned();
        let text = match &waiting {
            Some(asked) => question(asked, ended.state().lang()),
            None => ended.state().reply.clone(),
        };
        Self { text, waiting }
    }
}

/// Returns a question as text; that of a card is what would be done.
fn question(asked: &Interrupt, lang: Lang) -> String {
    let prompt = &asked.question.prompt;
    let part = |name| prompt.get(name).and_then(Value::as_str);
    match (prompt.as_str(), part("title"), part("summary")) {
        (Some(text), ..) => text.to_owned(),
        (None, Some(title), Some(summary)) => {
            let code = asked.id.code();
            lang.pick(
                format!("{title}: {summary}? (yes {code} / no {code})"),
                format!("{title}：{summary}？（好的 {code} / 不要 {code}）"),
            )
        }
        _ => prompt.to_string(),
    }
}

/// Returns true if words ask something themselves and are no answer, such as "is harbour better than
/// glimmer?". A mark alone asks whether an answer will do: "harbour?"
fn asks_back(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let proposes = after_word(&lower, &["how about", "what about"]).is_some();
    !proposes && is_question(lower.trim_end_matches(['?', '？']))
}

/// Returns the reply to words that do not decide the open card, which stays as it is. The content
/// of the card is not repeated: it may have changed, which is checked on approval.
fn waits() -> String {
    let waits = still_waits();
    say!(
        "I did not understand that; nothing has changed. {waits}",
        "没听懂，什么都没有改变。{waits}"
    )
}

fn still_waits() -> String {
    say!(
        "The card still waits: answer it as it says.",
        "卡片还在等待：请按卡片上写的回答。"
    )
}

#[async_trait]
impl ServedAgent for Planner {
    type State = PlannerSession;

    fn name(&self) -> &'static str {
        "planner"
    }

    fn longest_message(&self) -> usize {
        20_000
    }

    fn runner(&self) -> &Runner<PlannerSession> {
        &self.runner
    }

    async fn allows(
        &self,
        caller: &Caller,
        thread: &ThreadId,
        _: ThreadAccess,
    ) -> Result<(), BadInput> {
        belongs(&self.runner, thread, |session| session.user == user(caller)).await
    }

    async fn input(&self, words: UserMessage) -> Result<Vec<SessionUpdate>, BadInput> {
        let words = words.in_words()?;
        let mut updates = earlier(&words);
        let (user, text) = (user(&words.caller), words.text);
        updates.push(SessionUpdate::Said { user, text });
        Ok(updates)
    }

    /// An open question gets the words as its answer, `continue` and `yes` included. Only `start
    /// over`, `cancel`, a command or another request replaces it.
    async fn intent(
        &self,
        thread: &ThreadId,
        words: &UserMessage,
    ) -> Result<MessageIntent, BadInput> {
        let unread = |error: RunError| {
            BadInput::new(say!("the session cannot be read", "读不到这个会话")).because(error)
        };
        let open = self.runner.interrupts(thread).await.map_err(unread)?;
        let name = thread.as_str();
        let Some(asked) = open.first() else {
            return Ok(MessageIntent::Request);
        };
        let is_approval = asked.question.digest.is_some();
        if is_approval
            && let Some((true, rest)) = decided(&words.text)
            && is_new(&rest)
        {
            let waits = still_waits();
            return Ok(MessageIntent::Told(say!(
                "Nothing was done yet: agree to the card alone, and say “{rest}” after it. {waits}",
                "还什么都没有做：请先单独回答卡片，再说“{rest}”。{waits}"
            )));
        }
        let session = self.runner.state(thread).await.map_err(unread)?;
        let session = session.unwrap_or_default();
        let text = correction::wanted(&session, &words.text);
        let text = text.trim();
        if command::only_tells(text) || intent::asks_status(text) {
            let told = command::told(&session, name, text);
            return Ok(MessageIntent::Told(told));
        }
        if !is_approval && intent::greets(text) && !intent::asks_about(text) {
            let told = answer::small_talk(text, Lang::of(text));
            return Ok(MessageIntent::Told(format!(
                "{told}\n{}",
                question(asked, session.lang())
            )));
        }
        // A question for a part of a wish is left with a no; to any other, a no is an answer.
        let asks_for = session.work.running().map(|step| &step.draft.missing);
        let lacks = asks_for.is_some_and(|missing| !missing.is_empty());
        let is_no = ShortAnswer::of(text) == Some(ShortAnswer::No) || intent::takes_back(text);
        let leaves = !is_approval && lacks && is_no;
        if text.is_empty()
            || leaves
            || ShortAnswer::leading(text) == Some(ShortAnswer::Cancel)
            || is_approval && correction::corrected(&session, text).is_some()
        {
            return Ok(MessageIntent::Instead);
        }
        if is_approval && let Some(told) = self.looked_up(&session, text).await? {
            let waits = still_waits();
            return Ok(MessageIntent::Told(format!("{told}\n{waits}")));
        }
        if !is_approval && asks_back(text) && !is_new(text) {
            let open = question(asked, session.lang());
            return Ok(MessageIntent::Told(say!(
                "That is a question, so nothing was chosen.\n{open}",
                "这是一个提问，所以还什么都没有选。\n{open}"
            )));
        }
        match Phrases::default().meaning(text, PendingWork::Answer, is_new) {
            // Words that decide a card were handled before; other words leave it as it is.
            MessageMeaning::Continue(None) if is_approval => {
                return Ok(MessageIntent::Told(waits()));
            }
            MessageMeaning::Continue(_) if !is_approval => {}
            _ => return Ok(MessageIntent::Instead),
        }
        let answers = Answers::to(asked.id.clone(), text);
        let unfit =
            |error| BadInput::new(say!("the answer is of no use", "这个回答用不了")).because(error);
        Ok(MessageIntent::Answer(answers.map_err(unfit)?))
    }

    fn title(&self, session: &PlannerSession) -> Option<String> {
        title(&[Message::user(session.title.clone())])
    }

    fn timeline_items(&self, changes: &[SessionUpdate]) -> Option<Vec<TimelineItem>> {
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

    fn timeline(&self, session: &PlannerSession) -> Vec<TimelineItem> {
        let turns = session.history.turns().iter();
        let said = turns.map(|turn| match turn.by {
            Speaker::User => Message::user(&turn.text),
            Speaker::Assistant => Message::assistant(&turn.text),
        });
        timeline(&said.collect::<Vec<_>>())
    }
}
