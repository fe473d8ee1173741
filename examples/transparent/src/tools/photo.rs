use async_trait::async_trait;
use fugato::{
    command::Command,
    file::Sandbox,
    state::say,
    tool::{EffectClass, NoArguments, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec},
};
use serde_json::json;

use crate::agent::{AgentState, Update};

/// The tool that takes a photo with a command.
pub(super) struct TakePhoto {
    command: Option<Command>,
    sandbox: Sandbox,
}

impl TakePhoto {
    pub(super) fn new(command: Option<Command>, sandbox: Sandbox) -> Self {
        Self { command, sandbox }
    }
}

#[async_trait]
impl Tool<AgentState, Update> for TakePhoto {
    type Input = NoArguments;

    fn spec(&self) -> ToolSpec {
        ToolSpec::write(
            "take_photo",
            "Takes a photo with the camera of this machine.",
        )
        .chinese("用本机的摄像头拍一张照片。")
        .titled("Take a photo", "拍照")
        // The key is in the file name, so a repetition after a crash writes the same file.
        .effect(EffectClass::Keyed)
    }

    async fn call(
        &self,
        cx: ToolContext<'_, AgentState>,
        _: NoArguments,
    ) -> Result<ToolOutput<Update>, ToolFailure> {
        let Some(command) = &self.command else {
            return Err(ToolFailure::blocked(say!(
                "no camera is set up: [photo] command in config.toml names none",
                "没有设置摄像头：config.toml 的 [photo] command 没有写命令"
            )));
        };
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = cx
            .key()
            .unwrap_or(cx.call_id())
            .chars()
            .map(plain)
            .collect();
        let name = format!("photo-{name}.jpg");
        let file = self.sandbox.root().join(&name).display().to_string();
        command.run(&[("file", &file)]).await?;
        let taken = self.sandbox.read(&name, 1)?;
        if taken.is_empty() {
            return Err(ToolFailure::failed(say!(
                "the command ended well, and wrote no photo",
                "命令正常结束，但没有写出照片"
            )));
        }
        Ok(
            ToolOutput::new(say!("the photo is {name}", "照片是 {name}"))
                .data(json!({ "path": name })),
        )
    }
}
