//! Answers to open questions, checked before anything changes.
use std::collections::HashSet;

use fugato_state::{Interrupt, InterruptId, Millis, Question, SchemaError};
use serde::Serialize;
use serde_json::Value;

use crate::{AnswerError, machine::Attribution, scope::Sub};

/// Answers to the open questions of a thread.
///
/// An approval is answered by its id alone, which is made of everything that was shown: whoever
/// names it agrees to exactly that. A bare answer never approves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    bare: Option<Value>,
    by_id: Vec<(InterruptId, Value, Option<String>)>,
    pub(crate) by: Option<Box<Attribution>>,
    pub(crate) key: Option<Box<NamedRequest>>,
    /// Whether they only may repeat what was answered.
    pub(crate) repeats: bool,
}

/// The caller's own name for a request, and a digest of what was sent under it.
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
    /// No answer: lets a thread go on whose questions have expired.
    pub fn none() -> Self {
        Self::default()
    }

    /// An answer to the only open question.
    pub fn only(answer: impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self {
            bare: Some(serde_json::to_value(answer)?),
            ..Self::default()
        })
    }

    /// An answer to this question.
    pub fn to(
        id: impl Into<InterruptId>,
        answer: impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        Self::none().and(id, answer)
    }

    /// Another answer.
    pub fn and(
        mut self,
        id: impl Into<InterruptId>,
        answer: impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        self.by_id
            .push((id.into(), serde_json::to_value(answer)?, None));
        Ok(self)
    }

    /// An answer that approves what has this digest, and nothing else.
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

    /// Names who answers, and by which door. It is kept with the answers.
    #[must_use]
    pub fn by(mut self, by: Attribution) -> Self {
        self.by = Some(Box::new(by));
        self
    }

    /// Answers under a name of the caller's: a repeat under the same name gets what came of the
    /// first, whatever has opened since. `sent` is what the caller sent; the same name with
    /// something else is an error. The name is remembered for
    /// [`RunnerOptions::key_age`](crate::RunnerOptions::key_age).
    pub fn keyed(
        mut self,
        key: impl Into<String>,
        sent: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        self.key = Some(Box::new(NamedRequest::new(key, sent)?));
        Ok(self)
    }

    /// Gets what came of answers that were [named](Self::keyed) so, and answers nothing itself: for
    /// a door at which questions are answered again that are open no longer.
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

    /// Whether one of these questions is answered by its id.
    pub fn concern(&self, ids: &[InterruptId]) -> bool {
        self.by_id.iter().any(|(id, ..)| ids.contains(id))
    }

    /// Whether there is no answer.
    pub fn is_empty(&self) -> bool {
        self.bare.is_none() && self.by_id.is_empty()
    }

    /// The answers by the id of the question, whether they may be given or not.
    pub(crate) fn values<'a>(
        &'a self,
        asked: &'a [Interrupt],
    ) -> impl Iterator<Item = (&'a InterruptId, &'a Value)> {
        let only = asked.first().filter(|_| asked.len() == 1);
        let bare = only.zip(self.bare.as_ref());
        let by_id = self.by_id.iter().map(|(id, answer, _)| (id, answer));
        by_id.chain(bare.map(|(only, answer)| (&only.id, answer)))
    }

    /// The answers as facts need them, if every one of them may be given now.
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

/// Whether an approval bears the id that its thread gives to what it asks about. One that was asked
/// by an older program, or in another incarnation of the thread, does not.
pub(crate) fn is_bound(incarnation: u64, asked: &Interrupt) -> bool {
    if asked.question.digest.is_none() {
        return true;
    }
    let name = asked.id.as_str().rsplit_once('.').map(|(name, _)| name);
    name.is_some_and(|name| token(incarnation, name, &asked.question) == asked.id)
}

/// The questions that are open in a scope and in those under it.
pub(crate) fn interrupts(scope: &dyn Sub) -> Vec<Interrupt> {
    let mut open: Vec<_> = scope.machine().interrupts().cloned().collect();
    for (_, child) in scope.children() {
        open.extend(interrupts(child));
    }
    open
}

/// What is wrong with the questions that a node asks at once.
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
