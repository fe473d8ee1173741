//! Answers to open questions, checked before anything changes.
use std::collections::HashSet;

use fugato_state::{Interrupt, InterruptId, Millis, Question, SchemaError};
use serde::Serialize;
use serde_json::Value;

use crate::{AnswerError, machine::Attribution, scope::DynScope};

/// Answers to the open questions of a thread.
///
/// An approval must be answered by its id. The id contains a digest of everything that was shown,
/// so an answer that names it agrees to exactly that. A bare answer never approves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    bare: Option<Value>,
    by_id: Vec<(InterruptId, Value, Option<String>)>,
    pub(crate) by: Option<Box<Attribution>>,
    pub(crate) key: Option<Box<NamedRequest>>,
    /// True if the answers may only repeat an earlier request.
    pub(crate) repeats: bool,
}

/// The caller's name for a request, with a digest of its content.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedRequest {
    pub(crate) key: String,
    pub(crate) digest: String,
}

impl NamedRequest {
    pub(crate) fn new(
        key: impl Into<String>,
        sent: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        let (key, sent) = (key.into(), serde_json::to_vec(sent)?);
        let digest = crate::digest::of(&sent);
        Ok(Self { key, digest })
    }
}

impl Answers {
    /// Creates an empty set of answers, which lets a thread go on whose questions have expired.
    pub fn none() -> Self {
        Self::default()
    }

    /// Creates an answer to the only open question.
    pub fn only(answer: impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self {
            bare: Some(serde_json::to_value(answer)?),
            ..Self::default()
        })
    }

    /// Creates an answer to one question.
    pub fn to(
        id: impl Into<InterruptId>,
        answer: impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        Self::none().and(id, answer)
    }

    /// Adds an answer.
    pub fn and(
        mut self,
        id: impl Into<InterruptId>,
        answer: impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        self.by_id
            .push((id.into(), serde_json::to_value(answer)?, None));
        Ok(self)
    }

    /// Adds an answer that approves only the value with this digest.
    pub fn approving(
        mut self,
        id: impl Into<InterruptId>,
        answer: impl Serialize,
        digest: impl Into<String>,
    ) -> Result<Self, serde_json::Error> {
        self.by_id.push((
            id.into(),
            serde_json::to_value(answer)?,
            Some(digest.into()),
        ));
        Ok(self)
    }

    fugato_state::setters! {
        /// Sets the caller and the door of the answers, which are stored with them.
        pub fn by(by: Attribution) { by = Some(Box::new(by)) }
    }

    /// Names the request: a repeat under the same name gets the result of the first, whatever has
    /// opened since. `sent` is the content of the request; the same name with other content is an
    /// error. The name is kept for [`RunnerOptions::key_age`](crate::RunnerOptions::key_age).
    pub fn keyed(
        mut self,
        key: impl Into<String>,
        sent: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        self.key = Some(Box::new(NamedRequest::new(key, sent)?));
        Ok(self)
    }

    /// Names the request, and gets only the result of an earlier request of that
    /// [name](Self::keyed), without answering anything. For endpoints that receive repeated answers
    /// to closed questions.
    pub fn repeating(
        self,
        key: impl Into<String>,
        sent: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        let repeats = true;
        Ok(Self {
            repeats,
            ..self.keyed(key, sent)?
        })
    }

    /// Returns true if one of these questions is answered by its id.
    pub fn concern(&self, ids: &[InterruptId]) -> bool {
        self.by_id.iter().any(|(id, ..)| ids.contains(id))
    }

    /// Returns true if there is no answer.
    pub fn is_empty(&self) -> bool {
        self.bare.is_none() && self.by_id.is_empty()
    }

    /// Returns the size of the answers as JSON, in bytes.
    pub(crate) fn bytes(&self) -> Result<usize, serde_json::Error> {
        let all: Vec<_> = self
            .by_id
            .iter()
            .map(|(id, answer, _)| (id, answer))
            .collect();
        Ok(serde_json::to_vec(&(&self.bare, all))?.len())
    }

    /// Returns the answers by the id of the question, unchecked.
    pub(crate) fn values<'a>(
        &'a self,
        asked: &'a [Interrupt],
    ) -> impl Iterator<Item = (&'a InterruptId, &'a Value)> {
        let only = asked.first().filter(|_| asked.len() == 1);
        let bare = only.zip(self.bare.as_ref());
        let by_id = self.by_id.iter().map(|(id, answer, _)| (id, answer));
        by_id.chain(bare.map(|(only, answer)| (&only.id, answer)))
    }

    /// Checks every answer, and returns them by the id of the question.
    pub(crate) fn check(
        self,
        asked: &[Interrupt],
        now: Millis,
    ) -> Result<Vec<(InterruptId, Value)>, AnswerError> {
        let open = || asked.iter().map(|interrupt| interrupt.id.clone()).collect();
        let mut answers = self.by_id;
        if let Some(bare) = self.bare {
            match asked {
                [only] if only.question.digest.is_some() => {
                    let id = only.id.clone();
                    return Err(AnswerError::Unbound { id });
                }
                [only] => answers.push((only.id.clone(), bare, None)),
                [] => return Err(AnswerError::NothingAsked),
                _ => return Err(AnswerError::Bare { open: open() }),
            }
        }
        let mut seen = HashSet::new();
        for (id, answer, digest) in &answers {
            let interrupt = asked.iter().find(|interrupt| interrupt.id == *id);
            let Some(interrupt) = interrupt.filter(|_| seen.insert(id)) else {
                return Err(AnswerError::Unknown {
                    id: id.clone(),
                    open: open(),
                });
            };
            check_one(&interrupt.question, id, answer, digest.as_ref(), now)?;
        }
        Ok(answers
            .into_iter()
            .map(|(id, answer, _)| (id, answer))
            .collect())
    }
}

