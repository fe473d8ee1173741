//! The whole job: place, refine, ask, keep, show, write files.
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use fugato::{
    graph::{Ended, RunError, Standing},
    state::Interrupt,
};
use jiff::Timestamp;
use scheduler::{
    agent::{Agent, Reply, Request},
    calendar::{Export, Picture, WeekTable, export, write_file},
    schedule::ScheduleState,
};

use super::{
    args::Job,
    chat::reply_to,
    desk::Desk,
    drive::{Patience, follow, is_overtaken},
    screen::Screen,
};

/// The answer that the command line gives, checked before anything begins.
pub(crate) fn answer(job: &Job) -> Result<Option<Reply>> {
    let Some(json) = &job.answer else {
        return Ok(None);
    };
    let allowed = r#"allowed are {"action": "approve"}, {"action": "reject", "text": "why"} and {"text": "…"}"#;
    let reply: Reply = serde_json::from_str(json)
        .with_context(|| format!("--answer {json:?} is no answer; {allowed}"))?;
    if reply == Reply::default() {
        bail!("--answer {json:?} says nothing; {allowed}");
    }
    Ok(Some(reply))
}

pub(crate) async fn run(
    desk: &Desk,
    job: &Job,
    mut answer: Option<Reply>,
    screen: &mut Screen,
) -> Result<()> {
    screen.lang = desk.lang;
    for remark in &desk.intake.remarks {
        let text = remark.say(desk.lang);
        screen.progress(&text);
    }
    let mut patience = Patience::default();
    let agent = loop {
        match work(desk, job, &mut answer, screen).await {
            Ok(Rest::Parked) => return Ok(()),
            Ok(Rest::Ended(agent)) => break agent,
            Err(error) => match error.downcast::<RunError>() {
                Ok(error) if is_overtaken(&error) && patience.wait(&error, screen).await => {}
                Ok(error) => return Err(error.into()),
                Err(error) => return Err(error),
            },
        }
    };
    if answer.is_some() {
        let unused = desk.lang.pick(
            "--answer was not used: no card is open",
            "没有等待回答的卡片，--answer 未被使用",
        );
        screen.progress(unused);
    }
    match agent {
        Some(agent) => finish(desk, &agent, screen),
        None => Ok(()),
    }
}

/// How the conversation came to rest.
enum Rest {
    /// It waits for an answer that nobody is there to give.
    Parked,
    /// Nothing is left to do.
    Ended(Option<Arc<Agent>>),
}

/// Goes on from where the conversation stands, card by card.
async fn work(
    desk: &Desk,
    job: &Job,
    answer: &mut Option<Reply>,
    screen: &mut Screen,
) -> Result<Rest> {
    let mut ended = begin(desk, job, screen).await?;
    let mut read = false;
    while let Some(card) = ended
        .as_ref()
        .and_then(|ended| ended.interrupts().first())
        .cloned()
    {
        screen.card(&card, std::mem::replace(&mut read, true));
        let Some(reply) = reply(desk, job, answer.clone(), &card, screen).await? else {
            park(desk, &card, screen);
            return Ok(Rest::Parked);
        };
        let run = desk.service.reply(&desk.thread, &card.id, &reply)?;
        ended = Some(follow(screen, run).await?);
        *answer = None;
    }
    Ok(Rest::Ended(
        desk.service.runner().state(&desk.thread).await?,
    ))
}

