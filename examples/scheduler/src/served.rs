//! The agent behind endpoints: converts client requests into updates, and threads into page data.
use async_trait::async_trait;
use fugato::{
    axum::{BadInput, Caller, MessageIntent, TimelineItem, UserMessage, timeline, title},
    futures::{FutureExt as _, future::BoxFuture},
    graph::{RunError, Runner},
    prompt::spoken,
    state::{ConversationUpdate, Interrupt, Message, ThreadId, say},
    stream::{QuestionAnswer, ReplyForm as Answer},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    agent::{AgentState, BY_HAND, CardReply, QuestionTopic, Request, Update},
    calendar::{Lang, Sections},
    contract::Call,
    draft::{Draft, answer_about},
    llm_config::{ModelChoice, ModelStage},
    plain::{plain_talk, title_update},
    recall::{NoteSearch, Notes, remembered},
    remote::{CalendarSyncReport, RemoteCalendar, takes_over},
    service::Service,
    store::ScheduleStore,
};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// The agent behind endpoints. All conversations are about one calendar.
#[derive(derive_more::Debug)]
#[debug("Served {{ calendar: {calendar:?}, .. }}")]
pub struct ServedScheduler {
    service: Service,
    store: Arc<dyn ScheduleStore>,
    calendar: String,
    memory: Arc<dyn NoteSearch>,
    sections: Sections,
    files: Vec<PathBuf>,
    models: Vec<String>,
    remote: Option<Arc<dyn RemoteCalendar>>,
}

impl ServedScheduler {
    /// Returns this agent for a calendar of this store.
    pub fn new(
        service: Service,
        store: Arc<dyn ScheduleStore>,
        calendar: impl Into<String>,
    ) -> Self {
        let calendar = calendar.into();
        let memory = Arc::new(Notes::new(store.clone(), &calendar));
        Self {
            service,
            store,
            calendar,
            memory,
            sections: Sections::default(),
            files: vec![],
            models: vec![],
            remote: None,
        }
    }

    fugato::state::setters! {
        /// Sets the memory to use; without it, the notes of the calendar are used.
        pub fn memory(memory: impl NoteSearch + 'static) { memory = Arc::new(memory) }

        /// Sets the times of the sections of a day, for weeks that are shown as text.
        pub fn sections(sections: Sections) { sections = sections }

        /// Names the models that a request may choose.
        pub fn models(models: Vec<String>) { models = models }

        /// Names the files to which every stored change is written.
        pub fn files(files: Vec<PathBuf>) { files = files }

        /// Keeps the calendar in step with one elsewhere, with each request.
        pub fn remote(remote: Arc<dyn RemoteCalendar>) { remote = Some(remote) }
    }

    /// Returns the service, for requests that no client makes.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Returns the classes that a request is about: all there are, unless it names some.
    async fn classes(&self, named: Vec<u32>) -> Result<Vec<u32>, BadInput> {
        let stored = self.store.read(&self.calendar).await;
        let stored = stored.map_err(|error| {
            BadInput::new(say!(
                "the calendar cannot be read now; try again later",
                "现在读不到日历；请稍后再试"
            ))
            .because(error)
        })?;
        let known: Vec<u32> = stored.map_or(vec![], |stored| {
            let classes = stored.schedule.task_classes.iter();
            classes.map(|class| class.id).collect()
        });
        match named.iter().find(|id| !known.contains(id)) {
            None if named.is_empty() => Ok(known),
            None => Ok(named),
            Some(id) => Err(BadInput::new(say!("task_class_ids names {id}, which is no class of the calendar; its classes are {known:?}", "task_class_ids 写了 {id}，日历里没有这一类；有的类是 {known:?}"
            ))
            .code("unknown_task_class")),
        }
    }
}

/// The fields that a client may send besides the text. Unknown fields are ignored, because clients
/// of other protocols have fields of their own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Extra {
    task_class_ids: Vec<u32>,
    always_execute: bool,
    thinking: ThinkingMode,
    lang: Option<Lang>,
    change: Option<Call>,
    max_rounds: Option<u64>,
    models: BTreeMap<ModelStage, String>,
}

