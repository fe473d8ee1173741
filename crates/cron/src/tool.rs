use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use fugato_state::{Millis, say};
use fugato_tool::{
    ConfirmCard, EffectClass, NoArguments, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{CronSchedule, Job, JobClock, JobError, JobSpec, Jobs};

/// The name of the tool that creates a job.
pub const CREATE: &str = "create_cron_job";
/// The name of the tool that lists jobs.
pub const LIST: &str = "list_cron_jobs";
/// The name of the tool that cancels a job.
pub const CANCEL: &str = "cancel_cron_job";

/// The tools with which a model creates, lists and cancels jobs.
#[derive_where::derive_where(Clone)]
#[derive(derive_more::Debug)]
pub struct JobTools<S> {
    jobs: Jobs,
    #[debug(skip)]
    maker: Arc<dyn Fn(&S) -> Maker + Send + Sync>,
}

/// The creator of a job, read from the state of an agent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Maker {
    /// The conversation.
    pub thread: String,
    /// Application data that is stored with the job.
    pub extra: Value,
    /// The time at which the job was wished for, in milliseconds since the Unix epoch, if it is known.
    pub since: Option<Millis>,
}

impl Maker {
    /// Creates a maker for a conversation.
    pub fn new(thread: impl Into<String>) -> Self {
        Self {
            thread: thread.into(),
            extra: Value::Null,
            since: None,
        }
    }

    fugato_state::setters! {
        /// Sets application data that is stored with its jobs.
        pub fn extra(extra: Value) { extra = extra }

        /// Sets the time at which the job was wished for: one that is done once, and whose time has
        /// passed since, is not made for another time.
        pub fn since(since: Millis) { since = Some(since) }
    }
}

impl<S: Sync> JobTools<S> {
    /// Creates the tools for these jobs.
    pub fn new(jobs: Jobs, maker: impl Fn(&S) -> Maker + Send + Sync + 'static) -> Self {
        let maker = Arc::new(maker);
        Self { jobs, maker }
    }

    /// Returns the tool that creates a job: `create_cron_job`.
    pub fn create<U>(&self) -> impl Tool<S, U, Input = CreateArgs> + use<S, U> {
        Create(self.clone())
    }

    /// Returns the tool that lists jobs: `list_cron_jobs`.
    pub fn list<U>(&self) -> impl Tool<S, U, Input = NoArguments> + use<S, U> {
        List(self.clone())
    }

    /// Returns the tool that cancels a job: `cancel_cron_job`.
    pub fn cancel<U>(&self) -> impl Tool<S, U, Input = CancelArgs> + use<S, U> {
        Cancel(self.clone())
    }

    fn line(&self, job: &Job) -> String {
        let clock = self.jobs.clock();
        let (due, again) = (clock.shown(job.due), job.again(clock));
        let task = &job.wish.task;
        say!("{due} ({again}): {task}", "{due}（{again}）：{task}")
    }
}

impl Job {
    /// Returns how often it is done, in words.
    fn again(&self, clock: &JobClock) -> String {
        let JobSpec { schedule, once, .. } = &self.wish;
        if *once {
            return say!("once", "一次");
        }
        CronSchedule::parse(schedule, clock.zone())
            .map_or_else(|_| schedule.clone(), |schedule| schedule.described())
    }

    /// Adds to the card of a call of [`CANCEL`] what this job does and when it would be due next: the
    /// call only names it. A gate knows the job from the result of [`LIST`] in its state.
    #[must_use]
    pub fn on_card(&self, mut card: ConfirmCard, clock: &JobClock) -> ConfirmCard {
        let (due, again) = (clock.shown(self.due), self.again(clock));
        card.consequence = say!(
            "ends it: it would be done next at {due} ({again})",
            "取消后不再执行：原定下次执行时间为 {due}（{again}）"
        );
        let task = self.wish.task.clone();
        card.labels.insert("id".to_owned(), task);
        card
    }
}

/// Returns the names of jobs, which a model calls them by and people need not read.
fn ids<'j>(jobs: impl IntoIterator<Item = &'j Job>) -> String {
    let ids: Vec<&str> = jobs.into_iter().map(|job| job.id.as_str()).collect();
    let ids = ids.join(", ");
    say!("ids, in this order: {ids}", "按此顺序的 id：{ids}")
}

