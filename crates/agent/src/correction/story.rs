use std::{error::Error, fmt};

use fugato_llm::{ModelError, RejectedAnswer};
use fugato_prompt::is_correction;
use fugato_state::{Message, Role};

/// A failed decision of a model: the reason, and the rejected answers before it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DecisionFailure {
    /// The answers that were rejected, oldest first.
    pub story: Vec<Rejection>,
    /// The error of a model that did not answer; none if too many answers were rejected.
    pub unanswered: Option<ModelError>,
    /// The last rejection; none if the model did not answer.
    pub last: Option<RejectedAnswer>,
}

/// An answer that was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejection {
    /// The answer of the model.
    pub said: String,
    /// The correction that the model was given.
    pub told: String,
}

impl DecisionFailure {
    pub(super) fn unanswered(error: ModelError, so_far: u32, history: &[Message]) -> Self {
        Self {
            story: story(so_far, history),
            unanswered: Some(error),
            last: None,
        }
    }

    pub(super) fn rejected(last: RejectedAnswer, so_far: u32, history: &[Message]) -> Self {
        let mut story = story(so_far, history);
        story.push(Rejection {
            said: last.raw.clone(),
            told: last.correction(),
        });
        Self {
            story,
            unanswered: None,
            last: Some(last),
        }
    }
}

/// Returns the messages of a conversation that a person said or was meant to read, without rejected
/// answers and their corrections.
pub fn spoken(history: &[Message]) -> impl Iterator<Item = &Message> {
    let next = history.iter().skip(1).map(Some).chain([None]);
    let said = history.iter().zip(next);
    let said =
        said.filter(|(message, next)| !is_correction(message) && !next.is_some_and(is_correction));
    said.map(|(message, _)| message)
}

/// Returns the corrections in a row at the end of a conversation, at most `so_far`.
fn story(so_far: u32, history: &[Message]) -> Vec<Rejection> {
    let most = usize::try_from(so_far).unwrap_or(usize::MAX);
    let mut story = vec![];
    let mut rest = history;
    while let [before @ .., said, told] = rest {
        if story.len() == most || said.role != Role::Assistant || !is_correction(told) {
            break;
        }
        story.push(Rejection {
            said: said.content.clone(),
            told: told.content.clone(),
        });
        rest = before;
    }
    story.reverse();
    story
}

impl fmt::Display for DecisionFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rejected = self.story.len();
        match (&self.unanswered, &self.last) {
            (Some(error), _) if rejected > 0 => {
                write!(
                    f,
                    "no answer after {rejected} unusable answers in a row: {error}"
                )
            }
            // Without rejected answers the error itself says everything.
            (Some(error), _) => error.fmt(f),
            (None, Some(last)) => write!(
                f,
                "{rejected} unusable answers in a row, the last one: {last}"
            ),
            (None, None) => write!(f, "{rejected} unusable answers in a row"),
        }
    }
}

impl Error for DecisionFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.unanswered.as_ref()?.source()
    }
}
