//! The whole job: place, refine, ask, keep, show, write files.
use anyhow::{Context as _, Result, bail};
use fugato::{
    axum::Agent as _,
    cli::{App, ChatSession, SayArgs, Terminal},
    graph::ThreadStatus,
};
use scheduler::{
    agent::{AgentState, CardReply},
    calendar::{WeekTable, language},
};
use serde_json::{Value, json};

use super::{
    args::{Args, Job},
    session::Session,
};

pub(crate) async fn run(app: &App, args: &Args, terminal: &mut Terminal) -> Result<()> {
    let answer = answer(&args.job)?;
    let open = app.open().await.map_err(anyhow::Error::from_boxed)?;
    let desk = Session::open(args, open).await?;
    terminal.lang = desk.lang;
    for remark in &desk.intake.remarks {
        let text = remark.say(language(desk.lang));
        terminal.progress(&text);
    }
    let (again, request) = (app.again(""), args.job.request.clone());
    let standing = desk.agent.runner().status(&desk.thread).await?;
    if request.is_some() && matches!(standing, ThreadStatus::Waiting(_)) {
        bail!(
            "the conversation waits for an answer, and cannot take a --request before; `{again}` shows the card"
        );
    }
    let wanted = desk
        .lang
        .pick("Plan my weeks: place everything.", "把任务都排一下。");
    let mut say = SayArgs::default();
    (say.text, say.first) = (request, Some(wanted.to_owned()));
    (say.yes, say.answer) = (args.job.yes, answer);
    say.card.clone_from(&args.job.card);
    say.extra.insert("lang".into(), json!(desk.lang));
    let talk = ChatSession::new(&desk.agent, desk.thread.clone(), again);
    match talk.say(say, terminal).await {
        Ok(Some(agent)) => finish(&desk, &agent, terminal),
        Ok(None) => Ok(()),
        Err(error) => Err(anyhow::Error::from_boxed(error)),
    }
}

/// Returns the answer of the command line, checked before any run begins.
fn answer(job: &Job) -> Result<Option<Value>> {
    let Some(json) = &job.answer else {
        return Ok(None);
    };
    let allowed = r#"allowed are {"action": "approve"}, {"action": "reject", "text": "why"} and {"text": "…"}"#;
    let reply: CardReply = serde_json::from_str(json)
        .with_context(|| format!("--answer {json:?} is no answer; {allowed}"))?;
    if reply == CardReply::default() {
        bail!("--answer {json:?} says nothing; {allowed}");
    }
    Ok(Some(serde_json::to_value(reply)?))
}

/// Shows the weeks, and writes the calendar and the picture.
fn finish(desk: &Session, agent: &AgentState, terminal: &mut Terminal) -> Result<()> {
    let (Some(original), Some(schedule)) = (&agent.original, &agent.schedule) else {
        return Ok(());
    };
    let table = WeekTable {
        sections: &desk.intake.sections,
        lang: language(desk.lang),
        width: 120,
    };
    for week in WeekTable::weeks(schedule) {
        terminal.line(table.draw(schedule, week));
    }
    if agent.run.unsaved {
        let draft = desk.lang.pick(
            "This is a draft: nothing is kept, and no file is written, until you agree to it.",
            "这只是草稿：在你同意之前不会保存，也不会写入文件。",
        );
        terminal.line(draft);
        return Ok(());
    }
    let written = desk.results.write(original, schedule);
    written.map_err(anyhow::Error::from_boxed)?;
    for path in desk.results.paths() {
        let text = desk.lang.pick("written: ", "已写入：");
        terminal.line(format!("{text}{}", path.display()));
    }
    Ok(())
}
