//! Answers to cards, from the command line or typed under them.
use std::sync::Arc;

use fugato_axum::{MessageIntent, SendOutcome, ServedAgent, UserMessage, decide};
use fugato_graph::{Answers, Attribution, BoxError, Run, RunResult};
use fugato_state::{Interrupt, Lang, say};
use fugato_stream::{QuestionAnswer, ReplyForm};
use serde_json::Map;

use crate::{
    ChatSession, CliError, SayArgs, Terminal,
    follow::{follow, insist},
    reply,
};

/// The reason of a cancellation by a request in the place of the open question.
const INSTEAD: &str = "something else was asked for";

impl<A: ServedAgent> ChatSession<'_, A> {
    /// Answers a card by the command line, or by what is typed under it; returns none if there is
    /// no terminal to ask at.
    pub(super) async fn respond(
        &self,
        state: &A::State,
        asked: &Interrupt,
        say: &SayArgs,
        terminal: &mut Terminal,
    ) -> Result<Option<RunResult<A::State>>, BoxError> {
        if let Some(answered) = reply_to(asked, say)? {
            let standing = say.yes.then_some("--yes");
            let run = self.answer(asked, answered, standing).await?;
            return Ok(Some(follow(terminal, run).await?));
        }
        while terminal.is_interactive() {
            let prompt = reply::prompt(asked, terminal.lang);
            let Some(said) = terminal.ask_about_card(prompt).await? else {
                break;
            };
            if said.is_empty() {
                continue;
            }
            return Ok(Some(match self.typed(&said, asked, terminal).await? {
                Some(ended) => ended,
                None => RunResult::parked(Arc::new(state.clone()), vec![asked.clone()]),
            }));
        }
        Ok(None)
    }

    /// Takes words that were typed under a card; returns none, and says how to answer, if they are
    /// no answer.
    async fn typed(
        &self,
        said: &str,
        asked: &Interrupt,
        terminal: &mut Terminal,
    ) -> Result<Option<RunResult<A::State>>, BoxError> {
        let open = std::slice::from_ref(asked);
        if let Some(ended) = self.heard(said, open, Some(asked), terminal).await? {
            return Ok(Some(ended));
        }
        let Some(answered) = reply::read(asked, said) else {
            let text = reply::refusal(asked, said, terminal.lang);
            terminal.progress(&text);
            return Ok(None);
        };
        let run = self.answer(asked, answered, None).await?;
        Ok(Some(follow(terminal, run).await?))
    }

    pub(crate) async fn answer(
        &self,
        asked: &Interrupt,
        answered: QuestionAnswer,
        standing: Option<&str>,
    ) -> Result<Run<A::State>, BoxError> {
        let digest = answered.digest.clone();
        let (id, caller) = (asked.id.clone(), self.caller.clone());
        let mut by = Attribution::new(caller.name(), "terminal");
        by.standing = standing.map(str::to_owned);
        let value = self.agent.answer(&self.thread, &caller, asked, answered);
        let value = value.await?;
        let answers = match digest {
            Some(digest) => Answers::none().approving(id, value, digest)?,
            None => Answers::to(id, value)?,
        };
        Ok(self.agent.runner().resume(&self.thread, answers.by(by)))
    }

    /// Reads words while questions are open: they decide an approval, or the agent understands
    /// them; none if they are left to the form of the card. `card` is the card on the terminal when
    /// they were typed.
    pub(crate) async fn heard(
        &self,
        words: &str,
        open: &[Interrupt],
        card: Option<&Interrupt>,
        terminal: &mut Terminal,
    ) -> Result<Option<RunResult<A::State>>, BoxError> {
        let (runner, thread) = (self.agent.runner(), &self.thread);
        let mut said = UserMessage::new(self.caller.clone(), words);
        said.door = "terminal";
        said.card = card.map(|asked| asked.id.clone());
        match self.decided(&said, terminal).await? {
            Some(Some(ended)) => return Ok(Some(ended)),
            Some(None) => {
                let open = runner.interrupts(thread).await?;
                let state = runner.state(thread).await?;
                return Ok(state.map(|state| RunResult::parked(state, open)));
            }
            None => {}
        }
        Ok(match self.agent.intent(thread, &said).await? {
            MessageIntent::Answer(answers) => {
                let resume = async || Ok(runner.resume(thread, answers.clone()));
                Some(insist(terminal, resume).await?)
            }
            MessageIntent::Instead => {
                // Words that cannot be used cancel nothing.
                self.agent.input(said).await?;
                runner.cancel(thread, "terminal", INSTEAD).await?;
                let start = async || self.start(words.to_owned(), Map::new()).await;
                Some(insist(terminal, start).await?)
            }
            MessageIntent::Told(text) => {
                terminal.line(text);
                let state = runner.state(thread).await?;
                state.map(|state| RunResult::parked(state, open.to_vec()))
            }
            _ => None,
        })
    }

    /// Reads words that name a card though none is open: they repeat what answered it, or are told that
    /// it is gone, and are no request. Returns none for other words.
    pub(super) async fn heard_of_a_card(
        &self,
        words: &str,
        terminal: &mut Terminal,
    ) -> Result<Option<Option<RunResult<A::State>>>, BoxError> {
        let mut said = UserMessage::new(self.caller.clone(), words);
        said.door = "terminal";
        self.decided(&said, terminal).await
    }

    /// Lets words decide an approval; returns none if they are for the agent, and no result if the
    /// person was told why nothing is decided.
    async fn decided(
        &self,
        said: &UserMessage,
        terminal: &mut Terminal,
    ) -> Result<Option<Option<RunResult<A::State>>>, BoxError> {
        Ok(match decide(self.agent, &self.thread, said).await? {
            Some(SendOutcome::Run(run)) => Some(Some(follow(terminal, run).await?)),
            Some(SendOutcome::Unchanged(ended)) => {
                names_no_card(terminal, &ended);
                Some(Some(ended))
            }
            Some(SendOutcome::Told(text)) => {
                terminal.line(text);
                Some(None)
            }
            None => None,
        })
    }
}

