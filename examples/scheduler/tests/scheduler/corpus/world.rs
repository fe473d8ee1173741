//! A world of the corpus, and the running of a case in it.
use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use fugato::{
    axum::{BadInput, Caller, MessageIntent, SendOutcome, ServedAgent, UserMessage, say},
    graph::{Answers, Run, RunResult, Runner, RunnerOptions},
    llm::ChatModel,
    state::{Interrupt, ThreadId},
    store::MemoryLog,
    stream::{EventKind, QuestionAnswer, ReplyForm},
};
use futures::StreamExt as _;
use jiff::{
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};
use scheduler::{
    agent::{AgentState, FreeTime, Update},
    calendar::{Intake, Lang, language, open},
    deps::Deps,
    llm_config::LlmConfig,
    schedule::{
        Change, EventType, Marks, PlacementStatus, ScheduleState, ScheduleTask, Slot, Source,
    },
    served::ServedScheduler,
    service::Service,
    store::{self, Calendar, Calendars, ScheduleStore, StoreWrite},
};
use serde_json::Value;

use super::case::{Case, InitialState, PlacementCorpus, folder, read};

const CALENDAR: &str = "corpus";

/// An item with its place, in the words of the corpus.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) class: String,
    pub(super) done: bool,
    pub(super) place: Option<Place>,
    pub(super) minutes: i64,
    pub(super) deadline: Option<Date>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) start: DateTime,
    pub(super) slots: Vec<Slot>,
}

/// The stored rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StoredRows {
    pub(super) items: BTreeMap<u32, Item>,
    pub(super) class_deadlines: BTreeMap<String, Option<Date>>,
    pub(super) notes: Vec<String>,
    pub(super) reminders: Vec<(String, Option<DateTime>)>,
    pub(super) free_times: Vec<FreeTime>,
    pub(super) schedule: ScheduleState,
}

/// The result of a case.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) now: DateTime,
    pub(super) refusals: Vec<String>,
    /// Before the first of the turns.
    pub(super) first: StoredRows,
    /// Before the request.
    pub(super) before: StoredRows,
    /// After the request, before any card is agreed to.
    pub(super) asked: StoredRows,
    pub(super) after: StoredRows,
    /// Everything that was shown because of the request, in lower case.
    pub(super) reply: String,
    /// The cards that were shown because of the request.
    pub(super) cards: usize,
    /// True if a question or a card waits at the end.
    pub(super) waits: bool,
    /// True if a card about a draft waits at the end.
    pub(super) draft_waits: bool,
    /// The places of the draft that was open before the request.
    pub(super) draft: Option<ScheduleState>,
}

/// The served agent, whose clock stands still.
struct FixedClockAgent {
    agent: ServedScheduler,
    now: DateTime,
}

#[async_trait]
impl ServedAgent for FixedClockAgent {
    type State = AgentState;

    fn name(&self) -> &str {
        self.agent.name()
    }

    fn runner(&self) -> &Runner<AgentState> {
        self.agent.runner()
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<Update>, BadInput> {
        let mut updates = self.agent.input(said).await?;
        for update in &mut updates {
            if let Update::Requested(request) = update {
                request.now = Some(self.now);
            }
        }
        Ok(updates)
    }

    async fn intent(
        &self,
        thread: &ThreadId,
        said: &UserMessage,
    ) -> Result<MessageIntent, BadInput> {
        self.agent.intent(thread, said).await
    }

    async fn answer(
        &self,
        thread: &ThreadId,
        caller: &Caller,
        asked: &Interrupt,
        answered: QuestionAnswer,
    ) -> Result<Value, BadInput> {
        self.agent.answer(thread, caller, asked, answered).await
    }
}

pub(super) struct World {
    agent: FixedClockAgent,
    store: Arc<dyn ScheduleStore>,
    intake: Intake,
    placed: PlacementCorpus,
    thread: ThreadId,
    lang: Lang,
    has_model: bool,
}

/// The texts that a person saw in a turn.
#[derive(Default)]
struct ShownTexts {
    text: String,
    cards: usize,
}

impl World {
    pub(super) async fn new(case: &Case, lang: Lang, model: Option<Arc<dyn ChatModel>>) -> Self {
        let name = case.world.clone().unwrap_or_else(|| lang.to_string());
        let folder = folder().join(&name);
        let files = [folder.join("courses.ics"), folder.join("tasks.toml")];
        let intake = open(&files[0], &files[1], &TimeZone::UTC, language(lang)).unwrap();
        let placed: PlacementCorpus = read(&format!("{name}/placed.toml"));
        let store = store::open(":memory:").await.unwrap();
        let calendars = Calendars::shared(store.clone(), CALENDAR);
        let has_model = model.is_some();
        let mind = LlmConfig {
            model,
            ..LlmConfig::default()
        };
        let deps = Deps::new()
            .unwrap()
            .mind(mind)
            .calendars(calendars)
            .existing_may_move(true)
            .sections(intake.sections.clone());
        let log = Arc::new(MemoryLog::default());
        let service = Service::new(&deps, log, RunnerOptions::default(), 30).unwrap();
        let agent = ServedScheduler::new(service, store.clone(), CALENDAR)
            .sections(intake.sections.clone());
        let agent = FixedClockAgent {
            agent,
            now: placed.now,
        };
        let thread = ThreadId::new("corpus").unwrap();
        Self {
            agent,
            store,
            intake,
            placed,
            thread,
            lang,
            has_model,
        }
    }

