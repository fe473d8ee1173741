//! The tool that makes and changes classes.
use std::collections::BTreeSet;

use fugato::state::say;
use fugato::tool::{EffectClass, RegistryBuilder, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Cx, ToolView};
use crate::{
    agent::Update,
    schedule::{ClosedTime, FixedTime, Level, ScheduleState, Terms},
    store::{ClassItem, ClassWrite, WrittenClass},
    task_class::{UpsertTaskClassArgs, normalised},
    understand::edited_class,
};

/// The tool whose result is stored by the node that executes it.
pub const UPSERT_TASK_CLASS: &str = "upsert_task_class";

/// The tool that changes single things of a class.
pub const EDIT_TASK_CLASS: &str = "edit_task_class";

/// Changes a class: adds items, removes them, or sets its last date. What is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EditClassArgs {
    /// The class.
    #[schemars(extend("x-zh" = "类别。"))]
    pub class_id: u32,
    /// The texts of new items, which come last.
    #[schemars(extend("x-zh" = "新增各项的文字，排在最后。"))]
    pub add: Vec<String>,
    /// The ids of items that are removed, with their places.
    #[schemars(extend("x-zh" = "要删除的各项的编号，连同位置。"))]
    pub remove: Vec<u32>,
    /// Items that were removed before and come back.
    #[schemars(extend("x-zh" = "先前删除、现在恢复的各项。"))]
    pub restore: Vec<RestoredItem>,
    /// The last date, as YYYY-MM-DD; empty for none.
    #[schemars(extend("x-zh" = "最晚日期，形如 YYYY-MM-DD；空文本表示没有。"))]
    pub end_date: Option<String>,
    /// New terms of items, or of the class for all its items.
    #[schemars(extend("x-zh" = "各项的新条件，或整个类别的条件。"))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<TermsEdit>,
    /// The sections that all items take together.
    #[schemars(extend("x-zh" = "所有各项一共占的节数。"))]
    pub total_slots: Option<u32>,
}

/// New terms of an item. What is not named stays; nothing is placed against terms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TermsEdit {
    /// The item; without it, the class.
    #[schemars(extend("x-zh" = "项的编号；不写表示整个类别。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<u32>,
    /// The length in minutes; 0 for none of its own.
    #[schemars(extend("x-zh" = "时长（分钟）；0 表示没有单独的时长。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u16>,
    /// The first date, as YYYY-MM-DD; empty for none.
    #[schemars(extend("x-zh" = "最早日期，形如 YYYY-MM-DD；空文本表示没有。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earliest: Option<String>,
    /// The importance when not everything fits.
    #[schemars(extend("x-zh" = "排不下时的重要程度。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Level>,
    /// The only time at which it may begin, such as `14:00`, `Tuesday 14:00` or `2026-03-10 14:00`;
    /// empty for none.
    #[schemars(extend("x-zh" = "唯一的开始时间，例如 `14:00`、`周二 14:00` 或 `2026-03-10 14:00`；空文本表示没有。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The ids of all items after which it has to lie.
    #[schemars(extend("x-zh" = "它必须排在其后的所有各项的编号。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<u32>>,
    /// All times that it must not touch, such as `Tuesday evening` or `12:00-14:00`.
    #[schemars(extend("x-zh" = "它不能占用的所有时间，例如 `周二晚上` 或 `12:00-14:00`。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not: Option<Vec<String>>,
    /// True if it may be done in two parts where it does not fit as a whole, false if it has to be
    /// done in one piece.
    #[schemars(extend("x-zh" = "整个放不下时可以分两次做为 true，必须一次做完为 false。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<bool>,
    /// All of the terms as they were before; for undoing.
    #[schemars(with = "Option<Value>", extend("x-zh" = "先前的全部条件，用于撤销。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Terms>,
}

