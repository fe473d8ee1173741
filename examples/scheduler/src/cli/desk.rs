//! What a command works with: the folder, the log, the input and the agent.
use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use fugato::{
    graph::{BoxError, RunnerOptions},
    llm::{Retry, Timeout},
    openai::{ApiKey, OpenAi},
    sqlite::SqliteLog,
    state::ThreadId,
};
use jiff::tz::TimeZone;
use scheduler::{
    agent::DEFAULT_MAX_ROUNDS,
    calendar::{Intake, Lang, open, read_file, write_file},
    deps::{Deps, ScheduleProvider},
    mind::Mind,
    schedule::ScheduleState,
    service::Service,
};

use super::args::{Args, Job};

/// How long a conversation is held by a process that died without letting go of it.
const LEASE: Duration = Duration::from_secs(3);
/// How long a model may be silent.
const IDLE: Duration = Duration::from_secs(60);

const SAMPLES: [(Lang, &str, &str); 2] = [
    (
        Lang::En,
        include_str!("../../sample/en/courses.ics"),
        include_str!("../../sample/en/tasks.toml"),
    ),
    (
        Lang::Zh,
        include_str!("../../sample/zh/courses.ics"),
        include_str!("../../sample/zh/tasks.toml"),
    ),
];

pub(crate) struct Desk {
    pub(crate) thread: ThreadId,
    pub(crate) service: Service,
    pub(crate) intake: Intake,
    pub(crate) lang: Lang,
    folder: PathBuf,
}

struct FromFiles(ScheduleState);

#[async_trait]
impl ScheduleProvider for FromFiles {
    async fn load(&self, _: &ThreadId) -> Result<ScheduleState, BoxError> {
        Ok(self.0.clone())
    }
}

impl Desk {
    pub(crate) fn open(args: &Args) -> Result<Self> {
        let thread = ThreadId::new(args.thread.clone())?;
        let folder = args.dir.join(thread.as_str());
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let words = args.job.request.as_deref();
        let lang = args.lang.or(words.map(Lang::of)).unwrap_or_default();
        let (courses, tasks) = input(&folder, &args.job, lang)?;
        let intake = open(&courses, &tasks, &TimeZone::system(), lang)?;
        let provider = FromFiles(intake.state.clone());
        // Every such move is confirmed by a person.
        let deps = Deps::new()?
            .mind(mind(args))
            .provider(provider)
            .existing_may_move(true);
        let store = Arc::new(SqliteLog::open(args.dir.join("threads.db"))?);
        let options = RunnerOptions::default()
            .lease(LEASE)
            .owner(format!("scheduler process {}", std::process::id()));
        let service = Service::new(&deps, store, options, DEFAULT_MAX_ROUNDS)?;
        Ok(Self {
            thread,
            service,
            intake,
            lang,
            folder,
        })
    }

    /// Where a result of the conversation is written.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Desk {
    /// Another conversation about the same input.
    pub(crate) fn copy_input_to(&self, thread: &ThreadId) -> Result<()> {
        let folder = self.folder.with_file_name(thread.as_str());
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        for name in ["courses.ics", "tasks.toml"] {
            write_file(&folder.join(name), &read_file(&self.file(name))?)?;
        }
        Ok(())
    }
}

/// The input of a conversation is copied into its folder, so that later commands need not be told
/// again, and a file that is edited meanwhile does not change what was scheduled.
fn input(folder: &std::path::Path, job: &Job, lang: Lang) -> Result<(PathBuf, PathBuf)> {
    let paths = (folder.join("courses.ics"), folder.join("tasks.toml"));
    if let Some((courses, tasks)) = job.courses.as_ref().zip(job.tasks.as_ref()) {
        // Read as they stand first: an error names the file that the person wrote.
        open(courses, tasks, &TimeZone::system(), lang)?;
        write_file(&paths.0, &read_file(courses)?)?;
        write_file(&paths.1, &read_file(tasks)?)?;
    } else if !paths.0.exists() || !paths.1.exists() {
        let sample = SAMPLES.iter().find(|(of, ..)| *of == lang);
        if let Some((_, courses, tasks)) = sample {
            write_file(&paths.0, courses.as_bytes())?;
            write_file(&paths.1, tasks.as_bytes())?;
        }
    }
    Ok(paths)
}

fn mind(args: &Args) -> Mind {
    let (Some(base_url), Some(model)) = (&args.base_url, &args.model) else {
        return Mind::default();
    };
    let mut client = OpenAi::new(base_url, model);
    if let Some(key) = ApiKey::from_env(&args.key_env) {
        client = client.key(key);
    }
    let model = Retry::new(Timeout::new(client).idle(IDLE));
    Mind {
        model: Some(Arc::new(model)),
        ..Mind::default()
    }
}
