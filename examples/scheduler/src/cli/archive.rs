//! Reading what is stored, without the input and without beginning anything.
use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, Result, bail};
use fugato::{
    graph::RunnerOptions,
    state::ThreadId,
    store::{ThreadAdmin as _, ThreadFilter},
};
use scheduler::{
    agent::DEFAULT_MAX_ROUNDS,
    calendar::{Lang, read_file, write_file},
    deps::Deps,
    service::Service,
};

use super::{args::Args, log};

/// How many conversations a message names.
const NAMED: usize = 10;

/// The conversations of a folder, and the one that the command is about.
pub(crate) struct Archive {
    pub(crate) thread: ThreadId,
    pub(crate) service: Service,
    pub(crate) lang: Lang,
    folder: PathBuf,
}

impl Archive {
    pub(crate) async fn open(args: &Args) -> Result<Self> {
        let thread = ThreadId::new(args.thread.clone())?;
        let Some(store) = log::open(args, false).await? else {
            bail!(
                "there are no conversations in {}; `scheduler` begins one",
                args.dir.display()
            );
        };
        let store = Arc::new(store);
        let filter = ThreadFilter::default();
        let threads = store.list(filter).await?;
        if !threads.iter().any(|summary| summary.thread == thread) {
            let names = threads
                .iter()
                .take(NAMED)
                .map(|summary| summary.thread.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            bail!(
                "there is no conversation {:?}; there are: {names}",
                thread.as_str()
            );
        }
        let service = Service::new(
            &Deps::new()?,
            store,
            RunnerOptions::default(),
            DEFAULT_MAX_ROUNDS,
        )?;
        let stored = service.runner().state(&thread).await?;
        Ok(Self {
            thread,
            service,
            lang: args
                .lang
                .or(stored.map(|agent| agent.lang))
                .unwrap_or_default(),
            folder: args.dir.clone(),
        })
    }

    /// Where the input of the conversation lies: its calendar and its class file.
    pub(crate) fn input(&self) -> (PathBuf, PathBuf) {
        let folder = self.folder.join(self.thread.as_str());
        (folder.join("courses.ics"), folder.join("tasks.toml"))
    }

    /// Gives another conversation the input of this one.
    pub(crate) fn copy_input_to(&self, new: &ThreadId) -> Result<()> {
        let [from, to] = [&self.thread, new].map(|thread| self.folder.join(thread.as_str()));
        std::fs::create_dir_all(&to)
            .with_context(|| format!("cannot make the folder {}", to.display()))?;
        for name in ["courses.ics", "tasks.toml"] {
            write_file(&to.join(name), &read_file(&from.join(name))?)?;
        }
        Ok(())
    }
}
