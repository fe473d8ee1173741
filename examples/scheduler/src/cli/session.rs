//! The environment of a command: the folder, the input and the agent.
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result, bail};
use fugato::{
    cli::Resources,
    state::ThreadId,
    web::{AllowedHosts, HttpWeb},
};
use jiff::tz::TimeZone;
use scheduler::{
    agent::DEFAULT_MAX_ROUNDS,
    calendar::{Intake, Lang, language, open as read, read_file, write_file},
    deps::Deps,
    graph::graph,
    llm_config::LlmConfig,
    results::{MirroredStore, ResultFiles},
    served::ServedScheduler,
    service::Service,
    store::{self, Calendars, ScheduleStore},
    transfer::Transfer,
};

use super::{
    args::{Args, Job},
    calendar,
};

const SAMPLES: [(Lang, &str, &str); 2] = [
    (
        Lang::En,
        include_str!("../../../timetable/sample/en/courses.ics"),
        include_str!("../../../timetable/sample/en/tasks.toml"),
    ),
    (
        Lang::Zh,
        include_str!("../../../timetable/sample/zh/courses.ics"),
        include_str!("../../../timetable/sample/zh/tasks.toml"),
    ),
];

/// The environment of a conversation.
pub(crate) struct Session {
    pub(crate) agent: ServedScheduler,
    pub(crate) transfer: Transfer,
    pub(crate) thread: ThreadId,
    pub(crate) intake: Intake,
    pub(crate) lang: Lang,
    pub(crate) results: ResultFiles,
}

impl Session {
    pub(crate) async fn open(args: &Args, open: Resources) -> Result<Self> {
        let (thread, folder) = (open.thread.clone(), open.folder());
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let stored = open.runner(graph(&Deps::new()?)?).state(&thread).await?;
        let stored = stored.map(|agent| agent.lang);
        let words = args.job.request.as_deref();
        let lang = open.lang.or(words.map(Lang::of)).or(stored);
        let lang = lang.unwrap_or_default();
        let (courses, tasks) = input(&folder, &args.job, stored.is_some(), lang)?;
        let mut intake = read(&courses, &tasks, &TimeZone::system(), language(lang))?;
        let calendars = calendar::open(args).await?;
        intake.state = calendar::filled(&calendars, &thread, &intake.state).await?;
        let name = calendars.name(&thread);
        let results = ResultFiles::new(&folder, &name, lang);
        let store: Arc<dyn ScheduleStore> = Arc::new(MirroredStore::new(
            calendars.store().clone(),
            results.clone(),
        ));
        let calendars = match &args.calendar {
            Some(name) => Calendars::shared(store.clone(), name),
            None => Calendars::of_threads(store.clone()),
        };
        let mind = LlmConfig {
            model: open.model.clone(),
            ..LlmConfig::default()
        };
        // Every such move is confirmed by a person.
        let mut deps = Deps::new()?
            .mind(mind)
            .calendars(calendars)
            .existing_may_move(true);
        if let Some(url) = &args.web {
            deps = deps.web(AllowedHosts::new(
                HttpWeb::new(url)?,
                args.web_hosts.clone(),
            ))?;
        }
        let service = service(&deps, &open)?.zone(intake.zone.clone());
        let transfer = Transfer::new(store.clone(), name.clone(), &folder, lang);
        let agent = ServedScheduler::new(service, store, name)
            .sections(intake.sections.clone())
            .files(results.paths());
        Ok(Self {
            agent,
            transfer,
            thread,
            intake,
            lang,
            results,
        })
    }
}

/// Returns an agent that only reads the log: without the input, and without starting a run.
pub(crate) async fn to_read(open: &Resources) -> Result<ServedScheduler> {
    let none = store::open(":memory:").await?;
    Ok(ServedScheduler::new(
        service(&Deps::new()?, open)?,
        none,
        "",
    ))
}

fn service(deps: &Deps, open: &Resources) -> Result<Service> {
    let store = Arc::new(open.store.clone());
    Ok(Service::new(
        deps,
        store,
        open.options(),
        DEFAULT_MAX_ROUNDS,
    )?)
}

/// Copies the input of a conversation into its folder, so that later commands need not name it
/// again and later edits of the files do not change the schedule. Returns the paths of the copies.
fn input(folder: &Path, job: &Job, begun: bool, lang: Lang) -> Result<(PathBuf, PathBuf)> {
    let paths = (folder.join("courses.ics"), folder.join("tasks.toml"));
    if let Some((courses, tasks)) = job.courses.as_ref().zip(job.tasks.as_ref()) {
        // The originals are read first, so that an error names the file that the person wrote.
        read(courses, tasks, &TimeZone::system(), language(lang))?;
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
