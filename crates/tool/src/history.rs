use fugato_state::{Message, ToolCall};
use serde::Serialize;
use serde_json::{Value, json};

/// The two messages that tell of a call and its result. They always go into a history together,
/// under the id of the call.
///
/// ```
/// use fugato_state::{Message, ToolCall};
/// use serde_json::json;
///
/// let call = ToolCall::new("c1", "place", json!({ "task_id": 7 }));
/// let [said, told] = fugato_tool::call_pair(call.clone(), "I place it.", "placed");
/// assert_eq!(said, Message::assistant("I place it.").with_tool_calls([call]));
/// assert_eq!(told, Message::tool("c1", "placed"));
/// ```
pub fn call_pair(
    mut call: ToolCall,
    speak: impl Into<String>,
    result: impl Into<String>,
) -> [Message; 2] {
    if !call.arguments.is_object() {
        call.arguments = json!({});
    }
    let told = Message::tool(call.id.clone(), result);
    [Message::assistant(speak).with_tool_calls([call]), told]
}

/// Arguments as JSON; `{}` if they cannot be written as an object.
pub fn arguments_of<T: Serialize>(arguments: &T) -> Value {
    match serde_json::to_value(arguments) {
        Ok(object @ Value::Object(_)) => object,
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn sch_46_arguments_that_cannot_be_written_become_an_empty_object() {
        let unwritable = BTreeMap::from([((1, 2), 3)]);
        assert_eq!(arguments_of(&unwritable), json!({}));
        let [said, _] = call_pair(ToolCall::new("c", "place", json!([1])), "", "");
        assert_eq!(said.tool_calls[0].arguments, json!({}));
    }
}
