use async_trait::async_trait;
use fugato_state::say;
use fugato_tool::{EffectClass, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Command;

/// The name of the tool.
pub const NOTIFY: &str = "notify";

/// The tool `notify`, which shows the person a text: on the desktop by a command with a place
/// `{text}`, if there is one, and on the page by the caller of the tool.
#[derive(Debug, Clone, Default)]
pub struct Notify {
    desktop: Option<Command>,
}

impl Notify {
    /// Creates the tool with this command for the desktop; without one it is for the page alone.
    pub fn new(desktop: Option<Command>) -> Self {
        Self { desktop }
    }
}

/// The message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifyArgs {
    /// What to tell, in a line.
    #[schemars(extend("x-zh" = "要通知的内容，一行。"))]
    pub text: String,
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for Notify {
    type Input = NotifyArgs;

    fn spec(&self) -> ToolSpec {
        ToolSpec::write(
            NOTIFY,
            "Tells the person something at once, on the page and the desktop.",
        )
        .chinese("立即通知用户，显示在页面和桌面上。")
        .titled("Send a notification", "发送通知")
        .label("text", "text", "内容")
        // After a crash it may be shown twice, which is better than never.
        .effect(EffectClass::Idempotent)
        .argument_alias("message", "text")
        .argument_alias("content", "text")
        .preview(["text"])
    }

    async fn call(
        &self,
        _: ToolContext<'_, S>,
        args: NotifyArgs,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let shown = match &self.desktop {
            None => say!(
                "it stands in the conversation; no command tells the desktop",
                "已写在对话里；没有命令通知桌面"
            ),
            Some(command) => {
                command.run(&[("text", &args.text)]).await?;
                say!(
                    "it stands in the conversation, and the desktop was told",
                    "已写在对话里，也通知了桌面"
                )
            }
        };
        Ok(ToolOutput::new(say!("{}\n({shown})", "{}\n（{shown}）", args.text)).summary(args.text))
    }
}
