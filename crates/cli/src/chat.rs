//! Conversation in the terminal.
use std::sync::Arc;

use fugato_axum::ServedAgent;
use fugato_graph::{BoxError, RunResult, ThreadStatus};
use fugato_state::Interrupt;
use serde_json::Map;

use crate::{ChatSession, CliError, Terminal, follow::insist, reply};

impl<A: ServedAgent> ChatSession<'_, A> {
    /// Talks until the person enters an empty line or ends the input.
    pub async fn chat(&self, terminal: &mut Terminal) -> Result<(), BoxError> {
        let hello = terminal.lang.pick(
            "Say what you want; an empty line or Ctrl-D ends. Everything is stored.",
            "请说出需求；空行或 Ctrl-D 结束。一切都会保存。",
        );
        terminal.progress(hello);
        let mut open = self.taken_up(terminal).await?;
        let (mut read, mut viewed) = (false, None);
        loop {
            if let (Some(asked), Some(state)) = (open.first(), self.state().await?) {
                self.present(&state, asked, &mut viewed, terminal);
            }
            for asked in &open {
                terminal.card(asked, read);
            }
            read = true;
            let line = if open.is_empty() {
                terminal.ask("> ").await?
            } else {
                terminal.ask_about_card("> ").await?
            };
            let Some(said) = line.filter(|said| !said.is_empty()) else {
                let go_on = terminal.lang.pick("go on with: ", "继续：");
                terminal.progress(&format!("{go_on}{}", self.again));
                return Ok(());
            };
            terminal.follow(&said);
            let turn = terminal.lang.scope_future(self.turn(&open, said, terminal));
            open = match turn.await {
                Ok(ended) => {
                    if ended.interrupts().is_empty() {
                        self.conclude(ended.state(), terminal);
                    }
                    interrupts(&ended)
                }
                Err(error) => {
                    // A refused answer has changed nothing: the open questions still are.
                    terminal.error(&*error);
                    self.taken_up(terminal).await?
                }
            };
        }
    }

    async fn turn(
        &self,
        open: &[Interrupt],
        said: String,
        terminal: &mut Terminal,
    ) -> Result<RunResult<A::State>, BoxError> {
        let Some(asked) = open.first() else {
            let start = async || self.start(said.clone(), Map::new()).await;
            return insist(terminal, start).await;
        };
        // A line from a pipe was not typed under the card, so it must name the card by its code.
        let card = terminal.is_interactive().then_some(asked);
        if let Some(ended) = self.heard(&said, open, card, terminal).await? {
            return Ok(ended);
        }
        let refused = || CliError::new(reply::refusal(asked, &said, terminal.lang));
        let answered = reply::read(asked, &said).ok_or_else(refused)?;
        insist(terminal, async || {
            self.answer(asked, answered.clone(), None).await
        })
        .await
    }

    async fn state(&self) -> Result<Option<Arc<A::State>>, BoxError> {
        Ok(self.agent.runner().state(&self.thread).await?)
    }

    /// Returns the open questions of the thread, after the recovery of a run that a crash left.
    async fn taken_up(&self, terminal: &mut Terminal) -> Result<Vec<Interrupt>, BoxError> {
        let runner = self.agent.runner();
        Ok(match runner.status(&self.thread).await? {
            ThreadStatus::Waiting(interrupts) => interrupts,
            ThreadStatus::Unfinished => {
                let recover = async || Ok(runner.recover(&self.thread));
                interrupts(&insist(terminal, recover).await?)
            }
            _ => vec![],
        })
    }
}

fn interrupts<S>(ended: &RunResult<S>) -> Vec<Interrupt> {
    ended.interrupts().to_vec()
}
