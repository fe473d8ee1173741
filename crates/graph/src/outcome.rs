use fugato_state::Question;
use fugato_stream::EventKind;
use serde::Serialize;
use serde_json::Value;

use crate::BoxError;

/// The outcome of a task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outcome<U> {
    /// The task is done.
    Done {
        /// The updates, in order.
        updates: Vec<U>,
        /// The durable notes to the reader of the stream.
        notes: Vec<EventKind>,
    },
    /// The task needs answers. It is called again when it has all of them.
    Ask {
        /// The memo that the task gets back when it is called again.
        memo: Option<Value>,
        /// The questions; at least one, with distinct keys.
        questions: Vec<Question>,
    },
}

impl<U> Outcome<U> {
    /// Creates the outcome of a task that is done, with its updates.
    pub fn done(updates: impl IntoIterator<Item = U>) -> Self {
        Self::Done {
            updates: updates.into_iter().collect(),
            notes: vec![],
        }
    }

    /// Creates the outcome of a task that asks one question.
    pub fn ask(question: Question) -> Self {
        Self::Ask {
            memo: None,
            questions: vec![question],
        }
    }

    /// Adds a note, if the task is done: a durable message to the reader of the stream, such as a
    /// card or a timeline item.
    #[must_use]
    pub fn note(mut self, note: EventKind) -> Self {
        if let Self::Done { notes, .. } = &mut self {
            notes.push(note);
        }
        self
    }

    /// Keeps `memo` for the next call, if the task asks.
    pub fn remember(mut self, memo: impl Serialize) -> Result<Self, serde_json::Error> {
        let kept = serde_json::to_value(memo)?;
        if let Self::Ask { memo, .. } = &mut self {
            *memo = Some(kept);
        }
        Ok(self)
    }
}

/// The conversion of a node's return value into an outcome: one update, several, none as an empty
/// `Vec` or `None`, `()`, a whole [`Outcome`], or a `Result` of these whose error is a
/// [`BoxError`], into which `?` converts every other. `Shape` only tells the implementations apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a node returns",
    note = "a node returns an update, a `Vec` or `Option` of updates, `()`, an `Outcome`, or a `Result<_, BoxError>` of these"
)]
pub trait IntoOutcome<U, Shape> {
    /// Returns the outcome, or the error of the attempt.
    fn into_outcome(self) -> Result<Outcome<U>, BoxError>;
}

/// The shapes of [`IntoOutcome`].
#[doc(hidden)]
pub(crate) mod shape {
    use std::marker::PhantomData;

    #[derive(Debug)]
    pub struct One;
    #[derive(Debug)]
    pub struct Many;
    #[derive(Debug)]
    pub struct Maybe;
    #[derive(Debug)]
    pub struct Nothing;
    #[derive(Debug)]
    pub struct Whole;
    #[derive(Debug)]
    pub struct Fallible<Shape>(PhantomData<Shape>);
}

impl<U> IntoOutcome<U, shape::One> for U {
    fn into_outcome(self) -> Result<Outcome<U>, BoxError> {
        let (updates, notes) = (vec![self], vec![]);
        Ok(Outcome::Done { updates, notes })
    }
}

impl<U> IntoOutcome<U, shape::Many> for Vec<U> {
    fn into_outcome(self) -> Result<Outcome<U>, BoxError> {
        Ok(Outcome::done(self))
    }
}

impl<U> IntoOutcome<U, shape::Maybe> for Option<U> {
    fn into_outcome(self) -> Result<Outcome<U>, BoxError> {
        Ok(Outcome::done(self))
    }
}

impl<U> IntoOutcome<U, shape::Nothing> for () {
    fn into_outcome(self) -> Result<Outcome<U>, BoxError> {
        Ok(Outcome::done([]))
    }
}

impl<U> IntoOutcome<U, shape::Whole> for Outcome<U> {
    fn into_outcome(self) -> Result<Outcome<U>, BoxError> {
        Ok(self)
    }
}

// Of a generic error, the compiler could not tell the type in a closure with a `?`.
impl<U, R, Shape> IntoOutcome<U, shape::Fallible<Shape>> for Result<R, BoxError>
where
    R: IntoOutcome<U, Shape>,
{
    fn into_outcome(self) -> Result<Outcome<U>, BoxError> {
        self?.into_outcome()
    }
}
