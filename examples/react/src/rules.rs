//! What answers when no model does.
use async_trait::async_trait;
use fugato::{
    cli::Lang,
    llm::{
        ChatDelta, ChatModel, ChatRequest, DeltaStream, FinishReason, ModelError, ToolCallDelta,
    },
    state::{Message, Role, ToolCall},
};
use futures::{StreamExt as _, stream};

use crate::wishes;

/// A model that is made of rules: it reads a few plain wishes, calls the tool that fulfils one, and
/// tells its result. It claims to understand nothing else, and says what it can do.
///
/// So the same graph runs with and without a model, and a chain of models may end in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules;

#[async_trait]
impl ChatModel for Rules {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let deltas = match answer(&request) {
            Answer::Text(text) => {
                vec![ChatDelta::text(text), ChatDelta::Finish(FinishReason::Stop)]
            }
            Answer::Call(call) => {
                let arguments = call.arguments.to_string();
                let delta = ToolCallDelta::new(0, arguments).id(call.id).name(call.name);
                vec![
                    ChatDelta::ToolCall(delta),
                    ChatDelta::Finish(FinishReason::ToolCalls),
                ]
            }
        };
        Ok(stream::iter(deltas.into_iter().map(Ok)).boxed())
    }

    fn name(&self) -> &'static str {
        "rules"
    }
}

enum Answer {
    Text(String),
    Call(ToolCall),
}

fn answer(request: &ChatRequest) -> Answer {
    let messages = &request.messages;
    let asked = messages
        .iter()
        .rposition(|message| message.role == Role::User);
    let Some((said, after)) = asked.and_then(|at| {
        let (before, after) = messages.split_at_checked(at + 1)?;
        Some((&before.last()?.content, after))
    }) else {
        return Answer::Text(help("", request));
    };
    let mut results = after.iter().filter(|message| message.role == Role::Tool);
    if let Some(result) = results.next_back() {
        return Answer::Text(told(said, result));
    }
    match wishes::call(said, messages.len()) {
        Some(call) if request.tools.iter().any(|tool| tool.name == call.name) => Answer::Call(call),
        Some(call) => Answer::Text(Lang::of(said).pick(
            format!("That takes the tool `{}`, which is not there.", call.name),
            format!("这需要工具 `{}`，但它不可用。", call.name),
        )),
        None => Answer::Text(help(said, request)),
    }
}

/// The result of a tool, as it is: a rule makes no more of it.
fn told(said: &str, result: &Message) -> String {
    if fugato::agent::to_remember(said).is_some() {
        let kept = Lang::of(said).pick("In my notebook: ", "我的记事本里有：");
        return format!("{kept}{}", result.content);
    }
    result.content.clone()
}

/// What it can do with the tools that there are.
fn help(said: &str, request: &ChatRequest) -> String {
    let lang = Lang::of(said);
    let can = CAN.iter().filter(|(tool, ..)| {
        let mut tools = request.tools.iter();
        tools.any(|known| known.name == *tool)
    });
    let can: Vec<_> = can.map(|(_, en, zh)| lang.pick(*en, *zh)).collect();
    let can = if can.is_empty() {
        lang.pick("nothing, as there are no tools", "没有工具，什么也做不了")
            .to_owned()
    } else {
        can.join(lang.pick("; ", "；"))
    };
    lang.pick(
        format!("Without a model I follow a few plain words only: {can}."),
        format!("没有模型时，我只懂几种简单的说法：{can}。"),
    )
}

const CAN: [(&str, &str, &str); 6] = [
    ("calculate", "\"(17 + 25) * 2\"", "“(17 + 25) * 2”"),
    ("time", "\"what time is it?\"", "“现在几点？”"),
    ("list_files", "\"list files\"", "“列出文件”"),
    ("read_file", "\"read NAME\"", "“读取 文件名”"),
    ("write_file", "\"write NAME: TEXT\"", "“写入 文件名：内容”"),
    (
        "recall",
        "\"remember that …\" and \"what do you remember?\"",
        "“记住……”和“你记住了什么？”",
    ),
];

#[cfg(test)]
mod tests {
    use fugato::{llm::ChatModelExt as _, state::ToolSchema, tool::NoArguments};
    use serde_json::json;

    use super::*;

    async fn says(messages: Vec<Message>, tools: &[&str]) -> Message {
        let mut request = ChatRequest::new(messages);
        request.tools = tools.iter().map(|name| schema(name)).collect();
        let answer = Rules.complete(request).await;
        answer.expect("rules do not fail").message
    }

    fn schema(name: &str) -> ToolSchema {
        let parameters = fugato::state::Schema::of::<NoArguments>();
        serde_json::from_value(json!({
            "name": name, "description": "", "parameters": parameters,
        }))
        .expect("it is a schema of a tool")
    }

    #[tokio::test]
    async fn a_wish_becomes_a_call_and_its_result_is_told() {
        let mut messages = vec![Message::user("1 + 1")];
        let call = says(messages.clone(), &["calculate"]).await;
        let expected = ToolCall::new("rule-1", "calculate", json!({ "expression": "1 + 1" }));
        assert_eq!(call.tool_calls, [expected]);
        messages.extend([call, Message::tool("rule-1", "1 + 1 = 2")]);
        let told = says(messages, &["calculate"]).await;
        assert_eq!(told, Message::assistant("1 + 1 = 2"));
    }

    #[tokio::test]
    async fn it_says_what_it_can_do_and_what_it_cannot() {
        let help = says(vec![Message::user("hello")], &["calculate", "time"]).await;
        assert_eq!(
            help.content,
            "Without a model I follow a few plain words only: \"(17 + 25) * 2\"; \"what time is it?\"."
        );
        let none = says(vec![Message::user("现在几点")], &[]).await;
        assert_eq!(none.content, "这需要工具 `time`，但它不可用。");
    }
}
