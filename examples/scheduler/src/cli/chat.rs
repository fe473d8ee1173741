//! Talking in the terminal.
use anyhow::Result;
use fugato::{
    agent::ShortAnswer,
    graph::{Ended, Standing},
    state::Interrupt,
};
use scheduler::agent::{Agent, Card, Reply, Request};

use super::{desk::Desk, drive::insist, screen::Screen};

pub(crate) async fn chat(desk: &Desk, screen: &mut Screen) -> Result<()> {
    screen.lang = desk.lang;
    let hello = desk.lang.pick(
        "Say what you want; an empty line or Ctrl-D ends. Everything is stored.",
        "请说出需求；空行或 Ctrl-D 结束。一切都会保存。",
    );
    screen.progress(hello);
    let mut open = go_on(desk, screen).await?;
    let mut read = false;
    loop {
        for card in &open {
            screen.card(card, read);
        }
        read = true;
        let Some(said) = screen.ask("> ").await?.filter(|said| !said.is_empty()) else {
            let bye = format!("{} chat", desk.again);
            screen.progress(
                &desk
                    .lang
                    .pick(format!("go on with: {bye}"), format!("继续：{bye}")),
            );
            return Ok(());
        };
        let ended = if let Some(card) = open.first() {
            let reply = reply_to(card, &said);
            let start = || Ok(desk.service.reply(&desk.thread, &card.id, &reply)?);
            insist(screen, start).await
        } else {
            let classes = desk.intake.state.task_classes.iter().map(|class| class.id);
            let request = Request::new(&said).classes(classes);
            let start = || Ok(desk.service.request(&desk.thread, request.clone()));
            insist(screen, start).await
        };
        open = match ended {
            Ok(ended) => interrupts(&ended),
            Err(error) => {
                // A refused answer has changed nothing: what was open still is.
                screen.error(&error);
                go_on(desk, screen).await?
            }
        };
    }
}

/// What is open when the conversation is taken up.
async fn go_on(desk: &Desk, screen: &mut Screen) -> Result<Vec<Interrupt>> {
    Ok(match desk.service.runner().standing(&desk.thread).await? {
        Standing::Waiting(interrupts) => interrupts,
        Standing::Unfinished => {
            interrupts(&insist(screen, || Ok(desk.service.recover(&desk.thread))).await?)
        }
        _ => vec![],
    })
}

fn interrupts(ended: &Ended<Agent>) -> Vec<Interrupt> {
    ended.interrupts().to_vec()
}

/// What a person means who types this under a card. Only the whole utterance counts as yes or no:
/// everything else is the answer to a question, or the reason of a rejection.
pub(crate) fn reply_to(card: &Interrupt, said: &str) -> Reply {
    let is_question = serde_json::from_value::<Card>(card.question.prompt.clone())
        .is_ok_and(|card| card.kind == "ask_user");
    if is_question {
        return Reply::text(said);
    }
    match ShortAnswer::of(said) {
        Some(ShortAnswer::Yes | ShortAnswer::Continue) => Reply::approve(),
        Some(ShortAnswer::No | ShortAnswer::Cancel) => Reply::reject(None),
        _ => Reply::reject(Some(said.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use fugato::state::Question;
    use scheduler::agent::Topic;

    use super::*;

    fn asking(card: &Card) -> Interrupt {
        let prompt = serde_json::to_value(card).unwrap();
        Interrupt {
            id: "i".into(),
            task: "interrupt#1".into(),
            question: Question::new::<Reply>("answer", prompt),
        }
    }

    #[test]
    fn only_the_whole_utterance_is_yes_or_no() {
        let confirm = asking(&Card::confirm(Topic::Plan, "Shall I?", String::new()));
        assert_eq!(reply_to(&confirm, "Yes!"), Reply::approve());
        assert_eq!(reply_to(&confirm, "好的。"), Reply::approve());
        assert_eq!(reply_to(&confirm, "go ahead"), Reply::approve());
        assert_eq!(reply_to(&confirm, "no"), Reply::reject(None));
        assert_eq!(reply_to(&confirm, "算了"), Reply::reject(None));
        let why = "yes, but not on Friday";
        assert_eq!(reply_to(&confirm, why), Reply::reject(Some(why.into())));
    }

    #[test]
    fn yes_to_a_question_is_its_answer() {
        let question = asking(&Card::question("A question", "Before noon?"));
        assert_eq!(reply_to(&question, "yes"), Reply::text("yes"));
    }
}
