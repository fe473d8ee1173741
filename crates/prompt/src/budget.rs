use std::sync::Arc;

use fugato_state::{Conversation, EstimatedTokens, Message, TokenCount};

use crate::{PromptBuilder, Stage, builder::LeftOut};

/// The token limit of a prompt, and the order in which parts are left out when it is exceeded.
///
/// # Contract
/// - What is not named in the order is never left out: what the agent and the stage are about, the
///   tools that can be called, the rules, the summary, pinned blocks, the state, the instruction.
/// - What the person said last stays, and so does the newest step of the work.
/// - A call is never shown without its result, nor a result without its call.
/// - The beginning of the conversation and of the work moves in jumps, so that a server can cache
///   what lies between.
#[derive(derive_more::Debug, Clone)]
pub struct PromptBudget {
    tokens: u64,
    order: Vec<Cut>,
    #[debug(skip)]
    count: Arc<dyn TokenCount>,
}

/// A part of a prompt that can be left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cut {
    /// The hints for the next step.
    Hints,
    /// The middle of results of tools that have more characters than this.
    Results {
        /// The number of characters that are kept of each.
        most: usize,
    },
    /// The oldest steps of the work in this stage.
    Steps,
    /// The oldest messages of the conversation.
    Messages,
    /// The text of the source with this name.
    Source(String),
}

/// The number of older messages or steps that are left out at a time.
const JUMP: usize = 8;

impl PromptBudget {
    /// Creates a budget. The order is: hints, the middle of results longer than 2,000 characters,
    /// old steps, old messages.
    pub fn new(tokens: u64) -> Self {
        let order = vec![
            Cut::Hints,
            Cut::Results { most: 2_000 },
            Cut::Steps,
            Cut::Messages,
        ];
        Self {
            tokens,
            order,
            count: Arc::new(EstimatedTokens),
        }
    }

    fugato_state::setters! {
        /// Sets the parts to leave out, in order.
        pub fn order(order: impl IntoIterator<Item = Cut>) { order = order.into_iter().collect() }

        /// Sets the counter of tokens; [`EstimatedTokens`] by default.
        pub fn count(count: impl TokenCount + 'static) { count = Arc::new(count) }
    }
}

/// A prompt, and the parts that were left out of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FittedPrompt {
    /// The messages.
    pub messages: [Message; 4],
    /// The number of tokens of the messages.
    pub tokens: u64,
    /// The parts that were left out, in that order.
    pub left_out: Vec<Omission>,
}

/// A part that was left out of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Omission {
    /// The kind of the part.
    pub what: Cut,
    /// The number of steps, messages or sources that were left out, or of results that were
    /// shortened.
    pub count: usize,
    /// The number of tokens that were saved.
    pub tokens: u64,
}

/// The error if a prompt exceeds its budget although everything was left out that may be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the prompt has {} tokens and may have {budget}; message by message: {parts:?}", fitted.tokens)]
#[non_exhaustive]
pub struct TooLong {
    /// The token limit.
    pub budget: u64,
    /// The number of tokens of each message.
    pub parts: [u64; 4],
    /// The shortest prompt that is possible.
    pub fitted: Box<FittedPrompt>,
}

impl<S> PromptBuilder<S> {
    /// Builds the messages, and leaves out parts in the order of the budget until they fit. Returns
    /// [`TooLong`] if they still do not.
    pub fn fitted(
        &self,
        facts: &S,
        conversation: &Conversation,
        stage: &Stage,
        budget: &PromptBudget,
    ) -> Result<FittedPrompt, TooLong> {
        let made = |left_out: &LeftOut| {
            let messages = self.arranged(facts, conversation, stage, left_out);
            let tokens = budget.count.messages(&messages);
            (messages, tokens)
        };
        let mut left_out = LeftOut::default();
        let (mut messages, mut tokens) = made(&left_out);
        let mut omissions = vec![];
        for cut in &budget.order {
            if tokens <= budget.tokens {
                break;
            }
            let most = self.most(cut, facts, conversation, stage);
            if most == 0 {
                continue;
            }
            let enough = |n: usize| made(&left_out.with(cut, n)).1 <= budget.tokens;
            let count = cut.jump(smallest(most, enough), most);
            left_out = left_out.with(cut, count);
            let before = tokens;
            (messages, tokens) = made(&left_out);
            omissions.push(Omission {
                what: cut.clone(),
                count,
                tokens: before.saturating_sub(tokens),
            });
        }
        let parts = messages.each_ref().map(|part| budget.count.message(part));
        let fitted = FittedPrompt {
            messages,
            tokens,
            left_out: omissions,
        };
        if tokens <= budget.tokens {
            return Ok(fitted);
        }
        Err(TooLong {
            budget: budget.tokens,
            parts,
            fitted: Box::new(fitted),
        })
    }

    /// Returns the number of times that a part can be left out.
    fn most(&self, cut: &Cut, facts: &S, conversation: &Conversation, stage: &Stage) -> usize {
        match cut {
            Cut::Hints => usize::from(self.has_hints(facts)),
            Cut::Results { most } => stage.work.longer_than(*most),
            Cut::Steps => stage.work.can_leave_out(),
            Cut::Messages => self.old_lines(conversation, stage),
            Cut::Source(name) => {
                let named = |(source, _): &&(String, String)| source == name;
                stage.sources.iter().filter(named).count()
            }
        }
    }
}

impl Cut {
    /// Returns the number to leave out if `least` would be enough.
    fn jump(&self, least: usize, most: usize) -> usize {
        match self {
            Self::Steps | Self::Messages => least.next_multiple_of(JUMP).min(most),
            // These are left out all at once.
            _ => most,
        }
    }
}

impl LeftOut {
    fn with(&self, cut: &Cut, n: usize) -> Self {
        let mut left_out = self.clone();
        match cut {
            Cut::Hints => left_out.hints = true,
            Cut::Results { most } => left_out.results = Some(*most),
            Cut::Steps => left_out.steps = n,
            Cut::Messages => left_out.messages = n,
            Cut::Source(name) => {
                left_out.sources.insert(name.clone());
            }
        }
        left_out
    }
}

/// Returns the smallest number from 1 that is enough; `most` if none is. `enough` must be
/// monotonic.
fn smallest(most: usize, enough: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests;
