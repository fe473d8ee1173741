use fugato_state::say;
use serde_json::Value;

use crate::{SUMMARY_CHARS, ToolSpec, clip};

/// The greatest number of arguments in a preview.
const MOST: usize = 2;

/// Returns a line of at most 48 characters for a timeline: the first two present arguments that the
/// tool allows to be shown, by what people call them, if they do. One that is alone has no name. A cut is marked by `…`. For
/// agreement there is a [`ConfirmCard`](crate::ConfirmCard), which leaves nothing out.
pub fn preview(spec: &ToolSpec, arguments: &Value) -> String {
    let (names, values) = (spec.names_of(arguments), spec.labels_of(arguments));
    let shown: Vec<_> = spec
        .preview
        .iter()
        .filter_map(|name| Some((name, arguments.get(name).filter(|value| !value.is_null())?)))
        .take(MOST)
        .map(|(name, value)| {
            let value = match (values.get(name), value) {
                (Some(label), _) => label.clone(),
                (None, Value::String(text)) => line(text),
                (None, other) => other.to_string(),
            };
            match names.get(name) {
                // The only one needs no name.
                _ if spec.preview.len() == 1 => value,
                Some(label) => say!("{label}: {value}", "{label}：{value}"),
                None => format!("{name}={value}"),
            }
        })
        .collect();
    clip(&shown.join(", "), SUMMARY_CHARS)
}

/// Returns the first line of a text, with `…` if there are more.
fn line(text: &str) -> String {
    let first = clip(text, SUMMARY_CHARS);
    let more = text.trim().contains(['\n', '\r']) && !first.ends_with('…');
    if more { first + "…" } else { first }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sch_47_a_preview_shows_two_arguments_of_the_whitelist() {
        let spec = ToolSpec::write("move", "").preview(["task_id", "new_day", "new_slot_start"]);
        let arguments = json!({ "new_slot_start": 3, "new_day": 2, "secret": "x" });
        assert_eq!(preview(&spec, &arguments), "new_day=2, new_slot_start=3");
        let arguments = json!({ "task_id": 7, "new_day": null, "new_slot_start": 3 });
        assert_eq!(preview(&spec, &arguments), "task_id=7, new_slot_start=3");
        assert_eq!(preview(&spec, &json!({ "secret": "x" })), "");
        let lines = json!({ "task_id": "one\ntwo" });
        assert_eq!(preview(&spec, &lines), "task_id=one…");
        let only = ToolSpec::write("done", "").preview(["task_id"]);
        assert_eq!(preview(&only, &lines), "one…");
        let spec = spec.label("task_id", "item", "事项");
        assert_eq!(preview(&spec, &arguments), "item: 7, new_slot_start=3");
    }
}
