//! What a command works with: the folder, the log, the input and the agent.
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use fugato::{
    graph::{Runner, RunnerOptions},
    llm::{Retry, Timeout},
    openai::{ApiKey, OpenAi},
    state::ThreadId,
};
use jiff::tz::TimeZone;
use scheduler::{
    agent::DEFAULT_MAX_ROUNDS,
    calendar::{Intake, Lang, open, read_file, write_file},
    deps::Deps,
    graph::graph,
    mind::Mind,
    service::Service,
};

use super::{
    args::{Args, Job},
    calendar, log,
};

/// How long a conversation is held by a process that died without letting go of it.
const LEASE: Duration = Duration::from_secs(3);
/// How long a model may be silent.
const IDLE: Duration = Duration::from_secs(90);

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
    pub(crate) again: String,
    folder: PathBuf,
}

impl Desk {
    pub(crate) async fn open(args: &Args) -> Result<Self> {
        let thread = ThreadId::new(args.thread.clone())?;
        let folder = args.dir.join(thread.as_str());
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let store = log::open(args, true).await?;
        let store = Arc::new(store.context("a log is made if there is none")?);
        let stored = Runner::new(graph(&Deps::new()?)?, store.clone());
        let stored = stored.state(&thread).await?.map(|agent| agent.lang);
        let words = args.job.request.as_deref();
        let lang = args
            .lang
            .or(words.map(Lang::of))
            .or(stored)
            .unwrap_or_default();
        let (courses, tasks) = input(&folder, &args.job, stored.is_some(), lang)?;
        let mut intake = open(&courses, &tasks, &TimeZone::system(), lang)?;
        let calendars = calendar::open(args).await?;
        intake.state = calendar::filled(&calendars, &thread, &intake.state).await?;
        // Every such move is confirmed by a person.
        let deps = Deps::new()?
            .mind(mind(args))
            .calendars(calendars)
            .existing_may_move(true);
        let options = RunnerOptions::default()
            .lease(LEASE)
            .owner(format!("scheduler process {}", std::process::id()));
        let service = Service::new(&deps, store, options, DEFAULT_MAX_ROUNDS)?;
        Ok(Self {
            thread,
            service,
            intake,
            lang,
            again: args.again(&args.thread, ""),
            folder,
        })
    }

    /// Where a result of the conversation is written.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The input of a conversation is copied into its folder, so that later commands need not be told
/// again, and a file that is edited meanwhile does not change what was scheduled.
fn input(folder: &Path, job: &Job, begun: bool, lang: Lang) -> Result<(PathBuf, PathBuf)> {
    let paths = (folder.join("courses.ics"), folder.join("tasks.toml"));
    if let Some((courses, tasks)) = job.courses.as_ref().zip(job.tasks.as_ref()) {
        // Read as they stand first: an error names the file that the person wrote.
        open(courses, tasks, &TimeZone::system(), lang)?;
        for (from, to) in [(courses, &paths.0), (tasks, &paths.1)] {
            let new = read_file(from)?;
            let same = to.exists() && read_file(to)? == new;
            if begun && !same {
                bail!(
                    "{} differs from what the conversation began with; begin another one with --thread NAME",
                    from.display()
                );
            }
            if !same {
                write_file(to, &new)?;
            }
        }
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
