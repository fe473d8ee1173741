//! The contract of `ChatModel`, tested over HTTP.

use fugato_llm::{ChatDelta, FinishReason};
use fugato_providers::openai::{ApiKey, OpenAi};
use fugato_testkit::{
    ScriptedReply,
    chat::{ChatFactory, ModelUnderTest, WatchedModel},
    log::OpenError,
};
use serde_json::{Value, json};

use crate::server::model::{ChatDouble, serve};

const SECRET: &str = "sk-very-secret";

/// A server that speaks the protocol, with a scripted model behind it.
struct ScriptedServer;

#[async_trait::async_trait]
impl ChatFactory for ScriptedServer {
    async fn says(&self, replies: Vec<ScriptedReply>) -> Result<ModelUnderTest, OpenError> {
        let model = WatchedModel::scripted(replies);
        let idle = model.idle();
        let address = serve::<Chunks>(model, SECRET).await?;
        let client = OpenAi::new(&format!("http://{address}"), "small");
        Ok(ModelUnderTest::new(client.key(ApiKey::new(SECRET)), idle))
    }

    fn secret(&self) -> Option<&str> {
        Some(SECRET)
    }
}

#[derive(Default)]
struct Chunks;

impl ChatDouble for Chunks {
    fn begin(&mut self) -> String {
        frame(
            &json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "content": null } }] }),
        )
    }

    fn delta(&mut self, delta: ChatDelta) -> String {
        let said = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
        frame(&match delta {
            ChatDelta::Text(text) => said(json!({ "content": text })),
            ChatDelta::Reasoning(text) => said(json!({ "reasoning_content": text })),
            ChatDelta::ToolCall(piece) => said(json!({ "tool_calls": [{
                "index": piece.index,
                "id": piece.id,
                "function": { "name": piece.name, "arguments": piece.arguments },
            }] })),
            ChatDelta::Finish(reason) => {
                let reason = match reason {
                    FinishReason::Length => "length",
                    FinishReason::ToolCalls => "tool_calls",
                    _ => "stop",
                };
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
            }
            ChatDelta::Usage(usage) => json!({
                "choices": [],
                "usage": { "prompt_tokens": usage.input, "completion_tokens": usage.output },
            }),
            _ => return String::new(),
        })
    }

    fn end(&mut self) -> String {
        "data: [DONE]\n\n".to_owned()
    }
}

fn frame(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fugato_testkit::chat_model_suite!(ScriptedServer);
