//! The rounds of an [`Ask`] in the graph.
use fugato_graph::{BoxError, Context, Outcome};
use fugato_llm::{
    Ask, AskError, ModelError, RejectedAnswer, RejectedClass, Settlement, SpendScope,
};
use fugato_prompt::correction;
use fugato_state::{Message, State};
use fugato_stream::EventKind;
use serde_json::json;

use super::ModelFailure;
use crate::{Embeds, text::custom};

/// A state that stores corrections: how many there were in a row, and their messages.
pub trait CorrectionState: State {
    /// Returns the number of answers in a row that were rejected so far.
    fn corrections(&self) -> u32;

    /// Returns the text that the stream shows of a rejected answer. The default is the text of the
    /// rejection.
    fn correction_words(&self, rejected: &RejectedAnswer) -> String {
        rejected.to_string()
    }

    /// Returns the updates that count a correction and append the pair of messages to the
    /// conversation: the answer, and the correction.
    fn corrected(pair: [Message; 2]) -> Vec<Self::Update>;
}

/// Settles an answer to an [`Ask`] whose rounds are in the graph, where they are stored, streamed
/// and interruptible: the node asks once, [`Settlement::Again`] is its outcome with the correction,
/// and the edges lead back to the node while there are corrections.
///
/// *Contract*
/// - **counted in the state**: a crash does not reset the count.
/// - **told**: each correction is an event of the stream, and a warning in the log.
pub fn settle<S: CorrectionState, T, A>(
    cx: &Context<S>,
    ask: &Ask<'_, T, A>,
    answer: &Result<A, ModelError>,
) -> Settlement<T, Outcome<S::Update>> {
    settle_part::<S, S, T, A>(cx, ask, answer)
}

/// Settles an answer for a part of a state.
pub(crate) fn settle_part<P: CorrectionState, S: Embeds<P>, T, A>(
    cx: &Context<S>,
    ask: &Ask<'_, T, A>,
    answer: &Result<A, ModelError>,
) -> Settlement<T, Outcome<S::Update>> {
    let part = cx.state().part();
    let rejected = match ask.settle(part.corrections(), answer) {
        Settlement::Again(rejected) => rejected,
        Settlement::Decided(value) => return Settlement::Decided(value),
        Settlement::Failed(why) => return Settlement::Failed(why),
    };
    let (task, raw) = (cx.task(), &rejected.raw);
    if matches!(rejected.class, RejectedClass::Sense | RejectedClass::Words) {
        tracing::warn!(task, raw, %rejected, "execute decision illegal");
    } else {
        tracing::warn!(task, raw, %rejected, "execute decision unparsable");
    }
    cx.emit(EventKind::Correction {
        message: part.correction_words(&rejected),
    });
    SpendScope::carry_on();
    let [said, _] = rejected.messages();
    let pair = [said, correction(&rejected.correction())];
    Settlement::Again(Outcome::done(P::corrected(pair).into_iter().map(S::embed)))
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
    /// Returns Ok if a rule decides, after a warning and an event; else returns the error. If the
    /// error is a model's, the event announces in the language of `said` that this model does not
    /// answer, and the reason.
    pub fn fall_back<S: State>(
        self,
        cx: &Context<S>,
        why: impl Into<BoxError>,
        (model, said): (&str, &str),
    ) -> Result<(), BoxError> {
        let why = why.into();
        if self == Self::Error {
            return Err(why);
        }
        if let Some(error) = why.downcast_ref::<ModelError>() {
            ModelFailure::of(model, error).announce(cx, said);
        } else if let Some(none) = why.downcast_ref::<AskError>() {
            ModelFailure::of_no_answer(model, none).announce(cx, said);
        } else {
            tracing::warn!(task = cx.task(), why, "decided by rule");
            let data = json!({ "task": cx.task(), "why": why.to_string() });
            cx.emit(custom(ModelFailure::BY_RULE, data));
        }
        Ok(())
    }
}
