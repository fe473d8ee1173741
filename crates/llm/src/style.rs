use fugato_state::{ToolCall, say};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ChatResponse, NoObject, RejectedAnswer, extract};

/// The form in which a model proposes tool calls. All forms are read as the same [`Decision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DecisionStyle {
    /// One JSON object with `tool_call`, or one that is itself a call: `name` and `arguments`.
    JsonAction,
    /// The tool calls of the protocol.
    #[default]
    Native,
    /// `<tool_call>{"name": …, "arguments": …}</tool_call>` within the text.
    Text,
}

/// A decision of a model: text, tool calls, or both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Decision {
    /// The text for the person.
    pub text: String,
    /// The proposed calls.
    pub calls: Vec<ToolCall>,
}

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

impl DecisionStyle {
    /// Reads the decision. Calls without an id of their own are named `id_prefix` and a number
    /// from 0, which must be unique in the conversation.
    pub fn read(
        self,
        response: &ChatResponse,
        id_prefix: &str,
    ) -> Result<Decision, RejectedAnswer> {
        let message = &response.message;
        match self {
            Self::Native => Ok(Decision {
                text: message.content.clone(),
                calls: message.tool_calls.iter().cloned().map(repaired).collect(),
            }),
            Self::JsonAction => json_action(&message.content, id_prefix),
            Self::Text => text_calls(&message.content, id_prefix),
        }
    }
}

/// Repairs the arguments of a call that are nearly JSON, as leniently as an answer is read.
/// Arguments that cannot be read stay a string: the check of the call rejects them, so that the
/// call keeps a result.
fn repaired(mut call: ToolCall) -> ToolCall {
    if let Value::String(text) = &call.arguments
        && let Ok(found) = extract(text)
    {
        call.arguments = Value::Object(found.object);
    }
    call
}

fn json_action(content: &str, id_prefix: &str) -> Result<Decision, RejectedAnswer> {
    let mut object = parse(content, content)?;
    if object.contains_key("name") && object.contains_key("arguments") {
        let call = call(object, format!("{id_prefix}0"), content)?;
        return Ok(Decision {
            text: String::new(),
            calls: vec![call],
        });
    }
    let text = object
        .get("speak")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let calls = match object.remove("tool_call") {
        None | Some(Value::Null) => vec![],
        Some(Value::Object(inner)) => vec![call(inner, format!("{id_prefix}0"), content)?],
        Some(_) => {
            let message = say!(
                "give exactly one object with \"name\" and \"arguments\", not a list",
                "请只给一个带 \"name\" 和 \"arguments\" 的对象，不要列表"
            );
            return Err(RejectedAnswer::sense(content, "/tool_call", message));
        }
    };
    Ok(Decision { text, calls })
}

fn text_calls(content: &str, id_prefix: &str) -> Result<Decision, RejectedAnswer> {
    let (mut text, mut calls, mut rest) = (String::new(), vec![], content);
    while let Some((before, after)) = rest.split_once(OPEN) {
        text.push_str(before);
        // A model that stops at the end of the call often leaves the closing tag out.
        let (body, behind) = after.split_once(CLOSE).unwrap_or((after, ""));
        let id = format!("{id_prefix}{}", calls.len());
        calls.push(call(parse(body, content)?, id, content)?);
        rest = behind;
    }
    text.push_str(rest);
    Ok(Decision {
        text: text.trim().to_owned(),
        calls,
    })
}

fn parse(text: &str, raw: &str) -> Result<Map<String, Value>, RejectedAnswer> {
    let allowed = say!(
        "- \"name\" (required): string\n- \"arguments\" (required): object\n",
        "- \"name\"（必需）：string\n- \"arguments\"（必需）：object\n"
    );
    let unread = |why: NoObject| RejectedAnswer::unread(&why, allowed.clone()).raw(raw);
    extract(text).map(|found| found.object).map_err(unread)
}

