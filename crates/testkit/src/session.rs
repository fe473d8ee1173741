//! An agent, tested as a conversation.
mod kill;
mod transcript;
mod turn;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fugato_graph::{Answers, BoxError, IntoUpdates, Run, RunError, Runner};
use fugato_state::{Interrupt, State, ThreadId};
use fugato_store::ThreadStore;
use fugato_stream::{Event, EventKind};
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture};
use serde::Serialize;
use serde_json::Value;

pub use kill::{KillSwitch, SessionLog};
pub use turn::{Turn, TurnEnd};

use self::transcript::{Transcript, plain};
use crate::consent::WorldStore;

/// A conversation with an agent over a store that outlives it.
///
/// Words are said and cards are answered, as a person does it; between any two lines, and amid a
/// turn, the process may die and the agent be opened anew over the same store. The transcript is
/// the same in every run, so a test is a script and one snapshot.
///
/// The README shows how it is used.
///
/// An agent that decides by itself what words do, such as a service around a runner, is opened by
/// [`with_handler`](Self::with_handler).
///
/// # Cancellation safety
/// A turn that is dropped goes on; the next line waits for its end, or finds the thread busy.
pub struct Session<S: State> {
    open: Arc<Open<S>>,
    store: Arc<WorldStore>,
    thread: ThreadId,
    button: fn(bool) -> Value,
    shows_events: bool,
    now: Mutex<Option<Process<S>>>,
    transcript: Mutex<Transcript>,
}

type Open<S> = dyn Fn(Arc<SessionLog>) -> (Runner<S>, WordHandler<S>) + Send + Sync;

/// The way in which words reach an agent.
pub type WordHandler<S> = Arc<
    dyn Fn(ThreadId, String) -> BoxFuture<'static, Result<WordOutcome<S>, BoxError>> + Send + Sync,
>;

/// The outcome of words.
#[derive(Debug)]
pub enum WordOutcome<S: State> {
    /// A run follows.
    Run(Run<S>),
    /// A reply, without a run.
    Told(String),
}

/// The agent as one process opened it.
struct Process<S: State> {
    runner: Runner<S>,
    handler: WordHandler<S>,
    switch: Arc<KillSwitch>,
    /// The card that the person sees.
    card: Option<Interrupt>,
}

impl<S: State> Session<S> {
    /// Creates a session with the agent that `open` opens over a log. Words begin a run with the
    /// updates that `words` makes of them. The log is in memory, and its clock is moved by
    /// [`reopen`](Self::reopen) alone.
    pub fn new<I, M>(
        open: impl Fn(Arc<SessionLog>) -> Runner<S> + Send + Sync + 'static,
        words: impl Fn(&str) -> I + Send + Sync + 'static,
    ) -> Self
    where
        I: IntoUpdates<S::Update, M> + Send + 'static,
        M: 'static,
    {
        let words = Arc::new(words);
        Self::with_handler(move |log| {
            let (runner, words) = (open(log), words.clone());
            let starts = runner.clone();
            let handler: WordHandler<S> = Arc::new(move |thread, text| {
                let run = starts.start(&thread, words(&text));
                async { Ok(WordOutcome::Run(run)) }.boxed()
            });
            (runner, handler)
        })
    }

