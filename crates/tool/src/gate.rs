mod lists;

use std::collections::BTreeMap;

use fugato_state::ToolCall;
use fugato_stream::argument_lines;
use serde::{Deserialize, Serialize};

use crate::{Access, ToolSpec};

pub use lists::ToolLists;

/// A policy that decides whether a call may be executed, before it is.
///
/// A policy is a pure function of the call and the state, so that asking again after a resume gives
/// the same verdict. Functions of the same shape are policies. Several policies form a
/// [`GateChain`].
///
/// # Example
/// ```
/// use fugato_state::ToolCall;
/// use fugato_tool::{ConfirmCard, GatePolicy, GatedCall, ToolSpec, Verdict};
/// use serde_json::json;
///
/// struct Payments;
/// struct Account { balance: u64 }
///
/// impl GatePolicy<Account> for Payments {
///     fn judge(&self, call: &GatedCall<'_>, account: &Account) -> Verdict {
///         if call.spec.name != "pay" {
///             return Verdict::Allow;
///         }
///         match call.call.arguments["amount"].as_u64() {
///             Some(n) if n <= account.balance => Verdict::NeedConfirm(ConfirmCard::of(call)),
///             _ => Verdict::Block(format!("`amount` may be at most {}", account.balance)),
///         }
///     }
/// }
///
/// let spec = ToolSpec::write("pay", "Pays an amount.");
/// let judged = |amount: u64| {
///     let call = ToolCall::new("c1", "pay", json!({ "amount": amount }));
///     Payments.judge(&GatedCall { spec: &spec, call: &call }, &Account { balance: 50 })
/// };
/// assert!(matches!(judged(20), Verdict::NeedConfirm(_)));
/// assert_eq!(judged(70), Verdict::Block("`amount` may be at most 50".into()));
/// ```
///
/// # Wrong
/// ```text
/// |call: &GatedCall<'_>, _: &Account| {
///     let checked = call.call.arguments["checked"] == true;
///     if checked && clock.now().hour() < 18 { Verdict::Allow } else { Verdict::NeedConfirm(..) }
/// }
/// ```
/// The model chooses the arguments, so it can state that the call was checked. Findings of checks
/// are in the state, where the program puts them: see [`NeedsEvidence`](crate::NeedsEvidence). With
/// the clock, a call that was put to a person at 19:00 runs without an answer if the node is
/// resumed in the morning.
///
/// # Contract
/// - The call is admitted: it has the canonical name of a visible tool, and normalised arguments
///   that fit its schema. A call that was refused is not judged.
/// - Equal calls and equal states have equal verdicts.
/// - A [`ConfirmCard`] names everything that would be done; [`ConfirmCard::of`] does.
/// - The text of a [`Verdict::Block`] tells the model the reason, and what is allowed.
///
/// # Errors
/// There are none: a policy that cannot decide returns [`Verdict::Block`]. A panic is not caught
/// here.
///
/// # Cancellation safety
/// `judge` is synchronous and has no effect. It must not block, as it runs on the executor's
/// thread.
///
/// # Cost
/// One run of `judge` for each admitted call, and one more after each resume. A chain stops at the
/// first `Block`. [`ConfirmCard::of`] clones the call and formats its arguments.
pub trait GatePolicy<S>: Send + Sync {
    /// Returns the verdict on a call.
    fn judge(&self, call: &GatedCall<'_>, state: &S) -> Verdict;
}

/// A call that waits for a verdict.
#[derive(Debug, Clone, Copy)]
pub struct GatedCall<'a> {
    /// The spec of the tool.
    pub spec: &'a ToolSpec,
    /// The call, normalised.
    pub call: &'a ToolCall,
}

/// The verdict of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a verdict is matched where it is made, and not kept"
)]
pub enum Verdict {
    /// The call may be executed.
    Allow,
    /// A person has to agree first.
    NeedConfirm(ConfirmCard),
    /// The call must not be executed. The model reads the text: the reason, and what is allowed.
    Block(String),
}

/// A card that asks a person to agree to a call.
///
/// Its content is untrusted text. A view escapes it, as [`CardText`](fugato_stream::CardText) does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConfirmCard {
    /// A short heading.
    pub title: String,
    /// The action: every argument, whole.
    pub summary: String,
    /// The call that would be executed.
    pub call: ToolCall,
    /// The consequence that the arguments do not show, such as what is overwritten, as the tool
    /// [computes](crate::Tool::consequence) it from the arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub consequence: String,
    /// The version of what the call acts on, as the tool [reads](crate::Tool::version) it when the card
    /// is made: the agreement is to that one. It is not shown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The description that the tool gives of itself. It may come from another server, and never
    /// replaces the arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub says: String,
    /// The words of people for the arguments of the call, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// The words of the summary for values of arguments, by the names of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl ConfirmCard {
    /// Creates a card with a text of its own, which must name everything that would be done.
    pub fn new(title: impl Into<String>, summary: impl Into<String>, call: ToolCall) -> Self {
        Self {
            title: title.into(),
            summary: summary.into(),
            call,
            consequence: String::new(),
            version: String::new(),
            says: String::new(),
            names: BTreeMap::new(),
            labels: BTreeMap::new(),
        }
    }

    /// Creates the card of a call: what people call the act, every argument, and the tool's
    /// description.
    pub fn of(call: &GatedCall<'_>) -> Self {
        let summary = argument_lines(&call.call.arguments);
        Self {
            says: call.spec.about().to_owned(),
            ..Self::saying(call, summary)
        }
    }

    /// Creates the card of a call with a text of its own, which must name everything that would be
    /// done; the values by their labels, if the tool has any.
    pub fn saying(call: &GatedCall<'_>, summary: impl Into<String>) -> Self {
        let GatedCall { spec, call } = call;
        Self {
            names: spec.names_of(&call.arguments),
            labels: spec.labels_of(&call.arguments),
            ..Self::new(spec.title(), summary, (*call).clone())
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

/// A chain of policies: the first `Block` decides, else the first `NeedConfirm`, else it is
/// `Allow`.
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
#[derive(derive_more::Debug)]
#[debug("GateChain {{ policies: {:?} }}", self.0.len())]
pub struct GateChain<S>(Vec<Box<dyn GatePolicy<S>>>);

impl<S> GateChain<S> {
    /// Creates a chain that allows everything.
    pub fn new() -> Self {
        Self(vec![])
    }

    fugato_state::setters! {
        /// Appends a policy.
        pub fn with(policy: impl GatePolicy<S> + 'static) { 0.push(Box::new(policy)) }
    }

    /// Returns the verdict on a call.
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

/// The policy that asks a person to agree to every write.
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
