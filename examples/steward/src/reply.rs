//! The texts for the person, in their language.
use fugato::{
    cli::Lang,
    form::{Field, FieldKind, day},
    state::State as _,
    words::{amounts, courtesy},
};
use jiff::civil::Date;
use serde_json::Value;

use crate::{
    action,
    files::{self, KeptFile},
    form::FormKind,
    ledger::{Document, DocumentStatus, Documents, differs},
    read::{DocumentQuestion, Goal, document_ids},
    service::RuleData,
    state::{ActionResult, Flow, PlanTask, RequestKind, RuntimeDecision, Steward, WorkStatus},
};

/// Returns the text at the end of a request or before a card.
pub(crate) fn reply(desk: &RuleData, state: &Steward, waits: bool) -> String {
    let lang = state.lang();
    let came = came(state);
    let next = if waits {
        let confirm = lang.pick("Please confirm.", "请确认。").to_owned();
        Some(later(state).map_or(confirm.clone(), |later| format!("{confirm}\n{later}")))
    } else {
        rest(desk, state, lang)
    };
    let lacking = lacking_files(desk, state);
    let lacking = (!lacking.is_empty()).then(|| {
        let names: Vec<_> = lacking.iter().map(String::as_str).collect();
        no_file(&names, lang)
    });
    let lines = came.into_iter().chain(lacking).chain(next);
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the result of the last action as a sentence, if there is one.
pub(crate) fn came(state: &Steward) -> Option<String> {
    let result_of = |it| result(it, state.lang());
    state.action_result.as_ref().map(result_of)
}

/// Returns the names in the words that are no uploaded files, if the current task takes files.
fn lacking_files(desk: &RuleData, state: &Steward) -> Vec<String> {
    let task = state
        .steward_state
        .current()
        .filter(|_| !state.is_off_topic());
    let form = task.and_then(|task| desk.forms.get(&task.form));
    if form.is_none_or(|form| form.field("attachments").is_none()) {
        return vec![];
    }
    let there = state.files.iter().map(|file| file.name.as_str());
    let mut named = desk.named_files(&state.message);
    named.retain(|name| files::meant(there.clone(), name).is_none());
    named
}

/// Returns that there are no such files, and how there would be.
pub(crate) fn no_file(names: &[&str], lang: Lang) -> String {
    let names = names.join(lang.pick(", ", "、"));
    lang.pick(
        format!("There is no file {names} here. A name is no attachment: add the file itself, with the button of the page or its path in the terminal."),
        format!("这里没有文件{names}。只写文件名不算附件：请用页面上的按钮或在终端里输入路径来上传。"),
    )
}

/// The beginnings of a reply about a task that is done, and about one that is not wanted.
const DONE: [&str; 2] = ["Done: ", "已办理："];
const CANCELLED: [&str; 2] = ["Cancelled.", "已取消。"];

/// Returns true if a reply begins by saying that a document is written.
pub(crate) fn tells_done(words: &str) -> bool {
    DONE.iter().any(|done| words.starts_with(done))
}

/// Returns true if a reply begins by saying that a task is not wanted.
pub(crate) fn tells_cancelled(words: &str) -> bool {
    CANCELLED.iter().any(|it| words.starts_with(it))
}

/// Returns several reasons as one text.
pub(crate) fn joined<T: AsRef<str>>(reasons: &[T], lang: Lang) -> String {
    let reasons: Vec<_> = reasons.iter().map(AsRef::as_ref).collect();
    reasons.join(lang.pick("; ", "；"))
}

/// Returns the result of the action as a sentence.
fn result(result: &ActionResult, lang: Lang) -> String {
    let document = result.data.get("document").and_then(|it| it.as_str());
    let word = match (result.outcome.as_str(), document) {
        ("succeeded", Some(document)) if result.action == action::WITHDRAW => {
            return lang.pick(
                format!("{document} is withdrawn. “restore {document}” makes it a draft again."),
                format!("已撤回{document}。说“恢复{document}”可以把它恢复为草稿。"),
            );
        }
        ("succeeded", Some(document)) => {
            let done = lang.pick(DONE[0], DONE[1]);
            let came = match result.action.as_str() {
                action::SUBMIT => lang.pick(" (handed in)", "（已提交）").to_owned(),
                action::SAVE_DRAFT => lang.pick(
                    format!(" (a draft: “submit {document}” hands it in)"),
                    format!("（草稿：说“提交{document}”就会提交）"),
                ),
                action::SAVE_CLAIM => lang.pick(" (a draft)", "（草稿）").to_owned(),
                _ => String::new(),
            };
            return format!("{done}{document}{came}");
        }
        ("cancelled", _) => return lang.pick(CANCELLED[0], CANCELLED[1]).to_owned(),
        ("succeeded", None) => lang.pick("Done", "完成"),
        ("blocked", _) => lang.pick("Not possible", "不能办理"),
        ("rejected", _) => lang.pick("Rejected", "不支持的操作"),
        _ => lang.pick("Failed", "失败"),
    };
    format!("{word}{}{}", lang.pick(": ", "："), result.message)
}

/// Returns the next thing for the person to do, if there is one.
fn rest(desk: &RuleData, state: &Steward, lang: Lang) -> Option<String> {
    if matches!(state.kind(), Some(RequestKind::Execute { .. })) {
        return None;
    }
    if state.is_off_topic() {
        if let Some(courtesy) = courtesy(&state.message) {
            return Some(courtesy.reply(lang).to_owned());
        }
        if let Some(told) = desk.not_a_wish(&state.message, state.base(), lang) {
            return Some(told);
        }
        // Who tells an amount tells of a claim that was not read.
        let tells = !amounts(&state.message).is_empty();
        if !tells && desk.reader.means_receipt(&state.message) {
            return Some(how_to_attach(lang).to_owned());
        }
        let told = lang.pick(
            "I can help with trips, drafts, reimbursements, links and attachments, for example: \
             “I need to go to Shanghai by train from 3 to 5 March for a client meeting, budget \
             2000”.",
            "我可以帮你申请出差、保存草稿、报销、关联申请和附件，例如：“申请3月3日到5日坐高铁去上海见客户，预算2000元”。",
        );
        // The model might have read what no rule can.
        let asked = !state.model_call_traces.is_empty();
        if tells || asked && state.fallback_reason.is_some() {
            let unread = lang.pick(
                "I could not read this request, and did nothing. ",
                "这个请求没能读懂，什么也没做。",
            );
            return Some(format!("{unread}{told}"));
        }
        return Some(told.to_owned());
    }
    let Some(task) = state.steward_state.current() else {
        let told = match &state.runtime_decision {
            Some(RuntimeDecision::Cancel) => lang.pick(
                "That is dropped, and nothing was written. Nothing is left to do.",
                "已放弃，什么都没有提交。没有待办事项。",
            ),
            _ => lang.pick("Nothing is left to do.", "没有待办事项。"),
        };
        return state.action_result.is_none().then(|| told.to_owned());
    };
    Some(match (&state.flow, &state.runtime_decision) {
        (Some(Flow::Confirm { why }), _) => why.clone(),
        (Some(Flow::Block { why }), _) => {
            format!("{}{why}", lang.pick("This cannot go on: ", "不能继续："))
        }
        (None, Some(RuntimeDecision::Unclear)) => {
            let asks = asks(desk, state, task, lang);
            if let Some(told) = desk.not_a_wish(&state.message, state.base(), lang) {
                return Some(told);
            }
            if let Some(courtesy) = courtesy(&state.message) {
                return Some(courtesy.reply(lang).to_owned());
            }
            let of_files = task.missing_fields.iter().any(|name| name == "attachments");
            if desk.reader.means_missing(&state.message)
                || of_files && desk.reader.means_receipt(&state.message)
            {
                return Some(asks);
            }
            format!("{}\n{asks}", unclear(lang))
        }
        (None, Some(RuntimeDecision::Cancel)) => {
            let told = lang.pick(
                "That is dropped, and nothing was written.",
                "已放弃，什么都没有提交。",
            );
            format!("{told}\n{}", asks(desk, state, task, lang))
        }
        _ => asks(desk, state, task, lang),
    })
}

/// Returns the known fields of a task, the missing ones, and the number of further open tasks.
fn asks(desk: &RuleData, state: &Steward, task: &PlanTask, lang: Lang) -> String {
    let Some(form) = desk.forms.get(&task.form) else {
        return String::new();
    };
    let known = form.filled(&task.fields).map(|(field, value)| {
        let value = shown(field, value, (task.form, &state.base_date), lang);
        format!("{} {value}", field.label(lang))
    });
    let known = known.collect::<Vec<_>>().join(lang.pick(", ", "，"));
    let mut told = format!("{}{}{known}", form.label(lang), lang.pick(": ", "："));
    if let Some(unread) = not_taken_up(task, lang) {
        told = format!("{told}\n{unread}");
    }
    if !task.missing_fields.is_empty() {
        let missing = task.missing_fields.iter();
        let missing =
            missing.map(|name| form.field(name).map_or(name.as_str(), |it| it.label(lang)));
        let missing = missing.collect::<Vec<_>>().join(lang.pick(", ", "、"));
        told = format!(
            "{told}\n{}{missing}",
            lang.pick("Still needed: ", "还需要：")
        );
        if task.missing_fields.iter().any(|name| name == "attachments") {
            told = format!("{told}\n{}", how_to_attach(lang));
        }
    }
    if let Some(later) = later(state) {
        told = format!("{told}\n{later}");
    }
    told
}

/// Returns the way in which a claim gets its files.
fn how_to_attach(lang: Lang) -> &'static str {
    lang.pick(
        "A claim is kept only with a file: add it with the button of the page, or by its path in the terminal.",
        "报销单要有附件才能保存：用页面上的按钮，或在终端里输入路径来添加。",
    )
}