/// Refuses an answer that does not name its approval, or names another.
fn named(asked: &Interrupt, say: &SayArgs) -> Result<(), CliError> {
    let code = asked.id.code();
    let is_approval = asked.question.digest.is_some();
    match &say.card {
        Some(card) if card.eq_ignore_ascii_case(&code) || card == asked.id.as_str() => Ok(()),
        Some(card) => Err(CliError::new(say!(
            "--card {card} names no card that is open; the one that waits is {code}",
            "--card {card} 不是打开的卡片；等待的是 {code}"
        ))),
        None if is_approval => Err(CliError::new(say!(
            "the card {code} asks for consent, so --answer must say which card it is about: add --card {code}",
            "卡片 {code} 请求同意，--answer 必须写明是哪张卡片：请加上 --card {code}"
        ))),
        None => Ok(()),
    }
}

/// Returns the answer that the command line gives to a card; none if it gives none.
fn reply_to(asked: &Interrupt, say: &SayArgs) -> Result<Option<QuestionAnswer>, CliError> {
    if let Some(value) = &say.answer {
        named(asked, say)?;
        return Ok(Some(reply::value(asked, value.clone())));
    }
    if let Some(words) = &say.text {
        let answered = reply::read(asked, words);
        // An approval needs the card's code, which was looked for before.
        let is_approval = asked.question.digest.is_some();
        let answered = answered.filter(|it| !is_approval || it.reply != ReplyForm::Approve);
        let refused = || CliError::new(reply::refusal(asked, words, Lang::current()));
        return Ok(Some(answered.ok_or_else(refused)?));
    }
    Ok(say.yes.then(|| reply::agreed(asked)).flatten())
}

/// Says why words that decide something have decided nothing.
fn names_no_card<S>(terminal: &mut Terminal, ended: &RunResult<S>) {
    let mut asked = ended.interrupts().iter();
    if let Some(card) = asked.find(|asked| asked.question.digest.is_some()) {
        let code = card.id.code();
        terminal.line(terminal.lang.pick(
            format!("That names no card, so nothing has changed. Say “yes {code}” or “no {code}”."),
            format!("没有说是哪张卡片，所以什么都没有改变。请说“好的 {code}”或“不要 {code}”。"),
        ));
    }
}
