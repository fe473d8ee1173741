//! The environment of a command: the folder, the input and the agent.
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use fugato::{
    cli::Resources,
    state::ThreadId,
    web::{AllowedHosts, HttpWeb},
};
use jiff::{civil::DateTime, tz::TimeZone};
use scheduler::{
    agent::DEFAULT_MAX_ROUNDS,
    calendar::{Classes, IcsCalendar, Intake, Lang, language, open as read, read_file, write_file},
    clock,
    deps::Deps,
    graph::graph,
    llm_config::LlmConfig,
    recall::listed,
    results::{COURSES, MirroredStore, ResultFiles, TASKS},
    served::ServedScheduler,
    service::Service,
    store::{self, Calendars, ScheduleStore},
    transfer::{Transfer, TransferInput, complete, is_sample},
};

#[cfg(feature = "caldav")]
use scheduler::{
    caldav::{CalDav, Local, SyncedStore},
    remote::RemoteCalendar,
};

use super::{
    args::{Args, Job},
    calendar,
    sample::sample,
    stage::{models, stages},
};

/// The environment of a conversation.
pub(crate) struct Session {
    pub(crate) agent: ServedScheduler,
    pub(crate) transfer: Transfer,
    pub(crate) thread: ThreadId,
    pub(crate) intake: Intake,
    pub(crate) lang: Lang,
    /// True if the weeks are those of the sample.
    pub(crate) is_sample: bool,
    /// Files of the command line that differ from what the conversation has.
    pub(crate) brought: Option<TransferInput>,
    pub(crate) results: ResultFiles,
    /// The time on the person's clock.
    now: DateTime,
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
        let (courses, tasks, brought) = input(&folder, &args.job, lang)?;
        let mut intake = read(&courses, &tasks, &TimeZone::system(), language(lang))?;
        let calendars = calendar::open(args).await?;
        intake.state = calendar::filled(&calendars, &thread, &intake.state).await?;
        let name = calendars.name(&thread);
        let results = ResultFiles::new(&folder, &name, lang);
        let store: Arc<dyn ScheduleStore> = Arc::new(MirroredStore::new(
            calendars.store().clone(),
            results.clone(),
        ));
        let transfer = Transfer::new(store.clone(), name.clone(), &folder, lang);
        #[cfg(feature = "caldav")]
        let (store, remote) = match &args.caldav {
            Some(url) => {
                let local = Local {
                    store: store.clone(),
                    calendar: name.clone(),
                    files: results.clone(),
                    transfer: transfer.clone(),
                    sections: intake.sections.clone(),
                    zone: intake.zone.clone(),
                    lang,
                };
                let remote = CalDav::new(url, CalDav::login()?, local, open.docs.clone())?;
                let remote: Arc<dyn RemoteCalendar> = Arc::new(remote);
                let synced = SyncedStore::new(store, remote.clone());
                (Arc::new(synced) as Arc<dyn ScheduleStore>, Some(remote))
            }
            None => (store, None),
        };
        let calendars = match &args.calendar {
            Some(name) => Calendars::shared(store.clone(), name),
            None => Calendars::of_threads(store.clone()),
        };
        let mind = LlmConfig {
            model: open.model.clone(),
            routes: args.routes.into(),
            stages: stages(&args.stages),
            models: open.models.clone(),
            choice: models(&args.stages),
            ..LlmConfig::default()
        };
        if mind.model.is_some() {
            mind.choice.check(&mind.models).context("a --stage")?;
        }
        let models = mind.models.clone();
        // Every such move is confirmed by a person.
        let mut deps = Deps::new()?
            .mind(mind)
            .calendars(calendars)
            .existing_may_move(true)
            .sections(intake.sections.clone());
        if let Some(url) = &args.web {
            deps = deps.web(AllowedHosts::new(
                HttpWeb::new(url)?,
                args.web_hosts.clone(),
            ))?;
        }
        let service = service(&deps, &open, args.max_rounds)?.zone(intake.zone.clone());
        let now = intake.zone.to_datetime(clock::now());
        let agent = ServedScheduler::new(service, store, name)
            .sections(intake.sections.clone())
            .models(models)
            .files(results.paths());
        #[cfg(feature = "caldav")]
        let agent = match remote {
            Some(remote) => agent.remote(remote),
            None => agent,
        };
        Ok(Self {
            agent,
            transfer,
            thread,
            intake,
            lang,
            is_sample: is_sample(&folder),
            brought,
            results,
            now,
        })
    }

    /// Returns the reminders, to-dos and notes of the calendar, as text.
    pub(crate) async fn notes(&self) -> Result<String> {
        let stored = self.transfer.kept().await?;
        Ok(listed(&stored.unwrap_or_default(), self.now, self.lang))
    }
}

