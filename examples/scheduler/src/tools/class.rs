//! The tool that makes and changes classes.
use fugato::state::say;
use fugato::tool::{EffectClass, RegistryBuilder, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Cx, ToolView};
use crate::{
    agent::Update,
    schedule::{ScheduleState, Terms},
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
    /// The sections that all items take together.
    #[schemars(extend("x-zh" = "所有各项一共占的节数。"))]
    pub total_slots: Option<u32>,
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
    /// Its terms before; only the program itself knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub terms: Option<Terms>,
}

/// Returns the class as it is after an edit.
fn edited(state: &ScheduleState, args: &EditClassArgs) -> Result<ClassWrite, ToolFailure> {
    let refused = |issue: String| class_refused("validation_failed", &[issue]);
    let class = state
        .class(args.class_id)
        .ok_or_else(|| refused(say!("there is no class {}", "没有类别 {}", args.class_id)))?;
    let of = |id: &u32| {
        state
            .task(*id)
            .is_some_and(|task| task.task_class_id == Some(class.id))
    };
    if let Some(id) = args.remove.iter().find(|id| !of(id)) {
        return Err(refused(say!(
            "item {id} is not of class {}",
            "第 {id} 项不属于类别 {}",
            class.id
        )));
    }
    if args.add.iter().any(|text| text.trim().is_empty()) {
        return Err(refused(say!("add has an empty text", "add 中有空文字")));
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
        return Err(refused(say!(
            "a class needs at least one item",
            "类别至少需要一项"
        )));
    }
    if let Some(total) = args.total_slots {
        write.class.total_slots = total;
    }
    if let Some(date) = &args.end_date {
        if !date.is_empty() && (date.len() != 10 || date.parse::<jiff::civil::Date>().is_err()) {
            return Err(refused(say!(
                "end_date is {date:?}; it needs a date as YYYY-MM-DD",
                "end_date 是 {date:?}；需要 YYYY-MM-DD 形式的日期"
            )));
        }
        write.class.end_date = Some(date.clone()).filter(|date| !date.is_empty());
    }
    Ok(write)
}

fn edit(cx: &Cx<'_>, args: &EditClassArgs) -> Result<ToolOutput<Update>, ToolFailure> {
    let write = edited(&cx.state()?.schedule, args)?;
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
        "Adds items to a class, removes some, or sets its last date; all else stays.",
    )
    .chinese("给类别增加或删除若干项，或设定最晚日期；其余不变。");
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
    use crate::schedule::{Level, Source, TaskClass};

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
        let written = edited(&state, &args).expect("the class is there");
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
