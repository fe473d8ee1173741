//! The calendar of a conversation.
use anyhow::{Context as _, Result, bail};
use fugato::{cli::without_password, state::ThreadId};
use scheduler::{
    schedule::ScheduleState,
    store::{self, Calendars, StoreReceipt, StoreWrite},
};

use super::args::Args;

/// The key of the write that fills a calendar.
const IMPORT: &str = "import";

pub(crate) async fn open(args: &Args) -> Result<Calendars> {
    let default = || args.folder().join("schedule.db").display().to_string();
    let address = args.schedule.clone().unwrap_or_else(default);
    let store = store::open(&address)
        .await
        .with_context(|| format!("--schedule {}", without_password(&address)))?;
    Ok(match &args.calendar {
        Some(name) => Calendars::shared(store, name),
        None => Calendars::of_threads(store),
    })
}

/// Returns the schedule of the conversation's calendar, which is filled with this one if it has
/// none.
pub(crate) async fn filled(
    calendars: &Calendars,
    thread: &ThreadId,
    schedule: &ScheduleState,
) -> Result<ScheduleState> {
    let name = calendars.name(thread);
    if let Some(found) = calendars.store().read(&name).await?
        && found.schedule != ScheduleState::default()
    {
        return Ok(found.schedule);
    }
    fill(calendars, &name, schedule).await?;
    let found = calendars.store().read(&name).await?;
    Ok(found.context("the calendar was filled")?.schedule)
}

pub(crate) async fn fill(
    calendars: &Calendars,
    name: &str,
    schedule: &ScheduleState,
) -> Result<()> {
    let schedule = schedule.clone();
    let write = StoreWrite::Import { schedule };
    match calendars.store().write(name, IMPORT, &write).await? {
        StoreReceipt::Stored => Ok(()),
        StoreReceipt::Refused { issues } => bail!(
            "the calendar {name:?} cannot be filled: {}",
            issues.join("; ")
        ),
        other => bail!("the store answered an import with {other:?}"),
    }
}
