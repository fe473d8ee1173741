//! The decision of a model that works in rounds: one of six actions.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use fugato_state::say;

use crate::{Contract, Objections};

/// The decision of a model that works in rounds, with at most one call: it goes on, asks, wants a
/// write confirmed, finishes a step or everything, or gives up.
///
/// The [contract](Self::contract) says which actions may, must and must not have a call, and which
/// texts each needs. It is a JSON object, so that a small model can write it, alone or in a
/// [`Tag`](crate::Tag).
///
/// ```
/// use fugato_llm::{ActionDecision, ActionKind};
///
/// let contract = ActionDecision::contract(true);
/// let look = r#"{"action": "continue", "tool_call": {"name": "look", "arguments": {"day": 2}}}"#;
/// let decision = contract.read(look)?;
/// assert_eq!(decision.action, ActionKind::Continue);
/// assert_eq!(decision.tool_call.map(|call| call.name).as_deref(), Some("look"));
///
/// // With a plan, a step is done only with a word on how its goal was checked.
/// let rejected = contract.read(r#"{"action": "next_plan"}"#).unwrap_err();
/// assert!(rejected.correction().contains("next_plan needs a text that says how the goal was checked"));
/// # Ok::<(), fugato_llm::RejectedAnswer>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Decision")]
pub struct ActionDecision {
    /// The text for the person.
    #[serde(default)]
    pub speak: String,
    /// The action.
    pub action: ActionKind,
    /// The reason.
    #[serde(default)]
    pub reason: String,
    /// The check of the step's goal, as a text.
    #[serde(default)]
    pub goal_check: Option<String>,
    /// The call.
    #[serde(default)]
    pub tool_call: Option<ProposedCall>,
    /// The reason for giving up, with [`ActionKind::Abort`] only.
    #[serde(default)]
    pub abort: Option<Abort>,
}

/// The actions of a model that works in rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// Look at something with a tool, or go on thinking.
    Continue,
    /// Ask the person.
    AskUser,
    /// Ask the person to confirm a write.
    Confirm,
    /// The current step is done.
    NextPlan,
    /// Everything is done.
    Done,
    /// Give up.
    Abort,
}

/// A call that a model proposes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Call")]
pub struct ProposedCall {
    /// The tool.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// True if it was the first of a list: a list is read so that it can be refused in words.
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    pub listed: bool,
}

/// The reason for giving up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Abort {
    /// A stable code.
    #[serde(default)]
    pub code: String,
    /// The message for the person.
    pub user_message: String,
    /// The message for an operator.
    #[serde(default)]
    pub internal_reason: String,
}

impl ActionDecision {
    /// Creates a decision with only an action.
    pub fn of(action: ActionKind) -> Self {
        Self {
            speak: String::new(),
            action,
            reason: String::new(),
            goal_check: None,
            tool_call: None,
            abort: None,
        }
    }

    fugato_state::setters! {
        /// Adds a call.
        pub fn calling(name: &str, arguments: Map<String, Value>) {
            tool_call = Some(ProposedCall {
                name: name.into(),
                arguments,
                listed: false,
            })
        }
    }

    /// Returns the only call.
    pub fn call(&self) -> Option<&ProposedCall> {
        self.tool_call.as_ref()
    }

    /// Returns the contract. With a plan, whoever finishes a step says how its goal was checked.
    pub fn contract(has_plan: bool) -> Contract<Self> {
        Contract::new("decision").prepare(unlist).check(
            move |decision: &Self, object: &mut Objections| {
                check_call(decision, object);
                check_texts(decision, has_plan, object);
            },
        )
    }
}

impl ActionKind {
    /// Returns its name as the model writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::AskUser => "ask_user",
            Self::Confirm => "confirm",
            Self::NextPlan => "next_plan",
            Self::Done => "done",
            Self::Abort => "abort",
        }
    }
}

/// Replaces a list of calls by its first one, and marks it.
fn unlist(decision: &mut Value) {
    let Some(call) = decision.get_mut("tool_call") else {
        return;
    };
    if let Value::Array(calls) = call {
        let first = calls.first().and_then(Value::as_object).cloned();
        let mut first = first.unwrap_or_default();
        first.entry("name").or_insert_with(|| "".into());
        first.insert("listed".into(), true.into());
        *call = Value::Object(first);
    }
}

/// Checks which actions may, must and must not have a call. `done` may drop its tools at the end:
/// that call is tolerated, and dropped.
fn check_call(decision: &ActionDecision, object: &mut Objections) {
    let name = decision.action.name();
    match &decision.tool_call {
        Some(call) if call.listed => object.push(
            "/tool_call",
            say!(
                "exactly one tool call is allowed in a round; send the first one only, as an object",
                "一轮只允许一个工具调用；请只发第一个，写成对象"
            ),
        ),
        Some(call) => {
            let dropped =
                decision.action == ActionKind::Done && call.name == "context_tools_remove";
            let allowed = matches!(decision.action, ActionKind::Continue | ActionKind::Confirm);
            if !allowed && !dropped {
                let message = say!(
                    "{name} must not have a tool call; with one, the action is one of `continue` or `confirm`",
                    "{name} 不能带工具调用；带工具调用时，action 是 `continue` 或 `confirm`"
                );
                object.push("/tool_call", message);
            }
        }
        None if decision.action == ActionKind::Confirm => {
            object.push(
                "/tool_call",
                say!(
                    "confirm needs the call that is to be confirmed",
                    "confirm 需要写明待确认的调用"
                ),
            );
        }
        None => {}
    }
}

