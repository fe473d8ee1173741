use std::{collections::HashSet, convert::Infallible, fmt};

use fugato_state::{ToolCall, say};
use futures::{StreamExt as _, stream};

use crate::{
    Access, AdmittedCall, ConfirmCard, GatePolicy, Registry, ToolContext, ToolFailure, ToolResult,
    Verdict, Visibility,
};

/// The number of reads of a round that run at once.
const AT_ONCE: usize = 16;

/// The calls that a model made in one answer, on their way to their results.
///
/// # Contract
/// - Each call has exactly one result, and the results have the order of the calls: a call that is
///   refused or blocked, too.
/// - Reads that follow each other run at the same time. Everything else runs alone, in its place.
/// - A call that a gate wants confirmed is executed only if it was approved.
/// - The ids of the calls are distinct.
///
/// The caller of [`run`](Self::run) chooses how a call is executed: a node of a graph wraps actions
/// on the outside world in an effect, and reports to the reader of the stream what begins and ends.
///
/// ```
/// use fugato_state::ToolCall;
/// use fugato_tool::{GateChain, NoArguments, Registry, ToolContext, ToolSpec, confirm_writes};
/// use serde_json::json;
///
/// let registry = Registry::<(), ()>::builder()
///     .function(ToolSpec::read("look", "Looks."), |_, _: NoArguments| Ok("a tree"))
///     .function(ToolSpec::write("cut", "Cuts."), |_, _: NoArguments| Ok("cut"))
///     .build()?;
/// let calls = ["look", "cut"].map(|name| ToolCall::new("", name, json!({})));
/// let cx = ToolContext::new(&());
///
/// let gates = GateChain::<()>::new().with(confirm_writes);
/// let round = registry.round(&calls, cx.active()).judged(&gates, &());
/// assert_eq!(round.cards().map(|card| &*card.title).collect::<Vec<_>>(), ["cut"]);
///
/// // Nobody agreed to the cut, so it is not made.
/// let done = round.run(|call| async { Ok::<_, std::io::Error>(call.run(cx).await) });
/// let done = futures::executor::block_on(done)?;
/// let texts: Vec<_> = done.iter().map(|called| &*called.result.text).collect();
/// assert_eq!(texts, ["a tree", "nobody has agreed to this call, so it was not carried out"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Round<S = (), U = ()>(Vec<Turn<S, U>>);

enum Turn<S, U> {
    Due(AdmittedCall<S, U>),
    Waiting(AdmittedCall<S, U>, ConfirmCard),
    Settled(AnsweredCall<U>),
}

/// A call with its result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AnsweredCall<U = ()> {
    /// The call as it was executed, for the history.
    pub call: ToolCall,
    /// The access of the tool; `None` if the tool does not exist.
    pub access: Option<Access>,
    /// The result.
    pub result: ToolResult<U>,
}

impl<S, U> Registry<S, U> {
    /// Checks the calls of one answer, each as [`admit`](Self::admit) does. Calls without an id, or
    /// with the id of an earlier call, get one of their own.
    pub fn round(&self, calls: &[ToolCall], visibility: &Visibility) -> Round<S, U> {
        let turn = |call: ToolCall| match self.admit(&call, visibility) {
            Ok(admitted) => Turn::Due(admitted),
            Err(refusal) => Turn::Settled(AnsweredCall {
                access: self.spec(&call.name).map(|spec| spec.access),
                call,
                result: refusal.into(),
            }),
        };
        Round(with_distinct_ids(calls).into_iter().map(turn).collect())
    }

    /// Checks and executes the calls of one answer without a gate and without receipts.
    pub async fn call_round(
        &self,
        calls: &[ToolCall],
        cx: ToolContext<'_, S>,
    ) -> Vec<AnsweredCall<U>>
    where
        S: Sync,
    {
        let run = |call: AdmittedCall<S, U>| async move { Ok::<_, Infallible>(call.run(cx).await) };
        let Ok(done) = self.round(calls, cx.active()).run(run).await;
        done
    }
}