fn call(mut object: Map<String, Value>, id: String, raw: &str) -> Result<ToolCall, RejectedAnswer> {
    let Some(Value::String(name)) = object.remove("name") else {
        return Err(RejectedAnswer::sense(
            raw,
            "/name",
            say!("the name of the tool is missing", "缺少工具的名称"),
        ));
    };
    let arguments = match object.remove("arguments") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        // Some models write the arguments as a string of JSON.
        Some(Value::String(text)) => Value::Object(parse(&text, raw)?),
        Some(Value::Object(arguments)) => Value::Object(arguments),
        Some(_) => {
            return Err(RejectedAnswer::sense(
                raw,
                "/arguments",
                say!("give one object", "请给一个对象"),
            ));
        }
    };
    Ok(ToolCall {
        id,
        name,
        arguments,
    })
}

#[cfg(test)]
mod tests {
    use fugato_state::Message;
    use serde_json::json;

    use super::*;
    use crate::{ChatDelta, RejectedClass, ResponseFold};

    fn said(text: &str) -> ChatResponse {
        let mut fold = ResponseFold::default();
        fold.push(ChatDelta::text(text));
        fold.finish()
    }

    #[test]
    fn l5_three_styles_reach_the_same_decision() {
        let arguments = json!({ "task_id": 12, "day": 4 });
        let call = ToolCall::new("c0", "move", arguments);
        let mut native = said("Moving it.");
        native.message = Message::assistant("Moving it.").with_tool_calls([call.clone()]);
        let expected = Decision {
            text: "Moving it.".into(),
            calls: vec![call],
        };
        let json = r#"{"speak": "Moving it.", "tool_call": {"name": "move", "arguments": {"task_id": 12, "day": 4}}}"#;
        let text = "Moving it.\n<tool_call>\n{\"name\": \"move\", \"arguments\": {\"task_id\": 12, \"day\": 4}}\n</tool_call>";
        assert_eq!(
            DecisionStyle::Native.read(&native, "c"),
            Ok(expected.clone())
        );
        assert_eq!(
            DecisionStyle::JsonAction.read(&said(json), "c"),
            Ok(expected.clone())
        );
        assert_eq!(DecisionStyle::Text.read(&said(text), "c"), Ok(expected));
    }

    #[test]
    fn l4_the_arguments_of_a_native_call_are_read_leniently() {
        let calls = [
            json!("{task_id: 12, 'day': 4,}"),
            json!("{\"task_id\": 12, \"day\": \"4"),
            json!("soon"),
            json!({ "day": 4 }),
        ];
        let calls = calls.map(|arguments| ToolCall::new("c", "move", arguments));
        let mut response = said("");
        response.message = Message::assistant("").with_tool_calls(calls);
        let read = DecisionStyle::Native.read(&response, "c").unwrap().calls;
        let read: Vec<_> = read.into_iter().map(|call| call.arguments).collect();
        let expected = [
            json!({ "task_id": 12, "day": 4 }),
            json!("{\"task_id\": 12, \"day\": \"4"),
            json!("soon"),
            json!({ "day": 4 }),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn stw_31_a_call_in_another_form_is_read_or_told() {
        let bare =
            "```json\n{\n  \"name\": \"move_task\",\n  \"arguments\": {\"day\": 4}\n}\n```\n\n\n";
        let expected = vec![ToolCall::new("c0", "move_task", json!({ "day": 4 }))];
        assert_eq!(
            DecisionStyle::JsonAction
                .read(&said(bare), "c")
                .unwrap()
                .calls,
            expected
        );

        let unclosed = "<tool_call>{\"name\": \"move_task\", \"arguments\": \"{\\\"day\\\": 4}\"}";
        assert_eq!(
            DecisionStyle::Text
                .read(&said(unclosed), "c")
                .unwrap()
                .calls,
            expected
        );

        let list = "{\"tool_call\": [{\"name\": \"a\"}, {\"name\": \"b\"}]}";
        let rejected = DecisionStyle::JsonAction
            .read(&said(list), "c")
            .unwrap_err();
        assert_eq!(rejected.class, RejectedClass::Sense);
        let rejected = DecisionStyle::Text
            .read(&said("<tool_call>move</tool_call>"), "c")
            .unwrap_err();
        assert_eq!(rejected.class, RejectedClass::NotJson);
    }
}