    /// Runs a case: the turns, the request, and the cards that follow.
    pub(super) async fn run(self, case: &Case) -> Outcome {
        self.fill(case.given).await;
        let first = self.stored().await;
        let mut draft = None;
        if case.given == InitialState::Card {
            self.say(self.lang.pick("Plan my week", "把任务都排一下"))
                .await;
            let is_open = !self.open().await.is_empty();
            assert!(is_open || self.has_model, "a card is open");
            draft = self
                .state()
                .await
                .and_then(|agent| agent.schedule.as_deref().cloned());
        }
        for turn in &case.turns {
            self.say(turn).await;
            if !case.unanswered {
                self.agree(&mut ShownTexts::default()).await;
            }
        }
        let before = self.stored().await;
        let open_before = self.open().await;
        let mut seen = self.say(&case.text).await;
        let asked = self.stored().await;
        let open_now = self.open().await;
        seen.show_new(&open_before, &open_now);
        if case.agree || case.given != InitialState::Card && !case.unanswered {
            self.agree(&mut seen).await;
        }
        let open = self.open().await;
        Outcome {
            now: self.placed.now,
            refusals: self.placed.refusals.clone(),
            first,
            before,
            asked,
            after: self.stored().await,
            reply: seen.text.to_lowercase(),
            cards: seen.cards,
            waits: !open.is_empty(),
            draft_waits: open.iter().any(is_confirm),
            draft,
        }
    }

    /// Fills the calendar.
    async fn fill(&self, given: InitialState) {
        let mut schedule = self.intake.state.clone();
        if self.placed.no_preferences {
            schedule.preferences = None;
        }
        for class in &mut schedule.task_classes {
            if let Some(split) = self.placed.split.get(&class.name) {
                class.terms.split = Some(*split);
            }
        }
        if given != InitialState::NothingPlaced {
            for placed in &self.placed.placed {
                let task = schedule
                    .tasks
                    .iter()
                    .find(|task| task.name == placed.item)
                    .unwrap();
                let (task, duration) = (task.state_id, task.duration);
                let day = schedule
                    .window
                    .days
                    .iter()
                    .find(|day| day.date == placed.date.to_string());
                let (day, start) = (day.unwrap().day_index, self.section(&placed.start));
                schedule.apply(&Change::Place {
                    task,
                    slots: vec![Slot::starting_at(day, start, duration)],
                    host: None,
                    status: PlacementStatus::Existing,
                });
                mark(&mut schedule, task, placed.done);
            }
        }
        let filled = StoreWrite::Import { schedule };
        self.store.write(CALENDAR, "import", &filled).await.unwrap();
    }

    fn section(&self, start: &str) -> u8 {
        let start: Time = start.parse().unwrap();
        let begins = |section: &u8| {
            let slot = Slot::new(1, *section, *section);
            self.intake
                .sections
                .times(&slot)
                .is_some_and(|(begin, _)| begin == start)
        };
        (1..=self.intake.sections.count()).find(begins).unwrap()
    }

    async fn state(&self) -> Option<Arc<AgentState>> {
        self.agent.runner().state(&self.thread).await.unwrap()
    }

    async fn open(&self) -> Vec<Interrupt> {
        self.agent
            .runner()
            .interrupts(&self.thread)
            .await
            .unwrap_or_default()
    }

    async fn say(&self, text: &str) -> ShownTexts {
        let mut seen = ShownTexts::default();
        let mut said = UserMessage::new(Caller::default(), text);
        said.card = self.open().await.first().map(|card| card.id.clone());
        match say(&self.agent, &self.thread, said).await {
            Ok(SendOutcome::Run(run)) => drop(seen.follow(run).await),
            Ok(SendOutcome::Told(text)) => seen.line(&text),
            Ok(_) => {}
            Err(error) => seen.line(&error.to_string()),
        }
        seen
    }

