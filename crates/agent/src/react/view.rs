//! The prompts of the styles that have no tool calls.
use fugato_llm::DecisionStyle;
use fugato_state::{Message, Role, say};
use serde_json::json;

/// Returns the instructions for a model without tool calls.
pub(super) fn manual(style: DecisionStyle, catalogue: &str) -> String {
    let form = match style {
        DecisionStyle::JsonAction => say!(
            "Answer with one JSON object and nothing else.\n\
             To call a tool: {{\"speak\": \"what you are about to do\", \"tool_call\": {{\"name\": \"the tool\", \"arguments\": {{}}}}}}\n\
             To answer: {{\"speak\": \"your answer\"}}",
            "只用一个 JSON 对象回答，不要写别的。\n\
             调用工具：{{\"speak\": \"你将要做什么\", \"tool_call\": {{\"name\": \"工具名\", \"arguments\": {{}}}}}}\n\
             回答：{{\"speak\": \"你的回答\"}}"
        ),
        _ => say!(
            "To call a tool, write: <tool_call>{{\"name\": \"the tool\", \"arguments\": {{}}}}</tool_call>\n\
             To answer, write no such block.",
            "调用工具时写：<tool_call>{{\"name\": \"工具名\", \"arguments\": {{}}}}</tool_call>\n\
             回答时不要写这样的块。"
        ),
    };
    say!(
        "# Tools\n{catalogue}\n{form}",
        "# 工具\n{catalogue}\n{form}"
    )
}

/// Returns a history without tool messages, for a model without tool calls: calls in the form in
/// which that model writes them, and results as messages of the user.
pub(super) fn flat(style: DecisionStyle, history: Vec<Message>) -> Vec<Message> {
    let flatten = |message: Message| match message.role {
        Role::Tool => {
            let id = message.tool_call_id.unwrap_or_default();
            Message::user(say!(
                "[result of {id}] {}",
                "[{id} 的结果] {}",
                message.content
            ))
        }
        Role::Assistant if !message.tool_calls.is_empty() => {
            Message::assistant(written(style, &message))
        }
        _ => message,
    };
    history.into_iter().map(flatten).collect()
}

fn written(style: DecisionStyle, message: &Message) -> String {
    let call =
        |call: &fugato_state::ToolCall| json!({ "name": call.name, "arguments": call.arguments });
    match &message.tool_calls[..] {
        [only] if style == DecisionStyle::JsonAction => {
            json!({ "speak": message.content, "tool_call": call(only) }).to_string()
        }
        calls => {
            let blocks = calls
                .iter()
                .map(|one| format!("\n<tool_call>{}</tool_call>", call(one)));
            format!("{}{}", message.content, blocks.collect::<String>())
                .trim()
                .to_owned()
        }
    }
}
