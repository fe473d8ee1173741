//! Saying something to an agent, as each door does.
use fugato_graph::{Ended, Run, RunError, Standing};
use fugato_state::{State, ThreadId};

use crate::{Agent, Heard, Said, Unusable};

/// Why a run is cancelled whose question nobody answers.
const INSTEAD: &str = "something else was asked for";

/// What comes of words.
#[derive(Debug)]
pub enum Spoken<S: State> {
    /// A run begins, or goes on with an answer.
    Run(Run<S>),
    /// Nothing happens, and whoever spoke is told this.
    Told(String),
    /// What a crash had left came to a question that nobody has seen, so the words cannot be the
    /// answer to it: it waits.
    Asks(Ended<S>),
}

/// Words to which nothing comes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsaid {
    /// The agent cannot use them.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// The thread cannot be looked at, or what was begun before fails.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Says something to a thread in this process: the words are a request, answer what waits, or take
/// its place, as the agent [hears](Agent::hear) them. What a crash has left comes first.
pub async fn say<A: Agent>(
    agent: &A,
    thread: &ThreadId,
    said: Said,
) -> Result<Spoken<A::State>, Unsaid> {
    let runner = agent.runner();
    if matches!(runner.standing(thread).await?, Standing::Unfinished) {
        let ended = runner.recover(thread).await?;
        if matches!(agent.hear(thread, &said).await?, Heard::Answer(_)) {
            return Ok(Spoken::Asks(ended));
        }
    }
    speak(agent, thread, None, said).await
}

/// The same where nothing is left; a key is the client's own name for a request.
pub(crate) async fn speak<A: Agent>(
    agent: &A,
    thread: &ThreadId,
    key: Option<String>,
    said: Said,
) -> Result<Spoken<A::State>, Unsaid> {
    let runner = agent.runner();
    let heard = match &key {
        // It may repeat a request that asks its question by now: it is that one, and no answer.
        Some(_) => Heard::Request,
        None => agent.hear(thread, &said).await?,
    };
    let instead = match heard {
        Heard::Request => None,
        Heard::Instead => Some(said.caller.name().to_owned()),
        Heard::Answer(answers) => return Ok(Spoken::Run(runner.resume(thread, answers))),
        Heard::Told(text) => return Ok(Spoken::Told(text)),
    };
    // What cannot be used takes the place of nothing.
    let input = agent.input(said).await?;
    if let Some(by) = instead {
        runner.cancel(thread, by, INSTEAD).await?;
    }
    Ok(Spoken::Run(match key {
        Some(key) => runner.start_keyed(thread, key, input),
        None => runner.start(thread, input),
    }))
}
