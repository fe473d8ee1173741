//! Inspection of the log: history, states, open cards and forks.
use fugato_axum::ServedAgent;
use fugato_graph::{BoxError, Graph, HistoryEntry, HistoryEvent};
use fugato_state::{State, ThreadId, say};
use futures::TryStreamExt as _;
use jiff::Timestamp;
use serde_json::Value;

use crate::{
    CliError, Format, Terminal, archive::Archive, difference::differences,
    error::ErrorContext as _, story::TranscriptReader,
};

/// Lists the records of a thread: those that a person reads, or all.
pub(crate) async fn history<A: ServedAgent>(
    archive: &Archive<'_, A>,
    full: bool,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let tools = terminal.tools.clone();
    let mut story = TranscriptReader::new(archive.agent, terminal.lang, &tools);
    let mut records = archive.runner().records(&archive.thread);
    while let Some(entry) = records.try_next().await? {
        if full {
            terminal.line(line(&entry)?);
        } else {
            for line in story.lines(&entry) {
                terminal.line(line);
            }
        }
    }
    if !full {
        let all = terminal
            .lang
            .pick("every step: history --full", "每一步：history --full");
        terminal.progress(all);
    }
    Ok(())
}

/// Formats a record in one line, with its number, its time and its run.
fn line(entry: &HistoryEntry) -> Result<String, BoxError> {
    let at = Timestamp::from_millisecond(entry.at)?.strftime("%F %T");
    let mark = if entry.is_checkpoint() { "*" } else { " " };
    let (seq, run, what) = (entry.seq, entry.run, what(entry));
    Ok(format!("{seq:>5}{mark} {at}  run {run}  {what}"))
}

/// Formats what a record is about.
fn what(entry: &HistoryEntry) -> String {
    match entry.event() {
        HistoryEvent::Created => "the conversation began".into(),
        HistoryEvent::Started { .. } => "a request came".into(),
        HistoryEvent::Stepped { task, .. } => {
            let due = entry.due().map(|(task, _)| task);
            // The tasks of a scatter differ in their index alone.
            let mut next: Vec<_> = due.map(|task| plain(&task)).collect();
            next.dedup();
            if next.is_empty() {
                next.push("END".into());
            }
            format!("{task} → {}", next.join(", "))
        }
        HistoryEvent::Finished { task, .. } => format!("{task} finished"),
        HistoryEvent::Failed { task, error, .. } => format!("{task} failed: {error}"),
        HistoryEvent::Asked {
            task, questions, ..
        } => {
            let ids: Vec<_> = questions
                .iter()
                .map(|question| question.id.as_str())
                .collect();
            format!("{task} asked {}", ids.join(", "))
        }
        HistoryEvent::Answered { answers, .. } => {
            let said: Vec<_> = answers
                .iter()
                .map(|(id, said)| format!("{id}: {said}"))
                .collect();
            format!("answered {}", said.join(", "))
        }
        HistoryEvent::Resumed { .. } => "taken up again".into(),
        HistoryEvent::Intended { key, .. } => format!("about to do {key}"),
        HistoryEvent::Receipt { key, .. } => format!("did {key}"),
        HistoryEvent::Amended { by, why, .. } => format!("changed by {by}: {why}"),
        HistoryEvent::RunEnded { .. } => "the run ended".into(),
        HistoryEvent::RunFailed { error } => format!("the run failed: {error}"),
        HistoryEvent::Cancelled { by, why, .. } => format!("cancelled by {by}: {why}"),
        HistoryEvent::Forked { from, seq, .. } => format!("copied from {from} after {seq}"),
        other => format!("{other:?}"),
    }
}

/// Returns the address of a task without its index.
fn plain(task: &str) -> String {
    task.split('[').next().unwrap_or_default().to_owned()
}

/// Shows what a line of the history changed, or the whole state after it.
pub(crate) async fn show<A: ServedAgent>(
    archive: &Archive<'_, A>,
    seq: u64,
    full: bool,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let (runner, thread) = (archive.runner(), &archive.thread);
    let lines = archive.lines().await?;
    let there = lines.contains(&seq);
    let entry = if there {
        runner.history(thread, seq, 1).await?
    } else {
        vec![]
    };
    let Some(entry) = entry.first() else {
        let (first, last) = lines.into_inner();
        let message = say!(
            "there is no line {seq}; the history has lines {first} to {last}",
            "没有第 {seq} 行；历史有第 {first} 到 {last} 行"
        );
        return Err(CliError::new(message).into());
    };
    let state = async |seq| runner.state_at(thread, seq).await;
    let after = state(seq).await?;
    if full {
        terminal.line(serde_json::to_string_pretty(&*after)?);
        return Ok(());
    }
    let before = match seq {
        0 | 1 => Value::Null,
        seq => serde_json::to_value(&*state(seq - 1).await?)?,
    };
    let tools = terminal.tools.clone();
    let told = TranscriptReader::new(archive.agent, terminal.lang, &tools).lines(entry);
    if told.is_empty() {
        terminal.line(line(entry)?);
    }
    for line in told {
        terminal.line(line);
    }
    let changed = differences(&before, &serde_json::to_value(&*after)?);
    if changed.is_empty() {
        let nothing = "the state is as it was";
        terminal.progress(terminal.lang.pick(nothing, "状态没有变化"));
    }
    for difference in changed {
        terminal.line(format!("  {difference}"));
    }
    let all = format!("show {seq} --full");
    let all = terminal.lang.pick(
        format!("the whole state: {all}"),
        format!("全部状态：{all}"),
    );
    terminal.progress(&all);
    Ok(())
}

/// Shows the open cards in full.
pub(crate) async fn cards<A: ServedAgent>(
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

pub(crate) async fn fork<A: ServedAgent>(
    archive: &Archive<'_, A>,
    seq: u64,
    new: &ThreadId,
) -> Result<(), BoxError> {
    let forked = archive.runner().fork(&archive.thread, seq, new).await;
    forked.tell(|| {
        let new = new.as_str();
        say!("cannot copy line {seq} to {new:?}; lines with a * can be copied, to a name that is free", "无法把第 {seq} 行复制到 {new:?}；带 * 的行可以复制到没有用过的名称")
    })?;
    Ok(())
}

pub(crate) fn graph<S: State>(graph: &Graph<S>, format: Format, terminal: &mut Terminal) {
    terminal.write(&match format {
        Format::Mermaid => graph.to_mermaid(),
        Format::Dot => graph.to_dot(),
    });
}
