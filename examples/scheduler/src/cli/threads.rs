//! What a person has stored: listed, taken along, or removed.
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use fugato::{
    graph::{Runner, Standing},
    state::{Role, ThreadId},
    store::{ThreadAdmin as _, ThreadFilter, ThreadSummary},
};
use jiff::{Timestamp, tz::TimeZone};
use scheduler::{
    agent::Agent,
    calendar::{Export, export as to_calendar, open as read_input, write_file},
    deps::Deps,
    graph::graph,
};
use serde_json::json;

use super::{archive::Archive, args::Args, calendar, log, screen::Screen};

/// How long a title is, in characters.
const TITLE: usize = 40;
/// How many records are read at once.
const PAGE: usize = 500;

/// Lists conversations, with what each is about and how it stands.
pub(crate) async fn list(args: &Args, screen: &mut Screen) -> Result<()> {
    let Some(store) = log::open(args, false).await? else {
        bail!(
            "there are no conversations in {}; `scheduler` begins one",
            args.dir.display()
        );
    };
    let store = std::sync::Arc::new(store);
    let runner: Runner<Agent> = Runner::new(graph(&Deps::new()?)?, store.clone());
    let mut filter = ThreadFilter::default();
    loop {
        let page: Vec<ThreadSummary> = store.list(filter.clone()).await?;
        for summary in &page {
            let state = runner.state(&summary.thread).await?;
            let standing = runner.standing(&summary.thread).await?;
            let title = state.map_or(String::new(), |agent| title(&agent));
            let (name, stands) = (summary.thread.as_str(), stands(&standing));
            screen.line(format!("{name}  {stands}  {title}").trim_end());
        }
        if page.len() < filter.limit {
            return Ok(());
        }
        filter.after = page.last().map(|summary| summary.thread.clone());
    }
}

/// What the person asked for first.
fn title(agent: &Agent) -> String {
    let history = &agent.conversation.history;
    let asked = history.iter().find(|message| message.role == Role::User);
    let words = asked.map_or("", |message| message.content.trim());
    let line = words.lines().next().unwrap_or_default();
    if line.chars().count() <= TITLE {
        return line.to_owned();
    }
    line.chars().take(TITLE - 1).chain(['…']).collect()
}

fn stands(standing: &Standing) -> &'static str {
    match standing {
        Standing::New => "new",
        Standing::Waiting(_) => "waits for an answer",
        Standing::Unfinished => "interrupted",
        Standing::Failed { .. } => "failed",
        _ => "finished",
    }
}

/// Writes everything of a conversation into a folder: the calendar, the log line by line, the notes,
/// and the input.
pub(crate) async fn export(args: &Args, to: Option<&Path>, screen: &mut Screen) -> Result<()> {
    let archive = Archive::open(args).await?;
    let name = archive.thread.as_str();
    let folder = to.map_or_else(
        || PathBuf::from(format!("{name}-export")),
        Path::to_path_buf,
    );
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut files = vec![("log.jsonl", log_lines(&archive).await?)];
    let calendars = calendar::open(args).await?;
    let stored = calendars
        .store()
        .read(&calendars.name(&archive.thread))
        .await?;
    if let Some(stored) = &stored {
        let notes: Vec<_> = stored
            .notes
            .iter()
            .map(serde_json::to_string)
            .collect::<Result<_, _>>()?;
        let notes = notes
            .into_iter()
            .map(|note| note + "\n")
            .collect::<String>();
        files.push(("notes.jsonl", notes));
        files.push((
            "schedule.json",
            serde_json::to_string_pretty(&stored.schedule)?,
        ));
    }
    let input = archive.input();
    for (name, path) in [("courses.ics", &input.0), ("tasks.toml", &input.1)] {
        if path.exists() {
            write_file(&folder.join(name), &scheduler::calendar::read_file(path)?)?;
        }
    }
    if let Some(stored) = stored
        && input.0.exists()
        && input.1.exists()
    {
        let intake = read_input(&input.0, &input.1, &TimeZone::system(), archive.lang)?;
        let options = Export {
            sections: &intake.sections,
            zone: &intake.zone,
            stamp: Timestamp::now(),
            schedule: name,
            lang: archive.lang,
        };
        files.push(("schedule.ics", to_calendar(&stored.schedule, &options)?));
    }
    for (name, text) in files {
        write_file(&folder.join(name), text.as_bytes())?;
    }
    let written = archive.lang.pick("written: ", "已写入：");
    screen.line(format!("{written}{}", folder.display()));
    Ok(())
}

/// One record of the log a line, the oldest first.
async fn log_lines(archive: &Archive) -> Result<String> {
    let mut lines = String::new();
    let mut from = 1;
    loop {
        let runner = archive.service.runner();
        let page = runner.history(&archive.thread, from, PAGE).await?;
        for entry in &page {
            let line = json!({ "seq": entry.seq, "at": entry.at, "run": entry.run.to_string(), "fact": entry.fact });
            lines.push_str(&line.to_string());
            lines.push('\n');
            from = entry.seq + 1;
        }
        if page.len() < PAGE {
            return Ok(lines);
        }
    }
}

/// Removes a conversation with everything that belongs to it, once the person has agreed.
pub(crate) async fn delete(args: &Args, name: &str, yes: bool, screen: &mut Screen) -> Result<()> {
    let thread = ThreadId::new(name)?;
    let store = log::open(args, false).await?;
    let calendars = calendar::open(args).await?;
    let folder = args.dir.join(thread.as_str());
    let logged = match &store {
        Some(store) => fugato::store::ThreadLog::head(store, &thread)
            .await?
            .is_some(),
        None => false,
    };
    // A calendar that others share is not part of this conversation.
    let own = args.calendar.is_none();
    let stored = own && calendars.store().read(thread.as_str()).await?.is_some();
    if !logged && !stored && !folder.exists() {
        bail!("there is nothing of a conversation {name:?}; `scheduler threads` lists them");
    }
    let question = screen.lang.pick(
        format!("Delete the conversation {name:?} with its log, calendar, notes and files? [y/n] "),
        format!("删除会话 {name:?} 及其记录、日程、备忘和文件？[y/n] "),
    );
    let agreed = yes || screen.is_interactive() && is_yes(screen.ask(&question).await?.as_deref());
    if !agreed {
        bail!("nothing was deleted; --yes deletes without asking");
    }
    // The log goes last: as long as it is there, what is left can be found and deleted again.
    if own {
        calendars.store().delete(thread.as_str()).await?;
    }
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    if let Some(store) = store {
        store.remove(&thread).await?;
    }
    let deleted = screen.lang.pick("deleted: ", "已删除：");
    screen.line(format!("{deleted}{name}"));
    Ok(())
}

fn is_yes(said: Option<&str>) -> bool {
    matches!(said.map(str::trim), Some("y" | "Y" | "yes" | "是"))
}
