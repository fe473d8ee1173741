//! Words to an agent, as each endpoint hands them on.
pub(crate) mod answer;

use fugato_graph::{
    AnswerError, Answers, Attribution, Run, RunError, RunErrorKind, RunResult, Runner, ThreadStatus,
};
use fugato_state::{Interrupt, InterruptId, Lang, State, ThreadId, say};
use fugato_stream::{QuestionAnswer, ReplyForm, takes_words};
use serde_json::json;

use self::answer::{GivenAnswers, RequestKey, answer, shown, with_fields};
use crate::{
    BadInput, MessageIntent, ServedAgent, UserMessage, beside,
    consent::{self, Consent},
    error::chain,
};

/// The reason of a cancellation by a request in the place of the open question.
const INSTEAD: &str = "something else was asked for";

/// The outcome of words.
#[derive(Debug)]
pub enum SendOutcome<S: State> {
    /// A run begins, or goes on with an answer.
    Run(Run<S>),
    /// Nothing happens, and the speaker gets this text.
    Told(String),
    /// Nothing happens, and this is the thread's current state: the words repeat a request that was
    /// carried out, or they agree to nothing, because no evidence names the card or because the
    /// open questions were not shown yet.
    Unchanged(RunResult<S>),
}

/// The error for words without an effect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The agent cannot use them.
    #[error(transparent)]
    Unusable(#[from] BadInput),
    /// The thread cannot be read, or the run that a crash left fails.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<AnswerError> for SendError {
    fn from(error: AnswerError) -> Self {
        Self::Run(error.into())
    }
}

impl From<serde_json::Error> for SendError {
    fn from(error: serde_json::Error) -> Self {
        Self::Run(error.into())
    }
}

/// Says something to a thread in this process: the words are a request, answer what waits, or take
/// its place, as the agent [reads](ServedAgent::intent) them. A run that a crash left is recovered first.
///
/// A yes or a no to an approval needs evidence of the card that was shown: its id in
/// [`UserMessage::card`], or its code among the words.
pub async fn say<A: ServedAgent>(
    agent: &A,
    thread: &ThreadId,
    said: UserMessage,
) -> Result<SendOutcome<A::State>, SendError> {
    let runner = agent.runner();
    if matches!(runner.status(thread).await?, ThreadStatus::Unfinished) {
        let ended = runner.recover(thread).await?;
        let is_answer = matches!(agent.intent(thread, &said).await?, MessageIntent::Answer(_));
        if !ended.interrupts().is_empty() && (is_answer || consent::may_concern_a_card(&said)) {
            return Ok(SendOutcome::Unchanged(ended));
        }
    }
    speak(agent, thread, None, said).await
}

/// Does the same without the recovery; `key` is the client's own key of the request.
pub(crate) async fn speak<A: ServedAgent>(
    agent: &A,
    thread: &ThreadId,
    key: Option<String>,
    said: UserMessage,
) -> Result<SendOutcome<A::State>, SendError> {
    within(agent, &said.text)?;
    let words = said.words();
    // A conversation that only the client keeps has the language of its last words that show one.
    let earlier = said.earlier();
    let mut earlier = earlier.iter().rev();
    let evident = Lang::evident(&words.text);
    let evident = evident.or_else(|| earlier.find_map(|said| Lang::evident(&said.content)));
    let lang = match evident {
        Some(lang) => lang,
        None => language(agent.runner(), thread, "").await,
    };
    match lang.scope_future(spoken(agent, thread, key, said)).await {
        Err(SendError::Run(error)) => match plain_reply(agent, &words, &error).await {
            Some(text) => Ok(SendOutcome::Told(text)),
            None => Err(error.into()),
        },
        outcome => outcome,
    }
}

/// Returns the agent's words about a thread in which its graph cannot be run; none for another
/// error.
pub(crate) async fn plain_reply<A: ServedAgent>(
    agent: &A,
    said: &UserMessage,
    error: &RunError,
) -> Option<String> {
    use RunErrorKind::{Format, GraphChanged, Migrate};
    if !matches!(error.kind, Format | GraphChanged { .. } | Migrate) {
        return None;
    }
    let text = agent.plain_reply(said, error).await?;
    tracing::error!(error = %chain(error), "graph cannot run");
    Some(text)
}

