//! Answers to open questions, checked before anything changes.
use std::collections::HashSet;

use fugato_state::{Interrupt, InterruptId, Millis, Question, SchemaError};
use serde::Serialize;
use serde_json::Value;

use crate::{AnswerError, scope::Sub};

/// Answers to the open questions of a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    bare: Option<Value>,
    by_id: Vec<(InterruptId, Value, Option<String>)>,
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
            by_id: vec![],
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

    /// Whether there is no answer.
    pub fn is_empty(&self) -> bool {
        self.bare.is_none() && self.by_id.is_empty()
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
