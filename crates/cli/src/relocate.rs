//! Moving conversations to another store.
use std::{path::Path, time::Duration};

use fugato_graph::{BoxError, RunErrorKind, Runner};
use fugato_state::{State, ThreadId, say};
use fugato_store::{
    MoveReport, Route, StoreError, StoreErrorKind, ThreadAdminExt as _, ThreadFilter, ThreadStore,
    busy_text, is_away, is_move, move_thread,
};
use futures::TryStreamExt as _;

use crate::{
    CliError, Terminal,
    error::ErrorContext as _,
    store::{self, Store, folder_of_commits},
    without_password,
};

/// The pause between two looks at a conversation that another process is moving.
const PAUSE: Duration = Duration::from_millis(200);

/// Moves conversations from one store, which is open, to another. With `all`, those that are not here
/// any more are told, and are no error.
pub(crate) async fn relocate(
    (from, source): (&str, Store),
    (to, folder): (&str, &Path),
    (threads, all): (Vec<ThreadId>, bool),
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let Some(target) = store::open(to, folder, true).await? else {
        return Err(CliError::new(say!(
            "{} cannot be made",
            "无法创建 {}",
            without_password(to)
        ))
        .into());
    };
    let (from, to) = (place(from)?, place(to)?);
    if from == to {
        return Err(CliError::new(say!(
            "the conversations are in {to} already; name another store",
            "会话已经在 {to} 中；请指定另一个存储"
        ))
        .into());
    }
    let route = Route::new(from, &to);
    let mut failed = None;
    for thread in threads {
        match moved(&thread, (&source, &target), &route, terminal).await {
            Ok(moved) => {
                let lines = moved.head;
                terminal.line(terminal.lang.pick(
                    format!("lives in {to} now: {thread} ({lines} lines)"),
                    format!("现在在 {to}：{thread}（{lines} 行）"),
                ));
            }
            Err(StoreError {
                kind: StoreErrorKind::Busy { owner, until },
                ..
            }) if all && is_away(&owner, until) => {
                let told = terminal.lang.scope(|| busy_text(&owner, until));
                terminal.line(format!("{thread}: {told}"));
            }
            Err(error) => match failed {
                None => failed = Some(error),
                Some(_) => terminal.error(&error),
            },
        }
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Moves a conversation. One that another process moves, or moved when it died, is waited for.
async fn moved(
    thread: &ThreadId,
    (source, target): (&Store, &Store),
    route: &Route,
    terminal: &mut Terminal,
) -> Result<MoveReport, StoreError> {
    let mut is_told = false;
    loop {
        let done = move_thread(thread, &*source.log, &*target.log, route).await;
        let Err(error) = &done else { return done };
        match &error.kind {
            StoreErrorKind::Busy { owner, until } if is_move(owner) && !is_away(owner, *until) => {}
            _ => return done,
        }
        if !is_told {
            let waits = "waiting for another move of the conversation";
            terminal.progress(terminal.lang.pick(waits, "等待正在移动这个会话的进程"));
            is_told = true;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns the conversations of a program whose names begin with `prefix`: those that it can read,
/// for a store may have others.
pub(crate) async fn own<S: State>(
    runner: &Runner<S>,
    store: &dyn ThreadStore,
    prefix: String,
    terminal: &mut Terminal,
) -> Result<Vec<ThreadId>, BoxError> {
    let mut filter = ThreadFilter::default();
    filter.prefix = prefix;
    let (mut all, mut own) = (store.all(filter), vec![]);
    while let Some(summary) = all.try_next().await? {
        let thread = summary.thread;
        let preview = runner.preview(&thread).await?;
        let Some(preview) = preview else {
            continue;
        };
        match preview.error.map(|error| error.kind) {
            None | Some(RunErrorKind::GraphChanged { .. }) => own.push(thread),
            Some(_) => {
                let stays = terminal.lang.pick(
                    format!("stays, as this program cannot read it: {thread}"),
                    format!("这个程序无法读取，留在原处：{thread}"),
                );
                terminal.line(stays);
            }
        }
    }
    Ok(own)
}

/// Returns the name of a store, which is the same from every folder and holds no secrets.
fn place(address: &str) -> Result<String, CliError> {
    let (scheme, path) = match (store::file(address)?, folder_of_commits(address)) {
        (Some(file), _) => ("", file),
        (None, Some(folder)) => ("file:", folder),
        (None, None) => return Ok(without_password(address)),
    };
    let absolute = path
        .canonicalize()
        .tell(|| say!("cannot read {}", "无法读取 {}", path.display()))?;
    Ok(format!("{scheme}{}", absolute.display()))
}