/// An item that comes back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoredItem {
    /// Its id before.
    #[schemars(extend("x-zh" = "原来的编号。"))]
    pub id: u32,
    /// Its text.
    #[schemars(extend("x-zh" = "它的文字。"))]
    pub content: String,
    /// Its place in the order of the class.
    #[schemars(extend("x-zh" = "它在类别中的顺序。"))]
    pub order: u32,
    /// Its terms before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>", extend("x-zh" = "它原来的条件。"))]
    pub terms: Option<Terms>,
}

/// Returns the class as it is after an edit; else what is wrong with the edit.
pub(crate) fn class_edited(
    state: &ScheduleState,
    args: &EditClassArgs,
) -> Result<ClassWrite, String> {
    let class = state
        .class(args.class_id)
        .ok_or_else(|| say!("there is no class {}", "没有类别 {}", args.class_id))?;
    let of = |id: &u32| {
        state
            .task(*id)
            .is_some_and(|task| task.task_class_id == Some(class.id))
    };
    if let Some(id) = args.remove.iter().find(|id| !of(id)) {
        return Err(say!(
            "item {id} is not of class {}",
            "第 {id} 项不属于类别 {}",
            class.id
        ));
    }
    if args.add.iter().any(|text| text.trim().is_empty()) {
        return Err(say!("add has an empty text", "add 中有空文字"));
    }
    let mut write = edited_class(state, class, &args.add, &args.remove);
    write
        .items
        .extend(args.restore.iter().map(|item| ClassItem {
            task: Some(item.id),
            order: item.order,
            content: item.content.clone(),
            terms: item.terms.clone(),
        }));
    write.items.sort_by_key(|item| item.order);
    write
        .restored
        .extend(args.restore.iter().map(|item| item.id));
    if write.items.is_empty() {
        return Err(say!("a class needs at least one item", "类别至少需要一项"));
    }
    for edit in &args.terms {
        let terms = edit_terms(state, &write, edit)?;
        match edit.task_id {
            Some(id) => {
                let items = write.items.iter_mut();
                for item in items.filter(|item| item.task == Some(id)) {
                    item.terms = Some(terms.clone());
                }
            }
            None => write.class.terms = terms,
        }
    }
    if let Some(total) = args.total_slots {
        write.class.total_slots = total;
    }
    if let Some(date) = &args.end_date {
        if !date.is_empty() && (date.len() != 10 || date.parse::<jiff::civil::Date>().is_err()) {
            return Err(say!(
                "end_date is {date:?}; it needs a date as YYYY-MM-DD",
                "end_date 是 {date:?}；需要 YYYY-MM-DD 形式的日期"
            ));
        }
        write.class.end_date = Some(date.clone()).filter(|date| !date.is_empty());
    }
    Ok(write)
}

