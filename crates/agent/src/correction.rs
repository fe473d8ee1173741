//! The correction loop, with its rounds in the graph.
mod story;

use fugato_graph::{BoxError, Context, Outcome};
use fugato_llm::{ModelError, RejectedAnswer, RejectedClass, SpendScope};
use fugato_prompt::correction;
use fugato_state::{Message, State};
use fugato_stream::EventKind;
use serde_json::json;

use crate::ModelFailure;

pub use story::{DecisionFailure, Rejection, spoken};

/// A state that stores corrections: how many there were in a row, and the conversation they are in.
pub trait CorrectionState: State {
    /// Returns the number of answers in a row that were rejected so far.
    fn corrections(&self) -> u32;

    /// Returns the conversation, oldest message first.
    fn history(&self) -> &[Message];

    /// Returns the text that the stream shows of a rejected answer. The default is the text of the
    /// rejection, in English.
    fn correction_words(&self, rejected: &RejectedAnswer) -> String {
        rejected.to_string()
    }

    /// Returns the updates that count a correction and append the pair of messages to the
    /// conversation: the answer, and the correction.
    fn corrected(pair: [Message; 2]) -> Vec<Self::Update>;
}

/// The policy for unusable answers of a model: an unusable answer is corrected in the next round,
/// and after too many corrections in a row there is no decision.
///
/// This is [`decide`](fugato_llm::decide) with its rounds in the graph, where they are stored,
/// streamed and interruptible. The node asks once and returns the result of
/// [`settle`](Self::settle); the edges lead back to the node while there are corrections.
///
/// *Contract*
/// - **one answer, one result**: an answer leads to a decision, a correction or a final failure.
/// - **counted in the state**: a crash does not reset the count.
/// - **the whole story**: [`DecisionFailure`] has every rejected answer, each with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrections {
    failures: u32,
}

impl Default for Corrections {
    fn default() -> Self {
        Self { failures: 3 }
    }
}

/// The result of settling an answer.
#[derive(Debug)]
pub enum Settlement<T, U> {
    /// A decision.
    Decided(T),
    /// The outcome that stores the correction; the model is asked again in the next round.
    Again(Outcome<U>),
    /// No decision: the model failed, or too many answers in a row were rejected.
    Undecided(DecisionFailure),
}

impl Corrections {
    /// Sets how many rejected answers in a row end the decision; at least one, 3 by default.
    pub fn after(failures: u32) -> Self {
        Self {
            failures: failures.max(1),
        }
    }

    /// Settles an answer. `read` makes a decision of it, or returns the reason for its rejection.
    pub fn settle<S: CorrectionState, A, T>(
        self,
        cx: &Context<S>,
        answer: Result<A, ModelError>,
        read: impl FnOnce(A) -> Result<T, RejectedAnswer>,
    ) -> Settlement<T, S::Update> {
        let state = cx.state();
        let (so_far, history) = (state.corrections(), state.history());
        let words = |rejected: &RejectedAnswer| state.correction_words(rejected);
        let pair = self.take_telling(cx, so_far, history, answer, read, words);
        match pair {
            SettlementParts::Decided(decision) => Settlement::Decided(decision),
            SettlementParts::Again(pair) => Settlement::Again(Outcome::done(S::corrected(*pair))),
            SettlementParts::Undecided(why) => Settlement::Undecided(why),
        }
    }

    /// Settles an answer for a part of a state, with the count and the history of that part.
    pub(crate) fn take<S: State, A, T>(
        self,
        cx: &Context<S>,
        so_far: u32,
        history: &[Message],
        answer: Result<A, ModelError>,
        read: impl FnOnce(A) -> Result<T, RejectedAnswer>,
    ) -> SettlementParts<T> {
        self.take_telling(cx, so_far, history, answer, read, RejectedAnswer::to_string)
    }

    /// Settles an answer, with the text that the stream shows of a correction.
    fn take_telling<S: State, A, T>(
        self,
        cx: &Context<S>,
        so_far: u32,
        history: &[Message],
        answer: Result<A, ModelError>,
        read: impl FnOnce(A) -> Result<T, RejectedAnswer>,
        words: impl FnOnce(&RejectedAnswer) -> String,
    ) -> SettlementParts<T> {
        let rejected = match answer.map(read) {
            Ok(Ok(decision)) => return SettlementParts::Decided(decision),
            Ok(Err(rejected)) => rejected,
            Err(error) => {
                return SettlementParts::Undecided(DecisionFailure::unanswered(
                    error, so_far, history,
                ));
            }
        };
        if so_far.saturating_add(1) >= self.failures {
            return SettlementParts::Undecided(DecisionFailure::rejected(
                rejected, so_far, history,
            ));
        }
        let (task, raw) = (cx.task(), &rejected.raw);
        if matches!(rejected.class, RejectedClass::Sense | RejectedClass::Words) {
            tracing::warn!(task, raw, %rejected, "execute decision illegal");
        } else {
            tracing::warn!(task, raw, %rejected, "execute decision unparsable");
        }
        cx.emit(EventKind::Correction {
            message: words(&rejected),
        });
        SpendScope::carry_on();
        let [said, _] = rejected.messages();
        let told = correction(&rejected.correction());
        SettlementParts::Again(Box::new([said, told]))
    }
}

/// The result of settling an answer, before it becomes an update.
pub(crate) enum SettlementParts<T> {
    Decided(T),
    Again(Box<[Message; 2]>),
    Undecided(DecisionFailure),
}

/// The policy for a model that cannot be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// A rule decides, and the trace says so.
    #[default]
    Rules,
    /// The run fails.
    Error,
}

impl OnFailure {
    /// Returns Ok if a rule decides, after a warning and an event; else returns the error.
    pub fn fall_back<S: State>(
        self,
        cx: &Context<S>,
        why: impl Into<BoxError>,
    ) -> Result<(), BoxError> {
        let why = why.into();
        if self == Self::Error {
            return Err(why);
        }
        tracing::warn!(task = cx.task(), why, "decided by rule");
        let data = json!({ "task": cx.task(), "why": why.to_string() });
        cx.emit(EventKind::Custom {
            name: ModelFailure::BY_RULE.into(),
            data,
        });
        Ok(())
    }

    /// Does the same as [`fall_back`](Self::fall_back), but if the error is a model's, announces in
    /// the language of `said` that this model does not answer, and the reason.
    pub fn fall_back_from<S: State>(
        self,
        cx: &Context<S>,
        why: impl Into<BoxError>,
        (model, said): (&str, &str),
    ) -> Result<(), BoxError> {
        let why = why.into();
        if self == Self::Error {
            return Err(why);
        }
        let of_model = why.downcast_ref::<ModelError>();
        let failure = match (of_model, why.downcast_ref::<DecisionFailure>()) {
            (Some(error), _) => ModelFailure::of(model, error),
            (_, Some(none)) => ModelFailure::of_no_decision(model, none),
            // The error is not a model's.
            _ => return self.fall_back(cx, why),
        };
        failure.announce(cx, said);
        Ok(())
    }
}