    /// Agrees to every card that can be agreed to.
    async fn agree(&self, seen: &mut ShownTexts) {
        for _ in 0..20 {
            let open = self.open().await;
            let Some(asked) = open.iter().find(|asked| is_confirm(asked)) else {
                return;
            };
            let mut answered = QuestionAnswer::to(asked.id.clone(), ReplyForm::Approve);
            answered.digest.clone_from(&asked.question.digest);
            let caller = Caller::default();
            let value = self
                .agent
                .answer(&self.thread, &caller, asked, answered)
                .await
                .unwrap();
            let answers = match &asked.question.digest {
                Some(digest) => Answers::none().approving(asked.id.clone(), value, digest.clone()),
                None => Answers::to(asked.id.clone(), value),
            };
            let run = self.agent.runner().resume(&self.thread, answers.unwrap());
            if let Some(ended) = seen.follow(run).await {
                seen.show_new(&open, ended.interrupts());
            }
        }
        panic!("cards without an end");
    }

    async fn stored(&self) -> StoredRows {
        let calendar = self.store.read(CALENDAR).await.unwrap().unwrap();
        let state = self.state().await;
        let free_times = state.map(|state| state.free_times.clone());
        StoredRows {
            free_times: free_times.unwrap_or_default(),
            ..self.read(&calendar)
        }
    }

    fn read(&self, calendar: &Calendar) -> StoredRows {
        let schedule = calendar.schedule.clone();
        let minutes = |slot: &Slot| {
            let times = self.intake.sections.times(slot);
            times.map_or(0, |(begin, end)| begin.duration_until(end).as_mins())
        };
        let date = |text: &Option<String>| text.as_ref().and_then(|date| date.parse().ok());
        let item = |task: &ScheduleTask| {
            let place = task.slots.first().map(|slot| {
                let date: Date = schedule.day(slot.day).unwrap().date.parse().unwrap();
                let (begin, _) = self.intake.sections.times(slot).unwrap();
                Place {
                    start: date.to_datetime(begin),
                    slots: task.slots.clone(),
                }
            });
            let long = Slot::starting_at(1, 1, task.duration);
            let class = schedule.class_of(task).map(|class| class.name.clone());
            Item {
                name: task.name.clone(),
                class: class.unwrap_or_default(),
                done: task.marks.done,
                place,
                minutes: minutes(&long),
                deadline: date(&task.marks.deadline),
            }
        };
        let items = schedule
            .tasks
            .iter()
            .filter(|task| task.source == Source::TaskItem);
        let items = items.map(|task| (task.state_id, item(task))).collect();
        let classes = schedule.task_classes.iter();
        let class_deadlines = classes.map(|class| (class.name.clone(), date(&class.end_date)));
        assert!(
            schedule
                .tasks
                .iter()
                .all(|task| task.event_type == EventType::Task || task.is_placed())
        );
        StoredRows {
            items,
            class_deadlines: class_deadlines.collect(),
            notes: calendar
                .notes
                .iter()
                .map(|note| note.text.clone())
                .collect(),
            reminders: calendar
                .reminders
                .iter()
                .map(|it| (it.text.clone(), it.due))
                .collect(),
            free_times: vec![],
            schedule: schedule.clone(),
        }
    }
}

fn mark(schedule: &mut ScheduleState, task: u32, done: bool) {
    let marks = Marks {
        done,
        deadline: None,
    };
    schedule.apply(&Change::Mark { task, marks });
}

fn is_confirm(asked: &Interrupt) -> bool {
    asked.question.prompt.get("type").and_then(Value::as_str) == Some("confirm")
}

impl ShownTexts {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    async fn follow(&mut self, run: Run<AgentState>) -> Option<RunResult<AgentState>> {
        let (mut events, end) = run.split();
        while let Some(event) = events.next().await {
            match &event.kind {
                EventKind::TextStarted { .. } => self.text.push('\n'),
                EventKind::TextDelta { text, .. } => self.text.push_str(text),
                _ => {}
            }
        }
        self.text.push('\n');
        match end.await {
            Ok(ended) => Some(ended),
            Err(error) => {
                let mut text = error.to_string();
                let mut cause = std::error::Error::source(&error);
                while let Some(error) = cause {
                    text = format!("{text}: {error}");
                    cause = error.source();
                }
                self.line(&text);
                None
            }
        }
    }

    /// Adds the cards that were not open before.
    fn show_new(&mut self, before: &[Interrupt], now: &[Interrupt]) {
        for card in now
            .iter()
            .filter(|card| before.iter().all(|old| old.id != card.id))
        {
            for field in ["title", "summary"] {
                let text = card.question.prompt.get(field).and_then(Value::as_str);
                self.line(text.unwrap_or_default());
            }
            self.cards += usize::from(is_confirm(card));
        }
    }
}