/// Returns the terms of an item or class of a write after an edit; else what is wrong with it.
fn edit_terms(
    state: &ScheduleState,
    write: &ClassWrite,
    edit: &TermsEdit,
) -> Result<Terms, String> {
    let known = edit.task_id.map(|id| {
        let item = write.items.iter().find(|item| item.task == Some(id));
        let stored = || state.task(id).map(|task| task.terms.clone());
        item.map(|item| item.terms.clone().or_else(stored).unwrap_or_default())
            .ok_or_else(|| {
                say!(
                    "terms: item {id} is not of this class",
                    "terms：第 {id} 项不属于这个类别"
                )
            })
    });
    let mut terms = known
        .transpose()?
        .unwrap_or_else(|| write.class.terms.clone());
    if let Some(before) = &edit.before {
        return Ok(before.clone());
    }
    if let Some(minutes) = edit.minutes {
        let holding = state.window.sections.holding(minutes);
        if minutes > 0 && holding.is_none() {
            return Err(say!(
                "terms.minutes is {minutes}; a day does not hold that much",
                "terms.minutes 是 {minutes}；一天放不下"
            ));
        }
        terms.minutes = Some(minutes).filter(|minutes| *minutes > 0);
    }
    if let Some(date) = &edit.earliest {
        if !date.is_empty() && (date.len() != 10 || date.parse::<jiff::civil::Date>().is_err()) {
            return Err(say!(
                "terms.earliest is {date:?}; it needs a date as YYYY-MM-DD",
                "terms.earliest 是 {date:?}；需要 YYYY-MM-DD 形式的日期"
            ));
        }
        terms.earliest = Some(date.clone()).filter(|date| !date.is_empty());
    }
    terms.priority = edit.priority.or(terms.priority);
    terms.split = edit.split.or(terms.split);
    if let Some(at) = &edit.at {
        let fixed = FixedTime::parse(at);
        if fixed.is_none() && !at.is_empty() {
            return Err(say!(
                "terms.at is {at:?}; allowed are times such as `Tuesday 14:00`",
                "terms.at 是 {at:?}；可以是“周二 14:00”这样的时间"
            ));
        }
        terms.at = fixed;
    }
    if let Some(closed) = &edit.not {
        let read = |text: &String| {
            ClosedTime::parse(text).ok_or_else(|| {
                say!(
                    "terms.not has {text:?}; allowed are times such as `Tuesday evening`",
                    "terms.not 中有 {text:?}；可以是“周二晚上”这样的时间"
                )
            })
        };
        terms.not = closed.iter().map(read).collect::<Result<_, _>>()?;
    }
    if let Some(after) = &edit.after {
        let id = edit.task_id.unwrap_or_default();
        after
            .iter()
            .try_for_each(|before| follows(state, id, *before))?;
        terms.after.clone_from(after);
    }
    Ok(terms)
}

/// Checks that an item can lie after another one.
fn follows(state: &ScheduleState, id: u32, before: u32) -> Result<(), String> {
    let (Some(task), Some(first)) = (state.task(id), state.task(before)) else {
        return Err(say!(
            "terms.after names {before}; it needs ids of items, and an item that it is about",
            "terms.after 中有 {before}；需要各项的编号，并写明是哪一项的条件"
        ));
    };
    let in_class = task.task_class_id.is_some()
        && task.task_class_id == first.task_class_id
        && first.task_order > task.task_order;
    let (mut seen, mut open) = (BTreeSet::new(), vec![before]);
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            open.extend(state.task(next).iter().flat_map(|task| &task.terms.after));
        }
    }
    let (name, before) = (&task.name, &first.name);
    if in_class {
        return Err(say!(
            "\"{name}\" comes before \"{before}\" in the order of its class, so it cannot come after it",
            "按本类的顺序，「{name}」在「{before}」之前，不能排到它之后"
        ));
    }
    if seen.contains(&id) {
        return Err(say!(
            "\"{before}\" has to come after \"{name}\", so \"{name}\" cannot come after it",
            "「{before}」必须在「{name}」之后，所以「{name}」不能排到它之后"
        ));
    }
    Ok(())
}

fn edit(cx: &Cx<'_>, args: &EditClassArgs) -> Result<ToolOutput<Update>, ToolFailure> {
    let write = class_edited(&cx.state()?.schedule, args);
    let write = write.map_err(|issue| class_refused("validation_failed", &[issue]))?;
    let data = serde_json::to_value(&write).map_err(ToolFailure::internal)?;
    let text = say!(
        "checked the class \"{}\"",
        "已核对类别「{}」",
        write.class.name
    );
    Ok(ToolOutput::<Update>::new(text).data(data))
}

