//! Saying something to an agent, as each door does.
use fugato_graph::{
    AnswerError, Answers, Attribution, Ended, Run, RunError, RunErrorKind, Runner, Standing,
};
use fugato_state::{Interrupt, InterruptId, State, ThreadId};
use fugato_stream::{Answered, Reply};
use serde_json::{Value, json};

use crate::{
    Agent, Caller, Heard, Said, Unusable,
    consent::{self, Consent},
};

/// Why a run is cancelled whose question nobody answers.
const INSTEAD: &str = "something else was asked for";

/// What comes of words.
#[derive(Debug)]
pub enum Spoken<S: State> {
    /// A run begins, or goes on with an answer.
    Run(Run<S>),
    /// Nothing happens, and whoever spoke is told this.
    Told(String),
    /// Nothing happens, and this is how the thread stands: the words repeat what was carried out, or
    /// they agree to nothing, because nothing says which card they are about or because nobody has
    /// seen what waits.
    Unchanged(Ended<S>),
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

impl From<AnswerError> for Unsaid {
    fn from(error: AnswerError) -> Self {
        Self::Run(error.into())
    }
}

impl From<serde_json::Error> for Unsaid {
    fn from(error: serde_json::Error) -> Self {
        Self::Run(error.into())
    }
}

/// Says something to a thread in this process: the words are a request, answer what waits, or take
/// its place, as the agent [hears](Agent::hear) them. What a crash has left comes first.
///
/// A yes or a no to an approval needs evidence of the card that was shown: its id in
/// [`Said::card`], or its code among the words.
pub async fn say<A: Agent>(
    agent: &A,
    thread: &ThreadId,
    said: Said,
) -> Result<Spoken<A::State>, Unsaid> {
    let runner = agent.runner();
    if matches!(runner.standing(thread).await?, Standing::Unfinished) {
        let ended = runner.recover(thread).await?;
        let is_answer = matches!(agent.hear(thread, &said).await?, Heard::Answer(_));
        if !ended.interrupts().is_empty() && (is_answer || consent::may_concern_a_card(&said)) {
            return Ok(Spoken::Unchanged(ended));
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
    if consent::may_concern_a_card(&said)
        && let Some(spoken) = decided(agent, thread, key.as_ref(), &said).await?
    {
        return Ok(spoken);
    }
    let heard = match &key {
        // It may repeat a request that asks its question by now: it is that one, and no answer.
        Some(_) => Heard::Request,
        None => agent.hear(thread, &said).await?,
    };
    let instead = match heard {
        Heard::Request => None,
        Heard::Instead => Some(said.caller.name().to_owned()),
        Heard::Answer(answers) => return heard_as_answer(agent, thread, &said, answers).await,
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

/// Lets words decide an approval that is open, if they do: a yes or a no, with evidence of the card
/// that was shown. None where they are for the agent.
pub async fn decide<A: Agent>(
    agent: &A,
    thread: &ThreadId,
    said: &Said,
) -> Result<Option<Spoken<A::State>>, Unsaid> {
    if !consent::may_concern_a_card(said) {
        return Ok(None);
    }
    decided(agent, thread, None, said).await
}

/// What comes of words that decide an approval; none where they are for the agent.
async fn decided<A: Agent>(
    agent: &A,
    thread: &ThreadId,
    key: Option<&String>,
    said: &Said,
) -> Result<Option<Spoken<A::State>>, Unsaid> {
    let runner = agent.runner();
    let open = runner.interrupts(thread).await?;
    let spoken = match consent::consent(said, &open) {
        Consent::Given(asked, agrees) => {
            let reply = if agrees {
                Reply::Approve
            } else {
                Reply::Reject
            };
            let given = Given {
                named: Some(named(key, said, asked.id.as_str(), agrees)),
                by: Attribution::new(said.caller.name(), said.door),
                answers: vec![Answered::to(asked.id.clone(), reply)],
            };
            Spoken::Run(answer(agent, thread, &said.caller, given, &open).await?)
        }
        Consent::Unbound => unchanged(runner, thread, open).await?,
        Consent::Closed { card, agrees } => {
            let is_id = said.card.as_ref().is_some_and(|id| id.as_str() == card);
            let named = (key.is_some() || is_id).then(|| named(key, said, &card, agrees));
            match repeated(runner, thread, &card, named).await? {
                Some(ended) => Spoken::Unchanged(ended),
                None => Spoken::Told(format!(
                    "No card {card} is open here: it was answered or withdrawn, or it is another \
                     conversation's."
                )),
            }
        }
        Consent::None => return Ok(None),
    };
    Ok(Some(spoken))
}

/// What an agent took for an answer is given to questions, and never to an approval.
async fn heard_as_answer<A: Agent>(
    agent: &A,
    thread: &ThreadId,
    said: &Said,
    answers: Answers,
) -> Result<Spoken<A::State>, Unsaid> {
    let runner = agent.runner();
    let open = runner.interrupts(thread).await?;
    let approvals = open.iter().filter(|asked| asked.question.digest.is_some());
    let approvals: Vec<InterruptId> = approvals.map(|asked| asked.id.clone()).collect();
    if answers.concern(&approvals) {
        return unchanged(runner, thread, open).await;
    }
    let answers = answers.by(Attribution::new(said.caller.name(), said.door));
    Ok(Spoken::Run(runner.resume(thread, answers)))
}

/// The thread goes on waiting, and whoever spoke is shown what for.
async fn unchanged<S: State>(
    runner: &Runner<S>,
    thread: &ThreadId,
    open: Vec<Interrupt>,
) -> Result<Spoken<S>, Unsaid> {
    Ok(match runner.state(thread).await? {
        Some(state) => Spoken::Unchanged(Ended::parked(state, open)),
        None => Spoken::Told("Nothing waits for an answer here.".to_owned()),
    })
}

/// The name of a request, and what was sent under it.
pub(crate) type Named = (String, Value);

/// The client's own name for words that decide a card; else one that is made of what was shown.
fn named(key: Option<&String>, said: &Said, card: &str, agrees: bool) -> Named {
    match key {
        Some(key) => (key.clone(), json!([said.text, said.card])),
        None => shown(json!([card, agrees])),
    }
}

/// A name for answers, made of what was shown and what is answered.
pub(crate) fn shown(sent: Value) -> Named {
    let key = fugato_graph::digest(sent.to_string().as_bytes());
    (format!("shown/{key}"), sent)
}

/// Answers as a door hands them on.
pub(crate) struct Given {
    /// The request, so that a repeat gets what came of the first.
    pub(crate) named: Option<Named>,
    pub(crate) by: Attribution,
    pub(crate) answers: Vec<Answered>,
}

/// Answers questions, of which these are open.
pub(crate) async fn answer<A: Agent>(
    agent: &A,
    thread: &ThreadId,
    caller: &Caller,
    Given { named, by, answers }: Given,
    open: &[Interrupt],
) -> Result<Run<A::State>, Unsaid> {
    let runner = agent.runner();
    let mut judged = Answers::none().by(by);
    let is_open = |answered: &Answered| match &answered.id {
        Some(id) => open.iter().any(|asked| asked.id == *id),
        None => true,
    };
    // What is open no longer was perhaps answered by this very request.
    let repeats = named.is_some() && !answers.iter().all(is_open);
    for answered in answers {
        if repeats {
            judged = judged.and(answered.id.unwrap_or_else(|| "".into()), ())?;
            continue;
        }
        let asked = asked(open, &answered)?;
        let (id, digest) = (asked.id.clone(), answered.digest.clone());
        let is_named = answered.id.is_some();
        let value = agent.answer(thread, caller, asked, answered).await?;
        if !is_named && asked.question.digest.is_some() {
            // Who names no card agrees to none.
            return Err(AnswerError::Unbound { id }.into());
        }
        judged = match digest {
            Some(digest) => judged.approving(id, value, digest)?,
            None => judged.and(id, value)?,
        };
    }
    if let Some((key, sent)) = named {
        judged = if repeats {
            judged.repeating(key, &sent)?
        } else {
            judged.keyed(key, &sent)?
        };
    }
    Ok(runner.resume(thread, judged))
}

/// The question that is answered. What is not open now is refused here: it could be asked before the thread is, and then nobody would have said who may
/// answer it.
fn asked<'a>(open: &'a [Interrupt], answered: &Answered) -> Result<&'a Interrupt, AnswerError> {
    let ids = || open.iter().map(|asked| asked.id.clone()).collect();
    match (&answered.id, open) {
        (_, []) => Err(AnswerError::NothingAsked),
        (None, [only]) => Ok(only),
        (None, _) => Err(AnswerError::Bare { open: ids() }),
        (Some(id), open) => {
            let asked = open.iter().find(|asked| asked.id == *id);
            asked.ok_or_else(|| AnswerError::Unknown {
                id: id.clone(),
                open: ids(),
            })
        }
    }
}

/// What came of words that decided a card which is not open any more; none if they never did.
async fn repeated<S: State>(
    runner: &Runner<S>,
    thread: &ThreadId,
    card: &str,
    named: Option<Named>,
) -> Result<Option<Ended<S>>, Unsaid> {
    let Some((key, sent)) = named else {
        return Ok(None);
    };
    let answers = Answers::to(card, ())?.repeating(key, &sent)?;
    match runner.resume(thread, answers).await {
        Ok(ended) => Ok(Some(ended)),
        Err(error) => match error.kind {
            RunErrorKind::Answer(_) | RunErrorKind::NothingToDo | RunErrorKind::Waiting { .. } => {
                Ok(None)
            }
            _ => Err(error.into()),
        },
    }
}