/// Returns a value of a form, and says of a day of a claim that it is one of last year: it may have
/// been told without a year.
pub(crate) fn shown(
    field: &Field,
    value: &Value,
    (form, base): (FormKind, &str),
    lang: Lang,
) -> String {
    let shown = field.shown(value, lang);
    let year = |text: &str| day(text).map(Date::year);
    let told = value.as_str().filter(|_| field.kind == FieldKind::Day);
    let is_last = form == FormKind::Reimbursement
        && told
            .and_then(year)
            .is_some_and(|it| Some(it + 1) == year(base));
    if is_last {
        return lang.pick(format!("{shown} (last year)"), format!("{shown}（去年）"));
    }
    shown
}

/// Returns the answer to words about a task that cannot be understood.
pub(crate) fn unclear(lang: Lang) -> &'static str {
    lang.pick(
        "I did not understand. Add what is missing, confirm, or cancel.",
        "没明白。可以补充信息、确认或取消。",
    )
}

/// Returns that the open card is left as it is.
pub(crate) fn still_waits(lang: Lang) -> &'static str {
    lang.pick("The card still waits.", "卡片还在等待。")
}

/// Returns the number of tasks that wait for the current one, if there are any.
pub(crate) fn later(state: &Steward) -> Option<String> {
    let tasks = state.steward_state.tasks.iter();
    let open = tasks.filter(|task| task.status == WorkStatus::Open).count();
    let also = state.lang().pick("Also to do: ", "还有待办：");
    (open > 1).then(|| format!("{also}{}", open - 1))
}