impl<S, U> Round<S, U> {
    /// Returns the calls that have no result yet.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.0.iter().filter_map(|turn| match turn {
            Turn::Due(admitted) | Turn::Waiting(admitted, _) => Some(admitted.call()),
            Turn::Settled(_) => None,
        })
    }

    /// Marks the call with this id as [repeated](ToolContext::is_repeat): it has begun before, and a
    /// person has agreed to this version of what it acts on. Gates that judge it afterwards ask nobody
    /// anew. Returns false if it is not due.
    pub fn resume(&mut self, id: &str, agreed: Option<String>) -> bool {
        let is_due =
            |turn: &Turn<S, U>| matches!(turn, Turn::Due(admitted) if admitted.call().id == id);
        self.replace(is_due, |turn| match turn {
            Turn::Due(admitted) => Turn::Due(admitted.resumed(agreed)),
            other => other,
        })
    }

    /// Lets a gate judge the calls that have no result yet. A blocked call gets its result.
    #[must_use]
    pub fn judged<G>(self, gates: &impl GatePolicy<G>, state: &G) -> Self {
        let judge = |turn| match turn {
            Turn::Due(admitted) => match admitted.judged(gates, state) {
                Verdict::Allow => Turn::Due(admitted),
                Verdict::NeedConfirm(card) => Turn::Waiting(admitted, card),
                Verdict::Block(reason) => blocked(&admitted, reason),
            },
            other => other,
        };
        Self(self.0.into_iter().map(judge).collect())
    }

    /// Returns the cards of the calls that a person has to agree to, in the order of the calls.
    pub fn cards(&self) -> impl Iterator<Item = &ConfirmCard> {
        self.0.iter().filter_map(|turn| match turn {
            Turn::Waiting(_, card) => Some(card),
            _ => None,
        })
    }

    /// Approves the call with this id, for what its card says: see
    /// [`ToolContext::agreed_version`]. Returns false if it does not wait for approval.
    pub fn approve(&mut self, id: &str) -> bool {
        self.decide(id, |admitted, card| Turn::Due(admitted.agreed(card)))
    }

    /// Declines the call with this id; the model reads `why`. Returns false if it does not wait for
    /// approval.
    pub fn decline(&mut self, id: &str, why: &str) -> bool {
        self.decide(id, |admitted, _| blocked(&admitted, why))
    }

    fn decide(
        &mut self,
        id: &str,
        by: impl FnOnce(AdmittedCall<S, U>, &ConfirmCard) -> Turn<S, U>,
    ) -> bool {
        let waits = |turn: &Turn<S, U>| matches!(turn, Turn::Waiting(admitted, _) if admitted.call().id == id);
        self.replace(waits, |turn| match turn {
            Turn::Waiting(admitted, card) => by(admitted, &card),
            other => other,
        })
    }

    fn replace(
        &mut self,
        which: impl Fn(&Turn<S, U>) -> bool,
        by: impl FnOnce(Turn<S, U>) -> Turn<S, U>,
    ) -> bool {
        let Some(at) = self.0.iter().position(which) else {
            return false;
        };
        let turn = self.0.remove(at);
        self.0.insert(at, by(turn));
        true
    }

    /// Executes the due calls with `execute`, and returns all results in the order of the calls. An
    /// error of `execute` ends the round after the calls that run at the same time have ended.
    pub async fn run<E, F, Fut>(self, execute: F) -> Result<Vec<AnsweredCall<U>>, E>
    where
        F: Fn(AdmittedCall<S, U>) -> Fut,
        Fut: Future<Output = Result<ToolResult<U>, E>>,
    {
        let mut done = Vec::with_capacity(self.0.len());
        let mut turns = self.0.into_iter().peekable();
        while let Some(first) = turns.next() {
            let mut together = vec![first];
            if together.iter().all(Turn::may_run_beside) {
                while let Some(next) = turns.next_if(Turn::may_run_beside) {
                    together.push(next);
                }
            }
            let running = together.into_iter().map(|turn| turn.ended(&execute));
            let ended: Vec<_> = stream::iter(running).buffered(AT_ONCE).collect().await;
            for called in ended {
                done.push(called?);
            }
        }
        Ok(done)
    }
}

impl<S, U> Turn<S, U> {
    fn may_run_beside(&self) -> bool {
        match self {
            Self::Due(admitted) => admitted.spec().access == Access::Read,
            Self::Waiting(..) | Self::Settled(_) => true,
        }
    }

    async fn ended<E, F, Fut>(self, execute: &F) -> Result<AnsweredCall<U>, E>
    where
        F: Fn(AdmittedCall<S, U>) -> Fut,
        Fut: Future<Output = Result<ToolResult<U>, E>>,
    {
        let admitted = match self {
            Self::Due(admitted) => admitted,
            Self::Waiting(admitted, _) => return Ok(settled(&admitted, unconfirmed())),
            Self::Settled(called) => return Ok(called),
        };
        let (call, access) = (admitted.call().clone(), Some(admitted.spec().access));
        let result = execute(admitted).await?;
        Ok(AnsweredCall {
            call,
            access,
            result,
        })
    }
}

fn unconfirmed() -> String {
    say!(
        "nobody has agreed to this call, so it was not carried out",
        "没有人同意这次调用，所以没有执行"
    )
}

fn blocked<S, U>(admitted: &AdmittedCall<S, U>, reason: impl Into<String>) -> Turn<S, U> {
    Turn::Settled(settled(admitted, reason))
}

fn settled<S, U>(admitted: &AdmittedCall<S, U>, reason: impl Into<String>) -> AnsweredCall<U> {
    AnsweredCall {
        call: admitted.call().clone(),
        access: Some(admitted.spec().access),
        result: ToolFailure::blocked(reason).into(),
    }
}

/// Gives each call a distinct id: results are paired by id, and effects by a key made of it.
fn with_distinct_ids(calls: &[ToolCall]) -> Vec<ToolCall> {
    let mut taken: HashSet<String> = calls.iter().map(|call| call.id.clone()).collect();
    let mut seen = HashSet::new();
    let distinct = |call: &ToolCall| {
        let mut call = call.clone();
        if call.id.is_empty() || !seen.insert(call.id.clone()) {
            let stem = if call.id.is_empty() { "call" } else { &call.id };
            let free = (2..=2 * calls.len() + 2)
                .map(|n| format!("{stem}-{n}"))
                .find(|id| !taken.contains(id));
            call.id = free.unwrap_or_default();
            taken.insert(call.id.clone());
        }
        call
    };
    calls.iter().map(distinct).collect()
}

impl<S, U> fmt::Debug for Round<S, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turns = self.0.iter().map(|turn| match turn {
            Turn::Due(admitted) => ("due", admitted.call()),
            Turn::Waiting(admitted, _) => ("waiting", admitted.call()),
            Turn::Settled(called) => ("settled", &called.call),
        });
        f.debug_list().entries(turns).finish()
    }
}

#[cfg(test)]
mod tests;