/// The thinking of the model: yes, no, or as the route decides.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
enum ThinkingMode {
    Forced(bool),
    Word(ThinkingWord),
    #[default]
    Unsaid,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ThinkingWord {
    True,
    False,
    Auto,
}

#[async_trait]
impl fugato::axum::ServedAgent for ServedScheduler {
    type State = AgentState;

    fn name(&self) -> &'static str {
        "scheduler"
    }

    fn longest_message(&self) -> usize {
        4_000
    }

    fn content_fields(&self) -> &[&str] {
        &["change"]
    }

    fn runner(&self) -> &Runner<AgentState> {
        self.service.runner()
    }

    fn models(&self, _: &Caller) -> Vec<String> {
        self.models.clone()
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<Update>, BadInput> {
        let mut said = said.in_words()?;
        let earlier = said.earlier().into_iter().map(ConversationUpdate::Said);
        let mut updates: Vec<_> = earlier.map(Update::Talked).collect();
        let (said_model, retries) = (said.model.take(), said.retries.take());
        let extra: Extra = said.beside(&say!("are task_class_ids (numbers), always_execute (a boolean), thinking (true, false or \
             \"auto\"), lang (\"en\" or \"zh\"), max_rounds (a number), models (the names of \
             models by stage: chat, deep_answer, plan, deep_plan, execute, compact, deliver and \
             title) and change (a call with name and arguments)", "task_class_ids（数字）、always_execute（布尔值）、thinking（true、false 或 \"auto\"）、lang（\"en\" 或 \"zh\"）、max_rounds（数字）、models（按阶段的模型名：chat、deep_answer、plan、deep_plan、execute、compact、deliver 和 title）和 change（带 name 和 arguments 的调用）"),
        )?;
        let report = match &self.remote {
            Some(remote) => remote.sync().await,
            None => CalendarSyncReport::default(),
        };
        let classes = self.classes(extra.task_class_ids).await?;
        let memory = remembered(&*self.memory, &said.text).await;
        let mut request = Request::new(said.text).classes(classes);
        request.memory = memory;
        if let Some(call) = extra.change {
            by_hand("change", &call.name)?;
            request = request.by_hand(call);
        }
        request.models = ModelChoice {
            all: said_model,
            stages: extra.models,
        };
        if let Err(unknown) = request.models.check(&self.models) {
            return Err(BadInput::new(unknown.to_string()).code("unknown_model"));
        }
        request.retries = retries;
        // Whoever says so was told what was changed elsewhere.
        if let Some(change) = report
            .elsewhere
            .first()
            .filter(|_| takes_over(&request.text))
        {
            request = request.by_hand(change.call());
        } else {
            request.remarks = report.remarks;
        }
        request.always_execute = extra.always_execute;
        request.lang = extra.lang;
        // The service has a limit of its own, which no request exceeds.
        request.max_rounds = extra.max_rounds.map_or(u64::MAX, |rounds| rounds.max(1));
        request.thinking = match extra.thinking {
            ThinkingMode::Forced(thinking) => Some(thinking),
            ThinkingMode::Word(ThinkingWord::True) => Some(true),
            ThinkingMode::Word(ThinkingWord::False) => Some(false),
            ThinkingMode::Word(ThinkingWord::Auto) | ThinkingMode::Unsaid => None,
        };
        updates.push(self.service.input(request));
        Ok(updates)
    }

    async fn answer(
        &self,
        _: &ThreadId,
        _: &Caller,
        _: &Interrupt,
        answered: QuestionAnswer,
    ) -> Result<Value, BadInput> {
        let QuestionAnswer { reply, reason, .. } = answered;
        let reply = match reply {
            // The schema of the answer reports its errors.
            Answer::Value(Value::Object(object)) => {
                let call = object.get("call").and_then(|call| call.get("name"));
                if let Some(name) = call.and_then(Value::as_str) {
                    by_hand("call", name)?;
                }
                return Ok(Value::Object(object));
            }
            Answer::Approve | Answer::Value(Value::Bool(true)) => CardReply::approve(),
            Answer::Value(Value::String(text)) => CardReply::text(text),
            _ => CardReply::reject(reason),
        };
        serde_json::to_value(reply)
            .map_err(|error| BadInput::new(say!("it is no answer", "这不是回答")).because(error))
    }

    /// Words under a card that are neither a yes nor a no are about what it asks.
    async fn intent(
        &self,
        thread: &ThreadId,
        said: &UserMessage,
    ) -> Result<MessageIntent, BadInput> {
        // What cannot be read refuses the request, with the reason.
        let Ok(state) = self.runner().state(thread).await else {
            return Ok(MessageIntent::Request);
        };
        let asks = state.as_ref().and_then(|agent| agent.pending.as_ref());
        let by_hand = said.extra.contains_key("change");
        Ok(match (&state, asks) {
            (Some(agent), Some(asks)) if asks.topic != QuestionTopic::AskUser && !by_hand => {
                let draft = Draft {
                    agent,
                    sections: &self.sections,
                };
                if draft.is_replaced(&said.text) {
                    return Ok(MessageIntent::Instead);
                }
                MessageIntent::Told(answer_about(&draft, &said.text))
            }
            _ => MessageIntent::Request,
        })
    }

    fn view(&self, agent: &AgentState, asked: Option<&Interrupt>) -> Option<String> {
        let sections = &self.sections;
        match (asked, &agent.pending) {
            (Some(_), Some(pending)) if pending.topic == QuestionTopic::Schedule => {
                Some(Draft { agent, sections }.weeks())
            }
            (None, None) if agent.run.stored > 0 && !self.files.is_empty() => {
                let written = agent.lang.pick("written: ", "已写入：");
                let lines = self
                    .files
                    .iter()
                    .map(|path| format!("{written}{}", path.display()));
                let late = self.remote.iter().filter_map(|remote| remote.late());
                let lines = lines.chain(late);
                Some(lines.collect::<Vec<_>>().join("\n"))
            }
            _ => None,
        }
    }

    async fn plain_reply(&self, said: &UserMessage, error: &RunError) -> Option<String> {
        let lang = said.extra.get("lang");
        let lang = lang.and_then(|lang| Lang::deserialize(lang).ok());
        let lang = lang.unwrap_or_else(|| Lang::of(&said.text));
        Some(plain_talk(self.service.mind(), &said.text, lang, error).await)
    }

    fn title_update(&self, agent: &AgentState) -> Option<BoxFuture<'static, Option<Update>>> {
        let made = title_update(self.service.mind(), agent)?;
        Some(made.boxed())
    }

    fn title(&self, agent: &AgentState) -> Option<String> {
        let made = agent.title.clone();
        made.or_else(|| title(&agent.conversation.history))
    }

    fn timeline_items(&self, changes: &[Update]) -> Option<Vec<TimelineItem>> {
        let said = changes.iter().filter_map(|change| match change {
            Update::Requested(request) => Some(Message::user(&request.text)),
            Update::Talked(ConversationUpdate::Said(message)) => Some(message.clone()),
            _ => None,
        });
        Some(timeline(spoken(&said.collect::<Vec<_>>())))
    }

    fn timeline(&self, agent: &AgentState) -> Vec<TimelineItem> {
        timeline(spoken(&agent.conversation.history))
    }
}

/// Checks that a call by hand is one of the tools for places.
fn by_hand(field: &str, name: &str) -> Result<(), BadInput> {
    if BY_HAND.contains(&name) {
        return Ok(());
    }
    let allowed = BY_HAND.join(", ");
    Err(BadInput::new(say!(
        "{field} names {name:?}; by hand one can {allowed}",
        "{field} 写了 {name:?}；手动可以用 {allowed}"
    )))
}
