//! The steps of an agent that tells them as events of its own, as lines of the terminal.
use serde_json::Value;

use crate::Lang;

/// Returns a step as a line; none for what is no step, or says nothing.
pub(super) fn line(name: &str, data: &Value, lang: Lang) -> Option<String> {
    let text = |key: &str| {
        let text = data.get(key).and_then(Value::as_str).unwrap_or_default();
        (!text.trim().is_empty()).then_some(text)
    };
    let list = |key: &str| data.get(key).and_then(Value::as_array);
    Some(match name {
        "thinking" => text("content")?.to_owned(),
        "planning" | "plan_adjustment" if list("steps").is_some() => {
            let steps = list("steps")?.iter().filter_map(step);
            let steps: Vec<&str> = steps.collect();
            let plan = lang.pick("plan", "计划");
            (!steps.is_empty()).then(|| format!("{plan}: {}", steps.join(" → ")))?
        }
        "rag_query" => {
            let looks = lang.pick("looks into the memory for", "在记忆里查");
            format!("{looks}: {}", text("query")?)
        }
        "rag_result" => {
            let ids = list("results")?.iter();
            let ids: Vec<&str> = ids.filter_map(|found| found.get("id")?.as_str()).collect();
            let found = lang.pick("found in the memory", "记忆中找到");
            let none = lang.pick("nothing", "没有");
            let ids = if ids.is_empty() {
                none.to_owned()
            } else {
                ids.join(", ")
            };
            format!("{found}: {ids}")
        }
        "correction" => {
            let mended = lang.pick("mends the call of", "修正调用");
            format!("{mended} {}: {}", text("name")?, text("cause")?)
        }
        _ => return None,
    })
}

/// Returns the name of a planned step: its tool, or else what is looked for.
fn step(step: &Value) -> Option<&str> {
    let text = |key: &str| step.get(key)?.as_str().filter(|text| !text.is_empty());
    text("name").or_else(|| text("query"))
}
