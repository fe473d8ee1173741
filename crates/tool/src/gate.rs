mod lists;

use std::fmt;

use fugato_state::ToolCall;
use fugato_stream::argument_lines;
use serde::{Deserialize, Serialize};

use crate::{Access, ToolSpec};

pub use lists::ToolLists;

/// Decides whether a call may be executed, before it is.
///
/// A policy is a pure function of the call and the state, so that asking again after a resume gives
/// the same verdict. Evidence that it needs, such as a precheck, is in the state, where the program
/// put it. Functions of the same shape are policies.
pub trait GatePolicy<S>: Send + Sync {
    /// Judges a call.
    fn judge(&self, call: &GatedCall<'_>, state: &S) -> Verdict;
}

/// A call that waits for a verdict.
#[derive(Debug, Clone, Copy)]
pub struct GatedCall<'a> {
    /// What is known about the tool.
    pub spec: &'a ToolSpec,
    /// The call, normalised.
    pub call: &'a ToolCall,
}

/// What a gate says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may be executed.
    Allow,
    /// A person has to agree first.
    NeedConfirm(ConfirmCard),
    /// It must not be executed; the model reads why, and what is allowed.
    Block(String),
}

/// What a person is asked to agree to.
///
/// What it holds is somebody else's: what shows it escapes it, as
/// [`CardText`](fugato_stream::CardText) does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConfirmCard {
    /// A short heading.
    pub title: String,
    /// What would be done: every argument, whole.
    pub summary: String,
    /// The call that would be executed.
    pub call: ToolCall,
    /// What would come of it beside that, such as what is overwritten: what the tool
    /// [computes](crate::Tool::consequence) from the arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub consequence: String,
    /// What the tool says of itself. These may be the words of another server, and never stand in the
    /// place of the arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub says: String,
}

impl ConfirmCard {
    /// A card in words of one's own, which name everything that would be done.
    pub fn new(title: impl Into<String>, summary: impl Into<String>, call: ToolCall) -> Self {
        Self {
            title: title.into(),
            summary: summary.into(),
            call,
            consequence: String::new(),
            says: String::new(),
        }
    }

    /// The card of a call: the tool, every argument, and what the tool says of itself.
    pub fn of(call: &GatedCall<'_>) -> Self {
        let summary = argument_lines(&call.call.arguments);
        Self {
            says: call.spec.description.clone(),
            ..Self::new(&call.spec.name, summary, call.call.clone())
        }
    }
}

impl<S, F> GatePolicy<S> for F
where
    F: Fn(&GatedCall<'_>, &S) -> Verdict + Send + Sync,
{
    fn judge(&self, call: &GatedCall<'_>, state: &S) -> Verdict {
        self(call, state)
    }
}

/// Policies in a row: the first `Block` decides, else the first `NeedConfirm`, else it is `Allow`.
///
/// ```
/// use fugato_state::ToolCall;
/// use fugato_tool::{GateChain, GatedCall, ToolSpec, Verdict, confirm_writes};
/// use serde_json::json;
///
/// let gates = GateChain::<bool>::new()
///     .with(|_: &GatedCall<'_>, feasible: &bool| match feasible {
///         true => Verdict::Allow,
///         false => Verdict::Block("nothing can be placed; ask the user".into()),
///     })
///     .with(confirm_writes);
/// let spec = ToolSpec::write("place", "Places a task.");
/// let call = ToolCall::new("c1", "place", json!({}));
/// let call = GatedCall { spec: &spec, call: &call };
/// assert!(matches!(gates.judge(&call, &true), Verdict::NeedConfirm(_)));
/// assert!(matches!(gates.judge(&call, &false), Verdict::Block(_)));
/// ```
pub struct GateChain<S>(Vec<Box<dyn GatePolicy<S>>>);

impl<S> GateChain<S> {
    /// A chain that allows everything.
    pub fn new() -> Self {
        Self(vec![])
    }

    /// Adds a policy at the end.
    #[must_use]
    pub fn with(mut self, policy: impl GatePolicy<S> + 'static) -> Self {
        self.0.push(Box::new(policy));
        self
    }

    /// Judges a call.
    pub fn judge(&self, call: &GatedCall<'_>, state: &S) -> Verdict {
        let mut verdict = Verdict::Allow;
        for policy in &self.0 {
            match policy.judge(call, state) {
                Verdict::Allow => {}
                Verdict::NeedConfirm(card) => {
                    if verdict == Verdict::Allow {
                        verdict = Verdict::NeedConfirm(card);
                    }
                }
                block @ Verdict::Block(_) => return block,
            }
        }
        verdict
    }
}

impl<S> Default for GateChain<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> GatePolicy<S> for GateChain<S> {
    fn judge(&self, call: &GatedCall<'_>, state: &S) -> Verdict {
        self.judge(call, state)
    }
}

impl<S> fmt::Debug for GateChain<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateChain")
            .field("policies", &self.0.len())
            .finish()
    }
}

/// The policy by which a person has to agree to every write.
pub fn confirm_writes<S>(call: &GatedCall<'_>, _: &S) -> Verdict {
    if call.spec.access != Access::Write {
        return Verdict::Allow;
    }
    Verdict::NeedConfirm(ConfirmCard::of(call))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const _: Option<&dyn GatePolicy<()>> = None;

    fn verdict(verdict: Verdict) -> impl GatePolicy<()> {
        move |_: &GatedCall<'_>, (): &()| verdict.clone()
    }

    #[test]
    fn l9_the_strictest_verdict_of_a_chain_decides() {
        let call = ToolCall::new("c", "place", json!({}));
        let spec = ToolSpec::write("place", "Places.");
        let gated = GatedCall {
            spec: &spec,
            call: &call,
        };
        let card = |title: &str| Verdict::NeedConfirm(ConfirmCard::new(title, "", call.clone()));
        let judge = |verdicts: Vec<Verdict>| {
            let chain = verdicts
                .into_iter()
                .fold(GateChain::new(), |c, v| c.with(verdict(v)));
            chain.judge(&gated, &())
        };
        let block = || Verdict::Block("no".into());
        assert_eq!(judge(vec![]), Verdict::Allow);
        assert_eq!(judge(vec![Verdict::Allow, card("a"), card("b")]), card("a"));
        assert_eq!(judge(vec![card("a"), block(), Verdict::Allow]), block());
    }

    #[test]
    fn k35_the_words_of_a_tool_never_stand_for_its_arguments() {
        let arguments = json!({ "to": "attacker", "amount": 99999 });
        let call = ToolCall::new("c", "pay", arguments);
        let spec = ToolSpec::write("pay", "Looks up the balance.");
        let gated = GatedCall {
            spec: &spec,
            call: &call,
        };
        let Verdict::NeedConfirm(card) = confirm_writes(&gated, &()) else {
            panic!("a write is asked about");
        };
        assert_eq!(card.summary, "amount: 99999\nto: attacker");
        assert_eq!((&*card.says, card.call), ("Looks up the balance.", call));
    }

    #[test]
    fn l9_only_writes_are_confirmed() {
        let call = ToolCall::new("c", "get", json!({}));
        let spec = ToolSpec::read("get", "Gets.");
        assert_eq!(
            confirm_writes(
                &GatedCall {
                    spec: &spec,
                    call: &call
                },
                &()
            ),
            Verdict::Allow
        );
    }
}
