//! The gates before every write, for all callers.
use std::sync::Arc;

use fugato::{
    cli::Lang,
    form::{Field, FieldKind, Fields, strings},
    state::{State as _, ToolCall},
    tool::{Access, ConfirmCard, GatePolicy, GatedCall, NeedsEvidence, Verdict},
};
use serde_json::Value;

use super::{PRECHECK, SAVE_CLAIM, SUBMIT, find};
use crate::{
    deps::Deps,
    files::Attachment,
    form::FormKind,
    ledger::{HOME_CURRENCY, currency, differs},
    reply::{self, described},
    service::RuleData,
    state::Steward,
};

/// Blocks a write whose form has missing fields.
pub(super) fn complete(desk: Arc<RuleData>) -> impl GatePolicy<Steward> {
    move |gated: &GatedCall<'_>, state: &Steward| {
        let action = find(&gated.spec.name).filter(|action| action.writes());
        let form = action.and_then(|action| action.form);
        let Some((form, fields)) = form.zip(gated.call.arguments.as_object()) else {
            return Verdict::Allow;
        };
        match desk.forms.missing(&form, fields).as_slice() {
            [] => Verdict::Allow,
            missing => Verdict::Block(super::are_missing(&desk, form, missing, state.lang())),
        }
    }
}

/// Blocks a submission whose precheck found objections, with the words of the finding.
pub(super) fn spoken_against(gated: &GatedCall<'_>, state: &Steward) -> Verdict {
    if gated.spec.name != SUBMIT {
        return Verdict::Allow;
    }
    match state.evidence.about(PRECHECK, &gated.call.arguments) {
        Some(finding) if !finding.passed => {
            let against: Vec<_> = strings(Some(&finding.data)).collect();
            Verdict::Block(reply::joined(&against, state.lang()))
        }
        _ => Verdict::Allow,
    }
}

/// Blocks a submission without a valid precheck of exactly the same content.
pub(super) fn evidence(deps: &Deps) -> impl GatePolicy<Steward> + use<> {
    let clock = deps.clock.clone();
    let needs = NeedsEvidence::new(SUBMIT, PRECHECK, move |state: &Steward| {
        (&state.evidence, clock())
    });
    needs.called(
        ("handing in an application", "提交出差申请"),
        ("the check for duplicates", "检查重复"),
    )
}

/// Asks for a person's consent to every write that the policy does not exempt.
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

/// Returns the card of the next step: everything that would be written.
pub(crate) fn card(desk: &RuleData, state: &Steward) -> Option<ConfirmCard> {
    Some(card_of(desk, state.next_step()?, state))
}

fn card_of(desk: &RuleData, call: &ToolCall, state: &Steward) -> ConfirmCard {
    let lang = state.lang();
    let form = find(&call.name).and_then(|action| desk.forms.get(&action.form?));
    let fields = form.zip(call.arguments.as_object());
    let filled = fields
        .into_iter()
        .flat_map(|(form, fields)| form.filled(fields));
    let line = |(field, value): (&Field, &Value)| match field.kind {
        // Always with its currency: 320 dollars are no 320 yuan.
        FieldKind::Amount => {
            let currency = call.arguments.as_object().map_or(HOME_CURRENCY, currency);
            format!(
                "{}: {} {currency}",
                field.label(lang),
                field.shown(value, lang)
            )
        }
        FieldKind::Files => {
            let files = super::attached(state, &call.arguments);
            let mut shown: Vec<_> = files.map(Attachment::shown).collect();
            // Cards of older versions name files that were never uploaded.
            let is_file = |name: &&str| state.files.iter().any(|file| file.name == **name);
            let names = strings(Some(value)).filter(|name| !is_file(name));
            shown.extend(names.map(str::to_owned));
            format!(
                "{}: {}",
                field.label(lang),
                shown.join(lang.pick(", ", "，"))
            )
        }
        _ => {
            let form = find(&call.name).and_then(|action| action.form);
            let of = (form.unwrap_or(FormKind::Application), &*state.base_date);
            format!(
                "{}: {}",
                field.label(lang),
                reply::shown(field, value, of, lang)
            )
        }
    };
    let filled = filled.filter(|(field, _)| field.kind != FieldKind::Currency);
    // What a document says is on the card that withdraws or changes it, and not only its number.
    let known = call.arguments.as_object();
    let about = state.about(&call.arguments);
    let about = about.filter(|document| known.is_none_or(|it| differs(&document.fields, it)));
    let about = about.map(|document| described(desk, document, lang));
    let stays = (call.name == SAVE_CLAIM).then(|| reply::claims_stay(lang).to_owned());
    let summary = filled.map(line).chain(about).chain(stays);
    let summary = summary.collect::<Vec<_>>();
    let summary = summary.join("\n");
    ConfirmCard::new(title(&call.name, lang), summary, call.clone())
}

/// Returns what the card calls each argument whose value is a choice of its form.
pub(crate) fn labels(desk: &RuleData, call: &ToolCall, lang: Lang) -> Fields {
    let form = find(&call.name).and_then(|action| desk.forms.get(&action.form?));
    let filled = form.zip(call.arguments.as_object());
    let filled = filled
        .into_iter()
        .flat_map(|(form, fields)| form.filled(fields));
    filled
        .filter(|(field, _)| field.kind == FieldKind::Choice)
        .map(|(field, value)| (field.name.clone(), field.shown(value, lang).into()))
        .collect()
}

/// Returns the text of a button for a writing action.
pub(crate) fn label(action: &str, lang: Lang) -> String {
    title(action, lang).trim_end_matches(['?', '？']).to_owned()
}

/// Returns the title of the card for a writing action.
fn title(action: &str, lang: Lang) -> &str {
    let (zh, en) = match action {
        SUBMIT => ("提交出差申请？", "Submit the application?"),
        super::SAVE_DRAFT => ("保存申请草稿？", "Save the draft of the application?"),
        SAVE_CLAIM => ("保存报销单草稿？", "Save the draft of the claim?"),
        "link_existing_application" => ("关联申请？", "Link the claim to the application?"),
        super::WITHDRAW => ("撤回单据？", "Withdraw the document?"),
        super::RESTORE => ("把单据恢复为草稿？", "Make the document a draft again?"),
        "associate_attachments" => ("关联附件？", "Attach the files?"),
        other => (other, other),
    };
    lang.pick(en, zh)
}
