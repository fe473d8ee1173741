//! Answers to open questions, as buttons and words give them.
use fugato_graph::{AnswerError, Answers, Attribution, Run};
use fugato_state::{Interrupt, ThreadId};
use fugato_stream::{QuestionAnswer, ReplyForm};
use serde_json::{Map, Value, json};

use super::{SendError, within};
use crate::{Caller, ServedAgent, beside};

/// The key of a request, and the body that was sent under it.
pub(crate) type RequestKey = (String, Value);

/// Returns what was sent with the fields beside it, if they say something.
pub(crate) fn with_fields(mut sent: Vec<Value>, extra: &Map<String, Value>) -> Value {
    if beside::brings_something(extra) {
        sent.push(json!(extra));
    }
    sent.into()
}

/// Returns a key for answers that is made of the answered ids and the answers.
pub(crate) fn shown(sent: Value) -> RequestKey {
    let key = fugato_graph::digest(sent.to_string().as_bytes());
    (format!("shown/{key}"), sent)
}

/// The answers of one request.
pub(crate) struct GivenAnswers {
    /// The request, so that a repeat gets the result of the first.
    pub(crate) named: Option<RequestKey>,
    pub(crate) by: Attribution,
    pub(crate) answers: Vec<QuestionAnswer>,
    /// The further fields of the request.
    pub(crate) extra: Map<String, Value>,
}

/// Resumes a thread with answers to some of its `open` questions.
pub(crate) async fn answer<A: ServedAgent>(
    agent: &A,
    thread: &ThreadId,
    caller: &Caller,
    given: GivenAnswers,
    open: &[Interrupt],
) -> Result<Run<A::State>, SendError> {
    let GivenAnswers {
        named,
        by,
        answers,
        extra,
    } = given;
    let (runner, content) = (agent.runner(), agent.content_fields());
    for answered in &answers {
        for text in typed(answered) {
            within(agent, text)?;
        }
    }
    let mut judged = Answers::none().by(by);
    let is_open = |answered: &QuestionAnswer| match &answered.id {
        Some(id) => open.iter().any(|asked| asked.id == *id),
        None => true,
    };
    // A question that is no longer open was perhaps answered by this very request.
    let repeats = named.is_some() && !answers.iter().all(is_open);
    let is_alone = answers.len() == 1;
    if !is_alone && !repeats {
        beside::check_several(&extra, content)?;
    }
    for mut answered in answers {
        if repeats {
            judged = judged.and(answered.id.unwrap_or_else(|| "".into()), ())?;
            continue;
        }
        let asked = asked(open, &answered)?;
        let (id, digest) = (asked.id.clone(), answered.digest.clone());
        let is_named = answered.id.is_some();
        if is_alone {
            beside::add(&mut answered, asked, &extra, content)?;
        }
        let value = agent.answer(thread, caller, asked, answered).await?;
        if !is_named && asked.question.digest.is_some() {
            // An approval needs the id of its card.
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

/// Returns the words of an answer: its reason, and what was typed as its value.
fn typed(answered: &QuestionAnswer) -> impl Iterator<Item = &str> {
    let value = match &answered.reply {
        ReplyForm::Value(Value::Object(said)) => said.get("text").and_then(Value::as_str),
        ReplyForm::Value(value) => value.as_str(),
        _ => None,
    };
    answered.reason.as_deref().into_iter().chain(value)
}

/// Returns the question that is answered. A question that is not open now is refused here: it could
/// be raised before the run resumes, and then the agent would not have checked who may answer it.
fn asked<'a>(
    open: &'a [Interrupt],
    answered: &QuestionAnswer,
) -> Result<&'a Interrupt, AnswerError> {
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