struct Create<S>(JobTools<S>);
struct List<S>(JobTools<S>);
struct Cancel<S>(JobTools<S>);

/// What is to be done, and when.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateArgs {
    /// A cron expression of five fields: minute, hour, day of the month, month, day of the week.
    #[schemars(extend("x-zh" = "五个字段的 cron 表达式：分、时、日、月、星期。"))]
    pub schedule: String,
    /// What is to be done then, in the words of the person.
    #[schemars(extend("x-zh" = "到时要做什么，用用户的话。"))]
    pub task: String,
    /// Whether it is done only once.
    #[schemars(extend("x-zh" = "是否只做一次。"))]
    #[serde(default)]
    pub once: bool,
}

impl CreateArgs {
    /// Adds to the card of a call of [`CREATE`] what it leads to, as it was at this time: the answer is
    /// to the same card also when the time of the job has passed meanwhile, and the call says so if its
    /// [`Maker`] has that time.
    #[must_use]
    pub fn on_card(&self, mut card: ConfirmCard, clock: &JobClock, since: Millis) -> ConfirmCard {
        card.consequence = self.consequence(clock, since).unwrap_or_default();
        if let Some(when) = self.when(clock, since) {
            card.labels.insert("schedule".to_owned(), when);
        }
        card
    }

    /// Returns the time at which the job is done first.
    fn due(&self, clock: &JobClock, since: Millis) -> Option<Millis> {
        let schedule = CronSchedule::parse(&self.schedule, clock.zone()).ok()?;
        schedule.next(since)
    }

    /// Returns what is told of a job that was to be done once, at a time that has passed since.
    fn passed(&self, clock: &JobClock, since: Millis) -> Option<String> {
        let due = self.due(clock, since)?;
        (self.once && due <= clock.now()).then(|| {
            let due = clock.shown(due);
            say!(
                "{due} has passed, so nothing is set for it: say another time",
                "{due} 已经过了，没有为它设置：请另说一个时间"
            )
        })
    }

    fn consequence(&self, clock: &JobClock, since: Millis) -> Option<String> {
        let due = clock.shown(self.due(clock, since)?);
        Some(if self.once {
            say!(
                "acts once, at {due}, without asking again",
                "将于 {due} 执行一次，届时不再询问"
            )
        } else {
            say!(
                "acts again and again, first at {due}, without asking again",
                "将于 {due} 起按计划反复执行，届时不再询问"
            )
        })
    }

    /// Returns when it is done, in words.
    fn when(&self, clock: &JobClock, since: Millis) -> Option<String> {
        let schedule = CronSchedule::parse(&self.schedule, clock.zone()).ok()?;
        let due = schedule.next(since).filter(|_| self.once);
        Some(due.map_or_else(|| schedule.described(), |due| clock.shown(due)))
    }
}

/// Which job.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelArgs {
    /// Its name, as `list_cron_jobs` tells it.
    #[schemars(extend("x-zh" = "它的名字，见 `list_cron_jobs`。"))]
    pub id: String,
}

