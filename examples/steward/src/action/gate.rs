//! What must hold before something is written, whoever asks for it.
use std::sync::Arc;

use fugato::state::{Role, ToolCall};
use fugato::tool::{Access, ConfirmCard, GatePolicy, GatedCall, NeedsEvidence, Verdict};
use fugato::words::is_chinese;
use serde_json::Value;

use super::{PRECHECK, SUBMIT, find};
use crate::{
    deps::Deps,
    form::{FormKind, amount_text},
    service::Desk,
    state::Steward,
};

/// Nothing is written of a form in which something is missing.
pub(super) fn complete(desk: Arc<Desk>) -> impl GatePolicy<Steward> {
    move |gated: &GatedCall<'_>, _: &Steward| {
        let form = find(&gated.spec.name).and_then(|action| action.form);
        let (Some(form), Some(fields), Access::Write) =
            (form, gated.call.arguments.as_object(), gated.spec.access)
        else {
            return Verdict::Allow;
        };
        let missing = desk.forms.missing(form, fields);
        if missing.is_empty() {
            return Verdict::Allow;
        }
        Verdict::Block(format!("these fields are missing: {}", missing.join(", ")))
    }
}

/// What a precheck has found is said in its words.
pub(super) fn spoken_against(gated: &GatedCall<'_>, state: &Steward) -> Verdict {
    if gated.spec.name != SUBMIT {
        return Verdict::Allow;
    }
    match state.evidence.about(PRECHECK, &gated.call.arguments) {
        Some(finding) if !finding.passed => Verdict::Block(super::tool::joined(&finding.data)),
        _ => Verdict::Allow,
    }
}

/// Nothing is handed in without a precheck of the very same content that is not too old.
pub(super) fn evidence(deps: &Deps) -> impl GatePolicy<Steward> + use<> {
    let clock = deps.clock.clone();
    NeedsEvidence::new(SUBMIT, PRECHECK, move |state: &Steward| {
        (&state.evidence, clock())
    })
}

/// Nothing is written to which no person has agreed, but where the policy says so.
pub(super) fn consent(deps: &Deps) -> impl GatePolicy<Steward> + use<> {
    let deps = deps.clone();
    move |gated: &GatedCall<'_>, state: &Steward| {
        let agreed = state
            .approval
            .as_ref()
            .is_some_and(|approval| approval.call == *gated.call);
        if gated.spec.access != Access::Write || agreed || !deps.policy.asks(&gated.spec.name) {
            return Verdict::Allow;
        }
        Verdict::NeedConfirm(card_of(&deps.desk, gated.call, state))
    }
}

/// What a person is shown of the next step: everything that would be written.
pub(crate) fn card(desk: &Desk, state: &Steward) -> Option<ConfirmCard> {
    Some(card_of(desk, state.next_step()?, state))
}

fn card_of(desk: &Desk, call: &ToolCall, state: &Steward) -> ConfirmCard {
    let chinese = speaks_chinese(state);
    let form = find(&call.name).and_then(|action| desk.forms.get(action.form?));
    let lines = form
        .iter()
        .flat_map(|form| &form.fields)
        .filter_map(|field| {
            let value = call.arguments.get(&field.name)?;
            Some(format!(
                "{}: {}",
                if chinese { &field.zh } else { &field.en },
                shown(&field.name, value)
            ))
        });
    ConfirmCard {
        title: title(&call.name, chinese).to_owned(),
        summary: lines.collect::<Vec<_>>().join("\n"),
        call: call.clone(),
    }
}

/// A value as a person reads it.
pub(crate) fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        Value::String(text) => text.clone(),
        value if name.ends_with("amount") => amount_text(value),
        value => value.to_string(),
    }
}

/// What a writing action is called.
pub(crate) fn title(action: &str, chinese: bool) -> &str {
    let (zh, en) = match action {
        SUBMIT => ("提交出差申请？", "Submit the application?"),
        "save_application_draft" => ("保存申请草稿？", "Save the draft of the application?"),
        "create_reimbursement_draft" => ("保存报销单草稿？", "Save the draft of the claim?"),
        "link_existing_application" => ("关联申请？", "Link the claim to the application?"),
        "associate_attachments" => ("关联附件？", "Attach the files?"),
        other => (other, other),
    };
    if chinese { zh } else { en }
}

/// The language of answers: what the request says, or else that of the words.
pub(crate) fn speaks_chinese(state: &Steward) -> bool {
    let request = state.request.as_ref();
    if let Some(lang) = request.and_then(|request| request.lang.as_deref()) {
        return lang == "zh";
    }
    let mut said = state.history.iter().rev();
    let last = said.find(|message| message.role == Role::User);
    last.is_some_and(|message| is_chinese(&message.content))
}

/// The kinds whose checks are kept.
pub(super) fn is_checked(form: FormKind) -> bool {
    matches!(form, FormKind::Application | FormKind::Reimbursement)
}
