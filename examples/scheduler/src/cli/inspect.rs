//! Reading the log: what happened, how things stood, and going on from there.
use anyhow::{Context as _, Result};
use fugato::{
    graph::{HistoryEntry, machine::Fact},
    state::ThreadId,
};
use jiff::Timestamp;
use scheduler::{deps::Deps, graph::graph as wire};

use super::{archive::Archive, args::Format, screen::Screen};

const PAGE: usize = 500;

pub(crate) async fn history(archive: &Archive, screen: &mut Screen) -> Result<()> {
    let mut from = 1;
    loop {
        let page = archive
            .service
            .runner()
            .history(&archive.thread, from, PAGE)
            .await?;
        for entry in &page {
            let at = Timestamp::from_millisecond(entry.at)?
                .strftime("%F %T")
                .to_string();
            let mark = if entry.is_checkpoint() { "*" } else { " " };
            screen.line(format!(
                "{:>5}{mark} {at}  run {}  {}",
                entry.seq,
                entry.run,
                what(entry)
            ));
            from = entry.seq + 1;
        }
        if page.len() < PAGE {
            break;
        }
    }
    if from == 1 {
        let none = archive
            .lang
            .pick("nothing has happened yet", "还没有任何记录");
        screen.line(none);
    }
    Ok(())
}

/// A record in one line.
fn what(entry: &HistoryEntry) -> String {
    match &entry.fact {
        Fact::Created { .. } => "the conversation began".into(),
        Fact::Started { .. } => "a request came".into(),
        Fact::Stepped { task, routes, .. } => {
            let next: Vec<_> = routes.next.iter().map(|next| next.task.as_str()).collect();
            format!(
                "{task} → {}",
                if next.is_empty() {
                    "END".into()
                } else {
                    next.join(", ")
                }
            )
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
        Fact::Answered { answers } => {
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

pub(crate) async fn show(archive: &Archive, seq: u64, screen: &mut Screen) -> Result<()> {
    let state = archive
        .service
        .runner()
        .state_at(&archive.thread, seq)
        .await
        .with_context(|| format!("there is no line {seq}; `scheduler history` lists them"))?;
    screen.line(serde_json::to_string_pretty(&*state)?);
    Ok(())
}

pub(crate) async fn fork(
    archive: &Archive,
    seq: u64,
    new: &str,
    again: &str,
    screen: &mut Screen,
) -> Result<()> {
    let thread = ThreadId::new(new)?;
    archive.service.runner().fork(&archive.thread, seq, &thread).await.with_context(|| {
        format!("cannot copy line {seq} to {new:?}; lines with a * can be copied, to a name that is free")
    })?;
    archive.copy_input_to(&thread)?;
    let text = archive.lang.pick("go on with", "继续");
    screen.line(format!("{text}: {again}"));
    Ok(())
}

pub(crate) fn graph(format: Format, screen: &mut Screen) -> Result<()> {
    let graph = wire(&Deps::new()?)?;
    screen.write(&match format {
        Format::Mermaid => graph.to_mermaid(),
        Format::Dot => graph.to_dot(),
    });
    Ok(())
}
