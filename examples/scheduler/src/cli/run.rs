//! The whole job: place, refine, ask, keep, show, write files.
use anyhow::{Context as _, Result, bail};
use fugato::{
    axum::ServedAgent as _,
    cli::{App, ChatSession, SayArgs, Terminal},
    graph::ThreadStatus,
    words::Phrases,
};
use jiff::tz::TimeZone;
use scheduler::{
    agent::{AgentState, CardReply},
    calendar::{WeekTable, language},
    clock,
    transfer::{ImportOutcome, TransferInput},
};
use serde_json::{Value, json};

use super::{
    args::{Args, Job},
    session::Session,
};

pub(crate) async fn run(app: &App, args: &Args, terminal: &mut Terminal) -> Result<()> {
    let answer = answer(&args.job)?;
    let open = app.open().await.map_err(anyhow::Error::from_boxed)?;
    let args = &args.clone().of(&open.flags)?;
    let mut desk = Session::open(args, open.clone()).await?;
    terminal.lang = desk.lang;
    if args.job.notes {
        terminal.line(desk.notes().await?);
        return Ok(());
    }
    let (again, mut request) = (app.again(""), args.job.request.clone());
    let standing = desk.agent.runner().status(&desk.thread).await?;
    let waits = matches!(standing, ThreadStatus::Waiting(_));
    let brings = desk.brought.is_some() || args.job.undo_import;
    if waits && (request.is_some() || brings) {
        let what = if brings { "an import" } else { "a --request" };
        bail!(
            "the conversation waits for an answer, and cannot take {what} before; `{again}` shows the card"
        );
    }
    let wanted = desk
        .lang
        .pick("Plan my weeks: place everything.", "把任务都排一下。");
    if args.job.undo_import {
        desk.transfer.undo().await?;
        let told = desk
            .lang
            .pick("The last import is taken back.", "已撤销上次导入。");
        terminal.line(told);
        desk = Session::open(args, open).await?;
    } else if let Some(brought) = desk.brought.take() {
        import(&desk, brought, terminal).await?;
        desk = Session::open(&args.without_input(), open).await?;
        request = request.or_else(|| Some(wanted.to_owned()));
    }
    tell(&desk, terminal);
    let mut say = SayArgs::default();
    (say.text, say.first) = (request, Some(wanted.to_owned()));
    (say.yes, say.answer) = (args.job.yes, answer);
    say.card.clone_from(&args.job.card);
    say.extra.insert("lang".into(), json!(desk.lang));
    let talk = ChatSession::new(&desk.agent, desk.thread.clone(), again);
    match talk.say(say, terminal).await {
        Ok(Some(agent)) => finish(&desk, &agent, terminal)?,
        Ok(None) => {}
        Err(error) => return Err(anyhow::Error::from_boxed(error)),
    }
    let retired = app.retire(&desk.agent).await;
    retired.map_err(anyhow::Error::from_boxed)
}

/// Says what was left out of the calendar, and that the sample is one.
fn tell(desk: &Session, terminal: &mut Terminal) {
    if desk.is_sample {
        let sample = desk.lang.pick(
            "These are the weeks of a sample, beginning today. For your own: scheduler --courses my.ics --tasks my.toml --thread NAME",
            "这是示例日程，从今天开始。安排自己的日程：scheduler --courses my.ics --tasks my.toml --thread 名称",
        );
        terminal.progress(sample);
    }
    let (zone, now) = (&desk.intake.zone, clock::now());
    let there = zone.to_datetime(now);
    if there != TimeZone::system().to_datetime(now) {
        let (name, time) = (
            zone.iana_name().unwrap_or("?"),
            there.strftime("%Y-%m-%d %H:%M"),
        );
        let told = desk.lang.pick(
            format!("Days and times are those of {name}, where it is {time} now."),
            format!("日期和时间按 {name} 计算，那里现在是 {time}。"),
        );
        terminal.progress(&told);
    }
    for remark in &desk.intake.remarks {
        let text = remark.say(language(desk.lang));
        terminal.progress(&text);
    }
}

/// Puts other files in the place of those of the conversation, and asks before that replaces what
/// was agreed to.
async fn import(desk: &Session, mut brought: TransferInput, terminal: &mut Terminal) -> Result<()> {
    loop {
        let outcome = desk.transfer.bring(brought.clone()).await?;
        let question = outcome.question(desk.lang).unwrap_or_default();
        let (courses, items, remarks) = match outcome {
            ImportOutcome::Done {
                courses,
                items,
                remarks,
            } => (courses, items, remarks),
            ImportOutcome::Asks { version, .. } => {
                if !agrees(&question, terminal).await? {
                    terminal.line(&question);
                    bail!("nothing was replaced; --yes replaces without asking");
                }
                (brought.replace, brought.version) = (true, Some(version));
                continue;
            }
        };
        for remark in &remarks {
            terminal.progress(remark);
        }
        terminal.line(desk.lang.pick(
            format!("{courses} entries and {items} items to be placed were imported; --undo-import takes it back."),
            format!("已导入 {courses} 项课程和 {items} 项待安排任务；--undo-import 可以撤销。"),
        ));
        return Ok(());
    }
}

async fn agrees(question: &str, terminal: &mut Terminal) -> Result<bool> {
    if !terminal.is_interactive() {
        return Ok(false);
    }
    let said = terminal.ask(&format!("{question} [y/n] ")).await?;
    Ok(said.is_some_and(|said| Phrases::default().consent(&said) == Some(true)))
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
