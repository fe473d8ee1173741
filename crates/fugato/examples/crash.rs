//! A process dies amid a run; another one over the same file goes on with what is left.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{path::Path, sync::Arc, time::Duration};

use fugato::{
    BoxError, Context, Conversation, ConversationUpdate, END, Graph, Message, Report, Runner,
    RunnerOptions, SqliteLog, ThreadId,
};

fn say(text: &str) -> ConversationUpdate {
    ConversationUpdate::Said(Message::assistant(text))
}

async fn second(hangs: bool, _: Context<Conversation>) -> ConversationUpdate {
    if hangs {
        std::future::pending::<()>().await;
    }
    say("second")
}

/// Opens the agent as a process does. In the first one, the second step never ends.
fn open(file: &Path, hangs: bool) -> Result<Runner<Conversation>, BoxError> {
    let graph = Graph::<Conversation>::starting_at("first")
        .node("first", async |_| say("first"))
        .node_with("second", hangs, second)
        .edge("first", "second")
        .edge("second", END)
        .build()?;
    // Another process waits for the lease of one that died; 15 s by default.
    let options = RunnerOptions::default().lease(Duration::from_millis(200));
    Ok(Runner::new(graph, Arc::new(SqliteLog::open(file)?)).options(options))
}

pub(crate) fn main() -> Result<(), Report> {
    let folder = tempfile::tempdir()?;
    let (file, thread) = (folder.path().join("threads.db"), ThreadId::new("work")?);

    let process = tokio::runtime::Runtime::new()?;
    let runner = open(&file, true)?;
    process.block_on(async {
        drop(runner.start(&thread, ()));
        while runner
            .state(&thread)
            .await?
            .is_none_or(|state| state.history.is_empty())
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok::<_, BoxError>(())
    })?;
    process.shutdown_background();

    let process = tokio::runtime::Runtime::new()?;
    let runner = open(&file, false)?;
    let state = process.block_on(async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        Ok::<_, BoxError>(runner.recover(&thread).await?.state().clone())
    })?;
    let said: Vec<_> = state
        .history
        .iter()
        .map(|message| &*message.content)
        .collect();
    println!("{}", said.join(", "));
    assert_eq!(said, ["first", "second"]);
    Ok(())
}
