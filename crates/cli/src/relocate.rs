//! Moving conversations to another store.
use std::path::Path;

use fugato_graph::BoxError;
use fugato_state::{ThreadId, say};
use fugato_store::{Route, ThreadAdminExt as _, ThreadFilter, move_thread};
use futures::TryStreamExt as _;

use crate::{CliError, Terminal, error::ErrorContext as _, store, without_password};

/// Moves a conversation, or all with none named, from one store to another.
pub(crate) async fn relocate(
    (from, to): (&str, &str),
    folder: &Path,
    thread: Option<ThreadId>,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let Some(source) = store::open(from, folder, false).await? else {
        return Err(CliError::new(say!(
            "there are no conversations in {}",
            "{} 中没有会话",
            without_password(from)
        ))
        .into());
    };
    let Some(target) = store::open(to, folder, true).await? else {
        return Err(CliError::new(say!(
            "{} cannot be made",
            "无法创建 {}",
            without_password(to)
        ))
        .into());
    };
    let route = Route::new(place(from)?, place(to)?);
    if place(from)? == place(to)? {
        return Err(CliError::new(say!(
            "the conversations are in {} already; name another store",
            "会话已经在 {} 中；请指定另一个存储",
            place(to)?
        ))
        .into());
    }
    let threads = if let Some(thread) = thread {
        vec![thread]
    } else {
        let all = source.log.all(ThreadFilter::default());
        all.map_ok(|found| found.thread).try_collect().await?
    };
    let mut failed = None;
    for thread in threads {
        match move_thread(&thread, &*source.log, &*target.log, &route).await {
            Ok(moved) => {
                let (to, lines) = (place(to)?, moved.head);
                terminal.line(terminal.lang.pick(
                    format!("lives in {to} now: {thread} ({lines} lines)"),
                    format!("现在在 {to}：{thread}（{lines} 行）"),
                ));
            }
            Err(error) => match failed {
                None => failed = Some(error),
                Some(_) => terminal.error(&error),
            },
        }
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Returns the name of a store, which is the same from every folder and holds no secrets.
fn place(address: &str) -> Result<String, CliError> {
    let Some(path) = store::file(address)? else {
        return Ok(without_password(address));
    };
    let path = path
        .canonicalize()
        .tell(|| say!("cannot read {}", "无法读取 {}", path.display()))?;
    Ok(path.display().to_string())
}
