use std::collections::BTreeSet;

use fugato_tool::{Access, ConfirmCard, EffectClass, GatedCall, ToolSpec, Verdict, confirm_writes};
use rmcp::model::ToolAnnotations;

use crate::McpTool;

/// A server's claims about a tool. Nothing makes a server keep to them.
///
/// A missing claim counts as the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has these four")]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may overwrite or delete.
    pub destructive: bool,
    /// Calling it twice with the same arguments is the same as calling it once.
    pub idempotent: bool,
    /// It reaches beyond the server, as a search of the web does.
    pub open_world: bool,
}

impl Hints {
    /// The hints of a tool about which nothing is known.
    pub const fn worst() -> Self {
        Self {
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: true,
        }
    }

    pub(crate) fn of(annotations: Option<&ToolAnnotations>) -> Self {
        let worst = Self::worst();
        let Some(said) = annotations else {
            return worst;
        };
        let read_only = said.read_only_hint.unwrap_or(worst.read_only);
        Self {
            read_only,
            // By the protocol these two say nothing about a tool that only reads.
            destructive: !read_only && said.destructive_hint.unwrap_or(worst.destructive),
            idempotent: read_only || said.idempotent_hint.unwrap_or(worst.idempotent),
            open_world: said.open_world_hint.unwrap_or(worst.open_world),
        }
    }

    /// Returns the access and the effect class of a call: if it may run at once, and if it may be
    /// repeated.
    ///
    /// | hints | access | effect |
    /// |---|---|---|
    /// | read-only, closed world | read | pure |
    /// | read-only | read | idempotent |
    /// | idempotent | write | idempotent |
    /// | none | write | once |
    pub fn means(self) -> (Access, EffectClass) {
        match self {
            Self {
                read_only: true,
                open_world: false,
                ..
            } => (Access::Read, EffectClass::Pure),
            // The world changes: a stored result is kept, and not read again after a crash.
            Self {
                read_only: true, ..
            } => (Access::Read, EffectClass::Idempotent),
            Self {
                idempotent: true, ..
            } => (Access::Write, EffectClass::Idempotent),
            _ => (Access::Write, EffectClass::Once),
        }
    }

    /// Returns the hints of our own tool: never more than its spec promises.
    pub(crate) fn of_spec(spec: &ToolSpec) -> ToolAnnotations {
        let read_only = spec.access == Access::Read;
        let said = ToolAnnotations::new().read_only(read_only);
        match (spec.access, spec.effect) {
            (Access::Read, EffectClass::Pure) => said.open_world(false),
            (Access::Read, _) => said,
            (Access::Context, _) => said.destructive(false).open_world(false),
            // Updates are committed, so a call that is pure for the tool is not repeatable for the
            // client.
            (Access::Write, effect) => said.idempotent(effect == EffectClass::Idempotent),
        }
    }
}

/// Returns the policy that requires a person's agreement to every call of a tool that may overwrite
/// or delete.
///
/// ```
/// use fugato_mcp::{McpTools, confirm_destructive};
/// use fugato_tool::GateChain;
///
/// fn gates(tools: &McpTools) -> GateChain<()> {
///     GateChain::new().with(confirm_destructive(tools.iter()))
/// }
/// ```
pub fn confirm_destructive<'t, S>(
    tools: impl IntoIterator<Item = &'t McpTool>,
) -> impl Fn(&GatedCall<'_>, &S) -> Verdict + Send + Sync + 'static {
    let tools = tools.into_iter().filter(|tool| tool.hints().destructive);
    let names: BTreeSet<String> = tools.map(|tool| tool.name().to_owned()).collect();
    move |call, state| {
        if !names.contains(&call.spec.name) {
            return Verdict::Allow;
        }
        match confirm_writes(call, state) {
            // An override may declare the tool a read; a destructive hint needs the agreement
            // anyway.
            Verdict::Allow => Verdict::NeedConfirm(ConfirmCard::of(call)),
            verdict => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use fugato_state::ToolCall;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn careful(effect: EffectClass) -> u8 {
        match effect {
            EffectClass::Pure => 0,
            EffectClass::Idempotent => 1,
            EffectClass::Keyed => 2,
            EffectClass::Once => 3,
        }
    }

    #[test]
    fn l7_what_a_server_does_not_say_is_the_worst() {
        assert_eq!(Hints::of(None), Hints::worst());
        assert_eq!(Hints::of(Some(&ToolAnnotations::new())), Hints::worst());
        assert_eq!(Hints::worst().means(), (Access::Write, EffectClass::Once));
    }

    #[test]
    fn l7_hints_become_an_access_and_an_effect_class() {
        let said = ToolAnnotations::new;
        for (hints, means) in [
            (
                said().read_only(true),
                (Access::Read, EffectClass::Idempotent),
            ),
            (
                said().read_only(true).open_world(false),
                (Access::Read, EffectClass::Pure),
            ),
            (
                said().idempotent(true),
                (Access::Write, EffectClass::Idempotent),
            ),
            (
                said().destructive(false),
                (Access::Write, EffectClass::Once),
            ),
        ] {
            assert_eq!(Hints::of(Some(&hints)).means(), means, "{hints:?}");
        }
    }

    proptest! {
        #[test]
        fn l7_a_tool_does_not_become_less_careful_on_its_way_through_the_protocol(
            access in prop::sample::select(vec![Access::Read, Access::Write, Access::Context]),
            effect in prop::sample::select(vec![
                EffectClass::Pure, EffectClass::Idempotent, EffectClass::Keyed, EffectClass::Once,
            ]),
        ) {
            let spec = match access {
                Access::Read => ToolSpec::read("t", ""),
                Access::Write => ToolSpec::write("t", ""),
                Access::Context => ToolSpec::context("t", ""),
            };
            let (there, class) = Hints::of(Some(&Hints::of_spec(&spec.clone().effect(effect)))).means();
            prop_assert_eq!(there == Access::Read, access == Access::Read);
            if access == Access::Write {
                prop_assert!(careful(class) >= careful(effect));
            }
        }
    }

    #[test]
    fn l9_without_destructive_tools_nothing_is_asked() {
        let spec = ToolSpec::write("t", "");
        let call = ToolCall::new("c", "t", json!({}));
        let gate = confirm_destructive::<()>([]);
        assert_eq!(
            gate(
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
