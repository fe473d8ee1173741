//! The stored threads: list, export and removal.
use std::path::Path;

use fugato_axum::ServedAgent;
use fugato_graph::{BoxError, ThreadStatus};
use fugato_state::{Lang, ThreadId, say};
use fugato_store::{ThreadAdminExt as _, ThreadFilter, ThreadStore, ThreadSummary, absence};
use futures::TryStreamExt as _;
use serde_json::json;

use crate::{
    CliError, Terminal, ThreadResources,
    archive::Archive,
    error::{ErrorContext as _, make_folder},
    store::Store,
};

/// Lists threads, each with its status and title.
pub(crate) async fn list<A: ServedAgent>(
    agent: &A,
    store: &dyn ThreadStore,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let runner = agent.runner();
    let mut all = store.all(ThreadFilter::default());
    while let Some(ThreadSummary { thread, .. }) = all.try_next().await? {
        let state = runner.state(&thread).await?;
        let standing = runner.status(&thread).await?;
        let title = state.and_then(|state| agent.title(&state));
        let title = title.unwrap_or_default();
        let away = absence(store, &thread).await?.map(|away| away.to_string());
        let stands = away.unwrap_or_else(|| stands(&standing, terminal.lang).to_owned());
        terminal.line(format!("{thread}  {stands}  {title}").trim_end());
    }
    Ok(())
}

fn stands(standing: &ThreadStatus, lang: Lang) -> &'static str {
    match standing {
        ThreadStatus::New => lang.pick("new", "新的"),
        ThreadStatus::Waiting(_) => lang.pick("waits for an answer", "等待回答"),
        ThreadStatus::Unfinished => lang.pick("interrupted", "中断"),
        ThreadStatus::Failed { .. } => lang.pick("failed", "失败"),
        _ => lang.pick("finished", "已结束"),
    }
}

/// Writes everything of a thread into a folder: the log line by line, and its belongings.
pub(crate) async fn export<A: ServedAgent>(
    archive: &Archive<'_, A>,
    belongings: &dyn ThreadResources,
    folder: &Path,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    if is_used(folder) {
        Err(CliError::new(say!(
            "nothing was written: {} is not empty, and what is in it would be overwritten; name a folder that is new or empty",
            "什么都没有写：{} 不是空的，其中的内容会被覆盖；请指定新的或空的文件夹",
            folder.display()
        )))?;
    }
    make_folder(folder)?;
    let path = folder.join("log.jsonl");
    std::fs::write(&path, log_lines(archive).await?)
        .tell(|| say!("cannot write {}", "无法写入 {}", path.display()))?;
    belongings.export(&archive.thread, folder).await?;
    let written = terminal.lang.pick("written: ", "已写入：");
    terminal.line(format!("{written}{}", folder.display()));
    Ok(())
}

/// Returns true if there is anything in the place of a folder.
fn is_used(folder: &Path) -> bool {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => folder.exists(),
    }
}

/// Returns the log, one record a line, the oldest first.
async fn log_lines<A: ServedAgent>(archive: &Archive<'_, A>) -> Result<String, BoxError> {
    let mut lines = String::new();
    let mut records = archive.runner().records(&archive.thread);
    while let Some(entry) = records.try_next().await? {
        let line = json!({ "seq": entry.seq, "at": entry.at, "run": entry.run.to_string(), "fact": entry.stored() });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    Ok(lines)
}

/// Removes a thread with its belongings, after the person has agreed.
pub(crate) async fn delete(
    store: Option<Store>,
    belongings: &dyn ThreadResources,
    thread: &ThreadId,
    yes: bool,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let name = thread.as_str();
    let logged = match &store {
        Some(store) => store.log.head(thread).await?.is_some(),
        None => false,
    };
    if !logged && !belongings.exist(thread).await? {
        Err(CliError::new(say!(
            "there is nothing of a conversation {name:?}; the command `threads` lists them",
            "没有会话 {name:?} 的任何内容；命令 `threads` 会列出"
        )))?;
    }
    let question = terminal.lang.pick(
        format!("Delete the conversation {name:?} with everything that belongs to it? [y/n] "),
        format!("删除会话 {name:?} 及其全部内容？[y/n] "),
    );
    let agreed =
        yes || terminal.is_interactive() && is_yes(terminal.ask(&question).await?.as_deref());
    if !agreed {
        Err(CliError::new(say!(
            "nothing was deleted; --yes deletes without asking",
            "什么都没有删除；--yes 不问就删除"
        )))?;
    }
    // The log goes last: with it, a partial deletion can be found and repeated.
    belongings.delete(thread).await?;
    if let Some(store) = store {
        store.log.remove(thread).await?;
    }
    let deleted = terminal.lang.pick("deleted: ", "已删除：");
    terminal.line(format!("{deleted}{name}"));
    Ok(())
}

fn is_yes(said: Option<&str>) -> bool {
    matches!(said.map(str::trim), Some("y" | "Y" | "yes" | "是"))
}
