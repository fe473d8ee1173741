use std::collections::BTreeSet;

use fugato_state::say;
use serde::{Deserialize, Serialize};

use crate::{Access, ConfirmCard, GatePolicy, GatedCall, Verdict};

/// A gate of lists of tools that a person can edit: allowed, blocked, to be confirmed, and not to be
/// asked about. A tool that writes is to be confirmed, also one that came after the lists were
/// written. The strictest list that names a tool applies.
///
/// ```
/// use fugato_state::ToolCall;
/// use fugato_tool::{GatePolicy, GatedCall, ToolLists, ToolSpec, Verdict};
/// use serde_json::json;
///
/// let lists = json!({ "block": ["rm"], "confirm": ["ls"], "unasked": ["touch"] });
/// let lists: ToolLists = serde_json::from_value(lists)?;
/// let judge = |spec: ToolSpec| {
///     let call = ToolCall::new("c1", &spec.name, json!({}));
///     lists.judge(&GatedCall { spec: &spec, call: &call }, &())
/// };
/// assert_eq!(judge(ToolSpec::read("cat", "")), Verdict::Allow);
/// assert!(matches!(judge(ToolSpec::read("ls", "")), Verdict::NeedConfirm(_)));
/// assert!(matches!(judge(ToolSpec::write("mv", "")), Verdict::NeedConfirm(_)));
/// assert_eq!(judge(ToolSpec::write("touch", "")), Verdict::Allow);
/// assert!(matches!(judge(ToolSpec::write("rm", "")), Verdict::Block(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolLists {
    /// If set, only these tools may be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<BTreeSet<String>>,
    /// These tools may not be called.
    pub block: BTreeSet<String>,
    /// These tools need the agreement of a person, beside those that write.
    pub confirm: BTreeSet<String>,
    /// These tools write, and need no agreement.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unasked: BTreeSet<String>,
}

impl<S> GatePolicy<S> for ToolLists {
    fn judge(&self, call: &GatedCall<'_>, _: &S) -> Verdict {
        let name = &call.spec.name;
        let is_allowed = self.allow.as_ref().is_none_or(|allow| allow.contains(name));
        if self.block.contains(name) || !is_allowed {
            return Verdict::Block(say!(
                "the settings do not let `{name}` be called",
                "设置里不允许调用 `{name}`"
            ));
        }
        let writes = call.spec.access == Access::Write && !self.unasked.contains(name);
        if writes || self.confirm.contains(name) {
            return Verdict::NeedConfirm(ConfirmCard::of(call));
        }
        Verdict::Allow
    }
}

#[cfg(test)]
mod tests {
    use fugato_state::ToolCall;
    use serde_json::json;

    use super::*;
    use crate::ToolSpec;

    #[test]
    fn trn_8_the_strictest_list_decides() {
        let lists = json!({ "allow": ["a", "b", "c"], "block": ["b"], "confirm": ["b", "c"] });
        let lists: ToolLists = serde_json::from_value(lists).unwrap();
        let judge = |name: &str| {
            let spec = ToolSpec::read(name, "");
            let call = ToolCall::new("c1", name, json!({}));
            let gated = GatedCall {
                spec: &spec,
                call: &call,
            };
            match lists.judge(&gated, &()) {
                Verdict::Allow => "allow",
                Verdict::NeedConfirm(_) => "confirm",
                Verdict::Block(_) => "block",
            }
        };
        let verdicts = ["a", "b", "c", "d"].map(judge);
        assert_eq!(verdicts, ["allow", "block", "confirm", "block"]);
    }
}
