//! The tool that makes and changes classes.
use fugato::tool::{EffectClass, RegistryBuilder, ToolFailure, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::{Cx, ToolView};
use crate::{
    agent::Update,
    store::{ClassWrite, WrittenClass},
    task_class::{UpsertTaskClassArgs, normalised},
};

/// The tool whose result is stored by the node that executes it.
pub const UPSERT_TASK_CLASS: &str = "upsert_task_class";

pub(super) fn register(
    builder: RegistryBuilder<ToolView, Update>,
) -> RegistryBuilder<ToolView, Update> {
    let spec = ToolSpec::write(
        UPSERT_TASK_CLASS,
        "Makes a class of things to do, or changes one, with all its items. It schedules nothing.",
    );
    builder.function(
        spec.effect(EffectClass::Pure)
            .domain("taskclass")
            .pack("core")
            .preview(["id"]),
        |_: Cx<'_>, args: UpsertTaskClassArgs| match normalised(&args) {
            Ok(write) => {
                // The class to store, for the node that executes the call.
                let data = serde_json::to_value(&write).map_err(ToolFailure::internal)?;
                let text = format!("checked the class \"{}\"", write.class.name);
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
    let verb = if created { "made" } else { "changed" };
    let summary = format!("{verb} class {id} \"{}\"", written.class.name);
    // The result must not be mistaken for a schedule.
    let text = format!("{data}\nThe class is stored; none of its items has a place yet.");
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
