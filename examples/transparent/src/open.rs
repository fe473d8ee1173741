//! Opening of the agent from the options of the command line.
use std::{path::Path, sync::Arc};

use fugato::{
    BoxError, Runner,
    archive::Archives,
    cli::Opened,
    cron::{Clock, Clockwork, Job, Jobs},
    mcp::plugin::Loaded,
    store::DocStore,
};
use serde::Deserialize as _;

use crate::{
    agent::{Agent, Lang, Request, Update},
    deps::Deps,
    desk::Desk,
    graph::{budgets, graph},
    served::Served,
};

/// Returns the archives of a folder.
pub fn archives(dir: &Path) -> Archives {
    Archives::new(dir.join("archives"))
}

/// Returns the jobs of a store, with the clock of this machine.
pub fn jobs(docs: Arc<dyn DocStore>) -> Jobs {
    Jobs::new(docs, Clock::system())
}

/// Returns the clockwork that starts a turn for each job that is due.
pub fn clockwork(runner: Runner<Agent>, jobs: Jobs) -> Clockwork<Agent> {
    Clockwork::new(runner, jobs, |job: &Job, _| {
        let lang = job.wish.extra.get("lang").map(Lang::deserialize);
        vec![Update::Asked(Request {
            lang: lang.and_then(Result::ok),
            ..Request::of_job(&job.id, &job.wish.task)
        })]
    })
}

/// Returns the dependencies from a folder, with its plugins, and with jobs in this store.
pub async fn deps(dir: &Path, docs: Arc<dyn DocStore>) -> Result<Deps, BoxError> {
    let desk = Desk::open(dir)?;
    let (plugins, web) = (desk.plugins().load().await, desk.web()?);
    Ok(Deps::with(desk, jobs(docs), plugins, web)?)
}

/// Returns the served agent. Unless the command only reads, jobs fire and archives are updated
/// until the process ends.
pub async fn open(mut open: Opened) -> Result<Served, BoxError> {
    let deps = if open.reads {
        let (desk, jobs) = (Desk::open(&open.dir)?, jobs(open.docs.clone()));
        Deps::with(desk, jobs, Loaded::default(), None)?
    } else {
        deps(&open.dir, open.docs.clone()).await?
    };
    let deps = deps.model(open.model.clone());
    let archives = archives(&open.dir);
    open.store = Arc::new(archives.watching(open.store.clone()));
    let runner = open.runner(graph(&deps)?).options(budgets(open.options()));
    if !open.reads {
        let clockwork = clockwork(runner.clone(), deps.jobs);
        tokio::spawn(async move { clockwork.run_until(std::future::pending()).await });
        let own = runner.clone();
        tokio::spawn(async move { archives.run_until(&own, std::future::pending()).await });
    }
    Ok(Served::new(runner, open.lang))
}
