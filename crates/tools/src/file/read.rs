use async_trait::async_trait;
use fugato_state::say;
use fugato_tool::{EffectClass, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Sandbox, blocking};

/// The largest part of a file that is read at all, in bytes.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// The length of the text for a model at once, in characters.
const MOST_TEXT: usize = 10_000;

/// The tool `read_file`, which reads a file.
#[derive(Debug, Clone)]
pub struct ReadFile {
    sandbox: Sandbox,
}

/// Which file to read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFileArgs {
    /// The file.
    #[schemars(extend("x-zh" = "文件。"))]
    pub path: String,
    /// How many characters to leave out at the beginning.
    #[schemars(extend("x-zh" = "开头略过多少个字符。"))]
    #[serde(default)]
    pub from: usize,
}

impl ReadFile {
    /// Creates the tool for the files of this sandbox.
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox }
    }
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for ReadFile {
    type Input = ReadFileArgs;

    fn spec(&self) -> ToolSpec {
        ToolSpec::read("read_file", "Reads a text or a document.")
            .chinese("读取文本或文档。")
            .titled("Read a file", "读取文件")
            .effect(EffectClass::Idempotent)
            .argument_alias("file", "path")
            .argument_alias("filename", "path")
            .preview(["path"])
    }

    async fn call(
        &self,
        _: ToolContext<'_, S>,
        args: ReadFileArgs,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let sandbox = self.sandbox.clone();
        let path = args.path.clone();
        let text = blocking(move || sandbox.text(&path, MOST_BYTES)).await??;
        let mut rest = text.chars().skip(args.from);
        let mut shown: String = rest.by_ref().take(MOST_TEXT).collect();
        let next = rest.next().map(|_| args.from + MOST_TEXT);
        let mut output = ToolOutput::new("");
        if let Some(next) = next {
            shown += &say!("\n… it goes on", "\n… 还没完");
            let advice = say!(
                "read on with \"from\": {next}",
                "用 \"from\": {next} 接着读"
            );
            output = output.advice(advice);
        }
        output.text = shown;
        let output = output.summary(args.path.clone());
        Ok(output.data(json!({ "path": args.path, "next": next })))
    }
}