impl From<JobError> for ToolFailure {
    fn from(error: JobError) -> Self {
        let failure = Self::failed(error.to_string());
        match error {
            JobError::Store(_) | JobError::Unreadable { .. } => failure.because(error).in_doubt(),
            _ => failure,
        }
    }
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for Create<S> {
    type Input = CreateArgs;

    fn spec(&self) -> ToolSpec {
        let text =
            "Does something at a time, once or again and again, such as reminding the person.";
        ToolSpec::write(CREATE, text)
            .chinese("在某个时间做某件事，一次或反复，例如提醒用户。")
            .titled("Set a reminder or a job", "设置提醒或任务")
            .label("task", "what", "内容")
            .label("schedule", "when", "时间")
            .label("once", "only once", "只做一次")
            // Repetitions with one key create one job.
            .effect(EffectClass::Keyed)
            .argument_alias("cron", "schedule")
            .argument_alias("expression", "schedule")
            .argument_alias("message", "task")
            .preview(["task"])
    }

    /// Returns a text which says that the job will run without another approval.
    fn consequence(&self, args: &CreateArgs) -> Option<String> {
        let Self(tools) = self;
        let clock = tools.jobs.clock();
        args.consequence(clock, clock.now())
    }

    /// Returns the time in words: nobody has to read cron expressions.
    fn labels(&self, args: &CreateArgs) -> BTreeMap<String, String> {
        let Self(tools) = self;
        let clock = tools.jobs.clock();
        let when = args.when(clock, clock.now());
        when.map(|when| ("schedule".to_owned(), when))
            .into_iter()
            .collect()
    }

    async fn call(
        &self,
        cx: ToolContext<'_, S>,
        args: CreateArgs,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let Self(tools) = self;
        let Maker {
            thread,
            extra,
            since,
        } = (tools.maker)(cx.state()?);
        let key = cx.key().unwrap_or(cx.call_id());
        let passed = since.and_then(|since| args.passed(tools.jobs.clock(), since));
        let job = if let Some(passed) = passed {
            // A repeat after a crash finds the job that it created in time.
            let created = tools.jobs.created(key, &thread).await?;
            created.ok_or_else(|| ToolFailure::failed(passed))?
        } else {
            let wish = JobSpec::new(args.schedule, args.task).only_once(args.once);
            tools.jobs.create(key, &thread, wish.extra(extra)).await?
        };
        let data = json!({ "job": job });
        let line = tools.line(&job);
        let by = say!(
            "This needs the program to run then (serve or chat); what it misses while it does not run is made up for at its next start.",
            "到时需要程序在运行（serve 或对话）；没有运行时错过的，下次启动时补上。"
        );
        let output = ToolOutput::new(format!("{line}\n{by}")).summary(line);
        Ok(output.advice(ids([&job])).data(data))
    }
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for List<S> {
    type Input = NoArguments;

    fn spec(&self) -> ToolSpec {
        let text = "Lists the jobs that are still to be done.";
        ToolSpec::read(LIST, text)
            .chinese("列出还要做的任务。")
            .titled("List reminders and jobs", "列出提醒和任务")
            .effect(EffectClass::Idempotent)
    }

    async fn call(
        &self,
        cx: ToolContext<'_, S>,
        _: NoArguments,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let Self(tools) = self;
        let jobs = tools.jobs.list(&(tools.maker)(cx.state()?).thread).await?;
        let lines: Vec<String> = jobs
            .iter()
            .map(|job| format!("- {}", tools.line(job)))
            .collect();
        let text = if lines.is_empty() {
            say!("there are no reminders or jobs", "没有提醒或任务")
        } else {
            lines.join("\n")
        };
        let output = ToolOutput::new(text).data(json!({ "jobs": jobs }));
        Ok(if jobs.is_empty() {
            output
        } else {
            output.advice(ids(&jobs))
        })
    }
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for Cancel<S> {
    type Input = CancelArgs;

    fn spec(&self) -> ToolSpec {
        ToolSpec::write(CANCEL, "Cancels a job.")
            .chinese("取消一个任务。")
            .titled("Cancel a reminder or a job", "取消提醒或任务")
            .label("id", "what", "内容")
            .effect(EffectClass::Idempotent)
            .preview(["id"])
    }

    async fn call(
        &self,
        cx: ToolContext<'_, S>,
        args: CancelArgs,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let Self(tools) = self;
        let thread = (tools.maker)(cx.state()?).thread;
        let id = args.id;
        let mut jobs = tools.jobs.list(&thread).await?.into_iter();
        let job = jobs.find(|job| job.id == id);
        if tools.jobs.cancel(&thread, &id).await? || cx.is_repeat() {
            let line = job.map_or(id, |job| tools.line(&job));
            let text = say!("cancelled: {line}", "已取消：{line}");
            return Ok(ToolOutput::new(text).summary(line));
        }
        let advice = say!(
            "list_cron_jobs tells which there are",
            "list_cron_jobs 会列出有哪些"
        );
        let text = say!("there is no job {id:?}", "没有任务 {id:?}");
        Err(ToolFailure::failed(text).advice(advice))
    }
}
