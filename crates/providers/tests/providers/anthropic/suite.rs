//! The contract of `ChatModel`, tested over HTTP.

use fugato_llm::{ChatDelta, FinishReason, ToolCallDelta};
use fugato_providers::anthropic::{Anthropic, ApiKey};
use fugato_testkit::{
    ScriptedReply,
    chat::{ChatFactory, ModelUnderTest, WatchedModel},
    log::OpenError,
};
use serde_json::{Value, json};

use crate::server::model::{ChatDouble, serve};

const SECRET: &str = "sk-ant-very-secret";

/// A server that speaks the protocol, with a scripted model behind it.
struct ScriptedServer;

#[async_trait::async_trait]
impl ChatFactory for ScriptedServer {
    async fn says(&self, replies: Vec<ScriptedReply>) -> Result<ModelUnderTest, OpenError> {
        let model = WatchedModel::scripted(replies);
        let idle = model.idle();
        let address = serve::<Blocks>(model, SECRET).await?;
        let client = Anthropic::new("small").base_url(&format!("http://{address}"));
        Ok(ModelUnderTest::new(client.key(ApiKey::new(SECRET)), idle))
    }

    fn secret(&self) -> Option<&str> {
        Some(SECRET)
    }
}

/// A message of blocks, of which one is open at a time.
#[derive(Default)]
struct Blocks {
    begun: usize,
    open: Option<String>,
}

impl Blocks {
    /// Closes the open block and opens this one, unless it is the one that is open.
    fn open(&mut self, name: String, block: &Value) -> String {
        if self.open.as_ref() == Some(&name) {
            return String::new();
        }
        let closed = self.close();
        self.open = Some(name);
        self.begun += 1;
        let index = self.begun - 1;
        closed
            + &event(
                &json!({ "type": "content_block_start", "index": index, "content_block": block }),
            )
    }

    fn close(&mut self) -> String {
        match self.open.take() {
            Some(_) => event(&json!({ "type": "content_block_stop", "index": self.begun - 1 })),
            None => String::new(),
        }
    }

    fn more(&self, delta: &Value) -> String {
        let index = self.begun - 1;
        event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    }

    fn call(&mut self, piece: &ToolCallDelta) -> String {
        let block = json!({ "type": "tool_use", "id": piece.id, "name": piece.name, "input": {} });
        let begun = self.open(format!("call {}", piece.index), &block);
        let more = json!({ "type": "input_json_delta", "partial_json": piece.arguments });
        begun + &self.more(&more)
    }
}

impl ChatDouble for Blocks {
    fn begin(&mut self) -> String {
        event(&json!({ "type": "message_start", "message": { "content": [] } }))
    }

    fn delta(&mut self, delta: ChatDelta) -> String {
        match delta {
            ChatDelta::Text(text) => {
                let block = json!({ "type": "text", "text": "" });
                let more = json!({ "type": "text_delta", "text": text });
                self.open("text".into(), &block) + &self.more(&more)
            }
            ChatDelta::Reasoning(text) => {
                let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
                let more = json!({ "type": "thinking_delta", "thinking": text });
                self.open("thinking".into(), &block) + &self.more(&more)
            }
            ChatDelta::ToolCall(piece) => self.call(&piece),
            ChatDelta::Finish(reason) => {
                let reason = match reason {
                    FinishReason::Length => "max_tokens",
                    FinishReason::ToolCalls => "tool_use",
                    _ => "end_turn",
                };
                let last = json!({ "type": "message_delta", "delta": { "stop_reason": reason } });
                self.close() + &event(&last)
            }
            ChatDelta::Usage(usage) => event(&json!({
                "type": "message_delta", "delta": {},
                "usage": { "input_tokens": usage.input, "output_tokens": usage.output },
            })),
            _ => String::new(),
        }
    }

    fn end(&mut self) -> String {
        event(&json!({ "type": "message_stop" }))
    }
}

fn event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

fugato_testkit::chat_model_suite!(ScriptedServer);
