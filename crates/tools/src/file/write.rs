use async_trait::async_trait;
use fugato_tool::{EffectClass, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Sandbox, SandboxError};

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
    pub path: String,
    /// Its whole new text.
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
            .effect(EffectClass::Idempotent)
            .argument_alias("file", "path")
            .argument_alias("content", "text")
            .preview(["path", "text"])
    }

    fn consequence(&self, WriteFileArgs { path, .. }: &WriteFileArgs) -> Option<String> {
        match self.sandbox.size(path) {
            Ok(bytes) => Some(format!("overwrites {path:?}, {bytes} bytes")),
            Err(SandboxError::Missing { .. }) => Some(format!("makes a new file {path:?}")),
            // The call itself reports the reason.
            Err(_) => None,
        }
    }

    async fn call(
        &self,
        _: ToolContext<'_, S>,
        WriteFileArgs { path, text }: WriteFileArgs,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let sandbox = self.sandbox.clone();
        let (to, bytes) = (path.clone(), text.into_bytes());
        let count = bytes.len();
        let written = tokio::task::spawn_blocking(move || sandbox.write(&to, &bytes));
        written.await.map_err(ToolFailure::internal)??;
        Ok(ToolOutput::new(format!("{path} is written: {count} bytes")))
    }
}
