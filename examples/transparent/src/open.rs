//! The agent put together from what the command line names.
use std::{
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use fugato::{
    BoxError,
    cli::Opened,
    llm::{ChatModel, CircuitBreaker},
    state::Millis,
    store::DocStore,
};
use jiff::tz::TimeZone;

use crate::{
    archive::Archives,
    clockwork::Clockwork,
    deps::Deps,
    desk::Desk,
    graph::{budgets, graph},
    jobs::Jobs,
    plugin::Loaded,
    served::Served,
};

/// The archives of a folder.
pub fn archives(dir: &Path) -> Archives {
    Archives::new(dir.join("archives"))
}

/// What lies in a folder, with its plugins, and with jobs in this store.
pub async fn deps(dir: &Path, docs: Arc<dyn DocStore>) -> Result<Deps, BoxError> {
    let desk = Desk::open(dir)?;
    Ok(Deps::open(desk, jobs(docs)).await?)
}

/// The agent over what was opened. Unless the command only reads, jobs fire and archives follow
/// for as long as the process lives.
pub async fn open(open: Opened) -> Result<Served, BoxError> {
    let deps = if open.reads {
        let desk = Desk::open(&open.dir)?;
        Deps::with(desk, jobs(open.docs.clone()), Loaded::default(), None)?
    } else {
        deps(&open.dir, open.docs.clone()).await?
    };
    // A model that keeps failing is left alone for a while, and rules go on at once.
    let guarded = |model| Arc::new(CircuitBreaker::new(model)) as Arc<dyn ChatModel>;
    let deps = deps.model(open.model.clone().map(guarded));
    let runner = open.runner(graph(&deps)?).options(budgets(open.options()));
    if !open.reads {
        let clockwork = Clockwork::new(runner.clone(), deps.jobs, deps.archives);
        tokio::spawn(async move { clockwork.run_until(std::future::pending()).await });
    }
    Ok(Served::new(runner, open.lang))
}

pub(crate) fn jobs(docs: Arc<dyn DocStore>) -> Jobs {
    Jobs::new(docs, TimeZone::system(), Arc::new(now))
}

/// Milliseconds since the Unix epoch.
fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Millis::try_from(since.unwrap_or_default().as_millis()).unwrap_or(Millis::MAX)
}