    /// Creates a session with an agent that decides by itself what words do, such as to answer the
    /// open question: `open` returns it as a runner, and as a function that gets words.
    #[expect(
        clippy::missing_panics_doc,
        reason = "the name of the thread is a constant"
    )]
    pub fn with_handler(
        open: impl Fn(Arc<SessionLog>) -> (Runner<S>, WordHandler<S>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            open: Arc::new(open),
            store: Arc::new(WorldStore::in_memory()),
            thread: ThreadId::new("session").expect("a short name"),
            button: Value::from,
            shows_events: true,
            now: Mutex::default(),
            transcript: Mutex::default(),
        }
    }

    /// Sets the store, before the agent is opened.
    #[must_use]
    pub fn over(mut self, store: impl Into<Arc<WorldStore>>) -> Self {
        self.store = store.into();
        self
    }

    /// Sets the name of the thread: `session` by default.
    ///
    /// # Panics
    /// If it is no name of a thread.
    #[must_use]
    pub fn thread_named(mut self, name: &str) -> Self {
        self.thread = ThreadId::new(name).expect("a name of a thread");
        self
    }

    /// Sets the answers that agree and decline: `true` and `false` by default.
    #[must_use]
    pub fn button(mut self, button: fn(agrees: bool) -> Value) -> Self {
        self.button = button;
        self
    }

    /// Leaves the events out of the transcript: what is said, asked and answered stays.
    #[must_use]
    pub fn without_events(mut self) -> Self {
        self.shows_events = false;
        self
    }

    /// Says something, and follows the turn to its end.
    ///
    /// # Panics
    /// If the agent refuses the words before a run begins.
    pub async fn say(&self, words: &str) -> Turn<S> {
        self.note(">", words);
        let handler = self.with(|now| now.handler.clone());
        let outcome = handler(self.thread.clone(), words.to_owned()).await;
        match outcome {
            Ok(WordOutcome::Run(run)) => self.follow(run).await,
            Ok(WordOutcome::Told(text)) => self.ended(vec![], TurnEnd::Told(text)).await,
            Err(error) => panic!("{words:?} is refused: {error}\n{}", self.transcript()),
        }
    }

    /// Says several things, one after the other, and returns the last turn.
    ///
    /// # Panics
    /// If there are none, or the agent refuses the words before a run begins.
    pub async fn say_all<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Turn<S> {
        let mut last = None;
        for words in words {
            last = Some(self.say(words).await);
        }
        last.expect("something is said")
    }

    /// Begins a run with these updates, and follows it to its end.
    pub async fn start<M>(&self, input: impl IntoUpdates<S::Update, M>) -> Turn<S> {
        let run = self.runner().start(&self.thread, input);
        self.note(">", "(updates)");
        self.follow(run).await
    }

    /// Answers the open card: the answer names its id and the digest of what was shown. In a process
    /// that has said nothing yet this is the card of the log.
    ///
    /// # Panics
    /// If no card is open, the log cannot be read, or the value is no JSON.
    pub async fn answer(&self, value: impl Serialize) -> Turn<S> {
        if self.with(|now| now.card.is_none()) {
            self.look().await.expect("a readable log");
        }
        self.answer_card(&self.card(), value).await
    }

    /// Answers a card, which need not be open any more.
    ///
    /// # Panics
    /// If the value is no JSON.
    pub async fn answer_card(&self, card: &Interrupt, value: impl Serialize) -> Turn<S> {
        let value = serde_json::to_value(value).expect("an answer is JSON");
        self.note("<", &plain(&value));
        let id = card.id.clone();
        let answers = match &card.question.digest {
            Some(digest) => Answers::none().approving(id, value, digest.clone()),
            None => Answers::to(id, value),
        };
        let answers = answers.expect("an answer is JSON");
        let run = self.runner().resume(&self.thread, answers);
        self.follow(run).await
    }

    /// Agrees to the open card.
    ///
    /// # Panics
    /// If no card is open.
    pub async fn approve(&self) -> Turn<S> {
        self.answer((self.button)(true)).await
    }

    /// Declines the open card.
    ///
    /// # Panics
    /// If no card is open.
    pub async fn reject(&self) -> Turn<S> {
        self.answer((self.button)(false)).await
    }

    /// Returns the card that the person sees: the first open question at the end of the last turn
    /// or, after [`reopen`](Self::reopen), of the log.
    ///
    /// # Panics
    /// If no card is open.
    pub fn card(&self) -> Interrupt {
        match self.with(|now| now.card.clone()) {
            Some(card) => card,
            None => panic!("no card is open\n{}", self.transcript()),
        }
    }

    /// Lets the process die after this many appends from now on: at the next one, of which the store
    /// gets nothing. So what the process did since the append before is done, and not recorded.
    ///
    /// A turn in which it dies ends with [`TurnEnd::Killed`]; then call [`reopen`](Self::reopen),
    /// and [`recover`](Self::recover) to go on. The dead process gets no answer from its store any
    /// more; what it does beside that goes on until it asks the store, as all processes share the
    /// runtime of the test. `CrashSim` tries every point of a graph.
    pub fn kill_after(&self, appends: usize) {
        self.with(|now| now.switch.arm(appends));
    }

    /// Ends the process, and opens the agent anew over the same store, at a time at which the
    /// leases of the dead process have expired.
    ///
    /// # Panics
    /// If the store cannot be opened, or the log cannot be read.
    pub async fn reopen(&self) {
        self.note("~", "the process is gone, and another one opens the agent");
        if let Some(dead) = &*self.now() {
            dead.switch.kill();
        }
        let store = self.store.restart().expect("the store opens");
        *self.now() = Some(self.process(store));
        self.look().await.expect("a readable log");
    }

    /// Goes on with the run that a dead process left, and follows it to its end.
    pub async fn recover(&self) -> Turn<S> {
        let run = self.runner().recover(&self.thread);
        self.follow(run).await
    }

    /// Follows a run of this thread to its end, as a turn of the conversation.
    pub async fn follow(&self, run: Run<S>) -> Turn<S> {
        let switch = self.with(|now| now.switch.clone());
        let (mut stream, end) = run.split();
        let mut events = vec![];
        let all = async {
            while let Some(event) = stream.next().await {
                events.push(event);
            }
            end.await
        };
        let end = tokio::select! {
            end = all => TurnEnd::Run(end),
            () = switch.died() => TurnEnd::Killed,
        };
        self.ended(events, end).await
    }

    /// Returns the stored state.
    ///
    /// # Panics
    /// If the thread cannot be read, or has not begun.
    pub async fn state(&self) -> S {
        let state = self.runner().state(&self.thread).await;
        let state = state.expect("a readable log");
        S::clone(&state.expect("the thread has begun"))
    }

    /// Returns the number of records in the log.
    ///
    /// # Panics
    /// If the log cannot be read.
    pub async fn records(&self) -> usize {
        let history = self.runner().history(&self.thread, 1, usize::MAX).await;
        history.expect("a readable log").len()
    }

    /// Returns the runner of the present process.
    pub fn runner(&self) -> Runner<S> {
        self.with(|now| now.runner.clone())
    }

    /// Returns the thread.
    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Returns the store, with its clock; another session over it is another process beside this
    /// one.
    pub fn store(&self) -> &Arc<WorldStore> {
        &self.store
    }

    /// Returns the conversation as text: after `>` what was said, after `?` a card with what is
    /// asked and the choices, after `<` its answer, after `=` the answer of the agent, after `!` a
    /// failure, after `~` a [`reopen`](Self::reopen), and indented the events of tools, corrections,
    /// progress and of the agent's own. Statuses in a row are one line, and a tool that ends next is
    /// told where it began.
    ///
    /// Ids and codes of cards are replaced by their number; times in milliseconds since the epoch
    /// and long hexadecimal numbers by `<time>` and `<id>`.
    pub fn transcript(&self) -> String {
        self.lines().text()
    }

    fn note(&self, mark: &str, text: &str) {
        self.lines().push(mark, text);
    }

    async fn ended(&self, events: Vec<Event>, end: TurnEnd<S>) -> Turn<S> {
        let turn = Turn { events, end };
        match &turn.end {
            TurnEnd::Run(Ok(result)) => self.sees(result.interrupts()),
            // The cards of the log are as they were, or cannot be read.
            TurnEnd::Run(Err(_)) | TurnEnd::Told(_) => drop(self.look().await),
            TurnEnd::Killed => {}
        }
        let events = turn.events.iter();
        let shown = events.filter(|event| self.shows(&event.kind));
        self.lines().turn(&turn, shown);
        turn
    }

    fn sees(&self, open: &[Interrupt]) {
        self.lines().number(open);
        self.with(|now| now.card = open.first().cloned());
    }

    fn shows(&self, kind: &EventKind) -> bool {
        self.shows_events || matches!(kind, EventKind::InterruptRaised(_))
    }

    /// Reads the open card from the log.
    async fn look(&self) -> Result<(), RunError> {
        let open = self.runner().interrupts(&self.thread).await?;
        self.sees(&open);
        Ok(())
    }

    fn process(&self, store: Arc<dyn ThreadStore>) -> Process<S> {
        let switch = Arc::new(KillSwitch::default());
        let log = SessionLog::new(store, switch.clone());
        let (runner, handler) = (self.open)(Arc::new(log));
        Process {
            runner,
            handler,
            switch,
            card: None,
        }
    }

    /// Uses the present process, which is opened at the first use.
    fn with<T>(&self, act: impl FnOnce(&mut Process<S>) -> T) -> T {
        let mut now = self.now();
        let now = now.get_or_insert_with(|| {
            let store = self.store.open().expect("the store opens");
            self.process(store)
        });
        act(now)
    }

    fn now(&self) -> MutexGuard<'_, Option<Process<S>>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lines(&self) -> MutexGuard<'_, Transcript> {
        let transcript = self.transcript.lock();
        transcript.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: State> std::fmt::Debug for Session<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("thread", &self.thread)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
