//! An exchange, a store, and conversations with a planner over both.
use std::sync::Arc;

use fugato::{
    BoxError, ChatModel, ChatRequest, ThreadId,
    axum::{Caller, SendOutcome, UserMessage},
    memory::ExecutionStatus,
    state::Millis,
    store::MemoryDocs,
    words::Phrases,
};
use fugato_testkit::{
    Scripted, ScriptedReply,
    consent::WorldStore,
    session::{Session, Turn, TurnEnd, WordHandler, WordOutcome},
};
use futures::FutureExt as _;
use planner::{
    exchange::Exchange,
    graph::{Deps, PlanningMode},
    service::{Planner, PlannerReply},
    session,
};
use serde_json::{Value, json};

pub(crate) type TestResult = Result<(), BoxError>;

/// A conversation of `ada` with the planner, in her session `one`.
pub(crate) type Talk = Session<session::PlannerSession>;

/// The world outside of the planner, which outlives it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) desk: Exchange,
    pub(crate) docs: Arc<MemoryDocs>,
    pub(crate) store: Arc<WorldStore>,
}

/// The time at which tests begin.
pub(crate) const START: Millis = 1_800_000_000_000;

impl World {
    pub(crate) fn new() -> Result<Self, BoxError> {
        Self::over(WorldStore::in_memory())
    }

    /// The same over this store, whose clock is that of the exchange, too.
    pub(crate) fn over(store: impl Into<Arc<WorldStore>>) -> Result<Self, BoxError> {
        let store = store.into();
        let clock = store.clock().clone();
        Ok(Self {
            desk: Exchange::in_memory()?.clock(move || clock.now()),
            docs: Arc::default(),
            store,
        })
    }

    /// Returns a new world, a model with this script, and a conversation with a planner that asks
    /// it.
    pub(crate) fn scripted<R: Into<ScriptedReply>>(
        script: impl IntoIterator<Item = R>,
    ) -> Result<(Self, Scripted, Talk), BoxError> {
        let (world, model) = (Self::new()?, Scripted::new(script));
        let talk = world.with(model.clone());
        Ok((world, model, talk))
    }

    /// Advances the clock.
    pub(crate) fn wait(&self, millis: Millis) {
        self.store.clock().advance(millis);
    }

    pub(crate) fn deps(&self) -> Deps {
        Deps::new(self.desk.clone(), self.docs.clone())
    }

    /// Returns the planner as one process opens it.
    pub(crate) fn planner(&self) -> Result<Planner, BoxError> {
        Ok(Planner::new(&self.deps(), Arc::new(self.store.open()?))?)
    }

    /// Returns the document under a key of a person.
    pub(crate) async fn config(&self, key: &str) -> Result<Value, BoxError> {
        let document = self.planner()?.config(key).await?;
        Ok(document.ok_or("there is no such document")?)
    }

    /// Begins a conversation with a planner that decides by rule.
    pub(crate) fn talk(&self) -> Talk {
        self.talk_with(self.deps())
    }

    pub(crate) fn with(&self, model: impl ChatModel + 'static) -> Talk {
        self.talk_with(self.deps().model(model))
    }

    pub(crate) fn in_manner(&self, manner: PlanningMode) -> Talk {
        self.talk_with(self.deps().manner(manner))
    }

    pub(crate) fn talk_with(&self, deps: Deps) -> Talk {
        let open = move |log| {
            let planner = Planner::new(&deps, log).expect("the wiring is checked");
            let runner = planner.runner().clone();
            let handler: WordHandler<session::PlannerSession> = Arc::new(move |thread, words| {
                let planner = planner.clone();
                async move { handle(&planner, &thread, words).await }.boxed()
            });
            (runner, handler)
        };
        let talk = Session::with_handler(open).over(self.store.clone());
        talk.thread_named("ada.one").without_events()
    }
}

/// Says something in a session of a person, which has the thread's name; a yes or no to a card is
/// said with the code of the card.
pub(crate) async fn handle(
    planner: &Planner,
    thread: &ThreadId,
    words: String,
) -> Result<WordOutcome<session::PlannerSession>, BoxError> {
    let user = thread.as_str().split('.').next().unwrap_or_default();
    let open = planner.runner().interrupts(thread).await?;
    let card = open.iter().find(|asked| asked.question.digest.is_some());
    let words = match (Phrases::default().consent(&words), card) {
        (Some(_), Some(card)) => format!("{words} {}", card.id.code()),
        _ => words,
    };
    let words = UserMessage::new(Caller::default().user(user), words);
    Ok(match fugato::axum::say(planner, thread, words).await? {
        SendOutcome::Run(run) => WordOutcome::Run(run),
        SendOutcome::Unchanged(ended) => WordOutcome::Told(PlannerReply::of(&ended).text),
        SendOutcome::Told(text) => WordOutcome::Told(text),
    })
}

/// Returns the reply of a turn: an answer or a question. The codes of cards, which differ from run
/// to run, are left out.
pub(crate) fn reply(turn: &Turn<session::PlannerSession>) -> String {
    if let TurnEnd::Told(text) = &turn.end {
        return text.clone();
    }
    let ended = turn.result();
    let codes = ended.interrupts().iter().map(|asked| asked.id.code());
    let text = PlannerReply::of(ended).text;
    codes.fold(text, |text, code| text.replace(&format!(" {code}"), ""))
}

/// Says something, and returns the reply.
pub(crate) async fn say(talk: &Talk, words: &str) -> String {
    reply(&talk.say(words).await)
}

pub(crate) async fn status(talk: &Talk) -> ExecutionStatus {
    talk.state().await.work.status()
}

/// The plan of a model.
pub(crate) fn plan(steps: &[Value]) -> ScriptedReply {
    json!({ "goal": "", "steps": steps }).into()
}

pub(crate) fn respond() -> Value {
    json!({ "type": "respond", "instruction": "Tell what came of it." })
}

pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "type": "tool", "tool_name": tool, "tool_args": arguments })
}

/// Returns a step that buys a quarter of a bitcoin.
pub(crate) fn order() -> Value {
    let order = json!({ "symbol": "BTC-USDT", "side": "buy", "quantity": "0.25" });
    call("place_order", &order)
}

/// Returns three answers of which none can be used, so that the loop takes over.
pub(crate) fn no_json() -> [ScriptedReply; 3] {
    ["no JSON"; 3].map(ScriptedReply::text)
}

pub(crate) fn text_of(request: &ChatRequest) -> String {
    let messages = request.messages.iter();
    let texts: Vec<_> = messages.map(|message| &*message.content).collect();
    texts.join("\n")
}

/// Returns the text of the last request to the model.
pub(crate) fn last(model: &Scripted) -> String {
    model.requests().last().map(text_of).unwrap_or_default()
}

pub(crate) fn finish() -> ScriptedReply {
    json!({ "action": "finish", "instruction": "Tell what came of it." }).into()
}