async fn spoken<A: ServedAgent>(
    agent: &A,
    thread: &ThreadId,
    key: Option<String>,
    said: UserMessage,
) -> Result<SendOutcome<A::State>, SendError> {
    let runner = agent.runner();
    if consent::may_concern_a_card(&said)
        && let Some(spoken) = decided(agent, thread, key.as_ref(), &said).await?
    {
        return Ok(spoken);
    }
    let heard = match &key {
        // A repeated request may find its own question open: it is still a request, and no answer.
        Some(_) => MessageIntent::Request,
        None => agent.intent(thread, &said).await?,
    };
    let instead = match heard {
        MessageIntent::Request => {
            if key.is_none()
                && let Some(run) = worded(agent, thread, &said).await?
            {
                return Ok(SendOutcome::Run(run));
            }
            if let Some(text) = unclear(runner, thread, &said).await? {
                return Ok(SendOutcome::Told(text));
            }
            None
        }
        MessageIntent::Instead => Some(said.caller.name().to_owned()),
        MessageIntent::Answer(answers) => {
            return heard_as_answer(agent, thread, &said, answers).await;
        }
        MessageIntent::Told(text) => return Ok(SendOutcome::Told(text)),
    };
    let is_stored = said.stored;
    // Words that cannot be used cancel nothing.
    let input = agent.input(said).await?;
    if let Some(by) = instead {
        runner.cancel(thread, by, INSTEAD).await?;
    }
    Ok(SendOutcome::Run(match key {
        key if is_stored => runner.start_stored(thread, key, input),
        Some(key) => runner.start_keyed(thread, key, input),
        None => runner.start(thread, input),
    }))
}

/// Refuses words that are longer than the agent reads, before anything reads them.
fn within<A: ServedAgent>(agent: &A, words: &str) -> Result<(), BadInput> {
    let (most, length) = (agent.longest_message(), words.chars().count());
    if length <= most {
        return Ok(());
    }
    Err(BadInput::too_large(say!(
        "the message has {length} characters, and may have {most}: send it in parts",
        "消息有 {length} 个字符，最多 {most} 个：请分几条发送"
    )))
}

/// Answers the one open card with the words, if its answer may be words that the agent reads itself:
/// they change it, and agree to nothing. Returns none for any other card, and for another one than the
/// words were typed under.
async fn worded<A: ServedAgent>(
    agent: &A,
    thread: &ThreadId,
    said: &UserMessage,
) -> Result<Option<Run<A::State>>, SendError> {
    let open = agent.runner().interrupts(thread).await?;
    let [asked] = open.as_slice() else {
        return Ok(None);
    };
    let is_meant = said.card.as_ref().is_none_or(|card| *card == asked.id);
    let is_card = asked.question.digest.is_some() && takes_words(asked);
    if !is_meant || !is_card || said.text.trim().is_empty() {
        return Ok(None);
    }
    let words = ReplyForm::Value(json!({ "action": "say", "text": said.text }));
    let mut answered = QuestionAnswer::to(asked.id.clone(), words);
    answered.digest.clone_from(&asked.question.digest);
    let given = GivenAnswers {
        named: None,
        by: Attribution::new(said.caller.name(), said.door),
        answers: vec![answered],
        extra: said.extra.clone(),
    };
    let run = answer(agent, thread, &said.caller, given, &open).await?;
    Ok(Some(run))
}

/// Returns what to say to words under a card that decide nothing; none if they are not about a card
/// that is open.
async fn unclear<S: State>(
    runner: &Runner<S>,
    thread: &ThreadId,
    said: &UserMessage,
) -> Result<Option<String>, SendError> {
    let Some(card) = &said.card else {
        return Ok(None);
    };
    let open = runner.interrupts(thread).await?;
    let is_open = open.iter().any(|asked| asked.id == *card);
    Ok(is_open.then(|| {
        say!(
            "That is neither a yes nor a no, so nothing has changed. The card waits: say yes, or no and why, or press a button.",
            "这既不是同意也不是拒绝，所以什么都没有改变。卡片还在等待：说“好的”，或“不要”并说明原因，也可以点按钮。"
        )
    }))
}

/// Lets words decide an open approval: a yes or a no, with evidence of the card that was shown.
/// Returns none if the words are for the agent.
pub async fn decide<A: ServedAgent>(
    agent: &A,
    thread: &ThreadId,
    said: &UserMessage,
) -> Result<Option<SendOutcome<A::State>>, SendError> {
    within(agent, &said.text)?;
    if !consent::may_concern_a_card(said) {
        return Ok(None);
    }
    decided(agent, thread, None, said).await
}

