//! Opening of the agent from the options of the command line.
use std::{path::Path, sync::Arc};

use fugato::{
    BoxError, Runner,
    archive::Archives,
    cli::Resources,
    cron::{Job, JobClock, JobRunner, Jobs},
    store::DocStore,
};
use serde::Deserialize as _;

use crate::{
    agent::{AgentState, Lang, Request, Update},
    deps::Deps,
    graph::{budgets, graph},
    plugins::{self, LoadedPlugins},
    served::ServedTransparent,
    workspace::Workspace,
};

/// Returns the archives of a folder.
pub fn archives(dir: &Path) -> Archives {
    Archives::new(dir.join("archives"))
}

/// Returns the jobs of a store, with the clock of this machine.
pub fn jobs(docs: Arc<dyn DocStore>) -> Jobs {
    Jobs::new(docs, JobClock::system())
}

/// Returns the clockwork that starts a turn for each job that is due.
pub fn clockwork(runner: Runner<AgentState>, jobs: Jobs) -> JobRunner<AgentState> {
    JobRunner::new(runner, jobs, |job: &Job, _| {
        let lang = job.wish.extra.get("lang").map(Lang::deserialize);
        vec![Update::Asked(Request {
            lang: lang.and_then(Result::ok),
            ..Request::of_job(&job.id, &job.wish.task)
        })]
    })
}

/// Returns the dependencies from a folder, with its plugins, and with these jobs.
pub async fn deps(dir: &Path, jobs: Jobs) -> Result<Deps, BoxError> {
    let desk = Workspace::open(dir)?;
    let (plugins, web) = (plugins::load(&desk).await, desk.web()?);
    Ok(Deps::with(desk, jobs, plugins, web)?)
}

/// Returns the served agent. Unless the command only reads, jobs fire and archives are updated
/// until its runner is closed.
pub async fn open(mut open: Resources) -> Result<ServedTransparent, BoxError> {
    let mut jobs = jobs(open.docs.clone());
    if let Some(most) = open.limits.jobs {
        jobs = jobs.at_most(most);
    }
    let deps = if open.reads {
        let desk = Workspace::open_to_read(&open.dir)?;
        Deps::with(desk, jobs, LoadedPlugins::default(), None)?
    } else {
        deps(&open.dir, jobs).await?
    };
    let deps = deps.model(open.model.clone());
    let archives = archives(&open.dir);
    open.store = Arc::new(archives.watching(open.store.clone()));
    let runner = open.runner(graph(&deps)?).options(budgets(open.options()));
    if !open.reads {
        let (reminders, told) = (deps.reminders.clone(), runner.clone());
        let at_terminal = open.at_terminal;
        open.background(async move { reminders.deliver(&told, at_terminal).await });
        let clockwork = clockwork(runner.clone(), deps.jobs);
        open.background(async move { clockwork.run_until(std::future::pending()).await });
        let own = runner.clone();
        open.background(async move { archives.run_until(&own, std::future::pending()).await });
    }
    Ok(ServedTransparent::new(runner, open.lang))
}
