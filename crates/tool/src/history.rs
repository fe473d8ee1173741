use fugato_state::{Message, ToolCall};
use serde::Serialize;
use serde_json::{Value, json};

use crate::AnsweredCall;

/// Returns the two messages of a call and its result. They always go into a history together, under
/// the id of the call.
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
    call: ToolCall,
    speak: impl Into<String>,
    result: impl Into<String>,
) -> [Message; 2] {
    let told = Message::tool(call.id.clone(), result);
    [
        Message::assistant(speak).with_tool_calls([writable(call)]),
        told,
    ]
}

/// Returns the messages of a round: the model's message with the calls as they were executed, and a
/// result for each.
///
/// ```
/// use fugato_state::{Message, Role, ToolCall};
/// use fugato_tool::{Registry, ToolContext, round_messages};
/// use serde_json::json;
///
/// let registry = Registry::<(), ()>::builder().build()?;
/// let calls = [ToolCall::new("c1", "fly", json!({})), ToolCall::new("c2", "swim", json!({}))];
/// let called = futures::executor::block_on(registry.call_round(&calls, ToolContext::new(&())));
/// let roles: Vec<_> = round_messages(Message::assistant("I try."), &called)
///     .iter()
///     .map(|message| message.role)
///     .collect();
/// assert_eq!(roles, [Role::Assistant, Role::Tool, Role::Tool]);
/// # Ok::<(), fugato_tool::RegistryError>(())
/// ```
pub fn round_messages<U>(mut said: Message, called: &[AnsweredCall<U>]) -> Vec<Message> {
    let calls = called.iter().map(|called| writable(called.call.clone()));
    said.tool_calls = calls.collect();
    let told = called
        .iter()
        .map(|called| Message::tool(called.call.id.clone(), called.result.text.clone()));
    std::iter::once(said).chain(told).collect()
}

/// Replaces arguments that are no object by an empty one; servers accept only objects.
fn writable(mut call: ToolCall) -> ToolCall {
    if !call.arguments.is_object() {
        call.arguments = json!({});
    }
    call
}

/// Serialises arguments as JSON; `{}` if they are no object.
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
