//! Inspection of the log: history, states, open cards and forks.
use fugato_axum::Agent;
use fugato_graph::{BoxError, Graph, HistoryEntry, machine::Fact};
use fugato_state::{State, ThreadId};
use jiff::Timestamp;

use crate::{Format, Terminal, archive::Archive, error::ErrorContext as _};

/// The number of records that are read at once.
pub(crate) const PAGE: usize = 500;

pub(crate) async fn history<A: Agent>(
    archive: &Archive<'_, A>,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let mut from = 1;
    loop {
        let runner = archive.runner();
        let page = runner.history(&archive.thread, from, PAGE).await?;
        for entry in &page {
            let at = Timestamp::from_millisecond(entry.at)?
                .strftime("%F %T")
                .to_string();
            let mark = if entry.is_checkpoint() { "*" } else { " " };
            terminal.line(format!(
                "{:>5}{mark} {at}  run {}  {}",
                entry.seq,
                entry.run,
                what(entry)
            ));
            from = entry.seq + 1;
        }
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

/// Formats a record in one line.
fn what(entry: &HistoryEntry) -> String {
    match &entry.fact {
        Fact::Created { .. } => "the conversation began".into(),
        Fact::Started { .. } => "a request came".into(),
        Fact::Stepped { task, routes, .. } => {
            let next: Vec<_> = routes.next.iter().map(|next| next.task.as_str()).collect();
            let next = if next.is_empty() {
                "END".into()
            } else {
                next.join(", ")
            };
            format!("{task} → {next}")
        }
        Fact::Finished { task, .. } => format!("{task} finished"),
        Fact::Failed { task, error, .. } => format!("{task} failed: {error}"),
        Fact::Asked {
            task, questions, ..
        } => {
            let ids: Vec<_> = questions
                .iter()
                .map(|question| question.id.as_str())
                .collect();
            format!("{task} asked {}", ids.join(", "))
        }
        Fact::Answered { answers, .. } => {
            let said: Vec<_> = answers
                .iter()
                .map(|(id, said)| format!("{id}: {said}"))
                .collect();
            format!("answered {}", said.join(", "))
        }
        Fact::Resumed { .. } => "taken up again".into(),
        Fact::Intended { key, .. } => format!("about to do {key}"),
        Fact::Receipt { key, .. } => format!("did {key}"),
        Fact::Amended { by, why, .. } => format!("changed by {by}: {why}"),
        Fact::RunEnded { .. } => "the run ended".into(),
        Fact::RunFailed { error } => format!("the run failed: {error}"),
        Fact::Cancelled { by, why, .. } => format!("cancelled by {by}: {why}"),
        Fact::Forked { from, seq, .. } => format!("copied from {from} after {seq}"),
        other => format!("{other:?}"),
    }
}

pub(crate) async fn show<A: Agent>(
    archive: &Archive<'_, A>,
    seq: u64,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let state = archive.runner().state_at(&archive.thread, seq).await;
    let state = state.tell(|| format!("there is no line {seq}; the history lists them"))?;
    terminal.line(serde_json::to_string_pretty(&*state)?);
    Ok(())
}

/// Shows the open cards in full.
pub(crate) async fn cards<A: Agent>(
    archive: &Archive<'_, A>,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let open = archive.runner().interrupts(&archive.thread).await?;
    if open.is_empty() {
        let nothing = terminal.lang.pick("no card is open", "没有等待回答的卡片");
        terminal.progress(nothing);
    }
    for asked in &open {
        terminal.whole_card(asked);
    }
    Ok(())
}

pub(crate) async fn fork<A: Agent>(
    archive: &Archive<'_, A>,
    seq: u64,
    new: &ThreadId,
) -> Result<(), BoxError> {
    let forked = archive.runner().fork(&archive.thread, seq, new).await;
    forked.tell(|| {
        let new = new.as_str();
        format!("cannot copy line {seq} to {new:?}; lines with a * can be copied, to a name that is free")
    })?;
    Ok(())
}

pub(crate) fn graph<S: State>(graph: &Graph<S>, format: Format, terminal: &mut Terminal) {
    terminal.write(&match format {
        Format::Mermaid => graph.to_mermaid(),
        Format::Dot => graph.to_dot(),
    });
}