/// Lets words decide an open approval; none if the words are for the agent.
async fn decided<A: ServedAgent>(
    agent: &A,
    thread: &ThreadId,
    key: Option<&String>,
    said: &UserMessage,
) -> Result<Option<SendOutcome<A::State>>, SendError> {
    let runner = agent.runner();
    let open = runner.interrupts(thread).await?;
    let spoken = match consent::consent(said, &open) {
        // A no and what is wanted in its place: "no, call it shopping.md".
        Consent::Given(_, false) | Consent::Unbound
            if key.is_none()
                && consent::reason(said).is_some()
                && matches!(agent.intent(thread, said).await?, MessageIntent::Instead) =>
        {
            return Ok(None);
        }
        Consent::Given(asked, agrees) => {
            let reply = if agrees {
                ReplyForm::Approve
            } else {
                ReplyForm::Reject
            };
            let mut answered = QuestionAnswer::to(asked.id.clone(), reply);
            answered.reason = consent::reason(said);
            let given = GivenAnswers {
                named: Some(named(key, said, asked.id.as_str(), agrees)),
                by: Attribution::new(said.caller.name(), said.door),
                answers: vec![answered],
                extra: said.extra.clone(),
            };
            SendOutcome::Run(answer(agent, thread, &said.caller, given, &open).await?)
        }
        Consent::Unbound => unchanged(runner, thread, open).await?,
        Consent::Closed { card, agrees } => {
            let is_id = said.card.as_ref().is_some_and(|id| id.as_str() == card);
            let named = (key.is_some() || is_id).then(|| named(key, said, &card, agrees));
            match repeated(runner, thread, &card, named).await? {
                Some(ended) => SendOutcome::Unchanged(ended),
                None => {
                    SendOutcome::Told(language(runner, thread, "").await.scope(|| no_card(&card)))
                }
            }
        }
        Consent::None => return Ok(None),
    };
    Ok(Some(spoken))
}

/// Resumes with the agent's answers. They answer questions, and never an approval.
async fn heard_as_answer<A: ServedAgent>(
    agent: &A,
    thread: &ThreadId,
    said: &UserMessage,
    answers: Answers,
) -> Result<SendOutcome<A::State>, SendError> {
    let runner = agent.runner();
    let open = runner.interrupts(thread).await?;
    let approvals = open.iter().filter(|asked| asked.question.digest.is_some());
    let approvals: Vec<InterruptId> = approvals.map(|asked| asked.id.clone()).collect();
    if answers.concern(&approvals) {
        return unchanged(runner, thread, open).await;
    }
    // The agent has read the fields that a question takes; others would be lost.
    for asked in &open {
        if answers.concern(std::slice::from_ref(&asked.id)) {
            beside::check(asked, &said.extra, agent.content_fields())?;
        }
    }
    let answers = answers.by(Attribution::new(said.caller.name(), said.door));
    Ok(SendOutcome::Run(runner.resume(thread, answers)))
}

/// Returns the language of words; that of the conversation if they show none, and that of the
/// request if there is no conversation yet.
pub(crate) async fn language<S: State>(runner: &Runner<S>, thread: &ThreadId, words: &str) -> Lang {
    if let Some(lang) = Lang::evident(words) {
        return lang;
    }
    let state = runner.state(thread).await.ok().flatten();
    state.map_or_else(Lang::current, |state| state.lang())
}

fn no_card(card: &str) -> String {
    say!(
        "No card {card} is open here: it was answered or withdrawn, or it is another \
         conversation's.",
        "这里没有打开的卡片 {card}：它已被回答或撤回，或者属于别的对话。"
    )
}

/// Returns the thread's state with its open questions, without a change.
async fn unchanged<S: State>(
    runner: &Runner<S>,
    thread: &ThreadId,
    open: Vec<Interrupt>,
) -> Result<SendOutcome<S>, SendError> {
    Ok(match runner.state(thread).await? {
        Some(state) => SendOutcome::Unchanged(RunResult::parked(state, open)),
        None => SendOutcome::Told(say!(
            "Nothing waits for an answer here.",
            "这里没有等待回答的问题。"
        )),
    })
}

/// Returns the client's own key for words that decide a card; else a key that is made of the card
/// and the decision.
fn named(key: Option<&String>, said: &UserMessage, card: &str, agrees: bool) -> RequestKey {
    let sent = match key {
        Some(_) => vec![json!(said.text), json!(said.card)],
        None => vec![json!(card), json!(agrees)],
    };
    let sent = with_fields(sent, &said.extra);
    match key {
        Some(key) => (key.clone(), sent),
        None => shown(sent),
    }
}

/// Returns the result of the same words that decided a closed card before; none if they never did.
async fn repeated<S: State>(
    runner: &Runner<S>,
    thread: &ThreadId,
    card: &str,
    named: Option<RequestKey>,
) -> Result<Option<RunResult<S>>, SendError> {
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
