//! The data of a conversation outside of its log: its folder, and a calendar of its own.
use std::path::Path;

use anyhow::{Context as _, Result};
use fugato::{
    cli::{App, CliCommand, Folders, ThreadResources},
    graph::BoxError,
    state::ThreadId,
};
use scheduler::{
    agent::AgentState,
    calendar::{read_file, write_file},
    deps::Deps,
    graph::graph,
    results::{COURSES, ResultFiles, TASKS},
    store::Calendar,
};
use std::sync::Arc;

use super::{args::Args, calendar};

/// The input files of a conversation, which a copy of it needs too.
const INPUT: [&str; 2] = [COURSES, TASKS];

pub(crate) struct CalendarResources {
    args: Args,
    folders: Folders,
}

impl CalendarResources {
    pub(crate) fn new(args: Args) -> Self {
        let folders = Folders::new(args.folder());
        Self { args, folders }
    }

    /// Returns the last state of the conversation, from its log.
    async fn agent(&self, thread: &ThreadId) -> Result<Option<Arc<AgentState>>, BoxError> {
        let open = App::new("scheduler", self.args.flags.clone())
            .open_to_read()
            .await?;
        Ok(open.runner(graph(&Deps::new()?)?).state(thread).await?)
    }

    async fn stored(&self, thread: &ThreadId) -> Result<Option<Calendar>> {
        let calendars = calendar::open(&self.args).await?;
        Ok(calendars.store().read(&calendars.name(thread)).await?)
    }

    /// Returns true if the conversation has a calendar of its own; a shared one is not part of it.
    fn own(&self) -> bool {
        self.args.calendar.is_none()
    }

    async fn written(
        &self,
        thread: &ThreadId,
        stored: &Calendar,
        to: &Path,
    ) -> Result<(), BoxError> {
        let mut notes = String::new();
        for note in &stored.notes {
            notes.push_str(&serde_json::to_string(note)?);
            notes.push('\n');
        }
        write_file(&to.join("notes.jsonl"), notes.as_bytes())?;
        let schedule = serde_json::to_string_pretty(&stored.schedule)?;
        write_file(&to.join("schedule.json"), schedule.as_bytes())?;
        let folder = self.folders.of(thread);
        if !INPUT.iter().all(|name| folder.join(name).exists()) {
            return Ok(());
        }
        let lang = self.agent(thread).await?.map(|agent| agent.lang);
        let files = ResultFiles::new(folder, thread.as_str(), lang.unwrap_or_default());
        let calendar = files.calendar(&stored.schedule)?;
        Ok(write_file(&to.join("schedule.ics"), calendar.as_bytes())?)
    }

    fn copy_input(&self, thread: &ThreadId, to: &Path) -> Result<(), BoxError> {
        std::fs::create_dir_all(to)
            .with_context(|| format!("cannot make the folder {}", to.display()))?;
        for name in INPUT {
            let from = self.folders.of(thread).join(name);
            if from.exists() {
                write_file(&to.join(name), &read_file(&from)?)?;
            }
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl ThreadResources for CalendarResources {
    async fn exist(&self, thread: &ThreadId) -> Result<bool, BoxError> {
        let stored = self.own() && self.stored(thread).await?.is_some();
        Ok(stored || self.folders.exist(thread).await?)
    }

    /// Exports the calendar, the notes and the input.
    async fn export(&self, thread: &ThreadId, folder: &Path) -> Result<(), BoxError> {
        self.copy_input(thread, folder)?;
        match self.stored(thread).await? {
            Some(stored) => self.written(thread, &stored, folder).await,
            None => Ok(()),
        }
    }

    /// Copies the input, and fills a calendar for the copy with the stored schedule unless the
    /// calendar is shared.
    async fn copy(&self, from: &ThreadId, to: &ThreadId) -> Result<(), BoxError> {
        self.copy_input(from, &self.folders.of(to))?;
        let agent = self.agent(to).await?;
        let stored = agent.and_then(|agent| agent.stored.clone().or(agent.original.clone()));
        if let Some(stored) = stored.filter(|_| self.own()) {
            let calendars = calendar::open(&self.args).await?;
            calendar::fill(&calendars, &calendars.name(to), &stored).await?;
        }
        Ok(())
    }

    /// Deletes the calendar and the folder; but a server keeps the folder that it works in, which has
    /// the files of the calendar that all of its conversations are about.
    async fn delete(&self, thread: &ThreadId) -> Result<(), BoxError> {
        if self.own() {
            let calendars = calendar::open(&self.args).await?;
            calendars.store().delete(thread.as_str()).await?;
        }
        let serves = matches!(self.args.command, Some(CliCommand::Serve { .. }));
        if serves && thread.as_str() == self.args.flags.thread {
            return Ok(());
        }
        self.folders.delete(thread).await
    }
}