/// Begins, or goes on where the conversation stands; none if there is nothing to go on with.
async fn begin(desk: &Desk, job: &Job, screen: &mut Screen) -> Result<Option<Ended<Agent>>> {
    let words = job.request.clone();
    let wanted = desk
        .lang
        .pick("Plan my weeks: place everything.", "把任务都排一下。");
    let classes = desk.intake.state.task_classes.iter().map(|class| class.id);
    let request = |text: String| {
        Request::new(text)
            .classes(classes.clone())
            .in_lang(desk.lang)
    };
    let standing = desk.service.runner().standing(&desk.thread).await?;
    let go_on = desk
        .lang
        .pick("going on where it was left", "从上次中断处继续");
    let runner = desk.service.runner();
    let run = match standing {
        Standing::New => desk.service.request(
            &desk.thread,
            request(words.unwrap_or_else(|| wanted.into())),
        ),
        Standing::Waiting(_) if words.is_some() => bail!(
            "the conversation waits for an answer, and cannot take a --request before; `{}` shows the card",
            desk.again
        ),
        Standing::Waiting(interrupts) => {
            screen.progress(go_on);
            let state = runner.state(&desk.thread).await?;
            return Ok(state.map(|state| Ended::parked(state, interrupts)));
        }
        Standing::Unfinished => {
            screen.progress(go_on);
            desk.service.recover(&desk.thread)
        }
        Standing::Failed { error } => {
            screen.progress(&error);
            screen.progress(desk.lang.pick("trying again what failed", "重试失败的步骤"));
            runner.retry(&desk.thread)
        }
        _ => match words {
            Some(words) => desk.service.request(&desk.thread, request(words)),
            None => return Ok(None),
        },
    };
    Ok(Some(follow(screen, run).await?))
}

/// The answer to a card; none if nobody is there to give one.
async fn reply(
    desk: &Desk,
    job: &Job,
    answer: Option<Reply>,
    card: &Interrupt,
    screen: &mut Screen,
) -> Result<Option<Reply>> {
    if answer.is_some() {
        return Ok(answer);
    }
    if job.yes {
        return Ok(Some(Reply::approve()));
    }
    if !screen.is_interactive() {
        return Ok(None);
    }
    let prompt = desk
        .lang
        .pick("[y]es, [n]o, or why not: ", "[是/否，或说明原因] ");
    let said = screen.ask(prompt).await?;
    Ok(said.map(|said| reply_to(card, &said)))
}

/// The conversation waits; everything is stored.
fn park(desk: &Desk, card: &Interrupt, screen: &mut Screen) {
    let how = format!("{} --answer '{{\"action\": \"approve\"}}'", desk.again);
    let text = desk.lang.pick(
        format!("\nThe conversation waits for an answer to {}. Answer with:\n  {how}\nor agree to everything with --yes.", card.id),
        format!("\n会话在等待对 {} 的回答。可以这样回答：\n  {how}\n或用 --yes 全部同意。", card.id),
    );
    screen.line(text);
}

/// Shows the weeks, and writes the calendar and the picture.
fn finish(desk: &Desk, agent: &Agent, screen: &mut Screen) -> Result<()> {
    let (Some(original), Some(schedule)) = (&agent.original, &agent.schedule) else {
        return Ok(());
    };
    let table = WeekTable {
        sections: &desk.intake.sections,
        lang: desk.lang,
        width: 120,
    };
    for week in WeekTable::weeks(schedule) {
        screen.line(table.draw(schedule, week));
    }
    if agent.run.unsaved {
        let draft = desk.lang.pick(
            "This is a draft: nothing is kept, and no file is written, until you agree to it.",
            "这只是草稿：在你同意之前不会保存，也不会写入文件。",
        );
        screen.line(draft);
        return Ok(());
    }
    write_results(desk, original, schedule, screen)
}

fn write_results(
    desk: &Desk,
    before: &ScheduleState,
    after: &ScheduleState,
    screen: &mut Screen,
) -> Result<()> {
    let lang = desk.lang;
    let options = Export {
        sections: &desk.intake.sections,
        zone: &desk.intake.zone,
        stamp: Timestamp::now(),
        schedule: desk.thread.as_str(),
        lang,
    };
    let title = lang.pick("The weeks before and after", "安排前后的各周");
    let picture = Picture {
        title,
        sections: &desk.intake.sections,
        lang,
    };
    let calendar = desk.file("schedule.ics");
    write_file(&calendar, export(after, &options)?.as_bytes())?;
    let svg = desk.file("schedule.svg");
    write_file(&svg, picture.draw(before, after).as_bytes())?;
    for path in [calendar, svg] {
        let text = lang.pick("written: ", "已写入：");
        screen.line(format!("{text}{}", path.display()));
    }
    Ok(())
}
