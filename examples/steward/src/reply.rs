//! The texts for the person, in their language.
use fugato::cli::Lang;

use crate::{
    action,
    form::FormKind,
    ledger::{DocumentStatus, Documents},
    read::DocumentQuestion,
    service::RuleData,
    state::{ActionResult, Flow, PlanTask, RequestKind, RuntimeDecision, Steward, WorkStatus},
};

/// Returns the text at the end of a request or before a card.
pub(crate) fn reply(desk: &RuleData, state: &Steward, waits: bool) -> String {
    let lang = action::lang(state);
    let came = state.action_result.as_ref().map(|it| result(it, lang));
    let next = if waits {
        let confirm = lang.pick("Please confirm.", "请确认。").to_owned();
        Some(later(state).map_or(confirm.clone(), |later| format!("{confirm}\n{later}")))
    } else {
        rest(desk, state, lang)
    };
    came.into_iter().chain(next).collect::<Vec<_>>().join("\n")
}

/// Returns the result of the action as a sentence.
fn result(result: &ActionResult, lang: Lang) -> String {
    let document = result.data.get("document").and_then(|it| it.as_str());
    let word = match (result.outcome.as_str(), document) {
        ("succeeded", Some(document)) => {
            return format!("{}{document}", lang.pick("Done: ", "已办理："));
        }
        ("cancelled", _) => return lang.pick("Cancelled.", "已取消。").to_owned(),
        ("succeeded", None) => lang.pick("Done", "完成"),
        ("blocked", _) => lang.pick("Not possible", "不能办理"),
        ("rejected", _) => lang.pick("Rejected", "不支持的操作"),
        _ => lang.pick("Failed", "失败"),
    };
    format!("{word}: {}", result.message)
}

/// Returns the next thing for the person to do, if there is one.
fn rest(desk: &RuleData, state: &Steward, lang: Lang) -> Option<String> {
    if matches!(state.kind(), Some(RequestKind::Execute { .. })) {
        return None;
    }
    if state.is_off_topic() {
        let told = lang.pick(
            "I can help with trips, drafts, reimbursements, links and attachments.",
            "我可以帮你申请出差、保存草稿、报销、关联申请和附件。",
        );
        // The model might have read what no rule can.
        let asked = !state.model_call_traces.is_empty();
        if asked && state.fallback_reason.is_some() {
            let unread = lang.pick(
                "I could not read this request, and did nothing. ",
                "这个请求没能读懂，什么也没做。",
            );
            return Some(format!("{unread}{told}"));
        }
        return Some(told.to_owned());
    }
    let Some(task) = state.steward_state.current() else {
        let told = lang.pick("Nothing is left to do.", "没有待办事项。");
        return state.action_result.is_none().then(|| told.to_owned());
    };
    Some(match (&state.flow, &state.runtime_decision) {
        (Some(Flow::Confirm { why }), _) => why.clone(),
        (Some(Flow::Block { why }), _) => {
            format!("{}{why}", lang.pick("This cannot go on: ", "不能继续："))
        }
        (None, Some(RuntimeDecision::Unclear)) => unclear(lang).to_owned(),
        _ => asks(desk, state, task, lang),
    })
}

/// Returns the known fields of a task, the missing ones, and the number of further open tasks.
fn asks(desk: &RuleData, state: &Steward, task: &PlanTask, lang: Lang) -> String {
    let Some(form) = desk.forms.get(&task.form) else {
        return String::new();
    };
    let known = form
        .filled(&task.fields)
        .map(|(field, value)| format!("{} {}", field.label(lang), field.shown(value, lang)));
    let known = known.collect::<Vec<_>>().join(lang.pick(", ", "，"));
    let mut told = format!("{}{}{known}", form.label(lang), lang.pick(": ", "："));
    if !task.missing_fields.is_empty() {
        let missing = task.missing_fields.iter();
        let missing =
            missing.map(|name| form.field(name).map_or(name.as_str(), |it| it.label(lang)));
        let missing = missing.collect::<Vec<_>>().join(lang.pick(", ", "、"));
        told = format!(
            "{told}\n{}{missing}",
            lang.pick("Still needed: ", "还需要：")
        );
    }
    if let Some(later) = later(state) {
        told = format!("{told}\n{later}");
    }
    told
}

/// Returns the answer to words about a task that cannot be understood.
pub(crate) fn unclear(lang: Lang) -> &'static str {
    lang.pick(
        "I did not understand. Add what is missing, confirm, or cancel.",
        "没明白。可以补充信息、确认或取消。",
    )
}

/// Returns the number of tasks that wait for the current one, if there are any.
pub(crate) fn later(state: &Steward) -> Option<String> {
    let tasks = state.steward_state.tasks.iter();
    let open = tasks.filter(|task| task.status == WorkStatus::Open).count();
    let also = action::lang(state).pick("Also to do: ", "还有待办：");
    (open > 1).then(|| format!("{also}{}", open - 1))
}

/// Returns the answer to a question about documents.
pub(crate) fn about_documents(
    desk: &RuleData,
    state: &Steward,
    asked: DocumentQuestion,
    documents: &Documents,
) -> String {
    let lang = action::lang(state);
    let kinds = [
        (FormKind::Application, &documents.applications),
        (FormKind::Reimbursement, &documents.reimbursements),
    ];
    let lines = kinds.into_iter().flat_map(|(kind, all)| {
        let form = desk.forms.get(&kind);
        all.iter().filter_map(move |one| {
            let filled = form?.filled(&one.fields);
            let filled = filled.map(|(field, value)| {
                format!("{} {}", field.label(lang), field.shown(value, lang))
            });
            let filled = filled.collect::<Vec<_>>().join(lang.pick(", ", "，"));
            let status = match one.status {
                DocumentStatus::Draft => lang.pick("draft", "草稿"),
                DocumentStatus::Submitted => lang.pick("submitted", "已提交"),
            };
            Some(format!("{} ({status}): {filled}", one.id))
        })
    });
    let mut lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        lines.push(
            lang.pick("You have no documents.", "你还没有单据。")
                .to_owned(),
        );
    }
    let first = match asked {
        DocumentQuestion::List => None,
        DocumentQuestion::Withdraw => Some(lang.pick(
            "Nothing was withdrawn: I cannot withdraw what is written, ask your finance office.",
            "什么也没有撤回：已写入的单据我不能撤回，请找财务。",
        )),
        DocumentQuestion::Approver => Some(lang.pick(
            "I do not know who approves: that is decided outside of this program.",
            "我不知道由谁审批：审批不在这个程序里。",
        )),
    };
    let first = first.map(str::to_owned);
    first
        .into_iter()
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}
