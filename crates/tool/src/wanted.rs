use fugato_state::{Message, ToolCall, say};
use serde::{Deserialize, Serialize};

use crate::{AnsweredCall, call_pair};

/// A call that an agent wants to make, kept in its state from the decision until the call is made or
/// given up.
///
/// Between the two there may be a card, the end of a run, a day, and another process. The answer to
/// the card makes the call accepted or takes it away, and a gate that knows the state lets exactly
/// this call pass, so nothing is proposed anew after the consent.
///
/// ```
/// use fugato_state::ToolCall;
/// use fugato_tool::{Access, GatePolicy, GatedCall, ToolSpec, Verdict, WantedCall, confirm_writes};
/// use serde_json::json;
///
/// struct Agent { wanted: Option<WantedCall> }
///
/// fn consent(gated: &GatedCall<'_>, agent: &Agent) -> Verdict {
///     match &agent.wanted {
///         Some(wanted) if wanted.has_consent(gated.call) => Verdict::Allow,
///         _ => confirm_writes(gated, agent),
///     }
/// }
///
/// let (spec, call) = (ToolSpec::write("cut", "Cuts."), ToolCall::new("c1", "cut", json!({})));
/// let gated = GatedCall { spec: &spec, call: &call };
/// let mut agent = Agent { wanted: None };
/// assert!(matches!(consent.judge(&gated, &agent), Verdict::NeedConfirm(_)));
///
/// agent.wanted = Some(WantedCall::accepted(call.clone(), "cut the tree"));
/// assert_eq!(consent.judge(&gated, &agent), Verdict::Allow);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WantedCall {
    /// The call, with canonical name and arguments, and an id of its own.
    pub call: ToolCall,
    /// The effect of the call, for the person.
    pub summary: String,
    /// The message of the model that came with the call.
    pub speak: String,
    /// True if the call may be made: it needs no consent, or the person agreed.
    pub accepted: bool,
}

impl WantedCall {
    /// Creates a call that a person makes by their own hand, which counts as consent.
    pub fn accepted(call: ToolCall, summary: impl Into<String>) -> Self {
        Self {
            call,
            summary: summary.into(),
            speak: String::new(),
            accepted: true,
        }
    }

    /// Returns true if this call may be made.
    pub fn has_consent(&self, call: &ToolCall) -> bool {
        self.accepted && self.call.id == call.id
    }

    /// Returns the two messages of a call that the person did not agree to, for the history.
    pub fn rejected(self, why: Option<&str>) -> [Message; 2] {
        let why = why.map_or(String::new(), |why| say!(": {why}", "：{why}"));
        let text = say!(
            "not executed, the user rejected it{why}",
            "未执行，用户拒绝了{why}"
        );
        call_pair(self.call, self.speak, text)
    }

    /// Returns the two messages of the call and its result, for the history.
    pub fn answered<U>(&self, called: &AnsweredCall<U>) -> [Message; 2] {
        call_pair(
            called.call.clone(),
            self.speak.clone(),
            called.result.text.clone(),
        )
    }
}