/// Returns the question what a document shall say instead, if the task would change nothing in it.
pub(crate) fn asks_for_change(desk: &RuleData, task: &PlanTask, lang: Lang) -> Option<String> {
    let document = task.about.as_ref()?;
    let revises = document.form() == task.form && task.goal == Goal::Draft;
    if !revises || differs(&document.fields, &task.fields) {
        return None;
    }
    let asks = lang.pick("What shall be different?", "要改什么？");
    Some(format!("{}\n{asks}", described(desk, document, lang)))
}

/// Returns what was not taken up of the words about a task, and what to do about it; none if they were
/// read as a whole.
pub(crate) fn asks_for_unread(task: &PlanTask, lang: Lang) -> Option<String> {
    let unread = not_taken_up(task, lang)?;
    let asks = lang.pick(
        "Say it in other words, or “continue” to go on without it.",
        "请换个说法，或者说“继续”，就不带这些内容。",
    );
    Some(format!("{unread}\n{asks}"))
}

/// Returns the parts of the words about a task that were not taken up, as a sentence.
fn not_taken_up(task: &PlanTask, lang: Lang) -> Option<String> {
    let unread: Vec<_> = task
        .unread
        .iter()
        .map(|it| lang.pick(format!("“{it}”"), format!("“{it}”")))
        .collect();
    (!unread.is_empty()).then(|| {
        let unread = unread.join(lang.pick(", ", "、"));
        lang.pick(
            format!("I did not take up {unread}."),
            format!("没有采用{unread}。"),
        )
    })
}

