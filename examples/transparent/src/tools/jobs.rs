use async_trait::async_trait;
use fugato::tool::{EffectClass, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    agent::{Agent, Update},
    jobs::{Job, Jobs, NoJob, Wish},
};

pub(super) const CREATE: &str = "create_cron_job";

pub(super) struct Create(pub(super) Jobs);
pub(super) struct List(pub(super) Jobs);
pub(super) struct Cancel(pub(super) Jobs);

/// What is to be done, and when.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateArgs {
    /// A cron expression of five fields: minute, hour, day of the month, month, day of the week.
    pub schedule: String,
    /// What is to be done then, in the words of the person.
    pub task: String,
    /// Whether it is done only once.
    #[serde(default)]
    pub once: bool,
}

/// Nothing needs to be said.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListArgs {}

/// Which job.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelArgs {
    /// Its name, as `list_cron_jobs` tells it.
    pub id: String,
}

impl From<NoJob> for ToolFailure {
    fn from(error: NoJob) -> Self {
        let failure = Self::failed(error.to_string());
        match error {
            NoJob::Store(_) | NoJob::Unreadable(_) => failure.because(error).in_doubt(),
            _ => failure,
        }
    }
}

fn line(jobs: &Jobs, job: &Job) -> String {
    let again = if job.wish.once {
        "once"
    } else {
        job.wish.schedule.as_str()
    };
    format!(
        "{} ({}, {again}): {}",
        job.id,
        jobs.shown(job.due),
        job.wish.task
    )
}

#[async_trait]
impl Tool<Agent, Update> for Create {
    type Input = CreateArgs;

    fn spec(&self) -> ToolSpec {
        let text =
            "Does something at a time, once or again and again, such as reminding the person.";
        ToolSpec::write(CREATE, text)
            // Under its key it is made once.
            .effect(EffectClass::Keyed)
            .argument_alias("cron", "schedule")
            .argument_alias("expression", "schedule")
            .argument_alias("message", "task")
            .preview(["schedule", "task"])
    }

    async fn call(
        &self,
        cx: ToolContext<'_, Agent>,
        args: CreateArgs,
    ) -> Result<ToolOutput<Update>, ToolFailure> {
        let agent = cx.state()?;
        let CreateArgs {
            schedule,
            task,
            once,
        } = args;
        let key = cx.key().unwrap_or(cx.call_id());
        let wish = Wish {
            schedule,
            task,
            once,
        };
        let job = self.0.create(key, &agent.thread, agent.lang, wish).await?;
        let data = json!({ "job": job });
        Ok(ToolOutput::new(line(&self.0, &job))
            .summary(job.id)
            .data(data))
    }
}

#[async_trait]
impl Tool<Agent, Update> for List {
    type Input = ListArgs;

    fn spec(&self) -> ToolSpec {
        ToolSpec::read(
            "list_cron_jobs",
            "Lists the jobs that are still to be done.",
        )
        .effect(EffectClass::Idempotent)
    }

    async fn call(
        &self,
        cx: ToolContext<'_, Agent>,
        _: ListArgs,
    ) -> Result<ToolOutput<Update>, ToolFailure> {
        let jobs = self.0.list(&cx.state()?.thread).await?;
        let lines: Vec<String> = jobs
            .iter()
            .map(|job| format!("- {}", line(&self.0, job)))
            .collect();
        let text = if lines.is_empty() {
            "there are no jobs".to_owned()
        } else {
            lines.join("\n")
        };
        Ok(ToolOutput::new(text).data(json!({ "jobs": jobs })))
    }
}

#[async_trait]
impl Tool<Agent, Update> for Cancel {
    type Input = CancelArgs;

    fn spec(&self) -> ToolSpec {
        ToolSpec::write("cancel_cron_job", "Cancels a job.")
            .effect(EffectClass::Idempotent)
            .preview(["id"])
    }

    async fn call(
        &self,
        cx: ToolContext<'_, Agent>,
        args: CancelArgs,
    ) -> Result<ToolOutput<Update>, ToolFailure> {
        if self.0.cancel(&cx.state()?.thread, &args.id).await? {
            return Ok(ToolOutput::new(format!("{} is cancelled", args.id)));
        }
        let text = format!(
            "there is no job {:?}; list_cron_jobs tells which there are",
            args.id
        );
        Err(ToolFailure::failed(text))
    }
}