/// Checks the texts that an action needs.
fn check_texts(decision: &ActionDecision, has_plan: bool, object: &mut Objections) {
    let is_blank = |text: &str| text.trim().is_empty();
    let ends = matches!(decision.action, ActionKind::NextPlan | ActionKind::Done);
    let checked = decision.goal_check.as_deref();
    if ends && has_plan && checked.is_none_or(is_blank) {
        let name = decision.action.name();
        let message = say!(
            "{name} needs a text that says how the goal was checked",
            "{name} 需要说明目标是怎样核对的"
        );
        object.push("/goal_check", message);
    }
    match (&decision.abort, decision.action) {
        (None, ActionKind::Abort) => object.push(
            "/abort",
            say!("abort needs user_message", "abort 需要 user_message"),
        ),
        (Some(abort), ActionKind::Abort) if is_blank(&abort.user_message) => {
            object.push(
                "/abort/user_message",
                say!("tell the user why, in a sentence", "请用一句话告诉用户原因"),
            );
        }
        _ => {}
    }
    if decision.action == ActionKind::AskUser && is_blank(&decision.speak) {
        object.push(
            "/speak",
            say!(
                "ask_user needs the question in speak",
                "ask_user 需要在 speak 中写出问题"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objection(raw: &str, has_plan: bool) -> String {
        ActionDecision::contract(has_plan)
            .read(raw)
            .unwrap_err()
            .correction()
    }

    #[test]
    fn sch_41_a_decision_is_read_from_among_prose() {
        let raw = "Sure!\n```json\n{\"action\": \"continue\", \"tool_call\": {\"name\": \"find_free\", \"arguments\": {\"duration\": 2}},}\n```";
        let read = ActionDecision::contract(true).read(raw).unwrap();
        assert_eq!(read.action, ActionKind::Continue);
        assert_eq!(read.call().unwrap().name, "find_free");
    }

    #[test]
    fn sch_42_the_legality_matrix_holds_for_every_action() {
        let call = r#""tool_call": {"name": "find_free", "arguments": {}}"#;
        let extras = r#""speak": "well?", "goal_check": "seen", "abort": {"user_message": "no"}"#;
        for (action, without, with) in [
            ("continue", true, true),
            ("ask_user", true, false),
            ("confirm", false, true),
            ("next_plan", true, false),
            ("done", true, false),
            ("abort", true, false),
        ] {
            let bare = format!(r#"{{"action": "{action}", {extras}}}"#);
            let calling = format!(r#"{{"action": "{action}", {extras}, {call}}}"#);
            assert_eq!(
                ActionDecision::contract(true).read(&bare).is_ok(),
                without,
                "{action} without a call"
            );
            assert_eq!(
                ActionDecision::contract(true).read(&calling).is_ok(),
                with,
                "{action} with a call"
            );
        }
    }

    #[test]
    fn sch_42_done_may_drop_its_tools() {
        let raw = r#"{"action": "done", "goal_check": "all placed",
            "tool_call": {"name": "context_tools_remove", "arguments": {"all": true}}}"#;
        assert!(ActionDecision::contract(true).read(raw).is_ok());
    }

    #[test]
    fn sch_42_several_calls_get_a_hint_of_their_own() {
        let raw = r#"{"action": "continue", "tool_call": [{"name": "a"}, {"name": "b"}]}"#;
        assert!(
            objection(raw, false).contains("exactly one tool call"),
            "{}",
            objection(raw, false)
        );
    }

    #[test]
    fn sch_42_a_goal_check_is_a_text_and_not_empty_when_there_is_a_plan() {
        assert!(objection(r#"{"action": "done"}"#, true).contains("/goal_check"));
        assert!(
            objection(r#"{"action": "next_plan", "goal_check": " "}"#, true).contains("checked")
        );
        assert!(
            ActionDecision::contract(true)
                .read(r#"{"action": "done", "goal_check": true}"#)
                .is_err()
        );
        assert!(
            ActionDecision::contract(false)
                .read(r#"{"action": "done"}"#)
                .is_ok()
        );
    }

    #[test]
    fn sch_41_an_abort_tells_the_user_why() {
        assert!(objection(r#"{"action": "abort"}"#, false).contains("user_message"));
        let raw = r#"{"action": "abort", "abort": {"user_message": "The exam is today."}}"#;
        assert!(ActionDecision::contract(false).read(raw).is_ok());
    }
}
