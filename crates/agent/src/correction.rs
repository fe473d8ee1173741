//! The correction loop, with its rounds in the graph.
mod story;

use fugato_graph::{BoxError, Context, Outcome};
use fugato_llm::{ModelError, Rejected, RejectedClass, SpendScope};
use fugato_prompt::correction;
use fugato_state::{Message, State};
use fugato_stream::EventKind;
use serde_json::json;

use crate::{ModelFailure, log_key};

pub use story::{NoDecision, Rejection, spoken};

/// A state that keeps corrections: how many there were in a row, and the conversation they are in.
pub trait Corrects: State {
    /// How many answers in a row were rejected so far.
    fn corrections(&self) -> u32;

    /// The conversation, oldest message first.
    fn history(&self) -> &[Message];

    /// Returns the words in which a reader is told of a rejected answer. The default repeats what
    /// the model is told of it, in English.
    fn correction_words(&self, rejected: &Rejected) -> String {
        rejected.to_string()
    }

    /// Counts a correction, and adds the pair of messages to the conversation: the answer, and what
    /// was wrong with it.
    fn corrected(pair: [Message; 2]) -> Vec<Self::Update>;
}

/// How a node takes the answers of a model: what cannot be used is corrected in the next round, and
/// after too many corrections in a row there is no decision.
///
/// This is [`decide`](fugato_llm::decide) with its rounds in the graph, where they are stored, shown
/// and can be interrupted. The node asks once and returns what [`settle`](Self::settle) made of the
/// answer; the wiring leads back to it while there are corrections.
///
/// *Contract*
/// - **one answer, one outcome**: an answer is a decision, or a correction, or the end.
/// - **counted in the state**: a crash does not start the count anew.
/// - **the whole story**: who gives up says every answer that was rejected, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrections {
    failures: u32,
}

impl Default for Corrections {
    fn default() -> Self {
        Self { failures: 3 }
    }
}

/// What became of an answer.
#[derive(Debug)]
pub enum Settled<T, U> {
    /// A decision.
    Decided(T),
    /// The model is told what was wrong, and asked again in the next round.
    Again(Outcome<U>),
    /// There is none, and there will be none.
    Undecided(NoDecision),
}

impl Corrections {
    /// So many answers in a row may be rejected; at least one, 3 by default.
    pub fn after(failures: u32) -> Self {
        Self {
            failures: failures.max(1),
        }
    }

    /// Takes an answer. `read` makes a decision of it, or says why it cannot be used.
    pub fn settle<S: Corrects, A, T>(
        self,
        cx: &Context<S>,
        answer: Result<A, ModelError>,
        read: impl FnOnce(A) -> Result<T, Rejected>,
    ) -> Settled<T, S::Update> {
        let state = cx.state();
        let (so_far, history) = (state.corrections(), state.history());
        let words = |rejected: &Rejected| state.correction_words(rejected);
        let pair = self.take_telling(cx, so_far, history, answer, read, words);
        match pair {
            Taken::Decided(decision) => Settled::Decided(decision),
            Taken::Again(pair) => Settled::Again(Outcome::done(S::corrected(*pair))),
            Taken::Undecided(why) => Settled::Undecided(why),
        }
    }

    /// The same for a part of a state, whose corrections these are.
    pub(crate) fn take<S: State, A, T>(
        self,
        cx: &Context<S>,
        so_far: u32,
        history: &[Message],
        answer: Result<A, ModelError>,
        read: impl FnOnce(A) -> Result<T, Rejected>,
    ) -> Taken<T> {
        self.take_telling(cx, so_far, history, answer, read, Rejected::to_string)
    }

    /// The same, with the words in which a reader is told of a correction.
    fn take_telling<S: State, A, T>(
        self,
        cx: &Context<S>,
        so_far: u32,
        history: &[Message],
        answer: Result<A, ModelError>,
        read: impl FnOnce(A) -> Result<T, Rejected>,
        words: impl FnOnce(&Rejected) -> String,
    ) -> Taken<T> {
        let rejected = match answer.map(read) {
            Ok(Ok(decision)) => return Taken::Decided(decision),
            Ok(Err(rejected)) => rejected,
            Err(error) => {
                return Taken::Undecided(NoDecision::unanswered(error, so_far, history));
            }
        };
        if so_far.saturating_add(1) >= self.failures {
            return Taken::Undecided(NoDecision::rejected(rejected, so_far, history));
        }
        let (task, raw) = (cx.task(), &rejected.raw);
        if matches!(rejected.class, RejectedClass::Sense | RejectedClass::Words) {
            tracing::warn!(task, raw, %rejected, "{}", log_key::EXECUTE_DECISION_ILLEGAL);
        } else {
            tracing::warn!(task, raw, %rejected, "{}", log_key::EXECUTE_DECISION_UNPARSABLE);
        }
        cx.emit(EventKind::Correction {
            message: words(&rejected),
        });
        SpendScope::carry_on();
        let [said, _] = rejected.messages();
        let told = correction(&rejected.correction());
        Taken::Again(Box::new([said, told]))
    }
}

/// What became of an answer, before it is a change of a state.
pub(crate) enum Taken<T> {
    Decided(T),
    Again(Box<[Message; 2]>),
    Undecided(NoDecision),
}

/// What happens where a model cannot be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// A rule decides, and the trace says so.
    #[default]
    Rules,
    /// The run fails.
    Error,
}

impl OnFailure {
    /// Lets a rule decide, or not at all. Either way the trace says why.
    pub fn fall_back<S: State>(
        self,
        cx: &Context<S>,
        why: impl Into<BoxError>,
    ) -> Result<(), BoxError> {
        let why = why.into();
        if self == Self::Error {
            return Err(why);
        }
        tracing::warn!(task = cx.task(), why, "{}", log_key::DECIDED_BY_RULE);
        let data = json!({ "task": cx.task(), "why": why.to_string() });
        cx.emit(EventKind::Custom {
            name: ModelFailure::BY_RULE.into(),
            data,
        });
        Ok(())
    }

    /// The same where it is known which model was named and what the person said: they are told in
    /// plain words of their language that this model does not answer, and why.
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
        let failure = match (of_model, why.downcast_ref::<NoDecision>()) {
            (Some(error), _) => ModelFailure::of(model, error),
            (_, Some(none)) => ModelFailure::of_no_decision(model, none),
            // No model is to blame.
            _ => return self.fall_back(cx, why),
        };
        failure.announce(cx, said);
        Ok(())
    }
}