/// Returns an agent that only reads the log: without the input, and without starting a run.
pub(crate) async fn to_read(open: &Resources) -> Result<ServedScheduler> {
    let none = store::open(":memory:").await?;
    Ok(ServedScheduler::new(
        service(&Deps::new()?, open, DEFAULT_MAX_ROUNDS)?,
        none,
        "",
    ))
}

fn service(deps: &Deps, open: &Resources, max_rounds: u64) -> Result<Service> {
    let runner = |graph| open.runner(graph);
    Ok(Service::over(deps, runner, open.options(), max_rounds)?)
}

/// Copies the input of a conversation into its folder, so that later commands need not name it
/// again and later edits of the files do not change the schedule. Returns the paths of the copies,
/// and the files that differ from what the conversation has.
fn input(
    folder: &Path,
    job: &Job,
    lang: Lang,
) -> Result<(PathBuf, PathBuf, Option<TransferInput>)> {
    let (courses, tasks) = (folder.join(COURSES), folder.join(TASKS));
    let given = |path: &Option<PathBuf>| path.as_deref().map(read_file).transpose();
    let (new_courses, new_tasks) = (given(&job.courses)?, given(&job.tasks)?);
    let is_new = !courses.exists() || !tasks.exists();
    if new_courses.is_none() && new_tasks.is_none() {
        if is_new {
            let (sample_courses, sample_tasks) = sample(lang, clock::today());
            write_file(&courses, sample_courses.as_bytes())?;
            write_file(&tasks, sample_tasks.as_bytes())?;
        }
        return Ok((courses, tasks, None));
    }
    check(
        job,
        [new_courses.as_deref(), new_tasks.as_deref()],
        [&courses, &tasks],
    )?;
    if is_new {
        let [new_courses, new_tasks] = complete(new_courses, new_tasks);
        write_file(&courses, &new_courses)?;
        write_file(&tasks, &new_tasks)?;
        return Ok((courses, tasks, None));
    }
    let differs = |new: Option<Vec<u8>>, kept: &Path| -> Result<Option<String>> {
        let Some(new) = new else { return Ok(None) };
        let is_same = read_file(kept)? == new;
        Ok((!is_same).then(|| String::from_utf8_lossy(&new).into_owned()))
    };
    let brought = TransferInput {
        courses: differs(new_courses, &courses)?,
        tasks: differs(new_tasks, &tasks)?,
        classes: None,
        replace: job.yes,
        version: None,
    };
    let differs = brought.courses.is_some() || brought.tasks.is_some();
    Ok((courses, tasks, differs.then_some(brought)))
}

/// Checks the files under the names that the person gave them, so that an error names these.
fn check(
    job: &Job,
    [new_courses, new_tasks]: [Option<&[u8]>; 2],
    [courses, tasks]: [&Path; 2],
) -> Result<()> {
    let kept = |path: &Path| path.exists().then(|| read_file(path)).transpose();
    let [courses_bytes, tasks_bytes] = complete(
        new_courses
            .map(<[u8]>::to_vec)
            .map_or_else(|| kept(courses), |new| Ok(Some(new)))?,
        new_tasks
            .map(<[u8]>::to_vec)
            .map_or_else(|| kept(tasks), |new| Ok(Some(new)))?,
    );
    let name = |given: &Option<PathBuf>, kept: &Path| {
        given.as_deref().unwrap_or(kept).display().to_string()
    };
    IcsCalendar::parse(&name(&job.courses, courses), &courses_bytes)?;
    Classes::parse(&name(&job.tasks, tasks), &tasks_bytes)?;
    Ok(())
}