fn check_one(
    question: &Question,
    id: &InterruptId,
    answer: &Value,
    digest: Option<&String>,
    now: Millis,
) -> Result<(), AnswerError> {
    if question.expires_at.is_some_and(|at| at <= now) {
        return Err(AnswerError::Expired { id: id.clone() });
    }
    if let (Some(asked), Some(answered)) = (&question.digest, digest)
        && asked != answered
    {
        let (asked, answered) = (asked.clone(), answered.clone());
        return Err(AnswerError::Digest {
            id: id.clone(),
            asked,
            answered,
        });
    }
    let violation = |violation: SchemaError| AnswerError::Schema {
        id: id.clone(),
        violation,
    };
    question.schema.check(answer).map_err(violation)
}

/// Returns the id of a question. That of an approval ends in a digest of the thread's incarnation,
/// the name of the interrupt and everything that is asked about, so that it names nothing else.
pub(crate) fn token(incarnation: u64, name: &str, question: &Question) -> InterruptId {
    let Some(digest) = &question.digest else {
        return InterruptId(name.into());
    };
    let Question { key, prompt, .. } = question;
    let all = format!("{incarnation:016x}\0{name}\0{key}\0{digest}\0{prompt}");
    let first = crate::digest::of(all.as_bytes());
    InterruptId(format!("{name}.{first}").into())
}

/// Returns true if an approval has the id that its thread derives from its content. An approval of
/// an older program, or of another incarnation of the thread, does not have it.
pub(crate) fn is_bound(incarnation: u64, asked: &Interrupt) -> bool {
    if asked.question.digest.is_none() {
        return true;
    }
    let name = asked.id.as_str().rsplit_once('.').map(|(name, _)| name);
    name.is_some_and(|name| token(incarnation, name, &asked.question) == asked.id)
}

/// Returns the open questions of a scope and of those under it.
pub(crate) fn interrupts(scope: &dyn DynScope) -> Vec<Interrupt> {
    let mut open: Vec<_> = scope.machine().interrupts().cloned().collect();
    for (_, child) in scope.children() {
        open.extend(interrupts(child));
    }
    open
}

/// Returns the problem with the questions that a node asks at once, if there is one.
pub(crate) fn problem(questions: &[Question]) -> Option<String> {
    if questions.is_empty() {
        return Some("it asks without a question".into());
    }
    let mut keys = HashSet::new();
    let twice = questions
        .iter()
        .find(|question| !keys.insert(&question.key));
    twice.map(|question| format!("it asks two questions with the key {:?}", question.key))
}
