use async_trait::async_trait;
use fugato_state::say;
use fugato_tool::{EffectClass, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Sandbox, SandboxError, blocking};

/// The tool `write_file`, which writes a file. Gates ask a person before it does.
#[derive(Debug, Clone)]
pub struct WriteFile {
    sandbox: Sandbox,
}

/// What to write, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFileArgs {
    /// The file; missing folders are made.
    #[schemars(extend("x-zh" = "文件；没有的文件夹会新建。"))]
    pub path: String,
    /// Its whole new text.
    #[schemars(extend("x-zh" = "它的全部新内容。"))]
    pub text: String,
}

impl WriteFile {
    /// Creates the tool for the files of this sandbox.
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox }
    }
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for WriteFile {
    type Input = WriteFileArgs;

    fn spec(&self) -> ToolSpec {
        // The same text again changes nothing.
        let what = "Writes a text file, in the place of what is there.";
        ToolSpec::write("write_file", what)
            .chinese("写一个文本文件，替换原有内容。")
            .titled("Write a file", "写文件")
            .label("path", "file", "文件")
            .label("text", "text", "内容")
            .effect(EffectClass::Idempotent)
            .argument_alias("file", "path")
            .argument_alias("content", "text")
            .preview(["path", "text"])
    }

    fn consequence(&self, WriteFileArgs { path, .. }: &WriteFileArgs) -> Option<String> {
        match self.sandbox.size(path) {
            Ok(bytes) => Some(say!(
                "overwrites {path:?}, {bytes} bytes",
                "将覆盖 {path:?}（{bytes} 字节）"
            )),
            Err(SandboxError::Missing { .. }) => {
                Some(say!("makes a new file {path:?}", "将新建文件 {path:?}"))
            }
            // That is refused before.
            Err(_) => None,
        }
    }

    fn version(&self, WriteFileArgs { path, .. }: &WriteFileArgs) -> Option<String> {
        self.sandbox.version(path).ok()
    }

    fn refusal(&self, WriteFileArgs { path, .. }: &WriteFileArgs) -> Option<String> {
        match self.sandbox.size(path) {
            Ok(_) | Err(SandboxError::Missing { .. }) => None,
            Err(refused) => Some(refused.to_string()),
        }
    }

    async fn call(
        &self,
        cx: ToolContext<'_, S>,
        WriteFileArgs { path, text }: WriteFileArgs,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let sandbox = self.sandbox.clone();
        let (to, bytes) = (path.clone(), text.into_bytes());
        let count = bytes.len();
        match cx.agreed_version().map(str::to_owned) {
            None => blocking(move || sandbox.write(&to, &bytes)).await??,
            Some(agreed) => blocking(move || sandbox.write_over(&agreed, &to, &bytes)).await??,
        }
        Ok(ToolOutput::new(say!(
            "{path} is written: {count} bytes",
            "已写入 {path}：{count} 字节"
        )))
    }
}