/// Returns the way in which a claim is handed in: not here.
pub(crate) fn claims_stay(lang: Lang) -> &'static str {
    lang.pick(
        "A claim is kept as a draft: it is not handed in here. Give its number and its files to whoever pays it back.",
        "报销单只存为草稿，不在这里提交：请把单号和附件交给付款的人。",
    )
}

/// Returns the answer to a question about documents.
pub(crate) fn about_documents(
    desk: &RuleData,
    (words, lang): (&str, Lang),
    (asked, base): (DocumentQuestion, Date),
    documents: &Documents,
) -> String {
    use DocumentQuestion::{Copy, Revise, Submit};
    match asked {
        DocumentQuestion::Total => return desk.total(documents, (words, lang), base),
        Submit | Revise | Copy => {
            return left_open(desk, (words, lang), (asked, base), documents);
        }
        _ => {}
    }
    let ids = document_ids(words);
    let is_there = |id: &str| documents.all().any(|it| it.id == id);
    let unknown = ids.iter().filter(|id| !is_there(id));
    let unknown = unknown.map(|id| lang.pick(format!("There is no {id}."), format!("没有{id}。")));
    let mut lines: Vec<_> = unknown.collect();
    // A list is of what the words name; who shall choose gets all.
    let all = || documents.all().cloned().collect::<Vec<_>>();
    let mut shown = match asked {
        DocumentQuestion::List | DocumentQuestion::Ways => {
            desk.targets(documents, (words, base), asked)
        }
        _ => all(),
    };
    // Words may seem to name a place and name none: what there is, is shown.
    if shown.is_empty() && ids.is_empty() {
        shown = all();
        lines.push(none_like_that(&shown, lang));
    }
    lines.extend(shown.iter().map(|it| described(desk, it, lang)));
    let is_named = !ids.is_empty();
    let first = match asked {
        DocumentQuestion::Withdraw if is_named => {
            Some(lang.pick("Nothing is withdrawn.", "没有撤回任何单据。"))
        }
        DocumentQuestion::Restore if is_named => {
            Some(lang.pick("Nothing is restored.", "没有恢复任何单据。"))
        }
        DocumentQuestion::Withdraw => Some(lang.pick(
            "Nothing is withdrawn: say which one by its number, as in “withdraw A-1”.",
            "没有撤回任何单据：请说明单号，例如“撤回A-1”。",
        )),
        DocumentQuestion::Restore => Some(lang.pick(
            "Nothing is restored: say which one by its number, as in “restore A-1”.",
            "没有恢复任何单据：请说明单号，例如“恢复A-1”。",
        )),
        DocumentQuestion::Ways => Some(lang.pick(
            "“submit A-1” hands a draft in, “withdraw A-1” withdraws a document, and “restore A-1” makes it a draft again. Each shows a card first.",
            "“提交A-1”会提交草稿，“撤回A-1”会撤回单据，“恢复A-1”会把它恢复为草稿。都会先出示卡片。",
        )),
        DocumentQuestion::Approver => Some(lang.pick(
            "I do not know who approves: that is decided outside of this program.",
            "我不知道由谁审批：审批不在这个程序里。",
        )),
        _ => None,
    };
    let first = first.map(str::to_owned);
    first
        .into_iter()
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns what words leave open that hand in, change or copy a document: which one, or what.
fn left_open(
    desk: &RuleData,
    (words, lang): (&str, Lang),
    (asked, base): (DocumentQuestion, Date),
    documents: &Documents,
) -> String {
    use DocumentQuestion::{Copy, List, Submit};
    let fitting = desk.targets(documents, (words, base), asked);
    let nothing = match asked {
        Submit => lang.pick("Nothing is handed in", "没有提交任何单据"),
        Copy => lang.pick("Nothing is copied", "没有复制任何单据"),
        _ => lang.pick("Nothing is changed", "没有修改任何单据"),
    };
    let ids = document_ids(words);
    if fitting.len() == ids.len().max(1) {
        let unread = fitting
            .iter()
            .find_map(|it| desk.changed(it, (words, base)).err());
        let unread = unread.unwrap_or_default();
        let why = lang.pick(
            format!("{nothing}: I did not understand “{unread}”."),
            format!("{nothing}：没明白“{unread}”。"),
        );
        let shown = fitting.iter().map(|it| described(desk, it, lang));
        return [why]
            .into_iter()
            .chain(shown)
            .collect::<Vec<_>>()
            .join("\n");
    }
    let mut lines: Vec<String>;
    let mut shown = fitting;
    if shown.len() > 1 {
        let example = shown.first().map_or("A-1", |it| it.id.as_str());
        let (en, zh) = match asked {
            Submit => ("submit", "提交"),
            Copy => ("copy", "复制"),
            _ => ("change", "修改"),
        };
        lines = vec![lang.pick(
            format!("{nothing}: which one is meant? Say its number, as in “{en} {example}”."),
            format!("{nothing}：是哪一份？请说明单号，例如“{zh}{example}”。"),
        )];
    } else {
        let selected = match asked {
            DocumentQuestion::Revise => desk.selecting(documents, words),
            _ => words.to_owned(),
        };
        let like = desk.targets(documents, (&selected, base), List);
        let unknown = ids
            .iter()
            .filter(|id| documents.all().all(|it| it.id != **id));
        let unknown =
            unknown.map(|id| lang.pick(format!("There is no {id}."), format!("没有{id}。")));
        lines = vec![lang.pick(format!("{nothing}."), format!("{nothing}。"))];
        lines.extend(unknown);
        let of_claims = like.iter().any(|it| it.form() == FormKind::Reimbursement);
        if asked == Submit && of_claims {
            lines.push(claims_stay(lang).to_owned());
        }
        let is_closed = |it: &Document| {
            it.status == DocumentStatus::Submitted && it.form() == FormKind::Application
        };
        if asked == DocumentQuestion::Revise && like.iter().any(is_closed) {
            let why = lang.pick(
                "What is handed in cannot be changed: withdraw and restore it, and it is a draft again.",
                "已提交的不能修改：先撤回再恢复，它就又是草稿。",
            );
            lines.push(why.to_owned());
        }
        shown = like;
        if shown.is_empty() {
            shown = documents.all().cloned().collect();
            lines.push(none_like_that(&shown, lang));
        }
    }
    lines.extend(shown.iter().map(|it| described(desk, it, lang)));
    lines.join("\n")
}

/// Returns the line before all documents that there are, where none was meant.
fn none_like_that(all: &[Document], lang: Lang) -> String {
    let none = match all {
        [] => lang.pick("You have no documents.", "你还没有单据。"),
        _ => lang.pick(
            "None is quite like that. There are:",
            "没有完全相符的单据。现有：",
        ),
    };
    none.to_owned()
}

/// Returns the attachments of a document, with their links as far as they were uploaded.
fn files(document: &Document, names: &[Value], lang: Lang) -> String {
    let shown = |name: &str| {
        let file = document.files.iter().find(|file| file.name == name);
        file.map_or_else(|| name.to_owned(), KeptFile::shown)
    };
    let names = names.iter().filter_map(Value::as_str);
    let shown: Vec<_> = names.map(shown).collect();
    shown.join(lang.pick(", ", "、"))
}

/// Returns a document with its status and fields, in a line.
pub(crate) fn described(desk: &RuleData, document: &Document, lang: Lang) -> String {
    let form = desk.forms.get(&document.form()).into_iter();
    let filled = form.flat_map(|form| form.filled(&document.fields));
    let filled = filled.map(|(field, value)| {
        let value = match (field.kind, value.as_array()) {
            (FieldKind::Files, Some(names)) => files(document, names, lang),
            _ => field.shown(value, lang),
        };
        format!("{} {value}", field.label(lang))
    });
    let filled = filled.collect::<Vec<_>>().join(lang.pick(", ", "，"));
    let status = match document.status {
        DocumentStatus::Draft => lang.pick("draft", "草稿"),
        DocumentStatus::Submitted => lang.pick("submitted", "已提交"),
        DocumentStatus::Withdrawn => lang.pick("withdrawn", "已撤回"),
    };
    let id = &document.id;
    lang.pick(
        format!("{id} ({status}): {filled}"),
        format!("{id}（{status}）：{filled}"),
    )
}