pub(super) fn register(
    builder: RegistryBuilder<ToolView, Update>,
) -> RegistryBuilder<ToolView, Update> {
    let spec = ToolSpec::write(
        UPSERT_TASK_CLASS,
        "Makes a class of things to do, or changes one, with all its items. It schedules nothing.",
    )
    .chinese("新建或修改一个任务类别，包括它的各项。不做任何安排。");
    let edits = ToolSpec::write(
        EDIT_TASK_CLASS,
        "Adds items to a class, removes some, sets its last date, or the terms of items: length, \
         first date, importance, fixed time, predecessors, closed times, parts; all else stays.",
    )
    .chinese("给类别增加或删除若干项，设定最晚日期，或设定各项的条件：时长、最早日期、重要程度、固定时间、先后、不能占用的时间、能否拆开；其余不变。");
    let edits = edits
        .effect(EffectClass::Pure)
        .domain("taskclass")
        .pack("edit")
        .requires_state()
        .preview(["class_id"]);
    let builder = builder.function(edits, |cx: Cx<'_>, args: EditClassArgs| edit(&cx, &args));
    builder.function(
        spec.effect(EffectClass::Pure)
            .domain("taskclass")
            .pack("core")
            .preview(["id"]),
        |_: Cx<'_>, args: UpsertTaskClassArgs| match normalised(&args) {
            Ok(write) => {
                // The class to store, for the node that executes the call.
                let data = serde_json::to_value(&write).map_err(ToolFailure::internal)?;
                let text = say!(
                    "checked the class \"{}\"",
                    "已核对类别「{}」",
                    write.class.name
                );
                Ok(ToolOutput::<Update>::new(text).data(data))
            }
            Err(issues) => Err(class_refused("validation_failed", &issues)),
        },
    )
}

/// Returns the class that a checked call wants stored.
pub fn class_wanted(data: &Value) -> Option<ClassWrite> {
    serde_json::from_value(data.clone()).ok()
}

/// Returns the result for a class that is stored.
pub fn class_stored(written: &WrittenClass) -> ToolOutput<Update> {
    let (id, created) = (written.class.id, written.created);
    let data = json!({
        "tool": UPSERT_TASK_CLASS,
        "success": true,
        "task_class_id": id,
        "created": created,
        "items": written.items.iter().map(|item| item.state_id).collect::<Vec<_>>(),
        "validation": { "ok": true, "issues": [] },
        "error": "",
        "error_code": "",
    });
    let name = &written.class.name;
    let summary = if created {
        say!("made class {id} \"{name}\"", "已新建类别 {id}「{name}」")
    } else {
        say!("changed class {id} \"{name}\"", "已修改类别 {id}「{name}」")
    };
    // The result must not be mistaken for a schedule.
    let text = say!(
        "{data}\nThe class is stored; none of its items has a place yet.",
        "{data}\n类别已存入；各项都还没有位置。"
    );
    ToolOutput::new(text)
        .summary(summary)
        .data(data)
        .update(Update::Classed(written.clone()))
}

/// Returns the failure for a class that is not stored, with the reasons.
pub fn class_refused(code: &str, issues: &[String]) -> ToolFailure {
    let error = issues.join("; ");
    let data = json!({
        "tool": UPSERT_TASK_CLASS,
        "success": false,
        "task_class_id": 0,
        "created": false,
        "validation": { "ok": code != "validation_failed", "issues": issues },
        "error": error,
        "error_code": code,
    });
    let failure = ToolFailure::failed(data.to_string()).data(data);
    issues
        .iter()
        .fold(failure, |failure, issue| failure.issue(issue.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Source, TaskClass};

    #[test]
    fn an_item_comes_back_with_its_terms() {
        let class = TaskClass {
            id: 1,
            name: "Essay".into(),
            total_slots: 4,
            ..TaskClass::default()
        };
        let mut state = ScheduleState {
            task_classes: vec![class],
            ..ScheduleState::default()
        };
        let terms = Terms {
            minutes: Some(90),
            priority: Some(Level::High),
            ..Terms::default()
        };
        let args: EditClassArgs = serde_json::from_value(json!({
            "class_id": 1,
            "restore": [{ "id": 7, "content": "Write", "order": 1, "terms": terms }],
        }))
        .expect("the arguments are right");
        let written = class_edited(&state, &args).expect("the class is there");
        let written = written.resolve(&state).expect("it was there before");
        state.put_class(&written);
        let items: Vec<_> = state
            .tasks
            .iter()
            .map(|task| (task.source, task.terms.clone()))
            .collect();
        assert_eq!(items, [(Source::TaskItem, terms)]);
        assert_eq!(state.task(7).map(|task| task.duration), Some(2));
    }
}
